//! What git says about two texts leads the reader of patches from one to the other.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
use std::process::Command;

use holon_core::patch::patched_files;
use proptest::prelude::*;

/// What git itself says about two texts.
fn diff(old: &str, new: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    for (side, text) in [("a", old), ("b", new)] {
        std::fs::create_dir(folder.path().join(side)).unwrap();
        std::fs::write(folder.path().join(side).join("f"), text).unwrap();
    }
    let output = Command::new("git")
        .args(["diff", "--no-index", "--no-color", "--no-ext-diff", "a/f", "b/f"])
        .current_dir(folder.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    output.stdout
}

fn text() -> impl Strategy<Value = String> {
    let line =
        prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("- x"), Just("+ y"), Just("@@ -1 +1 @@")];
    (prop::collection::vec(line, 0..25), any::<bool>())
        .prop_map(|(lines, end)| lines.join("\n") + if end { "\n" } else { "" })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn following_a_patch_of_git_leads_to_the_new_file(old in text(), new in text()) {
        prop_assume!(old != new);
        let patch = diff(&old, &new);
        let files = patched_files(&patch);
        prop_assert_eq!(files.len(), 1);
        let after = files[0].applied(old.as_bytes()).expect("the patch fits");
        prop_assert_eq!(String::from_utf8(after).unwrap(), new);
        let lines: Vec<&[u8]> = old.lines().map(str::as_bytes).collect();
        for line in files[0].after(old.as_bytes()).unwrap() {
            prop_assert!(line.from.is_none_or(|from| lines[from] == line.text));
        }
    }
}
