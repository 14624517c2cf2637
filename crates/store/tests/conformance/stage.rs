//! A database under test, and things to put into it.

use holon_core::ids::ThreadId;
use holon_store::{
    AuditNote, EventRow, StoreBackend, StoreConnector, StoreError, StoreWrite, StoredThread, StoredTurn,
    ThreadState, TurnState,
};
use serde_json::json;

pub(crate) struct StoreStage {
    open: Box<dyn Fn() -> Box<dyn StoreConnector>>,
    pub(crate) backend: Box<dyn StoreBackend>,
}

impl StoreStage {
    pub(crate) fn new(open: Box<dyn Fn() -> Box<dyn StoreConnector>>) -> Self {
        let backend = open().connect().unwrap();
        Self { open, backend }
    }

    /// A second connection, as after a restart.
    pub(crate) fn again(&self) -> Box<dyn StoreBackend> {
        (self.open)().connect().unwrap()
    }

    pub(crate) fn write(&mut self, writes: Vec<StoreWrite>) -> Result<(), StoreError> {
        self.backend.commit(&[writes]).unwrap().remove(0)
    }

    /// A thread that is there.
    pub(crate) fn thread(&mut self, name: &str, user: &str, at: &str) -> ThreadId {
        let thread = thread(name, user, at);
        let id = thread.id.clone();
        self.write(vec![StoreWrite::NewThread(Box::new(thread))]).unwrap();
        id
    }
}

pub(crate) fn thread(name: &str, user: &str, at: &str) -> StoredThread {
    StoredThread {
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
        pinned: false,
        archived: false,
        branch: None,
        family: name.parse().unwrap(),
    }
}

pub(crate) fn turn(thread: &ThreadId, number: u64) -> StoreWrite {
    turn_at(thread, number, 1)
}

/// A turn that begins with this event.
pub(crate) fn turn_at(thread: &ThreadId, number: u64, first_seq: u64) -> StoreWrite {
    StoreWrite::NewTurn(Box::new(StoredTurn {
        thread: thread.clone(),
        number,
        mode: "build".into(),
        message: "说 \u{0} hello".into(),
        files: vec!["f-1".into()],
        state: TurnState::Running,
        code: None,
        first_seq,
        last_seq: 0,
        started_at: "2026-01-01T00:00:01Z".into(),
        ended_at: None,
        changed: false,
        applied: false,
    }))
}

pub(crate) fn event(thread: &ThreadId, seq: u64, kind: &str) -> StoreWrite {
    StoreWrite::Event(EventRow {
        thread: thread.clone(),
        seq,
        turn: 1,
        kind: kind.into(),
        data: json!({"n": seq}).to_string(),
        at: format!("2026-01-01T00:00:{:02}Z", seq % 60),
    })
}

/// A piece of the first turn's answer.
pub(crate) fn answer(thread: &ThreadId, seq: u64, text: &str) -> StoreWrite {
    StoreWrite::Event(EventRow {
        thread: thread.clone(),
        seq,
        turn: 1,
        kind: "message".into(),
        data: json!({"text": text}).to_string(),
        at: "2026-01-01T00:00:01Z".into(),
    })
}

pub(crate) fn note(action: &str) -> StoreWrite {
    StoreWrite::Audit(Box::new(AuditNote {
        at: "2026-01-01T00:00:00Z".into(),
        actor: "policy".into(),
        action: action.into(),
        thread: Some("t-1".into()),
        turn: Some(1),
        detail: json!({"z": 1, "a": [true, null, 0.5]}),
    }))
}
