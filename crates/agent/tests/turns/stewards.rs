//! The seam for a supervisor.

use std::sync::Mutex;

use holon_agent::{Advice, Evidence, Fact, Reason, Ruling, Steward, Stop, StopKind};
use holon_core::outcome::Outcome;
use holon_core::policy::Verdict;

use crate::memory::Memory;
use crate::stage::{Stage, settings};

/// Notes every fact and gives advice by rule.
#[derive(Default)]
struct Scribe {
    facts: Mutex<Vec<String>>,
    rule: Option<fn(&Fact<'_>) -> Advice>,
}

impl Steward for Scribe {
    fn notice(&self, fact: Fact<'_>) -> Advice {
        let told = match &fact {
            Fact::RoundStarted { round } => format!("round {round}"),
            Fact::Proposed { tool, target, .. } => format!("{tool} {}?", target.unwrap_or_default()),
            Fact::Malformed { tool, .. } => format!("{tool} is malformed"),
            Fact::Finished { tool, ok, evidence, .. } => format!("{tool} {ok} {}", evidence.len()),
            Fact::RoundEnded { calls, usage, .. } => format!("end {calls} {}", usage.input),
            Fact::Done { text, .. } => format!("done {text}"),
            _ => String::new(),
        };
        self.facts.lock().unwrap().push(told);
        self.rule.map(|rule| rule(&fact)).unwrap_or_default()
    }
}

fn play(rule: fn(&Fact<'_>) -> Advice, cassette: &str) -> (crate::stage::Played, Vec<String>, Memory) {
    let hands = Memory::with(&[("a.txt", "one\n")]).knowing("make", 2, "boom");
    let scribe = Scribe { rule: Some(rule), ..Scribe::default() };
    let stage = Stage { steward: Some(&scribe), ..Stage::new(settings("execute"), &hands) };
    let played = stage.play(cassette);
    (played, scribe.facts.into_inner().unwrap(), hands)
}

#[test]
fn the_facts_come_once_and_in_order() {
    fn check(fact: &Fact<'_>) -> Advice {
        if let Fact::Finished { tool: "write_file", evidence, .. } = fact {
            assert!(matches!(evidence, [Evidence::Changed { before: Some(_), after: Some(_), .. }]));
        }
        if let Fact::Finished { tool: "execute", evidence, ok, .. } = fact {
            assert!(matches!(evidence, [Evidence::Ran { exit: Some(2), .. }]) && !ok);
        }
        Advice::default()
    }
    let (_, facts, _) = play(
        check,
        "
- tools: [{ write_file: { path: a.txt, content: two } }, { execute: { command: make } }, { bash: {} }]
  usage: { input: 7 }
- { tool: finish, args: { summary: x } }
",
    );
    assert_eq!(
        facts,
        [
            "round 1",
            "write_file a.txt?",
            "write_file true 1",
            "execute make?",
            "execute false 1",
            "bash is malformed",
            "end 3 7",
            "round 2",
            "finish ?",
            "finish true 0",
            "done x"
        ]
    );
}

#[test]
fn inv_10_what_the_steward_blocks_is_never_executed() {
    fn block(fact: &Fact<'_>) -> Advice {
        match fact {
            Fact::Proposed { tool: "write_file", .. } => {
                Advice { gate: Ruling::Block("read it first".into()), ..Advice::default() }
            }
            Fact::Proposed { tool: "read_file", .. } => {
                Advice { gate: Ruling::Warn("third time".into()), ..Advice::default() }
            }
            _ => Advice::default(),
        }
    }
    let (played, _, hands) = play(
        block,
        "
- tools: [{ write_file: { path: a.txt, content: two } }, { read_file: { path: a.txt } }]
- { expect: { last: [read it first, '[note: third time]'] }, tool: finish, args: { summary: x } }
",
    );
    assert_eq!(hands.file("a.txt").unwrap(), "one\n");
    assert_eq!(played.verdicts(), [Verdict::Deny, Verdict::Allow, Verdict::Allow]);
}

#[test]
fn a_correction_stands_at_the_end_of_every_request_until_it_is_replaced() {
    fn correct(fact: &Fact<'_>) -> Advice {
        let correction = match fact {
            Fact::RoundEnded { round: 1, .. } => Some("[fix the lexer]".to_owned()),
            Fact::RoundEnded { round: 2, .. } => Some("[now the tests]".to_owned()),
            Fact::RoundEnded { round: 3, .. } => Some(String::new()),
            _ => None,
        };
        Advice { correction, ..Advice::default() }
    }
    play(
        correct,
        "
- tool: ls
- { expect: { last: '[fix the lexer]' }, tool: ls }
- { expect: { last: '[now the tests]', lacks: '[fix the lexer]' }, tool: ls }
- { expect: { lacks: '[now the tests]' }, tool: finish, args: { summary: x } }
",
    );
}

fn person() -> Stop {
    let reason = "a person must look".to_owned();
    Stop { kind: StopKind::UserCheckpoint, outcome: Outcome::NeedsHuman, reason, as_before: false }
}

#[test]
fn being_done_can_be_sent_back_and_a_turn_can_be_stopped() {
    fn doubt(fact: &Fact<'_>) -> Advice {
        match fact {
            Fact::Done { text: "x", .. } => {
                Advice { gate: Ruling::Block("no check is green".into()), ..Advice::default() }
            }
            Fact::RoundStarted { round: 3 } => Advice { stop: Some(person()), ..Advice::default() },
            _ => Advice::default(),
        }
    }
    let (played, _, _) = play(
        doubt,
        "
- { tool: finish, args: { summary: x } }
- { expect: { last: no check is green }, tool: ls }
",
    );
    assert_eq!(played.ended.reason, Reason::Stopped(person()));
}

/// Cancels the turn while a call is decided on.
struct Canceller(holon_model::Cancel);

impl Steward for Canceller {
    fn notice(&self, fact: Fact<'_>) -> Advice {
        if matches!(fact, Fact::Proposed { .. }) {
            self.0.cancel();
        }
        Advice::default()
    }
}

#[test]
fn cancelling_between_decision_and_deed_does_nothing_more() {
    let hands = Memory::default();
    let mut stage = Stage::new(settings("execute"), &hands);
    let canceller = Canceller(stage.cancel.clone());
    stage.steward = Some(&canceller);
    let played = stage.play("- tools: [{ write_file: { path: a, content: a } }, { ls: {} }]");
    assert_eq!((&played.ended.reason, hands.file("a")), (&Reason::Cancelled, None));
    assert_eq!(played.results(), ["stopped", "not done: the turn was stopped"]);
}
