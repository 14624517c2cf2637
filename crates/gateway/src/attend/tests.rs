#![allow(clippy::unwrap_used)]
use std::collections::VecDeque;
use std::sync::Mutex;

use holon_model::{MessagePart, ReplyStop, ToolCall};
use serde_json::json;

use super::*;
use crate::serve;

/// Says what it is told to, and notes what it hears.
#[derive(Default)]
struct ScriptedAttendant {
    words: Mutex<VecDeque<AttendantVerdict>>,
    heard: Mutex<Vec<String>>,
}

impl Attendant for ScriptedAttendant {
    fn asked(&self, step: ConversationStep) -> AttendantFuture {
        let ids: Vec<&str> = step.results.iter().map(|result| result.call_id.as_str()).collect();
        self.heard.lock().unwrap().push(format!("asked {}", ids.join(",")));
        let word = self.words.lock().unwrap().pop_front().unwrap_or(AttendantVerdict::Pass);
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

/// A client of the chat wire with its own history, which never holds what was put in.
struct HistoryClient {
    attended: AttendedSession,
    scripted: Arc<ScriptedAttendant>,
    history: Vec<Value>,
}

impl HistoryClient {
    fn new(words: &[AttendantVerdict]) -> Self {
        let scripted = Arc::new(ScriptedAttendant::default());
        scripted.words.lock().unwrap().extend(words.iter().cloned());
        let attendant = Arc::clone(&scripted) as Arc<dyn Attendant>;
        let attended =
            AttendedSession::new(AttendanceSetup { attendant, words: ConversationWords::default() });
        Self { attended, scripted, history: vec![json!({"role": "user", "content": "Fix it"})] }
    }

    /// Sends the history, and gives what passes; the error is why it was stopped.
    fn ask(&self) -> Result<(bool, String), String> {
        let tools = json!([{"type": "function", "function": {"name": "sh", "parameters": {}}}]);
        let mut body = json!({"messages": self.history, "tools": tools});
        let request = serve::read(ClientWire::Chat, &body).unwrap().request;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let passed = runtime.block_on(self.attended.hear(ClientWire::Chat, &request, &mut body))?;
        Ok((passed.is_some_and(|passed| passed.carries), body["messages"].to_string()))
    }

    /// The model calls, and the client answers.
    fn go_on(&mut self, id: &str) {
        let call = MessagePart::Call(ToolCall::new(id, "sh", "{}"));
        self.attended.answered(&ModelReply {
            id: None,
            model: None,
            parts: vec![call],
            stop: ReplyStop::ToolUse,
            usage: None,
        });
        self.history.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "sh", "arguments": "{}"}}]}));
        self.history.push(json!({"role": "tool", "tool_call_id": id, "content": "y"}));
    }

    fn heard(&self) -> Vec<String> {
        self.scripted.heard.lock().unwrap().clone()
    }
}

fn say(text: &str) -> AttendantVerdict {
    AttendantVerdict::Say(text.to_owned())
}

#[test]
fn a_text_is_carried_on_at_its_place_and_said_once() {
    let mut client =
        HistoryClient::new(&[AttendantVerdict::Pass, say("look"), AttendantVerdict::Pass, say("again")]);
    assert!(!client.ask().unwrap().0);
    let mut before: Option<String> = None;
    for (id, texts) in [("a", 1), ("b", 1), ("c", 2)] {
        client.go_on(id);
        let (carries, sent) = client.ask().unwrap();
        assert!(carries);
        assert_eq!(sent.matches("[holon ").count(), texts, "{sent}");
        if let Some(before) = &before {
            assert!(sent.starts_with(before.trim_end_matches(']')), "{before}\n{sent}");
        }
        // The same request once more is the same.
        assert_eq!(client.ask().unwrap().1, sent);
        before = Some(sent);
    }
    client.attended.over(true);
    let heard = client.heard();
    assert_eq!(
        heard,
        [
            "asked ",
            "answered 1",
            "asked a",
            "put 1",
            "answered 1",
            "went on 1",
            "asked b",
            "answered 1",
            "asked c",
            "put 2",
            "ended 2"
        ]
    );
}

#[test]
fn who_was_stopped_is_refused_for_good() {
    let mut client =
        HistoryClient::new(&[AttendantVerdict::Pass, AttendantVerdict::Stop("a person has to look".into())]);
    client.ask().unwrap();
    client.go_on("a");
    assert_eq!(client.ask().unwrap_err(), "a person has to look");
    assert_eq!(client.ask().unwrap_err(), "a person has to look");
    client.history.truncate(1);
    assert!(client.ask().is_err(), "whatever is asked");
}

/// A text, something that goes wrong, and what is said of it; after that nothing is said.
fn breaks(wrong: impl FnOnce(&mut HistoryClient), expect: Option<&str>) {
    let mut client = HistoryClient::new(&[AttendantVerdict::Pass, say("look"), say("more"), say("and more")]);
    client.ask().unwrap();
    client.go_on("a");
    assert!(client.ask().unwrap().0);
    let before = client.history.clone();
    wrong(&mut client);
    let broke = client.heard().into_iter().find_map(|line| Some(line.strip_prefix("broke 1: ")?.to_owned()));
    assert_eq!(broke.as_deref(), expect);
    client.history = before;
    client.go_on("later");
    let (carries, sent) = client.ask().unwrap();
    assert_eq!((carries, sent.contains("[holon ")), (expect.is_none(), expect.is_none()), "{sent}");
}

#[test]
fn a_client_that_breaks_is_left_alone() {
    breaks(
        |client| {
            client.go_on("b");
            client.history = vec![json!({"role": "user", "content": "Hello?"})];
            client.ask().unwrap();
        },
        Some("the client began its conversation anew"),
    );
    breaks(
        |client| {
            let history = client.history.clone();
            client.go_on("b");
            client.history = history;
            client.ask().unwrap();
        },
        Some("the client asked the same again although it had been answered"),
    );
    breaks(
        |client| client.attended.declined("no text here"),
        Some("the provider declined a request that carries it: no text here"),
    );
    breaks(
        |client| {
            client.go_on("b");
            client.attended.over(false);
        },
        Some("the client ended without answering the calls that came after it"),
    );
    // What is tried again before it was answered is no sign of anything, nor is a client that was ended.
    breaks(|client| drop(client.ask()), None);
    breaks(|client| client.attended.over(true), None);
}
