//! The one reader of unified diffs as git writes them: names, kinds of change, hunks line by line.
//!
//! [`PatchLines`] tells lines of hunks from everything else, by the counts in their headers alone: a removed line may well
//! look like a header. What is built on it asks for more: [`walk`] for the lines that change, [`named_paths`] for every
//! name, [`patched_files`] for files with their hunks, which [`PatchedFile::after`] and [`PatchedFile::applied`] follow.
//! No input is refused: a patch that was changed by hand is read as far as it can be, and says so.
//!
//! Edits that models write in the manner of a diff are another matter: holon-agent reads those, by their text alone.

mod file;
mod follow;
mod lines;
mod name;

use std::collections::BTreeSet;

pub use file::{HunkLine, PatchHunk, PatchedFile, hunks, patched_files};
pub use follow::LineAfter;
pub use lines::{HunkStart, PatchLine, PatchLines};
pub use name::{plain_name, quoted_name};

use name::NamedSides;

/// What a patch says next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchItem<'a> {
    /// A file begins; its name before and after, `None` where it does not exist.
    File {
        /// The old name.
        old: Option<&'a str>,
        /// The new name.
        new: Option<&'a str>,
    },
    /// A line that is added.
    Added {
        /// The file, as the patch names it after the change.
        path: &'a str,
        /// The line in the new file.
        line: u64,
        /// Its bytes without the end.
        text: &'a [u8],
    },
    /// A line that is removed.
    Removed {
        /// The file, as the patch names it before the change.
        path: &'a str,
        /// Its bytes without the end.
        text: &'a [u8],
    },
}

/// Goes through a patch; whatever is no part of a text hunk is passed over, and no input is refused.
pub fn walk(patch: &[u8], see: &mut dyn FnMut(PatchItem<'_>)) {
    let (mut old, mut new) = (None::<String>, None::<String>);
    let mut at = 0_u64;
    for line in PatchLines::of(patch) {
        match line {
            PatchLine::OldName(name) => old = name::sided(name, "a/"),
            PatchLine::NewName(name) => {
                new = name::sided(name, "b/");
                see(PatchItem::File { old: old.as_deref(), new: new.as_deref() });
            }
            PatchLine::Hunk(hunk) => at = hunk.new_start,
            PatchLine::Added(text) => {
                see(PatchItem::Added { path: new.as_deref().unwrap_or_default(), line: at, text });
                at = at.saturating_add(1);
            }
            PatchLine::Removed(text) => {
                see(PatchItem::Removed { path: old.as_deref().unwrap_or_default(), text });
            }
            PatchLine::Kept(_) | PatchLine::Unmarked(_) => at = at.saturating_add(1),
            _ => {}
        }
    }
}

/// Every path a patch names, before and after: also of files that only change their name or mode, or are no text.
pub fn named_paths(patch: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in PatchLines::of(patch) {
        // A hunk that counts more lines than it has must not swallow the names behind it.
        let line = if let PatchLine::Unmarked(line) = line { PatchLine::outside(line) } else { line };
        match line {
            PatchLine::Header(names) => found.extend(NamedSides::read(names).all()),
            PatchLine::OldName(name) => found.extend(name::sided(name, "a/")),
            PatchLine::NewName(name) => found.extend(name::sided(name, "b/")),
            PatchLine::From(name) | PatchLine::To(name) | PatchLine::CopyFrom(name) => {
                found.insert(name::plain(name));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
