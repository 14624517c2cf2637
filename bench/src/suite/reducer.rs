//! What a decision of the supervisor costs.

use std::time::Instant;

use holon_core::ids::{CallId, RunId};
use holon_core::policy::ToolClass;
use holon_supervisor::event::{
    CallProposal, CheckCommand, CheckOutcome, FileHash, FinishedCall, HashedFileChange, ProvenEffects,
    RoundEnd, SupervisorSetup,
};
use holon_supervisor::{
    SupervisorConfig, SupervisorEvent, SupervisorFact, SupervisorLevel, SupervisorState, step,
};

use crate::BenchFailure;
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

/// Rounds of the run that is decided on, and calls in each.
const ROUNDS: u32 = 500;
const CALLS: u32 = 7;
/// Events one core has to decide on in a second.
const LEAST: f64 = 500_000.0;
/// Most kilobytes of the state after all of it.
const MOST_KB: f64 = 64.0;

pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let events = events()?;
    let mut report = SuiteReport::default();
    for level in [SupervisorLevel::Off, SupervisorLevel::Adaptive, SupervisorLevel::Strict] {
        let (mut rates, mut size) = (Vec::new(), 0);
        for _ in 0..bench.rounds(60) {
            let began = Instant::now();
            let state = decide(level, &events);
            rates.push(events.len() as f64 / began.elapsed().as_secs_f64());
            size = serde_json::to_string(&state).map_err(|e| e.to_string())?.len();
        }
        let rate = ReportRow::samples(format!("decisions, {}", level.name()), "events/s", &rates);
        report.rows.push(rate.median_target(TargetBound::AtLeast(LEAST)));
        let size = ReportRow::samples(
            format!("state after {ROUNDS} rounds, {}", level.name()),
            "KB",
            &[size as f64 / 1024.0],
        );
        report.rows.push(size.median_target(TargetBound::AtMost(MOST_KB)));
    }
    Ok(report)
}

fn decide(level: SupervisorLevel, events: &[SupervisorEvent]) -> SupervisorState {
    let mut state = SupervisorState::new(SupervisorConfig { level, ..SupervisorConfig::default() });
    for event in events {
        state = step(state, event).0;
        if state.stopped().is_some() {
            state = step(state, &SupervisorEvent { ts: 0, fact: SupervisorFact::CheckpointResumed }).0;
        }
    }
    state
}

/// A long run with reads, edits and commands, some of them failing, and a check in every round.
fn events() -> Result<Vec<SupervisorEvent>, BenchFailure> {
    let mut facts = vec![SupervisorFact::RunStarted(Box::new(SupervisorSetup {
        run: RunId::from_parts(0, [0; 4]),
        mode: "execute".into(),
        goal: "improve src/a.rs and src/b.rs".into(),
        plan_files: vec![],
        plan_steps: 0,
        checks: vec![CheckCommand { command: "cargo test".into(), asked: false }],
        monorepo: false,
        token_limit: 0,
        round_limit: 0,
        foreign: false,
    }))];
    for round in 1..=ROUNDS {
        facts.push(SupervisorFact::RoundStarted { round });
        for number in 0..CALLS {
            let call: CallId = format!("c{round}-{number}").parse().map_err(|e| format!("{e}"))?;
            facts.extend(a_call(round, number, call));
        }
        facts.push(SupervisorFact::CheckRan(CheckOutcome {
            call: Some(format!("c{round}-check").parse().map_err(|e| format!("{e}"))?),
            command: "cargo test".into(),
            exit: Some(i32::from(round % 3 == 0)),
            passed: 9,
            failed: 1,
            skipped: 0,
            failing: vec!["parse::empty".into()],
            diagnostics: 0,
            duration_ms: 1,
            says: None,
            result: None,
            changed: Vec::new(),
        }));
        facts.push(SupervisorFact::RoundEnded(RoundEnd {
            tokens: 900,
            diff_lines: round,
            ..RoundEnd::default()
        }));
    }
    Ok(facts.into_iter().zip(0..).map(|(fact, ts)| SupervisorEvent { ts, fact }).collect())
}

fn a_call(round: u32, number: u32, call: CallId) -> [SupervisorFact; 2] {
    let (class, tool) = match number % 3 {
        0 => (ToolClass::Read, "read_file"),
        1 => (ToolClass::Write, "edit_file"),
        _ => (ToolClass::Exec, "execute"),
    };
    let (path, hash) = (format!("src/{}.rs", (round + number) % 40), format!("{round}{number}"));
    let runs = class == ToolClass::Exec;
    let proposal = CallProposal {
        call: call.clone(),
        tool: tool.into(),
        class,
        targets: vec![path.clone()],
        arguments: format!("{round}-{number}"),
        command: runs.then(|| format!("./tool --case {number}")),
    };
    let mut evidence = ProvenEffects::default();
    match class {
        ToolClass::Read => evidence.read.push(FileHash { path, hash }),
        ToolClass::Write => evidence.changed.push(HashedFileChange { path, before: "0".into(), after: hash }),
        _ => {}
    }
    let ok = !runs || !round.is_multiple_of(5);
    let error = (!ok).then(|| format!("error: {round} things went wrong in src/a.rs:{round}:{number}"));
    let exit = runs.then_some(i32::from(!ok));
    let done = FinishedCall {
        call,
        ok,
        exit,
        check: false,
        error,
        duration_ms: 1,
        result: None,
        varies: false,
        evidence,
    };
    [SupervisorFact::ToolProposed(proposal), SupervisorFact::ToolFinished(done)]
}
