//! What would keep git waiting: a FIFO or a device where it expects a file of a repository.
//!
//! Git opens these by name and reads to their end, which a FIFO that nobody writes to never has. A repository is not trusted
//! to be one, so before git is asked to work on a person's own, its files are looked at.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{Repository, config, read};

/// What git reads by name whatever it is asked, below the repository's folders.
const READ: &[&str] = &[
    "HEAD",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "packed-refs",
    "shallow",
    "index",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/commit-graph",
];
/// The same, below the working tree.
const IN_TREE: &[&str] = &[".gitattributes", ".gitmodules", ".mailmap"];
const LONGEST_CONFIG: u64 = 1 << 20;
/// Files that include files; git itself follows no more.
const MOST_INCLUDED: usize = 10;

/// The first file of the repository, or one that its configuration includes, that is neither a file nor a folder; `home` is
/// what `~` stands for, and `branch` one that git will look at.
pub fn what_never_ends(repository: &Repository, branch: &str, home: Option<&Path>) -> Option<PathBuf> {
    let folders = [&repository.git_dir, &repository.common_dir];
    let own = folders.into_iter().flat_map(|folder| READ.iter().map(move |name| folder.join(name)));
    let tree = IN_TREE.iter().map(|name| repository.toplevel.join(name));
    let branch = repository.common_dir.join("refs/heads").join(branch);
    own.chain(tree).chain([branch]).find(|path| never_ends(path)).or_else(|| {
        let configs = ["config", "config.worktree"].map(|name| repository.common_dir.join(name));
        configs.iter().find_map(|config| included(config, home, MOST_INCLUDED))
    })
}

/// Links are followed, as git does; what is not there ends at once.
fn never_ends(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// Conditions of includes are not judged: what might be read is looked at.
fn included(from: &Path, home: Option<&Path>, deeper: usize) -> Option<PathBuf> {
    let text = read::small(from, LONGEST_CONFIG).ok().flatten()?;
    config::parse(&text).into_iter().filter(|s| s.section == "include" || s.section == "includeif").find_map(
        |setting| {
            let value = setting.value.filter(|_| setting.key == "path")?;
            let path = match (value.strip_prefix(b"~/"), home) {
                (Some(rest), Some(home)) => home.join(std::ffi::OsStr::from_bytes(rest)),
                _ => from.parent()?.join(std::ffi::OsStr::from_bytes(&value)),
            };
            if never_ends(&path) {
                return Some(path);
            }
            if deeper == 0 { None } else { included(&path, home, deeper - 1) }
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::objects::ObjectFormat;
    use crate::refs::RepositoryHead;
    use crate::repo::WorktreeLink;

    fn fifo(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(path);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap();
    }

    #[test]
    fn whatever_git_would_wait_for_is_found() {
        for (name, config, branch) in [
            ("repo/.git/HEAD", "", "b"),
            ("repo/.git/config", "", "b"),
            ("repo/.git/packed-refs", "", "b"),
            ("repo/.git/info/attributes", "", "b"),
            ("repo/.gitattributes", "", "b"),
            ("repo/.git/refs/heads/holon/x", "", "holon/x"),
            ("repo/.git/more", "[include]\n\tpath = more\n", "b"),
            ("home/more", "[include]\n\tpath = ~/more\n", "b"),
            ("repo/far", "[includeIf \"gitdir:/nowhere/\"]\n\tpath = ../far\n", "b"),
            ("repo/.git/third", "[include]\npath = second\n", "b"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().join("repo");
            let repository = Repository {
                toplevel: top.clone(),
                prefix: PathBuf::new(),
                git_dir: top.join(".git"),
                common_dir: top.join(".git"),
                link: WorktreeLink::Directory,
                head: RepositoryHead::Unknown,
                format: ObjectFormat::Sha1,
                sparse: false,
                unfinished: None,
            };
            fs::create_dir_all(top.join(".git")).unwrap();
            fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(top.join(".git/config"), config).unwrap();
            fs::write(top.join(".git/second"), "[include]\npath = third\n").unwrap();
            let home = dir.path().join("home");
            assert_eq!(
                what_never_ends(&repository, branch, Some(&home)),
                None,
                "{name}: nothing is wrong yet"
            );
            fifo(&dir.path().join(name));
            let found =
                what_never_ends(&repository, branch, Some(&home)).map(|path| path.canonicalize().unwrap());
            assert_eq!(found, Some(dir.path().join(name).canonicalize().unwrap()), "{name}");
        }
    }

    #[test]
    fn configurations_that_include_themselves_come_to_an_end() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "[include]\npath = b\npath = a\n").unwrap();
        fs::write(dir.path().join("b"), "[include]\npath = a\n").unwrap();
        assert_eq!(included(&dir.path().join("a"), None, MOST_INCLUDED), None);
    }
}
