//! What each path of the JSON in a stream said so far: a key can come in pieces, and each piece is a string of its own.

use std::collections::HashMap;
use std::sync::Arc;

use super::TextCut;
use super::line::SaidString;
use super::needle::Needle;
use super::spot::{joined, sighted};

/// So many paths are known by themselves; an answer with more says all the others as one.
const MOST_PATHS: usize = 256;
/// So many lines later nobody waits for a path any more on which nothing came.
const PATIENCE: u64 = 8;

/// Something is cut out of a string in a line.
pub(super) struct LineCut {
    pub(super) line: u64,
    pub(super) string: usize,
    pub(super) cut: TextCut,
}

/// What is to be cut, in the lines that are still held.
struct CutList {
    first: u64,
    cuts: Vec<LineCut>,
}

/// All paths of an answer.
pub(super) struct Trails {
    keys: Arc<Vec<Needle>>,
    reach: usize,
    known: HashMap<String, PathTrail>,
    /// Lines so far.
    lines: u64,
}

/// The last of what a path said.
#[derive(Default)]
struct PathTrail {
    text: Vec<u8>,
    /// Which strings the text is made of.
    parts: Vec<TrailPart>,
    /// Up to here everything is judged.
    judged: usize,
    /// A key that was covered ends here, and what follows may go on with it.
    covered_to: Option<usize>,
    /// Where the beginning of a key stands that may go on, and in which line it was seen last.
    waits: Option<(u64, u64)>,
}

struct TrailPart {
    line: u64,
    string: usize,
    /// Where it begins in the text.
    from: usize,
    /// How much of its beginning is forgotten.
    lost: usize,
}

impl Trails {
    pub(super) fn new(keys: Arc<Vec<Needle>>) -> Self {
        let reach = keys.iter().map(Needle::reach).max().unwrap_or(0);
        Self { keys, reach, known: HashMap::new(), lines: 0 }
    }

    /// Takes the strings of a line, and says what has to be cut, in this line or in those before it from `first` on.
    pub(super) fn follow(&mut self, line: u64, first: u64, strings: &[SaidString]) -> Vec<LineCut> {
        let mut cuts = CutList { first, cuts: Vec::new() };
        self.lines = line;
        for (number, string) in strings.iter().enumerate().filter(|(_, string)| !string.text.is_empty()) {
            for path in &string.paths {
                let full = self.known.len() >= MOST_PATHS && !self.known.contains_key(path);
                let path = if full { "" } else { path.as_str() };
                let trail = self.known.entry(path.to_owned()).or_default();
                let text = string.text.as_bytes();
                let part = TrailPart { line, string: number, from: 0, lost: 0 };
                if text.len() <= 2 * self.reach {
                    trail.add(part, text, &self.keys, &mut cuts);
                } else {
                    // What stands in the middle is seen in the line as it is written.
                    let lost = text.len() - self.reach;
                    trail.add(part, &text[..self.reach], &self.keys, &mut cuts);
                    *trail = PathTrail::default();
                    let part = TrailPart { line, string: number, from: 0, lost };
                    trail.add(part, &text[lost..], &self.keys, &mut cuts);
                }
                trail.forget(self.reach);
            }
        }
        cuts.cuts
    }

    /// The first line that has to wait for what comes.
    pub(super) fn waits_from(&self) -> Option<u64> {
        let waiting = self.known.values().filter_map(|trail| trail.waits);
        waiting.filter(|(_, seen)| seen + PATIENCE > self.lines).map(|(from, _)| from).min()
    }
}

impl PathTrail {
    fn add(&mut self, part: TrailPart, text: &[u8], keys: &[Needle], cuts: &mut CutList) {
        let line = part.line;
        self.parts.push(TrailPart { from: self.text.len(), ..part });
        self.text.extend_from_slice(text);
        let seen = sighted(keys, &self.text);
        let fresh = self.judged;
        self.judged = self.text.len();
        for range in joined(seen.pieces) {
            if range.end <= fresh {
                continue;
            }
            // What was covered before grows; its cover stands already.
            let goes_on = self.covered_to.is_some_and(|to| range.start < to && to <= range.end);
            self.cut(&range, goes_on, cuts);
            self.covered_to = Some(range.end);
        }
        self.waits = seen.beginning.and_then(|at| {
            let part = self.parts.iter().rev().find(|part| part.from <= at)?;
            Some((part.line, line))
        });
    }

    /// Cuts a range out of every string it touches; the first one gets the cover.
    fn cut(&self, range: &std::ops::Range<usize>, goes_on: bool, cuts: &mut CutList) {
        let mut covered = !goes_on;
        for (at, part) in self.parts.iter().enumerate() {
            let end = self.parts.get(at + 1).map_or(self.text.len(), |next| next.from);
            let (from, to) = (range.start.max(part.from), range.end.min(end));
            if from < to {
                let range = from - part.from + part.lost..to - part.from + part.lost;
                // What was passed on already cannot be changed any more.
                if part.line >= cuts.first {
                    let cut = TextCut { range, covered: std::mem::take(&mut covered) };
                    cuts.cuts.push(LineCut { line: part.line, string: part.string, cut });
                }
            }
        }
    }

    /// Keeps only what a key could begin in.
    fn forget(&mut self, reach: usize) {
        let away = self.text.len().saturating_sub(reach);
        if away == 0 {
            return;
        }
        self.text.drain(..away);
        self.judged = self.judged.saturating_sub(away);
        self.covered_to = self.covered_to.and_then(|to| to.checked_sub(away));
        let first = self.parts.iter().rposition(|part| part.from <= away).unwrap_or(0);
        self.parts.drain(..first);
        for part in &mut self.parts {
            part.lost += away.saturating_sub(part.from);
            part.from = part.from.saturating_sub(away);
        }
    }
}
