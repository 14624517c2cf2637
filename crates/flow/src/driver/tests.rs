//! The driver against a played world that dies at every possible moment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::{BTreeMap, VecDeque};

use holon_core::ids::RunId;
use holon_core::outcome::RunOutcome;

use super::*;
use crate::builtin;
use crate::state::StepState;

/// A world that remembers what was done to it, and dies at the given moment.
#[derive(Default)]
struct PlayedFlow {
    /// What is on disk.
    saved: Option<FlowState>,
    /// Every run that came to its end, with its step.
    finished: Vec<(String, RunId)>,
    /// How runs end, by step; success otherwise.
    outcomes: BTreeMap<String, VecDeque<(RunOutcome, RunStatus)>>,
    findings: u64,
    /// What the review finds, start by start; `findings` where this has no more.
    finds: Vec<u64>,
    answers: VecDeque<GateAnswer>,
    messages: Vec<String>,
    told: Vec<String>,
    /// Moments left until the process dies.
    life: Option<usize>,
    cancel_in: Option<String>,
    cancelled: bool,
    tampered: bool,
    started: u32,
    cost: f64,
}

impl PlayedFlow {
    /// One moment passes; an error is death.
    fn moment(&mut self) -> Result<(), FlowError> {
        match &mut self.life {
            Some(0) => Err(FlowError::State { path: "dead".into(), message: "killed".into() }),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn runs_of(&self, step: &str) -> usize {
        self.finished.iter().filter(|(name, _)| name == step).count()
    }

    fn done(&self, state: &FlowState, step: usize, run: &RunId) -> FinishedStep {
        let name = &state.steps[step].name;
        let queue = self.outcomes.get(name);
        let nth = self.finished.iter().filter(|(n, _)| n == name).position(|(_, r)| r == run).unwrap_or(0);
        let (outcome, status) =
            queue.and_then(|q| q.get(nth)).copied().unwrap_or((RunOutcome::Success, RunStatus::Completed));
        FinishedStep {
            run: Some(run.clone()),
            status,
            outcome,
            duration_ms: 1,
            manifest_sha256: None,
            artifacts: BTreeMap::new(),
            findings: (name == "review").then(|| self.finds.get(nth).copied().unwrap_or(self.findings)),
            error: None,
        }
    }
}

impl FlowWorld for PlayedFlow {
    fn save(&mut self, state: &FlowState) -> Result<(), FlowError> {
        // Dying before and after the file is replaced are two different moments.
        self.moment()?;
        self.saved = Some(state.clone());
        self.moment()
    }

    fn tell(&mut self, body: EventBody) {
        let text = serde_json::to_value(&body).unwrap();
        let field = |key: &str| text[key].as_str().unwrap_or_default().to_owned();
        self.told
            .push(format!("{} {} {}", field("type"), field("step"), field("decision")).trim().to_owned());
    }

    fn cancelled(&self) -> bool {
        self.cancelled
    }

    fn ended_after_all(
        &mut self,
        state: &FlowState,
        step: usize,
    ) -> Result<Option<FinishedStepRun>, FlowError> {
        let FlowStepProgress::Running { run: Some(run) } = &state.steps[step].progress else {
            return Ok(None);
        };
        let over = self.finished.iter().any(|(_, known)| known == run);
        Ok(over.then(|| FinishedStepRun { done: self.done(state, step, run), cost_usd: self.cost }))
    }

    fn handed(&mut self, _state: &FlowState, _step: usize) -> Result<BTreeMap<String, String>, FlowError> {
        if self.tampered {
            return Err(FlowError::Changed { path: "plan/plan.md".into() });
        }
        Ok(BTreeMap::new())
    }

    fn run(&mut self, state: &mut FlowState, step: usize) -> Result<FinishedStepRun, FlowError> {
        self.started += 1;
        let run = RunId::from_parts(u64::from(self.started), [7; 4]);
        let name = state.steps[step].name.clone();
        self.messages.extend(state.steps[step].messages.iter().map(|m| format!("{name}: {m}")));
        state.steps[step].runs.push(run.clone());
        state.steps[step].progress = FlowStepProgress::Running { run: Some(run.clone()) };
        self.moment()?;
        self.saved = Some(state.clone());
        self.moment()?;
        if self.cancel_in.as_deref() == Some(name.as_str()) {
            self.cancelled = true;
        }
        self.finished.push((name, run.clone()));
        self.moment()?;
        Ok(FinishedStepRun { done: self.done(state, step, &run), cost_usd: self.cost })
    }

    fn look(&mut self, state: &FlowState, step: usize) -> Result<FinishedStep, FlowError> {
        self.moment()?;
        Ok(FinishedStep { run: None, ..self.done(state, step, &RunId::from_parts(0, [0; 4])) })
    }

    fn ask(&mut self, _state: &FlowState, _step: usize) -> Result<GateAnswer, FlowError> {
        self.moment()?;
        Ok(self.answers.pop_front().unwrap_or(GateAnswer::Stop))
    }
}

fn begin(name: &str) -> (FlowDefinition, FlowState) {
    let definition = builtin::find(name).unwrap().unwrap();
    let state = FlowState::new(RunId::from_parts(0, [0; 4]), &definition, serde_json::Value::Null);
    (definition, state)
}

fn go(
    definition: &FlowDefinition,
    state: FlowState,
    gates: GateMode,
    play: &mut PlayedFlow,
) -> Option<FlowEnd> {
    let mut state = state;
    drive(definition, &mut state, gates, play).ok().and(state.ended)
}

#[test]
fn both_flows_go_through() {
    for (name, expected) in
        [("plan-then-execute", vec!["plan", "execute"]), ("review-fix", vec!["review", "execute"])]
    {
        let (definition, state) = begin(name);
        let mut play = PlayedFlow { findings: 2, ..PlayedFlow::default() };
        assert_eq!(go(&definition, state, GateMode::Auto, &mut play), Some(FlowEnd::Complete));
        let ran: Vec<&str> = play.finished.iter().map(|(step, _)| step.as_str()).collect();
        assert_eq!(ran, expected);
    }
}

#[test]
fn everything_is_told_in_order() {
    let (definition, state) = begin("plan-then-execute");
    let mut play = PlayedFlow {
        answers: [GateAnswer::Go { comment: Some("go".into()) }].into(),
        ..PlayedFlow::default()
    };
    go(&definition, state, GateMode::Ask, &mut play);
    assert_eq!(
        play.told,
        [
            "step_started plan",
            "step_finished plan",
            "gate_reached execute",
            "gate_decided execute approved",
            "step_started execute",
            "step_finished execute"
        ]
    );
    assert_eq!(play.messages, ["execute: go"]);
}

/// Killed at each moment in turn, then resumed until it is over: every step finishes exactly once.
#[test]
fn a_kill_at_any_moment_repeats_no_finished_step() {
    for (name, gates) in [
        ("plan-then-execute", GateMode::Auto),
        ("plan-then-execute", GateMode::Stop),
        ("plan-then-execute", GateMode::Ask),
        ("review-fix", GateMode::Auto),
    ] {
        let mut deaths = 0;
        for life in 0.. {
            let (definition, state) = begin(name);
            let go_on = GateAnswer::Go { comment: None };
            let mut play = PlayedFlow {
                findings: 1,
                answers: vec![go_on; 9].into(),
                life: Some(life),
                ..PlayedFlow::default()
            };
            let mut ended = go(&definition, state.clone(), gates, &mut play);
            let died = ended.is_none();
            deaths += usize::from(died);
            play.life = None;
            let mut rounds = 0;
            while ended != Some(FlowEnd::Complete) {
                let mut saved = play.saved.clone().unwrap_or_else(|| state.clone());
                saved.sealed = ended.is_some();
                let resumed = saved.resumed(&definition, None).expect("it is not over");
                ended = go(&definition, resumed, gates, &mut play);
                rounds += 1;
                assert!(rounds < 5, "{name} {gates} {life}");
            }
            for step in ["plan", "review", "execute"] {
                let expected = usize::from(definition.position(step).is_some());
                assert_eq!(
                    play.runs_of(step),
                    expected,
                    "{name} {gates}, killed after {life} moments: {step}"
                );
            }
            if !died {
                break;
            }
        }
        assert!(deaths > 10, "{name} {gates}: only {deaths} moments were tried");
    }
}

#[test]
fn a_failed_step_ends_the_flow_and_is_the_one_tried_anew() {
    let (definition, state) = begin("plan-then-execute");
    let mut play = PlayedFlow::default();
    play.outcomes.insert("plan".into(), [(RunOutcome::Failure, RunStatus::Timeout)].into());
    let ended = go(&definition, state, GateMode::Auto, &mut play);
    assert_eq!(ended, Some(FlowEnd::Failed { step: "plan".into(), error: None }));
    assert_eq!(play.runs_of("execute"), 0);
    let resumed = play.saved.clone().unwrap().resumed(&definition, Some("again".into())).unwrap();
    play.outcomes.clear();
    assert_eq!(go(&definition, resumed, GateMode::Auto, &mut play), Some(FlowEnd::Complete));
    assert_eq!((play.runs_of("plan"), play.runs_of("execute")), (2, 1));
    assert_eq!(play.messages, ["plan: again"]);
}

#[test]
fn a_stop_keeps_everything_and_passes_the_message_on() {
    for gates in [GateMode::Stop, GateMode::Ask] {
        let (definition, state) = begin("plan-then-execute");
        let mut play = PlayedFlow::default();
        let stopped = Some(FlowEnd::Stopped { step: "execute".into() });
        assert_eq!(go(&definition, state, gates, &mut play), stopped);
        let stopped = FlowState { sealed: true, ..play.saved.clone().unwrap() };
        let resumed = stopped.resumed(&definition, Some("mind the gap".into())).unwrap();
        assert_eq!(go(&definition, resumed, gates, &mut play), Some(FlowEnd::Complete));
        assert_eq!((play.runs_of("plan"), play.runs_of("execute")), (1, 1));
        assert_eq!(play.messages, ["execute: mind the gap"]);
    }
}

#[test]
fn cancelling_in_a_step_or_at_the_gate_can_be_gone_on_from() {
    let (definition, state) = begin("plan-then-execute");
    let mut play = PlayedFlow { cancel_in: Some("execute".into()), ..PlayedFlow::default() };
    play.outcomes.insert("execute".into(), [(RunOutcome::Failure, RunStatus::Cancelled)].into());
    assert_eq!(go(&definition, state.clone(), GateMode::Auto, &mut play), Some(FlowEnd::Cancelled));
    (play.cancelled, play.cancel_in) = (false, None);
    let resumed = play.saved.clone().unwrap().resumed(&definition, None).unwrap();
    assert_eq!(
        go(&definition, resumed, GateMode::Stop, &mut play),
        Some(FlowEnd::Complete),
        "the gate was open"
    );
    assert_eq!((play.runs_of("plan"), play.runs_of("execute")), (1, 2));

    let mut play = PlayedFlow { answers: [GateAnswer::Cancelled].into(), ..PlayedFlow::default() };
    assert_eq!(go(&definition, state, GateMode::Ask, &mut play), Some(FlowEnd::Cancelled));
    let resumed = play.saved.clone().unwrap().resumed(&definition, None).unwrap();
    let stopped = Some(FlowEnd::Stopped { step: "execute".into() });
    assert_eq!(go(&definition, resumed, GateMode::Stop, &mut play), stopped, "nobody has opened it");
}

#[test]
fn what_was_changed_behind_its_back_is_not_used() {
    let (definition, state) = begin("plan-then-execute");
    let mut play = PlayedFlow { answers: [GateAnswer::Go { comment: None }].into(), ..PlayedFlow::default() };
    go(&definition, state, GateMode::Stop, &mut play);
    let stopped = FlowState { sealed: true, ..play.saved.clone().unwrap() };
    let resumed = stopped.resumed(&definition, None).unwrap();
    play.tampered = true;
    let Some(FlowEnd::Failed { step, error: Some(error) }) =
        go(&definition, resumed, GateMode::Stop, &mut play)
    else {
        panic!("it was used")
    };
    assert_eq!((step.as_str(), error.kind.as_str()), ("execute", "changed"));
    assert_eq!(play.runs_of("execute"), 0);
    // Put back as it was, the flow goes on.
    play.tampered = false;
    let resumed = play.saved.clone().unwrap().resumed(&definition, None).unwrap();
    assert_eq!(go(&definition, resumed, GateMode::Stop, &mut play), Some(FlowEnd::Complete));
}

#[test]
fn money_is_counted_over_all_steps() {
    let (definition, mut state) = begin("plan-then-execute");
    state.max_cost_usd = Some(1.0);
    let mut play = PlayedFlow { cost: 1.5, ..PlayedFlow::default() };
    let ended = go(&definition, state, GateMode::Auto, &mut play);
    assert_eq!(ended, Some(FlowEnd::OutOfMoney { step: "execute".into() }));
    assert_eq!(play.runs_of("execute"), 0);
}

const LOOP: &str = r#"
name = "loop"
description = "x"
[[step]]
name = "review"
mode = "review"
[[step]]
name = "execute"
mode = "execute"
gate = true
when = "findings"
repeat = { from = "review", until = "no findings", most = 3 }
"#;

fn begin_loop() -> (FlowDefinition, FlowState) {
    let definition = FlowDefinition::parse(LOOP, "loop.toml").unwrap();
    let state = FlowState::new(RunId::from_parts(0, [0; 4]), &definition, serde_json::Value::Null);
    (definition, state)
}

/// Killed at each moment in turn, also between two rounds, then resumed: no run of any round finishes twice.
#[test]
fn a_kill_at_any_moment_of_a_loop_repeats_no_finished_round() {
    let mut deaths = 0;
    for life in 0.. {
        let (definition, state) = begin_loop();
        let mut play = PlayedFlow { finds: vec![2, 1, 0], life: Some(life), ..PlayedFlow::default() };
        let mut ended = go(&definition, state.clone(), GateMode::Auto, &mut play);
        let died = ended.is_none();
        deaths += usize::from(died);
        play.life = None;
        while ended != Some(FlowEnd::Complete) {
            let mut saved = play.saved.clone().unwrap_or_else(|| state.clone());
            saved.sealed = ended.is_some();
            ended = go(&definition, saved.resumed(&definition, None).unwrap(), GateMode::Auto, &mut play);
        }
        let ran = (play.runs_of("review"), play.runs_of("execute"));
        assert_eq!(ran, (3, 2), "killed after {life} moments");
        let saved = play.saved.unwrap();
        let rounds: Vec<u32> = saved.steps.iter().map(StepState::round).collect();
        assert_eq!(rounds, [3, 3], "killed after {life} moments");
        if !died {
            break;
        }
    }
    assert!(deaths > 30, "only {deaths} moments were tried");
}

#[test]
fn the_bound_of_a_loop_ends_it_for_a_person_to_look() {
    let (definition, state) = begin_loop();
    let mut play = PlayedFlow { findings: 1, ..PlayedFlow::default() };
    let ended = go(&definition, state, GateMode::Auto, &mut play);
    let over = FlowEnd::LoopOver { step: "execute".into(), rounds: 3, until: "no findings".into() };
    assert_eq!(ended, Some(over));
    assert_eq!((play.runs_of("review"), play.runs_of("execute")), (3, 3));
    let saved = FlowState { sealed: true, ..play.saved.clone().unwrap() };
    let resumed = saved.resumed(&definition, None).unwrap();
    assert_eq!(go(&definition, resumed, GateMode::Auto, &mut play), Some(FlowEnd::Complete));
    assert_eq!((play.runs_of("review"), play.runs_of("execute")), (3, 3), "nothing is run again");
}

mod narrowing {
    //! What a repository's flow may do without anybody's word: a question of every flow there can be.
    use holon_core::mode::{ModeCatalog, ModeSource};
    use proptest::prelude::*;

    use super::*;
    use crate::definition::FlowSurroundings;

    /// A step after the first review: whether it writes, has a gate, is left out without findings, and goes back.
    type DrawnStep = (bool, bool, bool, bool);

    fn text(steps: &[DrawnStep]) -> String {
        let mut text = String::from("description = \"x\"\n[[step]]\nname = \"review\"\nmode = \"review\"\n");
        for (number, (writes, gate, when, back)) in steps.iter().enumerate() {
            let mode = if *writes { "execute" } else { "plan" };
            text += &format!("[[step]]\nname = \"s{number}\"\nmode = \"{mode}\"\ngate = {gate}\n");
            if *when {
                text += "when = \"findings\"\n";
            }
            if *back {
                text += "repeat = { from = \"review\", until = \"no findings\", most = 3 }\n";
            }
        }
        text
    }

    fn read(text: &str) -> Option<FlowDefinition> {
        let modes = ModeCatalog::builtin().unwrap();
        let among = FlowSurroundings { modes: &modes, flows: &[] };
        FlowDefinition::read(text, "/w/.holon/flows/f.toml", ModeSource::Project, &among).ok()
    }

    proptest! {
        #[test]
        fn inv_15_a_repository_s_flow_changes_nothing_before_somebody_was_asked(
            steps in prop::collection::vec(any::<DrawnStep>(), 1..6),
            finds in prop::collection::vec(0u64..2, 0..4),
        ) {
            let text = text(&steps);
            let Some(definition) = read(&text) else { return Ok(()) };
            let state = FlowState::new(RunId::from_parts(0, [0; 4]), &definition, serde_json::Value::Null);
            let mut play = PlayedFlow { finds, ..PlayedFlow::default() };
            go(&definition, state, GateMode::Stop, &mut play);
            for (number, (writes, ..)) in steps.iter().enumerate() {
                prop_assert!(!writes || play.runs_of(&format!("s{number}")) == 0, "s{number} ran: {text}");
            }
        }
    }

    #[test]
    fn a_gate_that_is_left_out_with_its_step_holds_nothing() {
        let gated_mend = (true, true, true, false);
        assert_eq!(read(&text(&[gated_mend, (true, false, false, false)])), None);
        assert!(read(&text(&[gated_mend, (true, true, false, false)])).is_some());
        assert!(read(&text(&[(true, true, false, false), (true, false, false, false)])).is_some());
        assert!(read(&text(&[(false, true, false, false), (true, false, true, false)])).is_some());
    }
}
