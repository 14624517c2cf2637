//! Which commit HEAD names, read from the files git keeps it in.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::objects::ObjectFormat;
use crate::read;

const LONGEST_REF: u64 = 4096;
const LONGEST_PACKED: u64 = 256 << 20;
/// Git itself gives up after this many symbolic references in a row.
const DEEPEST: usize = 5;

/// Where a repository stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryHead {
    /// At a commit.
    Commit {
        /// Its id in lower-case hex.
        id: String,
        /// The branch checked out; `None` when detached.
        branch: Option<String>,
    },
    /// On a branch that has no commit yet.
    Unborn {
        /// That branch.
        branch: String,
    },
    /// Not readable by hand (another ref storage, damage): [`crate::Repository::ask_head`] may still know.
    Unknown,
}

impl RepositoryHead {
    /// The commit, if there is one.
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Commit { id, .. } => Some(id),
            Self::Unborn { .. } | Self::Unknown => None,
        }
    }
}

/// Reads HEAD of `git_dir`, whose branches live in `common_dir`.
pub fn head(git_dir: &Path, common_dir: &Path, format: ObjectFormat) -> RepositoryHead {
    let mut branch: Option<String> = None;
    let mut name = "HEAD".to_owned();
    for _ in 0..DEEPEST {
        let dir = if name == "HEAD" { git_dir } else { common_dir };
        let Ok(text) = read::small(&dir.join(&name), LONGEST_REF) else { return RepositoryHead::Unknown };
        let Some(text) = text else {
            let Some(branch) = branch else { return RepositoryHead::Unknown };
            return match packed(common_dir, &name, format) {
                Some(id) => RepositoryHead::Commit { id, branch: short(&branch) },
                None => RepositoryHead::Unborn { branch: short(&branch).unwrap_or(branch) },
            };
        };
        let text = String::from_utf8_lossy(&text);
        let text = text.trim();
        if let Some(target) = text.strip_prefix("ref:").map(str::trim) {
            if !is_ref(target) {
                return RepositoryHead::Unknown;
            }
            branch.get_or_insert_with(|| target.to_owned());
            name = target.to_owned();
        } else if format.is_id(text) {
            return RepositoryHead::Commit { id: text.to_owned(), branch: branch.as_deref().and_then(short) };
        } else {
            return RepositoryHead::Unknown;
        }
    }
    RepositoryHead::Unknown
}

/// A full ref name that stays below `refs/` when used as a path.
fn is_ref(name: &str) -> bool {
    name.starts_with("refs/")
        && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
        && !name.contains("..")
        && !name.bytes().any(|b| b.is_ascii_control() || b" ~^:?*[\\".contains(&b))
}

fn short(name: &str) -> Option<String> {
    name.strip_prefix("refs/heads/").map(str::to_owned)
}

fn packed(common_dir: &Path, name: &str, format: ObjectFormat) -> Option<String> {
    let file = read::open_regular(&common_dir.join("packed-refs")).ok()?;
    let mut lines = BufReader::new(file.take(LONGEST_PACKED));
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.by_ref().take(2 * LONGEST_REF).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let text = std::str::from_utf8(&line).unwrap_or_default().trim_end();
        if let Some((id, found)) = text.split_once(' ')
            && found == name
            && format.is_id(id)
        {
            return Some(id.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn head_is_read_from_files() {
        let check = |files: &[(&str, &str)], expect: RepositoryHead| {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            assert_eq!(head(dir.path(), dir.path(), ObjectFormat::Sha1), expect, "{files:?}");
        };
        let at = |branch: Option<&str>| RepositoryHead::Commit {
            id: ID.into(),
            branch: branch.map(str::to_owned),
        };
        check(&[("HEAD", ID)], at(None));
        check(&[("HEAD", "ref: refs/heads/a/b\n"), ("refs/heads/a/b", ID)], at(Some("a/b")));
        let packed = format!("# pack-refs with: peeled\n{ID} refs/heads/x\n^{ID}\n");
        check(&[("HEAD", "ref: refs/heads/x\n"), ("packed-refs", &packed)], at(Some("x")));
        check(
            &[("HEAD", "ref: refs/heads/y\n"), ("packed-refs", &packed)],
            RepositoryHead::Unborn { branch: "y".into() },
        );
        check(&[("HEAD", "ref: refs/heads/main\n")], RepositoryHead::Unborn { branch: "main".into() });
        check(&[("HEAD", "ref: refs/heads/../../../etc/passwd\n")], RepositoryHead::Unknown);
        check(&[("HEAD", "ref: /etc/passwd\n")], RepositoryHead::Unknown);
        check(&[("HEAD", "ref: refs/heads/.invalid\n")], RepositoryHead::Unknown);
        check(
            &[("HEAD", "ref: refs/heads/l\n"), ("refs/heads/l", "ref: refs/heads/l\n")],
            RepositoryHead::Unknown,
        );
        check(&[("HEAD", "rubbish")], RepositoryHead::Unknown);
        check(&[], RepositoryHead::Unknown);
    }
}
