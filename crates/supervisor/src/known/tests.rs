//! What counts as new, as green and as proven.

use super::*;
use crate::scene::{check_ran, read, search, write};

fn named(paths: &[&str]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

fn round_of(facts: &[Fact], names: &[&str]) -> RoundEvidence {
    let mut known = Known::default();
    for fact in facts {
        known.absorb(fact, 1, &named(names));
    }
    known.end_round(1, false)
}

#[test]
fn a_new_file_read_is_evidence_for_eight_rounds() {
    let evidence = round_of(&[read("c1", "a.rs", "h")], &[]);
    assert!(evidence.is_new(1) && evidence.is_new(8) && !evidence.is_new(9));
    let mut known = Known::default();
    known.absorb(&read("c1", "a.rs", "h"), 1, &[]);
    known.end_round(1, false);
    known.absorb(&read("c2", "a.rs", "h"), 2, &[]);
    assert!(!known.end_round(1, false).is_new(2), "the same file again");
    known.absorb(&write("c3", "b.rs", "", "x"), 3, &[]);
    known.end_round(1, false);
    known.absorb(&read("c4", "b.rs", "x"), 3, &[]);
    assert!(!known.end_round(1, false).is_new(3), "one's own work");
}

#[test]
fn a_named_file_must_get_a_content_it_never_had() {
    assert!(round_of(&[write("c1", "a.rs", "1", "2")], &["a.rs"]).is_new(20));
    assert!(round_of(&[write("c1", "a.rs", "1", "2")], &[]).is_new(20), "nothing is named");
    assert!(!round_of(&[write("c1", "b.rs", "1", "2")], &["a.rs"]).is_new(20));
    let mut known = Known::default();
    let names = named(&["a.rs"]);
    known.absorb(&write("c1", "a.rs", "1", "2"), 1, &names);
    known.end_round(1, false);
    known.absorb(&write("c2", "a.rs", "2", "1"), 2, &names);
    known.absorb(&write("c3", "a.rs", "1", "2"), 2, &names);
    assert!(!known.end_round(1, false).is_new(2), "to and fro");
}

#[test]
fn inside_and_outside_of_the_area_are_told_apart() {
    let of = |path: &str| {
        let evidence = round_of(&[write("c1", path, "1", "2")], &["src/a.rs"]);
        (evidence.inside, evidence.outside)
    };
    assert_eq!(of("src/b.rs"), (true, false));
    assert_eq!(of("docs/b.md"), (false, true));
}

#[test]
fn greener_needs_fewer_failures_and_a_change_in_between() {
    let check = |first: Fact, change: bool, second: Fact, expect: bool| {
        let mut known = Known::default();
        known.absorb(&first, 1, &[]);
        if change {
            known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
        }
        let brought = known.absorb(&second, 1, &[]);
        assert_eq!((brought.greener, known.end_round(1, false).greener), (expect, expect), "{second:?}");
    };
    let red = |cases: &[&str]| check_ran("t", 1, cases);
    let broken = |errors: u32| {
        let Fact::CheckRan(mut ran) = check_ran("t", 1, &[]) else { return Fact::ModelDone };
        ran.diagnostics = errors;
        Fact::CheckRan(ran)
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
    let mut known = Known::default();
    let green = check_ran("t", 0, &[]);
    assert!(known.absorb(&green, 1, &[]).verified);
    assert!(!known.absorb(&green, 1, &[]).verified);
    known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
    assert!(known.absorb(&green, 1, &[]).verified);
}

#[test]
fn luck_is_no_success() {
    let (red, green) = (check_ran("t", 1, &["x"]), check_ran("t", 0, &[]));
    let mut known = Known::default();
    known.absorb(&red, 1, &[]);
    for expect in [false, false, true] {
        assert_eq!(known.absorb(&green, 1, &[]).verified, expect, "passing is proven by the third time");
        assert_eq!((known.fresh_green().is_some(), known.fresh_luck().is_none()), (expect, expect));
    }
    known.absorb(&red, 1, &[]);
    let mut installed = crate::scene::finished("c", true, Evidence::default());
    installed.exit = Some(0);
    known.absorb(&Fact::ToolFinished(installed), 1, &[]);
    known.absorb(&green, 1, &[]);
    assert!(known.fresh_green().is_some(), "something was done in between");
    known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
    known.absorb(&red, 1, &[]);
    known.absorb(&write("c2", "a.rs", "2", "3"), 1, &[]);
    assert!(known.absorb(&green, 1, &[]).verified, "something was changed in between");
}

#[test]
fn going_to_and_fro_between_results_is_no_progress() {
    let mut known = Known::default();
    let mut content = 0;
    let mut turn = |cases: &[&str]| {
        content += 1;
        known.absorb(&write("c", "a.rs", &content.to_string(), &format!("{content}x")), 1, &[]);
        known.absorb(&check_ran("t", 1, cases), 1, &[]).greener
    };
    assert!(!turn(&["a", "b"]));
    assert!(turn(&["a"]), "fewer");
    assert!(!turn(&["a", "b"]) && !turn(&["a"]), "where it was before");
    assert!(!turn(&["a", "b"]) && turn(&["b"]), "another one is mended");
}

#[test]
fn changes_alone_do_not_count_for_ever() {
    let mut known = Known::default();
    let mut round = |round: u32, checkable: bool| {
        known.absorb(&write("c", &format!("{round}.rs"), "", "x"), round, &[]);
        known.end_round(round, checkable).is_new(round)
    };
    assert!(round(DROUGHT, true) && !round(DROUGHT + 1, true));
    assert!(round(DROUGHT + 2, false), "where nothing can be checked, they do");
    known.absorb(&check_ran("t", 0, &[]), 30, &[]);
    known.end_round(30, true);
    known.absorb(&write("c", "z.rs", "", "x"), 40, &[]);
    assert!(known.end_round(40, true).is_new(40), "a check has passed since");
}

#[test]
fn green_is_fresh_until_something_changes_or_fails() {
    let mut known = Known::default();
    known.absorb(&check_ran("t", 0, &[]), 1, &[]);
    assert!(known.fresh_green().is_some());
    known.absorb(&check_ran("lint", 1, &[]), 1, &[]);
    assert!(known.fresh_green().is_none() && known.fresh_red().is_some());
    known.absorb(&write("c0", "a.rs", "0", "1"), 1, &[]);
    known.absorb(&check_ran("lint", 0, &[]), 1, &[]);
    assert!(known.fresh_green().is_some());
    known.absorb(&write("c1", "a.rs", "1", "2"), 1, &[]);
    assert!(known.fresh_green().is_none() && known.fresh_red().is_none());
}

#[test]
fn reads_prove_what_has_not_changed() {
    let mut known = Known::default();
    known.absorb(&read("c1", "a.rs", "1"), 1, &[]);
    known.absorb(&read("c2", "b.rs", "1"), 1, &[]);
    assert_eq!(known.fresh_reads(&named(&["a.rs"]), 8), [EntryId(1)]);
    assert_eq!(known.fresh_reads(&named(&["c.rs"]), 8), []);
    assert_eq!(known.fresh_reads(&named(&["src/"]), 8).len(), 2, "a folder is not one file");
    assert_eq!(known.fresh_reads(&[], 8), [EntryId(2), EntryId(1)]);
    known.absorb(&write("c3", "a.rs", "1", "2"), 1, &[]);
    assert_eq!(known.fresh_reads(&[], 8), [EntryId(2)]);
    known.absorb(&search("c4", 3), 1, &[]);
    assert_eq!(known.fresh_search(), Some(EntryId(4)));
    known.absorb(&write("c5", "a.rs", "2", "3"), 1, &[]);
    assert_eq!(known.fresh_search(), None);
}

#[test]
fn the_trend_speaks_of_the_last_eight() {
    let mut known = Known::default();
    (0..3).for_each(|_| known.outcome(false));
    assert_eq!(known.failure_trend(), 0);
    known.outcome(true);
    assert_eq!(known.failure_trend(), 750);
    (0..8).for_each(|_| known.outcome(true));
    assert_eq!(known.failure_trend(), 0);
    (0..4).for_each(|_| known.outcome(false));
    assert_eq!(known.failure_trend(), 500);
}

#[test]
fn memory_is_bounded() {
    let mut known = Known::default();
    for i in 0..2000 {
        let path = format!("{}/{i}", "deep".repeat(100));
        known.absorb(&read("c", &path, "1"), 1, &[]);
        known.absorb(&write("c", &path, "1", "2"), 1, &[]);
        known.absorb(&check_ran(&path, 1, &[path.as_str(); 40]), 1, &[]);
    }
    let size = serde_json::to_string(&known).map(|text| text.len()).unwrap_or(usize::MAX);
    assert!(size < 50_000, "{size}");
    assert_eq!(known.changed_count(), 2000);
}
