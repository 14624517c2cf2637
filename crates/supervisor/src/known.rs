//! What the state remembers of the evidence: enough to decide on, never more than a fixed size.

mod checks;
mod round;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use self::checks::COMMAND;
pub use self::checks::CheckState;
pub(crate) use self::round::Brought;
pub use self::round::RoundEvidence;
use crate::event::{Evidence, Fact};
use crate::goal::{self, PATH};
use crate::key::{clip_path, key, push_bounded};
use crate::ledger::{EntryId, Found, for_each};

const READS: usize = 96;
const CHANGED: usize = 64;
const CONTENTS: usize = 192;
/// Where checks are known, changes alone are new evidence for so many rounds after one last turned greener.
const DROUGHT: u32 = 16;
/// Calls whose success is remembered, for the trend.
const OUTCOMES: u32 = 8;

/// Evidence as the reducer sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    version: u64,
    entries: u64,
    reads: Vec<ReadMark>,
    changed: Vec<ChangedFile>,
    contents: Vec<u64>,
    checks: Vec<CheckState>,
    searched: Option<(EntryId, u64)>,
    child: Option<EntryId>,
    said: Option<(EntryId, u32)>,
    green_at: Option<u64>,
    /// Results of checks that came up before: coming back to one is no progress.
    results: Vec<u64>,
    /// Calls that may have changed what no hash shows, such as what is installed.
    doings: u64,
    /// The round in which a check last turned greener.
    greener_in: u32,
    /// The cases of the last check that failed in this run, or its command.
    failed_last: Vec<String>,
    /// Tests that were there and have lost lines.
    pub(crate) shrunk_tests: Vec<String>,
    outcomes: u32,
    calls: u32,
    /// How often something was asked for that cannot be undone.
    pub(crate) irreversible: u32,
    /// Changed files that were forgotten to stay bounded.
    forgotten: u32,
    /// What the round under way has brought.
    pub(crate) round: RoundEvidence,
}

/// A file that was read: path, content, entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ReadMark(u64, u64, EntryId);

/// A file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// The last change.
    pub entry: EntryId,
    content: u64,
    /// Whether it was there before.
    pub(crate) old: bool,
}

impl Known {
    /// Takes in what a fact proves.
    pub(crate) fn absorb(&mut self, fact: &Fact, round: u32, named: &[String]) -> Brought {
        let mut brought = Brought::default();
        if let Fact::ToolFinished(done) = fact
            && !done.check
            && (done.exit.is_some() || done.evidence == Evidence::default())
        {
            self.doings += 1;
        }
        for_each(fact, |found| {
            self.entries += 1;
            let entry = EntryId(self.entries);
            match found {
                Found::Read { path, hash } => self.read(path, hash, entry),
                Found::Changed { path, before, after } => {
                    self.version += 1;
                    brought.mutations += 1;
                    self.change(path, before, after, entry, named);
                }
                Found::Searched(_) => self.searched = Some((entry, self.version)),
                Found::Child => {
                    self.child = Some(entry);
                    self.round.read = true;
                }
                Found::Command { .. } => {}
                Found::Check(check) => (brought.greener, brought.verified) = self.check(check, entry),
                Found::Said => self.said = Some((entry, round)),
            }
        });
        brought
    }

    fn read(&mut self, path: &str, hash: &str, entry: EntryId) {
        let (path_key, content) = (key([path]), key([hash]));
        let old = self.reads.iter().position(|mark| mark.0 == path_key);
        let short = shorten(path);
        if let Some(file) = self.changed.iter_mut().find(|file| file.path == short) {
            if file.content != content {
                // Somebody else changed it since: what was proven about it no longer is.
                file.content = content;
                file.entry = EntryId(0);
            }
        } else if old.is_none() {
            self.round.read = true;
        }
        if let Some(old) = old {
            self.reads.remove(old);
        }
        push_bounded(&mut self.reads, ReadMark(path_key, content, entry), READS);
    }

    fn change(&mut self, path: &str, before: &str, after: &str, entry: EntryId, named: &[String]) {
        let (path_key, content) = (key([path]), key([after]));
        for hash in [before, after] {
            let both = key([path, hash]);
            let novel = !self.contents.contains(&both);
            if novel {
                push_bounded(&mut self.contents, both, CONTENTS);
            }
            if hash == after && novel && (named.is_empty() || goal::is_named(path, named)) {
                self.round.named_change = true;
            }
        }
        let inside = named.is_empty() || goal::is_in_area(path, named);
        self.round.inside |= inside;
        self.round.outside |= !inside;
        if !self.round.written.contains(&path_key) && self.round.written.len() < 64 {
            self.round.written.push(path_key);
        }
        if let Some(mark) = self.reads.iter_mut().find(|mark| mark.0 == path_key) {
            // The read stays remembered as a path, and no longer proves anything.
            if mark.1 != content {
                mark.1 = content;
                mark.2 = EntryId(0);
            }
        }
        let path = shorten(path);
        let old = self.changed.iter().position(|file| file.path == path).map(|at| self.changed.remove(at));
        let (path, old) =
            old.map_or_else(|| (path.into_owned(), !before.is_empty()), |file| (file.path, file.old));
        if self.changed.len() >= CHANGED {
            self.forgotten = self.forgotten.saturating_add(1);
        }
        push_bounded(&mut self.changed, ChangedFile { path, entry, content, old }, CHANGED);
    }

    /// Remembers whether a call or check succeeded.
    pub(crate) fn outcome(&mut self, ok: bool) {
        self.outcomes = (self.outcomes << 1 | u32::from(!ok)) & ((1 << OUTCOMES) - 1);
        self.calls = self.calls.saturating_add(1);
        self.round.succeeded |= ok;
    }

    /// Share of failures among the last calls, of 1000; 0 until there are enough to speak of a trend.
    pub(crate) fn failure_trend(&self) -> u32 {
        let calls = self.calls.min(OUTCOMES);
        if calls < 4 { 0 } else { self.outcomes.count_ones() * 1000 / calls }
    }

    /// Closes the round's account and opens the next; whether there is anything that could turn greener.
    pub(crate) fn end_round(&mut self, round: u32, checkable: bool) -> RoundEvidence {
        let mut evidence = std::mem::take(&mut self.round);
        if evidence.greener || evidence.verified {
            self.greener_in = round;
        }
        evidence.drought = checkable && round.saturating_sub(self.greener_in) > DROUGHT;
        evidence
    }

    /// The workspace's version: every mutation counts one.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// How many ledger entries there are.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// Files that were changed, the last ones first to be remembered.
    pub fn changed(&self) -> &[ChangedFile] {
        &self.changed
    }

    /// How many files were changed.
    pub fn changed_count(&self) -> u32 {
        u32::try_from(self.changed.len()).unwrap_or(u32::MAX).saturating_add(self.forgotten)
    }

    /// Fresh reads of named files, or of any when none is named.
    pub(crate) fn fresh_reads(&self, named: &[String], most: usize) -> Vec<EntryId> {
        let keys: Vec<u64> = named.iter().map(|path| key([path.as_str()])).collect();
        let wanted = |mark: &&ReadMark| mark.2.0 > 0 && (keys.is_empty() || keys.contains(&mark.0));
        let found: Vec<EntryId> =
            self.reads.iter().rev().filter(wanted).map(|mark| mark.2).take(most).collect();
        let any = |mark: &&ReadMark| mark.2.0 > 0;
        if found.is_empty() && !named.iter().any(|name| goal::is_file(name)) {
            return self.reads.iter().rev().filter(any).map(|mark| mark.2).take(most).collect();
        }
        found
    }

    /// The entry of a search whose results still hold.
    pub(crate) fn fresh_search(&self) -> Option<EntryId> {
        self.searched.filter(|(_, version)| *version == self.version).map(|(entry, _)| entry)
    }

    pub(crate) const fn child(&self) -> Option<EntryId> {
        self.child
    }

    /// The last text, and in which round it was written.
    pub(crate) const fn said(&self) -> Option<(EntryId, u32)> {
        self.said
    }

    /// What the workspace was found to hold takes the place of what the calls told.
    pub(crate) fn adopt(&mut self, path: &str, hash: &str) {
        let content = key([hash]);
        let path = shorten(path);
        if let Some(file) = self.changed.iter_mut().find(|file| file.path == path)
            && file.content != content
        {
            file.content = content;
            file.entry = EntryId(0);
        }
    }
}

/// A path as it is remembered.
fn shorten(path: &str) -> Cow<'_, str> {
    if path.len() <= PATH && !path.contains(char::is_control) {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(clip_path(path, PATH))
    }
}
