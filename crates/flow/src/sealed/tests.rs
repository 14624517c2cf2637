#![allow(clippy::unwrap_used)]
use std::os::unix::fs::symlink;

use holon_core::manifest::Manifest;
use holon_host::store::RunRecord;
use proptest::prelude::*;

use super::*;

fn run(finished: bool) -> (tempfile::TempDir, RunFolder, Manifest) {
    let state = tempfile::tempdir().unwrap();
    let record = RunRecord {
        id: "20260102-030405-abcdef".parse().unwrap(),
        workspace: "/w".into(),
        mode: "plan".into(),
        goal: "x".into(),
        agent: "a".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        out: None,
        finished,
        applied_at: None,
    };
    let run = RunFolder::create(&state.path().join("runs"), &record).unwrap();
    let manifest = Manifest::begun(record.id, record.mode, record.started_at);
    fs::write(run.output().join("manifest.json"), manifest.to_json()).unwrap();
    fs::write(run.evidence().join("events.jsonl"), "{}\n").unwrap();
    (state, run, manifest)
}

#[test]
fn every_final_file_is_listed_in_order_and_no_other() {
    let (_state, run, manifest) = run(true);
    symlink("elsewhere", run.evidence().join("a-link")).unwrap();
    for other in ["attestation.json", "overrides.json", "conflicts"] {
        fs::write(run.path().join(other), "x").unwrap();
    }
    let part = run.path().join("steps/key/runs/20260102-030406-abcdef");
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join(SEALED), "{}").unwrap();
    fs::write(part.join("run.json"), "{}").unwrap();
    let digest = seal(&run, &manifest).unwrap();
    let text = fs::read(run.path().join(SEALED)).unwrap();
    assert_eq!(digest, sha256(&text));
    let list: SealList = serde_json::from_slice(&text).unwrap();
    let paths: Vec<&str> = list.files.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        "evidence/a-link",
        "evidence/events.jsonl",
        "output/manifest.json",
        "steps/key/runs/20260102-030406-abcdef/sealed.json",
    ];
    assert_eq!(paths, expected);
    assert_eq!(list.files[0].kind, SealedKind::Link);
    assert_eq!(list.files[0].sha256, sha256(b"elsewhere"));
    assert_eq!(SealedContents::in_folder(run.path()).files, list.files);
}

#[test]
fn what_is_not_over_is_not_sealed() {
    let (_state, run, manifest) = run(false);
    assert_eq!(seal(&run, &manifest), None);
    assert!(!run.path().join(SEALED).exists());
}

#[test]
fn applying_changes_nothing_of_what_was_asked_and_another_goal_does() {
    let (_state, run, _) = run(true);
    let asked = asked_sha256(run.path());
    let mut record = run.record().unwrap();
    record.applied_at = Some("2026-01-02T03:04:06Z".into());
    run.save(&record).unwrap();
    assert_eq!(asked_sha256(run.path()), asked);
    record.goal = "y".into();
    run.save(&record).unwrap();
    assert_ne!(asked_sha256(run.path()), asked);
}

#[test]
fn the_last_seal_counts_until_the_run_is_gone_on_with() {
    let (state, run, manifest) = run(true);
    let audit = AuditTrail::of(state.path());
    let last = || {
        let entries = crate::audit::entries(&audit).unwrap();
        told(entries.iter()).map(str::to_owned)
    };
    open_again(&audit, &run, "20260102-030405-abcdef").unwrap();
    assert!(!audit.path().exists(), "there was no seal to take off");
    seal_and_tell(&audit, "test", &run, &manifest);
    let first = last().unwrap();
    fs::write(run.evidence().join("more"), "x").unwrap();
    open_again(&audit, &run, "20260102-030405-abcdef").unwrap();
    assert_eq!(last(), None);
    seal_and_tell(&audit, "test", &run, &manifest);
    assert_ne!(last().unwrap(), first);
}

#[test]
fn known_digests_are_taken_over_when_the_size_fits() {
    let (_state, run, _) = run(true);
    let size = fs::metadata(run.output().join("manifest.json")).unwrap().len();
    let digest_with = |bytes: u64| {
        let known = KnownDigests::from([("output/manifest.json".to_owned(), (bytes, "known"))]);
        let found = SealedContents::knowing(run.path(), &known);
        found.files.into_iter().find(|file| file.path == "output/manifest.json").unwrap().sha256
    };
    assert_eq!(digest_with(size), "known");
    assert_ne!(digest_with(size + 1), "known");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_change_of_any_file_changes_the_list(
        files in proptest::collection::btree_map("[a-z]{1,8}", proptest::collection::vec(any::<u8>(), 0..40), 1..6),
        which in any::<proptest::sample::Index>(),
        at in any::<proptest::sample::Index>(),
    ) {
        let (_state, run, _) = run(true);
        for (name, content) in &files {
            fs::write(run.evidence().join(name), content).unwrap();
        }
        let before = SealedContents::in_folder(run.path());
        let (name, content) = which.get(&files.iter().collect::<Vec<_>>()).to_owned();
        let mut changed = content.clone();
        if changed.is_empty() {
            changed.push(0);
        } else {
            let at = at.index(changed.len());
            changed[at] ^= 1;
        }
        fs::write(run.evidence().join(name), changed).unwrap();
        prop_assert_ne!(SealedContents::in_folder(run.path()), before);
    }
}
