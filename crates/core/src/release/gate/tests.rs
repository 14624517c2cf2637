#![allow(clippy::unwrap_used)]
use super::*;
use crate::manifest::{ArtifactRecord, ErrorInfo, Manifest, SandboxBreach};
use crate::release::record::ReleaseTarget::{Apply, AutoApply, ChatApply, Commit, Publish, PublishDraft};
use crate::{RunId, RunStatus};

const ALL: [ReleaseTarget; 6] = ReleaseTarget::ALL;
const NONE: [ReleaseTarget; 0] = [];

fn ended(outcome: RunOutcome) -> ReleaseRecord {
    let why = (outcome != RunOutcome::Success).then(|| "because".to_owned());
    ReleaseRecord {
        run: "r".into(),
        ending: RunEnding::Ended { outcome, why },
        patch: PatchState::Delivered,
        ..ReleaseRecord::default()
    }
}

fn good() -> ReleaseRecord {
    ended(RunOutcome::Success)
}

fn with(change: impl FnOnce(&mut ReleaseRecord)) -> ReleaseRecord {
    let mut record = good();
    change(&mut record);
    record
}

fn part_of(whole: ReleaseRecord) -> ReleaseRecord {
    with(|record| {
        record.whole = Some(Box::new(WholeRecord::Known(ReleaseRecord { run: "w".into(), ..whole })))
    })
}

fn block() -> Option<ModeDecision> {
    Some(ModeDecision::Block { reason: "harm".into() })
}

fn word(of: &str, to: ReleaseTarget) -> ReleaseOverride {
    ReleaseOverride {
        of: vec![of.into()],
        to,
        run: "r".into(),
        person: "ada".into(),
        uid: Some(1),
        terminal: None,
        reason: "I have read it".into(),
        at: String::new(),
        audit: None,
    }
}

fn codes(record: &ReleaseRecord, target: ReleaseTarget) -> Vec<&'static str> {
    decide_release(record, target).held.iter().map(ReleaseReason::code).collect()
}

/// What is held where, for one record each: (name, record, code, the targets it is held from).
fn table() -> Vec<(&'static str, ReleaseRecord, &'static str, Vec<ReleaseTarget>)> {
    let sensitive = |mut record: ReleaseRecord| {
        record.sensitive = vec![".gitmodules".into()];
        record
    };
    let patch_targets = vec![Apply, AutoApply, Commit];
    vec![
        ("a success", good(), "", NONE.to_vec()),
        ("running", with(|r| r.ending = RunEnding::Unfinished), "unfinished", ALL.to_vec()),
        ("failed", ended(RunOutcome::Failure), "failed", ALL.to_vec()),
        (
            "a check failed",
            ReleaseRecord { failed_checks: vec!["make".into()], ..ended(RunOutcome::Failure) },
            "checks_failed",
            ALL.to_vec(),
        ),
        (
            "stopped for a person with a check red",
            ReleaseRecord { failed_checks: vec!["make".into()], ..ended(RunOutcome::NeedsHuman) },
            "checks_failed",
            ALL.to_vec(),
        ),
        ("a breach", with(|r| r.breaches = vec!["x".into()]), "breach", ALL.to_vec()),
        (
            "an artifact is missing",
            with(|r| r.missing = vec!["plan.md".into()]),
            "artifact_missing",
            ALL.to_vec(),
        ),
        ("the assessment blocks", with(|r| r.assessment = block()), "assessment_blocked", ALL.to_vec()),
        (
            "the assessment escalates",
            with(|r| r.assessment = Some(ModeDecision::Escalate { reason: "?".into() })),
            "assessment_blocked",
            ALL.to_vec(),
        ),
        ("the assessment approves", with(|r| r.assessment = Some(ModeDecision::Approve)), "", NONE.to_vec()),
        ("the review blocks", with(|r| r.review = block()), "review_blocked", ALL.to_vec()),
        ("a credential", with(|r| r.credentials = vec!["a:1".into()]), "credential", ALL.to_vec()),
        ("withheld", with(|r| r.patch = PatchState::Withheld), "withheld", patch_targets.clone()),
        ("no patch", with(|r| r.patch = PatchState::Absent), "no_patch", patch_targets),
        ("needs a person", ended(RunOutcome::NeedsHuman), "needs_person", vec![AutoApply, Publish]),
        ("sensitive", sensitive(ended(RunOutcome::NeedsHuman)), "sensitive", ALL.to_vec()),
        (
            "sensitive in a chat",
            sensitive(with(|r| r.ending = RunEnding::Unjudged)),
            "sensitive",
            ALL.to_vec(),
        ),
        ("sensitive, and allowed when it was started", sensitive(good()), "", NONE.to_vec()),
        ("moved", with(|r| r.base_moved = vec!["a".into()]), "base_moved", vec![ChatApply]),
        ("part of a success", part_of(good()), "", NONE.to_vec()),
        (
            "part of something unfinished",
            part_of(with(|r| r.ending = RunEnding::Unfinished)),
            "whole_unfinished",
            ALL.to_vec(),
        ),
        ("part of a failure", part_of(ended(RunOutcome::Failure)), "whole_failed", ALL.to_vec()),
        ("part of a breach", part_of(with(|r| r.breaches = vec!["x".into()])), "whole_failed", ALL.to_vec()),
        (
            "part of something blocked",
            part_of(with(|r| r.assessment = block())),
            "whole_blocked",
            ALL.to_vec(),
        ),
        (
            "part of something that waits and handed nothing over",
            part_of(ReleaseRecord { patch: PatchState::Withheld, ..ended(RunOutcome::NeedsHuman) }),
            "whole_blocked",
            ALL.to_vec(),
        ),
        (
            "part of something that waits and handed its patch over",
            part_of(ended(RunOutcome::NeedsHuman)),
            "whole_blocked",
            vec![AutoApply, Publish],
        ),
        (
            "part of something that is not here",
            with(|r| r.whole = Some(Box::new(WholeRecord::Unknown { run: "w".into() }))),
            "whole_unknown",
            ALL.to_vec(),
        ),
    ]
}

#[test]
fn inv_17_the_gate_holds_what_it_must_and_nothing_else() {
    for (name, record, code, from) in table() {
        for target in ALL {
            let expect: Vec<&str> = if from.contains(&target) { vec![code] } else { Vec::new() };
            assert_eq!(codes(&record, target), expect, "{name} to {target}");
        }
    }
}

#[test]
fn inv_17_only_a_named_person_with_a_reason_overrides_and_only_what_they_named_where_they_named_it() {
    for (name, record, code, from) in table().into_iter().filter(|(_, _, code, _)| !code.is_empty()) {
        for target in from {
            let can = decide_release(&record, target).can_be_overridden();
            assert_eq!(can, ReleaseReason::OVERRIDABLE.contains(&code), "{name}");
            let try_word = |word: ReleaseOverride| {
                let record = ReleaseRecord { overrides: vec![word], ..record.clone() };
                decide_release(&record, target)
            };
            let given = try_word(word(code, target));
            assert_eq!(
                (given.is_released(), given.overridden.len()),
                (can, usize::from(can)),
                "{name} to {target}"
            );
            for other in ALL.into_iter().filter(|other| *other != target) {
                assert!(
                    !try_word(word(code, other)).is_released(),
                    "{name}: a word for {other} let it to {target}"
                );
            }
            let worthless = [
                ReleaseOverride { of: vec!["all".into()], ..word(code, target) },
                ReleaseOverride { reason: "   ok    ".into(), ..word(code, target) },
                ReleaseOverride { person: " ".into(), ..word(code, target) },
                ReleaseOverride { run: "another".into(), ..word(code, target) },
            ];
            for word in worthless {
                assert!(!try_word(word.clone()).is_released(), "{name} to {target}: {word:?}");
            }
        }
    }
}

#[test]
fn inv_17_overriding_one_reason_leaves_the_others() {
    let mut record = part_of(with(|r| r.assessment = block()));
    record.ending = RunEnding::Ended { outcome: RunOutcome::NeedsHuman, why: None };
    record.sensitive = vec!["AGENTS.md".into()];
    assert_eq!(codes(&record, Apply), ["sensitive", "whole_blocked"]);
    record.overrides = vec![word("sensitive", Apply)];
    assert_eq!(codes(&record, Apply), ["whole_blocked"]);
    record.overrides.push(word("whole_blocked", Apply));
    assert!(decide_release(&record, Apply).is_released());
    assert_eq!(codes(&record, Commit), ["sensitive", "whole_blocked"]);
}

#[test]
fn exit_codes_say_whose_move_it_is() {
    let check =
        |record: &ReleaseRecord, expect| assert_eq!(decide_release(record, Apply).exit_code(), expect);
    check(&good(), 0);
    check(&ended(RunOutcome::Failure), 1);
    check(&with(|r| r.patch = PatchState::Absent), 1);
    check(&with(|r| r.patch = PatchState::Withheld), 2);
    check(&part_of(ended(RunOutcome::Failure)), 2);
    check(&part_of(with(|r| r.assessment = block())), 2);
}

#[test]
fn the_hint_is_a_command_that_can_be_given() {
    let record = ReleaseRecord { sensitive: vec!["AGENTS.md".into()], ..ended(RunOutcome::NeedsHuman) };
    let hint = decide_release(&record, Apply).hint("holon runs apply r");
    assert!(hint.ends_with("holon runs apply r --override sensitive --reason \"WHY\""), "{hint}");
    let hint = decide_release(&ended(RunOutcome::Failure), Apply).hint("holon runs apply r");
    assert!(!hint.contains("--override"), "{hint}");
}

#[test]
fn a_manifest_becomes_a_record() {
    let mut manifest = Manifest::begun(RunId::from_parts(0, [0; 4]), "execute", "1970-01-01T00:00:00Z");
    assert_eq!(ReleaseRecord::of_manifest(&manifest).ending, RunEnding::Unfinished);
    manifest.conclude(RunStatus::Completed, RunOutcome::Success);
    manifest.artifacts.push(ArtifactRecord {
        path: "diff.patch".into(),
        sha256: Some("x".into()),
        bytes: 1,
        required: true,
        valid: true,
        problems: Vec::new(),
    });
    assert!(decide_release(&ReleaseRecord::of_manifest(&manifest), Apply).is_released());
    manifest.conclude(RunStatus::Completed, RunOutcome::NeedsHuman);
    for (kind, code) in
        [("secret", "credential"), ("ethics_blocked", "assessment_blocked"), ("gate", "unfinished")]
    {
        manifest.error = Some(ErrorInfo::new(kind, "why"));
        assert_eq!(codes(&ReleaseRecord::of_manifest(&manifest), PublishDraft), [code], "{kind}");
    }
    manifest.breaches.push(SandboxBreach { kind: "x".into(), detail: "d".into(), paths: Vec::new() });
    manifest.error = None;
    manifest.conclude(RunStatus::Completed, RunOutcome::Success);
    assert_eq!(codes(&ReleaseRecord::of_manifest(&manifest), Publish), ["breach"]);
}

#[test]
fn inv_17_parts_that_were_not_assessed_stay_although_the_whole_may_leave() {
    let whole = with(|record| record.parts_stay = Some("only a part is done".into()));
    assert!(decide_release(&whole, Apply).is_released());
    let decision = decide_release(&part_of(whole), Apply);
    assert!(
        matches!(&decision.held[..], [ReleaseReason::WholeBlocked { why, .. }] if why == "only a part is done")
    );
}
