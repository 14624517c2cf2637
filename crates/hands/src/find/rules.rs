//! Ignore rules of a folder and the folders around it. The files are read here, because a FIFO in the place of a
//! `.gitignore` must not make anybody wait.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::file::open;

/// Larger rule files are not rules.
const MOST_BYTES: u64 = 1 << 20;
/// Later ones win over earlier ones.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// The rules of one folder on top of those around it.
#[derive(Clone, Default)]
pub(super) struct FolderIgnoreRules(Option<Arc<IgnoreRulesLevel>>);

struct IgnoreRulesLevel {
    own: Gitignore,
    around: FolderIgnoreRules,
}

impl FolderIgnoreRules {
    /// The rules that hold in `start`: its own and those of every folder from `root` down to it.
    pub(super) fn around(root: &Path, start: &Path) -> Self {
        let mut folders: Vec<PathBuf> = vec![start.to_owned()];
        if start.starts_with(root) {
            let between = start.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
            folders.extend(between.map(Path::to_owned));
        }
        let mut rules = Self::default();
        for folder in folders.into_iter().rev() {
            rules = rules.inside(&folder, &[".git/info/exclude", NAMES[0], NAMES[1]]);
        }
        rules
    }

    /// The rules in a folder below, of which these files exist.
    pub(super) fn inside(&self, folder: &Path, names: &[&str]) -> Self {
        let mut builder = GitignoreBuilder::new(folder);
        let mut any = false;
        for name in names {
            let Some(bytes) = open::small(&folder.join(name), MOST_BYTES) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            for line in text.trim_start_matches('\u{feff}').lines() {
                // A line that is no pattern is passed over, as git does.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        match builder.build() {
            Ok(own) if any && !own.is_empty() => {
                Self(Some(Arc::new(IgnoreRulesLevel { own, around: self.clone() })))
            }
            _ => self.clone(),
        }
    }

    /// Whether an entry with this name could bring rules.
    pub(super) fn named(name: &[u8]) -> Option<&'static str> {
        NAMES.into_iter().find(|known| known.as_bytes() == name)
    }

    /// Whether this path is ignored; the innermost rule that speaks of it decides.
    pub(super) fn ignore(&self, path: &Path, folder: bool) -> bool {
        let mut level = self.0.as_ref();
        while let Some(rules) = level {
            match rules.own.matched(path, folder) {
                Match::None => level = rules.around.0.as_ref(),
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}
