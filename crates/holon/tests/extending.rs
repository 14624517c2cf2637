//! The examples of docs/extending.md: how many files each kind of addition touches, and that it can be applied to this tree.
//! That they compile and work is shown by `battery_extending`; those that are data are run with the document itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holon_testkit::{TestEnv, run_git};

/// Each example, and the most files it may touch.
const EXAMPLES: [(&str, usize); 4] =
    [("tool", 3), ("provider", 2), ("supervisor-signal", 4), ("api-route", 3)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn patch(name: &str) -> PathBuf {
    root().join(format!("examples/extending/{name}.patch"))
}

/// The files a patch touches.
fn touched(patch: &str) -> BTreeSet<&str> {
    let sides = patch.lines().filter_map(|line| line.strip_prefix("--- a/").or(line.strip_prefix("+++ b/")));
    sides.collect()
}

#[test]
fn each_kind_of_addition_touches_few_files() {
    for (name, most) in EXAMPLES {
        let text = std::fs::read_to_string(patch(name)).unwrap();
        let files = touched(&text);
        assert!(!files.is_empty() && files.len() <= most, "{name}: {files:?}");
        let document = std::fs::read_to_string(root().join("docs/extending.md")).unwrap();
        assert!(document.contains(&format!("examples/extending/{name}.patch")), "{name} is in the document");
    }
    let there = std::fs::read_dir(root().join("examples/extending")).unwrap().count();
    assert_eq!(there, EXAMPLES.len(), "every example is listed here");
}

#[test]
fn each_example_can_be_applied_to_this_tree_also_all_together() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let copy = env.folder("copy");
    for (name, _) in EXAMPLES {
        let text = std::fs::read_to_string(patch(name)).unwrap();
        for file in touched(&text) {
            // What the example adds is not there yet.
            if let Ok(content) = std::fs::read(root().join(file)) {
                env.write(copy.path().join(file), content);
            }
        }
    }
    run_git(copy.path(), ["init", "--quiet"]);
    for (name, _) in EXAMPLES {
        let patch = patch(name);
        run_git(copy.path(), ["apply", "--check", patch.to_str().unwrap()]);
        run_git(copy.path(), ["apply", patch.to_str().unwrap()]);
    }
}

#[test]
fn files_of_a_patch_are_counted_once() {
    let patch = "--- a/x\n+++ b/x\n--- /dev/null\n+++ b/y\n--- a/z\n+++ /dev/null\n";
    assert_eq!(touched(patch).into_iter().collect::<Vec<_>>(), ["x", "y", "z"]);
}
