//! Trees that checks run in: the workspace with what the run delivers and nothing else the agent left, each with a home
//! and caches of its own. So no check can be steered from outside of the patch, and nothing a check writes gets into it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::mem::swap;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use holon_checks::as_it_was::FileContent;
use holon_checks::definition::is_documentation;
use holon_checks::{BaseTree, CheckDefinitions, CheckImpact, PlacedContent, RevisedFile, as_it_was};
use holon_sandbox::diff::{CollectedChanges, ContentLocation, PathChange, PathVersion};
use holon_sandbox::host_mounts::HostMounts;
use holon_sandbox::isolation::{PayloadIdentity, SandboxJob};
use holon_sandbox::mount::MountSource;
use holon_sandbox::snapshot::{PlantedFile, SnapshotStrategy, SnapshotStrategyChoice, WorkspaceSnapshot};

use super::check_reports::ReportStamps;
use super::snapshot::{RunStage, give};
use super::{ActiveRun, environment};
use crate::error::HostError;

/// Longer files are put back whole or left alone.
const TEXT: u64 = 1 << 20;

/// Which tree a check runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TreeKind {
    /// What the run delivers.
    Result,
    /// The workspace before it.
    Base,
    /// What it delivers, with what defines checks from before it.
    AsItWas,
}

impl TreeKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Base => "base",
            Self::AsItWas => "as-it-was",
        }
    }
}

/// A tree that is there, ready to be seen by a check.
pub(super) struct CheckTree {
    snapshot: WorkspaceSnapshot,
    exposed: HostMounts,
    home: PathBuf,
    /// Reports that are in it already.
    pub(super) seen: ReportStamps,
}

impl CheckTree {
    /// Puts this tree where a job finds the agent's, or takes it away again.
    fn exchange(&mut self, stage: &mut RunStage) {
        swap(&mut self.snapshot, &mut stage.snapshot);
        swap(&mut self.exposed, &mut stage.exposed);
        swap(&mut self.home, &mut stage.home);
    }

    /// What it is made of.
    pub(super) fn snapshot(&self) -> &WorkspaceSnapshot {
        &self.snapshot
    }

    /// Makes it mountable once more, in a job that was made for it.
    pub(super) fn renew(&mut self, job: &mut SandboxJob) -> Result<(), HostError> {
        self.snapshot.renew()?;
        for mount in self.snapshot.mounts() {
            if let Some(known) = job.mounts.iter_mut().find(|known| known.at == mount.at) {
                known.source = mount.source;
            }
        }
        for mount in &mut self.exposed.mounts {
            if let MountSource::Overlay(overlay) = &mut mount.source {
                let path = overlay.work.clone().unwrap_or_default();
                overlay.renew(job.identity.owner()).map_err(HostError::io("renew", &path))?;
            }
        }
        environment::renew_home(&self.home, &job.identity)
    }

    /// Does something with a stage on which this tree is seen.
    pub(super) fn on<T>(&mut self, stage: &mut RunStage, work: impl FnOnce(&mut RunStage) -> T) -> T {
        self.exchange(stage);
        let done = work(stage);
        self.exchange(stage);
        done
    }
}

/// What a change is to its checks.
pub(super) struct CheckedChange<'a> {
    entries: Vec<CheckedEntry<'a>>,
    /// The tree that snapshots are taken of: the one before the change, or the one with it.
    ground: TreeKind,
    pub(super) as_it_was: CheckImpact,
    /// What defines the checks, touched or not.
    pub(super) definitions: CheckDefinitions,
}

/// One path of a change.
struct CheckedEntry<'a> {
    path: PathBuf,
    base: Option<CheckedContent<'a>>,
    result: Option<CheckedContent<'a>>,
}

impl<'a> CheckedEntry<'a> {
    /// What stands at its path in a tree; a text takes the place of the bytes.
    fn in_tree<'s>(
        &'s self,
        kind: TreeKind,
        put: Option<&'s PlacedContent>,
    ) -> (Option<&'s CheckedContent<'a>>, Option<&'s String>) {
        let (base, result) = (self.base.as_ref(), self.result.as_ref());
        match (kind, put) {
            (TreeKind::Base, _) | (_, Some(PlacedContent::Base)) => (base, None),
            (_, None) => (result, None),
            (_, Some(PlacedContent::Absent)) => (None, None),
            (_, Some(PlacedContent::Text(text))) => (result.or(base), Some(text)),
        }
    }

    fn differs(&self) -> bool {
        match (&self.base, &self.result) {
            (None, None) => false,
            (Some(CheckedContent::Symlink(base)), Some(CheckedContent::Symlink(result))) => base != result,
            (
                Some(base @ CheckedContent::File { exec, .. }),
                Some(result @ CheckedContent::File { exec: after, .. }),
            ) => exec != after || base.text() == FileContent::Opaque || base.text() != result.text(),
            _ => true,
        }
    }
}

/// What is at a path.
enum CheckedContent<'a> {
    File {
        exec: bool,
        size: u64,
        bytes: CheckedBytes<'a>,
    },
    Symlink(Vec<u8>),
    /// A submodule: nothing that could be laid.
    Elsewhere,
}

/// Where the bytes of a file are.
enum CheckedBytes<'a> {
    Of(&'a CollectedChanges, &'a ContentLocation),
    At(PathBuf),
}

impl CheckedBytes<'_> {
    fn open(&self) -> io::Result<File> {
        match self {
            Self::Of(changes, place) => changes.open(place),
            Self::At(path) => {
                File::options().read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32).open(path)
            }
        }
    }
}

impl<'a> CheckedContent<'a> {
    fn of(changes: &'a CollectedChanges, side: &'a PathVersion) -> Self {
        match side {
            PathVersion::File { exec, size, place } => {
                Self::File { exec: *exec, size: *size, bytes: CheckedBytes::Of(changes, place) }
            }
            PathVersion::Symlink { target } => Self::Symlink(target.clone()),
            PathVersion::Gitlink { .. } => Self::Elsewhere,
        }
    }

    /// What is at a place of a tree; nothing where there is nothing a patch could hold.
    fn at(path: PathBuf) -> Option<Self> {
        let meta = fs::symlink_metadata(&path).ok()?;
        if meta.is_symlink() {
            return fs::read_link(&path).ok().map(|target| Self::Symlink(target.into_os_string().into_vec()));
        }
        let exec = meta.permissions().mode() & 0o100 != 0;
        meta.is_file().then_some(Self::File { exec, size: meta.len(), bytes: CheckedBytes::At(path) })
    }

    /// Its text, where it is one that is worth looking at.
    fn text(&self) -> FileContent {
        let Self::File { size, bytes, .. } = self else { return FileContent::Opaque };
        let mut read = Vec::new();
        let whole =
            *size <= TEXT && bytes.open().and_then(|file| file.take(TEXT).read_to_end(&mut read)).is_ok();
        let text = if whole { String::from_utf8(read).ok() } else { None };
        text.map_or(FileContent::Opaque, FileContent::Text)
    }
}

impl<'a> CheckedChange<'a> {
    /// A change that was collected from an agent's layers.
    pub(super) fn of(changes: Option<&'a CollectedChanges>, workspace: &Path, commands: &[String]) -> Self {
        let entry = |changes: &'a CollectedChanges, change: &'a PathChange| CheckedEntry {
            path: change.path.clone(),
            base: change.base.as_ref().map(|side| CheckedContent::of(changes, side)),
            result: change.result.as_ref().map(|side| CheckedContent::of(changes, side)),
        };
        let entries = changes.map(|all| all.entries.iter().map(|change| entry(all, change)).collect());
        Self::new(entries.unwrap_or_default(), TreeKind::Base, workspace, commands)
    }

    /// What differs between two trees at these paths.
    pub(super) fn between(
        base: &Path,
        result: &Path,
        paths: &[PathBuf],
        commands: &[String],
    ) -> CheckedChange<'static> {
        let entry = |path: &PathBuf| CheckedEntry {
            path: path.clone(),
            base: CheckedContent::at(base.join(path)),
            result: CheckedContent::at(result.join(path)),
        };
        let mut entries: Vec<CheckedEntry<'static>> = paths.iter().map(entry).collect();
        entries.retain(CheckedEntry::differs);
        CheckedChange::new(entries, TreeKind::Result, base, commands)
    }

    fn new(entries: Vec<CheckedEntry<'a>>, ground: TreeKind, base: &Path, commands: &[String]) -> Self {
        let files: Vec<RevisedFile> = entries
            .iter()
            .map(|entry| RevisedFile {
                path: entry.path.to_string_lossy().into_owned(),
                base: entry.base.as_ref().map(CheckedContent::text),
                result: entry.result.as_ref().map(CheckedContent::text),
            })
            .collect();
        let before: BTreeMap<&str, &RevisedFile> =
            files.iter().map(|file| (file.path.as_str(), file)).collect();
        let read_base = |path: &str| match before.get(path) {
            Some(file) => match &file.base {
                Some(FileContent::Text(text)) => Some(text.clone()),
                _ => None,
            },
            None => crate::modes::read_bounded(&base.join(path)).ok(),
        };
        let has_folder = |folder: &str| base.join(folder).is_dir();
        let paths = || super::check_paths::of(base);
        let tree = BaseTree { text: &read_base, has_folder: &has_folder, paths: &paths };
        let as_it_was = as_it_was(&files, commands, &tree);
        let definitions = CheckDefinitions::of_commands(commands, &read_base);
        Self { entries, ground, as_it_was, definitions }
    }

    /// Whether the run's workspace is the tree before the change, and not the one with it.
    pub(super) fn begins_at_workspace(&self) -> bool {
        self.ground == TreeKind::Base
    }

    /// Whether there is a change at all.
    pub(super) fn is_some(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Whether it changes documentation and nothing else.
    pub(super) fn is_documentation(&self) -> bool {
        let prose = |entry: &CheckedEntry<'_>| is_documentation(&entry.path.to_string_lossy());
        self.is_some() && self.entries.iter().all(prose)
    }

    /// Whether the change holds a path.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.path == Path::new(path))
    }

    /// The bytes that were laid at a path of a tree; nothing where nothing was. `ground` is what the tree was taken of.
    pub(super) fn laid(&self, kind: TreeKind, ground: &Path, path: &str) -> Option<Vec<u8>> {
        let entry = self.entries.iter().find(|entry| entry.path == Path::new(path));
        let Some(entry) = entry.filter(|_| kind != self.ground) else {
            return fs::read(ground.join(path)).ok();
        };
        let put = self.as_it_was.placements.iter().find(|one| one.path == path).map(|one| &one.put);
        match entry.in_tree(kind, put.filter(|_| kind == TreeKind::AsItWas)) {
            (_, Some(text)) => Some(text.clone().into_bytes()),
            (Some(CheckedContent::File { bytes, .. }), None) => {
                let mut read = Vec::new();
                bytes.open().and_then(|mut file| file.read_to_end(&mut read)).ok().map(|_| read)
            }
            _ => None,
        }
    }

    /// Puts the change into a fresh snapshot; holes first, so that nothing stands where a folder has to be.
    pub(super) fn lay(&self, snapshot: &WorkspaceSnapshot, kind: TreeKind) -> Result<(), HostError> {
        if kind == self.ground {
            return Ok(());
        }
        let placements = if kind == TreeKind::AsItWas { self.as_it_was.placements.as_slice() } else { &[] };
        let placed: BTreeMap<&str, &PlacedContent> =
            placements.iter().map(|one| (one.path.as_str(), &one.put)).collect();
        for holes in [true, false] {
            for entry in &self.entries {
                let put = placed.get(entry.path.to_string_lossy().as_ref()).copied();
                let (content, text) = entry.in_tree(kind, put);
                if content.is_none() == holes {
                    lay_one(snapshot, &entry.path, content, text)?;
                }
            }
        }
        Ok(())
    }
}

/// Puts a path back as it is in the workspace.
pub(super) fn lay_original(
    snapshot: &WorkspaceSnapshot,
    workspace: &Path,
    path: &Path,
) -> Result<(), HostError> {
    lay_one(snapshot, path, CheckedContent::at(workspace.join(path)).as_ref(), None)
}

fn lay_one(
    snapshot: &WorkspaceSnapshot,
    path: &Path,
    content: Option<&CheckedContent<'_>>,
    text: Option<&String>,
) -> Result<(), HostError> {
    match (content, text) {
        (None, _) => snapshot.lay(path, PlantedFile::Nothing)?,
        (Some(CheckedContent::File { exec, .. }), Some(text)) => {
            snapshot.lay(path, PlantedFile::File { exec: *exec, content: &mut text.as_bytes() })?;
        }
        (Some(CheckedContent::File { exec, bytes, .. }), None) => {
            let mut content = bytes.open().map_err(HostError::io("read", path))?;
            snapshot.lay(path, PlantedFile::File { exec: *exec, content: &mut content })?;
        }
        (Some(CheckedContent::Symlink(target)), _) => snapshot.lay(path, PlantedFile::Symlink { target })?,
        (Some(CheckedContent::Elsewhere), _) => {}
    }
    Ok(())
}

impl ActiveRun<'_> {
    /// Makes a tree for checks. Nothing the agent wrote is in it but what `change` holds.
    pub(super) fn check_tree(
        &mut self,
        stage: &RunStage,
        change: &CheckedChange<'_>,
        kind: TreeKind,
        number: usize,
    ) -> Result<CheckTree, HostError> {
        let layers = self.folder.layers().join(format!("checks-{}-{number}", kind.name()));
        let tree = self.check_tree_in(&layers, stage, &stage.identity)?;
        change.lay(&tree.snapshot, kind)?;
        Ok(tree)
    }

    /// The workspace as it is, below a folder and for somebody.
    pub(super) fn check_tree_in(
        &self,
        layers: &Path,
        stage: &RunStage,
        identity: &PayloadIdentity,
    ) -> Result<CheckTree, HostError> {
        let home = layers.join("home");
        for folder in [layers, &home] {
            fs::create_dir(folder).map_err(HostError::io("create", folder))?;
        }
        give(&home, identity)?;
        let choice = match stage.snapshot.strategy() {
            SnapshotStrategy::Reflink => SnapshotStrategyChoice::Reflink,
            SnapshotStrategy::Copy => SnapshotStrategyChoice::Copy,
            _ => self.plan.snapshot,
        };
        let snapshot = self.snapshot_in(layers, stage.backend.as_ref(), identity, choice)?;
        self.furnish_home(&home, &snapshot, identity)?;
        let exposed = self.expose_in(layers, &snapshot, identity, stage.backend.overlays())?;
        Ok(CheckTree { snapshot, exposed, home, seen: ReportStamps::new() })
    }
}
