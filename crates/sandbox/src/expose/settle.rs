//! From what should be seen to mounts: what covers what, where writes go, how secrets disappear.

use std::path::{Path, PathBuf};

use super::Error;
use super::plan::{Entry, Kind, Plan};
use super::secrets::read_small;
use super::shelf::Shelf;
use crate::mount::{Mount, Source};

/// What a path inside belongs to.
#[derive(Clone, Copy)]
enum Cover<'a> {
    /// Nothing is there unless a mount makes it.
    Nothing,
    /// The system, or the entry with this number.
    System,
    Entry(usize, &'a Entry),
}

/// The entries that get a mount of their own, shallow ones first.
struct Settled<'a> {
    system: &'a [PathBuf],
    entries: Vec<Entry>,
}

impl Settled<'_> {
    /// The innermost thing that `path` is, or lies in.
    fn cover(&self, path: &Path) -> Cover<'_> {
        let innermost = self.entries.iter().enumerate().rev().find(|(_, entry)| path.starts_with(&entry.at));
        match innermost {
            Some((number, entry)) => Cover::Entry(number, entry),
            None if self.system.iter().any(|system| path.starts_with(system)) => Cover::System,
            None => Cover::Nothing,
        }
    }

    /// Takes an entry unless it can be seen already; the caller comes with shallow ones first.
    fn add(&mut self, entry: Entry) {
        let needed = match (&entry.kind, self.cover(&entry.at)) {
            (_, Cover::Nothing) => true,
            (_, Cover::Entry(_, cover)) if cover.at == entry.at => false,
            (Kind::Private(_), _) | (_, Cover::Entry(_, Entry { kind: Kind::Private(_), .. })) => true,
            (Kind::ReadOnly, _) => false,
            (Kind::Cache, Cover::Entry(_, cover)) => matches!(cover.kind, Kind::ReadOnly),
            (Kind::Cache, Cover::System) => true,
        };
        if needed {
            self.entries.push(entry);
        }
    }
}

/// Turns the plan into mounts, making the folders they need.
pub(super) fn settle(plan: &mut Plan<'_>) -> Result<(), Error> {
    let mut entries = std::mem::take(&mut plan.entries);
    entries.sort_by_key(|entry| entry.at.components().count());
    let seen = entries.iter().filter(|entry| entry.is_dir && !matches!(entry.kind, Kind::Private(_)));
    plan.seen.extend(seen.map(|entry| (entry.real.clone(), entry.at.clone())));
    let mut settled = Settled { system: &plan.table.system, entries: Vec::new() };
    entries.into_iter().for_each(|entry| settled.add(entry));

    let mut private_links = Vec::new();
    for (at, target) in std::mem::take(&mut plan.links) {
        match settled.cover(&at) {
            Cover::Entry(number, Entry { kind: Kind::Private(_), .. }) => {
                private_links.push((number, at, target))
            }
            Cover::Nothing if may_link(&at, &settled, &plan.out.mounts) => {
                plan.out.mounts.push(Mount { at, source: Source::Symlink(target), writable: false });
            }
            // Whatever shows the folder shows the link in it, too.
            _ => {}
        }
    }
    let mut veiled = Vec::new();
    for hidden in std::mem::take(&mut plan.hidden) {
        match settled.cover(&hidden.real) {
            Cover::Nothing => continue,
            Cover::Entry(_, Entry { kind: Kind::Private(_), .. }) => {}
            Cover::Entry(number, entry) if is_layered(entry, plan) => {
                let below = hidden.real.strip_prefix(&entry.at).unwrap_or(&hidden.real);
                veiled.push((number, below.to_owned()));
            }
            Cover::System | Cover::Entry(..) => {
                let source =
                    if hidden.real.is_dir() { Source::EmptyDir } else { Source::File(hidden.instead) };
                plan.out.mounts.push(Mount { at: hidden.real.clone(), source, writable: false });
            }
        }
        plan.out.masked.push(hidden.real);
    }

    let mut shelf = Shelf::new(plan.guard.run_dir(), plan.request.owner);
    for (number, entry) in settled.entries.iter().enumerate() {
        let of_this = |(owner, path): &(usize, PathBuf)| (*owner == number).then(|| path.clone());
        let veiled: Vec<PathBuf> = veiled.iter().filter_map(of_this).collect();
        let mount = match &entry.kind {
            Kind::ReadOnly => read_only(plan, &mut shelf, entry)?,
            Kind::Cache if is_layered(entry, plan) => {
                let layers = shelf.layers(&entry.real, &veiled, true)?;
                Mount { at: entry.at.clone(), source: Source::Overlay(layers), writable: true }
            }
            Kind::Cache => Mount::read_only(&entry.real, &entry.at),
            Kind::Private(files) => {
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
fn is_layered(entry: &Entry, plan: &Plan<'_>) -> bool {
    plan.request.overlays && matches!(entry.kind, Kind::Cache)
}

/// Links are made in fresh folders and in temporary space, and never where something else is.
fn may_link(at: &Path, settled: &Settled<'_>, mounts: &[Mount]) -> bool {
    const KEPT: &[&str] = &["/dev", "/etc", "/holon", "/proc", "/run", "/sys", "/var/tmp"];
    const TAKEN: &[&str] = &["/", "/tmp", "/var"];
    !KEPT.iter().any(|kept| at.starts_with(kept))
        && !TAKEN.iter().any(|taken| at == Path::new(taken))
        && !settled.entries.iter().any(|entry| entry.at.starts_with(at))
        && !mounts.iter().any(|mount| mount.at.starts_with(at))
}

/// A view of a host path. Where root's payload could not read it as a stranger, its owner is mapped.
fn read_only(plan: &mut Plan<'_>, shelf: &mut Shelf, entry: &Entry) -> Result<Mount, Error> {
    let open = if entry.is_dir { 0o005 } else { 0o004 };
    if plan.request.owner.is_none() || entry.mode & open == open {
        return Ok(Mount::same_path(&entry.real));
    }
    let source = if !entry.is_dir {
        read_small(&entry.real).map(|text| Source::File(text.into_bytes()))
    } else if plan.request.overlays {
        Some(Source::Overlay(shelf.layers(&entry.real, &[], false)?))
    } else {
        None
    };
    let source = source.unwrap_or_else(|| {
        plan.out
            .notes
            .push(format!("{} may not be readable inside: it is closed to others", entry.real.display()));
        Source::Bind(entry.real.clone())
    });
    Ok(Mount { at: entry.real.clone(), source, writable: false })
}

/// A fresh folder with its files, its links, and something to mount each child on.
fn private<'l>(
    shelf: &mut Shelf,
    settled: &Settled<'_>,
    number: usize,
    files: &[(PathBuf, Vec<u8>)],
    links: impl Iterator<Item = (&'l Path, &'l Path)>,
) -> Result<Mount, Error> {
    let place = &settled.entries[number].at;
    let folder = shelf.private()?;
    for (at, target) in links {
        if let Ok(child) = at.strip_prefix(place) {
            folder.link(child, target)?;
        }
    }
    for child in settled.entries.iter().skip(number + 1) {
        let inner = child.at.parent().map(|parent| settled.cover(parent));
        if matches!(inner, Some(Cover::Entry(owner, _)) if owner == number)
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
