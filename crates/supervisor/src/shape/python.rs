//! pytest, tox and uv.

use toml::{Table, Value};

use super::{BuildTool, RepositoryListing, RepositoryPackage, join, name, quoted};

pub(super) fn package(tree: &RepositoryListing<'_>, folder: &str) -> Option<RepositoryPackage> {
    let at = |file: &str| join(folder, file);
    let project: Table = tree.text(&at("pyproject.toml")).parse().unwrap_or_default();
    let configured = tree.has(&at("pytest.ini"))
        || project.get("tool").and_then(|tool| tool.get("pytest")).is_some()
        || tree.text(&at("setup.cfg")).contains("[tool:pytest]")
        || tree.text(&at("tox.ini")).contains("[pytest]");
    let pytest = configured || mentions(&project, "pytest") || has_tests(tree, folder);
    let tox = tree.has(&at("tox.ini")) && tree.text(&at("tox.ini")).contains("[testenv");
    let uv = tree.has(&at("uv.lock")) || tree.has("uv.lock");
    let place = if folder.is_empty() { String::new() } else { format!(" {}", quoted(folder)) };
    let check = if pytest && uv {
        Some(format!("uv run pytest{place}"))
    } else if pytest {
        Some(format!("python -m pytest{place}"))
    } else if tox {
        let file = if folder.is_empty() { String::new() } else { format!(" -c {}", quoted(&at("tox.ini"))) };
        Some(format!("tox{file}"))
    } else {
        None
    };
    // A setup.cfg or tox.ini without Python in it is somebody else's.
    let real = check.is_some() || tree.has(&at("pyproject.toml")) || tree.has(&at("setup.py"));
    real.then(|| RepositoryPackage { path: folder.to_owned(), build: BuildTool::Python, check, whole: false })
}

/// Tests without any manifest.
pub(super) fn bare(tree: &RepositoryListing<'_>) -> Option<RepositoryPackage> {
    has_tests(tree, "").then(|| RepositoryPackage {
        path: String::new(),
        build: BuildTool::Python,
        check: Some("python -m pytest".to_owned()),
        whole: true,
    })
}

fn has_tests(tree: &RepositoryListing<'_>, folder: &str) -> bool {
    tree.below(folder).any(|path| {
        let name = name(path);
        name == "conftest.py"
            || (name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py")))
    })
}

/// Whether a requirement of that name is anywhere in the manifest.
fn mentions(table: &Table, wanted: &str) -> bool {
    fn value(value: &Value, wanted: &str) -> bool {
        match value {
            Value::String(text) => {
                let end =
                    text.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(text.len());
                &text[..end] == wanted
            }
            Value::Array(list) => list.iter().any(|item| value_in(item, wanted)),
            Value::Table(table) => table.iter().any(|(key, item)| key == wanted || value_in(item, wanted)),
            _ => false,
        }
    }
    fn value_in(item: &Value, wanted: &str) -> bool {
        value(item, wanted)
    }
    table.values().any(|item| value(item, wanted))
}
