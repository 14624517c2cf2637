//! The files of a run beside the list that was sealed when it ended, and the audit log that tells of the list.

use std::collections::BTreeMap;

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::{EvidenceLayout, RunEvidence, SealEvidence};
use crate::sealed::{SEALED, SealList, SealedFile, SealedKind};

/// How many files are named of those that are not as they were sealed.
const MOST_NAMED: usize = 200;

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    // A copy holds other files than the store does; it is judged by its manifest and its events.
    if run.layout == EvidenceLayout::Copy {
        return;
    }
    if let Some(broken) = run.audit.as_ref().and_then(|log| log.broken.as_ref()) {
        found.add(Kind::Audit, "audit.jsonl", broken);
    }
    let Some(seal) = &run.seal else { return };
    let Some(list) = list(seal, found) else { return };
    found.expect(list.run_id == run.manifest.run_id.as_str(), Kind::Seal, SEALED, || {
        format!("it is the list of run {}", list.run_id)
    });
    found.expect(seal.asked_sha256.as_deref() == Some(&list.asked_sha256), Kind::Seal, "run.json", || {
        "what it says was asked is not what was sealed".to_owned()
    });
    let mut wrong = differences(&list.files, &seal.there.files);
    let more = wrong.len().saturating_sub(MOST_NAMED);
    wrong.truncate(MOST_NAMED);
    for (path, sentence) in wrong {
        found.add(Kind::Seal, path, sentence);
    }
    if more > 0 || seal.there.too_many {
        found.add(Kind::Seal, SEALED, format!("{more} more files are not as they were sealed"));
    }
}

/// The list, if it is the one that the audit log tells of.
fn list<'e>(seal: &'e SealEvidence, found: &mut Discrepancies) -> Option<&'e SealList> {
    let Some((digest, list)) = &seal.list else {
        found.add(Kind::Seal, SEALED, "the audit log tells of this list, and it is not there any more");
        return None;
    };
    if *digest != seal.told {
        found.add(Kind::Seal, SEALED, "it is not the list that the audit log tells of");
        return None;
    }
    if list.is_none() {
        found.add(Kind::Seal, SEALED, "this version cannot read the list");
    }
    list.as_ref()
}

/// Each file that is not as it was sealed, and a sentence about it.
fn differences(sealed: &[SealedFile], there: &[SealedFile]) -> Vec<(String, String)> {
    let mut left: BTreeMap<&str, &SealedFile> = there.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut wrong = Vec::new();
    for file in sealed {
        let sentence = match left.remove(file.path.as_str()) {
            None => "it was sealed when the run ended, and is not there any more".to_owned(),
            Some(now) if now == file => continue,
            Some(now) if now.kind == SealedKind::Unreadable => {
                "it was sealed when the run ended, and cannot be read any more".to_owned()
            }
            Some(now) if now.kind != file.kind => {
                format!("it was {} when the run was sealed, and is {} now", a(file.kind), a(now.kind))
            }
            Some(now) if now.bytes != file.bytes => {
                format!("it had {} bytes when the run was sealed, and has {} now", file.bytes, now.bytes)
            }
            Some(_) => "its content is not what was sealed when the run ended".to_owned(),
        };
        wrong.push((file.path.clone(), sentence));
    }
    let added = left.into_keys().map(|path| {
        (path.to_owned(), "it was not there when the run was sealed, and is there now".to_owned())
    });
    wrong.extend(added);
    wrong
}

fn a(kind: SealedKind) -> &'static str {
    match kind {
        SealedKind::File => "a plain file",
        SealedKind::Link => "a link",
        SealedKind::Special => "a pipe, a socket or a device",
        SealedKind::Unreadable => "something that cannot be read",
    }
}
