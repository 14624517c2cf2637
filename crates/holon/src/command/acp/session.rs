//! What the editor's side of a thread remembers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::changes::WholeTextChange;
use super::modes::{self, SessionModes};
use super::wire::RpcRefusal;

/// A thread that an editor has open.
pub(super) struct EditorSession {
    /// The thread's name is the session's.
    pub(super) id: String,
    pub(super) folder: String,
    modes: Arc<SessionModes>,
    mode: Mutex<String>,
    /// The run of the prompt under way.
    run: Mutex<Option<String>>,
    busy: AtomicBool,
    cancelled: AtomicBool,
    pub(super) kept: Mutex<SessionMemory>,
}

/// What a person said for the whole session, and what was shown last.
#[derive(Default)]
pub(super) struct SessionMemory {
    /// Tools that need no word any more.
    pub(super) allowed: HashSet<String>,
    /// Changes are applied without a word.
    pub(super) apply: bool,
    /// Texts that were shown as changed.
    pub(super) shown: BTreeMap<String, WholeTextChange>,
}

/// A turn; another one has to wait for its end.
pub(super) struct EditorTurnGuard(Arc<EditorSession>);

impl Drop for EditorTurnGuard {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::SeqCst);
    }
}

impl EditorSession {
    pub(super) fn new(id: &str, folder: &str, mode: &str, modes: Arc<SessionModes>) -> Self {
        let mode = if modes.has(mode) { mode } else { modes::FIRST };
        Self {
            id: id.to_owned(),
            folder: folder.to_owned(),
            mode: Mutex::new(mode.to_owned()),
            modes,
            run: Mutex::default(),
            busy: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            kept: Mutex::default(),
        }
    }

    pub(super) fn mode(&self) -> String {
        lock(&self.mode).clone()
    }

    pub(super) fn set_mode(&self, mode: &str) -> Result<(), RpcRefusal> {
        if !self.modes.has(mode) {
            return Err(RpcRefusal::params(format!("the modes are {}", self.modes.names())));
        }
        mode.clone_into(&mut lock(&self.mode));
        Ok(())
    }

    /// The mode, if a prompt in it is a run.
    pub(super) fn run_mode(&self) -> Option<String> {
        Some(self.mode()).filter(|mode| self.modes.is_run(mode))
    }

    /// Says which run the prompt under way is.
    pub(super) fn set_run(&self, run: Option<&str>) {
        *lock(&self.run) = run.map(str::to_owned);
    }

    /// The run of the prompt under way.
    pub(super) fn run(&self) -> Option<String> {
        lock(&self.run).clone()
    }

    /// Begins a turn.
    pub(super) fn begin(self: &Arc<Self>) -> Option<EditorTurnGuard> {
        let free = self.busy.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if free {
            self.cancelled.store(false, Ordering::SeqCst);
        }
        free.then(|| EditorTurnGuard(Arc::clone(self)))
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

    pub(super) fn kept(&self) -> MutexGuard<'_, SessionMemory> {
        lock(&self.kept)
    }

    /// The modes, as the protocol had them first.
    pub(super) fn modes(&self) -> Value {
        self.modes.state(&self.mode())
    }

    /// The same as an option, as the protocol will have them.
    pub(super) fn options(&self) -> Value {
        self.modes.options(&self.mode())
    }
}

/// All that are open.
#[derive(Default)]
pub(super) struct EditorSessions(Mutex<HashMap<String, Arc<EditorSession>>>);

impl EditorSessions {
    /// Adds one; with a turn under way it stays the one that is there, so that the turn can be stopped.
    pub(super) fn add(&self, open: EditorSession) -> Arc<EditorSession> {
        let mut all = lock(&self.0);
        if let Some(busy) = all.get(&open.id).filter(|open| open.is_busy()) {
            return Arc::clone(busy);
        }
        let open = Arc::new(open);
        all.insert(open.id.clone(), Arc::clone(&open));
        open
    }

    /// The one the parameters name.
    pub(super) fn named(&self, params: &Value) -> Result<Arc<EditorSession>, RpcRefusal> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let found = lock(&self.0).get(id).cloned();
        found.ok_or_else(|| RpcRefusal::missing(format!("there is no session `{id}`")))
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.0).remove(id);
    }

    pub(super) fn all(&self) -> Vec<Arc<EditorSession>> {
        lock(&self.0).values().cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
