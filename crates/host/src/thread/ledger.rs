//! What is known about a thread's layers, as data: which one counts, and the way back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use holon_git::PathDigest;
use serde::{Deserialize, Deserializer, Serialize};

/// The layers of a thread; stored in one file that is replaced in one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LayerLedger {
    /// The layer that holds everything so far; none before the first change.
    pub current: Option<u64>,
    /// The number of the next layer.
    pub next: u64,
    /// By turn: the layer that counted before it.
    before: BTreeMap<u64, Option<u64>>,
    /// The turn whose writes are not taken in yet.
    pub open: Option<u64>,
    /// By path, as bytes in text where they are none: what was noted of its original, the latest last.
    #[serde(deserialize_with = "one_or_more")]
    seen: BTreeMap<String, Vec<LayerPathRecord>>,
    /// The last turn whose changes reached the workspace.
    applied: u64,
}

/// What a turn left at a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LayerPathRecord {
    turn: u64,
    /// The original when the turn changed it.
    base: Option<PathDigest>,
    /// Somebody else changed the original during that very turn.
    #[serde(default)]
    moved: bool,
    /// Since that turn the path is as the original has it, whatever that is.
    #[serde(default)]
    gone: bool,
}

/// Why turns cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RollbackRefusal {
    /// They are in the workspace already.
    Applied,
}

impl LayerLedger {
    /// A turn's writes are in a new layer, above the one that counted before.
    pub(super) fn advance(&mut self, turn: u64) -> u64 {
        let layer = self.next;
        self.before.entry(turn).or_insert(self.current);
        self.current = Some(layer);
        self.next += 1;
        self.open = None;
        layer
    }

    /// Notes the paths that differ after a turn, with their originals and whether somebody else changed those meanwhile.
    /// What was noted before counts on, as long as a path differs.
    pub(super) fn note<'a>(
        &mut self,
        turn: u64,
        now: impl IntoIterator<Item = (&'a Path, Option<PathDigest>, bool)>,
    ) {
        let mut others: BTreeSet<String> = self.seen.keys().cloned().collect();
        for (path, base, moved) in now {
            let key = key(path);
            others.remove(&key);
            let noted = self.seen.entry(key).or_default();
            if noted.last().is_none_or(|last| last.gone) {
                noted.push(LayerPathRecord { turn, base, moved, gone: false });
            }
        }
        for key in others {
            let noted = self.seen.entry(key).or_default();
            if noted.last().is_some_and(|last| !last.gone) {
                noted.push(LayerPathRecord { turn, base: None, moved: false, gone: true });
            }
        }
    }

    /// Which of these paths, with their originals as they are now, somebody else changed since they were touched.
    pub(super) fn moved<'a>(
        &self,
        now: impl IntoIterator<Item = (&'a Path, Option<&'a PathDigest>)>,
    ) -> BTreeSet<PathBuf> {
        let last = |path: &Path| self.seen.get(&key(path)).and_then(|noted| noted.last());
        let differs = |path: &Path, base: Option<&PathDigest>| match last(path).filter(|last| !last.gone) {
            Some(seen) => seen.moved || seen.base.as_ref() != base,
            // No turn changed it, so what is there now is somebody else's.
            None => base.is_some(),
        };
        now.into_iter().filter(|(path, base)| differs(path, *base)).map(|(path, _)| path.to_owned()).collect()
    }

    /// Whether a layer holds what a turn wrote.
    pub(super) fn has_changes_of(&self, turn: u64) -> bool {
        self.before.contains_key(&turn)
    }

    /// Goes back to before a turn; says whether that changed anything.
    pub(super) fn undo(&mut self, turn: u64) -> Result<bool, RollbackRefusal> {
        if turn <= self.applied {
            return Err(RollbackRefusal::Applied);
        }
        let later = self.before.split_off(&turn);
        self.seen.retain(|_, noted| {
            noted.retain(|seen| seen.turn < turn);
            !noted.is_empty()
        });
        match later.into_values().next() {
            Some(layer) => {
                self.current = layer;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// As it was before a turn, for a thread that goes on from there; where later changes are in the workspace already, it
    /// begins with the workspace as it is.
    pub(super) fn branched(&self, turn: u64) -> Self {
        let mut branch = Self { open: None, ..self.clone() };
        if branch.undo(turn).is_err() {
            return Self { next: self.next, ..Self::default() };
        }
        branch
    }

    /// Everything so far is in the workspace, and from here on the thread has no opinion about any path.
    pub(super) fn applied(&mut self) {
        let last = self.before.keys().next_back().copied().unwrap_or(0);
        self.applied = self.applied.max(last);
        self.seen.clear();
    }

    /// Layers that are still needed.
    pub(super) fn needed(&self) -> BTreeSet<u64> {
        self.before.values().copied().chain([self.current]).flatten().collect()
    }
}

/// Earlier releases noted a path once.
fn one_or_more<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, Vec<LayerPathRecord>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum LayerPathHistory {
        One(LayerPathRecord),
        More(Vec<LayerPathRecord>),
    }
    let noted = BTreeMap::<String, LayerPathHistory>::deserialize(from)?;
    let list = |noted| match noted {
        LayerPathHistory::One(seen) => vec![seen],
        LayerPathHistory::More(list) => list,
    };
    Ok(noted.into_iter().map(|(path, noted)| (path, list(noted))).collect())
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

    fn digest(text: &str) -> Option<PathDigest> {
        Some(PathDigest::of_bytes(FileMode::Regular, text.as_bytes()))
    }

    #[test]
    fn undo_goes_back_by_turn() {
        let mut ledger = LayerLedger::default();
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
        let mut ledger = LayerLedger::default();
        ledger.advance(1);
        ledger.applied();
        ledger.advance(2);
        assert_eq!(ledger.undo(1), Err(RollbackRefusal::Applied));
        assert_eq!(ledger.undo(2), Ok(true));
    }

    #[test]
    fn a_branch_begins_before_its_turn() {
        let mut ledger = LayerLedger::default();
        ledger.advance(1);
        ledger.advance(3);
        ledger.open = Some(4);
        let branch = ledger.branched(3);
        assert_eq!((branch.current, branch.open, branch.needed()), (Some(0), None, [0].into()));
        assert_eq!(ledger.branched(1).current, None);
        assert_eq!(ledger.branched(4).current, Some(1));
        assert_eq!(ledger.open, Some(4), "where it comes from stays as it is");
        ledger.applied();
        let after = ledger.branched(2);
        assert_eq!((after.current, after.needed()), (None, [].into()), "the workspace has it");
        assert_eq!(ledger.branched(4).current, Some(1));
    }

    fn moved(ledger: &LayerLedger, now: Option<&str>) -> bool {
        !ledger.moved([(Path::new("a"), now.and_then(digest).as_ref())]).is_empty()
    }

    #[test]
    fn an_original_that_changed_is_told() {
        let path = Path::new("a");
        let mut ledger = LayerLedger::default();
        ledger.note(1, [(path, digest("old"), false)]);
        ledger.note(2, [(path, digest("other"), true)]);
        assert!(!moved(&ledger, Some("old")));
        assert!(moved(&ledger, Some("other")) && moved(&ledger, None));
        let mut ledger = LayerLedger::default();
        ledger.note(1, [(path, digest("old"), true)]);
        assert!(moved(&ledger, Some("old")), "it changed while it was worked on");
    }

    #[test]
    fn what_no_turn_changed_is_somebody_elses() {
        let path = Path::new("a");
        let mut ledger = LayerLedger::default();
        assert!(moved(&ledger, Some("mine")));
        assert!(!moved(&ledger, None), "nothing is lost by adding");
        ledger.note(1, [(path, digest("old"), false)]);
        // The second turn puts it back, somebody goes on with it, and the third turn with that.
        ledger.note(2, []);
        assert!(moved(&ledger, Some("old")));
        let before = ledger.clone();
        ledger.note(3, [(path, digest("mine"), false)]);
        assert!(!moved(&ledger, Some("mine")) && moved(&ledger, Some("old")));
        ledger.undo(3).unwrap();
        assert_eq!(ledger, before);
        ledger.undo(2).unwrap();
        assert!(!moved(&ledger, Some("old")), "the first turn counts again");
        ledger.applied();
        assert!(moved(&ledger, Some("old")) && moved(&ledger, Some("mine")));
    }

    #[test]
    fn notes_of_earlier_releases_are_read() {
        let mut ledger = LayerLedger::default();
        ledger.note(1, [(Path::new("a"), digest("old"), false)]);
        let mut json = serde_json::to_value(&ledger).unwrap();
        assert_eq!(serde_json::from_value::<LayerLedger>(json.clone()).unwrap(), ledger);
        json["seen"]["a"] = json["seen"]["a"][0].take();
        json["seen"]["a"].as_object_mut().unwrap().remove("gone");
        assert_eq!(serde_json::from_value::<LayerLedger>(json).unwrap(), ledger);
    }
}
