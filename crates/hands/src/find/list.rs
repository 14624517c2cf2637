//! Listing folders, and files by glob.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::walk::{Item, Scope, Walk};
use crate::place::Place;
use crate::stop::Stop;
use crate::words::refused;
use crate::{Entry, EntryKind, HandsError, Listing, Trouble};

/// Most entries in one answer, whatever was asked for.
const MOST_ENTRIES: u64 = 20_000;

/// [`crate::Deed::List`].
pub(crate) fn list(
    place: &Place,
    given: &str,
    depth: u32,
    limit: u64,
    all: bool,
    stop: &Stop,
) -> Result<Listing, HandsError> {
    let walk = start(place, given, Scope { all, depth: depth.max(1) })?;
    Ok(gather(given, walk, limit, stop))
}

/// [`crate::Deed::Glob`].
pub(crate) fn glob(
    place: &Place,
    pattern: &str,
    given: &str,
    limit: u64,
    all: bool,
    stop: &Stop,
) -> Result<Listing, HandsError> {
    let matcher = matcher(&relative_pattern(place, pattern, given)?)?;
    let walk = start(place, given, Scope { all, depth: u32::MAX })?;
    let files =
        walk.filter(|item| item.kind != EntryKind::Folder && matcher.is_match(item.relative.as_path()));
    Ok(gather(given, files, limit, stop))
}

/// Starts to walk where the caller says.
pub(super) fn start(place: &Place, given: &str, scope: Scope) -> Result<Walk, HandsError> {
    let path = place.resolve(given)?;
    let shown = if given.is_empty() { "." } else { given };
    Walk::new(place.root(), &path, scope).map_err(|error| match error.kind() {
        ErrorKind::NotFound => place.missing(shown, &path),
        ErrorKind::NotADirectory if path.exists() => {
            HandsError::new(Trouble::WrongKind, format!("{shown} is no folder"))
        }
        ErrorKind::NotADirectory => place.missing(shown, &path),
        _ => refused("list", shown, &error),
    })
}

fn gather(given: &str, items: impl Iterator<Item = Item>, limit: u64, stop: &Stop) -> Listing {
    let limit = limit.min(MOST_ENTRIES) as usize;
    let mut listing = Listing::default();
    for item in items.take_while(|_| !stop.asked()) {
        if listing.entries.len() == limit {
            listing.cut = true;
            break;
        }
        let bytes = match item.kind {
            EntryKind::File => std::fs::symlink_metadata(&item.path).map_or(0, |metadata| metadata.len()),
            _ => 0,
        };
        let path = Place::below(given, &item.relative);
        listing.entries.push(Entry { path, kind: item.kind, bytes });
    }
    listing
}

/// A glob whose `*` stays within one folder.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, HandsError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| {
        let message = format!(
            "the glob `{pattern}` makes no sense: {}. `*` is part of a name, `**` any folders, `{{a,b}}` one of both.",
            error.kind()
        );
        HandsError::new(Trouble::Invalid, message)
    })
}

/// The pattern from the folder on: an absolute one is fine if it is below that folder.
fn relative_pattern(place: &Place, pattern: &str, given: &str) -> Result<String, HandsError> {
    let mut pattern = pattern;
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    if pattern.is_empty() {
        return Err(HandsError::new(Trouble::Invalid, "the glob is empty: `**/*` matches every file"));
    }
    if !pattern.starts_with('/') {
        return Ok(pattern.to_owned());
    }
    let folder: PathBuf = place.resolve(given)?;
    match Path::new(pattern).strip_prefix(&folder) {
        Ok(rest) if !rest.as_os_str().is_empty() => Ok(rest.to_string_lossy().into_owned()),
        _ => Err(HandsError::new(
            Trouble::Invalid,
            format!("the glob `{pattern}` is absolute: give the folder as path and the rest as pattern"),
        )),
    }
}
