//! Bad answers, and none at all.

use std::time::Duration;

use holon_model::{
    BlockingProvider, Endpoint, HttpProvider, HttpTimeouts, ModelCancel, ModelError, ModelErrorKind,
    ProviderKey, ReplyDelta, WireFormat,
};
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};

use super::{WIRES, ask, hello, http, timeouts};

fn fails(server: &ModelServer) -> ModelError {
    ask(http(server), &hello()).1.unwrap_err()
}

#[test]
fn errors_before_the_stream_keep_their_meaning_on_every_wire() {
    for (name, kind) in [
        ("auth", ModelErrorKind::Auth),
        ("billing", ModelErrorKind::Billing),
        ("rate_limit", ModelErrorKind::RateLimit),
        ("overloaded", ModelErrorKind::Overloaded),
        ("context_overflow", ModelErrorKind::ContextOverflow),
        ("refused", ModelErrorKind::Refused),
        ("bad_request", ModelErrorKind::BadRequest),
        ("timeout", ModelErrorKind::Timeout),
    ] {
        for wire in WIRES {
            let script = format!("- error: {{ kind: {name}, message: told, request_id: req-1 }}\n");
            let error = fails(&ModelServer::play(wire, &script));
            assert_eq!(error.kind, kind, "{wire:?}");
            assert!(error.message.contains("told") && error.status.is_some(), "{error}");
            assert_eq!(error.request_id.as_deref(), Some("req-1"));
        }
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_fails_after_what_was_said() {
    for wire in WIRES {
        let script = "- reply: [{ text: half }, { error: { kind: overloaded, message: upstream died } }]\n";
        let (deltas, reply) = ask(http(&ModelServer::play(wire, script)), &hello());
        assert_eq!(deltas, [ReplyDelta::Text("half".into())], "{wire:?}");
        let error = reply.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Overloaded, "{wire:?}");
        assert!(error.message.contains("upstream died"), "{error}");
    }
}

#[test]
fn a_cut_stream_is_a_failure_whether_it_ends_or_breaks() {
    for wire in WIRES {
        let cut = "- text: half\n  cut: true\n";
        assert_eq!(fails(&ModelServer::play(wire, cut)).kind, ModelErrorKind::Cut, "{wire:?}");
        let turns = cut.parse::<holon_model::Cassette>().unwrap().turns;
        let server =
            ModelServer::start(wire, turns.into_iter().map(|turn| ScriptedResponse::from(turn).abrupt()));
        assert_eq!(fails(&server).kind, ModelErrorKind::Cut, "{wire:?}");
        let empty = ModelServer::start(wire, [ScriptedResponse::stream([])]);
        assert_eq!(fails(&empty).kind, ModelErrorKind::Cut, "{wire:?}");
    }
}

#[test]
fn nonsense_is_not_understood() {
    for wire in WIRES {
        let server = ModelServer::start(
            wire,
            [
                ScriptedResponse::stream([BodyPiece::Bytes(b"data: {not json\n\n".to_vec())]),
                ScriptedResponse::raw(
                    200,
                    "text/html",
                    vec![BodyPiece::Bytes(b"<html>hello</html>".to_vec())],
                ),
                ScriptedResponse::json(200, "<html>"),
            ],
        );
        assert_eq!(fails(&server).kind, ModelErrorKind::Malformed);
        let page = fails(&server);
        assert_eq!(page.kind, ModelErrorKind::Malformed);
        assert!(page.message.contains("answers with a web page: `<html>hello</html>`"), "{page}");
        assert_eq!(fails(&server).kind, ModelErrorKind::Malformed);
    }
}

#[test]
fn huge_bodies_are_not_swallowed() {
    let megabyte = BodyPiece::Bytes(vec![b'x'; 1024 * 1024]);
    let server = ModelServer::start(
        WireFormat::Chat,
        [
            ScriptedResponse::stream(vec![megabyte.clone(); 17]),
            ScriptedResponse::raw(200, "application/json", vec![megabyte.clone(); 33]),
            ScriptedResponse::raw(500, "text/plain", vec![megabyte; 2]),
        ],
    );
    let endless = fails(&server);
    assert_eq!(endless.kind, ModelErrorKind::Malformed);
    assert!(endless.message.contains("larger than"), "{endless}");
    assert_eq!(fails(&server).kind, ModelErrorKind::Malformed);
    assert_eq!(fails(&server).kind, ModelErrorKind::Overloaded);
}

#[test]
fn silence_is_a_timeout_before_and_within_the_answer() {
    let short = Duration::from_millis(30);
    let server = ModelServer::start(
        WireFormat::Chat,
        [
            ScriptedResponse::stream([BodyPiece::Hang]),
            ScriptedResponse::from(holon_model::cassette::CassetteTurn::text("late"))
                .slow_head(Duration::from_millis(300)),
        ],
    );
    for what in ["the next piece", "the answer to begin"] {
        let limits = if what.contains("begin") {
            HttpTimeouts { head: short, ..timeouts() }
        } else {
            HttpTimeouts { idle: short, ..timeouts() }
        };
        let provider = HttpProvider::new(server.endpoint(), limits).unwrap();
        let error = ask(provider, &hello()).1.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Timeout);
        assert!(error.message.contains(what), "{error}");
    }
}

#[test]
fn nobody_there_is_a_network_failure() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let provider = HttpProvider::new(Endpoint::compatible("x", &base, None), timeouts()).unwrap();
    let error = ask(provider, &hello()).1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Network);
    assert!(error.to_string().to_lowercase().contains("refused"), "{error}");
}

#[test]
fn a_redirect_does_not_carry_the_key_away() {
    let thief = ModelServer::play(WireFormat::Chat, "- text: thanks\n");
    let redirect =
        ScriptedResponse::json(307, "{}").header("location", &format!("{}/chat/completions", thief.base()));
    let server = ModelServer::start(WireFormat::Chat, [redirect]);
    let error = fails(&server);
    assert_eq!(error.kind, ModelErrorKind::BadRequest);
    assert!(error.message.contains(&thief.base()), "{error}");
    assert_eq!(thief.requests(), []);
}

#[test]
fn an_error_that_repeats_the_key_is_cleaned() {
    let server = ModelServer::start(
        WireFormat::Chat,
        [ScriptedResponse::json(
            401,
            r#"{"error":{"message":"Incorrect API key provided: test-key-0123456789."}}"#,
        )],
    );
    let error = fails(&server);
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert!(!format!("{error} {error:?}").contains("test-key"), "{error}");
}

#[test]
fn a_key_that_fits_into_no_header_is_refused_without_being_shown() {
    let server = ModelServer::play(WireFormat::Chat, "- text: x\n");
    let endpoint = Endpoint { key: Some(ProviderKey::new("bad\nkey-value")), ..server.endpoint() };
    let error = ask(HttpProvider::new(endpoint, timeouts()).unwrap(), &hello()).1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert!(!error.to_string().contains("key-value"), "{error}");
}

#[test]
fn a_request_can_be_stopped_from_another_thread() {
    let first = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n".to_vec();
    let server = ModelServer::start(
        WireFormat::Chat,
        [ScriptedResponse::stream([BodyPiece::Bytes(first), BodyPiece::Hang])],
    );
    let cancel = ModelCancel::default();
    let provider = BlockingProvider::new(http(&server)).unwrap();
    // The first piece is the sign that the stream is under way.
    let stop = cancel.clone();
    let mut sink = move |_: ReplyDelta| {
        let stop = stop.clone();
        std::thread::spawn(move || stop.cancel());
    };
    let error = provider.stream(&hello(), &mut sink, &cancel).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cancelled);
    let again = provider.stream(&hello(), &mut |_: ReplyDelta| {}, &cancel).unwrap_err();
    assert_eq!(again.kind, ModelErrorKind::Cancelled);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_encrypted_endpoint_that_is_none_is_a_network_failure() {
    let server = ModelServer::play(WireFormat::Chat, "- text: x\n");
    let base = server.base().replace("http://", "https://");
    match HttpProvider::new(Endpoint::compatible("x", &base, Some(ProviderKey::new("k"))), timeouts()) {
        Ok(provider) => assert_eq!(ask(provider, &hello()).1.unwrap_err().kind, ModelErrorKind::Network),
        // A machine without certificates is told what to do.
        Err(error) => assert!(error.to_string().contains("ca-certificates"), "{error}"),
    }
}
