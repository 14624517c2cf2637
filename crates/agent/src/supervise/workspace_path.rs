//! Paths as the supervisor knows them: relative to the workspace, in one form.

/// A path in its one form; nothing when it lies outside of the workspace.
///
/// `root` is the workspace as the hands see it. Links are not looked at: this is about names.
pub(super) fn inside(root: &str, path: &str) -> Option<String> {
    let root = root.trim_end_matches('/');
    let relative = match path.strip_prefix('/') {
        None => path,
        Some(_) => {
            let rest = path.strip_prefix(root).filter(|_| !root.is_empty())?;
            if rest.is_empty() { "" } else { rest.strip_prefix('/')? }
        }
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Folders that tools fill by themselves, whether the repository ignores them or not.
const DERIVED: [&str; 12] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".venv",
    ".gradle",
    ".hypothesis",
    "node_modules",
    ".nyc_output",
    ".git",
];

/// Whether a path is the work of a tool and nobody's decision.
pub(super) fn is_derived(path: &str) -> bool {
    path.split('/').any(|part| DERIVED.contains(&part)) || path.ends_with(".pyc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_for_every_spelling() {
        let check = |path: &str, expect: Option<&str>| {
            assert_eq!(inside("/holon/workspace", path).as_deref(), expect, "{path}");
        };
        check("src/a.rs", Some("src/a.rs"));
        check("./src//a.rs", Some("src/a.rs"));
        check("src/../b.rs", Some("b.rs"));
        check("/holon/workspace/src/a.rs", Some("src/a.rs"));
        check("/holon/workspace", Some(""));
        check("/holon/workspaces/a", None);
        check("/holon/output/summary.md", None);
        check("../a", None);
        check("", Some(""));
        assert_eq!(inside("", "/etc/passwd"), None);
    }
}
