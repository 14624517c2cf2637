//! The verification gate: done means checked. Told once, with the facts; the second time the run ends as what it is.

use serde::{Deserialize, Serialize};

use crate::effect::StopKind;
use crate::event::KnownCheck;
use crate::known::Known;

/// What the gate says when the model is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// It is.
    Accepted,
    /// It is not, for this reason; go on.
    NotYet(String),
    /// It still is not: the end.
    Ends(StopKind, String),
}

/// Whether it was told already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    told: bool,
}

impl Verification {
    /// The model says that it is done.
    pub(crate) fn done(&mut self, known: &Known, checks: &[KnownCheck]) -> Word {
        let nothing_to_verify = known.version() == 0 || (checks.is_empty() && known.checks().is_empty());
        if nothing_to_verify || known.fresh_green().is_some() {
            return Word::Accepted;
        }
        let why = why(known, checks);
        if !self.told {
            self.told = true;
            return Word::NotYet(why);
        }
        let asked = checks.iter().any(|check| check.asked);
        Word::Ends(if asked { StopKind::CheckFailed } else { StopKind::Unverified }, why)
    }

    /// Something was verified, or somebody has looked: the next time is a first time again.
    pub(crate) fn forget(&mut self) {
        self.told = false;
    }
}

fn why(known: &Known, checks: &[KnownCheck]) -> String {
    let files = known.changed_count();
    let mut text = format!("Not verified: {files} changed file{}", if files == 1 { "" } else { "s" });
    match known.fresh_red() {
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
            text.push_str(&format!(" Run `{command}` and act on what it says before you finish."))
        }
        None => text.push_str(" Run the checks before you finish."),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fact;
    use crate::scene::{check_ran, write};

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
            let word = Verification::default().done(&known(facts), checks);
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
            let why = match gate.done(&known, &one(asked)) {
                Word::NotYet(why) => why,
                other => format!("{other:?}"),
            };
            assert!(
                why.contains("1 changed file,") && why.contains("`t` fails") && why.contains("case_a"),
                "{why}"
            );
            assert!(why.contains("Run `make test`"), "{why}");
            assert!(matches!(gate.done(&known, &one(asked)), Word::Ends(kind, _) if kind == end));
            gate.forget();
            assert!(matches!(gate.done(&known, &one(asked)), Word::NotYet(_)));
        }
    }

    #[test]
    fn the_reason_says_what_is_missing() {
        let why = |facts: &[Fact]| why(&known(facts), &one(false));
        assert!(why(&[change()]).contains("no check has run."));
        assert!(why(&[check_ran("t", 0, &[]), change()]).contains("since the last change"));
    }
}
