//! What a thread changed, as whole texts before and after: editors show differences themselves.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// Files larger than this are named, not shown.
const MOST: u64 = 1 << 20;

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WholeTextChange {
    /// As it is in the folder; none for a new file.
    pub(super) before: Option<String>,
    /// As it is in the snapshot; empty for one that is gone.
    pub(super) after: String,
}

/// The changed texts by path; what is no text, or does not fit the folder any more, is left out.
pub(super) fn of(patch: &str, folder: &Path) -> BTreeMap<String, WholeTextChange> {
    let mut found = BTreeMap::new();
    for part in patch.split("\ndiff --git ") {
        let part = part.strip_prefix("diff --git ").unwrap_or(part);
        // Splitting took the break before the next part.
        let part = &format!("{}\n", part.strip_suffix('\n').unwrap_or(part));
        let Some(path) = path_of(part) else { continue };
        let file = folder.join(&path);
        // Only what is below the folder itself: a link could lead anywhere.
        let plain = file.symlink_metadata().map(|meta| meta.is_file() && meta.len() <= MOST);
        let before = match plain {
            Ok(true) => std::fs::read_to_string(&file).ok(),
            Ok(false) => continue,
            Err(_) => None,
        };
        if before.is_none() && !part.contains("\n--- /dev/null\n") {
            continue;
        }
        if let Some(after) = applied(before.as_deref().unwrap_or_default(), part) {
            found.insert(path, WholeTextChange { before, after });
        }
    }
    found
}

/// A change as a call of its own.
pub(super) fn shown(call: &str, path: &str, change: &WholeTextChange, folder: &str) -> Value {
    let full = Path::new(folder).join(path);
    json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": format!("Changed {path}"), "kind": "edit",
        "status": "completed", "content": content(&full, change), "locations": [{"path": full}]})
}

/// A change as the content of a call.
pub(super) fn content(full: &Path, change: &WholeTextChange) -> Value {
    json!([{"type": "diff", "path": full, "oldText": change.before, "newText": change.after}])
}

/// The path a part of a patch is about; quoted ones are left to those who show patches.
fn path_of(part: &str) -> Option<String> {
    let name = |mark: &str| part.lines().find_map(|line| line.strip_prefix(mark));
    let path = name("+++ b/").or_else(|| name("--- a/"))?;
    let path = path.trim_end_matches('\t');
    let safe = !path.split('/').any(|part| part == ".." || part.is_empty());
    safe.then(|| path.to_owned())
}

/// The text after the hunks; nothing if they do not fit.
fn applied(before: &str, part: &str) -> Option<String> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let mut after = String::new();
    let mut at = 0;
    let mut lines = part.split_inclusive('\n').skip_while(|line| !line.starts_with("@@ ")).peekable();
    lines.peek()?;
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("@@ -") {
            let (start, count) = range(head)?;
            let start = if count == 0 { start } else { start.checked_sub(1)? };
            after.extend(old.get(at..start)?.iter().copied());
            at = start;
            continue;
        }
        // The mark before the next line's end says that the file has none there.
        let ends = !lines.peek().is_some_and(|next| next.starts_with('\\'));
        let body = line.get(1..)?;
        let body = if ends { body } else { body.strip_suffix('\n').unwrap_or(body) };
        match line.chars().next()? {
            ' ' | '-' => {
                if *old.get(at)? != body {
                    return None;
                }
                if line.starts_with(' ') {
                    after.push_str(body);
                }
                at += 1;
            }
            '+' => after.push_str(body),
            '\\' => {}
            _ => return None,
        }
    }
    after.extend(old.get(at..)?.iter().copied());
    Some(after)
}

/// First line and number of lines of a hunk's old side.
fn range(head: &str) -> Option<(usize, usize)> {
    let numbers = head.split(' ').next()?;
    match numbers.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((numbers.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const PATCH: &str = "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n\
        +zwei\n three\n@@ -6 +6,2 @@\n six\n+seven\ndiff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n\
        +++ b/new.txt\n@@ -0,0 +1 @@\n+fresh\n\\ No newline at end of file\n";

    #[test]
    fn texts_before_and_after() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\nfour\nfive\nsix\n").unwrap();
        let found = of(PATCH, folder.path());
        assert_eq!(found["a.txt"].after, "one\nzwei\nthree\nfour\nfive\nsix\nseven\n");
        assert_eq!(found["new.txt"], WholeTextChange { before: None, after: "fresh".into() });
        std::fs::write(folder.path().join("a.txt"), "other\n").unwrap();
        assert_eq!(of(PATCH, folder.path()).len(), 1, "what does not fit is left out");
    }

    #[test]
    fn a_path_stays_in_the_folder() {
        assert_eq!(path_of("x\n+++ b/../etc/passwd\n"), None);
        assert_eq!(path_of("x\n+++ b//etc/passwd\n"), None);
        assert_eq!(path_of("x\n--- a/gone.txt\n+++ /dev/null\n"), Some("gone.txt".into()));
    }

    proptest! {
        #[test]
        fn any_patch_is_survived(patch in "[@ +\\-0-9,a\\\\\n]{0,120}", before in "[a\n]{0,20}") {
            applied(&before, &patch);
        }
    }
}
