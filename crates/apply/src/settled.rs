//! Whether a file is what somebody expects, and stays so: nobody else is still writing to it.

use std::fs::File;
use std::io;

use holon_git::PathDigest;

use crate::tree::{AnchoredPath, PathContent, size};

/// Says whether somebody has a file open for writing; `None` when that cannot be told.
pub(crate) type HasWriter<'a> = &'a (dyn Fn(&File) -> Option<bool> + Sync);

/// What is seen of a file that came out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReplacedFileState {
    /// It is what was expected, and stays so.
    Settled,
    /// It is what was expected, and nobody can tell whether another program still writes to it.
    Unwatched,
    /// Somebody has it open for writing.
    Written,
    /// It is something else.
    Changed,
}

/// Looks at what came out: its content, and its permissions where they are known. In this order: with no writer left,
/// what is read is what stays.
pub(crate) fn kept_as(
    spot: &AnchoredPath,
    digest: &PathDigest,
    permissions: Option<u32>,
    has_writer: HasWriter<'_>,
) -> io::Result<ReplacedFileState> {
    let Ok((mut file, mode, stat)) = spot.open_with_mode() else {
        // A link, or nothing that can be opened.
        return Ok(if is(spot, Some(digest))? {
            ReplacedFileState::Settled
        } else {
            ReplacedFileState::Changed
        });
    };
    let is_written = has_writer(&file);
    if is_written == Some(true) {
        return Ok(ReplacedFileState::Written);
    }
    let changed = permissions.is_some_and(|known| known != stat.st_mode & 0o7777);
    if changed || PathDigest::of_file(mode, &mut file, size(&stat))? != *digest {
        return Ok(ReplacedFileState::Changed);
    }
    Ok(if is_written.is_none() { ReplacedFileState::Unwatched } else { ReplacedFileState::Settled })
}

/// Whether what stands at a spot is this and stays so, as far as anybody can tell.
pub(crate) fn is_settled(
    spot: &AnchoredPath,
    digest: Option<&PathDigest>,
    permissions: Option<u32>,
    has_writer: HasWriter<'_>,
) -> io::Result<bool> {
    match digest {
        Some(digest) => {
            let kept = kept_as(spot, digest, permissions, has_writer)?;
            Ok(matches!(kept, ReplacedFileState::Settled | ReplacedFileState::Unwatched))
        }
        None => is(spot, None),
    }
}

/// Whether what stands at a spot is this.
pub(crate) fn is(spot: &AnchoredPath, digest: Option<&PathDigest>) -> io::Result<bool> {
    Ok(match (spot.standing()?.0, digest) {
        (PathContent::Entry(found), Some(digest)) => found == *digest,
        (PathContent::Nothing, None) => true,
        _ => false,
    })
}
