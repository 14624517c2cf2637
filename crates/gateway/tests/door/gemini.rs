//! Clients that speak Google's wire, whatever the provider speaks.

use std::sync::{Arc, Mutex};

use holon_gateway::{CassetteRecording, ClientWire, GatewayBudget, GatewayEvent};
use holon_model::{Cassette, Normaliser, WireFormat};
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use holon_testkit::wait_until;
use serde_json::{Value, json};

use crate::client::RawResponse;
use crate::{OpenGateway, PATIENCE, TOKEN, WIRES, passing, replay};

const STREAM: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
const WHOLE: &str = "/v1beta/models/gemini-2.5-pro:generateContent";
const KEY: [(&str, &str); 1] = [("x-goog-api-key", TOKEN)];

fn asked(text: &str) -> String {
    json!({
        "contents": [{"role": "user", "parts": [{"text": text}]}],
        "systemInstruction": {"parts": [{"text": "be kind"}]},
        "tools": [{"functionDeclarations": [{"name": "ls", "description": "lists", "parametersJsonSchema": {"type": "object"}}]}],
        "generationConfig": {"maxOutputTokens": 100},
    })
    .to_string()
}

fn ask(open: &OpenGateway, path: &str, text: &str) -> RawResponse {
    open.client().request("POST", path, &KEY, &asked(text))
}

/// The chunks of a stream.
fn chunks(answer: &RawResponse) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.header("content-type").unwrap().starts_with("text/event-stream"));
    let frames = answer.body.split("\n\n").filter(|frame| !frame.trim().is_empty());
    frames.map(|frame| serde_json::from_str(frame.strip_prefix("data: ").expect(frame)).unwrap()).collect()
}

fn parts(chunks: &[Value]) -> Vec<&Value> {
    chunks.iter().flat_map(|chunk| chunk["candidates"][0]["content"]["parts"].as_array().unwrap()).collect()
}

#[test]
fn any_provider_serves_them() {
    let turns = "- reply: [{ reasoning: hm }, { text: \"héllo\" }, { tool: ls, id: call_7, args: { path: a } }]\n  usage: { input: 10, output: 5 }\n- text: done\n";
    for upstream in WIRES {
        let server = ModelServer::play(upstream, turns);
        let tape: Arc<Mutex<String>> = Arc::default();
        let saved = Arc::clone(&tape);
        let open = OpenGateway::with(passing(server.endpoint()), |settings| {
            let save = Box::new(move |text: &str| {
                saved.lock().unwrap().push_str(text);
                Ok(())
            });
            settings.record = Some(CassetteRecording { normaliser: Normaliser::default(), save });
        });
        let chunks = chunks(&ask(&open, STREAM, "hi"));
        let told = parts(&chunks);
        let of = |thought: bool| -> String {
            told.iter()
                .filter(|p| (p["thought"] == true) == thought)
                .filter_map(|p| p["text"].as_str())
                .collect()
        };
        assert_eq!((of(false).as_str(), of(true).as_str()), ("héllo", "hm"), "{upstream:?}");
        let call = told.iter().find(|part| part["functionCall"].is_object()).unwrap();
        assert_eq!(call["functionCall"], json!({"id": "call_7", "name": "ls", "args": {"path": "a"}}));
        let last = chunks.last().unwrap();
        assert_eq!(last["candidates"][0]["finishReason"], "STOP");
        assert_eq!(last["usageMetadata"]["promptTokenCount"], 10, "{upstream:?}");
        assert_eq!(last["usageMetadata"]["totalTokenCount"], 15, "{upstream:?}");

        // The result of the call goes back without an id, as the wire allows.
        let again = json!({"contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}}]},
        ]});
        let path = format!("{WHOLE}?key={TOKEN}");
        let whole = open.client().request("POST", &path, &[], &again.to_string());
        assert_eq!(whole.json()["candidates"][0]["content"]["parts"][0]["text"], "done", "{}", whole.body);

        let seen = server.requests();
        assert_eq!(seen[0].body["model"], "the-model", "whatever the path names");
        assert!(seen[0].body.to_string().contains("be kind") && seen[0].body["tools"].is_array());
        assert!(seen[1].body.to_string().contains("a.txt") && seen[1].body.to_string().contains("call_7"));
        let told = open.events();
        assert!(told.iter().all(
            |event| !matches!(event, GatewayEvent::Started { wire, .. } if *wire != ClientWire::Gemini)
        ));
        let account = open.gateway.finish();
        assert_eq!((account.requests, account.failed, account.recording), (2, 0, None));
        let tape = tape.lock().unwrap();
        assert_eq!(tape.parse::<Cassette>().unwrap().turns.len(), 2, "{tape}");
        for text in [format!("{seen:?}"), format!("{told:?}"), tape.clone()] {
            assert!(!text.contains(TOKEN), "the placeholder stays here: {text}");
        }
    }
}

#[test]
fn the_small_things_they_ask_for() {
    let open = OpenGateway::any("[]");
    let get = |path: &str| open.client().request("GET", path, &KEY, "");
    assert_eq!(get("/v1beta/models").json()["models"][0]["name"], "models/the-model");
    assert_eq!(get("/v1beta/models/the-model").json()["displayName"], "the-model");
    assert_eq!(get("/v1beta/models/other").json()["error"]["status"], "NOT_FOUND");
    let count =
        open.client().request("POST", "/v1beta/models/x:countTokens", &KEY, &asked(&"x".repeat(4000)));
    assert!((1000..1200).contains(&count.json()["totalTokens"].as_u64().unwrap()), "{}", count.body);
    assert_eq!(open.gateway.finish().requests, 0, "no model was asked");
}

#[test]
fn refusals_are_told_in_their_words() {
    let open = OpenGateway::any("- text: never\n");
    let post = |path: &str, headers: &[(&str, &str)], body: &str| {
        let answer = open.client().request("POST", path, headers, body);
        let error = answer.json()["error"].take();
        assert_eq!(error["code"], answer.status, "{}", answer.body);
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        (answer.status, error["status"].as_str().unwrap().to_owned())
    };
    let told = |status: u16, word: &str| (status, word.to_owned());
    for headers in [vec![], vec![("x-goog-api-key", "holon-token-for-test")], vec![("cookie", TOKEN)]] {
        assert_eq!(post(STREAM, &headers, &asked("x")), told(401, "UNAUTHENTICATED"), "{headers:?}");
    }
    assert_eq!(post(&format!("{WHOLE}?key=x{TOKEN}"), &[], &asked("x")), told(401, "UNAUTHENTICATED"));
    for body in ["{}", "[]", "{", r#"{"contents":"x"}"#, r#"{"contents":[{}],"cachedContent":"c"}"#] {
        assert_eq!(post(STREAM, &KEY, body), told(400, "INVALID_ARGUMENT"), "{body}");
    }
    let bare = "/v1beta/models/x:streamGenerateContent";
    assert_eq!(post(bare, &KEY, &asked("x")), told(400, "INVALID_ARGUMENT"), "only as events");
    assert_eq!(post("/v1beta/cachedContents", &KEY, "{}"), told(404, "NOT_FOUND"));
    assert_eq!(post("/v1beta/models/x:batchEmbedContents", &KEY, "{}"), told(405, "INVALID_ARGUMENT"));
    let account = open.gateway.finish();
    assert_eq!((account.requests, account.wrong_token), (0, 4));
}

#[test]
fn failures_of_a_provider_keep_their_kind() {
    for (kind, status, word) in [
        ("auth", 401, "UNAUTHENTICATED"),
        ("billing", 402, "FAILED_PRECONDITION"),
        ("rate_limit", 429, "RESOURCE_EXHAUSTED"),
        ("overloaded", 503, "UNAVAILABLE"),
        ("context_overflow", 400, "INVALID_ARGUMENT"),
        ("refused", 403, "PERMISSION_DENIED"),
        ("timeout", 504, "DEADLINE_EXCEEDED"),
        ("malformed", 502, "INTERNAL"),
    ] {
        let open = OpenGateway::any(&format!("- error: {{ kind: {kind}, message: told so }}\n").repeat(2));
        for path in [STREAM, WHOLE] {
            let answer = ask(&open, path, "x");
            assert_eq!((answer.status, &answer.json()["error"]["status"]), (status, &json!(word)), "{kind}");
        }
    }
    for upstream in WIRES {
        let server = ModelServer::play(upstream, "- text: half of\n  cut: true\n");
        let open = OpenGateway::pass(&server);
        let answer = ask(&open, STREAM, "x");
        let (words, error) = answer.body.trim().rsplit_once("\n\n").unwrap();
        assert!(words.contains("half of") && !words.contains("finishReason"), "{}", answer.body);
        let error: Value = serde_json::from_str(error).unwrap();
        assert!(error["error"]["code"].as_u64().unwrap() >= 500, "{error}");
        assert_eq!(open.gateway.finish().failed, 1);
    }
}

#[test]
fn budgets_end_them_too() {
    let open = OpenGateway::with(replay("- text: ok\n- text: ok\n"), |settings| {
        settings.budget = GatewayBudget { requests: Some(1), ..GatewayBudget::default() };
    });
    assert_eq!(ask(&open, STREAM, "x").status, 200);
    let answer = ask(&open, STREAM, "x");
    assert_eq!((answer.status, answer.header("x-should-retry")), (402, Some("false")));
    assert_eq!(answer.json()["error"]["status"], "FAILED_PRECONDITION");
    assert_eq!(open.gateway.finish().over_budget, 1);
}

#[test]
fn pieces_come_at_once_and_hanging_up_is_charged() {
    let first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words\"}}]}\n\n";
    let server = ModelServer::start(
        WireFormat::Chat,
        [ScriptedResponse::stream([BodyPiece::Bytes(first.into()), BodyPiece::Hang])],
    );
    let open = OpenGateway::pass(&server);
    let text = asked("x");
    let mut client = open.client();
    let head = format!(
        "POST {STREAM} HTTP/1.1\r\nhost: g\r\nx-goog-api-key: {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    client.send((head + &text).as_bytes());
    client.read_until("some words");
    client.hang_up();
    let ended = || open.events().iter().any(|event| matches!(event, GatewayEvent::Finished { .. }));
    assert!(wait_until(PATIENCE, ended), "the exchange ends with its client");
    let account = open.gateway.finish();
    assert_eq!((account.failed, account.estimated), (1, 1));
}
