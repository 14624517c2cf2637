//! The seam for a supervisor.

use std::sync::Mutex;

use holon_agent::{
    StopKind, StopOrder, SupervisorAdvice, SupervisorHook, SupervisorRuling, ToolCallEvidence, TurnEndReason,
    TurnFact,
};
use holon_core::outcome::RunOutcome;
use holon_core::policy::ToolVerdict;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, settings};

/// Notes every fact and gives advice by rule.
#[derive(Default)]
struct FactRecorder {
    facts: Mutex<Vec<String>>,
    rule: Option<fn(&TurnFact<'_>) -> SupervisorAdvice>,
}

impl SupervisorHook for FactRecorder {
    fn notice(&self, fact: TurnFact<'_>) -> SupervisorAdvice {
        let told = match &fact {
            TurnFact::RoundStarted { round } => format!("round {round}"),
            TurnFact::Proposed { tool, target, .. } => format!("{tool} {}?", target.unwrap_or_default()),
            TurnFact::Malformed { tool, .. } => format!("{tool} is malformed"),
            TurnFact::Finished { tool, ok, evidence, .. } => format!("{tool} {ok} {}", evidence.len()),
            TurnFact::RoundEnded { calls, usage, .. } => format!("end {calls} {}", usage.input),
            TurnFact::Done { text, .. } => format!("done {text}"),
            _ => String::new(),
        };
        self.facts.lock().unwrap().push(told);
        self.rule.map(|rule| rule(&fact)).unwrap_or_default()
    }
}

fn play(
    rule: fn(&TurnFact<'_>) -> SupervisorAdvice,
    cassette: &str,
) -> (crate::stage::PlayedTurn, Vec<String>, InMemoryExecutor) {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]).knowing("make", 2, "boom");
    let scribe = FactRecorder { rule: Some(rule), ..FactRecorder::default() };
    let stage = TurnStage { steward: Some(&scribe), ..TurnStage::new(settings("execute"), &hands) };
    let played = stage.play(cassette);
    (played, scribe.facts.into_inner().unwrap(), hands)
}

#[test]
fn the_facts_come_once_and_in_order() {
    fn check(fact: &TurnFact<'_>) -> SupervisorAdvice {
        if let TurnFact::Finished { tool: "write_file", evidence, .. } = fact {
            assert!(matches!(evidence, [ToolCallEvidence::Changed { before: Some(_), after: Some(_), .. }]));
        }
        if let TurnFact::Finished { tool: "execute", evidence, ok, .. } = fact {
            assert!(matches!(evidence, [ToolCallEvidence::Ran { exit: Some(2), .. }]) && !ok);
        }
        SupervisorAdvice::default()
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
    fn block(fact: &TurnFact<'_>) -> SupervisorAdvice {
        match fact {
            TurnFact::Proposed { tool: "write_file", .. } => SupervisorAdvice {
                gate: SupervisorRuling::Block("read it first".into()),
                ..SupervisorAdvice::default()
            },
            TurnFact::Proposed { tool: "read_file", .. } => SupervisorAdvice {
                gate: SupervisorRuling::Warn("third time".into()),
                ..SupervisorAdvice::default()
            },
            _ => SupervisorAdvice::default(),
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
    assert_eq!(played.verdicts(), [ToolVerdict::Deny, ToolVerdict::Allow, ToolVerdict::Allow]);
}

#[test]
fn a_correction_stands_at_the_end_of_every_request_until_it_is_replaced() {
    fn correct(fact: &TurnFact<'_>) -> SupervisorAdvice {
        let correction = match fact {
            TurnFact::RoundEnded { round: 1, .. } => Some("[fix the lexer]".to_owned()),
            TurnFact::RoundEnded { round: 2, .. } => Some("[now the tests]".to_owned()),
            TurnFact::RoundEnded { round: 3, .. } => Some(String::new()),
            _ => None,
        };
        SupervisorAdvice { correction, ..SupervisorAdvice::default() }
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

fn person() -> StopOrder {
    let reason = "a person must look".to_owned();
    StopOrder { kind: StopKind::UserCheckpoint, outcome: RunOutcome::NeedsHuman, reason, as_before: false }
}

#[test]
fn being_done_can_be_sent_back_and_a_turn_can_be_stopped() {
    fn doubt(fact: &TurnFact<'_>) -> SupervisorAdvice {
        match fact {
            TurnFact::Done { text: "x", .. } => SupervisorAdvice {
                gate: SupervisorRuling::Block("no check is green".into()),
                ..SupervisorAdvice::default()
            },
            TurnFact::RoundStarted { round: 3 } => {
                SupervisorAdvice { stop: Some(person()), ..SupervisorAdvice::default() }
            }
            _ => SupervisorAdvice::default(),
        }
    }
    let (played, _, _) = play(
        doubt,
        "
- { tool: finish, args: { summary: x } }
- { expect: { last: no check is green }, tool: ls }
",
    );
    assert_eq!(played.ended.reason, TurnEndReason::Stopped(person()));
}

/// Cancels the turn while a call is decided on.
struct CancellingHook(holon_model::ModelCancel);

impl SupervisorHook for CancellingHook {
    fn notice(&self, fact: TurnFact<'_>) -> SupervisorAdvice {
        if matches!(fact, TurnFact::Proposed { .. }) {
            self.0.cancel();
        }
        SupervisorAdvice::default()
    }
}

#[test]
fn cancelling_between_decision_and_deed_does_nothing_more() {
    let hands = InMemoryExecutor::default();
    let mut stage = TurnStage::new(settings("execute"), &hands);
    let canceller = CancellingHook(stage.cancel.clone());
    stage.steward = Some(&canceller);
    let played = stage.play("- tools: [{ write_file: { path: a, content: a } }, { ls: {} }]");
    assert_eq!((&played.ended.reason, hands.file("a")), (&TurnEndReason::Cancelled, None));
    assert_eq!(played.results(), ["stopped", "not done: the turn was stopped"]);
}
