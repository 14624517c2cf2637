//! Three versions of one file become one, or do not.

use std::fs;
use std::path::Path;

use holon_git::{FileMode, Git, PathDigest};

use crate::ApplyError;
use crate::outcome::ConflictReason;

/// What a merge came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileMerge {
    /// Both sides fit together.
    Clean(FileMode, Vec<u8>),
    /// They do not; the text with both sides marked, where there is one.
    Clash(ConflictReason, Option<Vec<u8>>),
}

/// One version of a file, with its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeVersion<'a> {
    pub(crate) digest: &'a PathDigest,
    pub(crate) content: &'a [u8],
}

/// Merges what a person has now with what the change leads to, both made from `base`.
pub(crate) fn three_ways(
    git: &Git,
    temp: &Path,
    base: MergeVersion<'_>,
    here: MergeVersion<'_>,
    change: MergeVersion<'_>,
) -> Result<FileMerge, ApplyError> {
    let Some(mode) = merged_mode(base.digest.mode, here.digest.mode, change.digest.mode) else {
        return Ok(FileMerge::Clash(ConflictReason::NotText, None));
    };
    if base.digest.sha256 == change.digest.sha256 || here.digest.sha256 == change.digest.sha256 {
        return Ok(FileMerge::Clean(mode, here.content.to_vec()));
    }
    if base.digest.sha256 == here.digest.sha256 {
        return Ok(FileMerge::Clean(mode, change.content.to_vec()));
    }
    let linked = [base, here, change].iter().any(|version| !is_file(version.digest.mode));
    let binary = [base, here, change].iter().any(|version| version.content.contains(&0));
    if linked || binary {
        return Ok(FileMerge::Clash(ConflictReason::NotText, None));
    }
    let dir = tempfile::tempdir_in(temp).map_err(ApplyError::io("make a folder in", temp))?;
    for (name, version) in [("yours", here), ("base", base), ("agent", change)] {
        let path = dir.path().join(name);
        fs::write(&path, version.content).map_err(ApplyError::io("write", &path))?;
    }
    let args =
        ["merge-file", "-p", "-q", "-L", "yours", "-L", "base", "-L", "agent", "yours", "base", "agent"];
    let done = git.call(args).dir(dir.path()).run(|_| Ok(()))?;
    Ok(match done.exit {
        Some(0) => FileMerge::Clean(mode, done.stdout),
        Some(conflicts @ 1..=127) if conflicts > 0 => {
            FileMerge::Clash(ConflictReason::Overlap, Some(done.stdout))
        }
        _ => FileMerge::Clash(ConflictReason::NotText, None),
    })
}

fn is_file(mode: FileMode) -> bool {
    matches!(mode, FileMode::Regular | FileMode::Executable)
}

/// The mode after both sides; `None` when both changed it differently, or one is no file.
fn merged_mode(base: FileMode, here: FileMode, change: FileMode) -> Option<FileMode> {
    match (here == base, change == base) {
        (true, _) => Some(change),
        (false, true) => Some(here),
        (false, false) => (here == change).then_some(here),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn merge(base: &[u8], here: &[u8], change: &[u8]) -> FileMerge {
        let of = |content: &[u8]| PathDigest::of_bytes(FileMode::Regular, content);
        let (b, h, c) = (of(base), of(here), of(change));
        let temp = tempfile::tempdir().unwrap();
        three_ways(
            &Git::find().unwrap(),
            temp.path(),
            MergeVersion { digest: &b, content: base },
            MergeVersion { digest: &h, content: here },
            MergeVersion { digest: &c, content: change },
        )
        .unwrap()
    }

    #[test]
    fn lines_of_both_sides_are_kept() {
        let merged = merge(b"1\n2\n3\n4\n5\n", b"mine\n2\n3\n4\n5\n", b"1\n2\n3\n4\ntheirs\n");
        assert_eq!(merged, FileMerge::Clean(FileMode::Regular, b"mine\n2\n3\n4\ntheirs\n".to_vec()));
        let same = merge(b"1\n", b"2\n", b"2\n");
        assert_eq!(same, FileMerge::Clean(FileMode::Regular, b"2\n".to_vec()));
    }

    #[test]
    fn the_same_lines_clash_and_both_are_shown() {
        let FileMerge::Clash(ConflictReason::Overlap, Some(text)) = merge(b"1\n", b"mine\n", b"theirs\n")
        else {
            panic!("they overlap")
        };
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("mine\n") && text.contains("theirs\n"), "{text}");
        assert_eq!(merge(b"\0a", b"\0b", b"\0c"), FileMerge::Clash(ConflictReason::NotText, None));
    }

    #[test]
    fn modes_are_merged_like_lines() {
        use FileMode::{Executable as X, Regular as R, Symlink as L};
        assert_eq!(merged_mode(R, R, X), Some(X));
        assert_eq!(merged_mode(R, X, R), Some(X));
        assert_eq!(merged_mode(R, X, X), Some(X));
        assert_eq!(merged_mode(R, X, L), None);
    }
}
