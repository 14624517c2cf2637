//! Snapshot: what the agent will see of the workspace, and the walls it will see it from.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Instant;

use holon_core::mode::HostMountSetting;
use holon_git::Git;
use holon_sandbox::backend::SandboxBackend;
use holon_sandbox::diff::tree_digest;
use holon_sandbox::disk::{self, DiskLimits};
use holon_sandbox::host_mounts::{self, HostMounts};
use holon_sandbox::isolation::PayloadIdentity;
use holon_sandbox::mount::MountSource;
use holon_sandbox::snapshot::{self, OriginalsSaver, SnapshotStrategyChoice, WorkspaceSnapshot};

use super::output::AttendedOutput;
use super::{ActiveRun, environment};
use crate::error::HostError;

/// What execution, collection and checks share.
pub(crate) struct RunStage {
    pub identity: PayloadIdentity,
    pub backend: Box<dyn SandboxBackend>,
    pub snapshot: WorkspaceSnapshot,
    pub exposed: HostMounts,
    /// Private home inside the run's layers.
    pub home: PathBuf,
    /// When the agent's time, repair round included, is over.
    pub deadline: Instant,
    /// What was on disk before the agent started.
    pub already: DiskLimits,
    /// How many times the agent was started.
    pub attempts: u32,
    /// How the last start ended.
    pub last: Option<AttendedOutput>,
    /// Digest of the whole workspace before, with `--verify full`.
    pub before: Option<String>,
    /// What makes the patch, in modes that can have one.
    pub git: Option<Git>,
    /// What keeps the originals of files that people may change meanwhile.
    pub originals: RefCell<Option<OriginalsSaver>>,
}

impl RunStage {
    pub(super) fn time_left(&self) -> bool {
        Instant::now() < self.deadline
    }

    /// Makes the writable layers over package caches mountable once more.
    pub(super) fn renew_caches(&mut self) -> Result<(), HostError> {
        for mount in &mut self.exposed.mounts {
            if let MountSource::Overlay(overlay) = &mut mount.source {
                let path = overlay.work.clone().unwrap_or_default();
                overlay.renew(self.identity.owner()).map_err(HostError::io("renew", &path))?;
            }
        }
        environment::renew_home(&self.home, &self.identity)
    }
}

impl ActiveRun<'_> {
    pub(super) fn take_snapshot(
        &mut self,
        backend: Box<dyn SandboxBackend>,
        git: Option<JoinHandle<Result<Git, holon_git::GitError>>>,
    ) -> Result<RunStage, HostError> {
        let identity = PayloadIdentity::for_run(self.record.id.as_str());
        let before = if self.plan.verify_full { Some(self.whole_digest()?) } else { None };
        let home = self.folder.layers().join("home");
        for folder in [&home, &self.folder.left()] {
            fs::create_dir(folder).map_err(HostError::io("create", folder))?;
            give(folder, &identity)?;
        }
        let layers = self.folder.layers();
        let snapshot = self.snapshot_in(&layers, backend.as_ref(), &identity, self.plan.snapshot)?;
        self.furnish_home(&home, &snapshot, &identity)?;
        let exposed = self.expose(&snapshot, &identity, backend.overlays())?;
        // Without git there could be no patch: better to say so before the agent starts.
        let git = git.and_then(|thread| thread.join().ok()).transpose()?;
        let timeout = self.plan.profile.limits.timeout.get();
        let originals = match self.plan.profile.access.delivers() {
            true => OriginalsSaver::start(&snapshot)?,
            false => None,
        };
        let mut stage = RunStage {
            originals: RefCell::new(originals),
            already: snapshot.written().map(disk::measure).unwrap_or(DiskLimits { bytes: 0, files: 0 }),
            deadline: Instant::now() + timeout,
            attempts: 0,
            last: None,
            identity,
            backend,
            snapshot,
            exposed,
            home,
            before,
            git,
        };
        self.note_snapshot(&mut stage);
        Ok(stage)
    }

    /// Takes the snapshot in the way this backend can show it.
    pub(super) fn snapshot_for(
        &mut self,
        backend: &dyn SandboxBackend,
        identity: &PayloadIdentity,
        choice: SnapshotStrategyChoice,
    ) -> Result<WorkspaceSnapshot, HostError> {
        self.snapshot_in(&self.folder.layers(), backend, identity, choice)
    }

    /// The same, kept below a folder of the run's.
    pub(super) fn snapshot_in(
        &self,
        layers: &Path,
        backend: &dyn SandboxBackend,
        identity: &PayloadIdentity,
        choice: SnapshotStrategyChoice,
    ) -> Result<WorkspaceSnapshot, HostError> {
        let choice = match choice {
            // Without a private root the original would be reachable: the agent works on a copy, always.
            SnapshotStrategyChoice::Auto if !backend.private_root() => SnapshotStrategyChoice::Reflink,
            other => other,
        };
        let mut snapshot = snapshot::take(&snapshot::SnapshotRequest {
            workspace: &self.plan.workspace,
            run_dir: layers,
            access: &self.plan.profile.access,
            hide: &self.hide,
            strategy: choice,
            overlay_works: backend.overlays(),
            payload_uid: identity.owner(),
        })?;
        self.put_under(&mut snapshot)?;
        Ok(snapshot)
    }

    /// Finds the toolchains and caches to show; a second call, for other walls, starts afresh.
    pub(super) fn expose(
        &mut self,
        snapshot: &WorkspaceSnapshot,
        identity: &PayloadIdentity,
        overlays: bool,
    ) -> Result<HostMounts, HostError> {
        let exposed = self.expose_in(&self.folder.layers(), snapshot, identity, overlays)?;
        for note in exposed.notes.clone() {
            self.warn(note);
        }
        Ok(exposed)
    }

    /// The same, with the layers of caches below a folder of the run's.
    pub(super) fn expose_in(
        &self,
        layers: &Path,
        snapshot: &WorkspaceSnapshot,
        identity: &PayloadIdentity,
        overlays: bool,
    ) -> Result<HostMounts, HostError> {
        let wanted: Vec<&str> = self.plan.agent.adapter.toolchains.iter().map(String::as_str).collect();
        let expose = &self.plan.profile.expose;
        let home = self.host.places.home.as_deref();
        let extra: Vec<PathBuf> = expose.paths.iter().map(|p| below_home(p, home)).collect();
        let layers = layers.join("exposed");
        snapshot::remove_tree(&layers).map_err(HostError::io("remove", &layers))?;
        fs::create_dir(&layers).map_err(HostError::io("create", &layers))?;
        let mut exposed = host_mounts::find(&host_mounts::HostMountRequest {
            workspace: &self.plan.workspace,
            home,
            env: &*self.host.env,
            toolchains: expose.toolchains == HostMountSetting::Auto,
            caches: expose.caches == HostMountSetting::Auto && !self.brings_caches(),
            extra_paths: &extra,
            run_dir: &layers,
            owner: identity.owner(),
            wanted: &wanted,
            workspace_writable: snapshot.access().writable(),
            offline: self.plan.profile.network < holon_core::mode::NetworkReach::Permit,
            overlays,
        })
        .map_err(|e| HostError::Walls { message: e.to_string(), hint: None })?;
        self.furnish_places(&mut exposed, snapshot, identity)?;
        Ok(exposed)
    }

    pub(super) fn note_snapshot(&mut self, stage: &mut RunStage) {
        if self.is_native() && stage.snapshot.written().is_some() {
            // Only needed when this process is killed; a run need not fail for it.
            let _ = stage.snapshot.store(&self.folder.layers());
        }
        let base = stage.snapshot.base().clone();
        tracing::info!(strategy = stage.snapshot.strategy().label(), commit = ?base.commit, "has a snapshot");
        let info = holon_core::manifest::SnapshotInfo {
            strategy: stage.snapshot.strategy().label().to_owned(),
            base_commit: base.commit,
            head: base.branch,
            ..Default::default()
        };
        self.manifest.metadata.snapshot = Some(info);
        for note in base.notes {
            self.warn(note);
        }
        for skipped in stage.snapshot.skipped().to_vec() {
            self.warn(format!("{} is not in the snapshot ({:?})", skipped.path.display(), skipped.why));
        }
    }

    pub(super) fn whole_digest(&self) -> Result<String, HostError> {
        let out = self.plan.out.as_deref().and_then(|o| o.strip_prefix(&self.plan.workspace).ok());
        let except: Vec<PathBuf> =
            out.map(Path::to_owned).into_iter().chain(self.plan.logs.as_ref().map(PathBuf::from)).collect();
        Ok(tree_digest(&self.plan.workspace, &except)?)
    }
}

/// Root gives folders to the payload; an ordinary user is the payload.
pub(super) fn give(folder: &Path, identity: &PayloadIdentity) -> Result<(), HostError> {
    match identity.owner() {
        Some((uid, gid)) => chown(folder, Some(uid), Some(gid)).map_err(HostError::io("give away", folder)),
        None => Ok(()),
    }
}

fn below_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}
