//! `.git` as a file: worktrees and submodules, whose repository lies somewhere else.
//!
//! Such a file can say anything, and following it blindly would show an agent a repository its user never
//! opened. So it counts only when the place it names points back: the worktree's entry in the main
//! repository, or the submodule's own configuration. Neither can be written from inside the workspace.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{config, read};

const LONGEST: u64 = 8192;
const LONGEST_CONFIG: u64 = 1 << 20;

/// A `.git` file that was followed and points back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkedGitDir {
    /// A worktree of a repository elsewhere.
    Worktree {
        /// Its own directory, `COMMON/worktrees/NAME`.
        git_dir: PathBuf,
        /// The repository it belongs to.
        common_dir: PathBuf,
    },
    /// A submodule whose repository lies inside its parent's.
    Submodule {
        /// That repository.
        git_dir: PathBuf,
    },
}

/// The path in `gitdir: PATH`, as written.
pub fn parse(text: &[u8]) -> Option<PathBuf> {
    let path = one_line(text.strip_prefix(b"gitdir:")?)?;
    Some(path_of(path))
}

/// Follows `dot_git` of the tree at `toplevel`; says why when it does not count.
pub fn follow(toplevel: &Path, dot_git: &Path) -> Result<LinkedGitDir, String> {
    let text = read::small(dot_git, LONGEST).map_err(|e| format!("it cannot be read: {e}"))?;
    let named = text.as_deref().and_then(parse).ok_or("it does not say `gitdir: PATH`")?;
    let git_dir = real(&toplevel.join(&named)).ok_or("the directory it names does not exist")?;
    let commondir = read::small(&git_dir.join("commondir"), LONGEST);
    match commondir.map_err(|e| format!("its `commondir` cannot be read: {e}"))? {
        Some(text) => worktree(dot_git, git_dir, &text),
        None => submodule(toplevel, git_dir),
    }
}

fn worktree(dot_git: &Path, git_dir: PathBuf, commondir: &[u8]) -> Result<LinkedGitDir, String> {
    let common = one_line(commondir).ok_or("its `commondir` is empty")?;
    let common_dir = real(&git_dir.join(path_of(common))).ok_or("its `commondir` does not exist")?;
    if git_dir.parent() != Some(&common_dir.join("worktrees")) {
        return Err("the directory it names is not a worktree entry of its repository".into());
    }
    let back = read::small(&git_dir.join("gitdir"), LONGEST).ok().flatten();
    let back = back.as_deref().and_then(one_line).map(path_of).and_then(|path| real(&git_dir.join(path)));
    if back.is_none() || back != real(dot_git) {
        return Err(
            "the repository it names does not know this worktree (`git worktree repair` may help)".into()
        );
    }
    Ok(LinkedGitDir::Worktree { git_dir, common_dir })
}

fn submodule(toplevel: &Path, git_dir: PathBuf) -> Result<LinkedGitDir, String> {
    let text = read::small(&git_dir.join("config"), LONGEST_CONFIG).ok().flatten();
    let settings = config::parse(&text.unwrap_or_default());
    let back = config::get(&settings, "core", "worktree").and_then(|s| s.value.as_deref());
    let back = back.and_then(|path| real(&git_dir.join(path_of(path))));
    if back.is_none() || back != real(toplevel) {
        return Err("the repository it names does not say that this is its working tree".into());
    }
    Ok(LinkedGitDir::Submodule { git_dir })
}

fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// A file that holds one path: no further lines, no NUL.
fn one_line(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let end = text.iter().rposition(|b| !matches!(b, b'\n' | b'\r'))?;
    let line = &text[..=end];
    (!line.contains(&b'\n') && !line.contains(&0)).then_some(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_file_holds_one_path() {
        let check = |text: &[u8], expect: Option<&str>| assert_eq!(parse(text), expect.map(PathBuf::from));
        check(b"gitdir: ../x/.git/worktrees/w\n", Some("../x/.git/worktrees/w"));
        check(b"gitdir:/abs\r\n", Some("/abs"));
        check(b"gitdir: two\nlines\n", None);
        check(b"gitdir: \n", None);
        check(b"", None);
        check(b"nonsense", None);
        check(b"gitdir: a\0b\n", None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&text);
            let _ = parse(&[b"gitdir: ".as_slice(), &text].concat());
        }
    }
}
