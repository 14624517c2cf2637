//! The verification gate: done means checked. Told once, with the facts; the second time the run ends as what it is.

use holon_core::weakened::is_test_file;
use serde::{Deserialize, Serialize};

use crate::effect::StopKind;
use crate::event::KnownCheck;
use crate::goal;
use crate::key::clip;
use crate::known::Known;

/// What the gate says when the model is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// It is.
    Accepted,
    /// Nobody knows: a check has to run first, and then it is asked again.
    LookFirst,
    /// It is not, for this reason; go on.
    NotYet(String),
    /// It still is not: the end.
    Ends(StopKind, String),
}

/// Whether it was told already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    told: bool,
    /// A check was asked for, once per run.
    looked: bool,
    /// What it says is waited for.
    looking: bool,
}

impl Verification {
    /// The model says that it is done.
    pub(crate) fn done(&mut self, known: &Known, checks: &[KnownCheck], work: Work<'_>) -> Word {
        self.looking = false;
        // Done without having done anything: where something was to be changed, the check knows whether that is right.
        if work.changes
            && known.version() == 0
            && known.checks().is_empty()
            && !checks.is_empty()
            && !self.looked
        {
            (self.looked, self.looking) = (true, true);
            return Word::LookFirst;
        }
        let unchecked = checks.is_empty() && known.checks().is_empty();
        // What fails or passes by luck is about the work not done, too.
        let open = work.changes && (known.fresh_red().is_some() || known.fresh_luck().is_some());
        let nothing_to_verify = unchecked || (known.version() == 0 && !open);
        let weakened = weakened(known, work);
        if (nothing_to_verify || known.fresh_green().is_some()) && weakened.is_empty() {
            return Word::Accepted;
        }
        if !self.told {
            self.told = true;
            let failed = known.failed_last();
            let why =
                if weakened.is_empty() { why(known, checks) } else { weaker(&weakened, failed, work.goal) };
            return Word::NotYet(why);
        }
        if !weakened.is_empty() && known.fresh_green().is_some() {
            // Beside other work a test may have to change; alone it proves nothing.
            let only = known.changed().iter().all(|file| is_test_file(&file.path));
            let why = format!("only tests were changed to make the check pass: {}", weakened.join(", "));
            return if only { Word::Ends(StopKind::UserCheckpoint, why) } else { Word::Accepted };
        }
        let asked = checks.iter().any(|check| check.asked);
        Word::Ends(if asked { StopKind::CheckFailed } else { StopKind::Unverified }, why(known, checks))
    }

    /// Whether a check has to run before the model can be answered.
    pub(crate) const fn is_looking(&self) -> bool {
        self.looking
    }

    /// Whether the model was told that it is not done.
    pub(crate) const fn was_told(&self) -> bool {
        self.told
    }

    /// Something was verified, or somebody has looked: the next time is a first time again.
    pub(crate) fn forget(&mut self) {
        self.told = false;
    }
}

/// What was asked for, as far as this gate cares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    /// Whether it is about changing something.
    pub changes: bool,
    /// Whether tests themselves may change.
    pub tests: bool,
    pub goal: &'a str,
    pub named: &'a [String],
}

/// Tests that lost lines after a check had failed, in work that is not about them.
fn weakened(known: &Known, work: Work<'_>) -> Vec<String> {
    if work.tests || known.failed_last().is_empty() {
        return Vec::new();
    }
    let unnamed = |path: &&String| !goal::is_named(path, work.named);
    known.shrunk_tests.iter().filter(unnamed).cloned().collect()
}

fn weaker(tests: &[String], failed: &[String], goal: &str) -> String {
    let (tests, failed, goal) = (tests.join(", "), failed.join(", "), clip(goal, 200));
    format!(
        "Not verified: {failed} failed, and then lines went away from tests that were there: {tests}. The goal does not \
         ask for that: {goal}. Next step: put the tests back, repair what makes {failed} fail, and run the check again. \
         If they really have to change, say why in the summary."
    )
}

fn why(known: &Known, checks: &[KnownCheck]) -> String {
    let files = known.changed_count();
    let mut text = format!("Not verified: {files} changed file{}", if files == 1 { "" } else { "s" });
    match known.fresh_red() {
        None if known.fresh_luck().is_some() => {
            let luck = known.fresh_luck().map(|check| check.command.as_str()).unwrap_or_default();
            let cases = known.failed_last().join(", ");
            text.push_str(&format!(
                ", and `{luck}` failed ({cases}) and then passed on the very same state: that is luck."
            ));
        }
        Some(red) => {
            text.push_str(&format!(", and `{}` fails on the current state", red.command));
            if !red.failing.is_empty() {
                text.push_str(&format!(": {}", red.failing.join(", ")));
            }
            text.push('.');
        }
        None if known.checks().is_empty() => text.push_str(", and no check has run."),
        None => text.push_str(", and no check has run since the last change."),
    }
    match checks
        .first()
        .map(|check| &check.command)
        .or_else(|| known.checks().last().map(|check| &check.command))
    {
        Some(command) => {
            text.push_str(&format!(" Next step: run `{command}` and act on what it says before you finish."))
        }
        None => text.push_str(" Next step: run the checks before you finish."),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fact;
    use crate::scene::{check_ran, write};

    const LOOKING: Work<'_> = Work { changes: false, tests: false, goal: "look", named: &[] };
    const FIXING: Work<'_> = Work { changes: true, goal: "fix a.rs", ..LOOKING };

    fn known(facts: &[Fact]) -> Known {
        let mut known = Known::default();
        facts.iter().for_each(|fact| {
            known.absorb(fact, 1, &[]);
        });
        known
    }

    fn one(asked: bool) -> Vec<KnownCheck> {
        vec![KnownCheck { command: "make test".into(), asked }]
    }

    fn change() -> Fact {
        write("c", "a.rs", "1", "2")
    }

    #[test]
    fn accepted_when_nothing_changed_nothing_can_check_or_a_check_is_green() {
        let check = |facts: &[Fact], checks: &[KnownCheck], expect: bool| {
            let word = Verification::default().done(&known(facts), checks, LOOKING);
            assert_eq!(word == Word::Accepted, expect, "{facts:?}");
        };
        check(&[], &one(true), true);
        check(&[change()], &[], true);
        check(&[change(), check_ran("t", 0, &[])], &one(false), true);
        check(&[change()], &one(false), false);
        check(&[check_ran("t", 0, &[]), change()], &one(false), false);
        check(&[check_ran("t", 0, &[]), change()], &[], false);
        check(&[change(), check_ran("t", 1, &["x"])], &one(false), false);
        check(&[change(), check_ran("t", 0, &[]), check_ran("u", 1, &[])], &one(false), false);
        check(&[check_ran("t", 1, &[])], &one(false), true);
    }

    #[test]
    fn told_once_with_the_facts_and_then_it_ends() {
        let known = known(&[change(), check_ran("t", 1, &["case_a"])]);
        for (asked, end) in [(false, StopKind::Unverified), (true, StopKind::CheckFailed)] {
            let mut gate = Verification::default();
            let why = match gate.done(&known, &one(asked), LOOKING) {
                Word::NotYet(why) => why,
                other => format!("{other:?}"),
            };
            assert!(
                why.contains("1 changed file,") && why.contains("`t` fails") && why.contains("case_a"),
                "{why}"
            );
            assert!(why.contains("Next step: run `make test`"), "{why}");
            assert!(matches!(gate.done(&known, &one(asked), LOOKING), Word::Ends(kind, _) if kind == end));
            gate.forget();
            assert!(matches!(gate.done(&known, &one(asked), LOOKING), Word::NotYet(_)));
        }
    }

    #[test]
    fn the_reason_says_what_is_missing() {
        let why = |facts: &[Fact]| why(&known(facts), &one(false));
        assert!(why(&[change()]).contains("no check has run."));
        assert!(why(&[check_ran("t", 0, &[]), change()]).contains("since the last change"));
    }

    #[test]
    fn who_has_changed_nothing_is_not_done_while_a_check_fails() {
        let check = |facts: &[Fact], expect: bool| {
            let word = Verification::default().done(&known(facts), &one(false), FIXING);
            assert_eq!(word == Word::Accepted, expect, "{facts:?}");
        };
        check(&[check_ran("t", 1, &["x"])], false);
        check(&[check_ran("t", 0, &[])], true);
        let mut gate = Verification::default();
        assert_eq!(gate.done(&Known::default(), &one(false), FIXING), Word::LookFirst);
        assert!(gate.is_looking());
        assert_eq!(gate.done(&Known::default(), &one(false), FIXING), Word::Accepted, "nothing came of it");
        assert!(!gate.is_looking());
        let mut gate = Verification::default();
        assert_eq!(
            gate.done(&Known::default(), &one(true), LOOKING),
            Word::Accepted,
            "nothing was to be changed"
        );
    }

    #[test]
    fn luck_is_told_as_what_it_is() {
        let known = known(&[change(), check_ran("t", 1, &["case_a"]), check_ran("t", 0, &[])]);
        let word = Verification::default().done(&known, &one(false), FIXING);
        assert!(matches!(word, Word::NotYet(why) if why.contains("luck") && why.contains("case_a")));
    }

    #[test]
    fn tests_that_lost_lines_are_told_once_and_alone_need_a_person() {
        let path = "tests/test_a.py";
        let weak = |facts: &[Fact]| {
            let mut known = known(facts);
            known.shrunk_tests = vec![path.to_owned()];
            known
        };
        let red = || check_ran("t", 1, &["case_a"]);
        let test = || write("c", path, "1", "2");
        let green = || check_ran("t", 0, &[]);
        let alone = weak(&[red(), test(), green()]);
        let mut gate = Verification::default();
        let why = match gate.done(&alone, &one(false), FIXING) {
            Word::NotYet(why) => why,
            other => format!("{other:?}"),
        };
        assert!(why.contains(path) && why.contains("case_a") && why.contains("Next step"), "{why}");
        assert!(matches!(gate.done(&alone, &one(false), FIXING), Word::Ends(StopKind::UserCheckpoint, _)));
        let beside = weak(&[red(), test(), change(), green()]);
        assert_eq!(gate.done(&beside, &one(false), FIXING), Word::Accepted, "told, and there is other work");
        let mut gate = Verification::default();
        for (known, work) in [
            (weak(&[test(), green()]), FIXING),
            (weak(&[red(), test(), green()]), Work { tests: true, ..FIXING }),
            (weak(&[red(), test(), green()]), Work { named: &["tests/".to_owned()], ..FIXING }),
        ] {
            assert_eq!(gate.done(&known, &one(false), work), Word::Accepted);
        }
    }
}
