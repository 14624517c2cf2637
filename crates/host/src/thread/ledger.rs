//! What is known about a thread's layers, as data: which one counts, and the way back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use holon_git::Digest;
use serde::{Deserialize, Serialize};

/// The layers of a thread; stored in one file that is replaced in one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Ledger {
    /// The layer that holds everything so far; none before the first change.
    pub current: Option<u64>,
    /// The number of the next layer.
    pub next: u64,
    /// By turn: the layer that counted before it.
    before: BTreeMap<u64, Option<u64>>,
    /// The turn whose writes are not taken in yet.
    pub open: Option<u64>,
    /// By path, as bytes in text where they are none: the original when a turn first touched it.
    seen: BTreeMap<String, Seen>,
    /// The last turn whose changes reached the workspace.
    applied: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Seen {
    turn: u64,
    base: Option<Digest>,
    /// Somebody else changed the original during that very turn.
    #[serde(default)]
    moved: bool,
}

/// Why turns cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stuck {
    /// They are in the workspace already.
    Applied,
}

impl Ledger {
    /// A turn's writes are in a new layer, above the one that counted before.
    pub(super) fn advance(&mut self, turn: u64) -> u64 {
        let layer = self.next;
        self.before.entry(turn).or_insert(self.current);
        self.current = Some(layer);
        self.next += 1;
        self.open = None;
        layer
    }

    /// Notes the original of a path a turn touched, the first time that happens.
    pub(super) fn note(&mut self, turn: u64, path: &Path, base: Option<Digest>, moved: bool) {
        self.seen.entry(key(path)).or_insert(Seen { turn, base, moved });
    }

    /// Which of these paths, with their originals as they are now, somebody else changed since they were touched.
    pub(super) fn moved<'a>(
        &self,
        now: impl IntoIterator<Item = (&'a Path, Option<&'a Digest>)>,
    ) -> BTreeSet<PathBuf> {
        let differs = |path: &Path, base: Option<&Digest>| {
            self.seen.get(&key(path)).is_some_and(|seen| seen.moved || seen.base.as_ref() != base)
        };
        now.into_iter().filter(|(path, base)| differs(path, *base)).map(|(path, _)| path.to_owned()).collect()
    }

    /// Goes back to before a turn; says whether that changed anything.
    pub(super) fn undo(&mut self, turn: u64) -> Result<bool, Stuck> {
        if turn <= self.applied {
            return Err(Stuck::Applied);
        }
        let later = self.before.split_off(&turn);
        self.seen.retain(|_, seen| seen.turn < turn);
        match later.into_values().next() {
            Some(layer) => {
                self.current = layer;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Everything so far is in the workspace: what the originals are now is what counts from here on.
    pub(super) fn applied(&mut self, bases: impl IntoIterator<Item = (PathBuf, Option<Digest>)>) {
        let last = self.before.keys().next_back().copied().unwrap_or(0);
        self.applied = self.applied.max(last);
        for (path, base) in bases {
            self.seen.insert(key(&path), Seen { turn: 0, base, moved: false });
        }
    }

    /// Layers that are still needed.
    pub(super) fn needed(&self) -> BTreeSet<u64> {
        self.before.values().copied().chain([self.current]).flatten().collect()
    }
}

/// A path as a key of JSON; other bytes than text are escaped so that two paths never meet.
fn key(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => format!("\0{path:?}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_git::FileMode;

    use super::*;

    fn digest(text: &str) -> Option<Digest> {
        Some(Digest::of_bytes(FileMode::Regular, text.as_bytes()))
    }

    #[test]
    fn undo_goes_back_by_turn() {
        let mut ledger = Ledger::default();
        assert_eq!((ledger.advance(1), ledger.advance(3), ledger.advance(3)), (0, 1, 2));
        assert_eq!(ledger.needed(), [0, 2].into());
        assert_eq!(ledger.undo(4), Ok(false));
        assert_eq!(ledger.undo(2), Ok(true));
        assert_eq!(ledger.current, Some(0));
        assert_eq!(ledger.undo(1), Ok(true));
        assert_eq!(ledger.current, None);
        assert_eq!(ledger.advance(4), 3, "a number is never used again");
    }

    #[test]
    fn what_is_in_the_workspace_stays_there() {
        let mut ledger = Ledger::default();
        ledger.advance(1);
        ledger.applied([(PathBuf::from("a"), digest("new"))]);
        ledger.advance(2);
        assert_eq!(ledger.undo(1), Err(Stuck::Applied));
        assert_eq!(ledger.undo(2), Ok(true));
    }

    #[test]
    fn an_original_that_changed_is_told() {
        let path = Path::new("a");
        let mut ledger = Ledger::default();
        ledger.note(1, path, digest("old"), false);
        ledger.note(2, path, digest("other"), true);
        let moved = |ledger: &Ledger, now: &str| !ledger.moved([(path, digest(now).as_ref())]).is_empty();
        assert!(!moved(&ledger, "old"));
        assert!(moved(&ledger, "other"));
        ledger.applied([(path.to_owned(), digest("new"))]);
        assert!(!moved(&ledger, "new"));
        assert!(moved(&ledger, "old"));
        let mut ledger = Ledger::default();
        ledger.note(1, path, digest("old"), true);
        assert!(moved(&ledger, "old"), "it changed while it was worked on");
        ledger.undo(1).unwrap();
        assert!(!moved(&ledger, "old"));
    }
}
