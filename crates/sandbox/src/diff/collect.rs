//! From what a scan found to the list of real changes: contents compared, scope and base checked.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use holon_core::Access;
use holon_core::scope::WriteScope;
use holon_git::{ObjectFormat, Repository, tracked};

use super::ignored::BaseIgnoreRules;
use super::origin::OverlayXattrPrefix;
use super::original::ChangeBases;
use super::scan_base::{ResultSource, ScanBase, ScanFindings, paths};
use super::{
    CollectOptions, CollectedChanges, ContentLocation, ContentRoot, ContentRoots, DiffError, PatchLimits,
    PathChange, PathVersion, copied, overlay,
};
use crate::snapshot::tree::{OpenTree, TreeEntryKind, bytes, path_of};
use crate::snapshot::{CopyIndex, FileStat, SkipReason, SkippedPath, WorkspaceSnapshot};

enum SnapshotScan<'a> {
    Overlay(overlay::OverlayScan<'a>),
    Copied(copied::CopyScan<'a>),
}

pub(crate) fn changes(
    snapshot: &WorkspaceSnapshot,
    options: &CollectOptions<'_>,
) -> Result<CollectedChanges, DiffError> {
    let open = |path| OpenTree::open(path).map_err(DiffError::io("open", path));
    let workspace = snapshot.workspace();
    let repository = Repository::look(workspace)?.repository;
    let format = if snapshot.base().sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
    let Some(written) = snapshot.written().filter(|_| snapshot.access().writable()) else {
        return Ok(nothing(format));
    };
    let ground = ScanBase {
        base: open(workspace)?,
        written: open_written(written)?,
        hidden: snapshot.hidden().iter().map(|path| bytes(path).to_vec()).collect(),
        environment: snapshot.environment().iter().map(|path| bytes(path).to_vec()).collect(),
        rules: BaseIgnoreRules::of(repository.as_ref())
            .map_err(DiffError::io("read the ignore rules of", workspace))?,
        limits: options.limits,
        format,
    };
    let mut scan = match snapshot.copy() {
        Some(_) => {
            let path = snapshot.index_path();
            let index = CopyIndex::load(&path).map_err(DiffError::io("read", path))?;
            let started = snapshot.started();
            SnapshotScan::Copied(copied::CopyScan {
                ground: &ground,
                git: snapshot.git_view(),
                index,
                started,
            })
        }
        None => SnapshotScan::Overlay(overlay::OverlayScan {
            ground: &ground,
            prefix: if snapshot.by_root() { OverlayXattrPrefix::Trusted } else { OverlayXattrPrefix::User },
            git: snapshot.git_view(),
            started: snapshot.started(),
        }),
    };
    let mut found = match &mut scan {
        SnapshotScan::Overlay(scan) => scan.run()?,
        SnapshotScan::Copied(scan) => scan.run()?,
    };
    if let Some(repository) = &repository {
        add_tracked(&scan, repository, options, &mut found)?;
    }
    let scope = match snapshot.access() {
        Access::Scoped { write } => Some(WriteScope::new(write)?),
        _ => None,
    };
    let bases = ChangeBases::of(snapshot, options.git, repository.as_ref())?;
    let originals = bases.are_kept();
    let has_moved = |path: &[u8]| match &scan {
        SnapshotScan::Copied(scan) => scan.base_moved(path),
        SnapshotScan::Overlay(scan) => scan.base_moved(path, originals),
    };
    let moved = std::mem::take(&mut found.moved);
    let mut sifted =
        SiftedChanges { changes: nothing(format), bytes: 0, moved, bases: &bases, has_moved: &has_moved };
    for (path, placed) in &found.placed {
        sifted.add(&ground, path, placed, scope.as_ref())?;
    }
    let (changes, moved) = (sifted.changes, sifted.moved);
    Ok(finish(changes, moved, bases, ground, found))
}

/// The payload may have closed its own root directory; it is the host's again.
fn open_written(path: &Path) -> Result<OpenTree, DiffError> {
    let failed = || DiffError::io("open", path);
    match OpenTree::open(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed())?;
            OpenTree::open(path).map_err(failed())
        }
        opened => opened.map_err(failed()),
    }
}

fn nothing(format: ObjectFormat) -> CollectedChanges {
    CollectedChanges {
        entries: Vec::new(),
        out_of_scope: Vec::new(),
        hidden: Vec::new(),
        ignored: 0,
        skipped: Vec::new(),
        moved: Vec::new(),
        unknown: Vec::new(),
        replaced: Vec::new(),
        format,
        roots: None,
    }
}

/// Ignore rules say nothing about files git tracks: those belong to the patch after all.
fn add_tracked(
    scan: &SnapshotScan<'_>,
    repository: &Repository,
    options: &CollectOptions<'_>,
    found: &mut ScanFindings,
) -> Result<(), DiffError> {
    if found.unsure.is_empty() {
        return Ok(());
    }
    let unsure: Vec<_> = found.unsure.iter().map(|path| path_of(path)).collect();
    for (path, (mode, _)) in tracked::below(options.git, repository, &unsure)? {
        if mode == 0o160_000 {
            continue;
        }
        let path = bytes(&path).to_vec();
        let placed = match scan {
            SnapshotScan::Overlay(scan) => scan.locate(&path)?,
            SnapshotScan::Copied(scan) => scan.locate(&path)?,
        };
        found.ignored.remove(&path);
        found.placed.entry(path).or_insert(placed);
    }
    Ok(())
}

struct SiftedChanges<'a> {
    changes: CollectedChanges,
    bytes: u64,
    moved: BTreeSet<Vec<u8>>,
    bases: &'a ChangeBases<'a>,
    has_moved: &'a dyn Fn(&[u8]) -> Result<bool, DiffError>,
}

/// What a path was when the agent began.
enum BaseSide {
    Known(Option<PathVersion>),
    Unknown,
}

impl SiftedChanges<'_> {
    fn add(
        &mut self,
        ground: &ScanBase,
        path: &[u8],
        placed: &ResultSource,
        scope: Option<&WriteScope>,
    ) -> Result<(), DiffError> {
        let (base, moved) = self.base(ground, path)?;
        let result = match placed {
            ResultSource::Absent => None,
            // Moved there with its folder, so it is what it was.
            ResultSource::Base(at) => match self.base(ground, at)?.0 {
                BaseSide::Known(side) => side,
                BaseSide::Unknown => {
                    side(&ground.base, ContentRoot::Base, at).map_err(ground.base_error(at))?
                }
            },
            ResultSource::Written(at) => {
                side(&ground.written, ContentRoot::Written, at).map_err(ground.written_error(at))?
            }
            ResultSource::Gitlink(id) => Some(PathVersion::Gitlink { id: id.clone() }),
        };
        let (base, known) = match base {
            BaseSide::Known(base) => (base, true),
            BaseSide::Unknown => {
                (side(&ground.base, ContentRoot::Base, path).map_err(ground.base_error(path))?, false)
            }
        };
        match same(ground, self.bases, base.as_ref(), result.as_ref()) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                self.changes.skipped.push(SkippedPath { path: path_of(path), why: SkipReason::Unreadable });
                return Ok(());
            }
            Err(e) => return Err(ground.written_error(path)(e)),
        }
        if moved {
            self.moved.insert(path.to_vec());
        }
        if scope.is_some_and(|scope| !scope.allows(path)) {
            self.changes.out_of_scope.push(path_of(path));
            return Ok(());
        }
        self.weigh(&result, path, ground.limits)?;
        let change = PathChange { path: path_of(path), base, result };
        if known {
            self.changes.entries.push(change)
        } else {
            self.changes.unknown.push(change)
        }
        Ok(())
    }

    /// What was at a path when the agent began, and whether it is something else now.
    fn base(&self, ground: &ScanBase, path: &[u8]) -> Result<(BaseSide, bool), DiffError> {
        let now = side(&ground.base, ContentRoot::Base, path).map_err(ground.base_error(path))?;
        let suspect = self.moved.contains(path) || (self.has_moved)(path)?;
        if !suspect {
            return Ok((BaseSide::Known(now), false));
        }
        match self.bases.original(path)? {
            Some(Some(None)) if now.is_none() => Ok((BaseSide::Known(None), false)),
            Some(Some(original)) => Ok((BaseSide::Known(original), true)),
            Some(None) => Ok((BaseSide::Unknown, true)),
            // Nobody keeps originals here: what is there now counts.
            None => Ok((BaseSide::Known(now), true)),
        }
    }

    fn weigh(
        &mut self,
        result: &Option<PathVersion>,
        path: &[u8],
        limits: PatchLimits,
    ) -> Result<(), DiffError> {
        if let Some(PathVersion::File { size, .. }) = result {
            self.bytes = self.bytes.saturating_add(*size);
        }
        if self.bytes > limits.bytes {
            return Err(DiffError::TooLarge { limit: limits.bytes, path: path_of(path) });
        }
        Ok(())
    }
}

fn finish(
    mut changes: CollectedChanges,
    moved: BTreeSet<Vec<u8>>,
    bases: ChangeBases<'_>,
    ground: ScanBase,
    found: ScanFindings,
) -> CollectedChanges {
    changes.hidden = paths(found.hidden);
    changes.ignored = found.ignored.len() as u64;
    changes.skipped.extend(found.skipped);
    // What somebody else removed, and the agent did not touch, is nobody's concern.
    let touched = |path: &Vec<u8>| {
        let is = |change: &PathChange| bytes(&change.path) == path.as_slice();
        changes.entries.iter().any(is) || changes.unknown.iter().any(is)
    };
    changes.moved = paths(moved.into_iter().filter(|path| !bases.are_kept() || touched(path)));
    changes.replaced = found.replaced;
    changes.roots =
        Some(ContentRoots { base: ground.base, written: ground.written, kept: bases.into_root() });
    changes
}

/// What is at a path, as far as a patch can say it.
fn side(root: &OpenTree, place: ContentRoot, path: &[u8]) -> io::Result<Option<PathVersion>> {
    let Some(meta) = root.look(path)? else { return Ok(None) };
    Ok(match meta.kind {
        TreeEntryKind::File => {
            let seen = (place == ContentRoot::Base).then(|| FileStat::from(&meta));
            let place = ContentLocation { root: place, path: path.to_vec(), seen };
            Some(PathVersion::File { exec: meta.is_exec(), size: meta.size, place })
        }
        TreeEntryKind::Symlink => Some(PathVersion::Symlink { target: root.read_link(path)? }),
        TreeEntryKind::Dir | TreeEntryKind::Whiteout | TreeEntryKind::Special => None,
    })
}

fn same(
    ground: &ScanBase,
    bases: &ChangeBases<'_>,
    base: Option<&PathVersion>,
    result: Option<&PathVersion>,
) -> io::Result<bool> {
    let open = |place: &ContentLocation| match place.root {
        ContentRoot::Base => ground.base.open_file(&place.path),
        ContentRoot::Written => ground.written.open_file(&place.path),
        ContentRoot::Kept => bases.open(&place.path),
    };
    match (base, result) {
        (
            Some(PathVersion::File { exec, size, place }),
            Some(PathVersion::File { exec: result_exec, size: result_size, place: result_place }),
        ) => {
            let (mut one, mut other) = (open(place)?, open(result_place)?);
            Ok(exec == result_exec
                && size == result_size
                && (place == result_place || equal(&mut one, &mut other)?))
        }
        // Whoever deletes a file must be able to say what was in it.
        (Some(PathVersion::File { place, .. }), _) => open(place).map(|_| false),
        (base, result) => Ok(base == result),
    }
}

pub(crate) fn equal(one: &mut impl Read, other: &mut impl Read) -> io::Result<bool> {
    let (mut a, mut b) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let n = fill(one, &mut a)?;
        if n != fill(other, &mut b)? || a[..n] != b[..n] {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
    }
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
