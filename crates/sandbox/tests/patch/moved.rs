//! The user goes on working while the agent does: noticed exactly where both touched the same path.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cases;
use crate::world::{View, World, collect, write};

struct Case {
    name: &'static str,
    agent: fn(&Path),
    user: fn(&Path),
    moved: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case { name: "nobody else", agent: edit_a, user: |_| {}, moved: &[] },
    Case { name: "another file", agent: edit_a, user: |w| write(w, "docs/b.md", "user\n"), moved: &[] },
    Case {
        name: "the same file",
        agent: edit_a,
        user: |w| write(w, "docs/a.md", "user\n"),
        moved: &["docs/a.md"],
    },
    Case {
        name: "the same file, replaced",
        agent: edit_a,
        user: |w| {
            write(w, "new", "user\n");
            fs::rename(w.join("new"), w.join("docs/a.md")).unwrap();
        },
        moved: &["docs/a.md"],
    },
    Case {
        name: "the same file, deleted",
        agent: edit_a,
        user: |w| fs::remove_file(w.join("docs/a.md")).unwrap(),
        moved: &["docs/a.md"],
    },
    Case {
        name: "a file the agent deleted",
        agent: |d| fs::remove_file(d.join("docs/a.md")).unwrap(),
        user: |w| write(w, "docs/a.md", "user\n"),
        moved: &["docs/a.md"],
    },
    Case {
        name: "both deleted it",
        agent: |d| fs::remove_file(d.join("docs/a.md")).unwrap(),
        user: |w| fs::remove_file(w.join("docs/a.md")).unwrap(),
        moved: &["docs/a.md"],
    },
    Case {
        name: "both made it",
        agent: |d| write(d, "made", "agent\n"),
        user: |w| write(w, "made", "user\n"),
        moved: &["made"],
    },
    Case {
        name: "a rename beside unrelated work",
        agent: |d| fs::rename(d.join("docs/a.md"), d.join("docs/z.md")).unwrap(),
        user: |w| write(w, "docs/other.md", "user\n"),
        moved: &[],
    },
    Case {
        name: "only read by the agent",
        agent: |d| drop(fs::read(d.join("docs/a.md"))),
        user: edit_a,
        moved: &[],
    },
];

fn edit_a(dir: &Path) {
    write(dir, "docs/a.md", "edited\n");
}

pub(crate) fn run_all(view: View) {
    for case in CASES {
        let world = World::new();
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
    run_all(View::Copy);
}
