//! Listing folders, and files by glob.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::walk::{FolderWalk, WalkItem, WalkScope};
use crate::stop::StopSignal;
use crate::words::refused;
use crate::workspace_paths::WorkspacePaths;
use crate::{EntryKind, ExecutorError, ExecutorErrorKind, FolderEntry, FolderListing};

/// Most entries in one answer, whatever was asked for.
const MOST_ENTRIES: u64 = 20_000;

/// [`crate::ToolRequest::List`].
pub(crate) fn list(
    place: &WorkspacePaths,
    given: &str,
    depth: u32,
    limit: u64,
    all: bool,
    stop: &StopSignal,
) -> Result<FolderListing, ExecutorError> {
    let walk = start(place, given, WalkScope { all, depth: depth.max(1) })?;
    Ok(gather(given, walk, limit, stop))
}

/// [`crate::ToolRequest::Glob`].
pub(crate) fn glob(
    place: &WorkspacePaths,
    pattern: &str,
    given: &str,
    limit: u64,
    all: bool,
    stop: &StopSignal,
) -> Result<FolderListing, ExecutorError> {
    let matcher = matcher(&relative_pattern(place, pattern, given)?)?;
    let walk = start(place, given, WalkScope { all, depth: u32::MAX })?;
    let files =
        walk.filter(|item| item.kind != EntryKind::Folder && matcher.is_match(item.relative.as_path()));
    Ok(gather(given, files, limit, stop))
}

/// Starts to walk where the caller says.
pub(super) fn start(
    place: &WorkspacePaths,
    given: &str,
    scope: WalkScope,
) -> Result<FolderWalk, ExecutorError> {
    let path = place.resolve(given)?;
    let shown = if given.is_empty() { "." } else { given };
    FolderWalk::new(place.root(), &path, scope).map_err(|error| match error.kind() {
        ErrorKind::NotFound => place.missing(shown, &path),
        ErrorKind::NotADirectory if path.exists() => {
            ExecutorError::new(ExecutorErrorKind::WrongKind, format!("{shown} is no folder"))
        }
        ErrorKind::NotADirectory => place.missing(shown, &path),
        _ => refused("list", shown, &error),
    })
}

fn gather(
    given: &str,
    items: impl Iterator<Item = WalkItem>,
    limit: u64,
    stop: &StopSignal,
) -> FolderListing {
    let limit = limit.min(MOST_ENTRIES) as usize;
    let mut listing = FolderListing::default();
    for item in items.take_while(|_| !stop.asked()) {
        if listing.entries.len() == limit {
            listing.cut = true;
            break;
        }
        let bytes = match item.kind {
            EntryKind::File => std::fs::symlink_metadata(&item.path).map_or(0, |metadata| metadata.len()),
            _ => 0,
        };
        let path = WorkspacePaths::below(given, &item.relative);
        listing.entries.push(FolderEntry { path, kind: item.kind, bytes });
    }
    listing
}

/// A glob whose `*` stays within one folder.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, ExecutorError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| {
        let message = format!(
            "the glob `{pattern}` makes no sense: {}. `*` is part of a name, `**` any folders, `{{a,b}}` one of both.",
            error.kind()
        );
        ExecutorError::new(ExecutorErrorKind::Invalid, message)
    })
}

/// The pattern from the folder on: an absolute one is fine if it is below that folder.
fn relative_pattern(place: &WorkspacePaths, pattern: &str, given: &str) -> Result<String, ExecutorError> {
    let mut pattern = pattern;
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    if pattern.is_empty() {
        return Err(ExecutorError::new(
            ExecutorErrorKind::Invalid,
            "the glob is empty: `**/*` matches every file",
        ));
    }
    if !pattern.starts_with('/') {
        return Ok(pattern.to_owned());
    }
    let folder: PathBuf = place.resolve(given)?;
    match Path::new(pattern).strip_prefix(&folder) {
        Ok(rest) if !rest.as_os_str().is_empty() => Ok(rest.to_string_lossy().into_owned()),
        _ => Err(ExecutorError::new(
            ExecutorErrorKind::Invalid,
            format!("the glob `{pattern}` is absolute: give the folder as path and the rest as pattern"),
        )),
    }
}
