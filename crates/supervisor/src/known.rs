//! What the state remembers of the evidence: enough to decide on, never more than a fixed size.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::event::{CheckRan, Evidence, Fact};
use crate::goal::{self, PATH};
use crate::key::{Hash, clip, clip_path, key, push_bounded};
use crate::ledger::{EntryId, Found, for_each};

const READS: usize = 96;
const CHANGED: usize = 64;
const CONTENTS: usize = 192;
const CHECKS: usize = 8;
const FAILING: usize = 10;
const CASE: usize = 80;
pub(crate) const COMMAND: usize = 160;
/// Reading new files is new evidence for so many rounds of a run.
const READING_ROUNDS: u32 = 8;
/// Where checks are known, changes alone are new evidence for so many rounds after one last turned greener.
const DROUGHT: u32 = 16;
/// A check that passed where it had just failed has to pass so often in a row.
const STREAK: u32 = 3;
/// Calls whose success is remembered, for the trend.
const OUTCOMES: u32 = 8;
/// Results of checks that were seen.
const RESULTS: usize = 48;

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

/// The last result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckState {
    /// The command.
    pub command: String,
    /// The result's entry.
    pub entry: EntryId,
    /// The version it speaks of.
    pub version: u64,
    /// Whether it passed.
    pub ok: bool,
    /// The cases that failed, the first ones.
    pub failing: Vec<String>,
    /// How many failed.
    pub failed: u32,
    /// How bad it is: 0 when it passed.
    score: u64,
    /// How often in a row it passed, since it failed on this very version with nothing in between; 0 when it did not.
    luck: u32,
    doings: u64,
}

impl CheckState {
    /// The failing cases, or the command when it names none.
    pub(crate) fn cases(&self) -> Vec<String> {
        if self.failing.is_empty() { vec![format!("`{}`", self.command)] } else { self.failing.clone() }
    }

    /// Whether it passed only after it had failed on the same state, and not often enough since.
    pub const fn is_luck(&self) -> bool {
        self.luck > 0 && self.luck < STREAK
    }
}

/// What one round brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEvidence {
    /// A file not read before.
    pub read: bool,
    /// A named file got a content it never had.
    pub named_change: bool,
    /// A failing set or the diagnostics shrank.
    pub greener: bool,
    /// A check passed on a version no check had passed on.
    pub verified: bool,
    /// Files inside and outside of the named area were changed.
    pub inside: bool,
    /// See `inside`.
    pub outside: bool,
    /// A call succeeded.
    pub succeeded: bool,
    /// The distinct files written.
    pub written: Vec<u64>,
    /// No check turned greener for very long, so that changes alone are nothing new.
    pub drought: bool,
}

/// What a single fact brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    pub mutations: u32,
    pub greener: bool,
    pub verified: bool,
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

    fn check(&mut self, check: &CheckRan, entry: EntryId) -> (bool, bool) {
        if !check.could_run() {
            return (false, false);
        }
        let command = clip(&check.command, COMMAND);
        let ok = check.passed_whole();
        let failed = check.failed.max(check.failing.len().try_into().unwrap_or(u32::MAX));
        // A tree that does not build is worse than any number of failing cases.
        let score = if ok { 0 } else { (u64::from(check.diagnostics) << 32 | u64::from(failed)).max(1) };
        let before =
            self.checks.iter().position(|old| old.command == command).map(|at| self.checks.remove(at));
        // Without a change in between, another result is luck; one that was there before is going round in circles.
        let novel = self.is_novel(&command, check, score);
        let greener =
            novel && before.as_ref().is_some_and(|old| score < old.score && old.version != self.version);
        let luck = match &before {
            Some(old) if ok && old.version == self.version && old.doings == self.doings => match old.ok {
                true => old.luck + u32::from(old.luck > 0),
                false => 1,
            },
            _ => 0,
        };
        let (version, doings) = (self.version, self.doings);
        let failing = check.failing.iter().take(FAILING).map(|case| clip(case, CASE)).collect();
        let state = CheckState { command, entry, version, ok, failing, failed, score, luck, doings };
        let proven = ok && !state.is_luck();
        let verified = proven && self.green_at != Some(self.version);
        if proven {
            self.green_at = Some(self.version);
        }
        if !ok {
            self.failed_last = state.cases();
        }
        push_bounded(&mut self.checks, state, CHECKS);
        self.round.greener |= greener;
        self.round.verified |= verified;
        self.outcome(ok);
        (greener, verified)
    }

    /// Whether a result is one that was not there before, and remembers it.
    fn is_novel(&mut self, command: &str, check: &CheckRan, score: u64) -> bool {
        let mut cases: Vec<&str> = check.failing.iter().map(String::as_str).collect();
        cases.sort_unstable();
        let mut hash = Hash::new();
        hash.add(command);
        hash.number(score);
        cases.into_iter().for_each(|case| hash.add(case));
        let result = hash.end();
        let novel = !self.results.contains(&result);
        if novel {
            push_bounded(&mut self.results, result, RESULTS);
        }
        novel
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

    /// The last result of every check.
    pub fn checks(&self) -> &[CheckState] {
        &self.checks
    }

    /// Files that were changed, the last ones first to be remembered.
    pub fn changed(&self) -> &[ChangedFile] {
        &self.changed
    }

    /// How many files were changed.
    pub fn changed_count(&self) -> u32 {
        u32::try_from(self.changed.len()).unwrap_or(u32::MAX).saturating_add(self.forgotten)
    }

    /// Whether a check speaks of the workspace as it is.
    pub fn is_fresh(&self, check: &CheckState) -> bool {
        check.version == self.version
    }

    /// Whether a check of this command ran, and speaks of a workspace that is no longer as it was.
    pub(crate) fn is_due(&self, command: &str) -> bool {
        self.checks.iter().any(|check| check.command == command && !self.is_fresh(check))
    }

    /// A fresh passing check, if there is one and no fresh one fails.
    pub fn fresh_green(&self) -> Option<&CheckState> {
        if self.fresh_red().is_some() {
            return None;
        }
        if self.fresh_luck().is_some() {
            return None;
        }
        self.checks.iter().rev().find(|check| check.ok && self.is_fresh(check))
    }

    /// The cases that failed last in this run, whatever was since.
    pub(crate) fn failed_last(&self) -> &[String] {
        &self.failed_last
    }

    /// A fresh check that passed by luck.
    pub(crate) fn fresh_luck(&self) -> Option<&CheckState> {
        self.checks.iter().rev().find(|check| check.is_luck() && self.is_fresh(check))
    }

    /// A fresh failing check.
    pub fn fresh_red(&self) -> Option<&CheckState> {
        self.checks.iter().rev().find(|check| !check.ok && self.is_fresh(check))
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

impl RoundEvidence {
    /// Whether anything new is known.
    pub fn is_new(&self, round: u32) -> bool {
        (self.named_change && !self.drought)
            || self.greener
            || self.verified
            || (self.read && round <= READING_ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{check_ran, read, search, write};

    fn named(paths: &[&str]) -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    fn round_of(facts: &[Fact], names: &[&str]) -> RoundEvidence {
        let mut known = Known::default();
        for fact in facts {
            known.absorb(fact, 1, &named(names));
        }
        known.end_round(1, false)
    }

    #[test]
    fn a_new_file_read_is_evidence_for_eight_rounds() {
        let evidence = round_of(&[read("c1", "a.rs", "h")], &[]);
        assert!(evidence.is_new(1) && evidence.is_new(8) && !evidence.is_new(9));
        let mut known = Known::default();
        known.absorb(&read("c1", "a.rs", "h"), 1, &[]);
        known.end_round(1, false);
        known.absorb(&read("c2", "a.rs", "h"), 2, &[]);
        assert!(!known.end_round(1, false).is_new(2), "the same file again");
        known.absorb(&write("c3", "b.rs", "", "x"), 3, &[]);
        known.end_round(1, false);
        known.absorb(&read("c4", "b.rs", "x"), 3, &[]);
        assert!(!known.end_round(1, false).is_new(3), "one's own work");
    }

    #[test]
    fn a_named_file_must_get_a_content_it_never_had() {
        assert!(round_of(&[write("c1", "a.rs", "1", "2")], &["a.rs"]).is_new(20));
        assert!(round_of(&[write("c1", "a.rs", "1", "2")], &[]).is_new(20), "nothing is named");
        assert!(!round_of(&[write("c1", "b.rs", "1", "2")], &["a.rs"]).is_new(20));
        let mut known = Known::default();
        let names = named(&["a.rs"]);
        known.absorb(&write("c1", "a.rs", "1", "2"), 1, &names);
        known.end_round(1, false);
        known.absorb(&write("c2", "a.rs", "2", "1"), 2, &names);
        known.absorb(&write("c3", "a.rs", "1", "2"), 2, &names);
        assert!(!known.end_round(1, false).is_new(2), "to and fro");
    }

    #[test]
    fn inside_and_outside_of_the_area_are_told_apart() {
        let of = |path: &str| {
            let evidence = round_of(&[write("c1", path, "1", "2")], &["src/a.rs"]);
            (evidence.inside, evidence.outside)
        };
        assert_eq!(of("src/b.rs"), (true, false));
        assert_eq!(of("docs/b.md"), (false, true));
    }

    #[test]
    fn greener_needs_fewer_failures_and_a_change_in_between() {
        let check = |first: Fact, change: bool, second: Fact, expect: bool| {
            let mut known = Known::default();
            known.absorb(&first, 1, &[]);
            if change {
                known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
            }
            let brought = known.absorb(&second, 1, &[]);
            assert_eq!((brought.greener, known.end_round(1, false).greener), (expect, expect), "{second:?}");
        };
        let red = |cases: &[&str]| check_ran("t", 1, cases);
        let broken = |errors: u32| {
            let Fact::CheckRan(mut ran) = check_ran("t", 1, &[]) else { return Fact::ModelDone };
            ran.diagnostics = errors;
            Fact::CheckRan(ran)
        };
        check(red(&["a", "b"]), true, red(&["a"]), true);
        check(red(&["a", "b"]), false, red(&["a"]), false);
        check(red(&["a"]), true, red(&["b"]), false);
        check(red(&["a"]), true, red(&["a", "b"]), false);
        check(red(&["a"]), true, check_ran("t", 0, &[]), true);
        check(check_ran("t", 0, &[]), true, check_ran("t", 0, &[]), false);
        check(red(&["a"]), true, check_ran("other", 0, &[]), false);
        check(broken(3), true, broken(2), true);
        check(broken(1), true, red(&["a", "b", "c"]), true);
        check(red(&["a"]), true, broken(1), false);
    }

    #[test]
    fn one_success_per_version() {
        let mut known = Known::default();
        let green = check_ran("t", 0, &[]);
        assert!(known.absorb(&green, 1, &[]).verified);
        assert!(!known.absorb(&green, 1, &[]).verified);
        known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
        assert!(known.absorb(&green, 1, &[]).verified);
    }

    #[test]
    fn luck_is_no_success() {
        let (red, green) = (check_ran("t", 1, &["x"]), check_ran("t", 0, &[]));
        let mut known = Known::default();
        known.absorb(&red, 1, &[]);
        for expect in [false, false, true] {
            assert_eq!(known.absorb(&green, 1, &[]).verified, expect, "passing is proven by the third time");
            assert_eq!((known.fresh_green().is_some(), known.fresh_luck().is_none()), (expect, expect));
        }
        known.absorb(&red, 1, &[]);
        let mut installed = crate::scene::finished("c", true, Evidence::default());
        installed.exit = Some(0);
        known.absorb(&Fact::ToolFinished(installed), 1, &[]);
        known.absorb(&green, 1, &[]);
        assert!(known.fresh_green().is_some(), "something was done in between");
        known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
        known.absorb(&red, 1, &[]);
        known.absorb(&write("c2", "a.rs", "2", "3"), 1, &[]);
        assert!(known.absorb(&green, 1, &[]).verified, "something was changed in between");
    }

    #[test]
    fn going_to_and_fro_between_results_is_no_progress() {
        let mut known = Known::default();
        let mut content = 0;
        let mut turn = |cases: &[&str]| {
            content += 1;
            known.absorb(&write("c", "a.rs", &content.to_string(), &format!("{content}x")), 1, &[]);
            known.absorb(&check_ran("t", 1, cases), 1, &[]).greener
        };
        assert!(!turn(&["a", "b"]));
        assert!(turn(&["a"]), "fewer");
        assert!(!turn(&["a", "b"]) && !turn(&["a"]), "where it was before");
        assert!(!turn(&["a", "b"]) && turn(&["b"]), "another one is mended");
    }

    #[test]
    fn changes_alone_do_not_count_for_ever() {
        let mut known = Known::default();
        let mut round = |round: u32, checkable: bool| {
            known.absorb(&write("c", &format!("{round}.rs"), "", "x"), round, &[]);
            known.end_round(round, checkable).is_new(round)
        };
        assert!(round(DROUGHT, true) && !round(DROUGHT + 1, true));
        assert!(round(DROUGHT + 2, false), "where nothing can be checked, they do");
        known.absorb(&check_ran("t", 0, &[]), 30, &[]);
        known.end_round(30, true);
        known.absorb(&write("c", "z.rs", "", "x"), 40, &[]);
        assert!(known.end_round(40, true).is_new(40), "a check has passed since");
    }

    #[test]
    fn green_is_fresh_until_something_changes_or_fails() {
        let mut known = Known::default();
        known.absorb(&check_ran("t", 0, &[]), 1, &[]);
        assert!(known.fresh_green().is_some());
        known.absorb(&check_ran("lint", 1, &[]), 1, &[]);
        assert!(known.fresh_green().is_none() && known.fresh_red().is_some());
        known.absorb(&write("c0", "a.rs", "0", "1"), 1, &[]);
        known.absorb(&check_ran("lint", 0, &[]), 1, &[]);
        assert!(known.fresh_green().is_some());
        known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
        assert!(known.fresh_green().is_none() && known.fresh_red().is_none());
    }

    #[test]
    fn reads_prove_what_has_not_changed() {
        let mut known = Known::default();
        known.absorb(&read("c1", "a.rs", "1"), 1, &[]);
        known.absorb(&read("c2", "b.rs", "1"), 1, &[]);
        assert_eq!(known.fresh_reads(&named(&["a.rs"]), 8), [EntryId(1)]);
        assert_eq!(known.fresh_reads(&named(&["c.rs"]), 8), []);
        assert_eq!(known.fresh_reads(&named(&["src/"]), 8).len(), 2, "a folder is not one file");
        assert_eq!(known.fresh_reads(&[], 8), [EntryId(2), EntryId(1)]);
        known.absorb(&write("c3", "a.rs", "1", "2"), 1, &[]);
        assert_eq!(known.fresh_reads(&[], 8), [EntryId(2)]);
        known.absorb(&search("c4", 3), 1, &[]);
        assert_eq!(known.fresh_search(), Some(EntryId(4)));
        known.absorb(&write("c5", "a.rs", "2", "3"), 1, &[]);
        assert_eq!(known.fresh_search(), None);
    }

    #[test]
    fn the_trend_speaks_of_the_last_eight() {
        let mut known = Known::default();
        (0..3).for_each(|_| known.outcome(false));
        assert_eq!(known.failure_trend(), 0);
        known.outcome(true);
        assert_eq!(known.failure_trend(), 750);
        (0..8).for_each(|_| known.outcome(true));
        assert_eq!(known.failure_trend(), 0);
        (0..4).for_each(|_| known.outcome(false));
        assert_eq!(known.failure_trend(), 500);
    }

    #[test]
    fn memory_is_bounded() {
        let mut known = Known::default();
        for i in 0..2000 {
            let path = format!("{}/{i}", "deep".repeat(100));
            known.absorb(&read("c", &path, "1"), 1, &[]);
            known.absorb(&write("c", &path, "1", "2"), 1, &[]);
            known.absorb(&check_ran(&path, 1, &[path.as_str(); 40]), 1, &[]);
        }
        let size = serde_json::to_string(&known).map(|text| text.len()).unwrap_or(usize::MAX);
        assert!(size < 50_000, "{size}");
        assert_eq!(known.changed_count(), 2000);
    }
}
