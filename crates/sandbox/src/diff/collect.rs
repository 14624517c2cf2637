//! From what a scan found to the list of real changes: contents compared, scope and base checked.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use holon_core::Access;
use holon_core::scope::WriteScope;
use holon_git::{ObjectFormat, Repository, tracked};

use super::ground::{Found, Ground, Placed, paths};
use super::ignored::Rules;
use super::origin::Prefix;
use super::original::Bases;
use super::{Change, Changes, Error, Limits, Options, Place, PlaceRoot, Roots, Side, copied, overlay};
use crate::snapshot::tree::{Kind, Root, bytes, path_of};
use crate::snapshot::{Index, Seen, Skipped, Snapshot, Why};

enum Scan<'a> {
    Overlay(overlay::Scan<'a>),
    Copied(copied::Scan<'a>),
}

pub(crate) fn changes(snapshot: &Snapshot, options: &Options<'_>) -> Result<Changes, Error> {
    let open = |path| Root::open(path).map_err(Error::io("open", path));
    let workspace = snapshot.workspace();
    let repository = Repository::look(workspace)?.repository;
    let format = if snapshot.base().sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
    let Some(written) = snapshot.written().filter(|_| snapshot.access().writable()) else {
        return Ok(nothing(format));
    };
    let ground = Ground {
        base: open(workspace)?,
        written: open_written(written)?,
        hidden: snapshot.hidden().iter().map(|path| bytes(path).to_vec()).collect(),
        rules: Rules::of(repository.as_ref()).map_err(Error::io("read the ignore rules of", workspace))?,
        limits: options.limits,
        format,
    };
    let mut scan = match snapshot.copy() {
        Some(_) => {
            let path = snapshot.index_path();
            let index = Index::load(&path).map_err(Error::io("read", path))?;
            let started = snapshot.started();
            Scan::Copied(copied::Scan { ground: &ground, git: snapshot.git_view(), index, started })
        }
        None => Scan::Overlay(overlay::Scan {
            ground: &ground,
            prefix: if snapshot.by_root() { Prefix::Trusted } else { Prefix::User },
            git: snapshot.git_view(),
            started: snapshot.started(),
        }),
    };
    let mut found = match &mut scan {
        Scan::Overlay(scan) => scan.run()?,
        Scan::Copied(scan) => scan.run()?,
    };
    if let Some(repository) = &repository {
        add_tracked(&scan, repository, options, &mut found)?;
    }
    let scope = match snapshot.access() {
        Access::Scoped { write } => Some(WriteScope::new(write)?),
        _ => None,
    };
    let bases = Bases::of(snapshot, options.git, repository.as_ref())?;
    let originals = bases.are_kept();
    let has_moved = |path: &[u8]| match &scan {
        Scan::Copied(scan) => scan.base_moved(path),
        Scan::Overlay(scan) => scan.base_moved(path, originals),
    };
    let moved = std::mem::take(&mut found.moved);
    let mut sifted =
        Sifted { changes: nothing(format), bytes: 0, moved, bases: &bases, has_moved: &has_moved };
    for (path, placed) in &found.placed {
        sifted.add(&ground, path, placed, scope.as_ref())?;
    }
    let (changes, moved) = (sifted.changes, sifted.moved);
    Ok(finish(changes, moved, bases, ground, found))
}

/// The payload may have closed its own root directory; it is the host's again.
fn open_written(path: &Path) -> Result<Root, Error> {
    let failed = || Error::io("open", path);
    match Root::open(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed())?;
            Root::open(path).map_err(failed())
        }
        opened => opened.map_err(failed()),
    }
}

fn nothing(format: ObjectFormat) -> Changes {
    Changes {
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
    scan: &Scan<'_>,
    repository: &Repository,
    options: &Options<'_>,
    found: &mut Found,
) -> Result<(), Error> {
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
            Scan::Overlay(scan) => scan.locate(&path)?,
            Scan::Copied(scan) => scan.locate(&path)?,
        };
        found.ignored.remove(&path);
        found.placed.entry(path).or_insert(placed);
    }
    Ok(())
}

struct Sifted<'a> {
    changes: Changes,
    bytes: u64,
    moved: BTreeSet<Vec<u8>>,
    bases: &'a Bases<'a>,
    has_moved: &'a dyn Fn(&[u8]) -> Result<bool, Error>,
}

/// What a path was when the agent began.
enum BaseSide {
    Known(Option<Side>),
    Unknown,
}

impl Sifted<'_> {
    fn add(
        &mut self,
        ground: &Ground,
        path: &[u8],
        placed: &Placed,
        scope: Option<&WriteScope>,
    ) -> Result<(), Error> {
        let (base, moved) = self.base(ground, path)?;
        let result = match placed {
            Placed::Absent => None,
            // Moved there with its folder, so it is what it was.
            Placed::Base(at) => match self.base(ground, at)?.0 {
                BaseSide::Known(side) => side,
                BaseSide::Unknown => {
                    side(&ground.base, PlaceRoot::Base, at).map_err(ground.base_error(at))?
                }
            },
            Placed::Written(at) => {
                side(&ground.written, PlaceRoot::Written, at).map_err(ground.written_error(at))?
            }
            Placed::Gitlink(id) => Some(Side::Gitlink { id: id.clone() }),
        };
        let (base, known) = match base {
            BaseSide::Known(base) => (base, true),
            BaseSide::Unknown => {
                (side(&ground.base, PlaceRoot::Base, path).map_err(ground.base_error(path))?, false)
            }
        };
        match same(ground, self.bases, base.as_ref(), result.as_ref()) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                self.changes.skipped.push(Skipped { path: path_of(path), why: Why::Unreadable });
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
        let change = Change { path: path_of(path), base, result };
        if known {
            self.changes.entries.push(change)
        } else {
            self.changes.unknown.push(change)
        }
        Ok(())
    }

    /// What was at a path when the agent began, and whether it is something else now.
    fn base(&self, ground: &Ground, path: &[u8]) -> Result<(BaseSide, bool), Error> {
        let now = side(&ground.base, PlaceRoot::Base, path).map_err(ground.base_error(path))?;
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

    fn weigh(&mut self, result: &Option<Side>, path: &[u8], limits: Limits) -> Result<(), Error> {
        if let Some(Side::File { size, .. }) = result {
            self.bytes = self.bytes.saturating_add(*size);
        }
        if self.bytes > limits.bytes {
            return Err(Error::TooLarge { limit: limits.bytes, path: path_of(path) });
        }
        Ok(())
    }
}

fn finish(
    mut changes: Changes,
    moved: BTreeSet<Vec<u8>>,
    bases: Bases<'_>,
    ground: Ground,
    found: Found,
) -> Changes {
    changes.hidden = paths(found.hidden);
    changes.ignored = found.ignored.len() as u64;
    changes.skipped.extend(found.skipped);
    // What somebody else removed, and the agent did not touch, is nobody's concern.
    let touched = |path: &Vec<u8>| {
        let is = |change: &Change| bytes(&change.path) == path.as_slice();
        changes.entries.iter().any(is) || changes.unknown.iter().any(is)
    };
    changes.moved = paths(moved.into_iter().filter(|path| !bases.are_kept() || touched(path)));
    changes.replaced = found.replaced;
    changes.roots = Some(Roots { base: ground.base, written: ground.written, kept: bases.into_root() });
    changes
}

/// What is at a path, as far as a patch can say it.
fn side(root: &Root, place: PlaceRoot, path: &[u8]) -> io::Result<Option<Side>> {
    let Some(meta) = root.look(path)? else { return Ok(None) };
    Ok(match meta.kind {
        Kind::File => {
            let seen = (place == PlaceRoot::Base).then(|| Seen::from(&meta));
            let place = Place { root: place, path: path.to_vec(), seen };
            Some(Side::File { exec: meta.is_exec(), size: meta.size, place })
        }
        Kind::Symlink => Some(Side::Symlink { target: root.read_link(path)? }),
        Kind::Dir | Kind::Whiteout | Kind::Special => None,
    })
}

fn same(ground: &Ground, bases: &Bases<'_>, base: Option<&Side>, result: Option<&Side>) -> io::Result<bool> {
    let open = |place: &Place| match place.root {
        PlaceRoot::Base => ground.base.open_file(&place.path),
        PlaceRoot::Written => ground.written.open_file(&place.path),
        PlaceRoot::Kept => bases.open(&place.path),
    };
    match (base, result) {
        (
            Some(Side::File { exec, size, place }),
            Some(Side::File { exec: result_exec, size: result_size, place: result_place }),
        ) => {
            let (mut one, mut other) = (open(place)?, open(result_place)?);
            Ok(exec == result_exec
                && size == result_size
                && (place == result_place || equal(&mut one, &mut other)?))
        }
        // Whoever deletes a file must be able to say what was in it.
        (Some(Side::File { place, .. }), _) => open(place).map(|_| false),
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
