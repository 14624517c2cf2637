use super::*;
use crate::config::{Ladder, Takeover};
use crate::level::Level;

const fn repeat(value: u32) -> [Reading; 1] {
    [Reading { signal: Deviation::ToolRepeatFail, value, threshold: 3 }]
}
const USER: [Reading; 1] = [Reading { signal: Deviation::UserForceTakeover, value: 1, threshold: 1 }];
const ENDING: [Reading; 1] = [Reading { signal: Deviation::BudgetEnding, value: 80, threshold: 80 }];

fn seen(readings: &[Reading]) -> Observation<'_> {
    Observation { readings, critical: true, evidence: true, verified: false, tokens: 10, token_limit: 0 }
}

fn to(outcome: &Outcome) -> Vec<Phase> {
    outcome.changes.iter().map(|change| change.to).collect()
}

/// Rounds in each of which the failure came once more; where each rung was taken, from 1.
fn climb(state: &mut PhaseState, config: &Config, critical: bool) -> Vec<(u32, &'static str)> {
    let mut rungs = Vec::new();
    for round in 1..=12 {
        let readings = repeat(2 + round);
        let outcome = state.end_round(&Observation { critical, ..seen(&readings) }, config);
        rungs.extend(
            outcome.rise.map(|stage| (round, if stage == Stage::Noticed { "notice" } else { "advice" })),
        );
        if to(&outcome).contains(&Phase::Takeover) {
            rungs.push((round, "takeover"));
            break;
        }
    }
    rungs
}

fn in_takeover() -> PhaseState {
    let mut state = PhaseState::default();
    climb(&mut state, &Config::default(), true);
    assert_eq!((state.phase(), state.takeovers()), (Phase::Takeover, 1));
    state
}

fn walk(state: &mut PhaseState, rounds: u32, seen: &Observation<'_>) -> Vec<Phase> {
    (0..rounds).flat_map(|_| to(&state.end_round(seen, &Config::default()))).collect()
}

#[test]
fn each_rung_needs_evidence_after_the_one_before() {
    let check = |level: Level, critical: bool, expect: &[(u32, &str)]| {
        let config = Config { level, ..Config::default() };
        assert_eq!(climb(&mut PhaseState::default(), &config, critical), expect, "{level:?} {critical}");
    };
    let all = [(1, "notice"), (3, "advice"), (6, "takeover")];
    check(Level::Adaptive, true, &all);
    check(Level::Strict, true, &all);
    check(Level::Adaptive, false, &all[..2]);
    check(Level::Advise, true, &all[..2]);
    check(Level::Off, true, &[]);
    let quick = Config { ladder: Ladder { advice: 1, takeover: 1 }, ..Config::default() };
    assert_eq!(
        climb(&mut PhaseState::default(), &quick, true),
        [(1, "notice"), (2, "advice"), (3, "takeover")]
    );
}

#[test]
fn a_signal_that_stays_as_it_is_leads_no_further() {
    let mut state = PhaseState::default();
    let rises: Vec<_> =
        (0..9).filter_map(|_| state.end_round(&seen(&repeat(3)), &Config::default()).rise).collect();
    assert_eq!(rises, [Stage::Noticed]);
}

#[test]
fn calm_rounds_or_a_check_lead_down_again() {
    let config = Config::default();
    let calm = |rounds: u32, verified: bool| {
        let mut state = PhaseState::default();
        state.end_round(&seen(&repeat(3)), &config);
        (0..rounds).for_each(|_| {
            state.end_round(&Observation { verified, ..seen(&[]) }, &config);
        });
        state.stage()
    };
    assert_eq!((calm(2, false), calm(3, false), calm(1, true)), (Stage::Noticed, Stage::Quiet, Stage::Quiet));
}

#[test]
fn what_is_said_is_said_while_it_holds() {
    let config = Config::default();
    let mut state = PhaseState::default();
    assert_eq!(state.saying(), Stage::Quiet);
    state.end_round(&seen(&repeat(3)), &config);
    assert_eq!(state.saying(), Stage::Noticed);
    state.end_round(&seen(&repeat(4)), &config);
    assert_eq!(state.saying(), Stage::Quiet, "a notice is said once");
    state.end_round(&seen(&repeat(5)), &config);
    assert_eq!(state.saying(), Stage::Advised);
    state.end_round(&seen(&repeat(5)), &config);
    assert_eq!(state.saying(), Stage::Advised);
    state.end_round(&seen(&[]), &config);
    assert_eq!(state.saying(), Stage::Quiet);
}

#[test]
fn a_budget_that_ends_is_advice_at_once_and_no_takeover() {
    let mut state = PhaseState::default();
    assert_eq!(state.end_round(&seen(&ENDING), &Config::default()).rise, Some(Stage::Advised));
    for value in 81..100 {
        let readings = [Reading { value, ..ENDING[0] }];
        assert_eq!(state.end_round(&seen(&readings), &Config::default()), Outcome::default());
    }
}

#[test]
fn the_whole_way_round() {
    let mut state = in_takeover();
    assert!(state.is_recovering());
    assert_eq!(walk(&mut state, 2, &seen(&[])), []);
    assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::HandoffPending]);
    assert!(state.is_recovering());
    assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::Cooldown]);
    assert!(!state.is_recovering());
    assert_eq!(walk(&mut state, 2, &seen(&[])), []);
    assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::Free]);
}

#[test]
fn only_clean_rounds_in_a_row_count_and_cost_nothing() {
    let idle = Observation { evidence: false, ..seen(&[]) };
    let mut state = in_takeover();
    walk(&mut state, 2, &seen(&[]));
    assert_eq!(state.used(), (0, 0));
    walk(&mut state, 1, &idle);
    assert_eq!(state.used(), (1, 10));
    assert_eq!(walk(&mut state, 2, &seen(&[])), []);
    assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::HandoffPending]);
    assert_eq!(walk(&mut state, 3, &idle), []);
    assert_eq!(walk(&mut state, 1, &seen(&repeat(3))), [Phase::Takeover], "a relapse");
    assert_eq!((state.takeovers(), state.used()), (1, (1, 10)), "with the same budget");
}

#[test]
fn cooldown_hears_strong_signals_only() {
    let cooling = || {
        let mut state = in_takeover();
        walk(&mut state, 4, &seen(&[]));
        assert_eq!(state.phase(), Phase::Cooldown);
        state
    };
    assert_eq!(walk(&mut cooling(), 1, &seen(&repeat(4))), []);
    assert_eq!(walk(&mut cooling(), 1, &seen(&repeat(5))), [Phase::Free]);
    assert_eq!(walk(&mut cooling(), 1, &seen(&USER)), [Phase::Free, Phase::Takeover]);
}

#[test]
fn a_takeover_ends_when_its_rounds_or_tokens_are_spent() {
    let spent = |level: Level, token_limit: u64| -> Vec<Option<&'static str>> {
        let config = Config { level, ..Config::default() };
        let mut state = in_takeover();
        let readings = repeat(9);
        let stuck = Observation { evidence: false, token_limit, ..seen(&readings) };
        (0..8).map(|_| state.end_round(&stuck, &config).spent).collect()
    };
    assert_eq!(spent(Level::Adaptive, 0)[6..], [None, Some("rounds")]);
    assert_eq!(spent(Level::Strict, 0)[4..6], [None, Some("rounds")], "less patience");
    assert_eq!(spent(Level::Adaptive, 100)[1..3], [None, Some("tokens")]);
    assert_eq!(spent(Level::Advise, 100), [None; 8], "words stop nobody");
    assert_eq!(PhaseState::default().most_tokens(&Config::default(), 0), None);
}

#[test]
fn verified_progress_extends_once_by_half() {
    let config = Config::default();
    let mut state = in_takeover();
    let readings = repeat(9);
    let good = Observation { verified: true, ..seen(&readings) };
    let outcomes: Vec<_> = (0..12).map(|_| state.end_round(&good, &config)).collect();
    assert!(outcomes[0].extended && !outcomes[1].extended);
    assert_eq!((state.most_rounds(&config), state.most_tokens(&config, 100)), (12, Some(45)));
    assert!(outcomes[..11].iter().all(|outcome| outcome.spent.is_none()));
    assert_eq!(outcomes[11].spent, Some("rounds"));
}

#[test]
fn a_person_takes_over_at_once_and_a_resume_lets_go() {
    let config = Config::default();
    let mut state = PhaseState::default();
    assert_eq!(to(&state.force(&seen(&USER), &config)), [Phase::Takeover]);
    assert_eq!(to(&state.force(&seen(&USER), &config)), []);
    assert_eq!(to(&state.resume(&seen(&[]))), [Phase::Free]);
    assert_eq!(to(&state.resume(&seen(&[]))), []);
    assert_eq!((state.used(), state.stage()), ((0, 0), Stage::Quiet));
    let off = Config { level: Level::Off, ..Config::default() };
    assert_eq!(to(&state.force(&seen(&USER), &off)), []);
}

#[test]
fn the_reason_is_the_worst_signal() {
    let with = |value| [repeat(3)[0], Reading { signal: Deviation::NoProgress, value, threshold: 4 }];
    let mut state = PhaseState::default();
    let outcomes: Vec<_> =
        (6..12).map(|value| state.end_round(&seen(&with(value)), &Config::default())).collect();
    assert_eq!(outcomes[5].changes[0].reason, "takeover:no_progress");
    assert_eq!(outcomes[5].changes[0].signals, with(11));
}

#[test]
fn takeovers_that_come_to_nothing_end_the_run() {
    let config =
        Config { takeover: Takeover { cooldown_rounds: 1, ..Takeover::default() }, ..Config::default() };
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
