#![allow(clippy::unwrap_used)]
use holon_core::digest::sha256;
use holon_core::manifest::{ArtifactRecord, Manifest};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::release::ReleaseTarget;
use holon_host::store::RunRecord;

use super::*;
use crate::audit::{AuditVerdict, verify};
use crate::sealed::{self, SEALED, SealList, SealedContents};

const REASON: &str = "I have read every line of it";

struct OverrideStage {
    _state: tempfile::TempDir,
    audit: AuditTrail,
    folder: PathBuf,
}

/// A sealed run in a state folder of its own.
fn stage() -> OverrideStage {
    let state = tempfile::tempdir().unwrap();
    let audit = AuditTrail::of(state.path());
    let record = RunRecord {
        id: "20260102-030405-abcdef".parse().unwrap(),
        workspace: "/w".into(),
        mode: "execute".into(),
        goal: "x".into(),
        agent: "a".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        out: None,
        finished: true,
        applied_at: None,
    };
    let mut run = RunFolder::create(&state.path().join("key/runs"), &record).unwrap();
    let mut manifest = Manifest::begun(record.id, record.mode, record.started_at);
    let (summary, whole) = ("# Done\n", "{\"tasks\": []}\n");
    for (name, text) in [("summary.md", summary), ("orchestration.json", whole)] {
        fs::write(run.output().join(name), text).unwrap();
        manifest.artifacts.push(ArtifactRecord {
            path: name.into(),
            sha256: Some(sha256(text.as_bytes())),
            bytes: text.len() as u64,
            required: true,
            valid: true,
            problems: Vec::new(),
        });
    }
    manifest.conclude(RunStatus::Completed, RunOutcome::Success);
    fs::write(run.output().join("manifest.json"), manifest.to_json()).unwrap();
    run.release();
    sealed::seal_and_tell(&audit, "test", &run, &manifest);
    OverrideStage { folder: run.path().to_owned(), audit, _state: state }
}

fn word() -> ReleaseOverride {
    ReleaseOverride {
        of: vec!["sensitive".into()],
        to: ReleaseTarget::Apply,
        run: "20260102-030405-abcdef".into(),
        person: "Ada".into(),
        uid: Some(1),
        terminal: None,
        reason: REASON.into(),
        at: "2026-01-02T03:04:06Z".into(),
        audit: None,
    }
}

/// The word is named once everywhere, or nowhere, and every file is as it is sealed.
fn assert_named(stage: &OverrideStage, times: usize, when: &str) {
    let run = RunFolder::open(stage.folder.clone());
    assert_eq!(release::overrides(&run).unwrap().len(), times, "{when}");
    assert_eq!(run.manifest().unwrap().metadata.overrides.len(), times, "{when}");
    for name in ["summary.md", "orchestration.json"] {
        let text = fs::read_to_string(run.output().join(name)).unwrap();
        assert_eq!(text.matches(REASON).count(), times, "{when}: {name}");
    }
    let entries = audit::entries(&stage.audit).unwrap();
    for action in [OVERRIDDEN, AMENDED] {
        let found = entries.iter().filter(|entry| entry.note.action == action).count();
        assert_eq!(found, times, "{when}: {action}");
    }
    assert!(matches!(verify(&stage.audit, []).unwrap(), AuditVerdict::Whole { .. }), "{when}");
    let list = fs::read(stage.folder.join(SEALED)).unwrap();
    assert_eq!(sealed::told(entries.iter()), Some(sha256(&list).as_str()), "{when}");
    let list: SealList = serde_json::from_slice(&list).unwrap();
    assert_eq!(list.files, SealedContents::in_folder(&stage.folder).files, "{when}");
    assert!(!record_of(&stage.audit).exists(), "{when}");
}

#[test]
fn an_override_is_named_everywhere_and_sealed_again() {
    let stage = stage();
    assert_named(&stage, 0, "before");
    overrule(&stage.audit, &RunFolder::open(stage.folder.clone()), word()).unwrap();
    assert_named(&stage, 1, "after one");
    overrule(&stage.audit, &RunFolder::open(stage.folder.clone()), word()).unwrap();
    assert_named(&stage, 2, "after two");
}

#[test]
fn whoever_dies_between_two_steps_is_finished_by_the_next_command() {
    for done in 0..=STEPS.len() {
        let stage = stage();
        let mut dying = begin(&stage.audit, &RunFolder::open(stage.folder.clone()), word()).unwrap();
        for step in &STEPS[..done] {
            step(&mut dying).unwrap();
        }
        assert_eq!(finish_override(&stage.audit).unwrap(), None, "it lives, and is left alone");
        drop(dying);
        let finished = finish_override(&stage.audit).unwrap();
        // What had not reached the audit log was never given.
        assert_eq!(finished.is_some(), done > 0, "after {done} steps");
        assert_named(&stage, usize::from(done > 0), &format!("after {done} steps"));
        assert_eq!(finish_override(&stage.audit).unwrap(), None);
    }
}

#[test]
fn whoever_dies_while_the_reports_are_written_is_finished_too() {
    for written in 0..4 {
        let stage = stage();
        let mut dying = begin(&stage.audit, &RunFolder::open(stage.folder.clone()), word()).unwrap();
        for step in &STEPS[..4] {
            step(&mut dying).unwrap();
        }
        for (path, text) in dying.begun.amended.as_ref().unwrap().files.iter().take(written) {
            fs::write(stage.folder.join(path), text).unwrap();
        }
        fs::write(stage.folder.join("output/.new-half"), "hal").unwrap();
        drop(dying);
        assert!(finish_override(&stage.audit).unwrap().is_some());
        assert_named(&stage, 1, &format!("after {written} files"));
    }
}

#[test]
fn the_next_override_finishes_the_one_before() {
    let stage = stage();
    let mut dying = begin(&stage.audit, &RunFolder::open(stage.folder.clone()), word()).unwrap();
    STEPS[0](&mut dying).unwrap();
    drop(dying);
    overrule(&stage.audit, &RunFolder::open(stage.folder.clone()), word()).unwrap();
    assert_named(&stage, 2, "after both");
}

#[test]
fn an_override_does_not_seal_what_was_changed_before() {
    let stage = stage();
    let run = RunFolder::open(stage.folder.clone());
    fs::write(run.evidence().join("planted"), "x").unwrap();
    fs::write(run.output().join("summary.md"), "# Other\n").unwrap();
    overrule(&stage.audit, &run, word()).unwrap();
    let list: SealList = serde_json::from_slice(&fs::read(stage.folder.join(SEALED)).unwrap()).unwrap();
    let there = SealedContents::in_folder(&stage.folder).files;
    let differs = |path: &str| {
        list.files.iter().find(|file| file.path == path) != there.iter().find(|file| file.path == path)
    };
    assert!(differs("evidence/planted") && differs("output/summary.md"));
    assert!(!differs("output/manifest.json"));
}
