//! A collector of spans and counts on loopback that takes nothing but what OTLP over HTTP allows.
//!
//! Whatever deviates from the protocol's JSON form (an id of the wrong length, a 64-bit number that is no text, an unknown
//! field, a wrong nesting) is a panic with the place in words, in the thread that asks for what was received.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

/// Nothing waits longer than this for a client.
const PATIENCE: Duration = Duration::from_secs(10);

/// A collector that keeps what it gets.
#[derive(Debug)]
pub struct Collector {
    port: u16,
    posts: Arc<Mutex<Vec<CollectorPost>>>,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct CollectorPost {
    /// Where to.
    pub path: String,
    /// Its headers, names in small letters.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A span as it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedSpan {
    /// Its trace.
    pub trace: String,
    /// Its name in the trace.
    pub id: String,
    /// The span it is part of.
    pub parent: Option<String>,
    /// What it is called.
    pub name: String,
    /// 1 internal, 3 client.
    pub kind: u64,
    /// Nanoseconds since 1970.
    pub start_ns: u64,
    /// Nanoseconds since 1970.
    pub end_ns: u64,
    /// What is known about it, as plain JSON.
    pub attributes: BTreeMap<String, Value>,
    /// The status message, when it failed.
    pub error: Option<String>,
    /// What is carried along with the trace.
    pub state: Option<String>,
    /// What is said about the process.
    pub resource: BTreeMap<String, Value>,
}

/// A number as it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedMetric {
    /// Its name.
    pub name: String,
    /// Its only label.
    pub mode: String,
    /// Its value.
    pub number: MetricNumber,
    /// Whether it counts from the last time, not from the start.
    pub delta: bool,
}

/// A sum or a histogram.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricNumber {
    /// A monotonic, cumulative sum.
    Sum(u64),
    /// A cumulative histogram.
    Histogram {
        /// Of all buckets.
        count: u64,
        /// Of all values.
        sum: f64,
        /// Each by itself, one more than there are bounds.
        buckets: Vec<u64>,
        /// Ascending.
        bounds: Vec<f64>,
    },
}

impl Collector {
    /// A collector that takes everything.
    pub fn start() -> Self {
        Self::answering("200 OK")
    }

    /// A collector that answers with this status line.
    pub fn answering(status: &'static str) -> Self {
        Self::answering_in_turn(&[status])
    }

    /// A collector that answers with these one after the other, and with the last from then on: a status line, further
    /// headers behind line breaks, and a body behind an empty line. An empty one hangs up.
    pub fn answering_in_turn(answers: &[&'static str]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let answers = answers.to_vec();
        let port = listener.local_addr().expect("an address").port();
        let posts: Arc<Mutex<Vec<CollectorPost>>> = Arc::default();
        let kept = Arc::clone(&posts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answers) = (Arc::clone(&kept), answers.clone());
                std::thread::spawn(move || converse(&stream, &answers, &kept));
            }
        });
        Self { port, posts }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that came.
    pub fn posts(&self) -> Vec<CollectorPost> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All spans that came to `/v1/traces`.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.bodies("/v1/traces").iter().flat_map(decode_traces).collect()
    }

    /// The numbers of the last post to `/v1/metrics`.
    pub fn counts(&self) -> Vec<ReceivedMetric> {
        self.bodies("/v1/metrics").last().map(decode_metrics).unwrap_or_default()
    }

    fn bodies(&self, path: &str) -> Vec<Value> {
        let posts = self.posts().into_iter().filter(|post| post.path == path);
        posts
            .map(|post| {
                assert_eq!(post.headers.get("content-type").map(String::as_str), Some("application/json"));
                serde_json::from_slice(&post.body).expect("a body of JSON")
            })
            .collect()
    }
}

/// One request and its answer; nothing when the client is gone.
fn converse(stream: &TcpStream, answers: &[&str], kept: &Mutex<Vec<CollectorPost>>) -> Option<()> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?;
    let path = first.strip_prefix("POST ")?.split(' ').next()?.to_owned();
    let mut headers = BTreeMap::new();
    while let Some(line) = line(&mut reader).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let number = {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(CollectorPost { path, headers, body });
        kept.len()
    };
    let answer = answers.get(number - 1).or_else(|| answers.last()).filter(|answer| !answer.is_empty())?;
    let (head, body) = answer.split_once("\n\n").unwrap_or((answer, "{}"));
    let (head, length) = (head.replace('\n', "\r\n"), body.len());
    let answer = format!(
        "HTTP/1.1 {head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    (&*stream).write_all(answer.as_bytes()).ok()?;
    let _ = stream.shutdown(Shutdown::Write);
    Some(())
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut text = String::new();
    (reader.read_line(&mut text).ok()? > 0).then(|| text.trim_end().to_owned())
}

/// Reads the body of a request to `/v1/traces`.
#[track_caller]
pub fn decode_traces(body: &Value) -> Vec<ReceivedSpan> {
    let mut spans = Vec::new();
    for (resource, scoped) in nested(body, "resourceSpans", "scopeSpans") {
        for span in list(field(&scoped, "spans")) {
            let span = object(
                span,
                &[
                    "traceId",
                    "spanId",
                    "parentSpanId",
                    "traceState",
                    "name",
                    "kind",
                    "startTimeUnixNano",
                    "endTimeUnixNano",
                    "attributes",
                    "status",
                ],
            );
            let status = object(field(span, "status"), &["code", "message"]);
            let error = match status.get("code").map(|code| code.as_u64().expect("a code as a number")) {
                None | Some(0 | 1) => None,
                Some(2) => Some(text(status.get("message").unwrap_or(&json!("")))),
                Some(other) => panic!("{other} is no code of a status"),
            };
            let kind = field(span, "kind").as_u64().expect("a kind as a number");
            assert!((1..=5).contains(&kind), "{kind} is no kind of a span");
            let (start_ns, end_ns) =
                (long(field(span, "startTimeUnixNano")), long(field(span, "endTimeUnixNano")));
            assert!(start_ns > 0 && start_ns <= end_ns, "{span:?}");
            spans.push(ReceivedSpan {
                trace: id(field(span, "traceId"), 32),
                id: id(field(span, "spanId"), 16),
                parent: span.get("parentSpanId").map(|parent| id(parent, 16)),
                name: text(field(span, "name")),
                kind,
                start_ns,
                end_ns,
                attributes: attributes(field(span, "attributes")),
                error,
                state: span.get("traceState").map(text),
                resource: resource.clone(),
            });
        }
    }
    spans
}

/// Reads the body of a request to `/v1/metrics`.
#[track_caller]
pub fn decode_metrics(body: &Value) -> Vec<ReceivedMetric> {
    let mut found = Vec::new();
    for (_, scoped) in nested(body, "resourceMetrics", "scopeMetrics") {
        for metric in list(field(&scoped, "metrics")) {
            let metric = object(metric, &["name", "description", "unit", "sum", "histogram"]);
            let name = text(field(metric, "name"));
            let (data, histogram) = match (metric.get("sum"), metric.get("histogram")) {
                (Some(sum), None) => {
                    (object(sum, &["aggregationTemporality", "isMonotonic", "dataPoints"]), false)
                }
                (None, Some(data)) => (object(data, &["aggregationTemporality", "dataPoints"]), true),
                _ => panic!("{name} is neither a sum nor a histogram, or both"),
            };
            let delta = match field(data, "aggregationTemporality").as_u64() {
                Some(1) => true,
                Some(2) => false,
                other => panic!("{name}: {other:?} is no temporality"),
            };
            assert!(histogram || field(data, "isMonotonic") == &json!(true), "{name} only grows");
            for point in list(field(data, "dataPoints")) {
                let (mode, number) = point_of(point, histogram);
                found.push(ReceivedMetric { name: name.clone(), mode, number, delta });
            }
        }
    }
    found
}

fn point_of(point: &Value, histogram: bool) -> (String, MetricNumber) {
    let own: &[&str] =
        if histogram { &["count", "sum", "bucketCounts", "explicitBounds"] } else { &["asInt"] };
    let known = [&["attributes", "startTimeUnixNano", "timeUnixNano"], own].concat();
    let point = object(point, &known);
    assert!(long(field(point, "startTimeUnixNano")) <= long(field(point, "timeUnixNano")));
    let mode = text(&attributes(field(point, "attributes"))["mode"]);
    if !histogram {
        return (mode, MetricNumber::Sum(long(field(point, "asInt"))));
    }
    let buckets: Vec<u64> = list(field(point, "bucketCounts")).iter().map(long).collect();
    let bounds: Vec<f64> =
        list(field(point, "explicitBounds")).iter().map(|bound| bound.as_f64().expect("a bound")).collect();
    let (count, sum) = (long(field(point, "count")), field(point, "sum").as_f64().expect("a sum"));
    assert_eq!(buckets.len(), bounds.len() + 1, "one more bucket than bounds");
    assert_eq!(buckets.iter().sum::<u64>(), count, "the buckets are all there is");
    assert!(bounds.is_sorted());
    (mode, MetricNumber::Histogram { count, sum, buckets, bounds })
}

/// Resources with each of their scopes.
fn nested(body: &Value, outer: &str, inner: &str) -> Vec<(BTreeMap<String, Value>, Map<String, Value>)> {
    let mut found = Vec::new();
    for one in list(field(object(body, &[outer]), outer)) {
        let one = object(one, &["resource", inner, "schemaUrl"]);
        let resource = attributes(field(object(field(one, "resource"), &["attributes"]), "attributes"));
        for scoped in list(field(one, inner)) {
            let scoped = object(scoped, &["scope", "spans", "metrics", "schemaUrl"]);
            let scope = object(field(scoped, "scope"), &["name", "version"]);
            assert!(!text(field(scope, "name")).is_empty());
            found.push((resource.clone(), scoped.clone()));
        }
    }
    found
}

fn attributes(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for one in list(value) {
        let one = object(one, &["key", "value"]);
        let key = text(field(one, "key"));
        assert!(found.insert(key.clone(), any(field(one, "value"))).is_none(), "{key} is there twice");
    }
    found
}

/// A value of any of the protocol's types, as plain JSON.
fn any(value: &Value) -> Value {
    let value = value.as_object().unwrap_or_else(|| panic!("{value} is no value"));
    assert_eq!(value.len(), 1, "{value:?} has one type");
    let (kind, value) = value.iter().next().expect("a type");
    match kind.as_str() {
        "stringValue" => json!(text(value)),
        "boolValue" => json!(value.as_bool().expect("yes or no")),
        "intValue" => json!(long(value)),
        "doubleValue" => json!(value.as_f64().expect("a number")),
        "arrayValue" => list(field(object(value, &["values"]), "values")).iter().map(any).collect(),
        other => panic!("{other} is no type of a value"),
    }
}

fn object<'a>(value: &'a Value, known: &[&str]) -> &'a Map<String, Value> {
    let map = value.as_object().unwrap_or_else(|| panic!("{value} is no object"));
    for key in map.keys() {
        assert!(known.contains(&key.as_str()), "`{key}` is not known here: {value}");
    }
    map
}

fn field<'a>(map: &'a Map<String, Value>, key: &str) -> &'a Value {
    map.get(key).unwrap_or_else(|| panic!("`{key}` is missing in {map:?}"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// A 64-bit number, which is a text in this form.
fn long(value: &Value) -> u64 {
    text(value).parse().unwrap_or_else(|_| panic!("{value} is no 64-bit number as a text"))
}

/// A name in hexadecimal that is not all zeros.
fn id(value: &Value, length: usize) -> String {
    let id = text(value);
    assert_eq!(id.len(), length, "{id} has {length} digits");
    assert!(id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{id} is hexadecimal");
    assert!(id.bytes().any(|b| b != b'0'), "{id} names nothing");
    id
}
