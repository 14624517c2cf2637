#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::process::Command;

use proptest::prelude::*;

use super::*;

#[test]
fn names_of_every_kind() {
    let patch = b"diff --git a/same b/same\nold mode 100644\nnew mode 100755\n\
        diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to \"od\\303\\244 \\\"d\\\"\"\n\
        diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+one\n\
        diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n\
        diff --git a/b in b/b in\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n";
    let files = parse(patch);
    let names: Vec<(Option<&str>, Option<&str>, bool)> =
        files.iter().map(|f| (f.old.as_deref(), f.new.as_deref(), f.opaque)).collect();
    assert_eq!(
        names,
        [
            (Some("same"), Some("same"), false),
            (Some("x"), Some("odä \"d\""), false),
            (None, Some("new"), false),
            (Some("empty"), None, false),
            (Some("b in"), Some("b in"), true),
        ]
    );
}

#[test]
fn lines_that_look_like_headers_are_lines() {
    let patch = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\n";
    let files = parse(patch);
    let old: Vec<&[u8]> = vec![b"a", b"-- b", b"d"];
    let after = files[0].after(&old).unwrap();
    let told: Vec<(&[u8], Option<usize>)> = after.iter().map(|l| (l.text, l.from)).collect();
    assert_eq!(told, [(&b"a"[..], Some(0)), (b"++ c", None), (b"d", Some(2))]);
    assert_eq!(files[0].after(&[&b"other"[..]]), None, "not the file the patch was made for");
}

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
        let patch = diff(&old, &new);
        let files = parse(&patch);
        prop_assume!(old != new);
        prop_assert_eq!(files.len(), 1);
        let lines: Vec<&[u8]> = old.lines().map(str::as_bytes).collect();
        let after = files[0].after(&lines).expect("the patch fits");
        let result: Vec<&[u8]> = after.iter().map(|line| line.text).collect();
        let expected: Vec<&[u8]> = new.lines().map(str::as_bytes).collect();
        prop_assert_eq!(result, expected);
        for line in &after {
            prop_assert!(line.from.is_none_or(|from| lines[from] == line.text));
        }
    }

    #[test]
    fn parsing_never_panics(patch in prop::collection::vec(prop_oneof![Just(b'+'), Just(b'-'), Just(b'\n'), Just(b'@'), Just(b' '), Just(b'1'), Just(b','), Just(b'"'), Just(b'\\'), any::<u8>()], 0..200)) {
        let mut whole = b"diff --git a/f b/f\n@@ -1,2 +1,2 @@".to_vec();
        whole.extend(&patch);
        for patch in [patch, whole] {
            for file in parse(&patch) {
                let _ = file.after(&[&b"x"[..]; 3]);
            }
        }
    }
}
