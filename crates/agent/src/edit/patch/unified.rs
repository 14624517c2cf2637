//! The headers of unified diffs, which models mix into their patches.
//!
//! Models write numbers that are wrong or none, and leave out half of a header; so places are found by their text, and
//! nothing here counts lines. Diffs that git wrote are read by `holon_core::patch`, which does the opposite.

/// The file names of a unified diff, without `a/` and `b/`; `None` for a file that is not there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnifiedDiffNames {
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

/// Reads `--- a/x` and `+++ b/x`.
pub(super) fn names(minus: &str, plus: &str) -> Option<UnifiedDiffNames> {
    let (old, new) = (name(minus.strip_prefix("--- ")?), name(plus.strip_prefix("+++ ")?));
    let git = |name: &Option<String>, sign: &str| name.as_ref().is_none_or(|name| name.starts_with(sign));
    let short = |name: Option<String>| name.map(|name| name[2..].to_owned());
    Some(match git(&old, "a/") && git(&new, "b/") {
        true => UnifiedDiffNames { old: short(old), new: short(new) },
        false => UnifiedDiffNames { old, new },
    })
}

/// A name without a time behind it.
fn name(text: &str) -> Option<String> {
    let name = text.split('\t').next().unwrap_or_default().trim();
    (name != "/dev/null").then(|| name.to_owned())
}

/// Lines of git's that say nothing a patch needs.
pub(super) fn is_decoration(line: &str) -> bool {
    const STARTS: [&str; 9] = [
        "diff --git ",
        "index ",
        "new file mode ",
        "deleted file mode ",
        "old mode ",
        "new mode ",
        "similarity index ",
        "rename from ",
        "rename to ",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// What the line that opens a hunk says: the line it begins at, and the text behind it.
pub(super) fn hunk_header(line: &str) -> Option<(Option<usize>, &str)> {
    let rest = line.strip_prefix("@@")?;
    if let Some((range, header)) = rest.trim_start().split_once("@@")
        && let Some(near) = range_start(range)
    {
        return Some((Some(near), header.trim()));
    }
    // `@@ -3,4 +3,5` without the second pair of signs, or a plain `@@ fn main() {`.
    if let Some(near) = range_start(rest) {
        return Some((Some(near), ""));
    }
    let header = rest.strip_suffix("@@").unwrap_or(rest);
    Some((None, header.strip_prefix(' ').unwrap_or(header).trim_end()))
}

/// The old line of `-12,3 +12,4`.
fn range_start(range: &str) -> Option<usize> {
    let (old, new) = range.trim().split_once(' ')?;
    let number = |text: &str| text.split(',').next().unwrap_or_default().parse::<usize>().ok();
    number(new.trim().strip_prefix('+')?)?;
    number(old.strip_prefix('-')?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn hunk_headers_are_read() {
        for (line, expect) in [
            ("@@", Some((None, ""))),
            ("@@ fn main() {", Some((None, "fn main() {"))),
            ("@@     def f(self):", Some((None, "    def f(self):"))),
            ("@@ fn main() { @@", Some((None, "fn main() {"))),
            ("@@ -1,2 +1,3 @@", Some((Some(1), ""))),
            ("@@ -12 +14 @@ fn main() {", Some((Some(12), "fn main() {"))),
            ("@@ -12,7 +14,8", Some((Some(12), ""))),
            ("@@ -x,7 +14,8 @@", Some((None, "-x,7 +14,8"))),
            ("@ -1 +1", None),
        ] {
            assert_eq!(hunk_header(line), expect, "{line}");
        }
    }

    #[test]
    fn names_lose_their_prefixes_together() {
        let check = |minus, plus, expect: Option<(Option<&str>, Option<&str>)>| {
            let expect = expect.map(|(old, new)| UnifiedDiffNames {
                old: old.map(str::to_owned),
                new: new.map(str::to_owned),
            });
            assert_eq!(names(minus, plus), expect, "{minus} {plus}");
        };
        check("--- a/x", "+++ b/x", Some((Some("x"), Some("x"))));
        check("--- /dev/null", "+++ b/x", Some((None, Some("x"))));
        check("--- a/x", "+++ /dev/null", Some((Some("x"), None)));
        check("--- a/x\t2024-01-01", "+++ a/x", Some((Some("a/x"), Some("a/x"))));
        check("-- a/x", "+++ b/x", None);
    }
}
