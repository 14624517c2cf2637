//! Which hunks of a patch do not fit, found by looking for their lines.

use std::fmt;

use holon_core::patch::{PatchHunk, PatchedFile};

/// A place of the patch that stands against applying it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchConflict {
    /// The file.
    pub path: String,
    /// The header of the hunk, when one hunk is to blame.
    pub hunk: Option<String>,
    /// The reason.
    pub why: String,
}

impl fmt::Display for PatchConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hunk {
            Some(hunk) => write!(f, "{}: {hunk}: {}", self.path, self.why),
            None => write!(f, "{}: {}", self.path, self.why),
        }
    }
}

/// What in a part does not fit the file as it is now; nothing when everything can be found.
pub(super) fn against(part: &PatchedFile<'_>, now: Option<&[u8]>) -> Vec<PatchConflict> {
    let whole =
        |why: &str| vec![PatchConflict { path: part.path().to_owned(), hunk: None, why: why.to_owned() }];
    match (&part.old, now) {
        (None, Some(_)) => return whole("the patch creates it, but it is already there"),
        (None, None) => return Vec::new(),
        (Some(_), None) => return whole("the patch changes it, but it is not there"),
        (Some(_), Some(_)) if part.is_binary => return whole("it is binary and was changed"),
        (Some(_), Some(_)) => {}
    }
    let lines: Vec<&[u8]> =
        now.unwrap_or_default().split(|byte| *byte == b'\n').map(without_return).collect();
    let missing = |hunk: &&PatchHunk<'_>| {
        let old = hunk.lines.iter().filter(|line| line.old.is_some());
        let wanted: Vec<&[u8]> = old.map(|line| without_return(line.text)).collect();
        !wanted.is_empty() && !lines.windows(wanted.len()).any(|part| part == wanted)
    };
    let told = |hunk: &PatchHunk<'_>| PatchConflict {
        path: part.path().to_owned(),
        hunk: Some(hunk.header()),
        why: "these lines were changed since".to_owned(),
    };
    part.hunks.iter().filter(missing).map(told).collect()
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use holon_core::patch::patched_files;
    use proptest::prelude::*;

    use super::*;

    const PATCH: &str = "diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
+zwei
@@ -9,2 +9,2 @@ heading
 nine
-ten
+zehn
diff --git a/new.txt b/new.txt
new file mode 100644
index 0..1
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+x
diff --git \"a/l\\303\\251 b\" \"b/l\\303\\251 b\"
deleted file mode 100644
--- \"a/l\\303\\251 b\"
+++ /dev/null
@@ -1 +0,0 @@
-y
diff --git a/bin b/bin
index 1..2 100644
GIT binary patch
literal 1
A
";

    #[test]
    fn hunks_that_do_not_fit_are_named() {
        let parts = patched_files(PATCH.as_bytes());
        let paths: Vec<(Option<&str>, Option<&str>)> =
            parts.iter().map(|p| (p.old.as_deref(), p.new.as_deref())).collect();
        let expect = [
            (Some("a.txt"), Some("a.txt")),
            (None, Some("new.txt")),
            (Some("lé b"), None),
            (Some("bin"), Some("bin")),
        ];
        assert_eq!(paths, expect);
        let check = |number: usize, now: Option<&str>, expect: &[&str]| {
            let told: Vec<String> =
                against(&parts[number], now.map(str::as_bytes)).iter().map(ToString::to_string).collect();
            assert_eq!(told, expect);
        };
        check(0, Some("one\ntwo\n\nnine\nten\n"), &[]);
        check(
            0,
            Some("one\ntwo\nnine\nchanged\n"),
            &["a.txt: @@ -9,2 +9,2 @@ heading: these lines were changed since"],
        );
        check(0, None, &["a.txt: the patch changes it, but it is not there"]);
        check(1, None, &[]);
        check(1, Some(""), &["new.txt: the patch creates it, but it is already there"]);
        check(2, Some("z\n"), &["lé b: @@ -1,1 +0,0 @@: these lines were changed since"]);
        check(3, Some("z"), &["bin: it is binary and was changed"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in "(diff --git |a/x|b/x| |\"|\\\\[0-9]|\n|@@ -1 \\+1 @@|--- |\\+\\+\\+ |é){0,30}") {
            for part in patched_files(text.as_bytes()) {
                let _ = against(&part, Some(b"x\n"));
            }
        }
    }
}
