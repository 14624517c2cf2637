//! JSON-RPC over two streams, a message on each line.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// A message that came.
#[derive(Debug, PartialEq)]
pub(super) enum EditorMessage {
    /// Wants an answer.
    Request { id: Value, method: String, params: Value },
    /// Wants none.
    Notice { method: String, params: Value },
    /// Answers us; nothing if it is an error.
    Answer { id: u64, result: Option<Value> },
    /// Cannot be read; this has to be said about it.
    Wrong { id: Value, refusal: RpcRefusal },
}

/// Why a request is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RpcRefusal {
    code: i64,
    message: String,
}

impl RpcRefusal {
    pub(super) fn unknown_method(method: &str) -> Self {
        Self { code: -32601, message: format!("there is no method `{method}`") }
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self { code: -32602, message: message.into() }
    }

    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self { code: -32002, message: message.into() }
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: -32603, message: message.into() }
    }
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> EditorMessage {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        let refusal = RpcRefusal { code: -32700, message: "that is no JSON".to_owned() };
        return EditorMessage::Wrong { id: Value::Null, refusal };
    };
    let id = message.get("id").cloned();
    let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
    let params = message.get("params").cloned().unwrap_or(Value::Null);
    match (id, method) {
        (Some(id), Some(method)) if is_id(&id) => EditorMessage::Request { id, method, params },
        (None, Some(method)) => EditorMessage::Notice { method, params },
        (Some(id), None) if message.get("result").is_some() || message.get("error").is_some() => {
            // Our own ids are numbers; anything else answers nothing of ours.
            EditorMessage::Answer {
                id: id.as_u64().unwrap_or(u64::MAX),
                result: message.get("result").cloned(),
            }
        }
        (id, _) => {
            let refusal = RpcRefusal { code: -32600, message: "that is no request".to_owned() };
            EditorMessage::Wrong { id: id.filter(is_id).unwrap_or(Value::Null), refusal }
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}

/// The way to the editor.
pub(super) struct EditorWire {
    out: Mutex<Box<dyn Write + Send>>,
    waiting: Mutex<HashMap<u64, Sender<Option<Value>>>>,
    next: AtomicU64,
    closed: AtomicBool,
}

impl EditorWire {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: Mutex::new(out),
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            closed: AtomicBool::new(false),
        }
    }

    /// Answers a request.
    pub(super) fn reply(&self, id: &Value, result: Result<Value, RpcRefusal>) {
        self.send(&match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(RpcRefusal { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        });
    }

    /// Tells about a session.
    pub(super) fn update(&self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Asks the editor and waits; nothing if it cannot or will not say.
    pub(super) fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let id = self.next.fetch_add(1, Ordering::SeqCst);
        let told: Receiver<Option<Value>> = {
            let mut waiting = lock(&self.waiting);
            if self.is_closed() {
                return None;
            }
            let (tell, told) = channel();
            waiting.insert(id, tell);
            told
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        told.recv().ok().flatten()
    }

    /// Hands an answer to whoever asked.
    pub(super) fn answered(&self, id: u64, result: Option<Value>) {
        if let Some(tell) = lock(&self.waiting).remove(&id) {
            let _ = tell.send(result);
        }
    }

    /// Nobody is there any more.
    pub(super) fn close(&self) {
        let mut waiting = lock(&self.waiting);
        self.closed.store(true, Ordering::SeqCst);
        waiting.clear();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn send(&self, message: &Value) {
        // JSON has no raw line breaks, so a line is a message.
        let line = format!("{message}\n");
        let mut out = lock(&self.out);
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            self.closed.store(true, Ordering::SeqCst);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fuzz_acp_line() {
        let words = &[
            "\"jsonrpc\":\"2.0\"",
            "\"id\":",
            "\"method\":\"",
            "\"params\":{",
            "\"result\":",
            "\"error\":{",
            "null",
        ];
        holon_testkit::fuzz::fuzz(env!("CARGO_MANIFEST_DIR"), "acp_line", words, |line| {
            format!("{:?}", read(line)).chars().filter(char::is_ascii_alphabetic).take(60).collect()
        });
    }

    #[test]
    fn messages_are_told_apart() {
        let request = read(br#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#);
        assert_eq!(
            request,
            EditorMessage::Request { id: json!("a"), method: "initialize".into(), params: json!({}) }
        );
        let notice = read(br#"{"jsonrpc":"2.0","method":"session/cancel"}"#);
        assert_eq!(notice, EditorMessage::Notice { method: "session/cancel".into(), params: Value::Null });
        assert_eq!(
            read(br#"{"id":3,"result":{}}"#),
            EditorMessage::Answer { id: 3, result: Some(json!({})) }
        );
        assert_eq!(read(br#"{"id":3,"error":{"code":1}}"#), EditorMessage::Answer { id: 3, result: None });
        for wrong in [&b"{"[..], b"[]", b"1", br#"{"id":{},"method":"x"}"#, br#"{"id":1}"#] {
            assert!(matches!(read(wrong), EditorMessage::Wrong { .. }), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in proptest::collection::vec(any::<u8>(), 0..100)) {
            read(&line);
        }
    }
}
