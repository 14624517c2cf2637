//! What proves a step: ledger entries that are still fresh, and nothing else.

use super::{GraphNode, NodeKind};
use crate::goal;
use crate::known::EvidenceMemory;
use crate::ledger::EvidenceId;

/// Most entries cited.
const CITED: usize = 4;

/// The entries that prove a step while it is the current one.
pub(super) fn live(node: &GraphNode, known: &EvidenceMemory, named: &[String]) -> Option<Vec<EvidenceId>> {
    let found = match node.kind {
        NodeKind::Inspect => known.fresh_reads(named, CITED),
        NodeKind::Search => seen(known),
        NodeKind::Edit | NodeKind::Fallback => {
            let repaired = if node.cases.is_empty() { None } else { known.fresh_green() };
            match repaired {
                // The cases it is about no longer fail: nothing is left to edit.
                Some(check) => vec![check.entry],
                None => changes(known, |entry, _| entry.0 > node.opened),
            }
        }
        NodeKind::Verify => known.fresh_green().map(|check| check.entry).into_iter().collect(),
        NodeKind::Summarize => known
            .said()
            .filter(|(_, round)| *round > node.opened_round)
            .map(|(entry, _)| entry)
            .into_iter()
            .collect(),
        NodeKind::Delegate => known.child().filter(|entry| entry.0 > node.opened).into_iter().collect(),
    };
    (!found.is_empty()).then_some(found)
}

/// The entries that prove a step by what is there already, whenever it came about.
pub(super) fn past(node: &GraphNode, known: &EvidenceMemory, named: &[String]) -> Option<Vec<EvidenceId>> {
    let found = match node.kind {
        NodeKind::Inspect | NodeKind::Search => {
            let mut found = known.fresh_reads(&[], CITED);
            found.extend(changes(known, |_, _| true));
            found.truncate(CITED);
            found
        }
        // Known failing cases are work that is not done, whatever was changed.
        NodeKind::Edit if !node.cases.is_empty() => Vec::new(),
        NodeKind::Edit => {
            let files: Vec<&String> = named.iter().filter(|name| goal::is_file(name)).collect();
            let all = files.iter().all(|name| known.changed().iter().any(|file| file.path == **name));
            let changed = changes(known, |_, path| files.is_empty() || goal::is_named(path, named));
            if all { changed } else { Vec::new() }
        }
        NodeKind::Verify if known.version() > 0 => {
            known.fresh_green().map(|check| check.entry).into_iter().collect()
        }
        NodeKind::Verify | NodeKind::Summarize | NodeKind::Fallback => Vec::new(),
        NodeKind::Delegate => known.child().into_iter().collect(),
    };
    (!found.is_empty()).then_some(found)
}

fn seen(known: &EvidenceMemory) -> Vec<EvidenceId> {
    if let Some(entry) = known.fresh_search() {
        return vec![entry];
    }
    let reads = known.fresh_reads(&[], CITED);
    // One file is where one began; a second one was found.
    if reads.len() >= 2 { reads } else { Vec::new() }
}

fn changes(known: &EvidenceMemory, wanted: impl Fn(EvidenceId, &str) -> bool) -> Vec<EvidenceId> {
    let fresh = known.changed().iter().rev().filter(|file| file.entry.0 > 0);
    fresh.filter(|file| wanted(file.entry, &file.path)).map(|file| file.entry).take(CITED).collect()
}
