//! Spans and counts in OTLP's JSON form: names in hexadecimal, 64-bit numbers as text.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::counters::{BOUNDS, ModeCounts};
use crate::span::{SpanAttribute, SpanKind, TraceSpan};

/// What the numbers and spans of this process are told under.
pub const SCOPE: &str = "holon";

/// From when on values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temporality {
    /// From the last time they were delivered, so that those of many short processes can be added up.
    Delta = 1,
    /// From the start of the process.
    Cumulative = 2,
}

/// The body for `/v1/traces`.
pub fn traces(resource: &[(String, String)], spans: &[TraceSpan]) -> Value {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": self::resource(resource),
        "scopeSpans": [{"scope": scope(), "spans": spans}],
    }]})
}

/// The body for `/v1/metrics`: all counts between two moments, in nanoseconds since 1970.
pub fn metrics(
    resource: &[(String, String)],
    counts: &BTreeMap<String, ModeCounts>,
    (start_ns, now_ns): (u64, u64),
    temporality: Temporality,
) -> Value {
    let temporality = temporality as u8;
    let point = |mode: &str| {
        json!({
            "attributes": [{"key": "mode", "value": {"stringValue": mode}}],
            "startTimeUnixNano": start_ns.to_string(), "timeUnixNano": now_ns.to_string(),
        })
    };
    let sum = |name: &str, description: &str, of: fn(&ModeCounts) -> u64| {
        let points: Vec<Value> = counts
            .iter()
            .map(|(mode, counts)| {
                let mut point = point(mode);
                point["asInt"] = json!(of(counts).to_string());
                point
            })
            .collect();
        json!({"name": name, "description": description, "sum": {
            "aggregationTemporality": temporality, "isMonotonic": true, "dataPoints": points,
        }})
    };
    let latency: Vec<Value> = counts
        .iter()
        .map(|(mode, counts)| {
            let mut point = point(mode);
            point["count"] = json!(counts.ended().to_string());
            point["sum"] = json!(counts.latency_sum as f64);
            point["bucketCounts"] = counts.latency.iter().map(u64::to_string).collect();
            point["explicitBounds"] = BOUNDS.iter().map(|bound| *bound as f64).collect();
            point
        })
        .collect();
    // No unit: the names say it, and collectors would put it into them a second time.
    json!({"resourceMetrics": [{
        "resource": self::resource(resource),
        "scopeMetrics": [{"scope": scope(), "metrics": [
            sum("mode_invocations_total", "Requests started in a mode.", |c| c.invocations),
            sum("mode_failures_total", "Requests that failed.", |c| c.failures),
            sum("mode_retries_total", "Requests that were started again.", |c| c.retries),
            {"name": "mode_latency_ms", "description": "Wall time of a request.", "histogram": {
                "aggregationTemporality": temporality, "dataPoints": latency,
            }},
        ]}],
    }]})
}

fn scope() -> Value {
    json!({"name": SCOPE, "version": env!("CARGO_PKG_VERSION")})
}

fn resource(attributes: &[(String, String)]) -> Value {
    let attributes: Vec<Value> =
        attributes.iter().map(|(key, text)| json!({"key": key, "value": {"stringValue": text}})).collect();
    json!({ "attributes": attributes })
}

fn span(span: &TraceSpan) -> Value {
    let attributes: Vec<Value> =
        span.attributes.iter().map(|(key, known)| json!({"key": key, "value": value(known)})).collect();
    let mut told = json!({
        "traceId": span.place.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": match span.kind { SpanKind::Internal => 1, SpanKind::Client => 3 },
        "startTimeUnixNano": span.start_ns.to_string(),
        "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": attributes,
        "status": match &span.error {
            Some(sort) => json!({"code": 2, "message": sort}),
            None => json!({}),
        },
    });
    if let Some(state) = &span.state {
        told["traceState"] = json!(state);
    }
    if let Some(parent) = span.place.parent {
        told["parentSpanId"] = json!(parent.to_string());
    }
    told
}

fn value(known: &SpanAttribute) -> Value {
    match known {
        SpanAttribute::Text(text) => json!({ "stringValue": text }),
        SpanAttribute::Number(number) => json!({ "intValue": number.to_string() }),
        SpanAttribute::Flag(flag) => json!({ "boolValue": flag }),
        SpanAttribute::List(words) => {
            let values: Vec<Value> = words.iter().map(|word| json!({ "stringValue": word })).collect();
            json!({"arrayValue": {"values": values}})
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use holon_testkit::collector::{MetricNumber, decode_metrics, decode_traces};

    use super::*;
    use crate::counters::Counters;
    use crate::observer::Observer;
    use crate::span::{SpanId, SpanParent, TraceId};

    #[test]
    fn spans_are_what_the_protocol_says() {
        let trace = TraceId::random();
        let whole =
            TraceSpan::new(SpanParent { trace, parent: None }, "orchestrate", SpanKind::Internal, 5, 9);
        let parent = Some(whole.id);
        let part = TraceSpan::new(SpanParent { trace, parent }, "chat m", SpanKind::Client, 6, 8)
            .with("a", "text")
            .with("b", 7)
            .with("c", true)
            .with("d", SpanAttribute::List(vec!["x".into(), "y".into()]))
            .failed(Some("timeout"));
        let part = TraceSpan { state: Some("a=1".into()), ..part };
        let resource = [("service.name".to_owned(), "holon".to_owned())];
        let spans = decode_traces(&traces(&resource, &[whole.clone(), part.clone()]));
        assert_eq!(spans.len(), 2);
        let (first, second) = (&spans[0], &spans[1]);
        assert_eq!((&first.trace, first.parent.as_deref()), (&trace.to_string(), None));
        assert_eq!((first.start_ns, first.end_ns, first.kind, first.error.as_deref()), (5, 9, 1, None));
        assert_eq!(first.resource["service.name"], "holon");
        assert_eq!(second.parent, Some(whole.id.to_string()));
        assert_eq!((second.kind, second.error.as_deref()), (3, Some("timeout")));
        assert_eq!((&second.attributes["a"], &second.attributes["b"]), (&json!("text"), &json!(7)));
        assert_eq!((&second.attributes["c"], &second.attributes["d"]), (&json!(true), &json!(["x", "y"])));
        assert_eq!(second.attributes["error.type"], json!("timeout"));
        assert_eq!((first.state.as_deref(), second.state.as_deref()), (None, Some("a=1")));
        assert_ne!(SpanId::random(), part.id);
    }

    #[test]
    fn counts_are_what_the_protocol_says() {
        let counters = Counters::default();
        counters.started("code", 2);
        counters.ended("code", false, 300);
        let told = decode_metrics(&metrics(&[], &counters.all(), (10, 20), Temporality::Cumulative));
        let of = |name: &str| {
            &told
                .iter()
                .find(|m| m.name == name && m.mode == "code")
                .unwrap_or_else(|| panic!("{name}"))
                .number
        };
        for name in ["mode_invocations_total", "mode_failures_total", "mode_retries_total"] {
            assert_eq!(of(name), &MetricNumber::Sum(1), "{name}");
        }
        let MetricNumber::Histogram { count, sum, buckets, bounds } = of("mode_latency_ms") else {
            panic!("{told:?}")
        };
        assert_eq!((*count, *sum, buckets[2], bounds[2]), (1, 300.0, 1, 1000.0));
    }
}
