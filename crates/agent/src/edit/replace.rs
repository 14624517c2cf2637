//! Exchanges a passage of a text for another, wherever it is and only if that is clear.

use super::anchors::seek_anchored;
use super::escapes::unescape;
use super::lines::{self, TerminatedLine};
use super::mismatch::{MOST_PLACES, Mismatch};
use super::rewrite::{ops, rewrite};
use super::seek::{SeekMatches, seek};
use super::tolerance::Tolerance;
use super::typography::{TypographicSpelling, fold};

/// A text with a passage exchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedText {
    /// The new text.
    pub text: String,
    /// Where in the new text something changed.
    pub places: Vec<EditedLineRange>,
    /// What had to be tolerated; worth telling the model, so that it knows what the file really says.
    pub tolerance: Option<Tolerance>,
}

/// Lines of a text, numbered from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditedLineRange {
    /// The first line.
    pub first: usize,
    /// The last line; smaller than the first where lines only went away.
    pub last: usize,
}

/// Exchanges `old` for `new`: at its only place, or at every one with `all`.
///
/// The ways to find it are those of [`Tolerance`], in that order. New lines end as the file's do. The end of the file keeps
/// its newline, or its lack of one, unless changing that is all that is asked for. An empty `old` fills an empty text.
pub fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<ReplacedText, Mismatch> {
    if old == new {
        return Err(Mismatch::Same);
    }
    if old.is_empty() {
        return match text.is_empty() {
            true => Ok(ReplacedText {
                text: new.to_owned(),
                places: vec![place(0, lines::split(new).len())],
                tolerance: None,
            }),
            false => Err(Mismatch::EmptyOld),
        };
    }
    let replaced = exact(text, old, new, all)
        .or_else(|| line_endings(text, old, new, all))
        .or_else(|| whole_lines(text, old, new, all, Tolerance::Indentation))
        .or_else(|| typography(text, old, new, all))
        .or_else(|| whole_lines(text, old, new, all, Tolerance::Typography))
        .or_else(|| escapes(text, old, new, all))
        .or_else(|| anchors(text, old, new));
    match replaced.unwrap_or_else(|| Err(Mismatch::not_found(text, old, new)))? {
        same if same.text == text => {
            Err(Mismatch::NoChange { line: same.places.first().map_or(1, |place| place.first) })
        }
        changed => Ok(changed),
    }
}

/// What one way of looking gave: nothing, a result, or a reason not to go on.
type ReplaceAttempt = Option<Result<ReplacedText, Mismatch>>;

fn place(before: usize, count: usize) -> EditedLineRange {
    EditedLineRange { first: before + 1, last: before + count }
}

fn exact(text: &str, old: &str, new: &str, all: bool) -> ReplaceAttempt {
    let starts = occurrences(text, old, all);
    let ranges: Vec<_> = starts.iter().map(|start| (*start, start + old.len())).collect();
    // Half of a CRLF is no place to begin or end at; the next way to look takes it whole.
    if ranges.iter().any(|(start, end)| splits_an_end(text, *start) || splits_an_end(text, *end)) {
        return None;
    }
    passages(text, &ranges, new, all, None)
}

fn splits_an_end(text: &str, at: usize) -> bool {
    text[..at].ends_with('\r') && text[at..].starts_with('\n')
}

/// With line ends folded, places are found in another text and counted back.
fn line_endings(text: &str, old: &str, new: &str, all: bool) -> ReplaceAttempt {
    if !text.contains("\r\n") && !old.contains("\r\n") {
        return None;
    }
    let (plain, old) = (lines::plain(text), lines::plain(old));
    let returns: Vec<usize> = text.match_indices("\r\n").enumerate().map(|(nth, (at, _))| at - nth).collect();
    let original = |at: usize| at + returns.partition_point(|r| *r < at);
    let starts = occurrences(&plain, &old, all);
    let ranges: Vec<_> = starts.iter().map(|start| (original(*start), original(start + old.len()))).collect();
    passages(text, &ranges, new, all, Some(Tolerance::LineEndings))
}

/// Where a passage is: every place that overlaps no other one, or so many that it is clear that it is not unique.
fn occurrences(text: &str, old: &str, all: bool) -> Vec<usize> {
    if old.is_empty() {
        return Vec::new();
    }
    if all {
        return text.match_indices(old).map(|(at, _)| at).collect();
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) =
        text.get(from..).and_then(|rest| rest.find(old)).filter(|_| found.len() <= MOST_PLACES * 2)
    {
        found.push(from + at);
        from += at + text[from + at..].chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// Exchanges passages given by their bytes.
fn passages(
    text: &str,
    ranges: &[(usize, usize)],
    new: &str,
    all: bool,
    how: Option<Tolerance>,
) -> ReplaceAttempt {
    if ranges.is_empty() {
        return None;
    }
    if ranges.len() > 1 && !all {
        return Some(Err(Mismatch::ambiguous(
            ranges.iter().map(|(start, _)| lines::number_at(text, *start)),
            how,
        )));
    }
    let style = style_at(text, ranges[0]);
    let new = lines::in_style(new, style);
    let mut result = String::with_capacity(text.len() + new.len());
    let mut places = Vec::new();
    let (mut done, mut line) = (0, 0);
    for (start, end) in ranges {
        let kept = &text[done..*start];
        result.push_str(kept);
        line += kept.matches('\n').count();
        let restored = if *end == text.len() { restored_end(&text[*start..], &new) } else { None };
        let new = restored.as_deref().unwrap_or(&new);
        result.push_str(new);
        places.push(place(line, lines::split(new).len()));
        line += new.matches('\n').count();
        done = *end;
    }
    result.push_str(&text[done..]);
    Some(Ok(ReplacedText { text: result, places, tolerance: how }))
}

/// The line end used around a passage: its own, else that of the file.
fn style_at(text: &str, (start, end): (usize, usize)) -> &'static str {
    match text[start..end].find('\n') {
        Some(at) if text[start..start + at].ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None => lines::style(text),
    }
}

/// The replacement for the last passage of a file, ended as the file was; `None` when it is fine as it is.
fn restored_end(old: &str, new: &str) -> Option<String> {
    let bare = |text: &str| text.trim_end_matches(['\r', '\n']).to_owned();
    // Asking for nothing but another end is asking for it.
    if new.is_empty() || bare(old) == bare(new) {
        return None;
    }
    match (old.ends_with('\n'), new.ends_with('\n')) {
        (true, false) => Some(format!("{new}{}", if old.ends_with("\r\n") { "\r\n" } else { "\n" })),
        (false, true) => {
            let shorter = new.strip_suffix("\r\n").or(new.strip_suffix('\n'));
            shorter.map(str::to_owned)
        }
        _ => None,
    }
}

/// Compares whole lines, up to this tolerance. A final newline of `old` or `new` means nothing here.
fn whole_lines(text: &str, old: &str, new: &str, all: bool, most: Tolerance) -> ReplaceAttempt {
    let file = lines::split(text);
    let sought = seek(&file, &lines::contents(old), most)?;
    Some(blocks(text, &file, sought, old, new, all))
}

fn anchors(text: &str, old: &str, new: &str) -> ReplaceAttempt {
    let file = lines::split(text);
    let sought = seek_anchored(&file, &lines::contents(old))?;
    // A guess is made at one place or not at all.
    Some(blocks(text, &file, sought, old, new, false))
}

fn blocks(
    text: &str,
    file: &[TerminatedLine<'_>],
    sought: SeekMatches,
    old: &str,
    new: &str,
    all: bool,
) -> Result<ReplacedText, Mismatch> {
    if sought.blocks.len() > 1 && !all {
        return Err(Mismatch::ambiguous(sought.blocks.iter().map(|block| block.start + 1), sought.tolerance));
    }
    let (old, new) = (lines::contents(old), lines::contents(new));
    let ops = ops(&old, &new);
    let style = lines::style(text);
    let mut result: Vec<TerminatedLine<'_>> = Vec::with_capacity(file.len());
    let mut places = Vec::new();
    let mut done = 0;
    for block in sought.blocks.iter() {
        if block.start < done {
            continue;
        }
        result.extend_from_slice(&file[done..block.start]);
        let lines = rewrite(file, block, &ops, style);
        places.push(place(result.len(), lines.len()));
        result.extend(lines);
        done = block.start + old.len();
    }
    result.extend_from_slice(&file[done..]);
    let text = lines::join(&result, style, text.ends_with('\n'));
    // Lines that are found exactly after all were found with other line ends, or without their last one.
    Ok(ReplacedText { text, places, tolerance: Some(sought.tolerance.unwrap_or(Tolerance::LineEndings)) })
}

/// Passages that need not be whole lines, with typographic characters in their plain forms.
fn typography(text: &str, old: &str, new: &str, all: bool) -> ReplaceAttempt {
    if text.is_ascii() && old.is_ascii() {
        return None;
    }
    let (plain, places) = plain_with_places(text);
    let (old_plain, _) = plain_with_places(&lines::plain(old));
    if old_plain.trim().is_empty() {
        return None;
    }
    let starts = occurrences(&plain, &old_plain, all);
    let ranges: Vec<_> =
        starts.iter().map(|start| (places[*start], places[start + old_plain.len()])).collect();
    // The edges may fall within what one character stands for.
    let whole = |(start, end): &(usize, usize)| {
        let piece = text.get(*start..*end)?;
        (plain_with_places(piece).0 == old_plain).then_some(piece)
    };
    let first = whole(ranges.first()?)?;
    if !ranges.iter().all(|range| whole(range).is_some()) {
        return None;
    }
    let mut spelling = TypographicSpelling::default();
    spelling.learn(&lines::plain(first), &lines::plain(old));
    let ranges_and_new =
        if ranges.len() == 1 { only_the_difference(text, ranges[0], old, new) } else { None };
    let (ranges, new) = ranges_and_new.map_or((ranges, new), |(range, new)| (vec![range], new));
    passages(text, &ranges, &spelling.apply(new), all, Some(Tolerance::Typography))
}

/// The plain form of a text without carriage returns, and where in the text each of its bytes (and its end) comes from.
fn plain_with_places(text: &str) -> (String, Vec<usize>) {
    let mut plain = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len() + 1);
    for c in fold(text).filter(|c| !(c.plain == '\r' && text[c.at..].starts_with("\r\n"))) {
        plain.push(c.plain);
        places.resize(plain.len(), c.at);
    }
    places.push(text.len());
    (plain, places)
}

/// Leaves the common beginning and end of old and new as the file spells them.
fn only_the_difference<'n>(
    text: &str,
    (start, end): (usize, usize),
    old: &str,
    new: &'n str,
) -> Option<((usize, usize), &'n str)> {
    let common = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b).take_while(|(x, y)| x == y).map(|(x, _)| x).collect::<String>()
    };
    let front = common(&mut old.chars(), &mut new.chars());
    let (old_rest, new_rest) = (old.get(front.len()..)?, new.get(front.len()..)?);
    let back = common(&mut old_rest.chars().rev(), &mut new_rest.chars().rev());
    let (front, back) = (fold(&front).count(), fold(&back).count());
    let folded: Vec<usize> =
        fold(&text[start..end]).filter(|c| c.written != '\r').map(|c| start + c.at).collect();
    let first = folded.get(front).copied().unwrap_or(end);
    let last = if back == 0 { end } else { *folded.get(folded.len().checked_sub(back)?)? };
    let back_bytes = new_rest.chars().rev().zip(old_rest.chars().rev()).take_while(|(x, y)| x == y);
    let back_bytes: usize = back_bytes.map(|(x, _)| x.len_utf8()).sum();
    (first <= last).then(|| ((first, last), &new_rest[..new_rest.len() - back_bytes]))
}

/// The same again with one layer of escapes removed.
fn escapes(text: &str, old: &str, new: &str, all: bool) -> ReplaceAttempt {
    let (old, new) = unescape(old, new)?;
    let attempt = exact(text, &old, &new, all)
        .or_else(|| line_endings(text, &old, &new, all))
        .or_else(|| whole_lines(text, &old, &new, all, Tolerance::Typography))?;
    Some(attempt.map(|replaced| ReplacedText { tolerance: Some(Tolerance::Escapes), ..replaced }))
}
