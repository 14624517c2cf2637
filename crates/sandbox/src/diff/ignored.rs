//! The ignore rules of the base: what the agent writes into its own `.gitignore` decides nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use holon_git::Repository;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::snapshot::tree::{OpenTree, bytes, join, path_of};

const LARGEST_RULES: u64 = 1 << 20;
/// What runners leave behind: weaker than any rule of the repository.
const LEFTOVERS: &str = include_str!("../../../../rules/checks/leftovers.gitignore");

/// Answers whether a path of the workspace is ignored; reads `.gitignore` files as they are needed.
#[derive(Debug, Default)]
pub(crate) struct BaseIgnoreRules {
    /// `None`: not a repository, nothing is ignored.
    source: Option<IgnoreSource>,
}

#[derive(Debug)]
struct IgnoreSource {
    /// The working tree, which may begin above the workspace.
    toplevel: OpenTree,
    prefix: Vec<u8>,
    exclude: Gitignore,
    by_dir: RefCell<HashMap<Vec<u8>, Option<Rc<Gitignore>>>>,
}

impl BaseIgnoreRules {
    /// The rules of a repository: its `.gitignore` files and `info/exclude`.
    pub(crate) fn of(repository: Option<&Repository>) -> std::io::Result<Self> {
        let Some(repository) = repository else { return Ok(Self::default()) };
        let common = OpenTree::open(&repository.common_dir)?;
        let exclude = common.read_small(b"info/exclude", LARGEST_RULES)?.unwrap_or_default();
        Ok(Self {
            source: Some(IgnoreSource {
                toplevel: OpenTree::open(&repository.toplevel)?,
                prefix: bytes(&repository.prefix).to_vec(),
                exclude: compile(&[LEFTOVERS.as_bytes(), &exclude].concat()),
                by_dir: RefCell::default(),
            }),
        })
    }

    /// Whether `path` itself is ignored, given that no directory above it is.
    pub(crate) fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        self.source.as_ref().is_some_and(|source| source.matches(&join_prefix(&source.prefix, path), is_dir))
    }

    /// The topmost of `path` and the directories above it that is ignored.
    pub(crate) fn root_of(&self, path: &[u8], is_dir: bool) -> Option<Vec<u8>> {
        self.source.as_ref()?;
        let slashes = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
        for at in slashes {
            if self.matches(&path[..at], true) {
                return Some(path[..at].to_vec());
            }
        }
        self.matches(path, is_dir).then(|| path.to_vec())
    }
}

impl IgnoreSource {
    fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        let mut end = path.len();
        loop {
            let slash = path[..end].iter().rposition(|&b| b == b'/');
            let (dir, rest) = match slash {
                Some(at) => (&path[..at], &path[at + 1..]),
                None => (&path[..0], path),
            };
            if let Some(rules) = self.in_dir(dir) {
                match rules.matched(path_of(rest), is_dir) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            match slash {
                Some(at) => end = at,
                None => return self.exclude.matched(path_of(path), is_dir).is_ignore(),
            }
        }
    }

    fn in_dir(&self, dir: &[u8]) -> Option<Rc<Gitignore>> {
        if let Some(known) = self.by_dir.borrow().get(dir) {
            return known.clone();
        }
        // A rules file that cannot be read has no rules: more is then shown, nothing is lost.
        let text = self.toplevel.read_small(&join(dir, b".gitignore"), LARGEST_RULES).ok().flatten();
        let rules = text.map(|text| Rc::new(compile(&text)));
        self.by_dir.borrow_mut().insert(dir.to_vec(), rules.clone());
        rules
    }
}

fn join_prefix(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    if prefix.is_empty() { path.to_vec() } else { join(prefix, path) }
}

fn compile(text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    let text = String::from_utf8_lossy(text);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A pattern that is not understood is left out, as git does.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn rules_of_the_base_decide() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".git/HEAD", "ref: refs/heads/main\n");
        write(".git/objects/x", "");
        write(".git/info/exclude", "*.local\n");
        write(".gitignore", "target/\n*.log\n!keep.log\n/only-top\n");
        write("sub/.gitignore", "!important.log\nbuild\n");
        let check = |workspace: &str, path: &str, is_dir: bool, expect: Option<&str>| {
            let found = Repository::look(&dir.path().join(workspace)).unwrap();
            let rules = BaseIgnoreRules::of(found.repository.as_ref()).unwrap();
            let got = rules.root_of(path.as_bytes(), is_dir);
            assert_eq!(got.as_deref(), expect.map(str::as_bytes), "{workspace} {path}");
        };
        check("", "target", true, Some("target"));
        check("", "target", false, None);
        check("", "target/a/b", false, Some("target"));
        check("", "x/target/a", false, Some("x/target"));
        check("", "a.log", false, Some("a.log"));
        check("", "keep.log", false, None);
        check("", "sub/important.log", false, None);
        check("", "sub/other.log", false, Some("sub/other.log"));
        check("", "sub/build/x", false, Some("sub/build"));
        check("", "build/x", false, None);
        check("", "only-top", false, Some("only-top"));
        check("", "sub/only-top", false, None);
        check("", "x.local", false, Some("x.local"));
        check("", "src/main.rs", false, None);
        check("sub", "other.log", false, Some("other.log"));
        check("sub", "target/x", false, Some("target"));
        check("sub", "only-top", false, None);
    }
}
