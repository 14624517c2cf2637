//! What the state remembers of the evidence: enough to decide on, never more than a fixed size.

mod checks;
mod round;
#[cfg(test)]
mod tests;
mod tries;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use self::checks::COMMAND;
pub use self::checks::CheckState;
pub(crate) use self::round::FactEvidence;
pub use self::round::RoundEvidence;
pub(crate) use self::tries::{CallEnding, FailedCall};
use crate::event::{ProvenEffects, SupervisorFact};
use crate::goal::{self, PATH};
use crate::key::{FnvHash, clip_path, key, push_bounded};
use crate::ledger::{BorrowedFact, EvidenceId, for_each};
use crate::words::is_document;

const READS: usize = 96;
const CHANGED: usize = 64;
const CONTENTS: usize = 144;
/// So many searches in a row may find nothing and still be told as news.
const VAIN: u32 = 8;
/// Results that were seen.
const SEEN: usize = 256;
/// What fails for the so many-th time in a row tells nothing new any more.
const STREAK: u32 = 8;

/// Evidence as the reducer sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceMemory {
    version: u64,
    entries: u64,
    reads: Vec<ReadMark>,
    changed: Vec<ModifiedFile>,
    contents: Vec<u64>,
    checks: Vec<CheckState>,
    searched: Option<(EvidenceId, u64)>,
    child: Option<EvidenceId>,
    said: Option<(EvidenceId, u32)>,
    green_at: Option<u64>,
    /// Results of checks that came up before: coming back to one is no progress.
    results: Vec<u64>,
    /// Calls that may have changed what no hash shows, such as what is installed.
    doings: u64,
    /// Results of calls that came up before.
    seen: Vec<u64>,
    /// Calls that failed, as far as they may be tried again.
    tries: Vec<FailedCall>,
    /// Calls that failed in a row.
    streak: u32,
    /// Most lines that ever differed from the beginning.
    most_lines: u32,
    most_gone: u32,
    /// The version on which a command last ran.
    ran: Option<u64>,
    /// Searches in a row that found nothing.
    vain: u32,
    /// The cases of the last check that failed in this run, or its command.
    failed_last: Vec<String>,
    /// Tests that were there and have lost lines since a check failed.
    pub(crate) shrunk_tests: Vec<String>,
    /// Those that had before any failed: nobody got past a failure by them.
    #[serde(default)]
    rewritten_tests: Vec<String>,
    /// Changed files that were forgotten to stay bounded.
    forgotten: u32,
    /// What the round under way has brought.
    pub(crate) round: RoundEvidence,
}

/// A file that was read: path, content, entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ReadMark(u64, u64, EvidenceId);

/// A file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModifiedFile {
    /// Its path.
    pub path: String,
    /// The last change.
    pub entry: EvidenceId,
    content: u64,
    /// What was there before the first change.
    #[serde(rename = "was")]
    original: u32,
    /// Whether it was there before.
    pub(crate) old: bool,
}

impl EvidenceMemory {
    /// Takes in what a fact proves.
    pub(crate) fn absorb(&mut self, fact: &SupervisorFact, round: u32) -> FactEvidence {
        let mut brought = FactEvidence::default();
        if let SupervisorFact::ToolFinished(done) = fact
            && !done.check
            && (done.exit.is_some() || done.evidence == ProvenEffects::default())
        {
            self.doings += 1;
        }
        for_each(fact, |found| {
            self.entries += 1;
            let entry = EvidenceId(self.entries);
            match found {
                BorrowedFact::Read { path, hash } => self.read(path, hash, entry),
                BorrowedFact::Changed { path, before, after } => {
                    self.version += 1;
                    brought.mutations += 1;
                    self.change(path, before, after, entry);
                }
                BorrowedFact::Searched(_) => self.searched = Some((entry, self.version)),
                BorrowedFact::Child => {
                    self.child = Some(entry);
                    self.round.news = true;
                }
                BorrowedFact::Command { .. } => {}
                BorrowedFact::Check(check) => (brought.greener, brought.verified) = self.check(check, entry),
                BorrowedFact::Said => self.said = Some((entry, round)),
            }
        });
        brought
    }

    fn read(&mut self, path: &str, hash: &str, entry: EvidenceId) {
        let (path_key, content) = (key([path]), key([hash]));
        let old = self.reads.iter().position(|mark| mark.0 == path_key);
        let short = shorten(path);
        let mut own = false;
        if let Some(file) = self.changed.iter_mut().find(|file| file.path == short) {
            own = file.content == content;
            if !own {
                // Somebody else changed it since: what was proven about it no longer is.
                file.content = content;
                file.entry = EvidenceId(0);
            }
        }
        // Never read, or another one since; one's own work is known.
        self.round.news |= !own && old.is_none_or(|at| self.reads[at].1 != content);
        if let Some(old) = old {
            self.reads.remove(old);
        }
        push_bounded(&mut self.reads, ReadMark(path_key, content, entry), READS);
    }

    fn change(&mut self, path: &str, before: &str, after: &str, entry: EvidenceId) {
        let (path_key, content) = (key([path]), key([after]));
        for hash in [before, after] {
            let both = key([path, hash]);
            let novel = !self.contents.contains(&both);
            if novel {
                push_bounded(&mut self.contents, both, CONTENTS);
            }
            self.round.fresh |= hash == after && novel;
        }
        self.round.wrote = true;
        if let Some(mark) = self.reads.iter_mut().find(|mark| mark.0 == path_key) {
            // The read stays remembered as a path, and no longer proves anything.
            if mark.1 != content {
                mark.1 = content;
                mark.2 = EvidenceId(0);
            }
        }
        let path = shorten(path);
        let old = self.changed.iter().position(|file| file.path == path).map(|at| self.changed.remove(at));
        if old.is_none() {
            self.round.created |= before.is_empty();
            self.round.touched |= !before.is_empty();
        }
        let (path, old, original) = old.map_or_else(
            || (path.into_owned(), !before.is_empty(), key([before]) as u32),
            |file| (file.path, file.old, file.original),
        );
        if self.changed.len() >= CHANGED {
            self.forgotten = self.forgotten.saturating_add(1);
        }
        push_bounded(&mut self.changed, ModifiedFile { path, entry, content, original, old }, CHANGED);
    }

    /// Remembers what a call printed, and whether that is news.
    ///
    /// `empty` is an answer that names nothing, as of a search that found nothing.
    pub(crate) fn learn(&mut self, call: u64, result: Option<&str>, ok: bool, empty: bool) {
        self.vain = if empty {
            self.vain.saturating_add(1)
        } else if ok {
            0
        } else {
            self.vain
        };
        self.streak = if ok { 0 } else { self.streak.saturating_add(1) };
        self.round.succeeded |= ok;
        let Some(result) = result.filter(|result| !result.is_empty()) else { return };
        let mut pair = FnvHash::new();
        pair.number(call);
        pair.add(result);
        let (alone, pair) = (key([result]), pair.end());
        let novel = !self.seen.contains(&alone);
        // Another question with a known answer is another answer, if there is one at all.
        let answered = ok && !self.seen.contains(&pair) && self.vain <= VAIN;
        for seen in [alone, pair] {
            if !self.seen.contains(&seen) {
                push_bounded(&mut self.seen, seen, SEEN);
            }
        }
        self.round.news |= (novel || answered) && self.streak < STREAK;
    }

    /// Closes the round's account and opens the next.
    pub(crate) fn end_round(&mut self, lines: u32, gone: u32) -> RoundEvidence {
        let mut evidence = std::mem::take(&mut self.round);
        evidence.grew = lines > self.most_lines;
        self.most_lines = self.most_lines.max(lines);
        evidence.replaced = gone > self.most_gone;
        self.most_gone = self.most_gone.max(gone);
        evidence
    }

    /// Tests that were there and have lost lines by now.
    pub(crate) fn shrank(&mut self, tests: Vec<String>) {
        if self.failed_last.is_empty() && self.tried_checks().next().is_none() {
            self.rewritten_tests = tests;
            return;
        }
        let rewritten = std::mem::take(&mut self.rewritten_tests);
        self.shrunk_tests = tests.into_iter().filter(|path| !rewritten.contains(path)).collect();
        self.rewritten_tests = rewritten;
    }

    /// Whether something was changed, and all of it is as it was again.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.version > 0 && self.checks.is_empty() && self.changed_count() == 0
    }

    /// Whether everything that was changed is text for people.
    pub(crate) fn is_documentation(&self) -> bool {
        self.changed_count() > 0 && self.differing().all(|file| is_document(&file.path, !file.old))
    }

    /// Whether no command has run since something was last changed, or at all.
    pub(crate) fn is_unshown(&self) -> bool {
        let shown = if self.version > 0 { self.ran == Some(self.version) } else { self.ran.is_some() };
        !shown && self.checks.is_empty()
    }

    /// Whether everything was green when something was last known about it.
    pub(crate) fn was_green(&self) -> bool {
        self.green_at.is_some() && self.checks.iter().all(|check| check.ok)
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
    pub fn changed(&self) -> &[ModifiedFile] {
        &self.changed
    }

    /// How many files were changed.
    pub fn changed_count(&self) -> u32 {
        u32::try_from(self.differing().count()).unwrap_or(u32::MAX).saturating_add(self.forgotten)
    }

    /// Those of them that are not again as they were.
    pub fn differing(&self) -> impl DoubleEndedIterator<Item = &ModifiedFile> {
        self.changed.iter().filter(|file| file.content as u32 != file.original)
    }

    /// Fresh reads of named files, or of any when none is named.
    pub(crate) fn fresh_reads(&self, named: &[String], most: usize) -> Vec<EvidenceId> {
        let keys: Vec<u64> = named.iter().map(|path| key([path.as_str()])).collect();
        let wanted = |mark: &&ReadMark| mark.2.0 > 0 && (keys.is_empty() || keys.contains(&mark.0));
        let found: Vec<EvidenceId> =
            self.reads.iter().rev().filter(wanted).map(|mark| mark.2).take(most).collect();
        let any = |mark: &&ReadMark| mark.2.0 > 0;
        if found.is_empty() && !named.iter().any(|name| goal::is_file(name)) {
            return self.reads.iter().rev().filter(any).map(|mark| mark.2).take(most).collect();
        }
        found
    }

    /// The entry of a search whose results still hold.
    pub(crate) fn fresh_search(&self) -> Option<EvidenceId> {
        self.searched.filter(|(_, version)| *version == self.version).map(|(entry, _)| entry)
    }

    pub(crate) const fn child(&self) -> Option<EvidenceId> {
        self.child
    }

    /// The last text, and in which round it was written.
    pub(crate) const fn said(&self) -> Option<(EvidenceId, u32)> {
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
            file.entry = EvidenceId(0);
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
