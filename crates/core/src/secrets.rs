//! Credentials in the added lines of a patch, found by their shape.

use serde::{Deserialize, Serialize};

use crate::patch::{self, PatchItem};
use crate::redact::Redactor;

/// A credential a patch would add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretHit {
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

/// Every credential in the lines a unified diff adds: known shapes, and the real values that the redactor knows.
pub fn scan_added_lines_with(redactor: &Redactor, patch: &[u8]) -> Vec<SecretHit> {
    let mut hits = Vec::new();
    patch::walk(patch, &mut |step| {
        if let PatchItem::Added { path, line, text } = step
            && let Some(rule) = redactor.first_hit(text)
        {
            hits.push(SecretHit { path: path.to_owned(), line, rule });
        }
    });
    hits
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
        let hit = |path: &str, line| SecretHit { path: path.into(), line, rule: "github-token".into() };
        assert_eq!(
            scan_added_lines_with(&Redactor::default(), patch.as_bytes()),
            [hit("a.txt", 3), hit("odä \"d\"", 1)]
        );
    }

    #[test]
    fn an_armoured_key_is_found_by_its_first_line() {
        let patch = b"+++ b/k.pem\n@@ -0,0 +1,2 @@\n+-----BEGIN OPENSSH PRIVATE KEY-----\n+b3BlbnNz\n";
        let hits = scan_added_lines_with(&Redactor::default(), patch);
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
            let _ = scan_added_lines_with(&Redactor::default(), &patch);
        }
    }
}
