//! Spans and counts on their way to a collector that takes nothing but the protocol, one that refuses, and none at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holon_telemetry::{
    Counters, Exporter, Observer, SpanKind, SpanParent, TelemetrySettings, TraceId, TraceSpan, now,
};
use holon_testkit::collector::{Collector, MetricNumber};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);
const KEY: &str = "Bearer c0ffee00c0ffee00";

fn exporter(url: &str) -> (Exporter, Arc<Mutex<Vec<String>>>) {
    let variable =
        |name: &str| (name == "OTEL_EXPORTER_OTLP_HEADERS").then(|| format!("Authorization={KEY}"));
    let settings = TelemetrySettings::read(Some(url), variable).unwrap().unwrap();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    (Exporter::new(settings, Box::new(move |words| heard.lock().unwrap().push(words.to_owned()))), told)
}

/// The same, whose counts are told so that they add up.
fn adding_up(url: &str) -> Exporter {
    let variable = |name: &str| {
        (name == "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE").then(|| "delta".to_owned())
    };
    let settings = TelemetrySettings::read(Some(url), variable).unwrap().unwrap();
    Exporter::new(settings, Box::new(|words| panic!("{words}")))
}

fn span(name: &str) -> TraceSpan {
    TraceSpan::new(
        SpanParent { trace: TraceId::random(), parent: None },
        name,
        SpanKind::Internal,
        now() - 5,
        now(),
    )
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
    assert_eq!((started.mode.as_str(), &started.number), ("code", &MetricNumber::Sum(1)));
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
    for (url, words) in [(refusing.url(), "status 401"), (format!("http://{gone}"), "the connection failed")]
    {
        let (exporter, told) = exporter(&url);
        for name in ["one", "two", "three"] {
            exporter.spans(vec![span(name)]);
            exporter.counts(Counters::default().all());
        }
        exporter.finish(LONG);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains(words) && told[0].contains(&url), "{told:?}");
        assert_eq!(told[1], "not delivered: 3 spans and the last counts");
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
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("too slow"), "{told:?}");
    assert_eq!(told[1], "not delivered: 2001 spans");
}

#[test]
fn a_collector_that_is_busy_is_asked_again() {
    for busy in ["429 Too Many Requests\nretry-after: 0", "503 Service Unavailable", "502 Bad Gateway"] {
        let collector = Collector::answering_in_turn(&[busy, busy, "200 OK"]);
        let (exporter, told) = exporter(&collector.url());
        exporter.spans(vec![span("one")]);
        exporter.finish(LONG);
        let bodies: Vec<_> = collector.posts().into_iter().map(|post| post.body).collect();
        assert_eq!(bodies.len(), 3, "{busy}");
        assert!(bodies.iter().all(|body| *body == bodies[0]), "the same again");
        assert!(told.lock().unwrap().is_empty(), "{told:?}");
    }
}

#[test]
fn a_collector_that_hangs_up_is_called_again() {
    let collector = Collector::answering_in_turn(&["", "", "200 OK"]);
    let (exporter, told) = exporter(&collector.url());
    exporter.spans(vec![span("one")]);
    exporter.finish(LONG);
    assert_eq!(collector.posts().len(), 3);
    assert!(told.lock().unwrap().is_empty(), "{told:?}");
}

#[test]
fn who_wants_to_be_asked_later_than_the_process_lives_is_not_waited_for() {
    let collector = Collector::answering("503 Service Unavailable\nretry-after: 50");
    let (exporter, told) = exporter(&collector.url());
    exporter.spans(vec![span("one"), span("two")]);
    // Were it waited for, it would be asked a second time.
    exporter.finish(Duration::from_secs(40));
    assert_eq!(collector.posts().len(), 1);
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("status 503"), "{told:?}");
    assert_eq!(told[1], "not delivered: 2 spans");
}

#[test]
fn a_collector_that_stays_away_is_tried_again_only_at_first() {
    let collector = Collector::answering("503 Service Unavailable");
    let (exporter, told) = exporter(&collector.url());
    exporter.spans((0..1024 * 3).map(|n| span(&n.to_string())).collect());
    exporter.finish(LONG);
    assert_eq!(collector.posts().len(), 4 + 1 + 1, "the first batch four times, the others once");
    assert_eq!(told.lock().unwrap()[1], "not delivered: 3072 spans");
}

#[test]
fn what_a_collector_took_and_threw_away_is_counted() {
    let answer = "200 OK\n\n{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"too old\"}}";
    let collector = Collector::answering(answer);
    let (exporter, told) = exporter(&collector.url());
    exporter.spans(vec![span("one"), span("two"), span("three")]);
    exporter.finish(LONG);
    assert_eq!(collector.posts().len(), 1, "it is not sent again");
    let told = told.lock().unwrap();
    assert_eq!(told[1], "not delivered: 2 spans", "{told:?}");
}

#[test]
fn counts_of_short_processes_add_up() {
    let collector = Collector::start();
    let mut sum = 0;
    for _ in 0..3 {
        let (exporter, counters) = (adding_up(&collector.url()), Counters::default());
        for _ in 0..2 {
            let before = collector.posts().len();
            counters.started("code", 1);
            exporter.counts(counters.all());
            assert!(holon_testkit::wait_until(LONG, || collector.posts().len() > before));
            let counts = collector.counts();
            let started = counts.iter().find(|count| count.name == "mode_invocations_total").unwrap();
            let MetricNumber::Sum(number) = started.number else { panic!("{started:?}") };
            assert!(started.delta);
            sum += number;
        }
        exporter.finish(LONG);
    }
    assert_eq!(sum, 6);
}

#[test]
fn nothing_is_started_for_nothing() {
    let (exporter, told) = exporter("http://127.0.0.1:1");
    exporter.spans(Vec::new());
    exporter.finish(LONG);
    assert!(told.lock().unwrap().is_empty());
}
