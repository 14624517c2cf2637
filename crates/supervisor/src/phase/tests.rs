use super::*;
use crate::config::{EscalationRounds, TakeoverConfig};
use crate::level::SupervisorLevel;

const fn repeat(value: u32) -> [DeviationReading; 1] {
    [DeviationReading { signal: Deviation::ToolRepeatFail, value, threshold: 3 }]
}
const USER: [DeviationReading; 1] =
    [DeviationReading { signal: Deviation::UserForceTakeover, value: 1, threshold: 1 }];
const ENDING: [DeviationReading; 1] =
    [DeviationReading { signal: Deviation::BudgetEnding, value: 80, threshold: 80 }];

fn seen(readings: &[DeviationReading]) -> RoundObservation<'_> {
    RoundObservation { readings, critical: true, evidence: true, verified: false, tokens: 10, token_limit: 0 }
}

fn to(outcome: &PhaseOutcome) -> Vec<TakeoverPhase> {
    outcome.changes.iter().map(|change| change.to).collect()
}

/// Rounds in each of which the failure came once more; where each rung was taken, from 1.
fn climb(state: &mut PhaseState, config: &SupervisorConfig, critical: bool) -> Vec<(u32, &'static str)> {
    let mut rungs = Vec::new();
    for round in 1..=12 {
        let readings = repeat(2 + round);
        let outcome = state.end_round(&RoundObservation { critical, ..seen(&readings) }, config);
        rungs.extend(
            outcome
                .rise
                .map(|stage| (round, if stage == EscalationStage::Noticed { "notice" } else { "advice" })),
        );
        if to(&outcome).contains(&TakeoverPhase::Takeover) {
            rungs.push((round, "takeover"));
            break;
        }
    }
    rungs
}

fn in_takeover() -> PhaseState {
    let mut state = PhaseState::default();
    climb(&mut state, &SupervisorConfig::default(), true);
    assert_eq!((state.phase(), state.takeovers()), (TakeoverPhase::Takeover, 1));
    state
}

fn walk(state: &mut PhaseState, rounds: u32, seen: &RoundObservation<'_>) -> Vec<TakeoverPhase> {
    (0..rounds).flat_map(|_| to(&state.end_round(seen, &SupervisorConfig::default()))).collect()
}

#[test]
fn each_rung_needs_evidence_after_the_one_before() {
    let check = |level: SupervisorLevel, critical: bool, expect: &[(u32, &str)]| {
        let config = SupervisorConfig { level, ..SupervisorConfig::default() };
        assert_eq!(climb(&mut PhaseState::default(), &config, critical), expect, "{level:?} {critical}");
    };
    let all = [(1, "notice"), (3, "advice"), (6, "takeover")];
    check(SupervisorLevel::Adaptive, true, &all);
    check(SupervisorLevel::Strict, true, &all);
    check(SupervisorLevel::Adaptive, false, &all[..2]);
    check(SupervisorLevel::Advise, true, &all[..2]);
    check(SupervisorLevel::Off, true, &[]);
    let quick = SupervisorConfig {
        ladder: EscalationRounds { advice: 1, takeover: 1 },
        ..SupervisorConfig::default()
    };
    assert_eq!(
        climb(&mut PhaseState::default(), &quick, true),
        [(1, "notice"), (2, "advice"), (3, "takeover")]
    );
}

#[test]
fn a_signal_that_stays_as_it_is_leads_no_further() {
    let mut state = PhaseState::default();
    let rises: Vec<_> = (0..9)
        .filter_map(|_| state.end_round(&seen(&repeat(3)), &SupervisorConfig::default()).rise)
        .collect();
    assert_eq!(rises, [EscalationStage::Noticed]);
}

#[test]
fn calm_rounds_or_a_check_lead_down_again() {
    let config = SupervisorConfig::default();
    let calm = |rounds: u32, verified: bool| {
        let mut state = PhaseState::default();
        state.end_round(&seen(&repeat(3)), &config);
        (0..rounds).for_each(|_| {
            state.end_round(&RoundObservation { verified, ..seen(&[]) }, &config);
        });
        state.stage()
    };
    assert_eq!(
        (calm(2, false), calm(3, false), calm(1, true)),
        (EscalationStage::Noticed, EscalationStage::Quiet, EscalationStage::Quiet)
    );
}

#[test]
fn what_is_said_is_said_while_it_holds() {
    let config = SupervisorConfig::default();
    let mut state = PhaseState::default();
    assert_eq!(state.saying(), EscalationStage::Quiet);
    state.end_round(&seen(&repeat(3)), &config);
    assert_eq!(state.saying(), EscalationStage::Noticed);
    state.end_round(&seen(&repeat(4)), &config);
    assert_eq!(state.saying(), EscalationStage::Quiet, "a notice is said once");
    state.end_round(&seen(&repeat(5)), &config);
    assert_eq!(state.saying(), EscalationStage::Advised);
    state.end_round(&seen(&repeat(5)), &config);
    assert_eq!(state.saying(), EscalationStage::Advised);
    state.end_round(&seen(&[]), &config);
    assert_eq!(state.saying(), EscalationStage::Quiet);
}

#[test]
fn a_budget_that_ends_is_advice_at_once_and_no_takeover() {
    let mut state = PhaseState::default();
    assert_eq!(
        state.end_round(&seen(&ENDING), &SupervisorConfig::default()).rise,
        Some(EscalationStage::Advised)
    );
    for value in 81..100 {
        let readings = [DeviationReading { value, ..ENDING[0] }];
        assert_eq!(state.end_round(&seen(&readings), &SupervisorConfig::default()), PhaseOutcome::default());
    }
}

#[test]
fn the_whole_way_round() {
    let mut state = in_takeover();
    assert!(state.is_recovering());
    assert_eq!(walk(&mut state, 2, &seen(&[])), []);
    assert_eq!(walk(&mut state, 1, &seen(&[])), [TakeoverPhase::HandoffPending]);
    assert!(state.is_recovering());
    assert_eq!(walk(&mut state, 1, &seen(&[])), [TakeoverPhase::Cooldown]);
    assert!(!state.is_recovering());
    assert_eq!(walk(&mut state, 2, &seen(&[])), []);
    assert_eq!(walk(&mut state, 1, &seen(&[])), [TakeoverPhase::Free]);
}

#[test]
fn only_clean_rounds_in_a_row_count_and_cost_nothing() {
    let idle = RoundObservation { evidence: false, ..seen(&[]) };
    let mut state = in_takeover();
    walk(&mut state, 2, &seen(&[]));
    assert_eq!(state.used(), (0, 0));
    walk(&mut state, 1, &idle);
    assert_eq!(state.used(), (1, 10));
    assert_eq!(walk(&mut state, 2, &seen(&[])), []);
    assert_eq!(walk(&mut state, 1, &seen(&[])), [TakeoverPhase::HandoffPending]);
    assert_eq!(walk(&mut state, 3, &idle), []);
    assert_eq!(walk(&mut state, 1, &seen(&repeat(3))), [TakeoverPhase::Takeover], "a relapse");
    assert_eq!((state.takeovers(), state.used()), (1, (1, 10)), "with the same budget");
}

#[test]
fn cooldown_hears_strong_signals_only() {
    let cooling = || {
        let mut state = in_takeover();
        walk(&mut state, 4, &seen(&[]));
        assert_eq!(state.phase(), TakeoverPhase::Cooldown);
        state
    };
    assert_eq!(walk(&mut cooling(), 1, &seen(&repeat(4))), []);
    assert_eq!(walk(&mut cooling(), 1, &seen(&repeat(5))), [TakeoverPhase::Free]);
    assert_eq!(walk(&mut cooling(), 1, &seen(&USER)), [TakeoverPhase::Free, TakeoverPhase::Takeover]);
}

#[test]
fn a_takeover_ends_when_its_rounds_or_tokens_are_spent() {
    let spent = |level: SupervisorLevel, token_limit: u64| -> Vec<Option<&'static str>> {
        let config = SupervisorConfig { level, ..SupervisorConfig::default() };
        let mut state = in_takeover();
        let readings = repeat(9);
        let stuck = RoundObservation { evidence: false, token_limit, ..seen(&readings) };
        (0..8).map(|_| state.end_round(&stuck, &config).spent).collect()
    };
    assert_eq!(spent(SupervisorLevel::Adaptive, 0)[6..], [None, Some("rounds")]);
    assert_eq!(spent(SupervisorLevel::Strict, 0)[4..6], [None, Some("rounds")], "less patience");
    assert_eq!(spent(SupervisorLevel::Adaptive, 100)[1..3], [None, Some("tokens")]);
    assert_eq!(spent(SupervisorLevel::Advise, 100), [None; 8], "words stop nobody");
    assert_eq!(PhaseState::default().most_tokens(&SupervisorConfig::default(), 0), None);
}

#[test]
fn verified_progress_extends_once_by_half() {
    let config = SupervisorConfig::default();
    let mut state = in_takeover();
    let readings = repeat(9);
    let good = RoundObservation { verified: true, ..seen(&readings) };
    let outcomes: Vec<_> = (0..12).map(|_| state.end_round(&good, &config)).collect();
    assert!(outcomes[0].extended && !outcomes[1].extended);
    assert_eq!((state.most_rounds(&config), state.most_tokens(&config, 100)), (12, Some(45)));
    assert!(outcomes[..11].iter().all(|outcome| outcome.spent.is_none()));
    assert_eq!(outcomes[11].spent, Some("rounds"));
}

#[test]
fn a_person_takes_over_at_once_and_a_resume_lets_go() {
    let config = SupervisorConfig::default();
    let mut state = PhaseState::default();
    assert_eq!(to(&state.force(&seen(&USER), &config)), [TakeoverPhase::Takeover]);
    assert_eq!(to(&state.force(&seen(&USER), &config)), []);
    assert_eq!(to(&state.resume(&seen(&[]))), [TakeoverPhase::Free]);
    assert_eq!(to(&state.resume(&seen(&[]))), []);
    assert_eq!((state.used(), state.stage()), ((0, 0), EscalationStage::Quiet));
    let off = SupervisorConfig { level: SupervisorLevel::Off, ..SupervisorConfig::default() };
    assert_eq!(to(&state.force(&seen(&USER), &off)), []);
}

#[test]
fn the_reason_is_the_worst_signal() {
    let with =
        |value| [repeat(3)[0], DeviationReading { signal: Deviation::NoProgress, value, threshold: 4 }];
    let mut state = PhaseState::default();
    let outcomes: Vec<_> =
        (6..12).map(|value| state.end_round(&seen(&with(value)), &SupervisorConfig::default())).collect();
    assert_eq!(outcomes[5].changes[0].reason, "takeover:no_progress");
    assert_eq!(outcomes[5].changes[0].signals, with(11));
}

#[test]
fn takeovers_that_come_to_nothing_end_the_run() {
    let config = SupervisorConfig {
        takeover: TakeoverConfig { cooldown_rounds: 1, ..TakeoverConfig::default() },
        ..SupervisorConfig::default()
    };
    let mut state = PhaseState::default();
    let mut spent = Vec::new();
    for _ in 0..3 {
        for round in 1..=9 {
            let outcome = state.end_round(&seen(&repeat(2 + round)), &config);
            spent.extend(outcome.spent);
            if !outcome.changes.is_empty() {
                break;
            }
        }
        (0..5).for_each(|_| {
            state.end_round(&seen(&[]), &config);
        });
    }
    assert_eq!((state.takeovers(), spent), (3, vec!["relapses"]));
}
