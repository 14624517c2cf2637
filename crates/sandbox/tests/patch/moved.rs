//! The user goes on working while the agent does: noticed exactly where both touched the same path.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::Access;
use holon_sandbox::diff::{CollectOptions, DiffError, PatchLimits};
use holon_sandbox::snapshot::{OriginalsSaver, SnapshotRequest, SnapshotStrategyChoice, take};

use crate::cases;
use crate::world::{AgentView, GIT, PatchWorld, collect, write};

struct MovedBaseCase {
    name: &'static str,
    agent: fn(&Path),
    user: fn(&Path),
    moved: &'static [&'static str],
}

const CASES: &[MovedBaseCase] = &[
    MovedBaseCase { name: "nobody else", agent: edit_a, user: |_| {}, moved: &[] },
    MovedBaseCase {
        name: "another file",
        agent: edit_a,
        user: |w| write(w, "docs/b.md", "user\n"),
        moved: &[],
    },
    MovedBaseCase {
        name: "the same file",
        agent: edit_a,
        user: |w| write(w, "docs/a.md", "user\n"),
        moved: &["docs/a.md"],
    },
    MovedBaseCase {
        name: "the same file, replaced",
        agent: edit_a,
        user: |w| {
            write(w, "new", "user\n");
            fs::rename(w.join("new"), w.join("docs/a.md")).unwrap();
        },
        moved: &["docs/a.md"],
    },
    MovedBaseCase {
        name: "the same file, deleted",
        agent: edit_a,
        user: |w| fs::remove_file(w.join("docs/a.md")).unwrap(),
        moved: &["docs/a.md"],
    },
    MovedBaseCase {
        name: "a file the agent deleted",
        agent: |d| fs::remove_file(d.join("docs/a.md")).unwrap(),
        user: |w| write(w, "docs/a.md", "user\n"),
        moved: &["docs/a.md"],
    },
    MovedBaseCase {
        name: "both deleted it",
        agent: |d| fs::remove_file(d.join("docs/a.md")).unwrap(),
        user: |w| fs::remove_file(w.join("docs/a.md")).unwrap(),
        moved: &["docs/a.md"],
    },
    MovedBaseCase {
        name: "both made it",
        agent: |d| write(d, "made", "agent\n"),
        user: |w| write(w, "made", "user\n"),
        moved: &["made"],
    },
    MovedBaseCase {
        name: "a rename beside unrelated work",
        agent: |d| fs::rename(d.join("docs/a.md"), d.join("docs/z.md")).unwrap(),
        user: |w| write(w, "docs/other.md", "user\n"),
        moved: &[],
    },
    MovedBaseCase {
        name: "only read by the agent",
        agent: |d| drop(fs::read(d.join("docs/a.md"))),
        user: edit_a,
        moved: &[],
    },
];

fn edit_a(dir: &Path) {
    write(dir, "docs/a.md", "edited\n");
}

pub(crate) fn run_all(view: AgentView) {
    for case in CASES {
        let world = PatchWorld::new();
        cases::dirty(&world.ws);
        let ws = world.ws.clone();
        let snapshot = world.agent(view, |dir| {
            (case.agent)(dir);
            (case.user)(&ws);
        });
        let mut moved = collect(&snapshot).moved;
        moved.sort();
        let expect: Vec<PathBuf> = case.moved.iter().map(PathBuf::from).collect();
        assert_eq!(moved, expect, "{} ({view:?})", case.name);
    }
}

#[test]
fn a_moved_base_is_noticed() {
    run_all(AgentView::Copy);
}

/// A person saves a file just when the host has seen that nobody did: what they saved is not taken for the original, which
/// the patch would then take away from them.
#[test]
fn what_is_saved_while_changes_are_told_is_not_the_original() {
    let world = PatchWorld::new();
    write(&world.ws, "a", "one\ntwo\n");
    let access = Access::ReadWrite;
    let snapshot =
        take(&SnapshotRequest { strategy: SnapshotStrategyChoice::Copy, ..world.request(&access) }).unwrap();
    OriginalsSaver::start(&snapshot).unwrap().unwrap().wait();
    write(snapshot.written().unwrap(), "a", "one\ntwo\nagent\n");
    let options = CollectOptions { git: &GIT, limits: PatchLimits::default() };
    let mut times = 0;
    let (changes, patch) = snapshot
        .settled_changes(&options, |changes| {
            times += 1;
            if times == 1 {
                write(&world.ws, "a", "person\none\ntwo\n");
            }
            changes.patch(&GIT, snapshot.dir())
        })
        .unwrap();
    assert_eq!((times, changes.moved), (2, vec![PathBuf::from("a")]));
    assert_eq!((patch.insertions, patch.deletions), (1, 0));
}

/// In a small workspace a person may save in the very moment the agent begins: what was there is known.
#[test]
fn what_is_saved_right_after_the_start_has_its_original() {
    let world = PatchWorld::new();
    let names: Vec<String> = (0..200).map(|number| format!("f{number}")).collect();
    names.iter().for_each(|name| write(&world.ws, name, "one\ntwo\n"));
    let access = Access::ReadWrite;
    let snapshot =
        take(&SnapshotRequest { strategy: SnapshotStrategyChoice::Copy, ..world.request(&access) }).unwrap();
    let keeper = OriginalsSaver::start(&snapshot).unwrap();
    names.iter().for_each(|name| write(&world.ws, name, "person\none\ntwo\n"));
    names.iter().for_each(|name| write(snapshot.written().unwrap(), name, "one\ntwo\nagent\n"));
    drop(keeper);
    let changes = snapshot.changes(&CollectOptions { git: &GIT, limits: PatchLimits::default() }).unwrap();
    assert_eq!((changes.moved.len(), changes.unknown.len()), (200, 0));
}

/// Nobody waits for ever for a program that never stops writing.
#[test]
fn a_file_that_never_settles_is_an_error() {
    let world = PatchWorld::new();
    let access = Access::ReadWrite;
    let names: Vec<String> = (0..40).map(|number| format!("f{number}")).collect();
    names.iter().for_each(|name| write(&world.ws, name, "one\n"));
    let snapshot =
        take(&SnapshotRequest { strategy: SnapshotStrategyChoice::Copy, ..world.request(&access) }).unwrap();
    OriginalsSaver::start(&snapshot).unwrap().unwrap().wait();
    names.iter().for_each(|name| write(snapshot.written().unwrap(), name, "one\nagent\n"));
    let options = CollectOptions { git: &GIT, limits: PatchLimits::default() };
    let mut others = names.iter();
    let told = snapshot.settled_changes(&options, |_| -> Result<(), DiffError> {
        write(&world.ws, others.next().unwrap(), "person\n");
        Ok(())
    });
    assert!(matches!(told, Err(DiffError::Unsettled)));
}
