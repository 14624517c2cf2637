//! Names with a `*` in them, and which of several versions is the newest.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Names looked at where a pattern asks for any.
const NAMES: usize = 512;

/// Whether `name` is what `pattern` describes; one `*` stands for any text.
pub(super) fn matches(pattern: &str, name: &OsStr) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            let name = name.as_bytes();
            name.len() >= start.len() + end.len()
                && name.starts_with(start.as_bytes())
                && name.ends_with(end.as_bytes())
        }
    }
}

/// What exists below `root` under a relative pattern, newest version first.
pub(super) fn expand(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut here = vec![root.to_owned()];
    for part in Path::new(pattern).components() {
        let Component::Normal(part) = part else { continue };
        let Some(text) = part.to_str().filter(|t| t.contains('*')) else {
            here.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        here = here.iter().flat_map(|folder| entries(folder, text)).collect();
    }
    here.retain(|path| path.symlink_metadata().is_ok());
    here
}

fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().take(NAMES).map(|e| e.file_name());
    let mut names: Vec<_> = names.filter(|name| matches(pattern, name)).collect();
    names.sort_by(|a, b| by_version(b, a));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Numbers in names count as numbers: v9 comes before v10.
fn by_version(a: &OsStr, b: &OsStr) -> Ordering {
    parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
}

/// Text and the number after it, as often as there is one.
fn parts(name: &OsStr) -> Vec<(Vec<u8>, u64)> {
    let mut rest = name.as_bytes();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let text = rest.iter().position(u8::is_ascii_digit).unwrap_or(rest.len());
        let digits = rest[text..].iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len() - text);
        let number = rest[text..text + digits]
            .iter()
            .fold(0_u64, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        parts.push((rest[..text].to_vec(), number));
        rest = &rest[text + digits..];
    }
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_star_stands_for_any_text() {
        for (pattern, name, expect) in [
            ("go.mod", "go.mod", true),
            ("go.mod", "xgo.mod", false),
            ("*.py", "a.py", true),
            ("*.py", "py", false),
            ("requirements*.txt", "requirements-dev.txt", true),
            ("requirements*.txt", "requirements.txt", true),
            ("aXa*aXa", "aXaXa", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, OsStr::new(name)), expect, "{pattern} {name}");
        }
    }

    #[test]
    fn the_newest_version_comes_first() {
        let root = tempfile::tempdir().unwrap();
        for name in ["v9.11.2", "v20.3.0", "v20.10.1", "lts", "v20.10"] {
            fs::create_dir_all(root.path().join("node").join(name).join("bin")).unwrap();
        }
        fs::create_dir_all(root.path().join("node/v99")).unwrap();
        let found = expand(root.path(), "node/v*/bin");
        let names: Vec<_> = found
            .iter()
            .map(|p| p.strip_prefix(root.path().join("node")).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["v20.10.1/bin", "v20.10/bin", "v20.3.0/bin", "v9.11.2/bin"]);
        assert_eq!(expand(root.path(), "."), [root.path()]);
        assert!(expand(root.path(), "absent/x").is_empty());
    }
}
