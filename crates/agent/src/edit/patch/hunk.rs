//! One part of a file's change.

/// Lines that stay, go and come, and what is known about their place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvelopeHunk {
    /// Lines that come before it in the file, such as the class and the function it is in.
    pub headers: Vec<String>,
    /// The line it says it begins at; not to be relied on.
    pub near_line: Option<usize>,
    /// The lines.
    pub lines: Vec<HunkLine>,
    /// Whether its last line is the last one of the file.
    pub end_of_file: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    /// Stays.
    Keep(String),
    /// Stays, but was written without the leading space.
    Bare(String),
    /// Goes.
    Remove(String),
    /// Comes.
    Add(String),
}

impl EnvelopeHunk {
    /// Whether it says nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.lines.is_empty() && self.near_line.is_none()
    }

    /// Whether anything goes or comes.
    pub(super) fn changes(&self) -> bool {
        self.lines.iter().any(|line| matches!(line, HunkLine::Remove(_) | HunkLine::Add(_)))
    }

    /// The same hunk for a writer who left the space out of the lines that stay: their own first space belongs to them.
    pub(super) fn read_bare(&self) -> Option<Self> {
        let mut other = self.clone();
        for line in &mut other.lines {
            if let HunkLine::Keep(text) = line
                && !text.is_empty()
            {
                text.insert(0, ' ');
            }
        }
        (other != *self).then_some(other)
    }

    /// Whether a line that stays was written without the leading space.
    pub(super) fn has_bare(&self) -> bool {
        self.lines.iter().any(|line| matches!(line, HunkLine::Bare(_)))
    }

    /// Blank lines at its end are more often the gap before the next part than lines of the file.
    pub(super) fn without_blank_end(&self) -> Option<Self> {
        let blank =
            |line: &HunkLine| matches!(line, HunkLine::Keep(text) | HunkLine::Bare(text) if text.is_empty());
        let kept = self.lines.iter().rposition(|line| !blank(line)).map_or(0, |last| last + 1);
        (kept < self.lines.len()).then(|| Self { lines: self.lines[..kept].to_vec(), ..self.clone() })
    }

    /// The lines it expects in the file.
    pub(super) fn before(&self) -> Vec<&str> {
        self.lines.iter().filter_map(HunkLine::before).collect()
    }

    /// The lines it leaves in the file.
    pub(super) fn after(&self) -> Vec<&str> {
        self.lines.iter().filter_map(HunkLine::after).collect()
    }
}

impl HunkLine {
    fn before(&self) -> Option<&str> {
        match self {
            Self::Keep(text) | Self::Bare(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }

    fn after(&self) -> Option<&str> {
        match self {
            Self::Keep(text) | Self::Bare(text) | Self::Add(text) => Some(text),
            Self::Remove(_) => None,
        }
    }
}
