//! Snapshot, launch, patch: the part of a run that could grow with the tree, through the library.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holon_core::Access;
use holon_git::Git;
use holon_sandbox::diff;
use holon_sandbox::isolation::{Launcher, PayloadIdentity};
use holon_sandbox::snapshot::{self, SnapshotRequest, SnapshotStrategyChoice};

use crate::BenchFailure;
use crate::sandbox::{StartFolder, finish, settle};
use crate::tree::{BenchTree, CHANGED};

/// What [`Cycle::turn`] times, in this order; the last is the sum.
pub(crate) const PARTS: [&str; 4] = ["snapshot", "launch and payload", "collect and patch", "together"];

/// Does it again and again on one tree.
pub(crate) struct Cycle {
    launcher: Launcher,
    git: Git,
    tree: BenchTree,
    folder: PathBuf,
    script: String,
    count: u32,
}

impl Cycle {
    /// `holon` becomes the launcher; `folder` is for the run's files.
    pub(crate) fn new(holon: &Path, tree: BenchTree, folder: &Path) -> Result<Self, BenchFailure> {
        Ok(Self {
            launcher: Launcher::at(holon),
            git: Git::find().map_err(|e| e.to_string())?,
            script: change(&tree),
            tree,
            folder: folder.to_owned(),
            count: 0,
        })
    }

    /// One time for each of [`PARTS`].
    pub(crate) fn turn(&mut self) -> Result<Vec<Duration>, BenchFailure> {
        self.count += 1;
        let name = format!("bench{}-{}", std::process::id(), self.count);
        let identity = PayloadIdentity::for_run(&name);
        let run = StartFolder::prepare(&self.folder.join(&name), &identity)?;
        let temp = run.folder.join("temp");
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&temp)
            .map_err(|e| format!("cannot make {}: {e}", temp.display()))?;

        let start = Instant::now();
        let warm = self.launcher.warm(&run.ground(&name)).map_err(|e| e.to_string())?;
        let request = SnapshotRequest {
            workspace: &self.tree.path,
            run_dir: &run.folder,
            access: &Access::ReadWrite,
            hide: &[],
            strategy: SnapshotStrategyChoice::Overlay,
            overlay_works: true,
            payload_uid: identity.owner(),
        };
        let snapshot = snapshot::take(&request).map_err(|e| e.to_string())?;
        let taken = Instant::now();
        let job = run.job(&name, snapshot.mounts(), &["/bin/sh", "-c", &self.script]);
        finish(warm.start(&job).map_err(|e| e.to_string())?)?;
        let ended = Instant::now();
        let options = diff::CollectOptions { git: &self.git, limits: diff::PatchLimits::default() };
        let changes = snapshot.changes(&options).map_err(|e| e.to_string())?;
        let patch = changes.patch(&self.git, &temp).map_err(|e| e.to_string())?;
        let done = Instant::now();
        settle();
        if patch.files != CHANGED as u64 {
            return Err(format!("the patch has {} files instead of {CHANGED}", patch.files));
        }
        Ok(vec![taken - start, ended - taken, done - ended, done - start])
    }
}

/// A shell script that adds a line to some files of the tree.
pub(crate) fn change(tree: &BenchTree) -> String {
    format!("for file in {}; do echo changed >> \"$file\" || exit 1; done", tree.changed().join(" "))
}
