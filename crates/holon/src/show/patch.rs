//! A patch for people: how much each file changed, and its lines in colour.

use holon_core::patch::{PatchedFile, patched_files, quoted_name};

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
    patched_files(patch).iter().map(PatchFileSummary::of).collect()
}

impl PatchFileSummary {
    fn of(file: &PatchedFile<'_>) -> Self {
        let (added, removed) = file.counts();
        let note = match (&file.old, &file.new) {
            (None, Some(_)) => "new",
            (Some(_), None) => "deleted",
            _ if file.is_renamed => "renamed",
            _ if file.has_new_mode => "mode",
            _ if file.is_binary => "binary",
            _ => "",
        };
        // A name that could move a cursor is shown as git writes it.
        Self { path: shown_name(file.path()), added, removed, note }
    }
}

fn shown_name(name: &str) -> String {
    if name.chars().any(char::is_control) { quoted_name(name) } else { name.to_owned() }
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
        for text in [
            &b"@@ -1 +1 @@\n+++ b/x\n"[..],
            b"diff --git \n@@ -x,y +99999999999999999999 @@\n\xff",
            "diff --git ä b/ö".as_bytes(),
        ] {
            assert_eq!(changes(text).len(), 1);
        }
    }
}
