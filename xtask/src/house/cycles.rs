//! Modules of a crate that import each other in a circle.
//!
//! A module is a file. It imports another when its code, without tests, names a path `crate::…` or `super::…` into it; names
//! that come through a `pub use` count for the module that is named. A module and its own children are one family and no
//! circle in themselves, so a parent's import of its child does not count.

use std::collections::{BTreeMap, BTreeSet};

use super::sizes::{product_files, product_text};
use crate::tidy::SourceTree;
use crate::tidy::code::code_only;

type ImportGraph = BTreeMap<String, BTreeSet<String>>;

/// The circles, the largest first, each as the sorted paths of its modules.
pub(super) fn import_cycles(tree: &SourceTree) -> Vec<Vec<String>> {
    let sources: BTreeMap<String, String> = product_files(tree)
        .filter_map(|file| Some((module_path(&file.path)?, code_only(&product_text(file)))))
        .collect();
    let mut graph = ImportGraph::new();
    for (module, code) in &sources {
        let imported = paths_in(code).into_iter().filter_map(|path| target(module, &path, &sources));
        let others = imported.filter(|other| other != module && !is_inside(other, module));
        graph.insert(module.clone(), others.collect());
    }
    circles(&graph)
}

fn is_inside(module: &str, parent: &str) -> bool {
    module.strip_prefix(parent).is_some_and(|rest| rest.starts_with("::"))
}

/// `crates/host/src/run/mod.rs` is `host::run`.
fn module_path(file: &str) -> Option<String> {
    let (name, inside) = file.strip_prefix("crates/")?.split_once("/src/")?;
    let inside = inside.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    Some(if matches!(inside, "lib" | "main" | "mod") {
        name.into()
    } else {
        format!("{name}::{}", inside.replace('/', "::"))
    })
}

/// Every path that begins with `crate` or `super`, braces of imports opened.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '$')) {
                open(&code[at..], &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads a path or a tree of imports and returns what follows it.
fn open<'a>(text: &'a str, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        while !rest.trim_start().starts_with('}') && !rest.trim_start().is_empty() {
            let depth = path.len();
            let after = open(rest, path, found);
            path.truncate(depth);
            let after = after.trim_start();
            // `x as y` and anything unexpected is passed over.
            let next = after.find([',', '}']).map_or("", |at| &after[at..]);
            rest = next.strip_prefix(',').unwrap_or(next);
        }
        return rest.trim_start().strip_prefix('}').unwrap_or_default();
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    if end == 0 {
        found.push(path.clone());
        return text.strip_prefix('*').unwrap_or(text);
    }
    path.push(text[..end].to_owned());
    match text[end..].strip_prefix("::") {
        Some(rest) => open(rest, path, found),
        None => {
            found.push(path.clone());
            &text[end..]
        }
    }
}

/// The module a path leads into, as seen from a module.
fn target(module: &str, path: &[String], sources: &BTreeMap<String, String>) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").collect();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => at.truncate(1),
        _ => {
            while let [first, tail @ ..] = rest
                && first == "super"
            {
                at.pop();
                rest = tail;
            }
            return deepest(at, rest, sources);
        }
    }
    deepest(at, &rest[1..], sources)
}

fn deepest<'a>(
    mut at: Vec<&'a str>,
    rest: &'a [String],
    sources: &BTreeMap<String, String>,
) -> Option<String> {
    for part in rest {
        at.push(part);
        if !sources.contains_key(&at.join("::")) {
            at.pop();
            break;
        }
    }
    Some(at.join("::")).filter(|module| sources.contains_key(module))
}

/// Groups of modules each of which leads to every other.
fn circles(graph: &ImportGraph) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|module| (module, reached(graph, module))).collect();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for module in graph.keys() {
        let circle: Vec<String> = reach[module]
            .iter()
            .filter(|other| reach[**other].contains(module))
            .map(|other| (*other).clone())
            .collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            all.push(circle);
        }
    }
    all.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    all
}

fn reached<'a>(graph: &'a ImportGraph, from: &'a String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(module) = waiting.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if graph.contains_key(next) && found.insert(next) {
                waiting.push(next);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        import_cycles(&SourceTree::of(files))
    }

    #[test]
    fn modules_that_import_each_other_are_a_circle() {
        let found = cycles(&[
            ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;\n"),
            ("crates/a/src/one.rs", "use crate::{two::{Second, other as x}, three};\n"),
            ("crates/a/src/two.rs", "fn f() -> super::one::First {}\n"),
            ("crates/a/src/three.rs", "// crate::one\nconst A: &str = \"crate::one\";\n"),
        ]);
        assert_eq!(found, [["a::one", "a::two"]]);
    }

    #[test]
    fn a_family_and_its_tests_are_no_circle() {
        let found = cycles(&[
            ("crates/a/src/one/mod.rs", "mod part;\nuse crate::one::part::Part;\n"),
            ("crates/a/src/one/part.rs", "use super::Whole;\nuse crate::one::Whole as W;\n"),
            ("crates/a/src/two.rs", "use crate::one;\n"),
            (
                "crates/a/src/three.rs",
                "use crate::two;\n#[cfg(test)]\nmod tests {\n    use crate::four;\n}\n",
            ),
            ("crates/a/src/four.rs", "use crate::three;\n"),
        ]);
        assert_eq!(found, Vec::<Vec<String>>::new());
    }

    #[test]
    fn circles_stay_inside_of_a_crate() {
        let found =
            cycles(&[("crates/a/src/x.rs", "use crate::y;\n"), ("crates/b/src/y.rs", "use crate::x;\n")]);
        assert!(found.is_empty());
        assert_eq!(module_path("crates/host/src/run/mod.rs").as_deref(), Some("host::run"));
        assert_eq!(module_path("crates/host/src/lib.rs").as_deref(), Some("host"));
    }
}
