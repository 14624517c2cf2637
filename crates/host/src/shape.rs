//! What a repository's shape says about how it is checked.

use std::fs;
use std::path::Path;

/// Commands that check a workspace, by the files at its root; none when nothing is known.
pub(crate) fn checks(workspace: &Path) -> Vec<String> {
    let has = |name: &str| workspace.join(name).is_file();
    let holds = |name: &str, text: &str| {
        fs::read_to_string(workspace.join(name)).is_ok_and(|content| content.contains(text))
    };
    let mut found = Vec::new();
    if has("Cargo.toml") {
        found.push("cargo test --quiet --offline");
    }
    if holds("package.json", "\"test\":") {
        found.push("npm test --silent");
    }
    if has("pytest.ini") || has("conftest.py") || holds("pyproject.toml", "pytest") {
        found.push("python3 -m pytest -q");
    }
    if has("go.mod") {
        found.push("go test ./...");
    }
    if found.is_empty()
        && ["Makefile", "makefile", "GNUmakefile"].iter().any(|name| has_target(&workspace.join(name)))
    {
        found.push("make test");
    }
    found.into_iter().map(str::to_owned).collect()
}

fn has_target(makefile: &Path) -> bool {
    fs::read_to_string(makefile).is_ok_and(|text| text.lines().any(|line| line.starts_with("test:")))
}
