//! Which files environments may share although they were written at different times.

/// Folders whose files are told apart by what they hold: packages are unpacked once and never built on in place.
const BY_CONTENT: [&str; 9] = [
    "_cacache",
    "dist-packages",
    "gems",
    "mod",
    "node_modules",
    "registry",
    "repository",
    "site-packages",
    "store",
];

/// Whether the time of a file is part of what it says. Build tools compare the times of what they made, and compiled Python
/// names the time of its source.
pub fn time_counts(path: &str) -> bool {
    let by_content = path.split('/').any(|name| BY_CONTENT.contains(&name));
    !by_content || path.ends_with(".py") || path.ends_with(".pyc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_by_content_and_what_is_built_by_its_time_too() {
        for path in
            ["node_modules/a/index.js", "home/.npm/_cacache/x", ".venv/lib/python3/site-packages/n.so"]
        {
            assert!(!time_counts(path), "{path}");
        }
        for path in
            ["target/debug/x.d", "dist/a.js", ".venv/lib/python3/site-packages/a.py", "node_modules.txt"]
        {
            assert!(time_counts(path), "{path}");
        }
        assert!(BY_CONTENT.is_sorted());
    }
}
