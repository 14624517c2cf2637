//! The evidence ledger: append-only facts with ids and versions. It lives beside the state, which only holds ids.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{CheckOutcome, HashedFileChange, SupervisorEvent, SupervisorFact};

/// Names one entry; counts from 1 without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EvidenceId(pub u64);

/// One fact for later: what review and ethics cite as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceEntry {
    /// Its name.
    pub id: EvidenceId,
    /// When, as told by the fact.
    pub ts: u64,
    /// The workspace's version right after it: every mutation counts one.
    pub version: u64,
    /// What is known.
    #[serde(flatten)]
    pub what: EvidenceFact,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields repeat those of the facts they come from")]
pub enum EvidenceFact {
    /// A file's content was seen.
    Read { path: String, hash: String },
    /// A file's content became another.
    Changed { path: String, before: String, after: String },
    /// A search gave results.
    Searched { results: u32 },
    /// A child agent gave its result.
    Child,
    /// A command ran to its end.
    Command { call: String, exit: i32, ok: bool, duration_ms: u64 },
    /// A check ran.
    Check(Box<CheckOutcome>),
    /// The model wrote text.
    Said,
}

/// The same, borrowed from the fact it is found in.
pub(crate) enum BorrowedFact<'a> {
    Read { path: &'a str, hash: &'a str },
    Changed { path: &'a str, before: &'a str, after: &'a str },
    Searched(u32),
    Child,
    Command { call: &'a str, exit: i32, ok: bool, duration_ms: u64 },
    Check(&'a CheckOutcome),
    Said,
}

/// Everything a fact proves, in the one order that gives entries their ids.
pub(crate) fn for_each<'a>(fact: &'a SupervisorFact, mut take: impl FnMut(BorrowedFact<'a>)) {
    match fact {
        SupervisorFact::ToolFinished(done) => {
            let evidence = &done.evidence;
            evidence
                .read
                .iter()
                .for_each(|file| take(BorrowedFact::Read { path: &file.path, hash: &file.hash }));
            changes(&evidence.changed, &mut take);
            if evidence.results > 0 {
                take(BorrowedFact::Searched(evidence.results));
            }
            if evidence.child {
                take(BorrowedFact::Child);
            }
            if let Some(exit) = done.exit {
                let (ok, duration_ms) = (done.ok, done.duration_ms);
                take(BorrowedFact::Command { call: done.call.as_str(), exit, ok, duration_ms });
            }
        }
        SupervisorFact::CheckRan(check) => {
            changes(&check.changed, &mut take);
            take(BorrowedFact::Check(check));
        }
        SupervisorFact::RoundEnded(end) => {
            changes(&end.changed, &mut take);
            if end.text {
                take(BorrowedFact::Said);
            }
        }
        _ => {}
    }
}

fn changes<'a>(list: &'a [HashedFileChange], take: &mut impl FnMut(BorrowedFact<'a>)) {
    for change in list.iter().filter(|change| change.is_real()) {
        take(BorrowedFact::Changed { path: &change.path, before: &change.before, after: &change.after });
    }
}

/// All entries of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceLedger {
    entries: Vec<EvidenceEntry>,
    version: u64,
    /// What each path holds as far as is known, for freshness.
    contents: BTreeMap<String, String>,
}

impl EvidenceLedger {
    /// Adds what an event proves; to be called with every event, in order, before or after the reducer.
    pub fn absorb(&mut self, event: &SupervisorEvent) {
        for_each(&event.fact, |found| {
            let what = match found {
                BorrowedFact::Read { path, hash } => {
                    self.contents.insert(path.to_owned(), hash.to_owned());
                    EvidenceFact::Read { path: path.to_owned(), hash: hash.to_owned() }
                }
                BorrowedFact::Changed { path, before, after } => {
                    self.version += 1;
                    self.contents.insert(path.to_owned(), after.to_owned());
                    EvidenceFact::Changed {
                        path: path.to_owned(),
                        before: before.to_owned(),
                        after: after.to_owned(),
                    }
                }
                BorrowedFact::Searched(results) => EvidenceFact::Searched { results },
                BorrowedFact::Child => EvidenceFact::Child,
                BorrowedFact::Command { call, exit, ok, duration_ms } => {
                    EvidenceFact::Command { call: call.to_owned(), exit, ok, duration_ms }
                }
                BorrowedFact::Check(check) => EvidenceFact::Check(Box::new(check.clone())),
                BorrowedFact::Said => EvidenceFact::Said,
            };
            let id = EvidenceId(self.entries.len() as u64 + 1);
            self.entries.push(EvidenceEntry { id, ts: event.ts, version: self.version, what });
        });
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[EvidenceEntry] {
        &self.entries
    }

    /// The entry of that name.
    pub fn get(&self, id: EvidenceId) -> Option<&EvidenceEntry> {
        self.entries.get(usize::try_from(id.0.checked_sub(1)?).ok()?)
    }

    /// The workspace's version now.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Whether an entry still speaks of the workspace as it is.
    ///
    /// A check, a search: nothing changed since. A file read or changed: it still holds that content. What was said or
    /// came from a child stays true.
    pub fn is_fresh(&self, id: EvidenceId) -> bool {
        let Some(entry) = self.get(id) else { return false };
        match &entry.what {
            EvidenceFact::Check(_) | EvidenceFact::Searched { .. } | EvidenceFact::Command { .. } => {
                entry.version == self.version
            }
            EvidenceFact::Read { path, hash } | EvidenceFact::Changed { path, after: hash, .. } => {
                self.contents.get(path) == Some(hash)
            }
            EvidenceFact::Child | EvidenceFact::Said => true,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::scene::{SupervisedScene, check_ran, read, write};

    #[test]
    fn entries_count_and_mutations_bump_the_version() {
        let mut ledger = EvidenceLedger::default();
        for event in
            [read("c1", "a.rs", "h1"), write("c2", "a.rs", "h1", "h2"), write("c3", "a.rs", "h2", "h2")]
        {
            ledger.absorb(&SupervisedScene::event(event));
        }
        ledger.absorb(&SupervisedScene::event(check_ran("cargo test", 0, &[])));
        let ids: Vec<u64> = ledger.entries().iter().map(|entry| entry.id.0).collect();
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!(ledger.version(), 1);
        assert_eq!(ledger.entries()[2].version, 1);
        assert_eq!(ledger.get(EvidenceId(0)), None);
        assert_eq!(ledger.get(EvidenceId(4)), None);
        let change = HashedFileChange { path: "b.rs".into(), before: "1".into(), after: "2".into() };
        let end = crate::event::RoundEnd { changed: vec![change.clone()], ..Default::default() };
        ledger.absorb(&SupervisedScene::event(SupervisorFact::RoundEnded(end)));
        assert_eq!((ledger.version(), ledger.entries().len()), (2, 4), "a background job");
        let SupervisorFact::CheckRan(mut check) = check_ran("cargo test", 0, &[]) else { return };
        check.changed = vec![change];
        ledger.absorb(&SupervisedScene::event(SupervisorFact::CheckRan(check)));
        assert_eq!(
            (ledger.version(), ledger.is_fresh(EvidenceId(6))),
            (3, true),
            "a check that writes is fresh"
        );
    }

    #[test]
    fn freshness_ends_with_a_mutation() {
        let mut ledger = EvidenceLedger::default();
        let mut fresh = |fact: SupervisorFact, expect: &[bool]| {
            ledger.absorb(&SupervisedScene::event(fact));
            let found: Vec<bool> = ledger.entries().iter().map(|entry| ledger.is_fresh(entry.id)).collect();
            assert_eq!(found, expect);
        };
        fresh(read("c1", "a.rs", "h1"), &[true]);
        fresh(check_ran("cargo test", 0, &[]), &[true, true]);
        fresh(write("c2", "b.rs", "", "x"), &[true, false, true]);
        fresh(write("c3", "a.rs", "h1", "h2"), &[false, false, true, true]);
        fresh(write("c4", "a.rs", "h2", "h1"), &[true, false, true, false, true]);
        fresh(
            SupervisorFact::RoundEnded(crate::event::RoundEnd { text: true, ..Default::default() }),
            &[true, false, true, false, true, true],
        );
        assert!(!ledger.is_fresh(EvidenceId(99)));
    }
}
