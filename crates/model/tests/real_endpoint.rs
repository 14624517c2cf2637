//! A real model server, when somebody names one. Nothing here guards a promise, so nothing is lost when nobody does.
//!
//!     HOLON_TEST_MODEL_URL=http://localhost:11434/v1 cargo test -p holon-model --test real_endpoint -- --nocapture
//!
//! `HOLON_TEST_MODEL` names the model (else one is picked), `HOLON_TEST_MODEL_KEY` holds a key.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::time::Duration;

use holon_model::choose::{ThisMachine, ToolCalls, ToolMode};
use holon_model::retry::Backoff;
use holon_model::{
    BlockingProvider, ChosenEndpoint, EndpointPreferences, HttpTimeouts, ModelCancel, ModelMessage,
    ModelReply, ModelRequest, ReplyDelta, ReplyStop, ToolResult, ToolSpec, resolve_endpoint,
};
use serde_json::json;

/// Small models on small machines take their time.
fn timeouts() -> HttpTimeouts {
    let long = Duration::from_secs(600);
    HttpTimeouts { connect: Duration::from_secs(10), head: long, idle: long }
}

/// Past the test harness, which hides what passing tests print.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The endpoint that was named, or nothing and a line that says so.
fn named(test: &str, tools: ToolMode) -> Option<ChosenEndpoint> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let Some(url) = variable("HOLON_TEST_MODEL_URL") else {
        say(&format!("{test}: not asked for, nothing was tested (HOLON_TEST_MODEL_URL names no server)"));
        return None;
    };
    let look_up = |name: &str| match name {
        "HOLON_API_KEY" | "OPENROUTER_API_KEY" | "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" => {
            variable("HOLON_TEST_MODEL_KEY")
        }
        "HOLON_MODEL" => variable("HOLON_TEST_MODEL"),
        _ => None,
    };
    let wish = EndpointPreferences { base_url: Some(&url), tools, ..EndpointPreferences::default() };
    let chosen =
        resolve_endpoint(&wish, &ThisMachine::new(&look_up)).unwrap_or_else(|error| panic!("{error}"));
    say(&format!("{test}: {} at {} ({})", chosen.model, chosen.endpoint.base, chosen.why));
    Some(chosen)
}

fn ask(chosen: &ChosenEndpoint, request: &ModelRequest) -> (Vec<ReplyDelta>, ModelReply) {
    let provider = BlockingProvider::new(
        chosen.connect(timeouts(), Backoff::default(), holon_model::ModelSwitch::default()).unwrap(),
    )
    .unwrap();
    let mut deltas = Vec::new();
    let mut sink = |delta| deltas.push(delta);
    let reply = provider.stream(request, &mut sink, &ModelCancel::default());
    let reply = reply.unwrap_or_else(|error| panic!("{error}"));
    (deltas, reply)
}

#[test]
fn words_arrive_piece_by_piece() {
    let Some(chosen) = named("words_arrive_piece_by_piece", ToolMode::Auto) else { return };
    let request = ModelRequest::new(&chosen.model, "Count from one to twenty in words, separated by commas.");
    let (deltas, reply) = ask(&chosen, &request);
    let pieces = deltas.iter().filter(|delta| matches!(delta, ReplyDelta::Text(_))).count();
    assert!(pieces > 1, "{deltas:?}");
    assert!(reply.text().to_lowercase().contains("seven"), "{}", reply.text());
    assert_eq!(reply.stop, ReplyStop::EndTurn);
    assert!(reply.usage.is_some_and(|usage| usage.total_output() > 0), "{:?}", reply.usage);
}

/// Asks for the content of a file, gives it, and wants it back in the answer.
fn reads_a_file(chosen: &ChosenEndpoint) {
    let mut request = ModelRequest::new(
        &chosen.model,
        "What is the secret word in the file notes.txt? Call the tool read_file to find out, then answer with the word.",
    );
    let schema = json!({
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
    });
    request.tools = vec![ToolSpec::new("read_file", "Reads a text file of the project.", schema)];
    for round in 1..=4 {
        let (_, reply) = ask(chosen, &request);
        let calls: Vec<_> = reply.calls().cloned().collect();
        say(&format!("  round {round}: {:?}, {} calls, {:?}", reply.stop, calls.len(), reply.text()));
        if calls.is_empty() {
            assert!(round > 1, "the tool was never called: {}", reply.text());
            assert!(reply.text().to_lowercase().contains("halibut"), "{}", reply.text());
            return;
        }
        request.messages.push(reply.message());
        let results = calls.iter().map(|call| {
            assert_eq!(call.name, "read_file");
            assert!(call.object().unwrap().contains_key("path"), "{}", call.arguments);
            ToolResult::ok(&call.id, "The secret word is halibut.")
        });
        request.messages.push(ModelMessage::results(results));
    }
    panic!("four rounds were not enough");
}

#[test]
fn tools_are_called_natively_where_that_is_possible() {
    let test = "tools_are_called_natively_where_that_is_possible";
    let Some(chosen) = named(test, ToolMode::Auto) else { return };
    if chosen.tools != ToolCalls::Native {
        say(&format!("{test}: this model calls no tools natively, nothing was tested"));
        return;
    }
    reads_a_file(&chosen);
}

#[test]
fn tools_are_called_in_words_by_any_model() {
    let Some(chosen) = named("tools_are_called_in_words_by_any_model", ToolMode::Text) else { return };
    assert!(matches!(chosen.tools, ToolCalls::Text { .. }));
    reads_a_file(&chosen);
}
