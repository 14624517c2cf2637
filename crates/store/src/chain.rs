//! The audit chain: every entry holds the hash of the one before, so that no entry can be changed, left out or moved.
//!
//! A chain alone cannot tell that its end is missing. So its head (length and last hash) is written down elsewhere too:
//! beside the database after every commit, and in the manifest of every run.

use holon_core::digest::sha256_parts;
use serde::{Deserialize, Serialize};

use crate::record::{AuditEntry, AuditNote};

/// The end of the chain at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// Number of the last entry, and so how many there are.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// What a check of the chain came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum ChainVerdict {
    /// Every entry is as it was written, and none is missing.
    Whole {
        /// The end; none for an empty chain.
        head: Option<ChainHead>,
    },
    /// Something is wrong.
    Broken {
        /// The first entry that is not as it was, or would have to be there.
        at: u64,
        /// What is wrong with it.
        problem: String,
    },
}

/// The entry that follows `head`.
pub fn link(head: Option<&ChainHead>, note: AuditNote) -> AuditEntry {
    let seq = head.map_or(1, |head| head.seq + 1);
    let prev = head.map(|head| head.hash.clone()).unwrap_or_default();
    let hash = hash(seq, &note, &prev);
    AuditEntry { seq, note, prev, hash }
}

fn hash(seq: u64, note: &AuditNote, prev: &str) -> String {
    let detail = note.detail.to_string();
    let (seq, turn) = (seq.to_string(), note.turn.map(|turn| turn.to_string()).unwrap_or_default());
    let thread = note.thread.as_deref().unwrap_or_default();
    // Absent and empty differ.
    let there = [b'0' + u8::from(note.thread.is_some()), b'0' + u8::from(note.turn.is_some())];
    let texts: [&str; 8] = [prev, &seq, &note.at, &note.actor, &note.action, thread, &turn, &detail];
    sha256_parts(texts.iter().map(|text| text.as_bytes()).chain([&there[..]]))
}

/// Checks a chain, entry by entry, against heads that were written down elsewhere.
#[derive(Debug, Default)]
pub struct ChainChecker {
    heads: Vec<ChainHead>,
    last: Option<ChainHead>,
    broken: Option<(u64, String)>,
}

impl ChainChecker {
    /// A check that also wants these heads to be part of the chain.
    pub fn new(heads: impl IntoIterator<Item = ChainHead>) -> Self {
        Self { heads: heads.into_iter().collect(), ..Self::default() }
    }

    /// Takes the next entry; `false` when there is no need to go on.
    pub fn take(&mut self, entry: &AuditEntry) -> bool {
        let seq = self.last.as_ref().map_or(1, |last| last.seq + 1);
        let prev = self.last.as_ref().map_or("", |last| last.hash.as_str());
        let anchored = self.heads.iter().find(|head| head.seq == seq);
        let problem = if entry.seq != seq {
            Some(format!("entry {seq} is missing"))
        } else if entry.prev != prev {
            Some("it does not follow the entry before".to_owned())
        } else if entry.hash != hash(entry.seq, &entry.note, &entry.prev) {
            Some("it is not as it was written".to_owned())
        } else if anchored.is_some_and(|head| head.hash != entry.hash) {
            Some("it is not the entry that was written down elsewhere".to_owned())
        } else {
            None
        };
        self.broken = problem.map(|problem| (seq, problem));
        self.last = Some(ChainHead { seq, hash: entry.hash.clone() });
        self.broken.is_none()
    }

    /// The result, after the last entry.
    pub fn finish(self) -> ChainVerdict {
        if let Some((at, problem)) = self.broken {
            return ChainVerdict::Broken { at, problem };
        }
        let length = self.last.as_ref().map_or(0, |last| last.seq);
        match self.heads.iter().map(|head| head.seq).max().filter(|most| *most > length) {
            Some(most) => ChainVerdict::Broken {
                at: length + 1,
                problem: format!("the end is missing: there were {most} entries, and {length} are left"),
            },
            None => ChainVerdict::Whole { head: self.last },
        }
    }
}

/// Checks a whole chain.
pub fn verify<'a>(
    entries: impl IntoIterator<Item = &'a AuditEntry>,
    heads: impl IntoIterator<Item = ChainHead>,
) -> ChainVerdict {
    let mut checker = ChainChecker::new(heads);
    for entry in entries {
        if !checker.take(entry) {
            break;
        }
    }
    checker.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn chain(length: usize) -> Vec<AuditEntry> {
        let mut entries: Vec<AuditEntry> = Vec::new();
        for n in 0..length {
            let head = entries.last().map(|e| ChainHead { seq: e.seq, hash: e.hash.clone() });
            let note = AuditNote {
                at: format!("2026-01-01T00:00:{n:02}Z"),
                actor: "policy".into(),
                action: "tool_decided".into(),
                thread: (n % 2 == 0).then(|| "t-1".into()),
                turn: Some(n as u64),
                detail: json!({"n": n}),
            };
            entries.push(link(head.as_ref(), note));
        }
        entries
    }

    fn head(entries: &[AuditEntry]) -> Vec<ChainHead> {
        entries.last().map(|e| ChainHead { seq: e.seq, hash: e.hash.clone() }).into_iter().collect()
    }

    proptest! {
        #[test]
        fn inv_13_the_audit_chain_detects_any_edit_or_truncation(length in 1usize..20, at in 0usize..20, how in 0u8..9) {
            let entries = chain(length);
            let anchor = head(&entries);
            let whole = matches!(verify(&entries, anchor.clone()), ChainVerdict::Whole { .. });
            prop_assert!(whole);
            let mut changed = entries.clone();
            let at = at % length;
            match how {
                0 => changed[at].note.actor.push('x'),
                1 => changed[at].note.detail = json!({"n": "other"}),
                2 => changed[at].note.thread = match changed[at].note.thread { None => Some(String::new()), Some(_) => None },
                3 => changed[at].note.turn = None,
                4 => changed[at].prev.push('0'),
                5 => changed[at].seq += 1,
                6 => drop(changed.remove(at)),
                7 => changed.truncate(at),
                // Somebody writes the rest of the chain anew, with right hashes.
                _ => {
                    changed.truncate(at);
                    while changed.len() < length {
                        let before = head(&changed);
                        let note = AuditNote { actor: "forger".into(), ..entries[changed.len()].note.clone() };
                        changed.push(link(before.first(), note));
                    }
                }
            }
            let verdict = verify(&changed, anchor);
            let ChainVerdict::Broken { at: found, .. } = &verdict else { panic!("{how} at {at} went unnoticed") };
            // The place is told too; a chain that was written anew is noticed where its head was written down.
            prop_assert!(*found as usize == at + 1 || how == 8, "{verdict:?}");
        }
    }

    #[test]
    fn what_came_after_the_head_was_written_down_is_fine() {
        let entries = chain(5);
        let early = head(&entries[..3]);
        assert_eq!(verify(&entries, early), ChainVerdict::Whole { head: head(&entries).pop() });
        assert_eq!(verify(&[], []), ChainVerdict::Whole { head: None });
    }
}
