//! A login instead of a key: what goes on requests, a token that is refused, and what must not come back.

use std::sync::{Arc, Mutex};

use holon_gateway::CassetteRecording;
use holon_login::{Credential, CredentialProvider, LoginError, Secret, TokenHeader};
use holon_model::{Cassette, Endpoint, ModelErrorKind, Normaliser, WireFormat};
use holon_testkit::model::{ModelServer, ScriptedResponse};

use crate::{OpenGateway, WIRES, body, passing};

/// Gives one token after another, each once.
struct Tokens {
    given: Mutex<usize>,
    most: usize,
}

impl Tokens {
    fn of(most: usize) -> Arc<Self> {
        Arc::new(Self { given: Mutex::new(1), most })
    }

    fn number(number: usize) -> Credential {
        Credential::new(Secret::new(&token(number)), TokenHeader::Bearer, None)
            .with_header("anthropic-beta", "oauth-2025-04-20", false)
            .with_header("chatgpt-account-id", "account-canary-1", true)
    }
}

fn token(number: usize) -> String {
    format!("login-canary-token-{number}")
}

impl CredentialProvider for Tokens {
    fn credential(&self) -> Result<Credential, LoginError> {
        Ok(Self::number(*self.given.lock().unwrap()))
    }

    fn after_refusal(&self, refused: &Credential) -> Result<Credential, LoginError> {
        let mut given = self.given.lock().unwrap();
        if refused.mark() == Self::number(*given).mark() {
            *given += 1;
        }
        if *given > self.most {
            let (from, remedy) = ("the login".to_owned(), "log in again with `agent login`".to_owned());
            return Err(LoginError::Refused { from, remedy });
        }
        Ok(Self::number(*given))
    }

    fn source(&self) -> String {
        "the login".to_owned()
    }
}

fn keyless(server: &ModelServer) -> Endpoint {
    Endpoint { key: None, ..server.endpoint() }
}

fn ok() -> ScriptedResponse {
    let cassette: Cassette = "- text: fine\n".parse().unwrap();
    ScriptedResponse::from(cassette.turns.into_iter().next().unwrap())
}

#[test]
fn a_login_goes_on_every_request_and_a_refused_token_is_renewed_once() {
    for wire in WIRES {
        let refusal = || ScriptedResponse::json(401, r#"{"error":{"message":"expired","type":"x"}}"#);
        let server = ModelServer::start(wire, [ok(), refusal(), ok()]);
        let tokens = Tokens::of(2);
        let open =
            OpenGateway::with(passing(keyless(&server)), |settings| settings.credentials = Some(tokens));
        for _ in 0..2 {
            assert_eq!(open.ask(wire, &body(wire, "x")).status, 200, "{wire:?}");
        }
        let seen = server.requests();
        let shown: Vec<_> =
            seen.iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect();
        let bearer = |number| format!("Bearer {}", token(number));
        assert_eq!(shown, [bearer(1), bearer(1), bearer(2)], "{wire:?}");
        for seen in &seen {
            assert_eq!(seen.header("x-api-key"), None);
            assert_eq!(seen.header("chatgpt-account-id"), Some("account-canary-1"));
            assert_eq!(seen.header("anthropic-beta"), Some("oauth-2025-04-20"));
        }
    }
}

#[test]
fn betas_of_the_client_and_of_the_login_go_together() {
    let server = ModelServer::start(WireFormat::Messages, [ok()]);
    let open =
        OpenGateway::with(passing(keyless(&server)), |settings| settings.credentials = Some(Tokens::of(1)));
    let headers = [("x-api-key", crate::TOKEN), ("anthropic-beta", "thinking-1,oauth-2025-04-20")];
    let text = body(WireFormat::Messages, "x").to_string();
    assert_eq!(open.client().request("POST", "/v1/messages", &headers, &text).status, 200);
    assert_eq!(server.requests()[0].header("anthropic-beta"), Some("thinking-1,oauth-2025-04-20"));
}

#[test]
fn a_client_of_another_wire_is_served_with_it_too() {
    let refusal = ScriptedResponse::json(401, r#"{"error":{"message":"expired"}}"#);
    let server = ModelServer::start(WireFormat::Messages, [refusal, ok()]);
    let open =
        OpenGateway::with(passing(keyless(&server)), |settings| settings.credentials = Some(Tokens::of(2)));
    assert_eq!(open.ask(WireFormat::Chat, &body(WireFormat::Chat, "x")).status, 200);
    let seen = server.requests();
    let shown = seen.last().unwrap().header("authorization").unwrap();
    assert_eq!(shown, format!("Bearer {}", token(2)));
}

#[test]
fn inv_06_no_token_of_a_login_comes_back_also_one_made_later() {
    for wire in WIRES {
        let echo = |number| {
            let token = token(number);
            format!(r#"{{"error":{{"message":"Bearer {token} of account-canary-1","type":"{token}"}}}}"#)
        };
        let script = [
            ScriptedResponse::json(500, echo(1)),
            ScriptedResponse::json(401, echo(1)),
            ScriptedResponse::json(500, echo(2)),
            ScriptedResponse::json(200, echo(2)),
            ScriptedResponse::json(401, echo(2)),
        ];
        let server = ModelServer::start(wire, script);
        let tape: Arc<Mutex<String>> = Arc::default();
        let saved = Arc::clone(&tape);
        let open = OpenGateway::with(passing(keyless(&server)), |settings| {
            settings.credentials = Some(Tokens::of(2));
            let save = Box::new(move |text: &str| {
                saved.lock().unwrap().push_str(text);
                Ok(())
            });
            settings.record = Some(CassetteRecording { normaliser: Normaliser::default(), save });
        });
        let mut all = String::new();
        for _ in 0..4 {
            let answer = open.ask(wire, &body(wire, "x"));
            all += &format!("{}{}", answer.head, answer.body);
        }
        assert_eq!(server.left(), 0, "{wire:?}");
        all += &format!("{:?}{}", open.events(), tape.lock().unwrap());
        assert!(!all.contains("canary"), "{wire:?}: {all}");
    }
}

#[test]
fn a_login_that_is_refused_for_good_tells_the_host_and_not_the_agent() {
    let refusal = || ScriptedResponse::json(401, r#"{"error":{"message":"no","type":"x"}}"#);
    let server = ModelServer::start(WireFormat::Messages, [refusal(), refusal()]);
    let open =
        OpenGateway::with(passing(keyless(&server)), |settings| settings.credentials = Some(Tokens::of(2)));
    let answer = open.ask(WireFormat::Messages, &body(WireFormat::Messages, "x"));
    assert_eq!((answer.status, server.left()), (401, 0));
    assert!(!answer.body.contains("agent login"), "{}", answer.body);
    let error = open.events().into_iter().find_map(|event| match event {
        holon_gateway::GatewayEvent::Finished { error, .. } => error,
        _ => None,
    });
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert!(error.to_string().contains("log in again with `agent login`"), "{error}");
}
