//! Every client is served by every provider.

use holon_gateway::GatewayEvent;
use holon_model::{MessagePart, ReplyStop, ToolCall, WireFormat};
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse, StreamSplit};
use serde_json::json;

use crate::{OpenGateway, WIRES, body, not_streamed};

const TURN: &str =
    "- reply: [{ reasoning: hm }, { text: \"héllo\" }, { tool: ls, id: call_7, args: { path: a } }]
  usage: { input: 10, output: 5 }
";

#[test]
fn any_client_is_served_by_any_provider() {
    for upstream in WIRES {
        for client in WIRES {
            let server = ModelServer::play(upstream, &TURN.repeat(2));
            let open = OpenGateway::pass(&server);
            let reply = open.ask(client, &body(client, "hi")).reply(client).unwrap();
            let label = format!("{client:?} client, {upstream:?} provider");
            assert_eq!(reply.text(), "héllo".to_owned(), "{label}");
            let call = ToolCall::new("call_7", "ls", r#"{"path":"a"}"#);
            assert_eq!(reply.calls().collect::<Vec<_>>(), [&call], "{label}");
            assert_eq!(reply.stop, ReplyStop::ToolUse, "{label}");
            let thoughts =
                reply.parts.iter().any(|part| matches!(part, MessagePart::Reasoning(r) if r.text == "hm"));
            assert!(thoughts, "{label}: {reply:?}");
            let usage = reply.usage.unwrap();
            assert_eq!((usage.total_input(), usage.total_output()), (10, 5), "{label}");
            assert_eq!(server.requests()[0].body["model"], "the-model", "{label}");

            let told = open.events().into_iter().find_map(|event| match event {
                GatewayEvent::Finished { stop, error, estimated, .. } => Some((stop, error, estimated)),
                _ => None,
            });
            assert_eq!(told, Some((Some(ReplyStop::ToolUse), None, false)), "{label}");
            let account = open.gateway.finish();
            assert_eq!((account.requests, account.failed, account.estimated), (1, 0, 0), "{label}");
            assert_eq!(account.usage.total_input(), 10, "{label}");
        }
    }
}

#[test]
fn an_answer_may_come_whole() {
    for client in WIRES {
        let open = OpenGateway::any(TURN);
        let reply = open.ask(client, &not_streamed(client, "hi")).whole(client);
        assert_eq!((reply.text(), reply.calls().count()), ("héllo".to_owned(), 1), "{client:?}");
        assert_eq!(reply.usage.unwrap().total_output(), 5);
        // A provider that streams although it was not asked to is heard out.
        let server = ModelServer::play(client, TURN);
        let reply = OpenGateway::pass(&server).ask(client, &not_streamed(client, "hi")).whole(client);
        assert_eq!(reply.text(), "héllo", "{client:?}");
    }
    let whole = r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"odd":1}"#;
    let server = ModelServer::start(
        WireFormat::Chat,
        [ScriptedResponse::json(200, whole), ScriptedResponse::json(200, whole)],
    );
    let open = OpenGateway::pass(&server);
    let answer = open.ask(WireFormat::Chat, &not_streamed(WireFormat::Chat, "x"));
    assert_eq!(answer.body, whole, "bytes pass as they are");
    // And one that does not stream although it was asked to is told piece by piece.
    assert_eq!(
        open.ask(WireFormat::Chat, &body(WireFormat::Chat, "x")).reply(WireFormat::Chat).unwrap().text(),
        "hi"
    );
    assert_eq!(open.gateway.finish().estimated, 2, "nobody told the tokens");
}

#[test]
fn bytes_pass_unchanged_however_they_are_cut() {
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hé\"},\"own\":\"field\"}]}\r\n\r\n: note\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    for size in [1, 7, 1000] {
        let piece = BodyPiece::Bytes(stream.as_bytes().to_vec());
        let server = ModelServer::start(
            WireFormat::Chat,
            [ScriptedResponse::stream([piece]).split(StreamSplit::Every(size))],
        );
        let answer = OpenGateway::pass(&server).ask(WireFormat::Chat, &body(WireFormat::Chat, "x"));
        assert_eq!(answer.body, stream, "packets of {size}");
    }
}

#[test]
fn pieces_arrive_before_the_answer_is_whole() {
    for wire in WIRES {
        for pass in [true, false] {
            let turn = "- reply: [{ text: first }, { delay: 9s }, { text: second }]\n";
            let server = ModelServer::play(wire, turn);
            let open = if pass { OpenGateway::pass(&server) } else { OpenGateway::any(turn) };
            let mut client = open.client();
            let text = body(wire, "x").to_string();
            let head = format!(
                "POST {} HTTP/1.1\r\nhost: g\r\nx-api-key: {}\r\ncontent-length: {}\r\n\r\n",
                wire.path(),
                crate::TOKEN,
                text.len()
            );
            client.send((head + &text).as_bytes());
            assert!(!client.read_until("first").contains("second"));
            client.hang_up();
        }
    }
}

#[test]
fn what_the_client_did_not_get_passed_on_is_told() {
    let server = ModelServer::play(WireFormat::Responses, "- text: ok\n");
    let open = OpenGateway::pass(&server);
    let mut asked = body(WireFormat::Responses, "x");
    asked["tools"] = json!([{"type": "mcp", "server_url": "https://evil.example"}]);
    asked["metadata"] = json!({"a": "b"});
    open.ask(WireFormat::Responses, &asked).reply(WireFormat::Responses).unwrap();
    let seen = &server.requests()[0].body;
    assert!(
        seen.get("tools").is_none() && seen.get("metadata").is_none() && seen["store"] == false,
        "{seen}"
    );
    let told = open.events().into_iter().find_map(|event| match event {
        GatewayEvent::Started { dropped, .. } => Some(dropped),
        _ => None,
    });
    assert_eq!(told.unwrap(), ["metadata", "tool mcp"]);
}

#[test]
fn the_small_things_clients_ask_for() {
    let open = OpenGateway::any("[]");
    let key = [("x-api-key", crate::TOKEN)];
    let hello = open.client().request("GET", "/", &[], "");
    assert_eq!((hello.status, hello.body.as_str()), (200, "holon gateway\n"));
    assert_eq!(open.client().request("HEAD", "/", &[], "").status, 200);
    for path in ["/v1/models", "/models"] {
        let models = open.client().request("GET", path, &key, "").json();
        assert_eq!(models["data"][0]["id"], "the-model");
    }
    assert_eq!(open.client().request("GET", "/v1/models/the-model", &key, "").json()["id"], "the-model");
    assert_eq!(open.client().request("GET", "/v1/models/other", &key, "").status, 404);
    let count =
        json!({"model": "x", "system": "s", "messages": [{"role": "user", "content": "x".repeat(4000)}]});
    let counted =
        open.client().request("POST", "/v1/messages/count_tokens?beta=true", &key, &count.to_string());
    let tokens = counted.json()["input_tokens"].as_u64().unwrap();
    assert!((1000..1100).contains(&tokens), "{tokens}");
    let lost = open.client().request("POST", "/v1/messages/batches", &key, "{}");
    assert_eq!((lost.status, lost.json()["type"].as_str()), (404, Some("error")), "in the words of the wire");
    assert_eq!(open.client().request("GET", "/v1/messages", &key, "").status, 405);
    assert_eq!(open.gateway.finish().requests, 0, "no model was asked");
}
