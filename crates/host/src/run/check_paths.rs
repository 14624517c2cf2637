//! Paths of a workspace, as far as tests are looked for in it.

use std::fs;
use std::path::Path;

/// Folders that hold what tools build or fetch.
const BUILT: [&str; 11] = [
    ".git",
    "target",
    "node_modules",
    "__pycache__",
    ".venv",
    "venv",
    ".gradle",
    ".pytest_cache",
    "vendor",
    "dist",
    "build",
];
/// Most entries looked at.
const ENTRIES: usize = 20_000;

/// Files of a tree without what tools build, nearest first.
pub(super) fn of(root: &Path) -> Vec<String> {
    let mut left = ENTRIES;
    let mut found = Vec::new();
    let mut todo = std::collections::VecDeque::from([String::new()]);
    while let Some(below) = todo.pop_front() {
        let Ok(list) = fs::read_dir(root.join(&below)) else { continue };
        for entry in list.flatten() {
            if left == 0 {
                return found;
            }
            left -= 1;
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            if kind.is_dir() && !BUILT.contains(&name.as_str()) {
                todo.push_back(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found
}
