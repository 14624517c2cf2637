//! Running a check while an agent is at work: on its changes so far, in a tree of its own beside it. The agent's snapshot is
//! only looked at, and nothing a check writes gets into it.
//!
//! Made where baselines can be made beside the agent. Elsewhere the native agent's hands run what the supervisor asks for; for
//! other agents it is not run, and what is said rests on the checks that they ran.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holon_agent::{AgentCheckRun, CheckRunner, PendingCheck};
use holon_git::Git;
use holon_model::ModelCancel;
use holon_sandbox::diff::CollectOptions;
use holon_sandbox::isolation::{Launcher, PayloadEnding, SandboxJob};
use holon_sandbox::snapshot::WorkspaceSnapshot;

use super::ActiveRun;
use super::baseline_runner::PayloadFollowing;
use super::change_watch::LIMITS;
use super::check_tree::{CheckTree, CheckedChange, TreeKind, lay_original};
use super::checks::said;
use super::snapshot::{RunStage, give};
use crate::error::HostError;

/// Longest time for a check that an agent waits for: clients have no endless patience.
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// Most bytes of what it printed that are read.
const PRINTED: u64 = 1 << 20;

/// A tree in which checks can run at any time.
pub(super) struct CheckProbe {
    tree: CheckTree,
    job: SandboxJob,
    launcher: Launcher,
    follow: PayloadFollowing,
    /// What the agent writes to.
    watched: WorkspaceSnapshot,
    git: Git,
    workspace: PathBuf,
    /// What was laid into the tree by the last check.
    laid: BTreeSet<PathBuf>,
    log: PathBuf,
}

impl ActiveRun<'_> {
    /// A probe for this agent; nothing where nobody wants a check, there is nothing to run, or nowhere.
    pub(super) fn probe(
        &self,
        stage: &mut RunStage,
        after_edits: bool,
        abort: &ModelCancel,
    ) -> Option<CheckProbe> {
        let speaks = after_edits || self.plan.supervisor.level.speaks();
        let wanted = speaks && !self.plan.checking().is_empty();
        let git = stage.git.clone().filter(|_| wanted && self.checks_fit_beside(stage))?;
        self.make_probe(stage, git, abort).ok()
    }

    fn make_probe(
        &self,
        stage: &mut RunStage,
        git: Git,
        abort: &ModelCancel,
    ) -> Result<CheckProbe, HostError> {
        let folder = self.folder.beside().join(format!("probe-{}", stage.attempts));
        let left = folder.join("output");
        fs::create_dir_all(&left).map_err(HostError::io("create", &left))?;
        let ground = self.check_ground(&format!("{}-probe", self.record.id));
        give(&left, &ground.identity)?;
        let watched = stage.snapshot.clone();
        let mut tree = self.check_tree_in(&folder.join("tree"), stage, &ground.identity)?;
        let job = tree.on(stage, |stage| self.check_job(stage, "", ground, &left));
        Ok(CheckProbe {
            tree,
            job,
            launcher: self.host.launcher.clone(),
            follow: PayloadFollowing {
                redactor: self.events.redactor().clone(),
                allowance: self.allowance(stage, Instant::now()),
                folder,
                stop: vec![self.cancel.clone(), abort.clone()],
            },
            watched,
            git,
            workspace: self.plan.workspace.clone(),
            laid: BTreeSet::new(),
            log: self.folder.evidence().join("probe.log"),
        })
    }
}

impl CheckProbe {
    /// Runs a check on what the agent has done so far; nothing when that cannot be.
    pub(super) fn run(&mut self, command: &str, limit: Duration) -> Option<AgentCheckRun> {
        let began = Instant::now();
        self.lay().ok()?;
        self.tree.renew(&mut self.job).ok()?;
        self.job.argv = ["/bin/sh", "-c", command].map(Into::into).to_vec();
        let _ = fs::remove_file(&self.log);
        let payload = self.launcher.spawn(&self.job).ok()?;
        let ending = self.follow.to_end(Box::new(payload), &self.log, limit.min(LIMIT)).ok()?;
        let mut printed = Vec::new();
        File::open(&self.log).ok()?.take(PRINTED).read_to_end(&mut printed).ok()?;
        let exit = match ending {
            PayloadEnding::Code(code) => Some(code),
            PayloadEnding::Signal(_) | PayloadEnding::Killed => None,
        };
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let output = String::from_utf8_lossy(&printed).into_owned();
        Some(AgentCheckRun { exit, output, failing: said(&self.log), duration_ms })
    }

    /// Puts what the agent changed into the tree, and what it no longer changes back.
    fn lay(&mut self) -> Result<(), HostError> {
        let changes = self.watched.clone().changes(&CollectOptions { git: &self.git, limits: LIMITS })?;
        let now: BTreeSet<PathBuf> = changes.entries.iter().map(|change| change.path.clone()).collect();
        for path in self.laid.difference(&now) {
            lay_original(self.tree.snapshot(), &self.workspace, path)?;
        }
        CheckedChange::of(Some(&changes), &self.workspace, &[])
            .lay(self.tree.snapshot(), TreeKind::Result)?;
        self.laid = now;
        Ok(())
    }
}

/// A probe that the native agent waits for, on threads of its own.
pub(super) struct NativeProbe {
    probe: Arc<Mutex<CheckProbe>>,
    busy: Arc<AtomicBool>,
}

impl NativeProbe {
    /// `busy` says whether it runs something.
    pub(super) fn new(probe: CheckProbe, busy: Arc<AtomicBool>) -> Self {
        Self { probe: Arc::new(Mutex::new(probe)), busy }
    }
}

impl CheckRunner for NativeProbe {
    fn run<'a>(&'a self, command: &'a str, limit: Duration) -> PendingCheck<'a> {
        let (probe, busy, command) = (Arc::clone(&self.probe), Arc::clone(&self.busy), command.to_owned());
        let running = tokio::task::spawn_blocking(move || {
            busy.store(true, Ordering::Relaxed);
            let ran = probe.lock().unwrap_or_else(PoisonError::into_inner).run(&command, limit);
            busy.store(false, Ordering::Relaxed);
            ran
        });
        Box::pin(async move { running.await.ok().flatten() })
    }
}
