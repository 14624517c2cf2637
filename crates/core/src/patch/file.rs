//! A patch file by file, with the hunks of each.

use super::lines::{PatchLine, PatchLines};
use super::name::{self, NamedSides};

/// What a patch does to one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchedFile<'a> {
    /// Its name before; `None` when it is new.
    pub old: Option<String>,
    /// Its name after; `None` when it is gone.
    pub new: Option<String>,
    /// The id of its content before.
    pub old_id: Option<&'a [u8]>,
    /// Whether the file gets another name.
    pub is_renamed: bool,
    /// Whether an existing file gets another mode.
    pub has_new_mode: bool,
    /// Whether its content is told as a whole, not line by line.
    pub is_binary: bool,
    /// Whether some part of it cannot be understood.
    pub is_broken: bool,
    /// The changed places, in order.
    pub hunks: Vec<PatchHunk<'a>>,
}

/// One changed place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchHunk<'a> {
    /// First line on the old side.
    pub old_start: u64,
    /// First line on the new side.
    pub new_start: u64,
    /// What follows the second `@@`.
    pub heading: &'a [u8],
    /// Its lines.
    pub lines: Vec<HunkLine<'a>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkLine<'a> {
    /// Its number on the old side; none when it was added.
    pub old: Option<u64>,
    /// Its number on the new side; none when it was removed.
    pub new: Option<u64>,
    /// Its text without mark and end.
    pub text: &'a [u8],
    /// Whether the file ends with it, without a line break.
    pub is_endless: bool,
}

impl PatchedFile<'_> {
    /// Its name after the change, or before it when it is gone; empty when it has none.
    pub fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }

    /// How many lines are added and removed.
    pub fn counts(&self) -> (u64, u64) {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.fold((0, 0), |(added, removed), line| {
            (added + u64::from(line.old.is_none()), removed + u64::from(line.new.is_none()))
        })
    }
}

impl PatchHunk<'_> {
    /// The hunk's header.
    pub fn header(&self) -> String {
        let count = |side: fn(&HunkLine<'_>) -> Option<u64>| {
            self.lines.iter().filter(|line| side(line).is_some()).count()
        };
        let (old, new) = (count(|line| line.old), count(|line| line.new));
        let heading = String::from_utf8_lossy(self.heading);
        let text = format!("@@ -{},{old} +{},{new} @@ {heading}", self.old_start, self.new_start);
        text.trim_end().to_owned()
    }
}

/// The hunks of one file's diff without headers, as forges give them.
pub fn hunks(diff: &[u8]) -> Vec<PatchHunk<'_>> {
    patched_files(diff).into_iter().flat_map(|file| file.hunks).collect()
}

/// The files of a patch, in order. What stands before the first header belongs to a file without a name.
pub fn patched_files(patch: &[u8]) -> Vec<PatchedFile<'_>> {
    let mut reading = FileReading::default();
    for line in PatchLines::of(patch) {
        reading.take(line);
    }
    reading.close_hunk();
    reading.files
}

#[derive(Default)]
struct FileReading<'a> {
    files: Vec<PatchedFile<'a>>,
    /// Lines of the current hunk that are still to come.
    left: (u64, u64),
    /// The numbers of the next line.
    at: (u64, u64),
}

impl<'a> FileReading<'a> {
    fn take(&mut self, line: PatchLine<'a>) {
        match line {
            PatchLine::Kept(text) => self.line(text, true, true),
            PatchLine::Added(text) => self.line(text, false, true),
            PatchLine::Removed(text) => self.line(text, true, false),
            PatchLine::Unmarked(text) => {
                self.file().is_broken = true;
                self.line(text, true, true);
            }
            PatchLine::Endless => {
                if let Some(last) = self.file().hunks.last_mut().and_then(|hunk| hunk.lines.last_mut()) {
                    last.is_endless = true;
                }
            }
            PatchLine::Hunk(start) => {
                self.close_hunk();
                self.left = (start.old_count, start.new_count);
                self.at = (start.old_start, start.new_start);
                let (old_start, new_start, heading) = (start.old_start, start.new_start, start.heading);
                self.file().hunks.push(PatchHunk { old_start, new_start, heading, lines: Vec::new() });
            }
            PatchLine::Header(names) => {
                self.close_hunk();
                let NamedSides { old, new } = NamedSides::read(names);
                self.files.push(PatchedFile { old, new, ..PatchedFile::default() });
            }
            other => self.head(other),
        }
    }

    /// What is said about a file before its hunks.
    fn head(&mut self, line: PatchLine<'a>) {
        // A diff without git's headers has no other sign that the next file begins.
        let begins = matches!(line, PatchLine::OldName(_) | PatchLine::NewName(_))
            && self.files.last().is_none_or(|file| !file.hunks.is_empty());
        if begins {
            self.close_hunk();
            self.files.push(PatchedFile::default());
        }
        let Some(file) = self.files.last_mut() else { return };
        match line {
            PatchLine::Ids(ids) => {
                let end = ids.windows(2).position(|pair| pair == b"..").unwrap_or(ids.len());
                file.old_id = ids.get(..end);
            }
            PatchLine::NewFile | PatchLine::CopyFrom(_) => file.old = None,
            PatchLine::DeletedFile => file.new = None,
            PatchLine::NewMode => file.has_new_mode = true,
            PatchLine::From(name) => {
                file.is_renamed = true;
                file.old = Some(name::plain(name));
            }
            PatchLine::To(name) => file.new = Some(name::plain(name)),
            PatchLine::Binary => file.is_binary = true,
            PatchLine::OldName(name) => file.old = name::sided(name, "a/"),
            PatchLine::NewName(name) => file.new = name::sided(name, "b/"),
            PatchLine::BrokenHunk => file.is_broken = true,
            _ => {}
        }
    }

    fn line(&mut self, text: &'a [u8], old: bool, new: bool) {
        let take = |is: bool, at: &mut u64, left: &mut u64| -> (Option<u64>, bool) {
            if !is {
                return (None, false);
            }
            let (here, surplus) = (*at, *left == 0);
            (*at, *left) = (at.saturating_add(1), left.saturating_sub(1));
            (Some(here), surplus)
        };
        let (old, more_old) = take(old, &mut self.at.0, &mut self.left.0);
        let (new, more_new) = take(new, &mut self.at.1, &mut self.left.1);
        let file = self.file();
        file.is_broken |= more_old || more_new;
        if let Some(hunk) = file.hunks.last_mut() {
            hunk.lines.push(HunkLine { old, new, text, is_endless: false });
        }
    }

    /// A hunk that has fewer lines than it counts is broken.
    fn close_hunk(&mut self) {
        if std::mem::take(&mut self.left) != (0, 0)
            && let Some(file) = self.files.last_mut()
        {
            file.is_broken = true;
        }
    }

    fn file(&mut self) -> &mut PatchedFile<'a> {
        if self.files.is_empty() {
            self.files.push(PatchedFile::default());
        }
        // There is one now, and an index cannot miss it.
        let last = self.files.len() - 1;
        &mut self.files[last]
    }
}
