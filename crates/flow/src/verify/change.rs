//! The delivered change: what the patch does, what is said about it, and what it was made against.

use std::collections::BTreeMap;

use holon_core::manifest::SnapshotInfo;
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_git::{ObjectFormat, TouchedPath};

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::{EvidenceLayout, ReapplyOutcome, RunEvidence};
use super::patch_file::PatchSummary;

/// Ways a workspace is shown to an agent.
const STRATEGIES: [&str; 4] = ["read-only", "overlay", "reflink", "copy"];

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    let patch = delivered(run);
    if patch.is_none() && run.output.get("diff.patch").is_some_and(|file| file.bytes > 0) {
        // Too large to be looked at line by line; its digest is still held against the manifest's.
        return;
    }
    counts(run, patch, found);
    nothing_changed(run, patch, found);
    if let Some(snapshot) = &run.manifest.metadata.snapshot {
        snapshot_is_sound(run, snapshot, found);
    }
    touched(run, patch, found);
    base(run, patch, found);
}

/// The patch in the output folder.
pub(super) fn delivered(run: &RunEvidence) -> Option<&[u8]> {
    run.output.get("diff.patch")?.content.as_deref()
}

/// Files and lines, as the patch has them; nothing where nothing went out.
fn counts(run: &RunEvidence, patch: Option<&[u8]>, found: &mut Discrepancies) {
    let changes = &run.manifest.metadata.changes;
    let summary = PatchSummary::of(patch.unwrap_or_default());
    for (name, said, counted) in [
        ("files", changes.files, summary.files()),
        ("insertions", changes.insertions, summary.insertions),
        ("deletions", changes.deletions, summary.deletions),
    ] {
        found.same(Kind::Patch, format!("metadata.changes.{name}"), &said, &counted, "the delivered patch");
    }
}

fn nothing_changed(run: &RunEvidence, patch: Option<&[u8]>, found: &mut Discrepancies) {
    let manifest = &run.manifest;
    let there_is = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| !bytes.is_empty());
    let withheld = run.evidence.get("withheld.patch").is_some_and(|file| file.bytes > 0);
    let changed = there_is(patch) || withheld;
    if manifest.no_changes {
        found.expect(!changed, Kind::Patch, "no_changes", || {
            "it says that nothing was changed, and there is a patch".to_owned()
        });
    } else if manifest.outcome != RunOutcome::Failure {
        let by_a_child = run.is_whole() && manifest.outcome != RunOutcome::Success;
        found.expect(changed || by_a_child, Kind::Patch, "no_changes", || {
            "it does not say that nothing was changed, and there is no patch".to_owned()
        });
    }
}

fn snapshot_is_sound(run: &RunEvidence, snapshot: &SnapshotInfo, found: &mut Discrepancies) {
    let place = "metadata.snapshot";
    found.expect(
        STRATEGIES.contains(&snapshot.strategy.as_str()),
        Kind::Snapshot,
        format!("{place}.strategy"),
        || format!("`{}` is no way to show a workspace", snapshot.strategy),
    );
    let writable = matches!(run.manifest.metadata.workspace_access.as_str(), "rw" | "scoped" | "scratch");
    found.expect(
        !writable || run.is_whole() || snapshot.strategy != "read-only",
        Kind::Snapshot,
        format!("{place}.strategy"),
        || "nobody could have written to a read-only view".to_owned(),
    );
    let Some(commit) = &snapshot.base_commit else { return };
    let is_id = ObjectFormat::Sha1.is_id(commit) || ObjectFormat::Sha256.is_id(commit);
    found.expect(is_id, Kind::Base, format!("{place}.base_commit"), || {
        format!("`{commit}` is no commit's id")
    });
    found.expect(
        !is_id || run.base.commit_is_there != Some(false) || run.is_as_told(),
        Kind::Base,
        format!("{place}.base_commit"),
        || format!("the repository has no commit {commit}"),
    );
    found.expect(
        snapshot
            .head
            .as_ref()
            .is_none_or(|head| !head.is_empty() && !head.contains([' ', '~', '^', ':', '\\'])),
        Kind::Base,
        format!("{place}.head"),
        || "it is no name of a branch".to_owned(),
    );
}

/// What the patch touches: the list that `apply` takes, the manifest's list, and the patch itself agree.
fn touched(run: &RunEvidence, patch: Option<&[u8]>, found: &mut Discrepancies) {
    let said = run.manifest.metadata.snapshot.as_ref().map(|snapshot| &snapshot.touched);
    let Some(patch) = patch else {
        let nothing = said.is_none_or(BTreeMap::is_empty);
        found.expect(nothing, Kind::Base, "metadata.snapshot.touched", || {
            "files are listed, and no patch was delivered that touches any".to_owned()
        });
        return;
    };
    let summary = PatchSummary::of(patch);
    if let Some(said) = said {
        let said: std::collections::BTreeSet<String> = said.keys().cloned().collect();
        found.same(Kind::Base, "metadata.snapshot.touched", &said, &summary.paths(), "the delivered patch");
    }
    let Some(list) = &run.touched else {
        found.expect(run.layout == EvidenceLayout::Copy, Kind::Base, "touched.json", || {
            "a patch was delivered, and the list of what it touches is not there".to_owned()
        });
        return;
    };
    let name = |entry: &TouchedPath| entry.path.to_string_lossy().into_owned();
    let listed: std::collections::BTreeSet<String> = list.iter().map(name).collect();
    found.same(Kind::Patch, "touched.json", &listed, &summary.paths(), "the delivered patch");
    if let Some(said) = said {
        for entry in list {
            let path = name(entry);
            let base = entry.base.as_ref().map(|digest| digest.sha256.as_str());
            let claimed = said.get(&path).and_then(|digest| digest.as_deref());
            found.same(
                Kind::Base,
                format!("metadata.snapshot.touched[{path}]"),
                &claimed,
                &base,
                "touched.json",
            );
        }
    }
    for entry in list {
        let path = name(entry);
        let old = summary.sections.iter().any(|file| file.old.as_deref() == Some(&path));
        let new = summary.sections.iter().any(|file| file.new.as_deref() == Some(&path));
        found.expect(entry.base.is_some() == old, Kind::Base, format!("touched.json[{path}].base"), || {
            "whether it was there before is not what the patch says".to_owned()
        });
        found.expect(
            entry.result.is_some() == new,
            Kind::Patch,
            format!("touched.json[{path}].result"),
            || "whether it is there afterwards is not what the patch says".to_owned(),
        );
    }
}

/// What is still known of the originals: their digests, and that the patch leads from them to the result.
fn base(run: &RunEvidence, patch: Option<&[u8]>, found: &mut Discrepancies) {
    let Some(list) = run.touched.as_ref().filter(|_| patch.is_some()) else { return };
    for entry in list {
        let path = entry.path.to_string_lossy().into_owned();
        let (Some(base), Some(shown)) = (&entry.base, run.base.originals.get(&path)) else { continue };
        found.same(
            Kind::Base,
            format!("metadata.snapshot.touched[{path}]"),
            &base.sha256,
            shown,
            "the object the patch names",
        );
    }
    match &run.base.applied {
        None | Some(ReapplyOutcome::Reproduced) => {}
        Some(ReapplyOutcome::Differs(paths)) => found.add(
            Kind::Base,
            "diff.patch",
            format!(
                "on the files it was made against, it does not lead to the recorded result: {}",
                paths.join(", ")
            ),
        ),
        Some(ReapplyOutcome::Refused(why)) => found.add(
            Kind::Base,
            "diff.patch",
            format!("it does not apply to the files it was made against: {}", why.trim()),
        ),
    }
    found.expect(
        run.manifest.status != RunStatus::Interrupted || run.manifest.outcome == RunOutcome::Failure,
        Kind::Verdict,
        "outcome",
        || "an interrupted run delivers nothing".to_owned(),
    );
}
