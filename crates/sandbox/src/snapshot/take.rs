//! Taking a snapshot: directories made, nothing mounted, the original only read.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::Access;
use holon_core::scope::{EnclosingFolders, WriteScope};
use holon_git::Repository;
use holon_git::repo::{RepositoryLookup, UnfinishedOperation};

use super::copy::{self, CopyPlan};
use super::layers::{self, OverlayFolders};
use super::remove::remove_tree;
use super::tree::{OpenTree, bytes, path_of};
use super::{
    FileTimestamp, ScopedWrites, SnapshotBase, SnapshotError, SnapshotStrategy, SnapshotStrategyChoice,
    WorkspaceSnapshot, gitview,
};

/// What to take a snapshot of, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotRequest<'a> {
    /// The directory the user works in.
    pub workspace: &'a Path,
    /// Where the run keeps its files: existing, private, not inside the workspace's view.
    pub run_dir: &'a Path,
    /// What the agent may do.
    pub access: &'a Access,
    /// Paths relative to the workspace that the agent must not see.
    pub hide: &'a [PathBuf],
    /// Which way to make it.
    pub strategy: SnapshotStrategyChoice,
    /// Whether the walls can mount an overlay with its writes in `run_dir`.
    pub overlay_works: bool,
    /// Who shall own what the agent writes to; only root can and must say.
    pub payload_uid: Option<(u32, u32)>,
}

/// Prepares a snapshot below `run_dir/snapshot`; on failure nothing is left there.
pub fn take(request: &SnapshotRequest<'_>) -> Result<WorkspaceSnapshot, SnapshotError> {
    let workspace =
        fs::canonicalize(request.workspace).map_err(SnapshotError::unreadable(request.workspace))?;
    let base = OpenTree::open(&workspace).map_err(SnapshotError::unreadable(&workspace))?;
    let dir = request.run_dir.join("snapshot");
    tracing::debug!(workspace = %workspace.display(), to = %dir.display(), "takes a snapshot");
    fs::create_dir(&dir).map_err(SnapshotError::io("create", &dir))?;
    prepare(request, workspace, &base, &dir).inspect_err(|_| {
        let _ = remove_tree(&dir);
    })
}

fn prepare(
    request: &SnapshotRequest<'_>,
    workspace: PathBuf,
    root: &OpenTree,
    dir: &Path,
) -> Result<WorkspaceSnapshot, SnapshotError> {
    let found = Repository::look(&workspace)?;
    let hidden = hidden(request.hide)?;
    let mut exists = false;
    for path in &hidden {
        exists |=
            root.look(path).map_err(SnapshotError::io("look at", root.path().join(path_of(path))))?.is_some();
    }
    let elsewhere = found.repository.as_ref().filter(|r| gitview::is_elsewhere(r));
    let writable = request.access.writable();
    let veiled = exists || elsewhere.is_some();
    let strategy = SnapshotStrategy::choose(request.strategy, request.overlay_works, writable, veiled)?;
    let owner = request.payload_uid;
    let mut snapshot = WorkspaceSnapshot {
        dir: dir.to_owned(),
        strategy,
        access: request.access.clone(),
        hidden: hidden.iter().map(|path| path_of(path)).collect(),
        scoped: None,
        layers: OverlayFolders::over(workspace.clone()),
        workspace,
        copy: None,
        git: None,
        started: FileTimestamp::default(),
        base: describe(&found),
        skipped: Vec::new(),
        generation: 0,
        owner,
        environment: Vec::new(),
    };
    if let Some(repository) = elsewhere {
        snapshot.git = Some(gitview::prepare(repository, dir, strategy, writable, owner)?);
    }
    let dot_git = elsewhere.map(gitview::dot_git);
    let marker = dir.join("started");
    let moment = || FileTimestamp::now(&marker).map_err(SnapshotError::io("write", &marker));
    let before =
        matches!(strategy, SnapshotStrategy::Reflink | SnapshotStrategy::Copy).then(moment).transpose()?;
    match strategy {
        // Never the bare directory: through a merged view the host's sockets, FIFOs and locks cannot be reached.
        SnapshotStrategy::ReadOnly => snapshot.layers.veil = Some(veil(dir, root, &[], None)?),
        SnapshotStrategy::Overlay => {
            if veiled {
                snapshot.layers.veil = Some(veil(dir, root, &hidden, dot_git.as_deref())?);
            }
            if writable {
                snapshot.layers.make_writable(dir, "", owner)?;
            }
        }
        SnapshotStrategy::Reflink | SnapshotStrategy::Copy => {
            copied(&mut snapshot, &hidden, dot_git.as_deref())?
        }
    }
    scope(&mut snapshot, root)?;
    // What is saved while a copy is made may be in it or not, so a copy began before its first file. The later moment is
    // waited for all the same: whatever changes from now on has another time than what was copied.
    let ready = moment()?;
    snapshot.started = before.unwrap_or(ready);
    Ok(snapshot)
}

/// Hidden paths in their clean form, none inside another. Also those that do not exist: what the agent puts
/// there is not for anyone to see either.
fn hidden(hide: &[PathBuf]) -> Result<Vec<Vec<u8>>, SnapshotError> {
    let mut paths = hide.iter().map(|path| layers::clean(path)).collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    paths.dedup();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for path in paths {
        let covered =
            kept.iter().any(|above| path.starts_with(above) && path.get(above.len()) == Some(&b'/'));
        if !covered {
            kept.push(path);
        }
    }
    Ok(kept)
}

fn describe(found: &RepositoryLookup) -> SnapshotBase {
    let mut base = SnapshotBase { notes: found.warnings.clone(), ..SnapshotBase::default() };
    let Some(repository) = &found.repository else { return base };
    base.is_git = true;
    base.commit = repository.head.commit().map(str::to_owned);
    base.branch = match &repository.head {
        holon_git::refs::RepositoryHead::Commit { branch, .. } => branch.clone(),
        holon_git::refs::RepositoryHead::Unborn { branch } => Some(branch.clone()),
        holon_git::refs::RepositoryHead::Unknown => None,
    };
    base.sha256 = repository.format == holon_git::ObjectFormat::Sha256;
    if repository.sparse {
        base.notes.push("the checkout is sparse: the agent sees only what is checked out".into());
    }
    let unfinished = repository.unfinished.map(|what| match what {
        UnfinishedOperation::Merge => "a merge",
        UnfinishedOperation::Rebase => "a rebase",
        UnfinishedOperation::CherryPick => "a cherry-pick",
        UnfinishedOperation::Revert => "a revert",
        UnfinishedOperation::Bisect => "a bisection",
    });
    base.notes.extend(unfinished.map(|what| format!("{what} is in progress in this repository")));
    if !repository.is_toplevel() {
        let top = repository.toplevel.display();
        base.notes
            .push(format!("the workspace is part of the repository at {top}: git does not work inside"));
    }
    base
}

fn veil(
    dir: &Path,
    root: &OpenTree,
    hidden: &[Vec<u8>],
    dot_git: Option<&[u8]>,
) -> Result<PathBuf, SnapshotError> {
    let veil = dir.join("veil");
    fs::create_dir(&veil).map_err(SnapshotError::io("create", &veil))?;
    for path in hidden {
        layers::hide(&veil, root, path)?;
    }
    if let Some(text) = dot_git {
        let path = layers::below(&veil, b".git");
        fs::write(&path, text).map_err(SnapshotError::io("write", path))?;
    }
    Ok(veil)
}

fn copied(
    snapshot: &mut WorkspaceSnapshot,
    hidden: &[Vec<u8>],
    dot_git: Option<&[u8]>,
) -> Result<(), SnapshotError> {
    let to = snapshot.dir.join("tree");
    fs::create_dir(&to).map_err(SnapshotError::io("create", &to))?;
    let index = snapshot.index_path();
    // Anything of the run itself that happens to lie inside the workspace is not part of it.
    let own = snapshot.dir.strip_prefix(&snapshot.workspace).ok().map(|path| bytes(path).to_vec());
    let without: Vec<Vec<u8>> = hidden.iter().cloned().chain(own).collect();
    let done = copy::tree(&CopyPlan {
        from: &snapshot.workspace,
        to: &to,
        index: Some(&index),
        without: &without,
        owner: snapshot.owner,
        reflink: snapshot.strategy == SnapshotStrategy::Reflink,
    })?;
    if let Some(text) = dot_git {
        let path = to.join(".git");
        fs::write(&path, text).map_err(SnapshotError::io("write", path))?;
    }
    if snapshot.strategy == SnapshotStrategy::Reflink && !done.reflinked {
        snapshot.strategy = SnapshotStrategy::Copy;
    }
    snapshot.skipped = done.skipped;
    snapshot.copy = Some(to);
    Ok(())
}

/// Finds the directories of a write scope and makes those that are missing, so that they can be mounted.
fn scope(snapshot: &mut WorkspaceSnapshot, root: &OpenTree) -> Result<(), SnapshotError> {
    let Access::Scoped { write } = &snapshot.access else { return Ok(()) };
    let EnclosingFolders::Directories(dirs) = WriteScope::new(write)?.directories() else { return Ok(()) };
    let layer = snapshot.written().map(Path::to_owned).unwrap_or_default();
    let mut scoped = ScopedWrites { dirs: Vec::new() };
    for dir in dirs {
        let at = layer.join(&dir);
        let hidden = snapshot.hidden.iter().any(|path| Path::new(&dir).starts_with(path));
        let exists = root
            .look(dir.as_bytes())
            .map_err(SnapshotError::io("look at", &at))?
            .is_some_and(|meta| meta.is_dir());
        let make = || layers::mirror(&layer, root, dir.as_bytes(), snapshot.owner);
        if !hidden && (exists || make().map_err(SnapshotError::io("create", &at))?) {
            scoped.dirs.push(dir.into());
        } else {
            let note = format!("`{dir}` stays read-only: it is hidden, or a part of it is not a directory");
            snapshot.base.notes.push(note);
        }
    }
    snapshot.scoped = Some(scoped);
    Ok(())
}
