//! Does supervision help? Every scripted agent of `bench/supervisor` at the levels that matter, with the real binary behind
//! real walls: lost ones that listen recover, those that do not are stopped, healthy ones are left alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use holon_testkit::lost::{Hearing, Level, Outcome, Script, play};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

fn scripts(lost: bool) -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/supervisor");
    let mut scripts = Script::load(&folder).unwrap();
    scripts.retain(|script| script.is_lost() == lost);
    scripts
}

fn go(script: &Script, level: Level, hearing: Hearing) -> Outcome {
    play(Path::new(BIN), script, level, hearing)
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
fn adaptive_recovers_lost_agents_that_listen() {
    let (mut failing, mut recovered, mut missed) = (0, 0, Vec::new());
    for script in scripts(true) {
        let off = go(&script, Level::Off, Hearing::Reacts);
        if off.good {
            continue;
        }
        failing += 1;
        let adaptive = go(&script, Level::Adaptive, Hearing::Reacts);
        if adaptive.recovered() {
            recovered += 1;
        } else {
            missed.push(told(&script, &adaptive));
        }
    }
    assert!(failing >= 12, "{failing} fail without supervision");
    assert!(recovered * 5 >= failing * 4, "{recovered} of {failing}; not these:\n{}", missed.join("\n\n"));
}

#[test]
fn adaptive_stops_lost_agents_that_do_not_listen() {
    for script in scripts(true) {
        let outcome = go(&script, Level::Adaptive, Hearing::Deaf);
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
        let adaptive = go(&script, Level::Adaptive, Hearing::Reacts);
        assert!(adaptive.recovered() && adaptive.takeovers == 0, "{}", told(&script, &adaptive));
        assert!(adaptive.tokens * 50 <= off.tokens * 51, "2 %: {} {}", off.tokens, told(&script, &adaptive));
        before += off.tokens;
        after += adaptive.tokens;
        let strict = go(&script, Level::Strict, Hearing::Reacts);
        assert_eq!(strict.takeovers, 0);
    }
    assert!(after * 50 <= before * 51, "2 %: {before} and {after}");
}
