//! Kill -9 at any point, and two at once: the login is never lost, and each end is one renewal.

use std::process::Child;

use holon_login::{CredentialProvider as _, RenewalStep, Secret};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::login_world::LoginWorld;
use crate::process::RunRole;

/// Where the process that renews may be killed. While the only copy of an answer is in its memory it may not: that is why
/// it is another process than the run.
const STEPS: [RenewalStep; 6] = [
    RenewalStep::Locked,
    RenewalStep::Posting,
    RenewalStep::Journaled,
    RenewalStep::Written,
    RenewalStep::Replaced,
    RenewalStep::Forgotten,
];

/// A generator of numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn end(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("canary"), "a secret in the words of a run: {text}");
    text
}

/// One end of a token, with a kill on the way.
fn round(world: &LoginWorld, numbers: &mut Numbers) -> String {
    let mut role = RunRole::of(world);
    let two = numbers.below(4) == 0;
    let kind = match numbers.below(4) {
        0 | 1 => {
            let step = STEPS[usize::try_from(numbers.below(STEPS.len() as u64)).unwrap()];
            role.renewer_dies_at = Some(step);
            format!("the renewal is killed at {step:?}")
        }
        2 => {
            let turns = u32::try_from(numbers.below(40_000)).unwrap();
            role.dies_after = Some(turns);
            format!("the run is killed after {turns} turns")
        }
        _ => "the run's group is killed when the old token is used up".to_owned(),
    };
    let other = two.then(|| RunRole::of(world).start());
    let child = role.start();
    if role.renewer_dies_at.is_none() && role.dies_after.is_none() {
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        world.server.before_next_answer(move || {
            // It may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        });
    }
    end(child);
    if let Some(other) = other {
        end(other);
    }
    format!("{kind}, two: {two}")
}

fn rounds(seed: u64, count: u64) {
    let world = LoginWorld::new();
    let mut numbers = Numbers(seed);
    for number in 1..=count {
        let kind = round(&world, &mut numbers);
        // The next start, which nobody kills.
        let credential = world.login().credential();
        let context = format!("seed {seed}, round {number}: {kind}: {credential:?}");
        world.server.forget_before_answer();
        assert_eq!(world.server.counts(), (number, 0), "{context}");
        let access = world.server.state().access();
        assert_eq!(credential.unwrap().mark(), Secret::new(&access).mark(), "{context}");
        world.assert_whole(&context);
        world.pass();
    }
    world.assert_clean();
}

#[test]
fn no_kill_loses_the_login_1() {
    rounds(1, 125);
}

#[test]
fn no_kill_loses_the_login_2() {
    rounds(2, 125);
}

#[test]
fn no_kill_loses_the_login_3() {
    rounds(3, 125);
}

#[test]
fn no_kill_loses_the_login_4() {
    rounds(4, 125);
}

#[test]
fn each_step_can_be_the_last() {
    for step in STEPS {
        let world = LoginWorld::new();
        let role = RunRole::of(&world).renewer_dies_at(step);
        let words = end(role.start());
        assert!(words.contains("ended without a word"), "{step:?}: {words}");
        world.login().credential().unwrap();
        assert_eq!(world.server.counts(), (1, 0), "{step:?}");
        world.assert_whole(&format!("{step:?}"));
        world.assert_clean();
    }
}

#[test]
fn an_answer_in_the_journal_outlives_an_agent_that_blanks_its_login() {
    let world = LoginWorld::new();
    let role = RunRole::of(&world).renewer_dies_at(RenewalStep::Journaled);
    end(role.start());
    // The agent outside posts the token that was used up, is refused, and blanks both.
    let mut json = world.json();
    for field in ["accessToken", "refreshToken"] {
        json["claudeAiOauth"][field] = "".into();
    }
    world.write(&json.to_string());
    world.login().credential().unwrap();
    world.assert_whole("blanked");
    world.assert_clean();
}

#[test]
fn an_answer_in_the_journal_does_not_replace_a_new_login_or_undo_a_log_out() {
    for gone in [false, true] {
        let world = LoginWorld::new();
        let role = RunRole::of(&world).renewer_dies_at(RenewalStep::Journaled);
        end(role.start());
        if gone {
            std::fs::remove_file(world.file()).unwrap();
            let words = world.login().credential().unwrap_err().to_string();
            assert!(words.contains("log in with `claude auth login`"), "{words}");
            assert!(!world.file().exists());
        } else {
            world.server.state().made += 10;
            world.write(&world.login_text().replace("1000000000", "9000000000000"));
            world.login().credential().unwrap();
            world.assert_whole("a new login");
            world.assert_clean();
        }
        assert_eq!(world.server.state().renewed, 1);
    }
}
