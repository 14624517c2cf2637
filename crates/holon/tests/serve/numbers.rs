//! The numbers at `/metrics`: in the form Prometheus reads, and true for turns and runs alike.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holon_testkit::collector::{Collector, MetricNumber};
use holon_testkit::wait_until;
use serde_json::{Value, json};

use crate::stage::ServeStage;

/// Reads the text form strictly: every sample belongs to a family that was introduced before it, with help and type.
fn scraped(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'));
    let (mut types, mut helped, mut samples) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            assert!(helped.insert(rest.split_once(' ').unwrap().0.to_owned()), "helped twice: {line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind) && helped.contains(name), "{line}");
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "introduced twice: {line}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let family = family.filter(|family| types.get(*family).is_some_and(|kind| kind == "histogram"));
            assert!(types.contains_key(family.unwrap_or(name)), "not introduced: {line}");
            assert!(
                samples.insert(series.to_owned(), value.parse().unwrap()).is_none(),
                "told twice: {line}"
            );
        }
    }
    samples
}

#[test]
fn turns_and_runs_are_counted_by_mode() {
    let stage = ServeStage::new();
    // Fails in every mode but plan.
    stage.scripted("exit 7");
    let collector = Collector::start();
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let endpoint = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())];
    let mut variables: Vec<(&str, &str)> =
        endpoint.iter().map(|(name, value)| (*name, value.as_str())).collect();
    variables.push(("HOLON_LOG", "json"));
    let mut stage = stage.with(&["--replay", tape.to_str().unwrap()], &variables);
    let numbers = |stage: &ServeStage| {
        let answer = stage.get("/metrics");
        assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        scraped(&answer.text())
    };
    assert!(numbers(&stage).keys().all(|series| !series.starts_with("mode_")), "nothing happened yet");
    stage.say(&stage.thread(), "hello", "plan");
    let run = |mode: &str| {
        let body = json!({"workspace": stage.repo.path(), "goal": "x", "mode": mode, "agent": "scripted"});
        let started = stage.post("/api/runs", body).json();
        let id = started["id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
        let show = || stage.get(&format!("/api/runs/{id}")).json();
        assert!(wait_until(Duration::from_secs(60), || show()["state"] == "finished"), "{}", show());
    };
    run("plan");
    run("execute");
    let of = |series: &str| numbers(&stage).get(series).copied();
    // A run is counted when it is over, a moment after it can be seen to be.
    let over = "mode_latency_ms_count{mode=\"execute\"}";
    assert!(wait_until(Duration::from_secs(60), || of(over) == Some(1.0)), "{:#?}", numbers(&stage));
    for (series, value) in [
        ("mode_invocations_total{mode=\"plan\"}", 2.0),
        ("mode_failures_total{mode=\"plan\"}", 0.0),
        ("mode_retries_total{mode=\"plan\"}", 0.0),
        ("mode_latency_ms_count{mode=\"plan\"}", 2.0),
        ("mode_latency_ms_bucket{mode=\"plan\",le=\"+Inf\"}", 2.0),
        ("mode_invocations_total{mode=\"execute\"}", 1.0),
        ("mode_failures_total{mode=\"execute\"}", 1.0),
    ] {
        assert_eq!(of(series), Some(value), "{series}: {:#?}", numbers(&stage));
    }
    let buckets: Vec<f64> =
        ["50", "250", "1000", "5000", "15000", "60000", "300000", "900000", "3600000", "21600000", "+Inf"]
            .iter()
            .map(|bound| of(&format!("mode_latency_ms_bucket{{mode=\"plan\",le=\"{bound}\"}}")).unwrap())
            .collect();
    assert!(buckets.is_sorted(), "each holds those before it: {buckets:?}");
    assert!(of("mode_latency_ms_sum{mode=\"plan\"}").unwrap() > 0.0);

    // A collector hears of the same, turns included; the server's end is waited for, so all of it is there.
    let server = stage.server.take().unwrap();
    server.signal(rustix::process::Signal::TERM);
    let output = server.wait();
    output.assert_code(0);
    let spans = collector.spans();
    let names: BTreeSet<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert!(["turn plan", "run plan", "run execute"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("chat ")), "{names:?}");
    let body = collector
        .posts()
        .iter()
        .map(|post| String::from_utf8_lossy(&post.body).into_owned())
        .collect::<String>();
    assert!(!body.contains("hello"), "{body}");
    let counted =
        collector.counts().into_iter().find(|c| c.name == "mode_invocations_total" && c.mode == "plan");
    assert_eq!(counted.map(|count| count.number), Some(MetricNumber::Sum(2)));

    // And so does the log.
    let lines = output
        .stderr
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{e}: {line}")));
    let ended: Vec<Value> = lines.filter(|line| line["step"] == "turn" || line["step"] == "ended").collect();
    let modes: Vec<&Value> = ended.iter().map(|line| &line["mode"]).collect();
    assert_eq!(modes, ["plan", "plan", "execute"], "{}", output.stderr);
    for line in &ended {
        for field in ["request_id", "intent", "provider", "model", "timings", "child_tasks", "decision"] {
            assert!(line.get(field).is_some(), "{field}: {line:#}");
        }
    }
}
