//! A patch line by line: what each line is.

/// One line of a patch, by what it is; names are as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchLine<'a> {
    /// `diff --git`, with both names.
    Header(&'a [u8]),
    /// `index`, with both ids.
    Ids(&'a [u8]),
    /// The file is made.
    NewFile,
    /// The file goes.
    DeletedFile,
    /// The mode the file gets.
    NewMode,
    /// What the file was called.
    From(&'a [u8]),
    /// What the file, or the copy, is called.
    To(&'a [u8]),
    /// The file that is copied.
    CopyFrom(&'a [u8]),
    /// The content is not told line by line.
    Binary,
    /// The name behind `---`.
    OldName(&'a [u8]),
    /// The name behind `+++`.
    NewName(&'a [u8]),
    /// A hunk begins.
    Hunk(HunkStart<'a>),
    /// A hunk begins whose header cannot be read.
    BrokenHunk,
    /// A line that stays.
    Kept(&'a [u8]),
    /// A line that goes.
    Removed(&'a [u8]),
    /// A line that comes.
    Added(&'a [u8]),
    /// A line of a hunk without a mark: it is taken as one that stays, but git would refuse it.
    Unmarked(&'a [u8]),
    /// The line before it has no end.
    Endless,
    /// Anything else.
    Other(&'a [u8]),
}

/// The header of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkStart<'a> {
    /// First line on the old side, and how many there are.
    pub old_start: u64,
    /// Lines on the old side.
    pub old_count: u64,
    /// First line on the new side.
    pub new_start: u64,
    /// Lines on the new side.
    pub new_count: u64,
    /// What follows the second `@@`.
    pub heading: &'a [u8],
}

/// The lines of a patch.
#[derive(Debug, Clone)]
pub struct PatchLines<'a> {
    rest: Option<&'a [u8]>,
    /// Lines of the current hunk that are still to come.
    old: u64,
    new: u64,
    /// The line that was told last is part of a hunk.
    in_hunk: bool,
}

impl<'a> PatchLines<'a> {
    /// Begins at the beginning.
    pub fn of(patch: &'a [u8]) -> Self {
        let rest = (!patch.is_empty()).then(|| patch.strip_suffix(b"\n").unwrap_or(patch));
        Self { rest, old: 0, new: 0, in_hunk: false }
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                self.rest = Some(&rest[end + 1..]);
                Some(&rest[..end])
            }
            None => self.rest.take(),
        }
    }

    fn inside(&mut self, line: &'a [u8]) -> PatchLine<'a> {
        let found = match line.split_first() {
            Some((b'+', text)) => PatchLine::Added(text),
            Some((b'-', text)) => PatchLine::Removed(text),
            Some((b' ', text)) => PatchLine::Kept(text),
            Some((b'\\', _)) => return PatchLine::Endless,
            // Some tools strip the space of an empty line.
            None | Some((b'\r', [])) => PatchLine::Kept(line),
            Some(_) => PatchLine::Unmarked(line),
        };
        if !matches!(found, PatchLine::Added(_)) {
            self.old = self.old.saturating_sub(1);
        }
        if !matches!(found, PatchLine::Removed(_)) {
            self.new = self.new.saturating_sub(1);
        }
        found
    }
}

impl<'a> Iterator for PatchLines<'a> {
    type Item = PatchLine<'a>;

    fn next(&mut self) -> Option<PatchLine<'a>> {
        let line = self.line()?;
        if self.old > 0 || self.new > 0 {
            return Some(self.inside(line));
        }
        // What follows the last line of a hunk may still say that it has no end.
        if std::mem::take(&mut self.in_hunk) && line.starts_with(b"\\") {
            return Some(PatchLine::Endless);
        }
        let found = PatchLine::outside(line);
        if let PatchLine::Hunk(hunk) = found {
            (self.old, self.new, self.in_hunk) = (hunk.old_count, hunk.new_count, true);
        }
        Some(found)
    }
}

impl<'a> PatchLine<'a> {
    /// What a line is that belongs to no hunk.
    pub(super) fn outside(line: &'a [u8]) -> Self {
        let after = |mark: &str| line.strip_prefix(mark.as_bytes());
        let marks: [(&str, fn(&'a [u8]) -> Self); 13] = [
            ("diff --git ", Self::Header),
            ("index ", Self::Ids),
            ("new file mode ", |_| Self::NewFile),
            ("deleted file mode ", |_| Self::DeletedFile),
            ("new mode ", |_| Self::NewMode),
            ("rename from ", Self::From),
            ("rename to ", Self::To),
            ("copy from ", Self::CopyFrom),
            ("copy to ", Self::To),
            ("GIT binary patch", |_| Self::Binary),
            ("Binary files ", |_| Self::Binary),
            ("--- ", Self::OldName),
            ("+++ ", Self::NewName),
        ];
        if let Some(ranges) = after("@@ ") {
            return HunkStart::read(ranges).map_or(Self::BrokenHunk, Self::Hunk);
        }
        let found = marks.iter().find_map(|(mark, make)| Some(make(after(mark)?)));
        found.unwrap_or(Self::Other(line))
    }
}

impl<'a> HunkStart<'a> {
    /// Reads `-a,b +c,d @@ heading`.
    fn read(text: &'a [u8]) -> Option<Self> {
        let mut fields = text.splitn(3, |byte| *byte == b' ');
        let (old_start, old_count) = range(fields.next()?, '-')?;
        let (new_start, new_count) = range(fields.next()?, '+')?;
        let heading = fields.next().and_then(|rest| rest.strip_prefix(b"@@")).unwrap_or_default();
        Some(Self { old_start, old_count, new_start, new_count, heading: heading.trim_ascii() })
    }
}

/// The first line and the number of lines of one side; one line where no number is given.
fn range(field: &[u8], sign: char) -> Option<(u64, u64)> {
    let body = std::str::from_utf8(field).ok()?.strip_prefix(sign)?;
    let (start, count) = body.split_once(',').unwrap_or((body, "1"));
    Some((start.parse().ok()?, count.trim_end().parse().ok()?))
}
