//! A patch for people: how much each file changed, and its lines in colour.

use holon_core::patch::plain_name;

use crate::terminal::{TerminalStream, TextStyle, visible};

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchFileSummary {
    /// The path, without the quotes git puts around odd ones.
    pub(crate) path: String,
    /// Lines added.
    pub(crate) added: u64,
    /// Lines removed.
    pub(crate) removed: u64,
    /// `new`, `deleted`, `renamed`, `mode`, `binary` or nothing.
    pub(crate) note: &'static str,
}

/// The files of a patch, in its order.
pub(crate) fn changes(patch: &[u8]) -> Vec<PatchFileSummary> {
    let mut found: Vec<PatchFileSummary> = Vec::new();
    // Lines of the current hunk still to come: a removed line may well begin with `-- a/`.
    let (mut old, mut new) = (0u64, 0u64);
    for line in patch.split(|b| *b == b'\n') {
        let first = line.first().copied();
        if old > 0 || new > 0 {
            let Some(change) = found.last_mut() else { continue };
            match first {
                Some(b'+') => (new, change.added) = (new.saturating_sub(1), change.added + 1),
                Some(b'-') => (old, change.removed) = (old.saturating_sub(1), change.removed + 1),
                Some(b'\\') => {}
                _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            }
            continue;
        }
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            let path = second_name(&String::from_utf8_lossy(names));
            found.push(PatchFileSummary { path, added: 0, removed: 0, note: "" });
            continue;
        }
        let Some(change) = found.last_mut() else { continue };
        if line.starts_with(b"@@ ") {
            (old, new) = hunk_size(&String::from_utf8_lossy(line));
        } else if line.starts_with(b"new file mode") {
            change.note = "new";
        } else if line.starts_with(b"deleted file mode") {
            change.note = "deleted";
        } else if line.starts_with(b"rename to ") {
            change.note = "renamed";
        } else if line.starts_with(b"new mode ") && change.note.is_empty() {
            change.note = "mode";
        } else if (line == b"GIT binary patch" || line.starts_with(b"Binary files "))
            && change.note.is_empty()
        {
            change.note = "binary";
        } else if let Some(name) = line.strip_prefix(b"+++ b/") {
            change.path = String::from_utf8_lossy(name).trim_end_matches('\t').to_owned();
        }
    }
    found
}

/// The name after the change in `a/x b/x`; both halves have the same length unless the file was renamed.
fn second_name(names: &str) -> String {
    if let Some(rest) = names.strip_suffix('"') {
        let start = rest.rfind(" \"").map_or(0, |at| at + 1);
        let name = plain_name(&names[start..]);
        // A name that could move a cursor stays as git writes it.
        let name =
            if name.chars().any(char::is_control) { names[start..].replacen("\"b/", "\"", 1) } else { name };
        return name.strip_prefix("b/").unwrap_or(&name).to_owned();
    }
    let half = names.len() / 2;
    let name = match names.get(half + 1..) {
        Some(second) if names.get(..half).map(|a| a.get(2..)) == Some(second.get(2..)) => second,
        _ => names.rsplit(" b/").next().unwrap_or(names),
    };
    name.strip_prefix("b/").unwrap_or(name).to_owned()
}

/// How many old and new lines follow `@@ -1,2 +3,4 @@`.
fn hunk_size(line: &str) -> (u64, u64) {
    let mut parts = line.split(' ').skip(1);
    let mut size = |sign: char| -> u64 {
        let range = parts.next().unwrap_or_default().trim_start_matches(sign);
        range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok()).unwrap_or(0)
    };
    (size('-'), size('+'))
}

/// The patch as it goes to a terminal: coloured, and without anything a terminal would obey.
pub(crate) fn coloured(patch: &[u8], stream: TerminalStream) -> String {
    let mut text = String::new();
    for line in String::from_utf8_lossy(patch).split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        let body = visible(body);
        let style = match body.as_bytes().first() {
            _ if body.starts_with("+++ ") || body.starts_with("--- ") || body.starts_with("diff ") => {
                Some(TextStyle::Bold)
            }
            Some(b'+') => Some(TextStyle::Green),
            Some(b'-') => Some(TextStyle::Red),
            Some(b'@') => Some(TextStyle::Cyan),
            _ => None,
        };
        text.push_str(&style.map_or_else(|| body.clone(), |style| stream.paint(style, &body)));
        text.push_str(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_inside_hunks_only() {
        let patch = b"diff --git a/a b b/a b\nindex 1..2 100644\n--- a/a b\n+++ b/a b\n@@ -1,3 +1,2 @@\n--- a/x\n-old\n+new\n ctx\n\
diff --git a/n b/n\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n\
diff --git \"a/q\\\"\" \"b/q\\\"\"\ndeleted file mode 100644\n\
diff --git a/bin b/bin\nindex 1..2\nGIT binary patch\nliteral 3\n-Kc$\n\n";
        let expect =
            |path: &str, added, removed, note| PatchFileSummary { path: path.into(), added, removed, note };
        assert_eq!(
            changes(patch),
            [
                expect("a b", 1, 2, ""),
                expect("n", 1, 0, "new"),
                expect("q\"", 0, 0, "deleted"),
                expect("bin", 0, 0, "binary")
            ]
        );
    }

    #[test]
    fn names_in_any_language_are_legible() {
        let patch =
            br#"diff --git "a/\303\274n\303\257/\346\227\245.txt" "b/\303\274n\303\257/\346\227\245.txt"
new file mode 100644
--- /dev/null
+++ "b/\303\274n\303\257/\346\227\245.txt"
@@ -0,0 +1 @@
+x
"#;
        assert_eq!(changes(patch)[0].path, "ünï/日.txt");
        let moving = br#"diff --git "a/\033[2Jx" "b/\033[2Jx""#;
        assert_eq!(changes(moving)[0].path, r#""\033[2Jx""#);
    }

    #[test]
    fn nonsense_is_no_panic() {
        assert_eq!(changes(b""), []);
        assert_eq!(changes(b"@@ -1 +1 @@\n+++ b/x\n"), []);
        assert_eq!(changes(b"diff --git \n@@ -x,y +99999999999999999999 @@\n\xff").len(), 1);
        assert_eq!(changes("diff --git ä b/ö".as_bytes()).len(), 1);
    }
}
