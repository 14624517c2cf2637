//! Whose trace turns and runs belong to, and that what fails at once is part of one as well.

use std::time::Duration;

use holon_testkit::collector::{Collector, ReceivedSpan};
use holon_testkit::wait_until;
use serde_json::{Value, json};

use crate::http;
use crate::stage::ServeStage;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";
/// Of whoever started the server, which is nobody's business who asks it something.
const STARTER: &str = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01";

/// A server with a collector, an agent that plans, and a cassette that says hi.
fn stage(collector: &Collector) -> ServeStage {
    let stage = ServeStage::new();
    let script = "printf '# Goal\\nx\\n# Context\\nx\\n# Steps\\nx\\n# Risks\\nx\\n# Verification\\nx\\n' > /holon/output/plan.md";
    let agent = format!(
        "name = \"scripted\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"-c\", \"\"\"{}\"\"\"]\n",
        script.replace('\\', "\\\\")
    );
    stage.env.write(stage.env.config().join("holon/agents/scripted.toml"), agent);
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let url = collector.url();
    let variables =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("TRACEPARENT", STARTER), ("HOLON_LOG", "json")];
    stage.with(&["--replay", tape.to_str().unwrap()], &variables)
}

/// Asks with the headers of a trace.
fn asked(stage: &ServeStage, path: &str, body: &Value, flags: &str) -> http::TestHttpResponse {
    let parent = format!("00-{TRACE}-{SPAN}-{flags}");
    let headers = [
        ("content-type", "application/json"),
        ("traceparent", parent.as_str()),
        ("tracestate", "one=1,two=2"),
    ];
    http::send(stage.port, "POST", path, &headers, body.to_string().as_bytes())
}

/// Starts a run and waits for its end.
fn run(stage: &ServeStage, mode: &str, flags: &str) {
    let body = json!({"workspace": stage.repo.path(), "goal": "x", "mode": mode, "agent": "scripted"});
    let started = asked(stage, "/api/runs", &body, flags).json();
    let id = started["id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let show = || stage.get(&format!("/api/runs/{id}")).json();
    assert!(wait_until(Duration::from_secs(60), || show()["state"] == "finished"), "{}", show());
}

/// Ends the server, which sends everything first; gives what it said.
fn over(stage: &mut ServeStage) -> String {
    let server = stage.server.take().unwrap();
    server.signal(rustix::process::Signal::TERM);
    let output = server.wait();
    output.assert_code(0);
    output.stderr
}

fn named<'a>(spans: &'a [ReceivedSpan], name: &str) -> &'a ReceivedSpan {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"))
}

#[test]
fn turns_and_runs_belong_to_the_trace_of_the_request_that_asked_for_them() {
    let collector = Collector::start();
    let mut stage = stage(&collector);
    let thread = stage.thread();
    let message = json!({"message": "hello", "mode": "plan"});
    asked(&stage, &format!("/api/chat/{thread}"), &message, "01").events();
    run(&stage, "plan", "01");
    over(&mut stage);
    let spans = collector.spans();
    for name in ["turn plan", "run plan"] {
        assert_eq!(named(&spans, name).parent.as_deref(), Some(SPAN), "{spans:#?}");
    }
    for span in &spans {
        assert_eq!((span.trace.as_str(), span.state.as_deref()), (TRACE, Some("one=1,two=2")), "{span:#?}");
    }
}

#[test]
fn who_does_not_ask_for_a_trace_gets_one_of_their_own_and_who_wants_none_gets_none() {
    let collector = Collector::start();
    let mut stage = stage(&collector);
    stage.say(&stage.thread(), "hello", "plan");
    let thread = stage.thread();
    asked(&stage, &format!("/api/chat/{thread}"), &json!({"message": "hello", "mode": "plan"}), "00")
        .events();
    run(&stage, "plan", "00");
    over(&mut stage);
    let spans = collector.spans();
    let turn = named(&spans, "turn plan");
    assert_eq!((turn.parent.as_ref(), turn.state.as_ref()), (None, None), "{turn:#?}");
    assert!(spans.iter().all(|span| span.trace == turn.trace), "the other two are not there: {spans:#?}");
    assert!(!STARTER.contains(&turn.trace), "a server's own beginning has no part in it");
    // They are counted all the same.
    let counts = collector.counts();
    let plan = counts.iter().find(|c| c.name == "mode_invocations_total" && c.mode == "plan").unwrap();
    assert_eq!(plan.number, holon_testkit::collector::MetricNumber::Sum(3));
}

#[test]
fn a_turn_that_fails_before_a_model_is_asked_has_a_trace_and_a_line() {
    let collector = Collector::start();
    let mut stage = stage(&collector);
    std::fs::remove_file(stage.env.work().join("chat.yaml")).unwrap();
    let thread = stage.thread();
    let message = json!({"message": "hello", "mode": "plan"});
    let events = asked(&stage, &format!("/api/chat/{thread}"), &message, "01").events();
    assert!(events.iter().any(|event| event.name == "error"), "{events:#?}");
    let said = over(&mut stage);
    let spans = collector.spans();
    let turn = named(&spans, "turn plan");
    assert_eq!((turn.trace.as_str(), turn.parent.as_deref()), (TRACE, Some(SPAN)));
    assert!(turn.error.is_some() && turn.attributes.contains_key("error.type"), "{turn:#?}");
    assert_eq!(turn.attributes["gen_ai.conversation.id"], json!(thread));
    let mut lines = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.rfind(|line| line["step"] == "turn").unwrap_or_else(|| panic!("{said}"));
    assert_eq!((&line["mode"], &line["success"]), (&json!("plan"), &json!(false)), "{line:#}");
    assert_eq!(line["error"], turn.attributes["error.type"], "{line:#}");
}

#[test]
fn an_orchestration_asked_for_over_http_is_counted_and_traced() {
    let collector = Collector::start();
    let mut stage = stage(&collector);
    // The agent knows no plan of tasks, so this fails; it is counted as what it is.
    run(&stage, "orchestrate", "01");
    let scraped = || stage.get("/metrics").text();
    let over_there = || scraped().contains("mode_latency_ms_count{mode=\"orchestrate\"}");
    assert!(wait_until(Duration::from_secs(60), over_there), "{}", scraped());
    // The whole counts, and what plans it does not count besides.
    for (counter, count) in [("invocations", 1), ("failures", 1)] {
        let line = format!("mode_{counter}_total{{mode=\"orchestrate\"}} {count}");
        assert!(scraped().contains(&line), "{line}: {}", scraped());
    }
    over(&mut stage);
    let spans = collector.spans();
    let whole = named(&spans, "orchestrate");
    assert_eq!((whole.trace.as_str(), whole.parent.as_deref()), (TRACE, Some(SPAN)), "{whole:#?}");
    let part = named(&spans, "run orchestrate");
    assert_eq!(part.parent.as_ref(), Some(&whole.id), "{part:#?}");
}
