//! A unified diff as git writes it, line by line.

use std::collections::BTreeSet;

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
    let (mut old_name, mut new_name) = (None::<String>, None::<String>);
    let mut hunk = HunkCursor::default();
    for line in patch.split(|b| *b == b'\n') {
        if hunk.is_open() {
            match line.first() {
                Some(b'+') => {
                    let path = new_name.as_deref().unwrap_or_default();
                    see(PatchItem::Added { path, line: hunk.line, text: &line[1..] });
                    hunk.new_line();
                }
                Some(b'-') => {
                    see(PatchItem::Removed {
                        path: old_name.as_deref().unwrap_or_default(),
                        text: &line[1..],
                    });
                    hunk.old = hunk.old.saturating_sub(1);
                }
                Some(b'\\') => {}
                // Some tools strip the space of an empty context line.
                _ => {
                    hunk.old = hunk.old.saturating_sub(1);
                    hunk.new_line();
                }
            }
        } else if let Some(name) = line.strip_prefix(b"--- ") {
            old_name = file_name(name, b"a/");
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            new_name = file_name(name, b"b/");
            see(PatchItem::File { old: old_name.as_deref(), new: new_name.as_deref() });
        } else if line.starts_with(b"@@ ") {
            hunk = HunkCursor::parse(line);
        }
    }
}

/// Every path a patch names, before and after: also of files that only change their name or mode, or are no text.
pub fn named_paths(patch: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(patch, &mut |step| {
        if let PatchItem::File { old, new } = step {
            found.extend(old.into_iter().chain(new).map(str::to_owned));
        }
    });
    // Lines of text hunks begin with a mark, so none of these can be one of them.
    for line in patch.split(|b| *b == b'\n') {
        let text = String::from_utf8_lossy(line);
        for mark in ["rename from ", "rename to ", "copy from ", "copy to "] {
            found.extend(text.strip_prefix(mark).map(str::to_owned));
        }
        let same = text.strip_prefix("diff --git ").and_then(|names| {
            let (old, new) = (names.get(..names.len() / 2)?, names.get(names.len() / 2 + 1..)?);
            let (old, new) = (old.strip_prefix("a/")?, new.strip_prefix("b/")?);
            (old == new).then(|| new.to_owned())
        });
        found.extend(same);
    }
    found
}

/// Where a hunk stands: what remains of it, and the current line of the new file.
#[derive(Default)]
struct HunkCursor {
    old: u64,
    new: u64,
    line: u64,
}

impl HunkCursor {
    fn is_open(&self) -> bool {
        self.old > 0 || self.new > 0
    }

    fn new_line(&mut self) {
        self.new = self.new.saturating_sub(1);
        self.line = self.line.saturating_add(1);
    }

    /// Reads `@@ -a,b +c,d @@`; anything else is an empty hunk.
    fn parse(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        let mut fields = text.split(' ').skip(1);
        let range = |field: Option<&str>, sign: char| -> Option<(u64, u64)> {
            let body = field?.strip_prefix(sign)?;
            let (start, count) = body.split_once(',').unwrap_or((body, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        match (range(fields.next(), '-'), range(fields.next(), '+')) {
            (Some((_, old)), Some((line, new))) => Self { old, new, line },
            _ => Self::default(),
        }
    }
}

/// The path behind `--- ` or `+++ `, without prefix, quotes and trailing tab; `None` for /dev/null.
fn file_name(field: &[u8], side: &[u8]) -> Option<String> {
    let field = field.strip_suffix(b"\r").unwrap_or(field);
    let field = field.strip_suffix(b"\t").unwrap_or(field);
    let name = match field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")) {
        Some(quoted) => unquote(quoted),
        None => field.to_vec(),
    };
    let name = name.strip_prefix(side).unwrap_or(&name);
    (name != b"/dev/null").then(|| String::from_utf8_lossy(name).into_owned())
}

/// A name as git writes it, quoted where it has to be, as people read it.
pub fn plain_name(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => String::from_utf8_lossy(&unquote(quoted.as_bytes())).into_owned(),
        None => name.to_owned(),
    }
}

/// Undoes git's C-style quoting of odd file names.
fn unquote(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let octal = text.get(at + 1..at + 4).filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        if let Some(digits) = octal {
            out.push(digits.iter().fold(0u8, |value, d| value.wrapping_mul(8).wrapping_add(d - b'0')));
            at += 4;
            continue;
        }
        if let Some(byte) = text.get(at + 1) {
            out.push(match byte {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other => *other,
            });
        }
        at += 2;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_lines_of_both_sides() {
        let patch = b"diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n\
            @@ -1,2 +1,2 @@\n same\n--- old\n+++ new\n\
            diff --git a/z b/z\ndeleted file mode 100644\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n";
        let mut seen = Vec::new();
        walk(patch, &mut |step| {
            seen.push(match step {
                PatchItem::File { old, new } => format!("{} > {}", old.unwrap_or("-"), new.unwrap_or("-")),
                PatchItem::Added { path, line, text } => {
                    format!("+{path}:{line} {}", String::from_utf8_lossy(text))
                }
                PatchItem::Removed { path, text } => format!("-{path} {}", String::from_utf8_lossy(text)),
            });
        });
        assert_eq!(seen, ["x > y", "-x -- old", "+y:2 ++ new", "z > -", "-z gone"]);
    }

    #[test]
    fn inv_17_every_path_of_a_patch_is_named() {
        let patch = "diff --git a/a b.txt b/a b.txt\nold mode 100644\nnew mode 100755\n\
            diff --git a/x b/AGENTS.md\nsimilarity index 100%\nrename from x\nrename to AGENTS.md\n\
            diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+rename to lies\n";
        let found: Vec<String> = named_paths(patch.as_bytes()).into_iter().collect();
        assert_eq!(found, ["AGENTS.md", "a b.txt", "new", "x"]);
    }
}
