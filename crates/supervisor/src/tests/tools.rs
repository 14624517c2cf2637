//! The gate in whole runs.

use holon_core::policy::ToolClass;

use crate::config::Config;
use crate::effect::{Effect, Gate, Rule, StopKind, Subject, Verdict};
use crate::event::{Fact, KnownCheck, Proposal};
use crate::level::Level;
use crate::mode::Mode;
use crate::scene::{Scene, check_ran, proposal, setup};
use crate::timeline::Kind;

fn forced() -> Scene {
    let mut scene = Scene::new(Level::Adaptive, "improve the parser please");
    scene.round(|s| {
        s.exec("ls x", Some("no such file"));
    });
    scene.start();
    scene
}

fn many(call: &str, class: ToolClass, targets: &[&str]) -> Proposal {
    Proposal { targets: targets.iter().map(ToString::to_string).collect(), ..proposal(call, class, "x") }
}

fn ask(scene: &mut Scene, proposal: Proposal) -> Gate {
    scene.feed(Fact::ToolProposed(proposal));
    scene.gate()
}

#[test]
fn forced_without_a_graph_allows_one_write_target_per_call() {
    let mut scene = forced();
    let gate = ask(&mut scene, many("m1", ToolClass::Write, &["a", "b"]));
    assert_eq!((gate.verdict, gate.rule), (Verdict::Block, Rule::WriteTargets));
    assert!(gate.why.contains("2 files") && gate.why.contains("at most 1"), "{}", gate.why);
    assert!(scene.logged(Kind::Failure, "gate:block"));
    assert_eq!(ask(&mut scene, many("m2", ToolClass::Write, &["a"])).verdict, Verdict::Allow);
    assert_eq!(ask(&mut scene, many("m3", ToolClass::Read, &["a", "b"])).verdict, Verdict::Allow);
    assert_eq!(ask(&mut scene, many("m4", ToolClass::Unknown, &["a", "b"])).verdict, Verdict::Block);
    let mut free = Scene::new(Level::Adaptive, "improve it");
    free.start();
    assert_eq!(ask(&mut free, many("m1", ToolClass::Write, &["a", "b"])).verdict, Verdict::Allow);
}

#[test]
fn each_budget_blocks_once_with_its_evidence_in_forced_only() {
    // Edits of one file.
    let mut scene = forced();
    let verdicts: Vec<Verdict> = (0..5).map(|_| scene.write("a.rs")).collect();
    use Verdict::{Allow, Block, Warn};
    assert_eq!(verdicts, [Allow, Allow, Allow, Block, Warn]);
    assert_eq!(scene.state.budget().branch(), 1);
    let mut scene = forced();
    (0..2).for_each(|_| {
        scene.write("a.rs");
    });
    scene.check(&[]);
    let verdicts: Vec<Verdict> = (0..3).map(|_| scene.write("a.rs")).collect();
    assert_eq!(verdicts, [Allow; 3], "a passing check in between");
    // The same command.
    let mut scene = forced();
    let verdicts: Vec<Verdict> = (0..2).map(|_| scene.exec("ls x", Some("other"))).collect();
    assert_eq!(verdicts, [Allow, Block], "one failure is from the free round");
    assert_eq!(scene.exec("ls y", Some("other")), Allow);
    // The same error by the same call.
    let mut scene = forced();
    let fail = |scene: &mut Scene| {
        let (gate, call) = scene.propose(ToolClass::Read, "gone.rs");
        if gate.verdict != Block {
            let mut done = crate::scene::finished(&call, false, Default::default());
            done.error = Some("error: gone.rs:10 not found".into());
            scene.feed(Fact::ToolFinished(done));
        }
        gate
    };
    let gates: Vec<Gate> = (0..5).map(|_| fail(&mut scene)).collect();
    assert_eq!(gates.iter().map(|gate| gate.verdict).collect::<Vec<_>>(), [Allow, Allow, Allow, Block, Warn]);
    assert!(gates[3].why.contains("3 times") && gates[3].why.contains("not found"), "{}", gates[3].why);
    assert_eq!(gates[3].rule, Rule::Budget);
    // Free counts, and does not enforce.
    let mut free = Scene::new(Level::Adaptive, "improve it");
    free.start();
    assert!((0..9).all(|_| free.write("a.rs") == Allow));
}

#[test]
fn a_check_counts_as_retried_only_when_nothing_changed() {
    let mut scene = forced();
    for _ in 0..6 {
        scene.write("a.rs");
        assert_ne!(scene.check(&["x"]), Verdict::Block, "something was changed");
    }
    let mut scene = forced();
    let verdicts: Vec<Verdict> = (0..4).map(|_| scene.check(&["x"])).collect();
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Allow, Verdict::Allow, Verdict::Block]);
}

#[test]
fn no_round_resets_the_budget() {
    let mut scene = Scene::new(Level::Adaptive, "improve src/other.rs");
    scene.round(|s| {
        s.exec("ls x", Some("no such file"));
    });
    scene.start();
    for _ in 0..3 {
        scene.write("a.rs");
        scene.end();
        scene.start();
    }
    assert_eq!(scene.write("a.rs"), Verdict::Block);
}

#[test]
fn contracts_bind_in_strict() {
    let mut scene = Scene::new(Level::Strict, &"improve the parser ".repeat(8));
    scene.start();
    let (gate, _) = scene.propose(ToolClass::Write, "a.rs");
    assert_eq!((gate.verdict, gate.rule), (Verdict::Block, Rule::Contract));
    assert!(gate.why.contains("inspect") && gate.why.contains("Use: read, search"), "{}", gate.why);
    let ask = |scene: &mut Scene| scene.propose(ToolClass::Ask, "x").0.verdict;
    assert_eq!(ask(&mut scene), Verdict::Warn);
    assert_eq!(ask(&mut scene), Verdict::Allow, "one note");
    let (gate, _) = scene.propose(ToolClass::Control, "x");
    assert_eq!((gate.verdict, gate.rule), (Verdict::Allow, Rule::Control));
    assert_eq!(scene.read("a.rs"), Verdict::Allow);
    assert_eq!(scene.search(), Verdict::Allow);
    assert_eq!(scene.write("a.rs"), Verdict::Allow, "the edit step");
}

#[test]
fn a_step_has_so_many_calls() {
    let mut scene = Scene::new(Level::Strict, &"improve the parser ".repeat(8));
    scene.start();
    let found: Vec<Verdict> = (0..9).map(|_| scene.propose(ToolClass::Read, "x").0.verdict).collect();
    assert_eq!(found[..8], [Verdict::Allow; 8]);
    assert_eq!(found[8], Verdict::Block);
    assert!(scene.gate().why.contains("had its calls"));
    scene.end();
    assert_eq!(scene.state.graph().unwrap().current().unwrap().kind.name(), "search");
}

#[test]
fn done_goes_through_the_verification_gate() {
    let mut scene = Scene::new(Level::Adaptive, "improve it");
    scene.start();
    scene.write("a.rs");
    scene.feed(Fact::ModelDone);
    let gate = scene.gate();
    assert_eq!(
        (&gate.subject, gate.verdict, gate.rule),
        (&Subject::Done, Verdict::Block, Rule::Verification)
    );
    assert!(gate.why.contains("Next step: run `cargo test`"), "{}", gate.why);
    assert!(scene.last.contains(&Effect::Check { command: "cargo test".into() }), "what fails is found out");
    scene.feed(Fact::ModelDone);
    assert_eq!(scene.stops(), [StopKind::Unverified]);
    assert!(scene.logged(Kind::Failure, "verification:unverified"));

    let mut good = Scene::new(Level::Adaptive, "improve it");
    good.start();
    good.write("a.rs");
    good.feed(Fact::ModelDone);
    good.check(&[]);
    good.feed(Fact::ModelDone);
    assert_eq!((good.gate().verdict, good.stops()), (Verdict::Allow, vec![]));
    good.write("a.rs");
    good.feed(Fact::ModelDone);
    assert_eq!((good.gate().verdict, good.stops()), (Verdict::Block, vec![]), "a first time again");
}

#[test]
fn a_check_that_was_asked_for_fails_the_run() {
    let mut setup = crate::scene::setup("execute", "improve it");
    setup.checks = vec![KnownCheck { command: "make check".into(), asked: true }];
    let mut scene = Scene::with(crate::Config::default(), setup);
    scene.start();
    scene.write("a.rs");
    scene.feed(Fact::ModelDone);
    scene.feed(Fact::ModelDone);
    assert_eq!(scene.stops(), [StopKind::CheckFailed]);
}

#[test]
fn after_a_stop_nothing_runs_until_it_is_resumed() {
    let mut scene = Scene::new(Level::Adaptive, "improve it");
    scene.start();
    scene.write("a.rs");
    scene.feed(Fact::ModelDone);
    scene.feed(Fact::ModelDone);
    let (gate, _) = scene.propose(ToolClass::Read, "a.rs");
    assert_eq!((gate.verdict, gate.rule), (Verdict::Block, Rule::Stopped));
    assert_eq!(scene.propose(ToolClass::Control, "x").0.verdict, Verdict::Block);
    scene.end();
    assert_eq!(scene.stops().len(), 1);
    scene.feed(Fact::CheckpointResumed);
    assert!(scene.logged(Kind::Rollback, "checkpoint_resumed:stop_lifted"));
    assert_eq!(
        (scene.mode(), scene.propose(ToolClass::Read, "b.rs").0.verdict),
        (Mode::Forced, Verdict::Allow)
    );
}

#[test]
fn a_check_that_cannot_run_is_not_demanded_unless_the_user_asked_for_it() {
    let done_after = |asked: bool| {
        let mut setup = setup("execute", "Change src/a.rs");
        setup.checks = vec![KnownCheck { command: "python -m pytest".into(), asked }];
        let mut scene = Scene::with(Config::default(), setup);
        scene.start();
        scene.write("src/a.rs");
        let Fact::CheckRan(mut ran) = check_ran("pytest -q", 1, &[]) else { unreachable!() };
        ran.exit = Some(127);
        scene.feed(Fact::CheckRan(ran));
        assert!(scene.logged_last("check:cannot_run"));
        assert!(scene.state.known().checks().is_empty());
        assert_eq!(scene.state.known().entries(), scene.ledger.entries().len() as u64);
        scene.feed(Fact::ModelDone);
        scene.gate().verdict
    };
    assert_eq!(done_after(false), Verdict::Allow);
    assert_eq!(done_after(true), Verdict::Block);
}

#[test]
fn a_check_of_what_was_changed_is_no_repetition() {
    let mut scene = forced();
    for _ in 0..3 {
        scene.check(&["a"]);
    }
    assert_eq!(scene.check(&["a"]), Verdict::Block, "nothing was changed in between");
    scene.write("src/parse.rs");
    assert_eq!(scene.check(&["a"]), Verdict::Allow);
    assert_eq!(scene.check(&["a"]), Verdict::Warn, "and now it is one again");
}

#[test]
fn who_gives_up_twice_needs_a_person() {
    let mut scene = Scene::new(Level::Adaptive, "improve it");
    scene.start();
    scene.check(&["parse::empty"]);
    scene.feed(Fact::ModelGaveUp);
    assert!(scene.gate().why.contains("parse::empty") && scene.stops().is_empty());
    scene.end();
    scene.start();
    scene.feed(Fact::ModelGaveUp);
    assert_eq!(scene.stops(), [StopKind::UserCheckpoint]);
    assert!(scene.logged(Kind::Failure, "verification:gave_up"));
    let mut off = Scene::new(Level::Off, "improve it");
    off.start();
    off.check(&["parse::empty"]);
    off.feed(Fact::ModelGaveUp);
    assert_eq!(off.gate().verdict, Verdict::Allow);
}

#[test]
fn who_did_nothing_is_asked_again_after_a_check() {
    let wanted = Effect::Check { command: "cargo test".into() };
    for (failing, verdict) in [(vec![], Verdict::Allow), (vec!["parse::empty"], Verdict::Block)] {
        let mut scene = Scene::new(Level::Adaptive, "improve it");
        scene.start();
        scene.feed(Fact::ModelDone);
        assert!(scene.last.contains(&wanted) && scene.state.waits_for_check());
        scene.feed(check_ran("cargo test", i32::from(!failing.is_empty()), &failing));
        scene.feed(Fact::ModelDone);
        assert_eq!((scene.gate().verdict, scene.state.waits_for_check()), (verdict, false));
        assert!(!scene.last.contains(&wanted));
    }
}

#[test]
fn who_said_done_hears_what_the_check_found() {
    let mut scene = Scene::new(Level::Adaptive, "improve it");
    scene.start();
    scene.write("a.rs");
    scene.feed(Fact::ModelDone);
    scene.end();
    scene.feed(check_ran("cargo test", 1, &["parse::empty"]));
    let texts = scene.texts();
    let last = texts.last().copied().unwrap_or_default();
    assert!(last.contains("parse::empty") && last.contains("Next step: repair"), "{last}");
}

#[test]
fn the_contract_speaks_before_the_budget() {
    let mut scene = Scene::new(Level::Strict, "improve src/a.rs");
    for _ in 0..3 {
        scene.round(|s| {
            s.write("src/a.rs");
        });
    }
    scene.round(|_| {});
    scene.start();
    assert_eq!(scene.write("src/a.rs"), Verdict::Block);
    assert_eq!(scene.gate_rule(), Rule::Contract, "the step is verify; the file's budget is another matter");
}
