//! A conversation that somebody attends: texts at the end of requests, a refusal nobody repeats, and a provider that declines.

use std::sync::{Arc, Mutex};

use holon_gateway::{
    AttendanceSetup, Attendant, AttendantFuture, AttendantVerdict, ConversationStep, ConversationWords,
    InsertionEvent,
};
use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_model::{ModelMessage, ModelReply, ModelRequest, ToolResult, ToolSpec, WireDialect, WireFormat};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use serde_json::{Value, json};

use crate::{OpenGateway, WIRES, passing};

/// Says the same to every request but the first, and notes what it hears.
struct RepeatingAttendant {
    word: AttendantVerdict,
    heard: Mutex<Vec<String>>,
}

impl Attendant for RepeatingAttendant {
    fn asked(&self, step: ConversationStep) -> AttendantFuture {
        let mut heard = self.heard.lock().unwrap();
        let first = !heard.iter().any(|line| line.starts_with("asked"));
        heard.push(format!("asked {}", step.results.len()));
        let word = if first { AttendantVerdict::Pass } else { self.word.clone() };
        Box::pin(async move { word })
    }

    fn answered(&self, reply: &ModelReply) {
        self.heard.lock().unwrap().push(format!("answered {}", reply.calls().count()));
    }

    fn inserted(&self, what: InsertionEvent) {
        let line = match what {
            InsertionEvent::Put { number, .. } => format!("put {number}"),
            InsertionEvent::WentOn { number } => format!("went on {number}"),
            InsertionEvent::Ended { number } => format!("ended {number}"),
            InsertionEvent::Broke { number, why } => format!("broke {number}: {why}"),
        };
        self.heard.lock().unwrap().push(line);
    }
}

fn attended(server: &ModelServer, word: AttendantVerdict) -> (OpenGateway, Arc<RepeatingAttendant>) {
    let sayer = Arc::new(RepeatingAttendant { word, heard: Mutex::default() });
    let attendant = Arc::clone(&sayer) as Arc<dyn Attendant>;
    let open = OpenGateway::with(passing(server.endpoint()), |settings| {
        settings.attend = Some(AttendanceSetup { attendant, words: ConversationWords::default() });
    });
    (open, sayer)
}

fn calls() -> ScriptedResponse {
    let call = CassetteCall { name: "sh".into(), arguments: "{}".into(), ..CassetteCall::default() };
    CassetteTurn { steps: vec![CassetteStep::Call(call)], ..CassetteTurn::default() }.into()
}

/// A client's next request: its history, without anything that was put in on the way.
fn next(wire: WireFormat, history: &mut ModelRequest, reply: Option<&ModelReply>) -> Value {
    if let Some(reply) = reply {
        history.messages.push(reply.message());
        let results = reply.calls().map(|call| ToolResult::ok(&call.id, "done"));
        history.messages.push(ModelMessage::results(results));
    }
    wire.encode(history, WireDialect::Compatible)
}

fn begun() -> ModelRequest {
    let mut request = ModelRequest::new("whatever", "Fix it");
    request.tools = vec![ToolSpec::new("sh", "A shell", json!({"type": "object"}))];
    request.max_output = Some(100);
    request
}

#[test]
fn a_text_reaches_the_provider_and_stays_in_its_place() {
    for wire in WIRES {
        let server = ModelServer::start(wire, [calls(), calls(), calls()]);
        let (open, sayer) = attended(&server, AttendantVerdict::Say("[System Recovery] Look.".into()));
        let mut history = begun();
        let mut reply = None;
        for _ in 0..3 {
            let body = next(wire, &mut history, reply.as_ref());
            reply = Some(open.ask(wire, &body).reply(wire).unwrap());
        }
        let sent: Vec<String> = server.requests().iter().map(|seen| seen.body.to_string()).collect();
        let counts: Vec<usize> = sent.iter().map(|body| body.matches("[holon ").count()).collect();
        assert_eq!(counts, [0, 1, 2], "{wire:?}");
        open.gateway.client_over(true);
        let heard = sayer.heard.lock().unwrap().clone();
        let expect =
            ["asked 0", "answered 1", "asked 1", "put 1", "answered 1", "went on 1", "asked 1", "put 2"];
        assert_eq!(heard[..8], expect, "{wire:?}");
        assert_eq!(heard.last().map(String::as_str), Some("ended 2"), "{wire:?}");
    }
}

#[test]
fn a_stop_is_a_refusal_that_nobody_repeats() {
    for wire in WIRES {
        let server = ModelServer::start(wire, [calls()]);
        let (open, _) =
            attended(&server, AttendantVerdict::Stop("a person has to look; do not try again".into()));
        let mut history = begun();
        let reply = open.ask(wire, &next(wire, &mut history, None)).reply(wire).unwrap();
        let body = next(wire, &mut history, Some(&reply));
        for _ in 0..2 {
            let answer = open.ask(wire, &body);
            let status = if wire == WireFormat::Responses { 400 } else { 402 };
            assert_eq!((answer.status, answer.header("x-should-retry")), (status, Some("false")), "{wire:?}");
            assert!(answer.error(wire).contains("a person has to look"), "{}", answer.body);
        }
        assert_eq!(open.gateway.finish().requests, 1, "nothing more was asked");
    }
}

#[test]
fn what_a_provider_declines_is_sent_without_the_text_and_the_client_never_learns() {
    for wire in WIRES {
        let declined = ScriptedResponse::json(400, r#"{"error":{"message":"no text after results"}}"#);
        let server = ModelServer::start(wire, [calls(), declined, calls(), calls()]);
        let (open, sayer) = attended(&server, AttendantVerdict::Say("Look.".into()));
        let mut history = begun();
        let mut reply = None;
        for _ in 0..3 {
            let body = next(wire, &mut history, reply.as_ref());
            reply = Some(open.ask(wire, &body).reply(wire).unwrap());
        }
        let sent: Vec<bool> =
            server.requests().iter().map(|seen| seen.body.to_string().contains("[holon ")).collect();
        assert_eq!(sent, [false, true, false, false], "{wire:?}: after that nothing is said");
        let heard = sayer.heard.lock().unwrap().clone();
        let broke: Vec<&String> = heard.iter().filter(|line| line.starts_with("broke")).collect();
        assert!(
            matches!(broke.as_slice(), [one] if one.contains("no text after results")),
            "{wire:?}: {heard:?}"
        );
    }
}
