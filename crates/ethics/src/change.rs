//! A patch and the files around it as what every check looks at: added lines, file by file.

use std::collections::BTreeSet;

use holon_core::patch::{self, PatchItem};

use crate::file_role::FileRole;
use crate::input::AssessmentInput;

/// What happens to one file.
#[derive(Debug, Default)]
pub(crate) struct FileChangeLines {
    /// The path after the change, or before it when the file is gone.
    pub(crate) path: String,
    /// The file did not exist before.
    pub(crate) is_new: bool,
    /// The file is gone.
    pub(crate) is_deleted: bool,
    pub(crate) place: FileRole,
    pub(crate) added: Vec<AddedLine>,
    pub(crate) removed: Vec<String>,
}

/// One added line.
#[derive(Debug)]
pub(crate) struct AddedLine {
    /// Where it is in the new file, from 1.
    pub(crate) number: u64,
    pub(crate) text: String,
    /// The line as a whole is a comment.
    pub(crate) comment: bool,
}

/// Everything that changes, in the order of the patch; files outside of the patch count as added whole.
pub(crate) fn of(input: &AssessmentInput) -> Vec<FileChangeLines> {
    let mut files: Vec<FileChangeLines> = Vec::new();
    patch::walk(&input.patch, &mut |step| match step {
        PatchItem::File { old, new } => {
            let path = new.or(old).unwrap_or_default().to_owned();
            files.push(FileChangeLines {
                is_new: old.is_none(),
                is_deleted: new.is_none(),
                ..FileChangeLines::named(path)
            });
        }
        PatchItem::Added { path, line, text } => {
            if let Some(file) = current(&mut files, path) {
                file.added.push(AddedLine::new(line, text));
            }
        }
        PatchItem::Removed { path, text } => {
            if let Some(file) = current(&mut files, path) {
                file.removed.push(String::from_utf8_lossy(text).into_owned());
            }
        }
    });
    let seen: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    for file in input.files.iter().filter(|file| !seen.contains(&file.path)) {
        let Some(after) = file.after.as_deref().filter(|bytes| !bytes.contains(&0)) else { continue };
        if file.before.as_deref() == Some(after) {
            continue;
        }
        let before: BTreeSet<&[u8]> =
            file.before.as_deref().unwrap_or_default().split(|b| *b == b'\n').collect();
        let mut change =
            FileChangeLines { is_new: file.before.is_none(), ..FileChangeLines::named(file.path.clone()) };
        for (number, text) in (1..).zip(after.split(|b| *b == b'\n')) {
            if !before.contains(text) {
                change.added.push(AddedLine::new(number, text));
            }
        }
        files.push(change);
    }
    files
}

/// The file a line belongs to; a hunk without a file's name gets one of its own, so that nothing escapes.
fn current<'a>(files: &'a mut Vec<FileChangeLines>, path: &str) -> Option<&'a mut FileChangeLines> {
    if files.is_empty() {
        files.push(FileChangeLines::named(path.to_owned()));
    }
    files.last_mut()
}

impl FileChangeLines {
    fn named(path: String) -> Self {
        Self { place: FileRole::of(&path), path, ..Self::default() }
    }

    /// The text of the added lines from `index` on, at most `count` of them that directly follow each other.
    pub(crate) fn run(&self, index: usize, count: usize) -> impl Iterator<Item = &AddedLine> {
        let first = self.added.get(index).map_or(0, |line| line.number);
        let follows = move |(offset, line): &(u64, &AddedLine)| line.number == first.saturating_add(*offset);
        (0u64..).zip(self.added.iter().skip(index).take(count)).take_while(follows).map(|(_, line)| line)
    }

    /// The added lines at most `distance` entries away from `index`, itself included.
    pub(crate) fn around(&self, index: usize, distance: usize) -> &[AddedLine] {
        let end = self.added.len().min(index.saturating_add(distance).saturating_add(1));
        self.added.get(index.saturating_sub(distance)..end).unwrap_or_default()
    }
}

impl AddedLine {
    fn new(number: u64, text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text).trim_end_matches('\r').to_owned();
        Self { number, comment: is_comment(&text), text }
    }
}

/// Whether a line is nothing but a comment, in the manner of most languages.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix('#') {
        // Shebangs, attributes and the C preprocessor are code.
        let word: String = rest.trim_start().chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        let directive =
            ["include", "define", "if", "ifdef", "ifndef", "else", "endif", "pragma", "elif", "undef"];
        let is_directive = rest.starts_with(&word) && directive.contains(&word.as_str());
        return !(rest.starts_with(['!', '[']) || is_directive);
    }
    let stars = line.starts_with("* ") || line == "*" || line.starts_with("*/");
    stars
        || ["//", "/*", "<!--", "-- ", ";; ", "\"\"\"", "'''", "REM ", "rem ", "@rem "]
            .iter()
            .any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::AssessedFile;

    #[test]
    fn lines_of_the_patch_and_files_outside_of_it() {
        let patch =
            "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n x\n-y\n+# note\n+z\n";
        let input = AssessmentInput {
            patch: patch.into(),
            files: vec![
                AssessedFile { path: "a.py".into(), after: Some(b"x\nz\n".to_vec()), ..Default::default() },
                AssessedFile {
                    path: "b.md".into(),
                    before: Some(b"one\n".to_vec()),
                    after: Some(b"one\ntwo\n".to_vec()),
                },
            ],
            ..AssessmentInput::default()
        };
        let files = of(&input);
        assert_eq!(files.len(), 2);
        let lines = |file: &FileChangeLines| -> Vec<(u64, String, bool)> {
            file.added.iter().map(|l| (l.number, l.text.clone(), l.comment)).collect()
        };
        assert_eq!(lines(&files[0]), [(2, "# note".into(), true), (3, "z".into(), false)]);
        assert_eq!(files[0].removed, ["y"]);
        assert_eq!(lines(&files[1]), [(2, "two".into(), false)]);
        assert_eq!(files[0].run(0, 5).count(), 2);
    }

    #[test]
    fn comments() {
        for (line, expect) in [
            ("# x", true),
            ("#!/bin/sh", false),
            ("#[test]", false),
            ("#include <x>", false),
            ("  // x", true),
            (" * x", true),
            ("*p = 1;", false),
            ("<!-- x -->", true),
            ("x = 1 # y", false),
        ] {
            assert_eq!(is_comment(line), expect, "{line}");
        }
    }
}
