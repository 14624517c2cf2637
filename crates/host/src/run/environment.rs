//! The environment a run stands on: opened once, and put under every tree that is made for the run.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use holon_core::event::{EventBody, RunEvent};
use holon_core::manifest::EnvironmentUse;
use holon_environment::EnvironmentRecord;
use holon_sandbox::host_mounts::HostMounts;
use holon_sandbox::isolation::{LaunchRefusal, PayloadIdentity};
use holon_sandbox::mount::{Mount, MountSource, Overlay};
use holon_sandbox::snapshot::environment::copy_into;
use holon_sandbox::snapshot::{WorkspaceSnapshot, remove_tree};

use super::ActiveRun;
use super::snapshot::RunStage;
use crate::environment::EnvironmentOrder;
use crate::error::HostError;
use crate::plan::PlannedWork;

/// The private home inside.
const HOME: &str = "/holon/home";
/// Most paths that a setup changed besides which a manifest names.
const NAMED: usize = 50;

impl ActiveRun<'_> {
    /// Opens the environment of the plan, and makes it first where it is not there.
    pub(super) fn open_environment(&mut self) -> Result<(), HostError> {
        let Some(wanted) = self.plan.environment.clone() else { return Ok(()) };
        let (host, cancel, workspace) = (self.host, self.cancel, self.plan.workspace.clone());
        let events = &mut self.events;
        let mut told = |event: &RunEvent| match &event.body {
            body @ (EventBody::NetworkRefused { .. } | EventBody::Warning { .. }) => {
                events.emit(body.clone())
            }
            _ => {}
        };
        let order = EnvironmentOrder {
            environment: &wanted,
            workspace: &workspace,
            snapshot: self.plan.snapshot,
            again: false,
        };
        let built = host.build_environment(&order, &mut told, cancel)?;
        let made_now = built.made.is_some();
        tracing::info!(digest = wanted.digest, made_now, "stands on an environment");
        self.manifest.metadata.environment = Some(used(&built.open.record, made_now));
        self.environment = Some(built.open);
        Ok(())
    }

    /// Whether package caches of the host stay away: an environment brings its own, and a setup fills them from nothing.
    pub(super) fn brings_caches(&self) -> bool {
        self.environment.is_some() || matches!(self.plan.work, PlannedWork::Setup { .. })
    }

    /// Puts it under a fresh snapshot.
    pub(super) fn put_under(&self, snapshot: &mut WorkspaceSnapshot) -> Result<(), HostError> {
        if let Some(environment) = &self.environment {
            snapshot.stand_on(&environment.layer())?;
        } else if matches!(self.plan.work, PlannedWork::Setup { .. }) {
            snapshot.write_whole();
        }
        Ok(())
    }

    /// Gets a fresh home ready to be seen with what the environment has of it.
    pub(super) fn furnish_home(
        &self,
        home: &Path,
        snapshot: &WorkspaceSnapshot,
        identity: &PayloadIdentity,
    ) -> Result<(), HostError> {
        let Some(environment) = &self.environment else { return Ok(()) };
        if is_layered(snapshot) {
            return made_for(&work_of(home), identity);
        }
        Ok(copy_into(&environment.home(), home, identity.owner())?)
    }

    /// The same for private folders of toolchains.
    pub(super) fn furnish_places(
        &self,
        exposed: &mut HostMounts,
        snapshot: &WorkspaceSnapshot,
        identity: &PayloadIdentity,
    ) -> Result<(), HostError> {
        let Some(environment) = &self.environment else { return Ok(()) };
        for mount in exposed.mounts.iter_mut().filter(|mount| mount.writable) {
            let MountSource::Bind(folder) = &mount.source else { continue };
            let Some(place) = environment.place(&mount.at) else { continue };
            if is_layered(snapshot) {
                let work = work_of(folder);
                made_for(&work, identity)?;
                mount.source = MountSource::Overlay(over(place, folder, work));
            } else {
                copy_into(&place, folder, identity.owner())?;
            }
        }
        Ok(())
    }

    /// The private home as the payload sees it.
    pub(super) fn home_mount(&self, stage: &RunStage) -> Mount {
        match &self.environment {
            Some(environment) if is_layered(&stage.snapshot) => {
                let layers = over(environment.home(), &stage.home, work_of(&stage.home));
                Mount { at: HOME.into(), source: MountSource::Overlay(layers), writable: true }
            }
            _ => Mount::writable(&stage.home, HOME),
        }
    }

    /// Home and toolchains anew, after the snapshot was taken in another way.
    pub(super) fn refurnish(&mut self, stage: &mut RunStage) -> Result<(), HostError> {
        if self.environment.is_none() {
            return Ok(());
        }
        self.furnish_home(&stage.home, &stage.snapshot, &stage.identity)?;
        stage.exposed = self.expose(&stage.snapshot, &stage.identity, stage.backend.overlays())?;
        Ok(())
    }

    /// Weaker walls than native ones cannot show it, and a run without it would be another one.
    pub(super) fn refuse_weaker(&self, refused: &LaunchRefusal) -> Result<(), HostError> {
        if self.environment.is_none() && !matches!(self.plan.work, PlannedWork::Setup { .. }) {
            return Ok(());
        }
        Err(HostError::Walls {
            message: format!("an environment needs native walls, which are refused here ({refused})"),
            hint: Some("`holon doctor` says what is missing; --fresh runs without the environment".into()),
        })
    }
}

/// Whether a snapshot is mounted in layers, which the other folders then can be, too.
fn is_layered(snapshot: &WorkspaceSnapshot) -> bool {
    use holon_sandbox::snapshot::SnapshotStrategy::{Overlay, ReadOnly};
    matches!(snapshot.strategy(), Overlay | ReadOnly)
}

/// What the environment has, and above it a folder that takes writes.
fn over(lower: PathBuf, upper: &Path, work: PathBuf) -> Overlay {
    Overlay {
        lowers: vec![lower],
        upper: Some(upper.to_owned()),
        work: Some(work),
        lasting: false,
        moved_whole: false,
    }
}

/// The kernel's scratch space for a folder that takes writes.
fn work_of(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push("-work");
    folder.with_file_name(name)
}

fn made_for(folder: &Path, identity: &PayloadIdentity) -> Result<(), HostError> {
    remove_tree(folder).map_err(HostError::io("remove", folder))?;
    fs::create_dir(folder).map_err(HostError::io("create", folder))?;
    match identity.owner() {
        Some((uid, gid)) => chown(folder, Some(uid), Some(gid)).map_err(HostError::io("give away", folder)),
        None => Ok(()),
    }
}

/// Makes a home mountable once more; nothing where it is no layer.
pub(super) fn renew_home(home: &Path, identity: &PayloadIdentity) -> Result<(), HostError> {
    let work = work_of(home);
    if work.is_dir() { made_for(&work, identity) } else { Ok(()) }
}

/// What the manifest says of it.
fn used(record: &EnvironmentRecord, made_now: bool) -> EnvironmentUse {
    let mut left_out: Vec<String> =
        record.left_out.iter().take(NAMED).map(|one| format!("{}: {}", one.path, one.why)).collect();
    if record.left_out.len() > NAMED {
        left_out.push(format!("and {} more", record.left_out.len() - NAMED));
    }
    EnvironmentUse {
        digest: record.digest.clone(),
        commands: record.setup.commands.clone(),
        source: record.setup.source.to_string(),
        run: record.run.clone(),
        made_now,
        brings: record.roots.clone(),
        packages: record.packages.clone(),
        left_out,
    }
}
