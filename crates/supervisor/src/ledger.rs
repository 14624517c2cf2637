//! The evidence ledger: append-only facts with ids and versions. It lives beside the state, which only holds ids.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{CheckRan, Event, Fact, FileChange};

/// Names one entry; counts from 1 without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId(pub u64);

/// One fact for later: what review and ethics cite as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub id: EntryId,
    /// When, as told by the fact.
    pub ts: u64,
    /// The workspace's version right after it: every mutation counts one.
    pub version: u64,
    /// What is known.
    #[serde(flatten)]
    pub what: What,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields repeat those of the facts they come from")]
pub enum What {
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
    Check(Box<CheckRan>),
    /// The model wrote text.
    Said,
}

/// The same, borrowed from the fact it is found in.
pub(crate) enum Found<'a> {
    Read { path: &'a str, hash: &'a str },
    Changed { path: &'a str, before: &'a str, after: &'a str },
    Searched(u32),
    Child,
    Command { call: &'a str, exit: i32, ok: bool, duration_ms: u64 },
    Check(&'a CheckRan),
    Said,
}

/// Everything a fact proves, in the one order that gives entries their ids.
pub(crate) fn for_each<'a>(fact: &'a Fact, mut take: impl FnMut(Found<'a>)) {
    match fact {
        Fact::ToolFinished(done) => {
            let evidence = &done.evidence;
            evidence.read.iter().for_each(|file| take(Found::Read { path: &file.path, hash: &file.hash }));
            changes(&evidence.changed, &mut take);
            if evidence.results > 0 {
                take(Found::Searched(evidence.results));
            }
            if evidence.child {
                take(Found::Child);
            }
            if let Some(exit) = done.exit {
                let (ok, duration_ms) = (done.ok, done.duration_ms);
                take(Found::Command { call: done.call.as_str(), exit, ok, duration_ms });
            }
        }
        Fact::CheckRan(check) => {
            changes(&check.changed, &mut take);
            take(Found::Check(check));
        }
        Fact::RoundEnded(end) => {
            changes(&end.changed, &mut take);
            if end.text {
                take(Found::Said);
            }
        }
        _ => {}
    }
}

fn changes<'a>(list: &'a [FileChange], take: &mut impl FnMut(Found<'a>)) {
    for change in list.iter().filter(|change| change.is_real()) {
        take(Found::Changed { path: &change.path, before: &change.before, after: &change.after });
    }
}

/// All entries of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    entries: Vec<Entry>,
    version: u64,
    /// What each path holds as far as is known, for freshness.
    contents: BTreeMap<String, String>,
}

impl Ledger {
    /// Adds what an event proves; to be called with every event, in order, before or after the reducer.
    pub fn absorb(&mut self, event: &Event) {
        for_each(&event.fact, |found| {
            let what = match found {
                Found::Read { path, hash } => {
                    self.contents.insert(path.to_owned(), hash.to_owned());
                    What::Read { path: path.to_owned(), hash: hash.to_owned() }
                }
                Found::Changed { path, before, after } => {
                    self.version += 1;
                    self.contents.insert(path.to_owned(), after.to_owned());
                    What::Changed {
                        path: path.to_owned(),
                        before: before.to_owned(),
                        after: after.to_owned(),
                    }
                }
                Found::Searched(results) => What::Searched { results },
                Found::Child => What::Child,
                Found::Command { call, exit, ok, duration_ms } => {
                    What::Command { call: call.to_owned(), exit, ok, duration_ms }
                }
                Found::Check(check) => What::Check(Box::new(check.clone())),
                Found::Said => What::Said,
            };
            let id = EntryId(self.entries.len() as u64 + 1);
            self.entries.push(Entry { id, ts: event.ts, version: self.version, what });
        });
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of that name.
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
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
    pub fn is_fresh(&self, id: EntryId) -> bool {
        let Some(entry) = self.get(id) else { return false };
        match &entry.what {
            What::Check(_) | What::Searched { .. } | What::Command { .. } => entry.version == self.version,
            What::Read { path, hash } | What::Changed { path, after: hash, .. } => {
                self.contents.get(path) == Some(hash)
            }
            What::Child | What::Said => true,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::scene::{Scene, check_ran, read, write};

    #[test]
    fn entries_count_and_mutations_bump_the_version() {
        let mut ledger = Ledger::default();
        for event in
            [read("c1", "a.rs", "h1"), write("c2", "a.rs", "h1", "h2"), write("c3", "a.rs", "h2", "h2")]
        {
            ledger.absorb(&Scene::event(event));
        }
        ledger.absorb(&Scene::event(check_ran("cargo test", 0, &[])));
        let ids: Vec<u64> = ledger.entries().iter().map(|entry| entry.id.0).collect();
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!(ledger.version(), 1);
        assert_eq!(ledger.entries()[2].version, 1);
        assert_eq!(ledger.get(EntryId(0)), None);
        assert_eq!(ledger.get(EntryId(4)), None);
        let change = FileChange { path: "b.rs".into(), before: "1".into(), after: "2".into() };
        let end = crate::event::RoundEnd { changed: vec![change.clone()], ..Default::default() };
        ledger.absorb(&Scene::event(Fact::RoundEnded(end)));
        assert_eq!((ledger.version(), ledger.entries().len()), (2, 4), "a background job");
        let Fact::CheckRan(mut check) = check_ran("cargo test", 0, &[]) else { return };
        check.changed = vec![change];
        ledger.absorb(&Scene::event(Fact::CheckRan(check)));
        assert_eq!(
            (ledger.version(), ledger.is_fresh(EntryId(6))),
            (3, true),
            "a check that writes is fresh"
        );
    }

    #[test]
    fn freshness_ends_with_a_mutation() {
        let mut ledger = Ledger::default();
        let mut fresh = |fact: Fact, expect: &[bool]| {
            ledger.absorb(&Scene::event(fact));
            let found: Vec<bool> = ledger.entries().iter().map(|entry| ledger.is_fresh(entry.id)).collect();
            assert_eq!(found, expect);
        };
        fresh(read("c1", "a.rs", "h1"), &[true]);
        fresh(check_ran("cargo test", 0, &[]), &[true, true]);
        fresh(write("c2", "b.rs", "", "x"), &[true, false, true]);
        fresh(write("c3", "a.rs", "h1", "h2"), &[false, false, true, true]);
        fresh(write("c4", "a.rs", "h2", "h1"), &[true, false, true, false, true]);
        fresh(
            Fact::RoundEnded(crate::event::RoundEnd { text: true, ..Default::default() }),
            &[true, false, true, false, true, true],
        );
        assert!(!ledger.is_fresh(EntryId(99)));
    }
}
