//! Hands that are started when the first thing is to be done: a turn that only talks costs no process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::Profile;
use holon_hands::{
    ExecutorError, ExecutorErrorKind, InFlightRequest, OutputWatch, RemoteExecutor, ToolExecutor, ToolRequest,
};
use holon_sandbox::backend::{NativeSandbox, SandboxBackend};
use holon_sandbox::isolation::Launcher;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use super::folder::ThreadFolder;
use super::hide::hidden;
use super::job::{self, owner_of};
use super::supervised::TurnSnapshotCell;
use super::watch::{SandboxEndReason, WatchedSandbox};
use crate::error::HostError;
use crate::holon_folders::HolonFolders;

/// Looks a variable of the host up, from any thread.
pub type HostVariables = dyn Fn(&str) -> Option<std::ffi::OsString> + Send + Sync;

/// What turns need of the process they run in.
#[derive(Clone)]
pub struct TurnSurroundings {
    /// How walls are started.
    pub launcher: Launcher,
    /// Reads an environment variable of the host; the hands see none of them.
    pub env: Arc<HostVariables>,
    /// The user's home, for toolchains.
    pub home: Option<PathBuf>,
}

/// How many turns may have hands at the same time.
pub type TurnSlots = Arc<Semaphore>;

/// One turn of a thread, or what is left of it after a person answered.
#[derive(Clone)]
pub struct ThreadTurn {
    /// Where configuration is read from.
    pub places: HolonFolders,
    /// The thread's files.
    pub folder: ThreadFolder,
    /// Which turn.
    pub number: u64,
    /// What the mode binds.
    pub profile: Profile,
    /// The name of the walls.
    pub name: String,
    /// The surroundings.
    pub around: TurnSurroundings,
}

/// Hands of one turn.
pub struct LateToolExecutor {
    turn: ThreadTurn,
    room: TurnSlots,
    started: OnceCell<StartedExecutor>,
    why: SandboxEndReason,
    seen: TurnSnapshotCell,
}

struct StartedExecutor {
    remote: RemoteExecutor,
    watched: Mutex<Option<WatchedSandbox>>,
    _permit: OwnedSemaphorePermit,
}

impl LateToolExecutor {
    /// Hands for a turn, not started yet.
    pub fn new(turn: ThreadTurn, room: TurnSlots) -> Self {
        Self {
            turn,
            room,
            started: OnceCell::new(),
            why: SandboxEndReason::default(),
            seen: TurnSnapshotCell::default(),
        }
    }

    /// Why they were stopped, if a limit did it.
    pub fn stopped_by(&self) -> Option<String> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn workspace(&self) -> &Path {
        self.turn.folder.workspace()
    }

    pub(super) fn seen(&self) -> &TurnSnapshotCell {
        &self.seen
    }

    /// Whether anything was done at all.
    pub fn used(&self) -> bool {
        self.started.get().is_some()
    }

    /// Takes the walls down and keeps what was written; says whether that was anything. Blocks.
    pub fn finish(self) -> Result<bool, HostError> {
        let Some(StartedExecutor { remote, watched, .. }) = self.started.into_inner() else {
            return Ok(false);
        };
        // The end of the channel ends the hands, and theirs everything else.
        drop(remote);
        if let Some(watched) = watched.into_inner().unwrap_or_else(PoisonError::into_inner) {
            watched.end();
        }
        self.turn.folder.end(self.turn.number)
    }

    async fn started(&self) -> Result<&StartedExecutor, ExecutorError> {
        let gone = |words: String| ExecutorError::new(ExecutorErrorKind::Gone, words);
        let start = async || {
            let permit = Arc::clone(&self.room)
                .acquire_owned()
                .await
                .map_err(|_| gone("the server is ending".to_owned()))?;
            let (turn, why, seen) = (self.turn.clone(), Arc::clone(&self.why), Arc::clone(&self.seen));
            let begun = tokio::task::spawn_blocking(move || begin(&turn, why, &seen)).await;
            match begun {
                Ok(Ok((remote, watched))) => {
                    Ok(StartedExecutor { remote, watched: Mutex::new(Some(watched)), _permit: permit })
                }
                Ok(Err(e)) => {
                    let words = format!("the walls could not be built: {e}");
                    self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(words.clone());
                    Err(gone(words))
                }
                Err(e) => Err(gone(e.to_string())),
            }
        };
        self.started.get_or_try_init(start).await
    }
}

impl ToolExecutor for LateToolExecutor {
    fn carry_out<'a>(&'a self, deed: ToolRequest, watch: Option<OutputWatch<'a>>) -> InFlightRequest<'a> {
        Box::pin(async move { self.started().await?.remote.carry_out(deed, watch).await })
    }
}

/// Builds the walls of a turn around its snapshot.
fn begin(
    turn: &ThreadTurn,
    why: SandboxEndReason,
    seen: &TurnSnapshotCell,
) -> Result<(RemoteExecutor, WatchedSandbox), HostError> {
    let ThreadTurn { places, folder, number, profile, name, around } = turn;
    let identity = folder.identity();
    let native = NativeSandbox::new(around.launcher.clone());
    let hide = hidden(places, &*around.env, profile, folder.workspace())?;
    let snapshot = folder.begin(*number, &profile.access, &hide)?;
    // Walls that could not be built are tried again on a snapshot of the same folders.
    let _ = seen.set(snapshot.clone());
    let dir = folder.turn_dir(*number);
    let exposed = job::exposed(folder, around, profile, &dir)?;
    let job = job::job(name, folder, profile, &snapshot, &exposed)?;
    let mut ground = job.ground();
    ground.owner = owner_of(folder.workspace());
    debug_assert_eq!(ground.identity, identity);
    let refused = |e: holon_sandbox::isolation::LaunchRefusal| HostError::Walls {
        message: format!("the walls of this turn could not be built: {e}"),
        hint: Some("`holon doctor` explains what this machine can enforce".into()),
    };
    let mut payload = native.start(&job).map_err(refused)?;
    let channel = payload.take_channel().ok_or_else(|| HostError::Walls {
        message: "the walls gave no channel to the hands".into(),
        hint: Some("this is a bug in Holon".into()),
    })?;
    let broken = HostError::io("talk to", &dir);
    let remote = RemoteExecutor::over_stream(channel).map_err(broken)?;
    let folders = vec![dir.clone(), folder.home()?];
    let watched = WatchedSandbox::start(payload, folders, &profile.limits, why)
        .map_err(HostError::io("watch", &dir))?;
    Ok((remote, watched))
}
