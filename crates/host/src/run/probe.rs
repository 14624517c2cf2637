//! Running a check while an agent that thinks inside waits for its model: on its changes so far, in a tree of its own beside
//! it. The agent's snapshot is only looked at, and nothing a check writes gets into it.
//!
//! Made where baselines can be made beside the agent; elsewhere a check that the supervisor asks for is not run, and what it
//! says rests on the checks that the agent ran.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holon_git::Git;
use holon_sandbox::diff::Options;
use holon_sandbox::snapshot::Snapshot;
use holon_sandbox::walls::{Ending, Job, Launcher};

use super::Run;
use super::beside::Following;
use super::check_tree::{CheckTree, CheckedChange, TreeKind, lay_original};
use super::sight::LIMITS;
use super::snapshot::{Stage, give};
use crate::cancel::Cancel;
use crate::error::HostError;

/// Longest time for a check that an agent waits for: clients have no endless patience.
const LIMIT: Duration = Duration::from_secs(120);
/// Most bytes of what it printed that are read.
const PRINTED: u64 = 1 << 20;

/// A tree in which checks can run at any time.
pub(super) struct Probe {
    tree: CheckTree,
    job: Job,
    launcher: Launcher,
    follow: Following,
    /// What the agent writes to.
    watched: Snapshot,
    git: Git,
    workspace: PathBuf,
    /// What was laid into the tree by the last check.
    laid: BTreeSet<PathBuf>,
    log: PathBuf,
}

/// A check that ran.
pub(super) struct Probed {
    pub exit: Option<i32>,
    pub output: String,
    pub duration_ms: u64,
}

impl Run<'_> {
    /// A probe for this agent; nothing where there is nothing to run, or nowhere.
    pub(super) fn probe(&self, stage: &mut Stage, abort: &Cancel) -> Option<Probe> {
        let wanted = self.plan.supervisor.level.speaks() && !self.plan.checking().is_empty();
        let git = stage.git.clone().filter(|_| wanted && self.checks_fit_beside(stage))?;
        self.make_probe(stage, git, abort).ok()
    }

    fn make_probe(&self, stage: &mut Stage, git: Git, abort: &Cancel) -> Result<Probe, HostError> {
        let folder = self.folder.beside().join(format!("probe-{}", stage.attempts));
        let left = folder.join("output");
        fs::create_dir_all(&left).map_err(HostError::io("create", &left))?;
        let ground = self.check_ground(&format!("{}-probe", self.record.id));
        give(&left, &ground.identity)?;
        let watched = stage.snapshot.clone();
        let mut tree = self.check_tree_in(&folder.join("tree"), stage, &ground.identity)?;
        let job = tree.on(stage, |stage| self.check_job(stage, "", ground, &left));
        Ok(Probe {
            tree,
            job,
            launcher: self.host.launcher.clone(),
            follow: Following {
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

impl Probe {
    /// Runs a check on what the agent has done so far; nothing when that cannot be.
    pub(super) fn run(&mut self, command: &str) -> Option<Probed> {
        let began = Instant::now();
        self.lay().ok()?;
        self.tree.renew(&mut self.job).ok()?;
        self.job.argv = ["/bin/sh", "-c", command].map(Into::into).to_vec();
        let _ = fs::remove_file(&self.log);
        let payload = self.launcher.spawn(&self.job).ok()?;
        let ending = self.follow.to_end(Box::new(payload), &self.log, LIMIT).ok()?;
        let mut printed = Vec::new();
        File::open(&self.log).ok()?.take(PRINTED).read_to_end(&mut printed).ok()?;
        let exit = match ending {
            Ending::Code(code) => Some(code),
            Ending::Signal(_) | Ending::Killed => None,
        };
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Some(Probed { exit, output: String::from_utf8_lossy(&printed).into_owned(), duration_ms })
    }

    /// Puts what the agent changed into the tree, and what it no longer changes back.
    fn lay(&mut self) -> Result<(), HostError> {
        let changes = self.watched.clone().changes(&Options { git: &self.git, limits: LIMITS })?;
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
