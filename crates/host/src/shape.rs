//! The shape of a workspace, read for real and cheaply: names near the root, and the text of manifests.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use holon_supervisor::shape::{self, RepositoryShape};

use crate::modes::read_bounded;

/// Most entries looked at; beyond them a tree is not looked into any deeper.
const ENTRIES: usize = 3_000;
/// How many folders deep names are wanted.
const DEPTH: usize = 4;
/// Most manifests read.
const MANIFESTS: usize = 40;
/// Folders that hold what was made, fetched or kept by tools.
const NOT_OURS: [&str; 9] = [
    "target",
    "node_modules",
    "vendor",
    "venv",
    "third_party",
    "build",
    "dist",
    "__pycache__",
    "site-packages",
];

/// What a workspace consists of.
pub(crate) fn of(workspace: &Path) -> RepositoryShape {
    let names = names(workspace);
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut texts = BTreeMap::new();
    for path in shape::wanted(&files).into_iter().take(MANIFESTS) {
        // A manifest that is a link, a pipe or huge has no text for us.
        if let Ok(text) = read_bounded(&workspace.join(path)) {
            texts.insert(path.to_owned(), text);
        }
    }
    let mut shape = shape::read(&files, &texts);
    for package in &mut shape.packages {
        package.check = package.check.take().map(|check| runnable(&check, &has_program));
    }
    shape
}

/// Commands that check a whole workspace; none when nothing is known.
pub(crate) fn checks(workspace: &Path) -> Vec<String> {
    of(workspace).checks()
}

/// Many systems know Python only by its longer name.
fn runnable(check: &str, has: &dyn Fn(&str) -> bool) -> String {
    match check.strip_prefix("python ") {
        Some(rest) if !has("python") && has("python3") => format!("python3 {rest}"),
        _ => check.to_owned(),
    }
}

/// Whether the system, which the agent sees too, has a program.
fn has_program(name: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(name).exists())
}

/// File names relative to the workspace, the outer ones first; links are not followed.
fn names(workspace: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut todo: VecDeque<(PathBuf, String, usize)> =
        VecDeque::from([(workspace.to_owned(), String::new(), 1)]);
    while let Some((folder, prefix, depth)) = todo.pop_front() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut here: Vec<(String, bool)> = entries
            .flatten()
            .take(ENTRIES)
            .filter_map(|entry| {
                let kind = entry.file_type().ok()?;
                let name = entry.file_name().into_string().ok()?;
                (kind.is_file() || kind.is_dir()).then_some((name, kind.is_dir()))
            })
            .collect();
        // The order of a folder is the file system's; the cut below must not depend on it.
        here.sort();
        for (name, is_folder) in here {
            seen += 1;
            if seen > ENTRIES {
                return found;
            }
            let path = format!("{prefix}{name}");
            if !is_folder {
                found.push(path);
            } else if depth < DEPTH && is_ours(&name) {
                todo.push_back((folder.join(&name), format!("{path}/"), depth + 1));
            }
        }
    }
    found
}

fn is_ours(name: &str) -> bool {
    !NOT_OURS.contains(&name) && (!name.starts_with('.') || name == ".config")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(files: &[(&str, &str)], expect: &[&str], monorepo: bool) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let shape = of(dir.path());
        let found: Vec<String> = shape.checks().iter().map(|c| c.replace("python3 ", "python ")).collect();
        assert_eq!(
            (found.as_slice(), shape.is_monorepo()),
            (&expect.iter().map(ToString::to_string).collect::<Vec<_>>()[..], monorepo)
        );
    }

    #[test]
    fn checks_come_from_what_is_there() {
        let package = "[package]\nname = 'x'\nversion = '0.1.0'\n";
        check(&[("Cargo.toml", package), ("src/lib.rs", "")], &["cargo test"], false);
        check(
            &[("pyproject.toml", "[project]\nname='x'\n"), ("tests/test_x.py", "")],
            &["python -m pytest"],
            false,
        );
        check(&[("Makefile", "all:\n\ntest:\n\ttrue\n")], &["make test"], false);
        check(&[("README.md", "")], &[], false);
        check(&[("node_modules/x/package.json", "{\"scripts\":{\"test\":\"x\"}}")], &[], false);
        check(
            &[("a/go.mod", "module a\n"), ("b/Cargo.toml", package)],
            &["go -C a test ./...", "cargo test --manifest-path b/Cargo.toml"],
            true,
        );
    }

    #[test]
    fn a_large_tree_is_not_walked() {
        let dir = tempfile::tempdir().unwrap();
        for folder in 0..80 {
            let folder = dir.path().join(format!("d{folder:02}"));
            fs::create_dir(&folder).unwrap();
            (0..60).for_each(|file| fs::write(folder.join(format!("f{file}")), "").unwrap());
        }
        fs::write(dir.path().join("go.mod"), "module x\n").unwrap();
        assert!(names(dir.path()).len() <= ENTRIES);
        assert_eq!(checks(dir.path()), ["go test ./..."]);
    }

    #[test]
    fn python_by_the_name_it_has_here() {
        assert_eq!(runnable("python -m pytest", &|name| name == "python3"), "python3 -m pytest");
        assert_eq!(runnable("python -m pytest", &|_| true), "python -m pytest");
        assert_eq!(runnable("pythonx", &|_| false), "pythonx");
    }
}
