//! A database under test, and things to put into it.

use holon_core::ids::ThreadId;
use holon_store::{
    AuditNote, Backend, Connect, EventRow, StoreError, Thread, ThreadState, Turn, TurnState, Write,
};
use serde_json::json;

pub(crate) struct Stage {
    open: Box<dyn Fn() -> Box<dyn Connect>>,
    pub(crate) backend: Box<dyn Backend>,
}

impl Stage {
    pub(crate) fn new(open: Box<dyn Fn() -> Box<dyn Connect>>) -> Self {
        let backend = open().connect().unwrap();
        Self { open, backend }
    }

    /// A second connection, as after a restart.
    pub(crate) fn again(&self) -> Box<dyn Backend> {
        (self.open)().connect().unwrap()
    }

    pub(crate) fn write(&mut self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.backend.commit(&[writes]).unwrap().remove(0)
    }

    /// A thread that is there.
    pub(crate) fn thread(&mut self, name: &str, user: &str, at: &str) -> ThreadId {
        let thread = thread(name, user, at);
        let id = thread.id.clone();
        self.write(vec![Write::NewThread(Box::new(thread))]).unwrap();
        id
    }
}

pub(crate) fn thread(name: &str, user: &str, at: &str) -> Thread {
    Thread {
        id: name.parse().unwrap(),
        user: user.into(),
        workspace: "/w".into(),
        agent: "native".into(),
        model: None,
        title: None,
        mode: None,
        tools: Default::default(),
        state: ThreadState::Idle,
        created_at: at.into(),
        updated_at: at.into(),
        last_seq: 0,
        turns: 0,
        usage: Default::default(),
    }
}

pub(crate) fn turn(thread: &ThreadId, number: u64) -> Write {
    Write::NewTurn(Box::new(Turn {
        thread: thread.clone(),
        number,
        mode: "build".into(),
        message: "说 \u{0} hello".into(),
        files: vec!["f-1".into()],
        state: TurnState::Running,
        code: None,
        first_seq: 1,
        last_seq: 0,
        started_at: "2026-01-01T00:00:01Z".into(),
        ended_at: None,
        changed: false,
        applied: false,
    }))
}

pub(crate) fn event(thread: &ThreadId, seq: u64, kind: &str) -> Write {
    Write::Event(EventRow {
        thread: thread.clone(),
        seq,
        turn: 1,
        kind: kind.into(),
        data: json!({"n": seq}).to_string(),
        at: format!("2026-01-01T00:00:{:02}Z", seq % 60),
    })
}

pub(crate) fn note(action: &str) -> Write {
    Write::Audit(Box::new(AuditNote {
        at: "2026-01-01T00:00:00Z".into(),
        actor: "policy".into(),
        action: action.into(),
        thread: Some("t-1".into()),
        turn: Some(1),
        detail: json!({"z": 1, "a": [true, null, 0.5]}),
    }))
}
