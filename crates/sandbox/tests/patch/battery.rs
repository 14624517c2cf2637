//! Every case: the patch, applied with plain `git apply` to a second copy of the workspace as it was, gives
//! what the agent left, byte and mode; the workspace itself is as before.

use std::fs;
use std::path::{Path, PathBuf};

use holon_sandbox::diff::tree_digest;

use crate::cases::{CASES, CaseExpectation, PatchCase, apply, has_conversions};
use crate::world::{AgentView, PatchWorld, assert_same, patch};

/// What ignore rules keep out of the patch is not part of the comparison either.
const LEFT_OUT: &[&str] = &["target/out.o", "target/debug", "a.log", "fifo", "socket"];

fn check(case: &PatchCase, view: AgentView) {
    let name = case.name;
    let world = PatchWorld::new();
    (case.base)(&world.ws);
    let before = tree_digest(&world.ws, &[]).unwrap();
    let result = world.home.join("result");
    let snapshot = world.agent(view, |dir| {
        (case.change)(dir);
        copy(dir, &result);
    });
    let made = patch(&snapshot);
    assert_eq!(tree_digest(&world.ws, &[]).unwrap(), before, "{name}: the workspace was changed");
    assert!(!world.home.join("ran").exists(), "{name}: something of the agent's was run");
    let (changes, made) = match (made, case.expect) {
        (Err(e), CaseExpectation::Refused(why)) => {
            assert!(e.to_string().contains(why), "{name}: {e}");
            return;
        }
        (Err(e), _) => panic!("{name}: {e}"),
        (Ok(_), CaseExpectation::Refused(_)) => panic!("{name}: was not refused"),
        (Ok(made), _) => made,
    };
    assert_eq!(changes.moved, Vec::<PathBuf>::new(), "{name}");
    assert!(changes.out_of_scope.is_empty() && changes.hidden.is_empty(), "{name}");
    assert_eq!(
        made.bytes.is_empty(),
        case.expect == CaseExpectation::Nothing,
        "{name}: {}",
        text(&made.bytes)
    );
    assert_eq!(made.touched.len(), changes.entries.len(), "{name}");
    let twin = world.twin();
    if !made.bytes.is_empty() {
        let file = world.home.join("diff.patch");
        fs::write(&file, &made.bytes).unwrap();
        let out = apply(&twin, &file, has_conversions(case));
        assert!(out.status.success(), "{name}: {}{}", text(&out.stderr), text(&made.bytes));
    }
    for dir in [&twin, &result] {
        for path in LEFT_OUT {
            let path = dir.join(path);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
    assert_same(name, &twin, &result);
    let left: Vec<_> = fs::read_dir(snapshot.dir()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(
        !left.iter().any(|n| n.to_string_lossy().starts_with('s') && n != "started"),
        "{name}: left behind {left:?}"
    );
}

fn copy(from: &Path, to: &Path) {
    let out = std::process::Command::new("cp").arg("-a").args([from, to]).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(3000)]).into_owned()
}

pub(crate) fn run_all(view: AgentView) {
    let mut failed = Vec::new();
    for case in CASES {
        if std::panic::catch_unwind(|| check(case, view)).is_err() {
            failed.push(case.name);
        }
    }
    assert_eq!(failed, Vec::<&str>::new(), "of {} cases ({view:?})", CASES.len());
}

#[test]
fn inv_05_patch_reproduces_result() {
    run_all(AgentView::Copy);
}
