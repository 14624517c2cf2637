//! Does supervision help? Every scripted agent of `bench/supervisor` and one seed of the grammar at the levels that matter, with
//! the real binary behind real walls: lost ones that listen recover, those that do not are stopped, healthy ones are left
//! alone, in runs and in chat.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use holon_testkit::lost::{AgentScript, HearingMode, PlayLevel, PlayOutcome, each, grammar, play, play_chat};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Seeds of agents made from the grammar; others with `HOLON_SEEDS=1,2,3`.
fn seeds() -> Vec<u64> {
    let given = std::env::var("HOLON_SEEDS").unwrap_or_else(|_| "18".to_owned());
    given.split(',').map(|seed| seed.trim().parse().expect("a number")).collect()
}

fn written() -> Vec<AgentScript> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/supervisor");
    AgentScript::load(&folder).unwrap()
}

fn made() -> Vec<AgentScript> {
    seeds().into_iter().flat_map(grammar::scripts).collect()
}

fn scripts(lost: bool) -> Vec<AgentScript> {
    let mut scripts = written();
    scripts.extend(made());
    scripts.retain(|script| script.is_lost() == lost);
    scripts
}

fn go(script: &AgentScript, level: PlayLevel, hearing: HearingMode) -> PlayOutcome {
    play(Path::new(BIN), script, level, hearing)
}

/// Nothing untrue was said, whatever became of it.
fn assert_true(script: &AgentScript, outcome: &PlayOutcome) {
    assert!(outcome.told.untrue.is_empty(), "{}: {:#?}", script.name, outcome.told.untrue);
}

fn told(script: &AgentScript, outcome: &PlayOutcome) -> String {
    let PlayOutcome { code, good, rounds, heeded, takeovers, denied, report, manifest, said, .. } = outcome;
    let (error, supervisor) = (&manifest["error"], &manifest["metadata"]["supervisor"]);
    format!(
        "{}: code {code}, good {good}, {rounds} rounds, heeded {heeded:?}, {takeovers} takeovers, {denied} denied\n{error:#}\n{supervisor:#}\n{report}\n{said}",
        script.name
    )
}

/// What is wrong with each, all of it at once.
fn assert_none(wrong: Vec<Option<String>>) {
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of them:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn there_are_enough_scripts() {
    for lost in [true, false] {
        let all = scripts(lost);
        let kinds = |of: fn(&AgentScript) -> &str| all.iter().map(of).collect::<BTreeSet<_>>().len();
        assert!(all.len() >= 40, "{}", all.len());
        assert!(kinds(|script| &script.family) >= 12);
        assert!(kinds(|script| &script.language) >= 8);
        let made = made().iter().filter(|script| script.is_lost() == lost).count();
        assert!(made >= 20, "half of them are made: {made}");
        assert!(all.iter().all(|script| (10..=200).contains(&script.rounds)));
    }
    // Goals in the languages of people, told apart by their letters.
    let goals: Vec<String> = [true, false].into_iter().flat_map(scripts).map(|script| script.goal).collect();
    let within = |low: char, high: char| move |goal: &String| goal.chars().any(|c| (low..=high).contains(&c));
    let kana = within('\u{3040}', '\u{30ff}');
    let (han, words) = (within('\u{4e00}', '\u{9fff}'), |word: &str| goals.iter().any(|g| g.contains(word)));
    assert!(goals.iter().any(kana), "Japanese");
    assert!(goals.iter().any(|goal| han(goal) && !kana(goal)), "Chinese");
    assert!(words("Fix ") && words("Behebe ") && words("Corrige ") && words("Arregla "), "{goals:#?}");
}

#[test]
fn adaptive_and_strict_recover_lost_agents_that_listen() {
    let all = scripts(true);
    let off = each(&all, |script| go(script, PlayLevel::Off, HearingMode::Reacts).good);
    let failing: Vec<&AgentScript> =
        all.iter().zip(off).filter(|(_, good)| !good).map(|(script, _)| script).collect();
    assert!(failing.len() >= 40, "{} fail without supervision", failing.len());
    for level in [PlayLevel::Adaptive, PlayLevel::Strict] {
        let outcomes = each(&failing, |script| go(script, level, HearingMode::Reacts));
        let missed: Vec<String> = failing
            .iter()
            .zip(&outcomes)
            .filter(|(_, outcome)| !outcome.recovered())
            .map(|(script, outcome)| told(script, outcome))
            .collect();
        let untrue: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.told.untrue).collect();
        assert!(untrue.is_empty(), "{untrue:#?}");
        assert!(outcomes.iter().map(|outcome| outcome.told.sentences).sum::<u64>() > 100);
        let recovered = failing.len() - missed.len();
        assert!(
            recovered * 100 >= failing.len() * 85,
            "{level:?}: {recovered}; not these:\n{}",
            missed.join("\n\n")
        );
        let bad = |(script, outcome): (&&AgentScript, &PlayOutcome)| {
            (outcome.code == 0 && !outcome.good)
                .then(|| format!("exit 0 with a bad result: {}", told(script, outcome)))
        };
        assert_none(failing.iter().zip(&outcomes).map(bad).collect());
    }
}

#[test]
fn adaptive_stops_lost_agents_that_do_not_listen() {
    assert_none(each(&scripts(true), |script| {
        let outcome = go(script, PlayLevel::Adaptive, HearingMode::Deaf);
        assert_true(script, &outcome);
        let stopped = outcome.stopped_usefully() && outcome.rounds < script.rounds;
        (!stopped).then(|| told(script, &outcome))
    }));
}

#[test]
fn nothing_recovers_when_the_supervisors_words_are_blanked() {
    assert_none(each(&scripts(true), |script| {
        let outcome = go(script, PlayLevel::Adaptive, HearingMode::Blanked);
        (outcome.good || outcome.heeded.is_some()).then(|| told(script, &outcome))
    }));
}

#[test]
fn a_shadow_beside_off_changes_nothing() {
    let all: Vec<AgentScript> = [true, false].into_iter().flat_map(scripts).collect();
    assert_none(each(&all, |script| {
        let [off, shadow] =
            [PlayLevel::Off, PlayLevel::Shadow].map(|level| go(script, level, HearingMode::Reacts));
        let seen = |outcome: &PlayOutcome| (outcome.code, outcome.rounds, outcome.tokens, outcome.good);
        (seen(&off) != seen(&shadow)).then(|| format!("{:?}\n{}", seen(&off), told(script, &shadow)))
    }));
}

/// Nobody is taken over, denied anything, or loses work, and nobody pays more than 1 % for it at the levels that `paid` names.
fn assert_left_alone(
    levels: &[PlayLevel],
    paid: &[PlayLevel],
    go: impl Fn(&AgentScript, PlayLevel) -> PlayOutcome + Sync,
) {
    assert_none(each(&scripts(false), |script| {
        let off = go(script, PlayLevel::Off);
        if !off.recovered() {
            return Some(format!("without supervision: {}", told(script, &off)));
        }
        let wrong = levels.iter().filter_map(|level| {
            let outcome = go(script, *level);
            assert_true(script, &outcome);
            let alone = outcome.recovered() && (outcome.takeovers, outcome.denied) == (0, 0);
            let cheap = !paid.contains(level) || outcome.tokens * 100 <= off.tokens * 101;
            let told = || {
                format!(
                    "{level:?}, {} tokens with off, {} {}",
                    off.tokens,
                    outcome.tokens,
                    told(script, &outcome)
                )
            };
            (!alone || !cheap).then(told)
        });
        let wrong: Vec<String> = wrong.collect();
        (!wrong.is_empty()).then(|| wrong.join("\n\n"))
    }));
}

#[test]
fn healthy_agents_are_left_alone() {
    assert_left_alone(&[PlayLevel::Adaptive, PlayLevel::Strict], &[PlayLevel::Adaptive], |script, level| {
        go(script, level, HearingMode::Reacts)
    });
}

#[test]
fn healthy_agents_are_left_alone_in_chat() {
    let levels = [PlayLevel::Advise, PlayLevel::Adaptive];
    assert_left_alone(&levels, &levels, |script, level| {
        play_chat(Path::new(BIN), script, level, HearingMode::Reacts)
    });
}

/// What the test before counts is there to be counted.
#[test]
fn a_lost_turn_of_a_chat_is_seen() {
    let script = written().into_iter().find(|script| script.name == "lost-repeats-a-check").unwrap();
    let chat = |level, hearing| play_chat(Path::new(BIN), &script, level, hearing);
    let deaf = chat(PlayLevel::Adaptive, HearingMode::Deaf);
    assert!(deaf.takeovers > 0 && deaf.denied > 0, "{}", told(&script, &deaf));
    let advised = chat(PlayLevel::Advise, HearingMode::Reacts);
    assert!(
        advised.heeded.is_some() && advised.recovered() && advised.takeovers == 0,
        "{}",
        told(&script, &advised)
    );
    let off = chat(PlayLevel::Off, HearingMode::Reacts);
    assert!(!off.good && (off.takeovers, off.denied) == (0, 0), "{}", told(&script, &off));
}
