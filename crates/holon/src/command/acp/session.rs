//! What the editor's side of a thread remembers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::changes::Change;
use super::wire::Refusal;

/// The modes of a session, with what they mean.
const MODES: [(&str, &str, &str); 2] = [
    ("plan", "Plan", "Only looks: running, writing and editing are refused by the host"),
    ("build", "Build", "Does the work in a snapshot; nothing reaches the folder before it is applied"),
];

/// The mode of a session that is new.
pub(super) const FIRST_MODE: &str = "build";

/// A thread that an editor has open.
pub(super) struct Open {
    /// The thread's name is the session's.
    pub(super) id: String,
    pub(super) folder: String,
    mode: Mutex<&'static str>,
    busy: AtomicBool,
    cancelled: AtomicBool,
    pub(super) kept: Mutex<Kept>,
}

/// What a person said for the whole session, and what was shown last.
#[derive(Default)]
pub(super) struct Kept {
    /// Tools that need no word any more.
    pub(super) allowed: HashSet<String>,
    /// Changes are applied without a word.
    pub(super) apply: bool,
    /// Texts that were shown as changed.
    pub(super) shown: BTreeMap<String, Change>,
}

/// A turn; another one has to wait for its end.
pub(super) struct Busy<'a>(&'a Open);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::SeqCst);
    }
}

impl Open {
    pub(super) fn new(id: &str, folder: &str, mode: &str) -> Self {
        Self {
            id: id.to_owned(),
            folder: folder.to_owned(),
            mode: Mutex::new(known(mode).unwrap_or(FIRST_MODE)),
            busy: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            kept: Mutex::default(),
        }
    }

    pub(super) fn mode(&self) -> &'static str {
        *lock(&self.mode)
    }

    pub(super) fn set_mode(&self, mode: &str) -> Result<(), Refusal> {
        let names = MODES.map(|(id, ..)| id).join(" and ");
        let mode = known(mode).ok_or_else(|| Refusal::params(format!("the modes are {names}")))?;
        *lock(&self.mode) = mode;
        Ok(())
    }

    /// Begins a turn.
    pub(super) fn begin(&self) -> Option<Busy<'_>> {
        let free = self.busy.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if free {
            self.cancelled.store(false, Ordering::SeqCst);
        }
        free.then_some(Busy(self))
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst)
    }

    /// The editor wants the turn to stop.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }

    /// The modes, as the protocol had them first.
    pub(super) fn modes(&self) -> Value {
        let available =
            MODES.map(|(id, name, description)| json!({"id": id, "name": name, "description": description}));
        json!({"currentModeId": self.mode(), "availableModes": available})
    }

    /// The same as an option, as the protocol will have them.
    pub(super) fn options(&self) -> Value {
        let options = MODES.map(
            |(value, name, description)| json!({"value": value, "name": name, "description": description}),
        );
        json!([{"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": self.mode(),
            "options": options}])
    }
}

/// All that are open.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<Open>>>);

impl Sessions {
    pub(super) fn add(&self, open: Open) -> Arc<Open> {
        let open = Arc::new(open);
        lock(&self.0).insert(open.id.clone(), Arc::clone(&open));
        open
    }

    /// The one the parameters name.
    pub(super) fn named(&self, params: &Value) -> Result<Arc<Open>, Refusal> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let found = lock(&self.0).get(id).cloned();
        found.ok_or_else(|| Refusal::missing(format!("there is no session `{id}`")))
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.0).remove(id);
    }

    pub(super) fn all(&self) -> Vec<Arc<Open>> {
        lock(&self.0).values().cloned().collect()
    }
}

fn known(mode: &str) -> Option<&'static str> {
    MODES.iter().map(|(id, ..)| *id).find(|id| *id == mode)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
