//! Everything that lives as long as the server.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holon_core::Profile;
use holon_core::ids::ThreadId;
use holon_core::redact::Redactor;
use holon_host::record::now;
use holon_host::thread::{
    ChatModelPreferences, ChatModelSession, ThreadFolder, TurnSlots, from_cassette, over_network,
};
use holon_host::{HolonFolders, Host, HostError, modes};
use holon_store::{AuditNote, ChatStore, StoreWrite, StoredThread};
use holon_telemetry::{CallerObserver, Observer, ObserverPair, TraceCaller};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};

use crate::guard::{AccessTokens, ConcurrencyLimit, RateLimiter, RequestUser, Sessions};
use crate::live_threads::{LiveThreadHandle, LiveThreads};
use crate::memory_trim::MemoryTrim;
use crate::metrics::ServerMetrics;
use crate::problem::{ApiProblem, ApiResult};
use crate::runs::ServerRuns;
use crate::setup::{ReplySource, ServerSetup};
use crate::uploads::Uploads;

/// How often a demonstration's story can be told in one thread.
const DEMO_TIMES: usize = 100;
/// Connections to models that are held for the next turn.
const MOST_MINDS: usize = 64;

/// What handlers and turns share.
pub(crate) struct AppState {
    pub(crate) setup: ServerSetup,
    pub(crate) store: Arc<ChatStore>,
    pub(crate) redactor: Redactor,
    pub(crate) lives: Arc<LiveThreads>,
    pub(crate) metrics: ServerMetrics,
    pub(crate) tokens: AccessTokens,
    pub(crate) sessions: Sessions,
    pub(crate) rates: RateLimiter,
    pub(crate) streams: ConcurrencyLimit,
    pub(crate) turns: ConcurrencyLimit,
    pub(crate) uploads: Uploads,
    /// Held while the whole audit log is read: once at a time, so that others can read meanwhile.
    pub(crate) verifying: tokio::sync::Mutex<()>,
    /// Turns that may have hands at the same time.
    pub(crate) room: TurnSlots,
    pub(crate) runs: ServerRuns,
    minds: Mutex<HashMap<String, ChatModelSession>>,
    ending: AtomicBool,
    under_way: AtomicUsize,
    idle: Notify,
    spare: Arc<MemoryTrim>,
}

/// A turn or another piece of work the server's end waits for.
pub(crate) struct TrackedWork(Arc<AppState>);

impl AppState {
    pub(crate) fn new(setup: ServerSetup, store: ChatStore) -> Self {
        let limits = setup.limits;
        let several = setup.doors.is_shared();
        Self {
            redactor: Redactor::new(setup.secrets.iter().map(|(name, value)| (name, value))),
            store: Arc::new(store),
            lives: Arc::default(),
            metrics: ServerMetrics::new((setup.host)(setup.places.clone()).observer),
            tokens: AccessTokens::new(&setup.doors.tokens),
            sessions: Sessions::new(setup.doors.address.map(|address| address.port())),
            rates: RateLimiter::new(limits.rate, limits.burst),
            streams: ConcurrencyLimit::new(limits.streams, several),
            turns: ConcurrencyLimit::new(limits.turns, several),
            uploads: Uploads::new(setup.places.state.join("server/uploads"), limits, several),
            verifying: tokio::sync::Mutex::default(),
            room: Arc::new(Semaphore::new(limits.hands)),
            runs: ServerRuns::new(ConcurrencyLimit::new(limits.runs, several)),
            minds: Mutex::default(),
            ending: AtomicBool::new(false),
            under_way: AtomicUsize::new(0),
            idle: Notify::new(),
            spare: MemoryTrim::new(setup.give_back),
            setup,
        }
    }

    /// The host of a run, whose modes are counted here, and whose spans belong to whoever asked for it.
    pub(crate) fn host(&self, places: HolonFolders, caller: Option<&TraceCaller>) -> Host {
        let mut host = (self.setup.host)(places);
        let counters: Arc<dyn Observer> = self.metrics.modes();
        let to = match host.observer.take() {
            Some(other) => Arc::new(ObserverPair(counters, other)),
            None => counters,
        };
        host.observer = Some(Arc::new(CallerObserver { caller: caller.cloned(), to }));
        host
    }

    /// A user's thread.
    pub(crate) async fn thread(&self, user: &RequestUser, id: &str) -> ApiResult<StoredThread> {
        let missing = || ApiProblem::not_found("thread");
        let id: ThreadId = id.parse().map_err(|_| missing())?;
        let thread = self.store.read(move |backend| backend.thread(&id)).await?;
        thread.filter(|thread| thread.user == user.0).ok_or_else(missing)
    }

    /// The live form of a thread.
    pub(crate) async fn held(&self, id: &ThreadId) -> ApiResult<LiveThreadHandle> {
        self.lives.get(id, &self.store).await?.ok_or_else(|| ApiProblem::not_found("thread"))
    }

    /// The files of a thread.
    pub(crate) fn folder(&self, thread: &StoredThread) -> Result<ThreadFolder, HostError> {
        ThreadFolder::open(&self.setup.places, &thread.id, Path::new(&thread.workspace))
    }

    /// Whether a path lies below one of the folders this server works on.
    pub(crate) fn is_below_a_root(&self, path: &Path) -> bool {
        self.setup.roots.iter().any(|root| path.starts_with(root))
    }

    /// Whether a thread's workspace is the folder it was when the thread was made, and not a link that was put in its
    /// place; and whether this server works there at all.
    pub(crate) fn check_workspace(&self, thread: &StoredThread) -> ApiResult<()> {
        let path = Path::new(&thread.workspace);
        if !self.is_below_a_root(path) {
            return Err(ApiProblem::outside());
        }
        if path.canonicalize().is_ok_and(|real| real == path && real.is_dir()) {
            return Ok(());
        }
        let message = format!("the folder this thread is about is not there any more: {}", thread.workspace);
        Err(ApiProblem::conflict("workspace_gone", message).with_hint("put it back, or delete the thread"))
    }

    /// The profile of a chat mode, narrowed by what the thread's tools table says.
    pub(crate) fn profile(&self, mode: &str, thread: &StoredThread) -> Result<Profile, HostError> {
        let workspace = Path::new(&thread.workspace);
        let name = if mode == "build" { "execute" } else { mode };
        let mut profile = modes::catalog(&self.setup.places, Some(workspace))?.resolve(name)?;
        // The strictest opinion wins, so a further layer can only narrow.
        profile.tools.layers.push(thread.tools.clone());
        Ok(profile)
    }

    /// Who answers in a thread; whoever answered before does again, unless another is clearly better.
    pub(crate) fn model_session(
        &self,
        thread: &StoredThread,
        profile: &Profile,
        current: Option<&str>,
    ) -> Result<ChatModelSession, HostError> {
        let key = match &self.setup.minds {
            ReplySource::Cassette { .. } => thread.id.as_str().to_owned(),
            ReplySource::Network { .. } => {
                let named =
                    thread.model.as_deref().map_or_else(String::new, |model| format!("named {model}"));
                format!("{} {named} {}", profile.name, current.unwrap_or_default())
            }
        };
        let mut minds = self.minds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mind) = minds.get(&key) {
            return Ok(mind.clone());
        }
        let mind = match &self.setup.minds {
            ReplySource::Cassette { file, demo } => from_cassette(file, if *demo { DEMO_TIMES } else { 1 })?,
            ReplySource::Network { provider, model, .. } => {
                let wished = thread.model.as_deref().or(model.as_deref());
                let (env, places) = (&*self.setup.around.env, &self.setup.places);
                let wish = ChatModelPreferences { provider: provider.as_deref(), model: wished, current };
                over_network(env, places, wish, profile)?
            }
        };
        // Anyone may wish for any model; what is dropped here is simply made again.
        if minds.len() >= MOST_MINDS && matches!(self.setup.minds, ReplySource::Network { .. }) {
            minds.clear();
        }
        minds.insert(key, mind.clone());
        Ok(mind)
    }

    /// An entry of the audit log.
    pub(crate) fn audit(
        &self,
        actor: &str,
        action: &str,
        about: Option<(&ThreadId, u64)>,
        detail: Value,
    ) -> StoreWrite {
        let detail = self.clean(detail);
        let (thread, turn) = about.unzip();
        StoreWrite::Audit(Box::new(AuditNote {
            at: now(),
            actor: actor.to_owned(),
            action: action.to_owned(),
            thread: thread.map(|id| id.as_str().to_owned()),
            turn: turn.filter(|turn| *turn > 0),
            detail,
        }))
    }

    /// JSON with credentials removed.
    pub(crate) fn clean(&self, value: Value) -> Value {
        let text = value.to_string();
        let clean = self.redactor.redact_str(&text);
        if clean == text {
            return value;
        }
        serde_json::from_str(&clean).unwrap_or_else(|_| Value::String("[redacted]".to_owned()))
    }

    /// Begins work that the end of the server waits for; none is begun any more once it ends.
    pub(crate) fn begin_work(self: &Arc<Self>) -> ApiResult<TrackedWork> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let work = TrackedWork(Arc::clone(self));
        if self.is_ending() { Err(ApiProblem::ending()) } else { Ok(work) }
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Ends everything under way, keeps what it came to, and closes the store.
    pub(crate) async fn end(&self, patience: Duration) {
        self.ending.store(true, Ordering::SeqCst);
        self.lives.cancel_all();
        self.runs.cancel_all();
        let waited = tokio::time::timeout(patience, async {
            loop {
                let idle = self.idle.notified();
                if self.under_way.load(Ordering::SeqCst) == 0 {
                    return;
                }
                // A turn that had only just begun did not hear the first call.
                self.lives.cancel_all();
                let _ = tokio::time::timeout(Duration::from_millis(200), idle).await;
            }
        });
        let _ = waited.await;
        let store = Arc::clone(&self.store);
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
    }
}

impl Drop for TrackedWork {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
        self.0.idle.notify_waiters();
        self.0.spare.soon();
    }
}

/// A name nobody can guess, with a prefix that says what it names.
pub(crate) fn fresh(prefix: &str) -> String {
    use std::fmt::Write as _;
    let mut random = [0_u8; 10];
    // Without randomness an id could only meet another one, which the store would notice.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let mut id = format!("{prefix}-");
    for byte in random {
        let _ = write!(id, "{byte:02x}");
    }
    id
}
