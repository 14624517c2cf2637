//! A copy of a run beside what the audit log and the store know of the run it was made of.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::ids::RunId;
use holon_core::manifest::{Manifest, StepProgress};
use holon_core::outcome::RunStatus;

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::{EvidenceFile, EvidenceLayout, RunEvidence};
use crate::sealed::{SealList, SealedKind};

const MANIFEST: &str = "manifest.json";
/// Where the runs inside a flow or an orchestration are in a copy.
const STEPS: &str = "evidence/steps/";

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    if run.layout != EvidenceLayout::Copy || run.manifest.status == RunStatus::Interrupted {
        return;
    }
    let mut told = run.told_manifests().map(|(_, digest)| digest).peekable();
    // Whoever mended the copy's own log as well is found out by the audit log. Earlier versions told it nothing.
    let known = told.peek().is_none() || told.any(|digest| digest == run.manifest_sha256);
    found.expect(known || !run.is_as_sealed(), Kind::Seal, MANIFEST, || {
        "it is none of the manifests that the audit log tells of".to_owned()
    });
    let Some(original) = run.original.as_ref().filter(|original| !original.went_on) else { return };
    let mut files: BTreeMap<&str, &EvidenceFile> =
        run.output.iter().map(|(name, file)| (&**name, file)).collect();
    compare("", &original.list, &mut files, found);
    let mut copied = BTreeSet::new();
    for name in steps(&files) {
        let below = format!("{STEPS}{name}/");
        let manifest =
            files.get(format!("{below}{MANIFEST}").as_str()).and_then(|file| file.content.as_deref());
        let part = manifest
            .and_then(|text| serde_json::from_slice::<Manifest>(text).ok())
            .and_then(|manifest| original.parts.get(manifest.run_id.as_str()));
        match part {
            Some(part) => {
                copied.insert(part.run_id.as_str());
                compare(&below, part, &mut files, found);
            }
            // A part of an earlier version, or one that could not be sealed.
            None if original.parts.is_empty() => return,
            None => found.add(Kind::Seal, format!("{below}{MANIFEST}"), "the run has no such part"),
        }
    }
    let done = run.manifest.metadata.flow.iter().flat_map(|flow| &flow.steps);
    for step in done.filter(|step| step.state == StepProgress::Done) {
        let id = step.run_id.as_ref().map(RunId::as_str).filter(|id| original.parts.contains_key(*id));
        found.expect(
            id.is_none_or(|id| copied.contains(id)),
            Kind::Seal,
            format!("{STEPS}{}", step.name),
            || "the run has this part, and the copy does not".to_owned(),
        );
    }
    for name in files.keys().filter(|name| name.starts_with("evidence/") && !name.starts_with(STEPS)) {
        found.add(Kind::Seal, *name, "the run in the store has no such file");
    }
}

/// Holds the files of a run against those of its copy, which lie `below`, and takes them from `files`.
fn compare(
    below: &str,
    original: &SealList,
    files: &mut BTreeMap<&str, &EvidenceFile>,
    found: &mut Discrepancies,
) {
    for sealed in original.files.iter().filter(|sealed| sealed.kind == SealedKind::File) {
        let name = match sealed.path.strip_prefix("output/") {
            Some(name) => name,
            None if sealed.path.starts_with("evidence/") => &sealed.path,
            None => continue,
        };
        // What the copy itself delivers is held against its own manifest, which the audit log vouches for.
        if below.is_empty() && !name.starts_with("evidence/") {
            continue;
        }
        let name = format!("{below}{name}");
        match files.remove(name.as_str()) {
            None => found.add(Kind::Seal, name, "the run in the store has this file, and the copy does not"),
            Some(file) => {
                found.expect(file.sha256.as_deref() == Some(&sealed.sha256), Kind::Seal, name, || {
                    "it is not what the run in the store has under this name".to_owned()
                })
            }
        }
    }
}

/// The names of the parts that are in a copy.
fn steps(files: &BTreeMap<&str, &EvidenceFile>) -> Vec<String> {
    let names = files.keys().filter_map(|name| Some(name.strip_prefix(STEPS)?.split_once('/')?.0.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.dedup();
    names
}
