//! Does supervision help? Every scripted agent of `bench/supervisor` at the levels that matter, with the real binary behind
//! real walls: lost ones that listen recover, those that do not are stopped, healthy ones are left alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use holon_testkit::lost::{Hearing, Level, Outcome, Script, grammar, play};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Seeds of agents made from the grammar; others with `HOLON_SEEDS=1,2,3`.
fn seeds() -> Vec<u64> {
    let given = std::env::var("HOLON_SEEDS").unwrap_or_else(|_| "18".to_owned());
    given.split(',').map(|seed| seed.trim().parse().expect("a number")).collect()
}

fn scripts(lost: bool) -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/supervisor");
    let mut scripts = Script::load(&folder).unwrap();
    scripts.extend(seeds().into_iter().flat_map(grammar::scripts));
    scripts.retain(|script| script.is_lost() == lost);
    scripts
}

fn go(script: &Script, level: Level, hearing: Hearing) -> Outcome {
    play(Path::new(BIN), script, level, hearing)
}

/// Nothing untrue was said, whatever became of it.
fn assert_true(script: &Script, outcome: &Outcome) {
    assert!(outcome.told.untrue.is_empty(), "{}: {:#?}", script.name, outcome.told.untrue);
}

fn told(script: &Script, outcome: &Outcome) -> String {
    let Outcome { code, good, rounds, heeded, takeovers, report, manifest, said, .. } = outcome;
    let (error, supervisor) = (&manifest["error"], &manifest["metadata"]["supervisor"]);
    format!(
        "{}: code {code}, good {good}, {rounds} rounds, heeded {heeded:?}, {takeovers} takeovers\n{error:#}\n{supervisor:#}\n{report}\n{said}",
        script.name
    )
}

#[test]
fn there_are_enough_scripts() {
    assert!(scripts(true).len() >= 12 && scripts(false).len() >= 6);
}

#[test]
fn adaptive_and_strict_recover_lost_agents_that_listen() {
    let failing: Vec<Script> =
        scripts(true).into_iter().filter(|script| !go(script, Level::Off, Hearing::Reacts).good).collect();
    assert!(failing.len() >= 12, "{} fail without supervision", failing.len());
    for level in [Level::Adaptive, Level::Strict] {
        let outcomes: Vec<(&Script, Outcome)> =
            failing.iter().map(|script| (script, go(script, level, Hearing::Reacts))).collect();
        let missed: Vec<String> = outcomes
            .iter()
            .filter(|(_, outcome)| !outcome.recovered())
            .map(|(script, outcome)| told(script, outcome))
            .collect();
        outcomes.iter().for_each(|(script, outcome)| assert_true(script, outcome));
        assert!(outcomes.iter().map(|(_, outcome)| outcome.told.sentences).sum::<u64>() > 100);
        let recovered = failing.len() - missed.len();
        assert!(
            recovered * 100 >= failing.len() * 85,
            "{level:?}: {recovered}; not these:\n{}",
            missed.join("\n\n")
        );
        assert!(
            outcomes.iter().all(|(_, outcome)| outcome.code != 0 || outcome.good),
            "exit 0 with a bad result"
        );
    }
}

#[test]
fn adaptive_stops_lost_agents_that_do_not_listen() {
    for script in scripts(true) {
        let outcome = go(&script, Level::Adaptive, Hearing::Deaf);
        assert_true(&script, &outcome);
        assert!(outcome.stopped_usefully() && outcome.rounds < script.rounds, "{}", told(&script, &outcome));
    }
}

#[test]
fn nothing_recovers_when_the_supervisors_words_are_blanked() {
    for script in scripts(true) {
        let outcome = go(&script, Level::Adaptive, Hearing::Blanked);
        assert!(!outcome.good && outcome.heeded.is_none(), "{}", told(&script, &outcome));
    }
}

#[test]
fn a_shadow_beside_off_changes_nothing() {
    for script in scripts(true).iter().chain(&scripts(false)) {
        let [off, shadow] = [Level::Off, Level::Shadow].map(|level| go(script, level, Hearing::Reacts));
        let seen = |outcome: &Outcome| (outcome.code, outcome.rounds, outcome.tokens, outcome.good);
        assert_eq!(seen(&off), seen(&shadow), "{}", told(script, &shadow));
    }
}

#[test]
fn healthy_agents_are_left_alone() {
    let (mut before, mut after) = (0, 0);
    for script in scripts(false) {
        let off = go(&script, Level::Off, Hearing::Reacts);
        assert!(off.recovered(), "{}", told(&script, &off));
        for level in [Level::Adaptive, Level::Strict] {
            let outcome = go(&script, level, Hearing::Reacts);
            assert!(outcome.recovered(), "{level:?} {}", told(&script, &outcome));
            assert_true(&script, &outcome);
            assert_eq!((outcome.takeovers, outcome.denied), (0, 0), "{level:?} {}", told(&script, &outcome));
            if level == Level::Adaptive {
                assert!(
                    outcome.tokens * 100 <= off.tokens * 101,
                    "1 %: {} {}",
                    off.tokens,
                    told(&script, &outcome)
                );
                before += off.tokens;
                after += outcome.tokens;
            }
        }
    }
    assert!(after * 100 <= before * 101, "1 %: {before} and {after}");
}
