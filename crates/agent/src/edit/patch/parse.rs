//! Reads a patch, forgiving what models really send.

use super::error::{PatchError, Problem};
use super::hunk::{Hunk, HunkLine};
use super::unified::{Names, hunk_header, is_decoration, names};
use super::wrapping::{Numbered, unwrap};
use super::{FilePatch, Patch};

/// Reads a patch; what is around it (prose, a fence, a here-document) does not matter.
pub fn parse(text: &str) -> Result<Patch, PatchError> {
    let lines = unwrap(text);
    let mut reader = Reader { lines: &lines, at: 0 };
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        if line.trim().is_empty() || is_decoration(line) {
            reader.at += 1;
        } else {
            files.push(reader.file().map_err(PatchError::one)?);
        }
    }
    if files.is_empty() { Err(PatchError::one(Problem::NoPatch)) } else { Ok(Patch { files }) }
}

struct Reader<'a, 'b> {
    lines: &'b [Numbered<'a>],
    at: usize,
}

/// A line that begins with three stars.
enum Marker<'a> {
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    Move(&'a str),
    EndOfFile,
    Unknown,
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let rest = line.strip_prefix("***")?.trim();
    let path = |word: &str| rest.strip_prefix(word).map(|path| path.trim().trim_matches('`').trim());
    Some(if let Some(path) = path("Add File:") {
        Marker::Add(path)
    } else if let Some(path) = path("Delete File:") {
        Marker::Delete(path)
    } else if let Some(path) = path("Update File:") {
        Marker::Update(path)
    } else if let Some(path) = path("Move to:") {
        Marker::Move(path)
    } else if rest == "End of File" {
        Marker::EndOfFile
    } else {
        Marker::Unknown
    })
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<&'a str> {
        self.line(0)
    }

    fn line(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).map(|(_, line)| *line)
    }

    fn wrong(&self, expected: &'static str) -> Problem {
        let (line, text) = self.lines.get(self.at).copied().unwrap_or_default();
        Problem::Line { line, text: text.chars().take(200).collect(), expected }
    }

    /// The names of a unified diff, when one begins here.
    fn names(&self) -> Option<Names> {
        let found = names(self.line(0)?, self.line(1)?)?;
        self.line(2).is_none_or(|line| line.starts_with("@@")).then_some(found)
    }

    /// Whether the part about another file begins here.
    fn at_file(&self) -> bool {
        let Some(line) = self.peek() else { return true };
        matches!(marker(line), Some(Marker::Add(_) | Marker::Delete(_) | Marker::Update(_)))
            || line.starts_with("diff --git ")
            || self.names().is_some()
    }

    fn file(&mut self) -> Result<FilePatch, Problem> {
        if let Some(names) = self.names() {
            self.at += 2;
            return self.unified(names);
        }
        let found = self.peek().and_then(marker);
        let path = match found {
            Some(Marker::Add(path) | Marker::Delete(path) | Marker::Update(path)) if !path.is_empty() => path,
            Some(Marker::Add(_) | Marker::Delete(_) | Marker::Update(_)) => {
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
            Some(Marker::Add(_)) => Ok(FilePatch::Add { path, text: self.new_text()? }),
            Some(Marker::Delete(_)) => {
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

    fn move_to(&mut self) -> Result<Option<String>, Problem> {
        match self.peek().and_then(marker) {
            Some(Marker::Move("")) => Err(self.wrong("the path is missing")),
            Some(Marker::Move(path)) => {
                self.at += 1;
                Ok(Some(path.to_owned()))
            }
            _ => Ok(None),
        }
    }

    fn unified(&mut self, names: Names) -> Result<FilePatch, Problem> {
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
    fn new_text(&mut self) -> Result<String, Problem> {
        while self.peek().is_some_and(|line| {
            line.starts_with("@@") || line.starts_with("--- /dev/null") || line.starts_with("+++ b/")
        }) {
            self.at += 1;
        }
        let start = self.at;
        while !self.at_file() && !matches!(self.peek().and_then(marker), Some(Marker::EndOfFile)) {
            self.at += 1;
        }
        let (body, end) = (&self.lines[start..self.at], self.at);
        if self.peek().is_some_and(|line| matches!(marker(line), Some(Marker::EndOfFile))) {
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

    fn hunks(&mut self) -> Result<Vec<Hunk>, Problem> {
        let mut hunks: Vec<Hunk> = Vec::new();
        let mut hunk = Hunk::default();
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
                Some(Marker::EndOfFile) => {
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

    fn hunk_line(&self, line: &str, hunk: &mut Hunk, hunks: &mut Vec<Hunk>) {
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
