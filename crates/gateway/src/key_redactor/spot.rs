//! Keys in bytes that are there as a whole.

use super::needle::{Needle, Sighting};
use super::{COVER, TextCut, view};

/// So much is looked at in one go.
const BLOCK: usize = 64 * 1024;

/// Covers every key in a line as it is written.
pub(super) fn cover(keys: &[Needle], line: Vec<u8>) -> Vec<u8> {
    let cuts = cuts(keys, &line);
    if cuts.is_empty() { line } else { without(&line, &cuts) }
}

/// Covers every key in the beginning of a line, and says how much that is: a key may begin in the rest and go on.
pub(super) fn cover_beginning(keys: &[Needle], line: &[u8]) -> (Vec<u8>, usize) {
    let mut certain = line.len().saturating_sub(reach(keys));
    let mut cuts = cuts(keys, line);
    if let Some(cut) = cuts.iter().find(|cut| cut.range.contains(&certain)) {
        // One that reaches the end may go on, but nobody waits for keys without an end.
        let goes_on = cut.range.end == line.len() && cut.range.start > 0;
        certain = if goes_on { cut.range.start } else { cut.range.end };
    }
    cuts.retain(|cut| cut.range.end <= certain);
    (without(&line[..certain], &cuts), certain)
}

/// How far the longest writing of a key goes.
fn reach(keys: &[Needle]) -> usize {
    keys.iter().map(Needle::reach).max().unwrap_or(0)
}

fn cuts(keys: &[Needle], bytes: &[u8]) -> Vec<TextCut> {
    let reach = reach(keys);
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < bytes.len() {
        let to = bytes.len().min(from + BLOCK + reach);
        let seen = sighted(keys, &bytes[from..to]);
        pieces.extend(seen.pieces.into_iter().map(|piece| piece.start + from..piece.end + from));
        from += BLOCK;
    }
    joined(pieces).into_iter().map(|range| TextCut { range, covered: true }).collect()
}

pub(super) fn sighted(keys: &[Needle], bytes: &[u8]) -> Sighting {
    let meant = view::meant(bytes);
    let mut seen = Sighting::default();
    keys.iter().for_each(|key| key.look(&meant, &mut seen));
    seen
}

/// Ranges in order; those that touch are one.
pub(super) fn joined(mut all: Vec<std::ops::Range<usize>>) -> Vec<std::ops::Range<usize>> {
    all.sort_by_key(|range| (range.start, range.end));
    let mut out: Vec<std::ops::Range<usize>> = Vec::new();
    for range in all {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// Bytes without what is cut out of them.
pub(super) fn without(bytes: &[u8], cuts: &[TextCut]) -> Vec<u8> {
    let mut cuts: Vec<&TextCut> = cuts.iter().collect();
    cuts.sort_by_key(|cut| cut.range.start);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for cut in cuts {
        let start = cut.range.start.clamp(at, bytes.len());
        out.extend_from_slice(&bytes[at..start]);
        if cut.covered && cut.range.end > at {
            out.extend_from_slice(COVER.as_bytes());
        }
        at = cut.range.end.clamp(at, bytes.len());
    }
    out.extend_from_slice(&bytes[at..]);
    out
}
