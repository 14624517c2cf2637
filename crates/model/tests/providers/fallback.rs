//! Tools for models without them.

use holon_model::cassette::CassetteTurn;
use holon_model::fallback::NativeTools;
use holon_model::retry::Backoff;
use holon_model::{
    MessagePart, ModelMessage, ModelRequest, ReplyDelta, ReplyStop, RetryingProvider, TextTools, ToolResult,
    ToolSpec, WireFormat,
};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use serde_json::json;

use super::{ask, hello, http, quick};

fn with_tools() -> ModelRequest {
    let mut request = hello();
    request.system = "Be brief.".into();
    request.tools = vec![ToolSpec::new("read_file", "Reads a file.", json!({"type": "object"}))];
    request
}

#[test]
fn a_model_that_writes_fenced_json_calls_tools() {
    let script = "
- text: |
    I will look.
    ```json
    {'tool': 'read_file', 'arguments': {'path': 'a.rs',}}
    ```
- text: All done.
";
    let server = ModelServer::play(WireFormat::Chat, script);
    let mut request = with_tools();
    let (deltas, reply) = ask(TextTools::new(http(&server), false), &request);
    let reply = reply.unwrap();
    assert_eq!(reply.stop, ReplyStop::ToolUse);
    assert_eq!(reply.text(), "I will look.");
    let call = reply.calls().next().unwrap().clone();
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("read_file", r#"{"path":"a.rs"}"#));
    assert_eq!(deltas[0], ReplyDelta::Text("I will look.".into()));
    request.messages.push(reply.message());
    request.messages.push(ModelMessage::results([ToolResult::ok(&call.id, "fn main() {}")]));
    let last = ask(TextTools::new(http(&server), false), &request).1.unwrap();
    assert_eq!((last.text().as_str(), last.stop), ("All done.", ReplyStop::EndTurn));
    let bodies: Vec<_> = server.requests().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies[0].get("tools"), None);
    let system = bodies[0]["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.") && system.contains("read_file: Reads a file."), "{system}");
    let messages = bodies[1]["messages"].as_array().unwrap();
    assert!(messages[2]["content"].as_str().unwrap().contains("\"tool\":\"read_file\""));
    assert!(messages[3]["content"].as_str().unwrap().ends_with("fn main() {}"));
    assert!(messages.iter().all(|message| message["role"] != "tool" && message.get("tool_calls").is_none()));
}

#[test]
fn a_constrained_model_says_and_calls_in_one_object() {
    let script = r#"
- text: '{"say": "Looking.", "tool": "read_file", "arguments": {"path": "a"}}'
- text: '{"say": "Done.", "tool": "none", "arguments": {}}'
- text: '{"say": "Half'
  stop: max_tokens
"#;
    let server = ModelServer::play(WireFormat::Chat, script);
    let mut request = with_tools();
    request.tools[0].schema = json!({"type": "object", "required": ["path"]});
    let call = || ask(TextTools::new(http(&server), true), &request).1.unwrap();
    let first = call();
    assert_eq!((first.text().as_str(), first.stop), ("Looking.", ReplyStop::ToolUse));
    assert_eq!(first.calls().next().unwrap().arguments, r#"{"path":"a"}"#);
    let second = call();
    assert_eq!(
        (second.text().as_str(), second.stop, second.calls().count()),
        ("Done.", ReplyStop::EndTurn, 0)
    );
    let cut = call();
    assert_eq!((cut.stop, cut.calls().count()), (ReplyStop::MaxTokens, 0));
    let format = &server.requests()[0].body["response_format"];
    assert_eq!(format["type"], "json_schema");
    let calls = format["json_schema"]["schema"]["anyOf"].as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| &call["properties"]["tool"]["enum"][0]).collect();
    assert_eq!(names, ["read_file", "none"]);
    let own = &calls[0]["properties"]["arguments"];
    assert_eq!(own["required"], json!(["path"]), "each tool has its own arguments");
}

#[test]
fn a_request_without_tools_streams_as_it_comes() {
    let server = ModelServer::play(WireFormat::Chat, "- reply: [{text: a}, {text: b}]\n");
    let (deltas, reply) = ask(TextTools::new(http(&server), true), &hello());
    assert_eq!(reply.unwrap().parts, [MessagePart::Text("ab".into())]);
    assert_eq!(deltas.len(), 2);
}

#[test]
fn words_stream_and_only_what_may_be_a_call_waits() {
    let script = r#"
- reply: [{text: "I will "}, {text: "look.\n"}, {text: "```js"}, {text: "on\n{\"tool\": \"read_file\"}\n```"}]
- reply: [{text: '{"say": "Loo'}, {text: 'king.", "tool": "no'}, {text: 'ne", "arguments": {}}'}]
- reply: [{text: '{"say": "Hm.", '}, {text: '"tool": "no such tool"}'}]
- reply: [{text: "Hm."}, {cut: true}]
- text: Well.
"#;
    let server = ModelServer::play(WireFormat::Chat, script);
    let text = |text: &str| ReplyDelta::Text(text.to_owned());
    let provider = || TextTools::new(http(&server), true);
    let (deltas, _) = ask(provider(), &with_tools());
    assert_eq!(&deltas[..2], [text("I will"), text(" look.")]);
    assert!(
        matches!(&deltas[2], ReplyDelta::CallStarted { index: 0, name } if name == "read_file"),
        "{deltas:?}"
    );
    let (deltas, reply) = ask(provider(), &with_tools());
    assert_eq!((deltas, reply.unwrap().text()), (vec![text("Loo"), text("king.")], "Looking.".to_owned()));
    // What was told is taken back when the whole is something else.
    let (deltas, reply) = ask(provider(), &with_tools());
    assert_eq!(deltas, [text("Hm."), ReplyDelta::Restart, text(&reply.unwrap().text())]);
    let retrying = TextTools::new(
        RetryingProvider::with(http(&server), Backoff { after_text: true, ..quick() }, || 0.0),
        true,
    );
    let (deltas, reply) = ask(retrying, &with_tools());
    assert_eq!(deltas, [text("Hm."), ReplyDelta::Restart, text("Well.")]);
    assert_eq!(reply.unwrap().text(), "Well.");
}

#[test]
fn a_server_that_knows_no_schemas_is_asked_without_one() {
    let script = "
- error: { kind: bad_request, message: response_format is not supported }
- text: Let me see.
- text: Done.
- error: { kind: bad_request, message: no such model }
";
    let server = ModelServer::play(WireFormat::Chat, script);
    let provider = std::sync::Arc::new(TextTools::new(http(&server), true));
    let said = || ask(provider.clone(), &with_tools()).1.unwrap().text();
    assert_eq!((said().as_str(), said().as_str()), ("Let me see.", "Done."));
    let constrained: Vec<bool> =
        server.requests().iter().map(|seen| seen.body.get("response_format").is_some()).collect();
    assert_eq!(constrained, [true, false, false], "it is remembered");
    let error = ask(provider, &with_tools()).1.unwrap_err();
    assert!(error.to_string().contains("no such model"), "{error}");
    assert_eq!(server.requests().len(), 4, "and asked once when it is something else");
}

#[test]
fn a_grammar_that_is_refused_is_not_sent_again() {
    for (status, body) in [
        (500, r#"{"error":{"code":500,"message":"Failed to parse grammar","type":"server_error"}}"#),
        (400, r#"{"error":"'response_format.type' must be 'json_schema' or 'text'"}"#),
    ] {
        let script = [
            ScriptedResponse::json(status, body),
            CassetteTurn::text("One.").into(),
            CassetteTurn::text("Two.").into(),
        ];
        let server = ModelServer::start(WireFormat::Chat, script);
        let patient = RetryingProvider::with(http(&server), quick(), || 0.0);
        let provider = std::sync::Arc::new(TextTools::new(patient, true));
        let said = || ask(provider.clone(), &with_tools()).1.unwrap().text();
        assert_eq!((said().as_str(), said().as_str()), ("One.", "Two."));
        let held: Vec<bool> =
            server.requests().iter().map(|seen| seen.body.get("response_format").is_some()).collect();
        assert_eq!(held, [true, false, false], "{body}");
    }
}

#[test]
fn a_server_that_refuses_tools_is_asked_in_words_from_then_on() {
    for (status, body) in [
        (400, r#"{"error":{"message":"gemma:2b does not support tools","type":"api_error"}}"#),
        (
            500,
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}"#,
        ),
        (404, r#"{"error":{"message":"No endpoints found that support tool use","code":404}}"#),
    ] {
        let called = "```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```";
        let script = [
            ScriptedResponse::json(status, body),
            CassetteTurn::text(called).into(),
            CassetteTurn::text("Done.").into(),
        ];
        let server = ModelServer::start(WireFormat::Chat, script);
        let patient = RetryingProvider::with(http(&server), quick(), || 0.0);
        let provider = std::sync::Arc::new(NativeTools::new(patient));
        let first = ask(provider.clone(), &with_tools()).1.unwrap();
        assert_eq!(first.calls().next().unwrap().name, "read_file");
        assert_eq!(ask(provider, &with_tools()).1.unwrap().text(), "Done.");
        let native: Vec<bool> =
            server.requests().iter().map(|seen| seen.body.get("tools").is_some()).collect();
        assert_eq!(native, [true, false, false], "{body}");
    }
    // What is wrong with the request otherwise is told, and asked once.
    let body = r#"{"error":{"message":"model `x` not found"}}"#;
    let server = ModelServer::start(
        WireFormat::Chat,
        [ScriptedResponse::json(404, body), CassetteTurn::text("Done.").into()],
    );
    let error = ask(NativeTools::new(http(&server)), &with_tools()).1.unwrap_err();
    assert!(error.to_string().contains("not found") && server.requests().len() == 1, "{error}");
}

#[test]
fn a_call_that_is_only_thought_about_is_none() {
    let script = r#"
- text: "<think>I could call\n```json\n{\"tool\": \"read_file\"}\n```\nbut no.</think>\n\nNo."
- text: "I could call\n```json\n{\"tool\": \"read_file\"}\n```\nbut no.\n</think>\n\nNo."
- text: "```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"a\n</think>\nb\"}}\n```"
"#;
    let server = ModelServer::play(WireFormat::Chat, script);
    for _ in 0..2 {
        let reply = ask(TextTools::new(http(&server), true), &with_tools()).1.unwrap();
        assert_eq!(
            (reply.text().as_str(), reply.stop, reply.calls().count()),
            ("No.", ReplyStop::EndTurn, 0)
        );
        assert!(
            matches!(&reply.parts[0], MessagePart::Reasoning(r) if r.text.ends_with("but no.")),
            "{reply:?}"
        );
    }
    let written = ask(TextTools::new(http(&server), true), &with_tools()).1.unwrap();
    let call = written.calls().next().unwrap();
    assert_eq!(call.arguments, r#"{"path":"a\n</think>\nb"}"#, "what is written is written");
}
