//! The real key goes to the provider and nowhere else.

use std::sync::{Arc, Mutex};

use holon_gateway::CassetteRecording;
use holon_model::{Normaliser, ProviderKey, WireFormat};
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};

use crate::{OpenGateway, TOKEN, WIRES, body, passing};

const CANARY: &str = "canary-5b1c77e0a94d42f6";

#[test]
fn inv_06_the_key_is_in_no_reply_error_event_or_recording() {
    for wire in WIRES {
        let echo = format!(
            r#"{{"error":{{"message":"bad header Authorization: Bearer {CANARY}","type":"x","headers":{{"x-api-key":"{CANARY}"}}}}}}"#
        );
        let leaking = format!("data: {{\"error\":{{\"message\":\"{CANARY}\"}},\"type\":\"error\"}}\n\n");
        let half = CANARY.len() / 2;
        let script = [
            ScriptedResponse::json(401, echo.clone()),
            ScriptedResponse::json(500, format!("<html>{CANARY}</html>")).header("x-request-id", CANARY),
            ScriptedResponse::raw(302, "text/plain", Vec::new())
                .header("location", &format!("http://evil.example/{CANARY}")),
            ScriptedResponse::stream([
                BodyPiece::Bytes(format!(": {}", &CANARY[..half]).into_bytes()),
                BodyPiece::Bytes(format!("{}\n\n", &CANARY[half..]).into_bytes()),
                BodyPiece::Bytes(leaking.into_bytes()),
            ]),
            ScriptedResponse::json(200, echo),
        ];
        let count = script.len();
        let server = ModelServer::start(wire, script);
        let mut endpoint = server.endpoint();
        endpoint.key = Some(ProviderKey::new(CANARY));
        let tape: Arc<Mutex<String>> = Arc::default();
        let saved = Arc::clone(&tape);
        let open = OpenGateway::with(passing(endpoint), |settings| {
            let save = Box::new(move |text: &str| {
                saved.lock().unwrap().push_str(text);
                Ok(())
            });
            settings.record = Some(CassetteRecording { normaliser: Normaliser::default(), save });
        });
        for _ in 0..count {
            let answer = open.ask(wire, &body(wire, "x"));
            let all = format!("{}{}", answer.head, answer.body);
            assert!(!all.contains(CANARY), "{wire:?}: {all}");
            assert!(!answer.body.is_empty());
        }
        assert_eq!(server.requests().len(), count);
        for seen in server.requests() {
            let key = if wire == WireFormat::Messages {
                seen.header("x-api-key")
            } else {
                seen.header("authorization")
            };
            assert!(key.unwrap().contains(CANARY), "the provider gets it");
            assert!(!format!("{:?}", seen.headers).contains(TOKEN), "and not the placeholder");
        }
        let told = format!("{:?}", open.events());
        assert!(!told.contains(CANARY) && !told.contains(TOKEN), "{told}");
        let account = format!("{:?}", open.gateway.finish());
        assert!(!account.contains(CANARY), "{account}");
        let tape = tape.lock().unwrap();
        assert!(!tape.contains(CANARY) && tape.matches("request:").count() == count, "{tape}");
    }
}

#[test]
fn only_the_token_opens_the_door() {
    let open = OpenGateway::any("- text: ok\n- text: ok\n- text: ok\n- text: ok\n");
    let text = body(WireFormat::Messages, "x").to_string();
    let bearer = format!("Bearer {TOKEN}");
    for headers in [
        vec![],
        vec![("authorization", TOKEN)],
        vec![("authorization", "Bearer ")],
        vec![("authorization", "Bearer holon-token-for-test")],
        vec![("x-api-key", "holon-token-for-testsx")],
        vec![("cookie", TOKEN)],
    ] {
        let answer = open.client().request("POST", "/v1/messages", &headers, &text);
        assert_eq!(answer.status, 401, "{headers:?}");
        assert_eq!(answer.json()["error"]["type"], "authentication_error");
        assert_eq!(answer.header("x-should-retry"), Some("false"));
    }
    assert_eq!(open.client().request("GET", "/v1/models", &[], "").status, 401);
    for headers in [
        vec![("authorization", bearer.as_str())],
        vec![("x-api-key", TOKEN)],
        vec![("x-goog-api-key", TOKEN)],
    ] {
        assert_eq!(open.client().request("POST", "/v1/messages", &headers, &text).status, 200, "{headers:?}");
    }
    let asked = open.client().request("POST", &format!("/v1/messages?beta=true&key={TOKEN}"), &[], &text);
    assert_eq!(asked.status, 200);
    let account = open.gateway.finish();
    assert_eq!((account.wrong_token, account.requests), (7, 4));
}

#[test]
fn inv_06_secrets_of_an_endpoint_besides_its_key_do_not_pass_either() {
    let (header, password) = ("header-canary-77aa", "password-canary-88bb");
    for wire in WIRES {
        let told = format!(r#"{{"error":{{"message":"no: {header} {password}","type":"x"}}}}"#);
        let server = ModelServer::start(
            wire,
            [ScriptedResponse::json(500, told.clone()), ScriptedResponse::json(401, told)],
        );
        let mut endpoint = server.endpoint();
        endpoint.headers.push(("x-auth".into(), format!("Basic {header}")));
        endpoint.base = endpoint.base.replacen("://", &format!("://me:{password}@"), 1);
        let open = OpenGateway::with(passing(endpoint), |_| {});
        for _ in 0..2 {
            let answer = open.ask(wire, &body(wire, "x"));
            let all = format!("{}{}{:?}", answer.head, answer.body, open.events());
            assert!(answer.status >= 400, "{all}");
            assert!(!all.contains(header) && !all.contains(password), "{wire:?}: {all}");
        }
    }
}
