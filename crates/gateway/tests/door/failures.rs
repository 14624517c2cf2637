//! What goes wrong at a provider reaches the client as what it is.

use holon_model::{ModelErrorKind, WireFormat};
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use serde_json::json;

use crate::{OpenGateway, WIRES, body};

#[test]
fn every_kind_has_its_status_and_words() {
    for (kind, status, messages_word, code, retried) in [
        ("auth", 401, "authentication_error", "invalid_api_key", false),
        ("billing", 402, "billing_error", "insufficient_quota", false),
        ("rate_limit", 429, "rate_limit_error", "rate_limit_exceeded", true),
        ("overloaded", 503, "overloaded_error", "server_is_overloaded", true),
        ("context_overflow", 400, "invalid_request_error", "context_length_exceeded", false),
        ("refused", 403, "permission_error", "content_policy_violation", false),
        ("bad_request", 400, "invalid_request_error", "invalid_prompt", false),
        ("network", 502, "api_error", "server_error", true),
        ("timeout", 504, "timeout_error", "timeout", true),
        ("malformed", 502, "api_error", "server_error", false),
        ("replay", 400, "invalid_request_error", "invalid_prompt", false),
        ("setup", 400, "invalid_request_error", "invalid_prompt", false),
    ] {
        let open = OpenGateway::any(&format!("- error: {{ kind: {kind}, message: told so }}\n").repeat(6));
        for wire in WIRES {
            for stream in [true, false] {
                let mut asked = body(wire, "x");
                asked["stream"] = json!(stream);
                let answer = open.ask(wire, &asked);
                let expect = if (kind, wire) == ("overloaded", WireFormat::Messages) { 529 } else { status };
                assert_eq!(answer.status, expect, "{kind} {wire:?}");
                // What a provider says about a key stays with the host.
                let words = if ["auth", "setup"].contains(&kind) { "the key of the host" } else { "told so" };
                assert!(answer.error(wire).contains(words), "{}", answer.body);
                let json = answer.json();
                if wire == WireFormat::Messages {
                    assert_eq!(json["error"]["type"], messages_word, "{kind}");
                } else {
                    assert_eq!(json["error"]["code"], code, "{kind}");
                }
                assert_eq!(answer.header("x-should-retry").is_none(), retried, "{kind}");
            }
        }
    }
}

#[test]
fn a_wait_that_is_asked_for_is_passed_on() {
    for wire in WIRES {
        let server = ModelServer::play(
            wire,
            "- error: { kind: rate_limit, message: slow, retry_after: 1500ms, request_id: req_9 }\n",
        );
        let answer = OpenGateway::pass(&server).ask(wire, &body(wire, "x"));
        assert_eq!(answer.status, 429);
        assert_eq!(
            (answer.header("retry-after"), answer.header("retry-after-ms")),
            (Some("2"), Some("1500"))
        );
        assert_eq!(answer.header("request-id"), Some("req_9"));
        assert!(answer.error(wire).contains("try again in 1.5s"), "{}", answer.body);
    }
}

#[test]
fn a_failure_in_the_middle_is_no_success() {
    for upstream in WIRES {
        for client in WIRES {
            for (turn, kind) in [
                (
                    "- reply: [{ text: half of }, { error: { kind: overloaded, message: busy } }]\n",
                    ModelErrorKind::Overloaded,
                ),
                ("- text: half of\n  cut: true\n", ModelErrorKind::Overloaded),
            ] {
                let server = ModelServer::play(upstream, turn);
                let open = OpenGateway::pass(&server);
                let answer = open.ask(client, &body(client, "x"));
                let error = answer.reply(client).unwrap_err();
                assert_eq!(error.kind, kind, "{client:?} of {upstream:?}: {error} {}", answer.body);
                assert_eq!(answer.body.matches("\"error\":{").count(), 1, "told once: {}", answer.body);
                let account = open.gateway.finish();
                assert_eq!((account.failed, account.estimated), (1, 1), "what was said is charged");
            }
        }
    }
}

#[test]
fn a_connection_that_breaks_is_told() {
    let first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n";
    let server = ModelServer::start(
        WireFormat::Chat,
        [ScriptedResponse::stream([BodyPiece::Bytes(first.into())]).abrupt()],
    );
    let answer = OpenGateway::pass(&server).ask(WireFormat::Chat, &body(WireFormat::Chat, "x"));
    assert!(answer.body.starts_with(first), "{}", answer.body);
    assert!(answer.reply(WireFormat::Chat).is_err());
}

#[test]
fn nothing_is_followed_and_nobody_there_is_said() {
    let redirect =
        ScriptedResponse::raw(307, "text/plain", Vec::new()).header("location", "http://127.0.0.1:1/");
    let server = ModelServer::start(WireFormat::Chat, [redirect]);
    let answer = OpenGateway::pass(&server).ask(WireFormat::Chat, &body(WireFormat::Chat, "x"));
    assert_eq!(answer.status, 400);
    assert!(answer.error(WireFormat::Chat).contains("redirects"), "{}", answer.body);
    let mut endpoint = server.endpoint();
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    endpoint.base = format!("http://{free}/v1");
    let answer = OpenGateway::with(crate::passing(endpoint), |_| {})
        .ask(WireFormat::Chat, &body(WireFormat::Chat, "x"));
    assert_eq!(answer.status, 502, "{}", answer.body);
}
