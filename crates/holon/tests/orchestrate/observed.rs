//! What whoever watches gets to see of an orchestration: one trace with every child in it, and who was started.

use std::collections::BTreeMap;
use std::fs;

use holon_testkit::TestEnv;
use holon_testkit::collector::{Collector, MetricNumber};
use serde_json::{Value, json};

use crate::stage::{BIN, goal, last, plan, repo, task};

#[test]
fn an_orchestration_is_one_trace_and_its_children_are_in_it() {
    let env = TestEnv::new(BIN);
    let collector = Collector::start();
    let tasks =
        [task("one", "code", &[]), task("check", "review", &["one"]), task("gate", "ethical", &["check"])];
    let repo = repo(&env, &plan(&tasks), &[("one", "echo more >> a.txt")]);
    let call = goal(&env, &repo, &["--log-format=json"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let output = call.run();
    output.assert_code(0);
    let (_, manifest) = last(&env);
    let spans = collector.spans();
    let whole = spans.iter().find(|span| span.name == "orchestrate").unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!(whole.parent, None);
    assert_eq!(whole.attributes["holon.run_id"], manifest["run_id"]);
    assert_eq!(whole.attributes["holon.decision"], "approve", "{whole:#?}");
    let mut children: BTreeMap<&str, usize> = BTreeMap::new();
    for span in spans.iter().filter(|span| span.name.starts_with("run ")) {
        assert_eq!((&span.trace, span.parent.as_ref()), (&whole.trace, Some(&whole.id)), "{span:#?}");
        assert!(span.start_ns >= whole.start_ns && span.end_ns <= whole.end_ns, "{span:#?}");
        *children.entry(span.name.as_str()).or_default() += 1;
    }
    let all = [("run orchestrate", 1), ("run execute", 1), ("run review", 1), ("run ethical", 1)];
    assert_eq!(children, BTreeMap::from(all));
    let asked: Vec<_> = spans.iter().filter_map(|span| span.attributes.get("holon.asked_by")).collect();
    assert_eq!(asked, vec![&json!("orchestrate"); 3]);
    for mode in ["orchestrate", "execute", "review", "ethical"] {
        let count =
            collector.counts().into_iter().find(|c| c.name == "mode_invocations_total" && c.mode == mode);
        assert_eq!(count.map(|count| count.number), Some(MetricNumber::Sum(1)), "{mode}");
    }
    // The log says who was started and what was decided about the whole.
    let said = output
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")));
    let said: Vec<Value> = said.collect();
    let line = said.iter().find(|line| line["step"] == "children").unwrap_or_else(|| panic!("{said:#?}"));
    assert_eq!(
        (&line["mode"], &line["decision"]["is"]),
        (&json!("orchestrate"), &json!("approve")),
        "{line:#}"
    );
    let names: Vec<&Value> =
        line["child_tasks"].as_array().unwrap().iter().map(|child| &child["task"]).collect();
    assert_eq!(names, ["one", "check", "gate"]);
    let log = env.state().join("holon/logs/orchestrate");
    let stored =
        fs::read_dir(log).unwrap().flatten().flat_map(|task| fs::read_dir(task.path()).unwrap().flatten());
    let stored: Vec<String> =
        stored.map(|request| fs::read_to_string(request.path().join("log.jsonl")).unwrap()).collect();
    assert!(stored.len() == 1 && stored[0].lines().last() == Some(line.to_string().as_str()), "{stored:?}");
}

#[test]
fn an_orchestration_goes_on_below_the_span_of_whoever_started_it() {
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    for (flags, seen) in [("01", true), ("00", false)] {
        let env = TestEnv::new(BIN);
        let collector = Collector::start();
        let repo = repo(&env, &plan(&[task("one", "code", &[])]), &[("one", "echo more >> a.txt")]);
        let call = goal(&env, &repo, &["--quiet"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
        let call = call.env("TRACEPARENT", format!("00-{trace}-{span}-{flags}")).env("TRACESTATE", "ci=7");
        call.run().assert_code(0);
        let spans = collector.spans();
        assert_eq!(!spans.is_empty(), seen, "a trace nobody wants is not made: {spans:#?}");
        for one in &spans {
            assert_eq!((one.trace.as_str(), one.state.as_deref()), (trace, Some("ci=7")), "{one:#?}");
            assert_eq!(one.parent.as_deref() == Some(span), one.name == "orchestrate", "{one:#?}");
        }
        // What is counted does not depend on it.
        let counts = collector.counts();
        assert!(counts.iter().any(|c| c.mode == "execute" && c.number == MetricNumber::Sum(1)), "{counts:?}");
    }
}

#[test]
fn what_is_no_trace_of_anybody_is_not_taken_for_one() {
    let env = TestEnv::new(BIN);
    let collector = Collector::start();
    let repo = repo(&env, &plan(&[task("one", "code", &[])]), &[("one", "echo more >> a.txt")]);
    let call = goal(&env, &repo, &["--quiet"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    call.env("TRACEPARENT", "00-nonsense-01").env("TRACESTATE", "ci=7").run().assert_code(0);
    let spans = collector.spans();
    let whole = spans.iter().find(|span| span.name == "orchestrate").unwrap();
    assert_eq!((whole.parent.as_ref(), whole.state.as_ref()), (None, None), "{whole:#?}");
}

#[test]
fn a_collector_that_stays_away_costs_a_line_and_nothing_else() {
    let env = TestEnv::new(BIN);
    let collector = Collector::answering("503 Service Unavailable");
    let repo = repo(&env, &plan(&[task("one", "code", &[])]), &[("one", "echo more >> a.txt")]);
    let call = goal(&env, &repo, &["--quiet"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let output = call.run();
    output.assert_code(0).assert_stderr("warning: telemetry: not delivered: 4 spans and the last counts");
    assert_eq!(output.stderr.matches("status 503").count(), 1, "{output}");
}
