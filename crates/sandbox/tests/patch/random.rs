//! Random small trees: whatever turns one into the other, the patch does it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holon_sandbox::diff::DiffError;
use proptest::prelude::*;

use crate::cases::apply;
use crate::world::{AgentView, PatchWorld, assert_same, link, mode, patch, write};

#[derive(Debug, Clone)]
enum RandomTreeEntry {
    File { exec: bool, content: Vec<u8> },
    Link(Vec<u8>),
}

type RandomTree = BTreeMap<String, RandomTreeEntry>;

fn entry() -> impl Strategy<Value = RandomTreeEntry> {
    let line =
        prop_oneof![Just("a\n"), Just("b\n"), Just("c\r\n"), Just("\n"), Just("no end"), Just("x\0y\n")];
    let content = prop::collection::vec(line, 0..6).prop_map(|lines| lines.concat().into_bytes());
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => (any::<bool>(), content).prop_map(|(exec, content)| RandomTreeEntry::File { exec, content }),
        1 => (any::<bool>(), bytes).prop_map(|(exec, content)| RandomTreeEntry::File { exec, content }),
        1 => prop_oneof![Just("a"), Just("b/a"), Just("/abs"), Just("no where")]
            .prop_map(|target| RandomTreeEntry::Link(target.into())),
    ]
}

fn tree() -> impl Strategy<Value = RandomTree> {
    let name = prop_oneof![Just("a"), Just("b"), Just("c d"), Just("\"q\n")];
    let path = prop::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    prop::collection::btree_map(path, entry(), 0..10).prop_map(|mut tree| {
        // No path can be both a file and a directory above another.
        let paths: Vec<String> = tree.keys().cloned().collect();
        tree.retain(|path, _| !paths.iter().any(|other| other.starts_with(&format!("{path}/"))));
        tree
    })
}

fn build(dir: &Path, tree: &RandomTree) {
    for (path, entry) in tree {
        match entry {
            RandomTreeEntry::File { exec, content } => {
                write(dir, path, content);
                mode(dir, path, if *exec { 0o755 } else { 0o644 });
            }
            RandomTreeEntry::Link(target) => {
                fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
                link(dir, path, target);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn inv_05_random_trees_are_reproduced(base in tree(), result in tree()) {
        let world = PatchWorld::new();
        build(&world.ws, &base);
        let snapshot = world.agent(AgentView::Copy, |dir| {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)).unwrap();
            }
            build(dir, &result);
        });
        let (changes, made) = match patch(&snapshot) {
            // A link that leads to itself and becomes a directory: the one thing git cannot apply here.
            Err(DiffError::Refused { why }) if why.contains("levels of symbolic links") => return Ok(()),
            made => made.unwrap(),
        };
        prop_assert!(changes.moved.is_empty() && changes.skipped.is_empty());
        if !made.bytes.is_empty() {
            let file = world.home.join("diff.patch");
            fs::write(&file, &made.bytes).unwrap();
            let out = apply(&world.ws, &file, false);
            prop_assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
        assert_same("random", &world.ws, snapshot.written().unwrap());
    }
}
