//! Every row about a file of the output folder, and every file that has no row.

use std::collections::BTreeSet;

use holon_core::artifact;
use holon_core::manifest::ArtifactRecord;
use holon_core::outcome::RunStatus;
use holon_host::run::promises_form;

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::{EvidenceFileKind, EvidenceLayout, RunEvidence};

/// Where the evidence lies in a copy, and where what an agent put there itself lies.
const EVIDENCE: [&str; 2] = ["evidence/", "evidence-of-agent/"];
/// Where the signed statement about a copy lies, which vouches for the manifest and not the other way round.
const STATEMENT: &str = "attestation.json";

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    let mut listed = BTreeSet::new();
    for row in &run.manifest.artifacts {
        let claim = format!("artifacts[{}]", row.path);
        if let Err(wrong) = stays_inside(&row.path) {
            found.add(Kind::Artifact, format!("{claim}.path"), wrong);
            continue;
        }
        if !listed.insert(row.path.as_str()) {
            found.add(Kind::Artifact, claim, "it is listed twice");
            continue;
        }
        one(run, row, &claim, found);
    }
    for (name, file) in run.output.iter().chain(&run.evidence) {
        found.expect(file.kind == EvidenceFileKind::File, Kind::Output, name.clone(), || {
            "it is a link, a pipe or a device, which no run leaves".to_owned()
        });
    }
    for name in run.output.keys() {
        let evidence = run.layout == EvidenceLayout::Copy
            && (name == STATEMENT || EVIDENCE.iter().any(|folder| name.starts_with(folder)));
        found.expect(evidence || listed.contains(name.as_str()), Kind::Output, name.clone(), || {
            "it is in the output folder, and the manifest does not list it".to_owned()
        });
    }
    required(run, &listed, found);
}

/// A path that leads nowhere else.
fn stays_inside(path: &str) -> Result<(), &'static str> {
    if path.is_empty() || path.starts_with('/') || path.contains('\0') {
        return Err("it is no path below the output folder");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("it leads out of the output folder");
    }
    if path == "manifest.json" {
        return Err("the manifest cannot vouch for itself");
    }
    Ok(())
}

fn one(run: &RunEvidence, row: &ArtifactRecord, claim: &str, found: &mut Discrepancies) {
    let Some(file) = run.output.get(&row.path).filter(|file| file.kind == EvidenceFileKind::File) else {
        found.expect(row.sha256.is_none(), Kind::Artifact, format!("{claim}.sha256"), || {
            "the file is not there, and has a digest".to_owned()
        });
        found.expect(row.bytes == 0, Kind::Digest, format!("{claim}.bytes"), || {
            format!("the file is not there, and has {} bytes", row.bytes)
        });
        found.expect(!row.valid, Kind::Artifact, format!("{claim}.valid"), || {
            "the file is not there, and is called valid".to_owned()
        });
        found.expect(!row.problems.is_empty(), Kind::Artifact, format!("{claim}.problems"), || {
            "the file is not there, and nothing is called wrong".to_owned()
        });
        return;
    };
    found.expect(row.sha256 == file.sha256, Kind::Digest, format!("{claim}.sha256"), || {
        format!("the file has the digest {}", file.sha256.as_deref().unwrap_or("of nothing"))
    });
    found.same(Kind::Digest, format!("{claim}.bytes"), &row.bytes, &file.bytes, "the file");
    let Some(content) = &file.content else { return };
    if has_a_form_of_its_own(run, row) {
        found.same(
            Kind::Artifact,
            format!("{claim}.valid"),
            &row.valid,
            &row.problems.is_empty(),
            "what is called wrong",
        );
        return;
    }
    let problems = problems(run, row, content);
    found.same(
        Kind::Artifact,
        format!("{claim}.valid"),
        &row.valid,
        &problems.is_empty(),
        "looking at it again",
    );
    found.same(Kind::Artifact, format!("{claim}.problems"), &row.problems, &problems, "looking at it again");
}

/// Whether its form is not the one that its name has in every run: the record of an orchestration is not the plan that a
/// planner hands over under the same name, what a flow was asked for was judged in its steps, and a form that the spec
/// gave is not in a copy.
fn has_a_form_of_its_own(run: &RunEvidence, row: &ArtifactRecord) -> bool {
    let judged_elsewhere = run.is_whole() && (row.path == "orchestration.json" || run.spec.is_none());
    judged_elsewhere || (run.layout == EvidenceLayout::Copy && run.spec.is_none() && !row.valid)
}

/// What is wrong with a file. What nobody asked for has to have a form only where its name promises one.
fn problems(run: &RunEvidence, row: &ArtifactRecord, content: &[u8]) -> Vec<String> {
    // Whether the mode has it among what may be handed over is known of some modes only; then it was looked at.
    if row.valid && !row.required && !promises_form(&row.path) {
        return Vec::new();
    }
    let wanted =
        run.spec.iter().flat_map(|spec| &spec.output.artifacts).filter(|wanted| wanted.path == row.path);
    let asked =
        wanted.filter_map(|wanted| wanted.schema.as_ref()).next().map(|schema| schema.problems(content));
    let own = artifact::validate(&row.path, content).err().unwrap_or_default();
    let mut wrong: Vec<String> = own.iter().chain(asked.iter().flatten()).map(ToString::to_string).collect();
    wrong.dedup();
    wrong
}

/// What the mode and the spec demand is listed as demanded, and nothing else is.
fn required(run: &RunEvidence, listed: &BTreeSet<&str>, found: &mut Discrepancies) {
    let (Some(profile), Some(spec)) = (&run.profile, &run.spec) else { return };
    let asked = |path: &str| spec.output.artifacts.iter().find(|wanted| wanted.path == path);
    let demanded = |path: &str| profile.requires(path) || asked(path).is_some_and(|wanted| wanted.required);
    // A mode that may deliver on request demands a patch only then.
    let delivers = run.manifest.metadata.workspace_access == profile.access.label();
    for row in run.manifest.artifacts.iter().filter(|row| delivers || row.path != "diff.patch") {
        found.same(
            Kind::Artifact,
            format!("artifacts[{}].required", row.path),
            &row.required,
            &demanded(&row.path),
            "the mode and the spec",
        );
    }
    if let Some(asked) = &run.asked {
        let claimed = run.manifest.metadata.interactive;
        found.same(Kind::Artifact, "metadata.interactive", &claimed, &asked.interactive, "the plan");
    }
    if run.manifest.status != RunStatus::Completed {
        return;
    }
    let names = profile.artifacts.required.iter().map(String::as_str);
    let more =
        spec.output.artifacts.iter().filter(|wanted| wanted.required).map(|wanted| wanted.path.as_str());
    for name in names.chain(more).filter(|name| *name != "manifest.json" && !listed.contains(name)) {
        found.add(
            Kind::Artifact,
            "artifacts",
            format!("{name} is required, and the manifest does not speak of it"),
        );
    }
}
