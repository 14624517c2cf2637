//! Which hunks of a patch do not fit, found by looking for their lines.

use std::fmt;

use crate::diff::{DiffHunk, hunks};

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

/// One file of a patch made by git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitPatchFile {
    /// The path before; none for a new file.
    pub old: Option<String>,
    /// The path after; none for a deleted file.
    pub new: Option<String>,
    pub binary: bool,
    pub hunks: Vec<DiffHunk>,
}

impl GitPatchFile {
    pub(super) fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }
}

/// The files of a patch, in order.
pub(super) fn parts(patch: &[u8]) -> Vec<GitPatchFile> {
    let text = String::from_utf8_lossy(patch);
    let mut found = Vec::new();
    let mut section: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if line.starts_with("diff --git ") {
            found.extend(part(&section));
            section.clear();
        }
        section.push(line);
    }
    found.extend(part(&section));
    found
}

fn part(section: &[&str]) -> Option<GitPatchFile> {
    let first = section.first()?.strip_prefix("diff --git ")?;
    let body = section.iter().position(|l| l.starts_with("@@ ") || l.starts_with("GIT binary patch"));
    let (head, body) = section.split_at(body.unwrap_or(section.len()));
    let after = |prefix: &str| head.iter().find_map(|line| line.strip_prefix(prefix));
    let side = |mark: &str, prefix: &str| {
        after(mark)
            .map(|name| unquoted(name.trim_end_matches('\t')))
            .filter(|n| n != "/dev/null")
            .map(|name| name.strip_prefix(prefix).map(str::to_owned).unwrap_or(name))
    };
    // Where names are not told apart by other lines, both are the same.
    let both = || {
        let middle = first.len() / 2;
        let name = first.get(middle + 1..)?;
        let name = unquoted(name);
        Some(name.strip_prefix("b/").map(str::to_owned).unwrap_or(name))
    };
    let created = after("new file mode").is_some();
    let deleted = after("deleted file mode").is_some();
    let old = side("--- ", "a/")
        .or_else(|| after("rename from ").or(after("copy from ")).map(unquoted))
        .or_else(both);
    let new =
        side("+++ ", "b/").or_else(|| after("rename to ").or(after("copy to ")).map(unquoted)).or_else(both);
    Some(GitPatchFile {
        old: old.filter(|_| !created),
        new: new.filter(|_| !deleted),
        binary: body.first().is_some_and(|l| l.starts_with("GIT binary")),
        hunks: hunks(&body.join("\n")),
    })
}

/// A name as git quotes it, without the quotes.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b't') => bytes.push(b'\t'),
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(next) = rest.next_if(|b| (b'0'..=b'7').contains(b)) {
                        value = value * 8 + u32::from(next - b'0');
                    }
                }
                bytes.push((value & 255) as u8);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What in a part does not fit the file as it is now; nothing when everything can be found.
pub(super) fn against(part: &GitPatchFile, now: Option<&[u8]>) -> Vec<PatchConflict> {
    let whole =
        |why: &str| vec![PatchConflict { path: part.path().to_owned(), hunk: None, why: why.to_owned() }];
    match (&part.old, now) {
        (None, Some(_)) => return whole("the patch creates it, but it is already there"),
        (None, None) => return Vec::new(),
        (Some(_), None) => return whole("the patch changes it, but it is not there"),
        (Some(_), Some(_)) if part.binary => return whole("it is binary and was changed"),
        (Some(_), Some(_)) => {}
    }
    let text = String::from_utf8_lossy(now.unwrap_or_default());
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let missing = |hunk: &&DiffHunk| {
        let wanted: Vec<&str> =
            hunk.lines.iter().filter(|l| l.old.is_some()).map(|l| l.text.trim_end_matches('\r')).collect();
        !wanted.is_empty() && !lines.windows(wanted.len()).any(|part| part == wanted)
    };
    let told = |hunk: &DiffHunk| PatchConflict {
        path: part.path().to_owned(),
        hunk: Some(hunk.header()),
        why: "these lines were changed since".to_owned(),
    };
    part.hunks.iter().filter(missing).map(told).collect()
}

#[cfg(test)]
mod tests {
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
        let parts = parts(PATCH.as_bytes());
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
            for part in parts(text.as_bytes()) {
                let _ = against(&part, Some(b"x\n"));
            }
        }
    }
}
