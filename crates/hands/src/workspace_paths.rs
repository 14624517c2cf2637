//! Paths as a model gives them, and names near to one that is not there.

use std::path::{Component, Path, PathBuf};

use crate::{ExecutorError, ExecutorErrorKind};

/// Most entries of a folder that are compared with a name that was not found.
const MOST_COMPARED: usize = 5_000;

/// The folder that relative paths start from.
#[derive(Debug, Clone)]
pub(crate) struct WorkspacePaths {
    root: PathBuf,
}

impl WorkspacePaths {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where a path leads; empty is the workspace.
    pub(crate) fn resolve(&self, given: &str) -> Result<PathBuf, ExecutorError> {
        if given.contains('\0') {
            return Err(ExecutorError::new(ExecutorErrorKind::Invalid, "a path cannot hold a NUL character"));
        }
        Ok(match given {
            "" | "." | "./" => self.root.clone(),
            _ => self.root.join(given),
        })
    }

    /// A path below the folder `given`, written the way that folder was.
    pub(crate) fn below(given: &str, relative: &Path) -> String {
        let mut start = given;
        while let Some(rest) = start.strip_prefix("./") {
            start = rest.trim_start_matches('/');
        }
        let relative = relative.to_string_lossy();
        match start {
            "" | "." => relative.into_owned(),
            _ if relative.is_empty() => start.to_owned(),
            _ if start.ends_with('/') => format!("{start}{relative}"),
            _ => format!("{start}/{relative}"),
        }
    }

    /// That there is nothing at `path`, with what could have been meant.
    pub(crate) fn missing(&self, given: &str, path: &Path) -> ExecutorError {
        let message = match self.hint(given, path) {
            Some(hint) => format!("{given} does not exist. {hint}"),
            None => format!("{given} does not exist"),
        };
        ExecutorError::new(ExecutorErrorKind::NotFound, message)
    }

    fn hint(&self, given: &str, path: &Path) -> Option<String> {
        if path.is_symlink() {
            let target = std::fs::read_link(path).ok()?;
            return Some(format!("It is a link to {}, which is not there.", target.display()));
        }
        if given.starts_with('~') {
            return Some("`~` is not expanded here: give an absolute path.".to_owned());
        }
        let relative = given.trim_start_matches('/');
        if relative != given && !relative.is_empty() && self.root.join(relative).exists() {
            return Some(format!("Relative to the workspace there is {relative}."));
        }
        let folder = path.parent()?;
        if !folder.is_dir() {
            let there = folder.ancestors().find(|folder| folder.is_dir())?;
            let shown = there.strip_prefix(&self.root).unwrap_or(there);
            let shown =
                if shown.as_os_str().is_empty() { "the workspace".into() } else { shown.to_string_lossy() };
            return Some(format!("Its folder does not exist either; the nearest one that does is {shown}."));
        }
        let near = near_names(&path.file_name()?.to_string_lossy(), folder);
        (!near.is_empty()).then(|| format!("Near names in that folder: {}.", near.join(", ")))
    }

    /// Whether this is the workspace itself or a folder around it.
    pub(crate) fn holds_root(&self, path: &Path) -> bool {
        match (std::fs::canonicalize(&self.root), std::fs::canonicalize(path)) {
            (Ok(root), Ok(path)) => root.starts_with(path),
            _ => false,
        }
    }

    /// Whether a path without links is inside the workspace.
    pub(crate) fn inside(&self, real: &Path) -> bool {
        std::fs::canonicalize(&self.root).is_ok_and(|root| real.starts_with(root))
            && !real.components().any(|part| part == Component::ParentDir)
    }
}

/// Up to three names in the folder that look like this one, the nearest first.
fn near_names(name: &str, folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let wanted = name.to_lowercase();
    let most = (wanted.chars().count() / 3).max(2);
    let mut near: Vec<(usize, String)> = entries
        .take(MOST_COMPARED)
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter_map(|name| distance(&wanted, &name.to_lowercase(), most).map(|far| (far, name)))
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// How many characters to change, add or drop; `None` beyond `most`. The same name with another ending is near.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let stem = |name: &str| name.split_once('.').map_or(name.to_owned(), |(stem, _)| stem.to_owned());
    if !stem(a).is_empty() && stem(a) == stem(b) {
        return Some(usize::from(a != b));
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row.last().copied().filter(|far| *far <= most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_that_could_have_been_meant() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["main.rs", "mod.rs", "Makefile", "zebra.txt"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("nowhere", dir.path().join("dangling")).unwrap();
        let place = WorkspacePaths::new(dir.path().to_owned());
        let check = |given: &str, expected: &str| {
            let path = place.resolve(given).unwrap();
            assert_eq!(place.missing(given, &path).message, format!("{given} does not exist{expected}"));
        };
        check("man.rs", ". Near names in that folder: main.rs, mod.rs.");
        check("makefile", ". Near names in that folder: Makefile.");
        check("main.py", ". Near names in that folder: main.rs.");
        check("/main.rs", ". Relative to the workspace there is main.rs.");
        check("~/x", ". `~` is not expanded here: give an absolute path.");
        check("dangling", ". It is a link to nowhere, which is not there.");
        check("a/b/c", ". Its folder does not exist either; the nearest one that does is the workspace.");
        check("unlike-anything-here", "");
    }

    #[test]
    fn paths_keep_the_form_their_folder_was_given_in() {
        let check = |given, relative: &str, expected| {
            assert_eq!(WorkspacePaths::below(given, Path::new(relative)), expected);
        };
        check("", "a/b", "a/b");
        check(".", "a", "a");
        check("./src", "a", "src/a");
        check("src/", "a", "src/a");
        check("/abs", "a", "/abs/a");
        check("/", "a", "/a");
        check("src/a.rs", "", "src/a.rs");
    }
}
