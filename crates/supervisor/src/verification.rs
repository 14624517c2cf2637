//! The verification gate: done means checked. Told once, with the facts; the second time the run ends as what it is.

use std::fmt::Write as _;

use holon_core::weakened::is_test_file;
use serde::{Deserialize, Serialize};

use crate::effect::StopKind;
use crate::event::CheckCommand;
use crate::goal;
use crate::known::{CheckState, EvidenceMemory, FailedCall, ModifiedFile};
use crate::words::{is_build_file, is_called_check};

/// What the gate says when the model is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DoneRuling {
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
pub struct VerificationGate {
    told: bool,
    /// Whether it was told that it changed what checks its work.
    #[serde(default)]
    warned: bool,
    /// The version a check was asked for.
    looked: Option<u64>,
    /// What it says is waited for.
    looking: bool,
}

impl VerificationGate {
    /// The model says that it is done.
    pub(crate) fn done(
        &mut self,
        known: &EvidenceMemory,
        checks: &[CheckCommand],
        work: &RequestedWork<'_>,
    ) -> DoneRuling {
        self.looking = false;
        // Nobody knows: the check does, and whoever is right is not asked to show it.
        let ours = |command: &str| checks.iter().any(|check| check.command == command);
        let fresh = known.checks().iter().any(|check| known.is_fresh(check) && ours(&check.command));
        let worth = known.version() > 0 || (work.changes && known.checks().is_empty());
        if worth && !fresh && !checks.is_empty() && self.looked != Some(known.version()) {
            (self.looked, self.looking) = (Some(known.version()), true);
            return DoneRuling::LookFirst;
        }
        let weakened = weakened(known, work);
        let red = known.fresh_red().is_some() && work.red.is_some();
        let luck = work.changes && known.fresh_luck().is_some();
        let unseen = known.version() > 0 && !fresh && checks.iter().any(|check| check.asked);
        let open = (red || work.trial.is_some() || work.unshown) && (work.changes || known.version() > 0);
        if !open && !luck && !unseen && weakened.is_empty() {
            return DoneRuling::Accepted;
        }
        // Who changes what checks the work once more is green by that, and proves nothing.
        let first = if weakened.is_empty() { !self.told } else { !std::mem::replace(&mut self.warned, true) };
        if first {
            self.told = true;
            let why = if weakened.is_empty() { why(known, checks, work) } else { weaker(&weakened, known) };
            return DoneRuling::NotYet(why);
        }
        let only_unshown = work.unshown && !red && work.trial.is_none();
        if only_unshown && !work.must_show && !luck && !unseen && weakened.is_empty() {
            return DoneRuling::Accepted;
        }
        if !weakened.is_empty() && !open && !luck {
            // Beside other work a test may have to change; alone it proves nothing.
            let only =
                known.differing().all(|file| is_test_file(&file.path) || weakened.contains(&file.path));
            let why = format!("only tests were changed to make the check pass: {}", weakened.join(", "));
            return if only { DoneRuling::Ends(StopKind::UserCheckpoint, why) } else { DoneRuling::Accepted };
        }
        let asked = checks.iter().any(|check| check.asked);
        DoneRuling::Ends(
            if asked { StopKind::CheckFailed } else { StopKind::Unverified },
            why(known, checks, work),
        )
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
pub(crate) struct RequestedWork<'a> {
    /// Whether it is about changing something.
    pub changes: bool,
    /// Whether tests themselves may change.
    pub tests: bool,
    pub named: &'a [String],
    /// Cases that fail and did not before, or that the goal is about, with their check.
    pub red: Option<(&'a CheckState, &'a [String])>,
    /// Where no check is known: what the agent goes by, and fails.
    pub trial: Option<&'a FailedCall>,
    /// Where no check is known: whether something was to be repaired, and nothing ran since it was changed.
    pub unshown: bool,
    /// Whether that is more than a word: the goal speaks of what shows it, or there is nothing to show.
    pub must_show: bool,
}

/// Tests that lost lines after a check had failed, in work that is not about them.
fn weakened(known: &EvidenceMemory, work: &RequestedWork<'_>) -> Vec<String> {
    let failed = !known.failed_last().is_empty() || known.tried_checks().next().is_some();
    if work.tests || !failed {
        return Vec::new();
    }
    let unnamed = |path: &&String| !goal::is_named(path, work.named);
    let shrunk: Vec<String> = known.shrunk_tests.iter().filter(unnamed).cloned().collect();
    if !shrunk.is_empty() {
        return shrunk;
    }
    // Nothing was changed but what failed.
    let known_check = !known.failed_last().is_empty();
    let names: Vec<String> = (known.tried_checks().flat_map(str::split_whitespace))
        .map(|word| word.trim_start_matches("./").to_owned())
        .collect();
    let checks = |file: &ModifiedFile| {
        let called = is_called_check(&file.path) && (known_check || goal::is_named(&file.path, &names));
        file.old && (called || (known_check && is_build_file(&file.path)))
    };
    if known_check && known.fresh_green().is_none() {
        return Vec::new();
    }
    let changed: Vec<&ModifiedFile> = known.differing().collect();
    if !changed.iter().all(|file| checks(file)) {
        return Vec::new();
    }
    changed.iter().map(|file| &file.path).filter(unnamed).cloned().collect()
}

fn weaker(tests: &[String], known: &EvidenceMemory) -> String {
    let failed = match known.failed_last() {
        [] => known.tried_checks().next().map(|line| format!("`{line}`")).unwrap_or_default(),
        cases => cases.join(", "),
    };
    let tests = tests.join(", ");
    format!(
        "Not verified: {failed} failed, and then what checks the work was changed: {tests}. Next step: put the tests back, repair what makes {failed} fail, and run the check again. \
         If they really have to change, say why in the summary."
    )
}

fn why(known: &EvidenceMemory, checks: &[CheckCommand], work: &RequestedWork<'_>) -> String {
    let mut text = match known.changed_count() {
        0 => "Not verified: no file was changed".to_owned(),
        1 => "Not verified: 1 changed file".to_owned(),
        files => format!("Not verified: {files} changed files"),
    };
    if let Some((check, cases)) = work.red {
        let (command, cases) = (&check.command, cases.join(", "));
        let _ = write!(text, ", and `{command}` fails on the current state: {cases}.");
        if !check.knows_before() {
            text.push_str(
                " Whether it did before your change is not known: what did is not your task, say so then.",
            );
        }
        let _ = write!(
            text,
            " Next step: repair what makes `{command}` fail, and run it again before you finish."
        );
        return text;
    }
    if let Some(luck) = known.fresh_luck() {
        let (luck, cases) = (&luck.command, known.failed_last().join(", "));
        let _ = write!(
            text,
            ", and `{luck}` failed ({cases}) and then passed on the very same state: that is luck."
        );
        let _ = write!(text, " Next step: run `{luck}` and act on what it says before you finish.");
        return text;
    }
    if let Some(one) = work.trial {
        let said = if one.says.is_empty() { String::new() } else { format!(": {}", one.says) };
        let _ = write!(text, ", and `{}` failed when it last ran{said}.", one.label);
        text.push_str(" Next step: repair that, and run it again to show that it passes.");
        return text;
    }
    if work.unshown && known.is_taken_back() {
        return "Not verified: every file is again as it was. Next step: make the change that the goal asks for, and run \
                something that shows whether it works. If nothing is to be changed, say what shows that."
            .to_owned();
    }
    if work.unshown && known.version() == 0 {
        text.push_str(
            ", and nothing has run. Next step: make the change that the goal asks for, and run something that shows \
             whether it works. If nothing is to be changed, say what shows that.",
        );
        return text;
    }
    if work.unshown {
        text.push_str(
            ", and nothing has run since the last change. Next step: run something that shows whether it works, and \
             act on what it says before you finish.",
        );
        return text;
    }
    let command = checks.first().map(|check| check.command.as_str()).unwrap_or_default();
    let _ = write!(text, ", and `{command}` has not run on the current state. Next step: run `{command}`.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SupervisorFact;
    use crate::goal::CheckDemand;
    use crate::known::CallEnding;
    use crate::scene::{check_ran, write};

    fn known(facts: &[SupervisorFact]) -> EvidenceMemory {
        let mut known = EvidenceMemory::default();
        facts.iter().for_each(|fact| {
            known.absorb(fact, 1);
        });
        known
    }

    fn one(asked: bool) -> Vec<CheckCommand> {
        vec![CheckCommand { command: "t".into(), asked }]
    }

    fn change() -> SupervisorFact {
        write("c", "a.rs", "1", "2")
    }

    /// What the gate says about work that wants something changed.
    fn ask(
        gate: &mut VerificationGate,
        known: &EvidenceMemory,
        checks: &[CheckCommand],
        goal: &str,
        tests: bool,
    ) -> DoneRuling {
        let demand = CheckDemand::of(goal, goal.starts_with("fix"), &[]);
        let red = known.fresh_red();
        let cases = red.map(|red| red.own_cases(demand.covers(&red.cases()))).unwrap_or_default();
        let red = red.filter(|_| !cases.is_empty()).map(|red| (red, cases.as_slice()));
        let changes = !goal.starts_with("look");
        gate.done(
            known,
            checks,
            &RequestedWork { changes, tests, named: &[], red, trial: None, unshown: false, must_show: false },
        )
    }

    fn first(facts: &[SupervisorFact], goal: &str) -> DoneRuling {
        ask(&mut VerificationGate::default(), &known(facts), &one(false), goal, false)
    }

    #[test]
    fn accepted_when_nothing_fails_that_is_its_own() {
        assert_eq!(first(&[change(), check_ran("t", 0, &[])], "add x"), DoneRuling::Accepted);
        assert_eq!(first(&[], "look at x"), DoneRuling::Accepted, "nothing was to be changed");
        assert_eq!(first(&[check_ran("t", 1, &["a"])], "look at x"), DoneRuling::Accepted);
        let before = [check_ran("t", 1, &["legacy"]), change(), check_ran("t", 1, &["legacy"])];
        assert_eq!(first(&before, "add x"), DoneRuling::Accepted, "it failed before");
        assert!(matches!(first(&before, "fix x"), DoneRuling::NotYet(_)), "the goal is about it");
        let broken = [check_ran("t", 1, &["legacy"]), change(), check_ran("t", 1, &["legacy", "mine"])];
        assert!(
            matches!(first(&broken, "add x"), DoneRuling::NotYet(why) if why.contains("mine") && !why.contains("legacy"))
        );
        let known = known(&[change()]);
        assert_eq!(
            ask(&mut VerificationGate::default(), &known, &[], "add x", false),
            DoneRuling::Accepted,
            "no check"
        );
    }

    #[test]
    fn a_repair_that_nothing_shows_is_held_once_and_then_for_a_person() {
        let (known, mut gate) = (known(&[change()]), VerificationGate::default());
        let work = RequestedWork {
            changes: true,
            tests: false,
            named: &[],
            red: None,
            trial: None,
            unshown: true,
            must_show: true,
        };
        assert!(
            matches!(gate.done(&known, &[], &work), DoneRuling::NotYet(why) if why.contains("nothing has run since the last change"))
        );
        assert!(matches!(gate.done(&known, &[], &work), DoneRuling::Ends(StopKind::Unverified, _)));
        let mut lenient = VerificationGate::default();
        let unspoken = RequestedWork { must_show: false, ..work };
        assert!(matches!(lenient.done(&known, &[], &unspoken), DoneRuling::NotYet(_)));
        assert_eq!(lenient.done(&known, &[], &unspoken), DoneRuling::Accepted, "asked once, and no more");
        let shown = RequestedWork { unshown: false, ..work };
        assert_eq!(VerificationGate::default().done(&known, &[], &shown), DoneRuling::Accepted);
    }

    #[test]
    fn where_no_runner_is_known_a_check_that_failed_and_is_all_that_was_changed_is_told() {
        let failed = |known: &mut EvidenceMemory| {
            known.ended(&CallEnding {
                call: 1,
                label: "sh ./check.sh",
                command: true,
                wrote: false,
                ok: false,
                exit: Some(1),
                result: None,
                says: "no",
                waits: false,
            });
        };
        let work = RequestedWork {
            changes: true,
            tests: false,
            named: &[],
            red: None,
            trial: None,
            unshown: false,
            must_show: true,
        };
        let mut alone = known(&[]);
        failed(&mut alone);
        alone.absorb(&write("c", "check.sh", "1", "2"), 1);
        let mut gate = VerificationGate::default();
        let word = gate.done(&alone, &[], &work);
        assert!(
            matches!(word, DoneRuling::NotYet(why) if why.contains("check.sh") && why.contains("failed"))
        );
        assert!(matches!(gate.done(&alone, &[], &work), DoneRuling::Ends(StopKind::UserCheckpoint, _)));
        let named = ["check.sh".to_owned()];
        let wanted = RequestedWork { named: &named, ..work };
        assert_eq!(
            VerificationGate::default().done(&alone, &[], &wanted),
            DoneRuling::Accepted,
            "the goal names it"
        );
        alone.absorb(&change(), 1);
        assert_eq!(
            VerificationGate::default().done(&alone, &[], &work),
            DoneRuling::Accepted,
            "there is other work"
        );
        let mut unfailed = known(&[]);
        unfailed.absorb(&write("c", "check.sh", "1", "2"), 1);
        assert_eq!(VerificationGate::default().done(&unfailed, &[], &work), DoneRuling::Accepted);
    }

    #[test]
    fn where_nobody_knows_a_check_is_run_first_and_once_per_version() {
        for facts in
            [vec![change()], vec![check_ran("t", 0, &[]), change()], vec![change(), check_ran("u", 0, &[])]]
        {
            let (known, mut gate) = (known(&facts), VerificationGate::default());
            assert_eq!(ask(&mut gate, &known, &one(false), "add x", false), DoneRuling::LookFirst);
            assert!(gate.is_looking());
            assert_eq!(
                ask(&mut gate, &known, &one(false), "add x", false),
                DoneRuling::Accepted,
                "nothing came of it"
            );
            assert!(!gate.is_looking());
        }
        let (known, mut gate) = (known(&[change()]), VerificationGate::default());
        assert_eq!(ask(&mut gate, &known, &one(true), "add x", false), DoneRuling::LookFirst);
        assert!(
            matches!(ask(&mut gate, &known, &one(true), "add x", false), DoneRuling::NotYet(_)),
            "it was asked for"
        );
        assert_eq!(first(&[], "fix x"), DoneRuling::LookFirst, "nothing was done");
    }

    #[test]
    fn told_once_with_the_facts_and_then_it_ends() {
        let known = known(&[change(), check_ran("t", 1, &["case_a"])]);
        for (asked, end) in [(false, StopKind::Unverified), (true, StopKind::CheckFailed)] {
            let mut gate = VerificationGate::default();
            let why = match ask(&mut gate, &known, &one(asked), "add x", false) {
                DoneRuling::NotYet(why) => why,
                other => format!("{other:?}"),
            };
            assert!(
                why.contains("1 changed file,") && why.contains("`t` fails") && why.contains("case_a"),
                "{why}"
            );
            assert!(why.contains("Next step: repair") && why.contains("is not known"), "{why}");
            let again = ask(&mut gate, &known, &one(asked), "add x", false);
            assert!(matches!(again, DoneRuling::Ends(kind, _) if kind == end));
            gate.forget();
            assert!(matches!(ask(&mut gate, &known, &one(asked), "add x", false), DoneRuling::NotYet(_)));
        }
    }

    #[test]
    fn luck_is_told_as_what_it_is() {
        let word = first(&[change(), check_ran("t", 1, &["case_a"]), check_ran("t", 0, &[])], "fix x");
        assert!(matches!(word, DoneRuling::NotYet(why) if why.contains("luck") && why.contains("case_a")));
    }

    #[test]
    fn tests_that_lost_lines_are_told_once_and_alone_need_a_person() {
        let path = "tests/test_a.py";
        let weak = |facts: &[SupervisorFact]| {
            let mut known = known(facts);
            known.shrunk_tests = vec![path.to_owned()];
            known
        };
        let red = || check_ran("t", 1, &["case_a"]);
        let test = || write("c", path, "1", "2");
        let green = || check_ran("t", 0, &[]);
        let alone = weak(&[red(), test(), green()]);
        let mut gate = VerificationGate::default();
        let why = match ask(&mut gate, &alone, &one(false), "fix x", false) {
            DoneRuling::NotYet(why) => why,
            other => format!("{other:?}"),
        };
        assert!(why.contains(path) && why.contains("case_a") && why.contains("Next step"), "{why}");
        let again = ask(&mut gate, &alone, &one(false), "fix x", false);
        assert!(matches!(again, DoneRuling::Ends(StopKind::UserCheckpoint, _)));
        let beside = weak(&[red(), test(), change(), green()]);
        assert_eq!(
            ask(&mut gate, &beside, &one(false), "fix x", false),
            DoneRuling::Accepted,
            "there is other work"
        );
        let mut gate = VerificationGate::default();
        let unfailed = weak(&[test(), green()]);
        assert_eq!(ask(&mut gate, &unfailed, &one(false), "fix x", false), DoneRuling::Accepted);
        let wanted = weak(&[red(), test(), green()]);
        assert_eq!(ask(&mut gate, &wanted, &one(false), "fix x", true), DoneRuling::Accepted);
    }
}
