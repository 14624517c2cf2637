//! What counts as new, as green and as proven.

use super::*;
use crate::event::CheckOutcome;
use crate::scene::{check_ran, of_call, read, search, write};

fn named(paths: &[&str]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

#[test]
fn what_was_not_known_is_news() {
    let mut known = EvidenceMemory::default();
    let mut new = |fact: SupervisorFact| {
        known.absorb(&fact, 1);
        known.end_round(0, 0).is_new()
    };
    assert!(new(read("c1", "a.rs", "h")));
    assert!(!new(read("c2", "a.rs", "h")), "the same file again");
    assert!(new(read("c3", "a.rs", "g")), "another one since");
    assert!(new(write("c4", "b.rs", "", "x")) && !new(read("c5", "b.rs", "x")), "one's own work");
    assert!(new(write("c6", "b.rs", "x", "y")));
    assert!(!new(write("c7", "b.rs", "y", "x")) && !new(write("c8", "b.rs", "x", "y")), "to and fro");
    assert!(
        new(check_ran("t", 1, &["a"])) && !new(check_ran("t", 1, &["a"])) && new(check_ran("t", 1, &["b"]))
    );
}

#[test]
fn the_same_words_of_a_check_are_no_news_however_it_is_asked() {
    let mut known = EvidenceMemory::default();
    let mut new = |command: &str, result: &str| {
        let SupervisorFact::CheckRan(check) = check_ran(command, 2, &[]) else { return false };
        known.absorb(&SupervisorFact::CheckRan(CheckOutcome { result: Some(result.to_owned()), ..check }), 1);
        known.end_round(0, 0).is_new()
    };
    assert!(new("make test", "x"));
    let asked = (0..100).map(|i| format!("env STEP={i} make test && echo {i}"));
    assert_eq!(asked.filter(|command| new(command, "x")).count(), 0);
    assert!(new("make lint", "y") && new("env STEP=0 make test && echo 0", "z"));
}

#[test]
fn what_was_green_before_and_is_again_is_told_apart() {
    let mut known = EvidenceMemory::default();
    let mut again = |change: Option<(&str, &str)>, exit: i32, failing: &[&str]| {
        if let Some((before, after)) = change {
            known.absorb(&write("c", "a.rs", before, after), 1);
        }
        known.absorb(&check_ran("t", exit, failing), 1);
        known.end_round(0, 0).green_again
    };
    assert!(!again(None, 1, &["a"]) && !again(Some(("1", "2")), 0, &[]), "the first green");
    assert!(again(Some(("2", "3")), 0, &[]), "green, changed, green");
    assert!(!again(Some(("3", "4")), 1, &["a"]) && !again(Some(("4", "5")), 0, &[]), "red in between");
}

#[test]
fn what_only_the_host_has_seen_is_not_told_unless_it_can_be_compared() {
    for (call, first, told) in [(None, false, false), (None, true, true), (Some("c1"), false, true)] {
        let mut known = EvidenceMemory::default();
        if first {
            known.absorb(&check_ran("t", 1, &["a"]), 1);
        }
        known.absorb(&write("c0", "a.rs", "1", "2"), 1);
        let ran = check_ran("t", 1, &["a"]);
        known.absorb(&call.map_or(ran.clone(), |call| of_call(call, ran)), 1);
        assert_eq!(known.checks()[0].is_told(), told, "{call:?} {first}");
    }
}

#[test]
fn a_result_is_news_until_it_was_seen() {
    let mut known = EvidenceMemory::default();
    let mut new = |call: u64, result: &str, ok: bool| {
        known.learn(call, Some(result), ok, false);
        known.end_round(0, 0).news
    };
    assert!(new(1, "x", true) && !new(1, "x", true));
    assert!(new(2, "x", true), "another question with the same answer");
    assert!(!new(3, "x", false), "another failure of the same kind");
    assert!(!new(4, "", true), "nothing");
    let failing: Vec<bool> = (0..9).map(|i| new(9, &format!("e{i}"), false)).collect();
    assert_eq!(
        failing.iter().filter(|new| **new).count(),
        7,
        "failures in a row tell less and less: {failing:?}"
    );
}

#[test]
fn searches_in_vain_are_news_for_a_while() {
    let mut known = EvidenceMemory::default();
    let mut new = |call: u64, result: &str, empty: bool| {
        known.learn(call, Some(result), true, empty);
        known.end_round(0, 0).news
    };
    assert!((1..=8).all(|call| new(call, "nothing", true)));
    assert!(!(9..=20).any(|call| new(call, "nothing", true)));
    assert!(new(21, "a.rs:1", false) && new(22, "nothing", true), "something was found in between");
}

#[test]
fn what_was_put_back_is_not_changed() {
    let mut known = EvidenceMemory::default();
    known.absorb(&write("c1", "a.rs", "1", "2"), 1);
    assert_eq!(known.changed_count(), 1);
    known.absorb(&write("c2", "a.rs", "2", "1"), 1);
    assert_eq!((known.changed_count(), known.changed().len()), (0, 1));
    assert!(known.is_taken_back());
}

#[test]
fn a_command_that_passes_answers_for_the_same_with_more_around_it() {
    let ended = |failed: &str, passed: &str| {
        let mut known = EvidenceMemory::default();
        for (call, label, ok) in [(1, failed, false), (2, passed, true)] {
            let (exit, says) = (Some(i32::from(!ok)), if ok { "" } else { "no" });
            known.ended(&CallEnding {
                call,
                label,
                command: true,
                wrote: false,
                ok,
                exit,
                result: Some(label),
                says,
                waits: false,
            });
        }
        known.trial().is_none()
    };
    for failed in ["./test.sh 2>&1", "set -x; ./test.sh", "cd a && ./test.sh | tail -3"] {
        assert!(ended(failed, "./test.sh"), "{failed}");
    }
    for passed in ["make", "make test | tail", "make test; echo done", "test"] {
        assert!(!ended("make test", passed), "{passed}");
    }
}

/// A command of the agent's own that failed.
fn failed(known: &mut EvidenceMemory, label: &str, exit: i32) {
    known.ended(&CallEnding {
        call: 1,
        label,
        command: true,
        wrote: false,
        ok: false,
        exit: Some(exit),
        result: Some("no"),
        says: "no",
        waits: false,
    });
}

#[test]
fn what_is_not_there_is_no_check() {
    for (exit, is_check) in [(1, true), (126, false), (127, false)] {
        let mut known = EvidenceMemory::default();
        failed(&mut known, "./gradlew check", exit);
        assert_eq!(known.trial().is_some(), is_check, "{exit}");
    }
}

#[test]
fn tests_that_lost_lines_before_anything_failed_got_nobody_past_a_failure() {
    let shrank = |first: bool| {
        let mut known = EvidenceMemory::default();
        let test = || vec!["tests/test_a.py".to_owned()];
        if first {
            known.shrank(test());
        }
        failed(&mut known, "sh check.sh", 1);
        known.shrank(test());
        known.shrunk_tests.len()
    };
    assert_eq!((shrank(true), shrank(false)), (0, 1));
}

#[test]
fn only_texts_for_people_are_documentation() {
    let mut known = EvidenceMemory::default();
    assert!(!known.is_documentation(), "nothing was changed");
    known.absorb(&write("c1", "docs/REVIEW.md", "", "2"), 1);
    known.absorb(&write("c1", "LIST.txt", "", "2"), 1);
    assert!(known.is_documentation());
    known.absorb(&write("c2", "a.rs", "1", "2"), 1);
    assert!(!known.is_documentation());
}

#[test]
fn whatever_ran_since_the_last_change_shows_something() {
    let mut known = EvidenceMemory::default();
    let ran = |known: &mut EvidenceMemory, wrote: bool| {
        known.ended(&CallEnding {
            call: 1,
            label: "sh it.sh",
            command: true,
            wrote,
            ok: true,
            exit: Some(0),
            result: None,
            says: "",
            waits: false,
        });
    };
    assert!(known.is_unshown(), "nothing ran at all");
    ran(&mut known, false);
    assert!(!known.is_unshown());
    known.absorb(&write("c1", "a.rs", "1", "2"), 1);
    ran(&mut known, true);
    assert!(known.is_unshown(), "a command that writes shows nothing");
    ran(&mut known, false);
    assert!(!known.is_unshown());
}

#[test]
fn changes_that_reach_further_are_told_apart() {
    let mut known = EvidenceMemory::default();
    let mut of = |before: &str, after: &str, path: &str, lines: u32| {
        known.absorb(&write("c", path, before, after), 1);
        let round = known.end_round(lines, 0);
        (round.touched, round.created, round.grew)
    };
    assert_eq!(of("1", "2", "old.rs", 2), (true, false, true));
    assert_eq!(of("2", "3", "old.rs", 2), (false, false, false));
    assert_eq!(of("", "1", "new.rs", 3), (false, true, true));
    assert_eq!(of("1", "2", "new.rs", 1), (false, false, false));
    let reaches = RoundEvidence { created: true, grew: true, ..RoundEvidence::default() };
    assert!(reaches.reaches(false) && !reaches.reaches(true));
    let mut known = EvidenceMemory::default();
    let mut further = |gone: u32| known.end_round(20, gone).reaches(true);
    assert!(further(2) && !further(2) && further(3), "lines of the beginning that were not touched yet");
}

#[test]
fn what_failed_before_is_told_apart() {
    let own = |facts: &[SupervisorFact], wanted: bool| {
        let mut known = EvidenceMemory::default();
        facts.iter().for_each(|fact| {
            known.absorb(fact, 1);
        });
        known.checks()[0].own_cases(wanted)
    };
    let change = || write("c", "a.rs", "1", "2");
    let red = |cases: &[&str]| check_ran("t", 1, cases);
    assert_eq!(own(&[red(&["a"]), change(), red(&["a"])], false), Vec::<String>::new());
    assert_eq!(own(&[red(&["a"]), change(), red(&["a"])], true), ["a"]);
    assert_eq!(own(&[red(&["a"]), change(), red(&["a", "b"])], false), ["b"]);
    assert_eq!(own(&[change(), red(&["a"])], false), ["a"], "nobody knows");
    assert_eq!(own(&[check_ran("t", 0, &[]), change(), red(&["a"])], false), ["a"]);
    assert_eq!(own(&[red(&[]), change(), red(&[])], false), Vec::<String>::new(), "a runner without cases");
    assert_eq!(own(&[red(&["a"]), change(), red(&[])], false), ["`t`"], "it does not even run any more");
}

#[test]
fn greener_needs_fewer_failures_and_a_change_in_between() {
    let check = |first: SupervisorFact, change: bool, second: SupervisorFact, expect: bool| {
        let mut known = EvidenceMemory::default();
        known.absorb(&first, 1);
        if change {
            known.absorb(&write("c1", "a.rs", "1", "2"), 1);
        }
        let brought = known.absorb(&second, 1);
        assert_eq!((brought.greener, known.end_round(0, 0).greener), (expect, expect), "{second:?}");
    };
    let red = |cases: &[&str]| check_ran("t", 1, cases);
    let broken = |errors: u32| {
        let SupervisorFact::CheckRan(mut ran) = check_ran("t", 1, &[]) else {
            return SupervisorFact::ModelDone;
        };
        ran.diagnostics = errors;
        SupervisorFact::CheckRan(ran)
    };
    check(red(&["a", "b"]), true, red(&["a"]), true);
    check(red(&["a", "b"]), false, red(&["a"]), false);
    check(red(&["a"]), true, red(&["b"]), false);
    check(red(&["a"]), true, red(&["a", "b"]), false);
    check(red(&["a"]), true, check_ran("t", 0, &[]), true);
    check(check_ran("t", 0, &[]), true, check_ran("t", 0, &[]), false);
    check(red(&["a"]), true, check_ran("other", 0, &[]), false);
    check(broken(3), true, broken(2), true);
    check(broken(1), true, red(&["a", "b", "c"]), true);
    check(red(&["a"]), true, broken(1), false);
}

#[test]
fn one_success_per_version() {
    let mut known = EvidenceMemory::default();
    let green = check_ran("t", 0, &[]);
    assert!(known.absorb(&green, 1).verified);
    assert!(!known.absorb(&green, 1).verified);
    known.absorb(&write("c1", "a.rs", "1", "2"), 1);
    assert!(known.absorb(&green, 1).verified);
}

#[test]
fn luck_is_no_success() {
    let (red, green) = (check_ran("t", 1, &["x"]), check_ran("t", 0, &[]));
    let mut known = EvidenceMemory::default();
    known.absorb(&red, 1);
    for expect in [false, true] {
        assert_eq!(known.absorb(&green, 1).verified, expect, "passing is proven by the second time");
        assert_eq!((known.fresh_green().is_some(), known.fresh_luck().is_none()), (expect, expect));
    }
    known.absorb(&red, 1);
    let mut installed = crate::scene::finished("c", true, ProvenEffects::default());
    installed.exit = Some(0);
    known.absorb(&SupervisorFact::ToolFinished(installed), 1);
    known.absorb(&green, 1);
    assert!(known.fresh_green().is_some(), "something was done in between");
    known.absorb(&write("c1", "a.rs", "1", "2"), 1);
    known.absorb(&red, 1);
    known.absorb(&write("c2", "a.rs", "2", "3"), 1);
    assert!(known.absorb(&green, 1).verified, "something was changed in between");
}

#[test]
fn going_to_and_fro_between_results_is_no_progress() {
    let mut known = EvidenceMemory::default();
    let mut content = 0;
    let mut turn = |cases: &[&str]| {
        content += 1;
        known.absorb(&write("c", "a.rs", &content.to_string(), &format!("{content}x")), 1);
        known.absorb(&check_ran("t", 1, cases), 1).greener
    };
    assert!(!turn(&["a", "b"]));
    assert!(turn(&["a"]), "fewer");
    assert!(!turn(&["a", "b"]) && !turn(&["a"]), "where it was before");
    assert!(!turn(&["a", "b"]) && turn(&["b"]), "another one is mended");
}

#[test]
fn green_is_fresh_until_something_changes_or_fails() {
    let mut known = EvidenceMemory::default();
    known.absorb(&check_ran("t", 0, &[]), 1);
    assert!(known.fresh_green().is_some());
    known.absorb(&check_ran("lint", 1, &[]), 1);
    assert!(known.fresh_green().is_none() && known.fresh_red().is_some());
    known.absorb(&write("c0", "a.rs", "0", "1"), 1);
    known.absorb(&check_ran("lint", 0, &[]), 1);
    assert!(known.fresh_green().is_some());
    known.absorb(&write("c1", "a.rs", "1", "2"), 1);
    assert!(known.fresh_green().is_none() && known.fresh_red().is_none());
}

#[test]
fn reads_prove_what_has_not_changed() {
    let mut known = EvidenceMemory::default();
    known.absorb(&read("c1", "a.rs", "1"), 1);
    known.absorb(&read("c2", "b.rs", "1"), 1);
    assert_eq!(known.fresh_reads(&named(&["a.rs"]), 8), [EvidenceId(1)]);
    assert_eq!(known.fresh_reads(&named(&["c.rs"]), 8), []);
    assert_eq!(known.fresh_reads(&named(&["src/"]), 8).len(), 2, "a folder is not one file");
    assert_eq!(known.fresh_reads(&[], 8), [EvidenceId(2), EvidenceId(1)]);
    known.absorb(&write("c3", "a.rs", "1", "2"), 1);
    assert_eq!(known.fresh_reads(&[], 8), [EvidenceId(2)]);
    known.absorb(&search("c4", 3), 1);
    assert_eq!(known.fresh_search(), Some(EvidenceId(4)));
    known.absorb(&write("c5", "a.rs", "2", "3"), 1);
    assert_eq!(known.fresh_search(), None);
}

#[test]
fn memory_is_bounded() {
    let mut known = EvidenceMemory::default();
    for i in 0..2000 {
        let path = format!("{}/{i}", "deep".repeat(100));
        known.absorb(&read("c", &path, "1"), 1);
        known.absorb(&write("c", &path, "1", "2"), 1);
        known.absorb(&check_ran(&path, 1, &[path.as_str(); 40]), 1);
    }
    let size = serde_json::to_string(&known).map(|text| text.len()).unwrap_or(usize::MAX);
    assert!(size < 50_000, "{size}");
    assert_eq!(known.changed_count(), 2000);
}
