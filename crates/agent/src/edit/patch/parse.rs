//! Reads a patch, forgiving what models really send.

use super::error::{PatchError, PatchProblem};
use super::hunk::{EnvelopeHunk, HunkLine};
use super::unified::{UnifiedDiffNames, hunk_header, is_decoration, names};
use super::wrapping::{NumberedLine, unwrap};
use super::{FilePatch, PatchEnvelope};

/// Reads a patch; what is around it (prose, a fence, a here-document) does not matter.
pub fn parse(text: &str) -> Result<PatchEnvelope, PatchError> {
    let lines = unwrap(text);
    let mut reader = PatchEnvelopeParser { lines: &lines, at: 0 };
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        if line.trim().is_empty() || is_decoration(line) {
            reader.at += 1;
        } else {
            files.push(reader.file().map_err(PatchError::one)?);
        }
    }
    if files.is_empty() { Err(PatchError::one(PatchProblem::NoPatch)) } else { Ok(PatchEnvelope { files }) }
}

struct PatchEnvelopeParser<'a, 'b> {
    lines: &'b [NumberedLine<'a>],
    at: usize,
}

/// A line that begins with three stars.
enum PatchMarker<'a> {
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    Move(&'a str),
    EndOfFile,
    Unknown,
}

fn marker(line: &str) -> Option<PatchMarker<'_>> {
    let rest = line.strip_prefix("***")?.trim();
    let path = |word: &str| rest.strip_prefix(word).map(|path| path.trim().trim_matches('`').trim());
    Some(if let Some(path) = path("Add File:") {
        PatchMarker::Add(path)
    } else if let Some(path) = path("Delete File:") {
        PatchMarker::Delete(path)
    } else if let Some(path) = path("Update File:") {
        PatchMarker::Update(path)
    } else if let Some(path) = path("Move to:") {
        PatchMarker::Move(path)
    } else if rest == "End of File" {
        PatchMarker::EndOfFile
    } else {
        PatchMarker::Unknown
    })
}

impl<'a> PatchEnvelopeParser<'a, '_> {
    fn peek(&self) -> Option<&'a str> {
        self.line(0)
    }

    fn line(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).map(|(_, line)| *line)
    }

    fn wrong(&self, expected: &'static str) -> PatchProblem {
        let (line, text) = self.lines.get(self.at).copied().unwrap_or_default();
        PatchProblem::Line { line, text: text.chars().take(200).collect(), expected }
    }

    /// The names of a unified diff, when one begins here.
    fn names(&self) -> Option<UnifiedDiffNames> {
        let found = names(self.line(0)?, self.line(1)?)?;
        self.line(2).is_none_or(|line| line.starts_with("@@")).then_some(found)
    }

    /// Whether the part about another file begins here.
    fn at_file(&self) -> bool {
        let Some(line) = self.peek() else { return true };
        matches!(marker(line), Some(PatchMarker::Add(_) | PatchMarker::Delete(_) | PatchMarker::Update(_)))
            || line.starts_with("diff --git ")
            || self.names().is_some()
    }

    fn file(&mut self) -> Result<FilePatch, PatchProblem> {
        if let Some(names) = self.names() {
            self.at += 2;
            return self.unified(names);
        }
        let found = self.peek().and_then(marker);
        let path = match found {
            Some(PatchMarker::Add(path) | PatchMarker::Delete(path) | PatchMarker::Update(path))
                if !path.is_empty() =>
            {
                path
            }
            Some(PatchMarker::Add(_) | PatchMarker::Delete(_) | PatchMarker::Update(_)) => {
                return Err(self.wrong("the path is missing"));
            }
            _ => {
                let expected =
                    "expected `*** Update File: PATH`, `*** Add File: PATH` or `*** Delete File: PATH`";
                return Err(self.wrong(expected));
            }
        };
        let path = path.to_owned();
        self.at += 1;
        match found {
            Some(PatchMarker::Add(_)) => Ok(FilePatch::Add { path, text: self.new_text()? }),
            Some(PatchMarker::Delete(_)) => {
                // Some repeat what is deleted.
                while !self.at_file()
                    && self.peek().is_some_and(|l| l.trim().is_empty() || l.starts_with(['-', '@']))
                {
                    self.at += 1;
                }
                Ok(FilePatch::Delete { path })
            }
            _ => {
                let move_to = self.move_to()?;
                Ok(FilePatch::Update { path, move_to, hunks: self.hunks()? })
            }
        }
    }

    fn move_to(&mut self) -> Result<Option<String>, PatchProblem> {
        match self.peek().and_then(marker) {
            Some(PatchMarker::Move("")) => Err(self.wrong("the path is missing")),
            Some(PatchMarker::Move(path)) => {
                self.at += 1;
                Ok(Some(path.to_owned()))
            }
            _ => Ok(None),
        }
    }

    fn unified(&mut self, names: UnifiedDiffNames) -> Result<FilePatch, PatchProblem> {
        match (names.old, names.new) {
            (None, None) => Err(self.wrong("the diff above names no file")),
            (None, Some(path)) => Ok(FilePatch::Add { path, text: self.new_text()? }),
            (Some(path), None) => {
                self.hunks()?;
                Ok(FilePatch::Delete { path })
            }
            (Some(path), Some(new)) => {
                let move_to = (new != path).then_some(new);
                Ok(FilePatch::Update { path, move_to, hunks: self.hunks()? })
            }
        }
    }

    /// All of a new file. If no line has a plus in front, all of them were forgotten.
    fn new_text(&mut self) -> Result<String, PatchProblem> {
        while self.peek().is_some_and(|line| {
            line.starts_with("@@") || line.starts_with("--- /dev/null") || line.starts_with("+++ b/")
        }) {
            self.at += 1;
        }
        let start = self.at;
        while !self.at_file() && !matches!(self.peek().and_then(marker), Some(PatchMarker::EndOfFile)) {
            self.at += 1;
        }
        let (body, end) = (&self.lines[start..self.at], self.at);
        if self.peek().is_some_and(|line| matches!(marker(line), Some(PatchMarker::EndOfFile))) {
            self.at += 1;
        }
        let used = body.iter().rposition(|(_, line)| !line.trim().is_empty()).map_or(0, |last| last + 1);
        let body = &body[..used];
        let signed = body.iter().any(|(_, line)| line.starts_with('+'));
        let mut text = String::new();
        for (index, (_, line)) in body.iter().enumerate() {
            match line.strip_prefix('+') {
                Some(line) => text.push_str(line),
                None if !signed => text.push_str(line),
                None if line.is_empty() || line.starts_with("\\ No newline") => {}
                None => {
                    self.at = start + index;
                    let wrong = self.wrong("every line of a new file begins with `+`");
                    self.at = end;
                    return Err(wrong);
                }
            }
            if !line.starts_with("\\ No newline") {
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn hunks(&mut self) -> Result<Vec<EnvelopeHunk>, PatchProblem> {
        let mut hunks: Vec<EnvelopeHunk> = Vec::new();
        let mut hunk = EnvelopeHunk::default();
        loop {
            // A unified header that repeats the file's name, before anything else.
            if hunks.is_empty() && hunk.is_empty() && self.names().is_some() {
                self.at += 2;
            }
            if self.at_file() {
                break;
            }
            let Some(line) = self.peek() else { break };
            match marker(line) {
                Some(PatchMarker::EndOfFile) => {
                    hunk.end_of_file = true;
                    hunks.push(std::mem::take(&mut hunk));
                }
                Some(_) => {
                    return Err(self.wrong("expected a line that begins with a space, `-`, `+` or `@@`"));
                }
                None => self.hunk_line(line, &mut hunk, &mut hunks),
            }
            self.at += 1;
        }
        hunks.push(hunk);
        hunks.retain(|hunk| !hunk.lines.is_empty());
        // Blank lines between parts are nobody's.
        let blank = |line: &HunkLine| matches!(line, HunkLine::Keep(text) if text.is_empty());
        hunks.retain(|hunk| !hunk.lines.iter().all(blank));
        Ok(hunks)
    }

    fn hunk_line(&self, line: &str, hunk: &mut EnvelopeHunk, hunks: &mut Vec<EnvelopeHunk>) {
        if let Some((near, header)) = hunk_header(line) {
            if !hunk.lines.is_empty() {
                hunks.push(std::mem::take(hunk));
            }
            hunk.near_line = near.or(hunk.near_line);
            hunk.headers.extend((!header.trim().is_empty()).then(|| header.to_owned()));
            return;
        }
        let rest = || line.get(1..).unwrap_or_default().to_owned();
        match line.as_bytes().first() {
            None => hunk.lines.push(HunkLine::Keep(String::new())),
            Some(b' ') => hunk.lines.push(HunkLine::Keep(rest())),
            Some(b'-') => hunk.lines.push(HunkLine::Remove(rest())),
            Some(b'+') => hunk.lines.push(HunkLine::Add(rest())),
            Some(b'\\') if line.starts_with("\\ No newline") => {}
            Some(_) => hunk.lines.push(HunkLine::Bare(line.to_owned())),
        }
    }
}
