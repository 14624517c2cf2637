//! Looking at the workspace itself, so that nothing depends on what a call says it did.

use std::collections::BTreeMap;

use holon_supervisor::event::{FileHash, GitState, HashedFileChange, WorkspaceState};
use serde::{Deserialize, Serialize};

use super::workspace_path::is_derived;

/// Tells what the workspace is like; asked after commands and at the end of rounds.
pub trait ChangeWatch: Send + Sync {
    /// What differs from the beginning of the run; nothing when that cannot be told now.
    fn look(&mut self) -> Option<WorkspaceObservation>;
}

/// The workspace at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceObservation {
    /// What git's files say.
    pub git: GitState,
    /// Every file that is not as it was.
    pub changed: Vec<WatchedFile>,
}

/// A file that is not as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedFile {
    /// Relative to the workspace.
    pub path: String,
    /// Digest of what was there; empty for nothing.
    pub before: String,
    /// Digest of what is there; empty for nothing.
    pub after: String,
    /// Lines that differ.
    pub lines: u32,
    /// Lines of the original among them.
    #[serde(default)]
    pub gone: u32,
    /// Whether it is a test that was there and has lost lines.
    pub shrunk_test: bool,
}

/// What is remembered between two looks: the digest and the original digest of every file known to differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RememberedFiles {
    files: BTreeMap<String, (String, String)>,
    lines: u32,
    #[serde(default)]
    gone: u32,
    shrunk_tests: Vec<String>,
    git: GitState,
    /// Whether anything may have changed since.
    stale: bool,
    looked: bool,
    /// Whether a command was left running, so that something may change at any time.
    job: bool,
}

impl RememberedFiles {
    /// A call told of a change: by its digests, so there is nothing to look for.
    pub(super) fn told(&mut self, change: &HashedFileChange) {
        self.stale = true;
        let original = self.files.get(&change.path).map_or(&change.before, |(_, original)| original).clone();
        self.files.insert(change.path.clone(), (change.after.clone(), original));
    }

    /// Takes a look in; what changed since the last one comes back.
    pub(super) fn take(&mut self, sight: Option<WorkspaceObservation>) -> Vec<HashedFileChange> {
        let Some(sight) = sight else {
            self.looked = false;
            return Vec::new();
        };
        self.lines = sight.changed.iter().map(|seen| seen.lines).fold(0, u32::saturating_add);
        self.gone = sight.changed.iter().map(|seen| seen.gone).fold(0, u32::saturating_add);
        self.git = sight.git;
        let shrunk = sight.changed.iter().filter(|seen| seen.shrunk_test);
        self.shrunk_tests = shrunk.map(|seen| seen.path.clone()).take(16).collect();
        (self.looked, self.stale) = (true, false);
        let mut now: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut news = Vec::new();
        for seen in sight.changed.into_iter().filter(|seen| !is_derived(&seen.path)) {
            let known = self.files.get(&seen.path).map_or(&seen.before, |(after, _)| after);
            if *known != seen.after {
                let (path, before, after) = (seen.path.clone(), known.clone(), seen.after.clone());
                news.push(HashedFileChange { path, before, after });
            }
            now.insert(seen.path, (seen.after, seen.before));
        }
        for (path, (known, original)) in &self.files {
            // No longer different: somebody put it back.
            if !now.contains_key(path) && known != original {
                let (path, before, after) = (path.clone(), known.clone(), original.clone());
                news.push(HashedFileChange { path, before, after });
            }
        }
        self.files = now;
        news
    }

    /// Whether a look could show something new.
    pub(super) fn wants_look(&self) -> bool {
        self.stale || self.job || !self.looked
    }

    /// Something ran whose effects nobody told.
    pub(super) fn something_ran(&mut self) {
        self.stale = true;
    }

    /// A command goes on beside the rounds.
    pub(super) fn job_started(&mut self) {
        self.job = true;
    }

    /// Lines that differ from the beginning.
    pub(super) fn lines(&self) -> u32 {
        self.lines
    }

    /// Lines of the beginning that are gone.
    pub(super) fn gone(&self) -> u32 {
        self.gone
    }

    /// The fact for the supervisor; nothing while nobody has looked.
    pub(super) fn workspace(&self) -> Option<WorkspaceState> {
        let changed =
            self.files.iter().map(|(path, (hash, _))| FileHash { path: path.clone(), hash: hash.clone() });
        self.looked.then(|| WorkspaceState {
            git: self.git,
            verified: !self.stale,
            changed: changed.take(96).collect(),
            shrunk_tests: self.shrunk_tests.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn seen(path: &str, before: &str, after: &str) -> WatchedFile {
        WatchedFile {
            path: path.into(),
            before: before.into(),
            after: after.into(),
            lines: 3,
            gone: 1,
            shrunk_test: false,
        }
    }

    fn change(path: &str, before: &str, after: &str) -> HashedFileChange {
        HashedFileChange { path: path.into(), before: before.into(), after: after.into() }
    }

    #[test]
    fn only_news_come_back() {
        let mut known = RememberedFiles::default();
        assert!(known.wants_look() && known.workspace().is_none());
        let sight = |changed: &[WatchedFile]| {
            Some(WorkspaceObservation { git: GitState::Normal, changed: changed.to_vec() })
        };
        assert_eq!(known.take(sight(&[seen("a", "1", "2")])), [change("a", "1", "2")]);
        assert_eq!((known.wants_look(), known.lines()), (false, 3));
        assert_eq!(known.take(sight(&[seen("a", "1", "2")])), []);
        known.told(&change("a", "2", "3"));
        known.told(&change("b", "", "4"));
        assert!(known.wants_look());
        assert_eq!(known.take(sight(&[seen("a", "1", "3"), seen("b", "", "4")])), [], "told already");
        let back = known.take(sight(&[seen("b", "", "5")]));
        assert_eq!(back, [change("b", "4", "5"), change("a", "3", "1")], "a was put back by a command");
        assert_eq!(known.take(sight(&[seen("b", "", "5"), seen("x/__pycache__/a.pyc", "", "6")])), []);
        assert_eq!(known.take(None), []);
        assert!(known.workspace().is_none() && known.wants_look());
    }
}
