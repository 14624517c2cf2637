//! Credentials in the added lines of a patch, found by their shape.

use serde::{Deserialize, Serialize};

use crate::redact::Redactor;

/// A credential a patch would add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The file, as the patch names it.
    pub path: String,
    /// The line in the new file.
    pub line: u64,
    /// The shape's id, as in `rules/secrets.toml`.
    pub rule: String,
}

/// The shape a value has, if it looks like a credential.
pub fn looks_like(value: &str) -> Option<String> {
    Redactor::default().first_hit(value.as_bytes())
}

/// Every credential-shaped text in the lines a unified diff adds; known token shapes only, no guessing.
pub fn scan_added_lines(patch: &[u8]) -> Vec<Hit> {
    scan_added_lines_with(&Redactor::default(), patch)
}

/// The same for a redactor that also knows real values.
pub fn scan_added_lines_with(redactor: &Redactor, patch: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut path = String::new();
    let mut hunk = Hunk::default();
    for line in patch.split(|b| *b == b'\n') {
        if hunk.is_open() {
            match line.first() {
                Some(b'+') => {
                    if let Some(rule) = redactor.first_hit(&line[1..]) {
                        hits.push(Hit { path: path.clone(), line: hunk.line, rule });
                    }
                    hunk.new_line();
                }
                Some(b'-') => hunk.old = hunk.old.saturating_sub(1),
                Some(b'\\') => {}
                // Some tools strip the space of an empty context line.
                _ => {
                    hunk.old = hunk.old.saturating_sub(1);
                    hunk.new_line();
                }
            }
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            path = file_name(name);
        } else if line.starts_with(b"@@ ") {
            hunk = Hunk::parse(line);
        }
    }
    hits
}

/// Where a hunk stands: what remains of it, and the current line of the new file.
#[derive(Default)]
struct Hunk {
    old: u64,
    new: u64,
    line: u64,
}

impl Hunk {
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

/// The path behind `+++ `, without prefix, quotes and trailing tab.
fn file_name(field: &[u8]) -> String {
    let field = field.strip_suffix(b"\r").unwrap_or(field);
    let field = field.strip_suffix(b"\t").unwrap_or(field);
    let name = match field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")) {
        Some(quoted) => unquote(quoted),
        None => field.to_vec(),
    };
    let name = name.strip_prefix(b"b/").unwrap_or(&name);
    String::from_utf8_lossy(name).into_owned()
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
    use proptest::prelude::*;

    fn key() -> String {
        "ghp_".to_owned() + &"Ab3Cd4".repeat(6)
    }

    #[test]
    fn inv_06_only_added_lines_count() {
        let key = key();
        let patch = format!(
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n context {key}\n-removed {key}\n+added\n+token = {key}\n last\n\
             diff --git a/x b/x\n--- /dev/null\n+++ \"b/od\\303\\244 \\\"d\\\"\"\n@@ -0,0 +1 @@\n++++ {key}\n"
        );
        let hit = |path: &str, line| Hit { path: path.into(), line, rule: "github-token".into() };
        assert_eq!(scan_added_lines(patch.as_bytes()), [hit("a.txt", 3), hit("odä \"d\"", 1)]);
    }

    #[test]
    fn an_armoured_key_is_found_by_its_first_line() {
        let patch = b"+++ b/k.pem\n@@ -0,0 +1,2 @@\n+-----BEGIN OPENSSH PRIVATE KEY-----\n+b3BlbnNz\n";
        let hits = scan_added_lines(patch);
        assert_eq!(hits.len(), 1);
        assert_eq!((hits[0].line, hits[0].rule.as_str()), (1, "private-key"));
    }

    #[test]
    fn hashes_and_prose_are_not_credentials() {
        for text in
            ["3f786850e387550fdab836ed7e6dc881de23001b", "correct horse battery staple", "s3cr3t!", ""]
        {
            assert_eq!(looks_like(text), None, "{text}");
        }
        assert_eq!(looks_like(&key()).as_deref(), Some("github-token"));
    }

    proptest! {
        #[test]
        fn never_panics(patch in prop::collection::vec(prop_oneof![Just(b'+'), Just(b'\n'), Just(b'@'), Just(b' '), Just(b'1'), Just(b'\\'), any::<u8>()], 0..200)) {
            let _ = scan_added_lines(&patch);
        }
    }
}
