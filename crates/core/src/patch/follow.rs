//! A file followed through its patch: which of its lines stay, go and come.
//!
//! Git applies patches, and the host proves that they apply. This tells where a line of the old file is in the new one, and
//! what a small text is like afterwards.

use super::file::PatchedFile;

/// A line of the new file, and the line of the old one it was, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineAfter<'a> {
    /// Its bytes without the end.
    pub text: &'a [u8],
    /// Where it comes from; `None` when it is new.
    pub from: Option<usize>,
    /// Whether it has no end.
    is_endless: bool,
}

impl<'a> PatchedFile<'a> {
    /// The new file's lines with where they come from; `None` when the old text is not the one the patch was made for, or
    /// the patch does not tell it line by line.
    pub fn after(&self, old: &'a [u8]) -> Option<Vec<LineAfter<'a>>> {
        if self.is_binary || self.is_broken {
            return None;
        }
        let old = SourceLines::of(old);
        let mut result = Vec::with_capacity(old.0.len());
        let mut at = 0;
        for hunk in &self.hunks {
            let starts_after = hunk.lines.iter().all(|line| line.old.is_none());
            let start = usize::try_from(hunk.old_start).ok()?;
            // A hunk that takes nothing away names the line before the place.
            let start = if starts_after { start } else { start.checked_sub(1)? };
            while at < start {
                result.push(old.at(at)?);
                at += 1;
            }
            for line in &hunk.lines {
                if line.old.is_none() {
                    result.push(LineAfter { text: line.text, from: None, is_endless: line.is_endless });
                    continue;
                }
                let there = old.at(at)?;
                if there.text != line.text || there.is_endless != line.is_endless {
                    return None;
                }
                at += 1;
                if line.new.is_some() {
                    result.push(there);
                }
            }
        }
        result.extend((at..).map_while(|at| old.at(at)));
        // Only the last line of a text can be without an end.
        let before_last = result.len().saturating_sub(1);
        (!result[..before_last].iter().any(|line| line.is_endless)).then_some(result)
    }

    /// The text of the new file.
    pub fn applied(&self, old: &'a [u8]) -> Option<Vec<u8>> {
        let mut text = Vec::with_capacity(old.len());
        for line in self.after(old)? {
            text.extend_from_slice(line.text);
            if !line.is_endless {
                text.push(b'\n');
            }
        }
        Some(text)
    }
}

/// The lines of a text.
struct SourceLines<'a>(Vec<&'a [u8]>);

impl<'a> SourceLines<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self(text.split_inclusive(|byte| *byte == b'\n').collect())
    }

    fn at(&self, at: usize) -> Option<LineAfter<'a>> {
        let whole = self.0.get(at)?;
        let text = whole.strip_suffix(b"\n");
        Some(LineAfter { text: text.unwrap_or(whole), from: Some(at), is_endless: text.is_none() })
    }
}
