//! What a thread changed, as whole texts before and after: editors show differences themselves.

use std::collections::BTreeMap;
use std::path::Path;

use holon_core::patch::patched_files;
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
    for part in patched_files(patch.as_bytes()) {
        let Some(path) = safe(part.path()).filter(|_| !part.hunks.is_empty()) else { continue };
        let file = folder.join(path);
        // Only what is below the folder itself: a link could lead anywhere.
        let plain = file.symlink_metadata().map(|meta| meta.is_file() && meta.len() <= MOST);
        let before = match plain {
            Ok(true) => std::fs::read_to_string(&file).ok(),
            Ok(false) => continue,
            Err(_) => None,
        };
        if before.is_none() && part.old.is_some() {
            continue;
        }
        let after = part.applied(before.as_deref().unwrap_or_default().as_bytes());
        if let Some(after) = after.and_then(|bytes| String::from_utf8(bytes).ok()) {
            found.insert(path.to_owned(), WholeTextChange { before, after });
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

/// A path that stays in its folder.
fn safe(path: &str) -> Option<&str> {
    (!path.split('/').any(|part| part == ".." || part.is_empty())).then_some(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
        assert_eq!(safe("../etc/passwd"), None);
        assert_eq!(safe("/etc/passwd"), None);
        assert_eq!(safe("a//b"), None);
        assert_eq!(safe("a/gone.txt"), Some("a/gone.txt"));
    }
}
