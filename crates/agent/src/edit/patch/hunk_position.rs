//! Finds the one place in a file that a hunk is about.

use super::hunk::EnvelopeHunk;
use crate::edit::anchors::seek_anchored;
use crate::edit::indent::IndentShift;
use crate::edit::lines::TerminatedLine;
use crate::edit::mismatch::{Mismatch, PassageNotFound};
use crate::edit::seek::{MatchedBlock, SeekMatches, plain_content, seek};
use crate::edit::tolerance::Tolerance;
use crate::edit::typography::TypographicSpelling;

/// A hunk, as it has to be read, and its place.
pub(super) struct PlacedHunk {
    /// The reading that fits.
    pub(super) hunk: EnvelopeHunk,
    /// Where it is.
    pub(super) block: MatchedBlock,
    /// How many lines of the file it covers.
    pub(super) length: usize,
    /// What had to be tolerated.
    pub(super) tolerance: Option<Tolerance>,
}

/// Why there is no such place.
pub(super) enum PlacementFault {
    /// It is not there, or not clear.
    Mismatch(Mismatch),
    /// Another hunk has it.
    Taken,
}

/// Lines of the file that belong to hunks already: first, and first after.
pub(super) type ClaimedLines = [(usize, usize)];

/// Finds the place of a hunk; `after` is where the hunk before it ended.
pub(super) fn place(
    file: &[TerminatedLine<'_>],
    hunk: &EnvelopeHunk,
    taken: &ClaimedLines,
    after: usize,
) -> Result<PlacedHunk, PlacementFault> {
    let headers = header_places(file, &hunk.headers);
    if hunk.before().is_empty() {
        return Ok(insertion(file, hunk, &headers, after));
    }
    for hunk in readings(hunk) {
        let old = hunk.before();
        let Some(sought) = seek(file, &old, Tolerance::Typography) else { continue };
        return choose(file, &hunk, sought, &headers, taken, after);
    }
    let old = hunk.before();
    match seek_anchored(file, &old) {
        Some(sought) => choose(file, hunk, sought, &headers, taken, after),
        None => {
            let seen = PassageNotFound::look(file, &old, &hunk.after());
            Err(PlacementFault::Mismatch(Mismatch::NotFound(Box::new(seen))))
        }
    }
}

/// The ways a hunk can be meant, the likely one first.
fn readings(hunk: &EnvelopeHunk) -> Vec<EnvelopeHunk> {
    let mut readings = vec![hunk.clone()];
    match hunk.read_bare() {
        Some(bare) if hunk.has_bare() => readings.insert(0, bare),
        bare => readings.extend(bare),
    }
    let shorter: Vec<EnvelopeHunk> = readings.iter().filter_map(EnvelopeHunk::without_blank_end).collect();
    // Without its blank lines nothing may be left to look for.
    readings.extend(shorter.into_iter().filter(|hunk| !hunk.before().is_empty()));
    readings
}

fn choose(
    file: &[TerminatedLine<'_>],
    hunk: &EnvelopeHunk,
    sought: SeekMatches,
    headers: &[usize],
    taken: &ClaimedLines,
    after: usize,
) -> Result<PlacedHunk, PlacementFault> {
    let length = hunk.before().len();
    let free = |block: &MatchedBlock| {
        taken.iter().all(|(from, to)| block.start + length <= *from || block.start >= *to)
    };
    let mut blocks: Vec<MatchedBlock> = sought.blocks.into_iter().filter(free).collect();
    if blocks.is_empty() {
        return Err(PlacementFault::Taken);
    }
    if hunk.end_of_file {
        narrow(&mut blocks, |block| block.start + length == file.len());
    }
    if !headers.is_empty() {
        // The first place behind each line that the header can mean.
        let chosen: Vec<usize> = headers
            .iter()
            .filter_map(|header| blocks.iter().map(|block| block.start).find(|start| start >= header))
            .collect();
        narrow(&mut blocks, |block| chosen.contains(&block.start));
    }
    narrow(&mut blocks, |block| hunk.near_line == Some(block.start + 1));
    narrow(&mut blocks, |block| block.start >= after);
    match blocks.as_slice() {
        [block] => {
            Ok(PlacedHunk { hunk: hunk.clone(), block: block.clone(), length, tolerance: sought.tolerance })
        }
        several => {
            let lines = several.iter().map(|block| block.start + 1);
            Err(PlacementFault::Mismatch(Mismatch::ambiguous_hunk(lines, sought.tolerance)))
        }
    }
}

/// Keeps what fits, unless nothing would be left or nothing has to be decided.
fn narrow(blocks: &mut Vec<MatchedBlock>, fits: impl Fn(&MatchedBlock) -> bool) {
    if blocks.len() > 1 && blocks.iter().any(&fits) {
        blocks.retain(fits);
    }
}

/// The lines that the last header can mean, each behind a line for the header before it.
fn header_places(file: &[TerminatedLine<'_>], headers: &[String]) -> Vec<usize> {
    let mut places: Option<Vec<usize>> = None;
    for header in headers {
        let found = lines_like(file, header);
        // A header that is nowhere says nothing.
        if found.is_empty() {
            continue;
        }
        places = Some(match places {
            None => found,
            Some(before) => {
                let mut next: Vec<usize> =
                    before.iter().filter_map(|line| found.iter().copied().find(|at| at > line)).collect();
                next.dedup();
                next
            }
        });
    }
    places.unwrap_or_default()
}

fn lines_like(file: &[TerminatedLine<'_>], header: &str) -> Vec<usize> {
    let header = plain_content(header);
    let ways: [fn(&str, &str) -> bool; 3] = [
        |line, header| line == header,
        |line, header| line.starts_with(header),
        |line, header| line.contains(header),
    ];
    let found = |way: &fn(&str, &str) -> bool| {
        let hits = file.iter().enumerate().filter(|(_, line)| way(&plain_content(&line.text), &header));
        hits.map(|(index, _)| index).collect::<Vec<_>>()
    };
    ways.iter().map(found).find(|hits| !hits.is_empty()).unwrap_or_default()
}

/// Lines that only come have no place of their own: behind the header, at the line it names, or at the end.
fn insertion(
    file: &[TerminatedLine<'_>],
    hunk: &EnvelopeHunk,
    headers: &[usize],
    after: usize,
) -> PlacedHunk {
    let behind_header = headers.iter().find(|line| **line >= after).or(headers.first()).map(|line| line + 1);
    let start = match (hunk.end_of_file, behind_header, hunk.near_line) {
        (true, ..) | (_, None, None) => file.len(),
        (_, _, Some(near)) => near.min(file.len()),
        (_, Some(line), _) => line,
    };
    let block = MatchedBlock { start, shift: IndentShift::None, spelling: TypographicSpelling::default() };
    PlacedHunk { hunk: hunk.clone(), block, length: 0, tolerance: None }
}
