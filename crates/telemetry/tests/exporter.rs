//! Spans and counts on their way to a collector that takes nothing but the protocol, one that refuses, and none at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holon_telemetry::{Counters, Exporter, Kind, Observer, Place, Settings, Span, TraceId, now};
use holon_testkit::collector::{Collector, Number};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);
const KEY: &str = "Bearer c0ffee00c0ffee00";

fn exporter(url: &str) -> (Exporter, Arc<Mutex<Vec<String>>>) {
    let variable =
        |name: &str| (name == "OTEL_EXPORTER_OTLP_HEADERS").then(|| format!("Authorization={KEY}"));
    let settings = Settings::read(Some(url), variable).unwrap().unwrap();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    (Exporter::new(settings, Box::new(move |words| heard.lock().unwrap().push(words.to_owned()))), told)
}

fn span(name: &str) -> Span {
    Span::new(Place { trace: TraceId::random(), parent: None }, name, Kind::Internal, now() - 5, now())
}

#[test]
fn everything_is_delivered_with_its_headers() {
    let collector = Collector::start();
    let (exporter, told) = exporter(&collector.url());
    assert!(exporter.traces());
    exporter.spans(vec![span("one"), span("two")]);
    exporter.spans(vec![span("three")]);
    let counters = Counters::default();
    counters.started("code", 1);
    exporter.counts(counters.all());
    exporter.finish(LONG);
    let names: Vec<String> = collector.spans().into_iter().map(|span| span.name).collect();
    assert_eq!(names, ["one", "two", "three"]);
    let counts = collector.counts();
    let started = counts.iter().find(|count| count.name == "mode_invocations_total").unwrap();
    assert_eq!((started.mode.as_str(), &started.number), ("code", &Number::Sum(1)));
    for post in collector.posts() {
        assert_eq!(post.headers["authorization"], KEY, "{}", post.path);
    }
    assert!(told.lock().unwrap().is_empty(), "{told:?}");
    // What comes after the end is not sent, and nothing is started for it.
    let before = collector.posts().len();
    exporter.spans(vec![span("late")]);
    exporter.finish(LONG);
    assert_eq!(collector.posts().len(), before);
}

#[test]
fn a_refusal_is_told_once_and_without_the_key() {
    let refusing = Collector::answering("401 Unauthorized");
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, words) in [(refusing.url(), "status 401"), (format!("http://{gone}"), "cannot be reached")] {
        let (exporter, told) = exporter(&url);
        for name in ["one", "two", "three"] {
            exporter.spans(vec![span(name)]);
            exporter.counts(Counters::default().all());
        }
        exporter.finish(LONG);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(words) && told[0].contains(&url), "{told:?}");
        assert!(!told[0].contains("c0ffee"), "{told:?}");
    }
}

#[test]
fn nobody_waits_for_a_collector_that_does_not_answer() {
    // Takes connections, in the kernel's queue, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (exporter, told) = exporter(&format!("http://{}", silent.local_addr().unwrap()));
    exporter.spans(vec![span("one")]);
    // More than can wait: giving it never blocks.
    (0..2_000).for_each(|_| exporter.spans(vec![span("more")]));
    exporter.finish(Duration::from_millis(1));
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("not delivered"), "{told:?}");
}

#[test]
fn nothing_is_started_for_nothing() {
    let (exporter, told) = exporter("http://127.0.0.1:1");
    exporter.spans(Vec::new());
    exporter.finish(LONG);
    assert!(told.lock().unwrap().is_empty());
}
