//! From what should be seen to mounts: what covers what, where writes go, how secrets disappear.

use std::path::{Path, PathBuf};

use super::HostMountError;
use super::backing_folders::BackingFolders;
use super::plan::{HostMountEntry, HostMountKind, HostMountPlan};
use super::secrets::read_small;
use crate::mount::{Mount, MountSource};

/// What a path inside belongs to.
#[derive(Clone, Copy)]
enum MountCover<'a> {
    /// Nothing is there unless a mount makes it.
    Nothing,
    /// The system, or the entry with this number.
    System,
    Entry(usize, &'a HostMountEntry),
}

/// The entries that get a mount of their own, shallow ones first.
struct SettledMounts<'a> {
    system: &'a [PathBuf],
    entries: Vec<HostMountEntry>,
}

impl SettledMounts<'_> {
    /// The innermost thing that `path` is, or lies in.
    fn cover(&self, path: &Path) -> MountCover<'_> {
        let innermost = self.entries.iter().enumerate().rev().find(|(_, entry)| path.starts_with(&entry.at));
        match innermost {
            Some((number, entry)) => MountCover::Entry(number, entry),
            None if self.system.iter().any(|system| path.starts_with(system)) => MountCover::System,
            None => MountCover::Nothing,
        }
    }

    /// Takes an entry unless it can be seen already; the caller comes with shallow ones first.
    fn add(&mut self, entry: HostMountEntry) {
        let needed = match (&entry.kind, self.cover(&entry.at)) {
            (_, MountCover::Nothing) => true,
            (_, MountCover::Entry(_, cover)) if cover.at == entry.at => false,
            (HostMountKind::Private(_), _)
            | (_, MountCover::Entry(_, HostMountEntry { kind: HostMountKind::Private(_), .. })) => true,
            (HostMountKind::ReadOnly, _) => false,
            (HostMountKind::Cache, MountCover::Entry(_, cover)) => {
                matches!(cover.kind, HostMountKind::ReadOnly)
            }
            (HostMountKind::Cache, MountCover::System) => true,
        };
        if needed {
            self.entries.push(entry);
        }
    }
}

/// Turns the plan into mounts, making the folders they need.
pub(super) fn settle(plan: &mut HostMountPlan<'_>) -> Result<(), HostMountError> {
    let mut entries = std::mem::take(&mut plan.entries);
    entries.sort_by_key(|entry| entry.at.components().count());
    let seen =
        entries.iter().filter(|entry| entry.is_dir && !matches!(entry.kind, HostMountKind::Private(_)));
    plan.seen.extend(seen.map(|entry| (entry.real.clone(), entry.at.clone())));
    let mut settled = SettledMounts { system: &plan.table.system, entries: Vec::new() };
    entries.into_iter().for_each(|entry| settled.add(entry));

    let mut private_links = Vec::new();
    for (at, target) in std::mem::take(&mut plan.links) {
        match settled.cover(&at) {
            MountCover::Entry(number, HostMountEntry { kind: HostMountKind::Private(_), .. }) => {
                private_links.push((number, at, target))
            }
            MountCover::Nothing if may_link(&at, &settled, &plan.out.mounts) => {
                plan.out.mounts.push(Mount { at, source: MountSource::Symlink(target), writable: false });
            }
            // Whatever shows the folder shows the link in it, too.
            _ => {}
        }
    }
    let mut veiled = Vec::new();
    for hidden in std::mem::take(&mut plan.hidden) {
        match settled.cover(&hidden.real) {
            MountCover::Nothing => continue,
            MountCover::Entry(_, HostMountEntry { kind: HostMountKind::Private(_), .. }) => {}
            MountCover::Entry(number, entry) if is_layered(entry, plan) => {
                let below = hidden.real.strip_prefix(&entry.at).unwrap_or(&hidden.real);
                veiled.push((number, below.to_owned()));
            }
            MountCover::System | MountCover::Entry(..) => {
                let source = if hidden.real.is_dir() {
                    MountSource::EmptyDir
                } else {
                    MountSource::File(hidden.instead)
                };
                plan.out.mounts.push(Mount { at: hidden.real.clone(), source, writable: false });
            }
        }
        plan.out.masked.push(hidden.real);
    }

    let mut shelf = BackingFolders::new(plan.guard.run_dir(), plan.request.owner);
    for (number, entry) in settled.entries.iter().enumerate() {
        let of_this = |(owner, path): &(usize, PathBuf)| (*owner == number).then(|| path.clone());
        let veiled: Vec<PathBuf> = veiled.iter().filter_map(of_this).collect();
        let mount = match &entry.kind {
            HostMountKind::ReadOnly => read_only(plan, &mut shelf, entry)?,
            HostMountKind::Cache if is_layered(entry, plan) => {
                let layers = shelf.layers(&entry.real, &veiled, true)?;
                Mount { at: entry.at.clone(), source: MountSource::Overlay(layers), writable: true }
            }
            HostMountKind::Cache => Mount::read_only(&entry.real, &entry.at),
            HostMountKind::Private(files) => {
                let links = private_links.iter().filter(|(owner, ..)| *owner == number);
                let links = links.map(|(_, at, target)| (at.as_path(), target.as_path()));
                private(&mut shelf, &settled, number, files, links)?
            }
        };
        plan.out.mounts.push(mount);
    }
    Ok(())
}

/// Whether the entry becomes a merged view, in which a file can be made absent.
fn is_layered(entry: &HostMountEntry, plan: &HostMountPlan<'_>) -> bool {
    plan.request.overlays && matches!(entry.kind, HostMountKind::Cache)
}

/// Links are made in fresh folders and in temporary space, and never where something else is.
fn may_link(at: &Path, settled: &SettledMounts<'_>, mounts: &[Mount]) -> bool {
    const KEPT: &[&str] = &["/dev", "/etc", "/holon", "/proc", "/run", "/sys", "/var/tmp"];
    const TAKEN: &[&str] = &["/", "/tmp", "/var"];
    !KEPT.iter().any(|kept| at.starts_with(kept))
        && !TAKEN.iter().any(|taken| at == Path::new(taken))
        && !settled.entries.iter().any(|entry| entry.at.starts_with(at))
        && !mounts.iter().any(|mount| mount.at.starts_with(at))
}

/// A view of a host path. Where root's payload could not read it as a stranger, its owner is mapped.
fn read_only(
    plan: &mut HostMountPlan<'_>,
    shelf: &mut BackingFolders,
    entry: &HostMountEntry,
) -> Result<Mount, HostMountError> {
    let open = if entry.is_dir { 0o005 } else { 0o004 };
    if plan.request.owner.is_none() || entry.mode & open == open {
        return Ok(Mount::same_path(&entry.real));
    }
    let source = if !entry.is_dir {
        read_small(&entry.real).map(|text| MountSource::File(text.into_bytes()))
    } else if plan.request.overlays {
        Some(MountSource::Overlay(shelf.layers(&entry.real, &[], false)?))
    } else {
        None
    };
    let source = source.unwrap_or_else(|| {
        plan.out
            .notes
            .push(format!("{} may not be readable inside: it is closed to others", entry.real.display()));
        MountSource::Bind(entry.real.clone())
    });
    Ok(Mount { at: entry.real.clone(), source, writable: false })
}

/// A fresh folder with its files, its links, and something to mount each child on.
fn private<'l>(
    shelf: &mut BackingFolders,
    settled: &SettledMounts<'_>,
    number: usize,
    files: &[(PathBuf, Vec<u8>)],
    links: impl Iterator<Item = (&'l Path, &'l Path)>,
) -> Result<Mount, HostMountError> {
    let place = &settled.entries[number].at;
    let folder = shelf.private()?;
    for (at, target) in links {
        if let Ok(child) = at.strip_prefix(place) {
            folder.link(child, target)?;
        }
    }
    for child in settled.entries.iter().skip(number + 1) {
        let inner = child.at.parent().map(|parent| settled.cover(parent));
        if matches!(inner, Some(MountCover::Entry(owner, _)) if owner == number)
            && let Ok(below) = child.at.strip_prefix(place)
        {
            folder.mount_point(below, child.is_dir)?;
        }
    }
    for (name, bytes) in files {
        folder.file(name, bytes)?;
    }
    Ok(Mount::writable(&folder.folder, place))
}
