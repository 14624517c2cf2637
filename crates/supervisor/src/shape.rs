//! The repository's shape, from the names of its files and the text of its manifests: which checks there are.

mod java;
mod native;
mod node;
mod python;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Most packages looked at.
const PACKAGES: usize = 200;
/// Most check commands given.
const CHECKS: usize = 8;

/// How something is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum BuildTool {
    Cargo,
    Npm,
    Pnpm,
    Yarn,
    Python,
    Go,
    Maven,
    Gradle,
    Cmake,
    Make,
}

/// One package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryPackage {
    /// Its folder; empty for the root.
    pub path: String,
    /// How it is built.
    pub build: BuildTool,
    /// What checks it, from the root; nothing when it has no tests.
    pub check: Option<String>,
    /// Whether its check covers the packages below it too.
    pub whole: bool,
}

/// What a repository consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryShape {
    /// Its packages, outermost first.
    pub packages: Vec<RepositoryPackage>,
}

/// The names of files whose text [`read`] wants to see.
pub const MANIFESTS: [&str; 13] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Makefile",
    "makefile",
    "CMakeLists.txt",
];

/// Those of the given files whose text is wanted, outermost first.
pub fn wanted<'a>(files: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = files.iter().copied().filter(|path| MANIFESTS.contains(&name(path))).collect();
    found.retain(|path| !is_foreign(path));
    found.sort_by_key(|path| (path.matches('/').count(), *path));
    found.truncate(PACKAGES);
    found
}

/// What was found in a repository.
struct RepositoryListing<'a> {
    files: &'a [&'a str],
    texts: &'a BTreeMap<String, String>,
}

impl RepositoryListing<'_> {
    fn has(&self, path: &str) -> bool {
        self.files.contains(&path)
    }

    fn text(&self, path: &str) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }

    /// The files below a folder.
    fn below<'b>(&'b self, folder: &'b str) -> impl Iterator<Item = &'b str> {
        self.files.iter().copied().filter(move |path| is_below(path, folder) && !is_foreign(path))
    }
}

/// Reads the shape from all file names, relative to the root, and the texts of those [`wanted`].
pub fn read(files: &[&str], texts: &BTreeMap<String, String>) -> RepositoryShape {
    let tree = RepositoryListing { files, texts };
    let mut packages: Vec<RepositoryPackage> = Vec::new();
    for path in wanted(files) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let package = match name(path) {
            "Cargo.toml" => native::cargo(&tree, folder),
            "go.mod" => Some(native::go(folder)),
            "package.json" => node::package(&tree, folder),
            "pyproject.toml" | "setup.cfg" | "tox.ini" | "pytest.ini" => python::package(&tree, folder),
            "pom.xml" => Some(java::maven(&tree, folder)),
            "build.gradle" | "build.gradle.kts" => Some(java::gradle(&tree, folder)),
            "CMakeLists.txt" => native::cmake(&tree, folder),
            _ => native::make(&tree, folder),
        };
        let Some(package) = package else { continue };
        let known = packages.iter().any(|other| other.path == package.path && other.build == package.build);
        if !known && packages.len() < PACKAGES {
            packages.push(package);
        }
    }
    if let Some(bare) =
        python::bare(&tree).filter(|_| !packages.iter().any(|package| package.build == BuildTool::Python))
    {
        packages.push(bare);
    }
    // A Makefile beside a real build usually only calls it.
    let built: Vec<String> = packages
        .iter()
        .filter(|p| p.build != BuildTool::Make && p.check.is_some())
        .map(|p| p.path.clone())
        .collect();
    packages.retain(|package| package.build != BuildTool::Make || !built.contains(&package.path));
    packages.sort_by(|a, b| {
        (a.path.matches('/').count(), &a.path, a.build).cmp(&(b.path.matches('/').count(), &b.path, b.build))
    });
    RepositoryShape { packages }
}

impl RepositoryShape {
    /// Whether there are several packages.
    pub fn is_monorepo(&self) -> bool {
        let mut folders: Vec<&str> = self.packages.iter().map(|package| package.path.as_str()).collect();
        folders.dedup();
        folders.len() > 1
    }

    /// The checks of everything: the root's, or without any those of all packages.
    pub fn checks(&self) -> Vec<String> {
        let root = self.packages.iter().filter(|package| package.path.is_empty());
        let of_root: Vec<String> = root.filter_map(|package| package.check.clone()).collect();
        let mut checks = if of_root.is_empty() {
            self.packages.iter().filter_map(|package| package.check.clone()).collect()
        } else {
            of_root
        };
        once(&mut checks);
        checks
    }

    /// The checks of the packages these paths belong to; those of everything when that says nothing.
    pub fn checks_for(&self, touched: &[&str]) -> Vec<String> {
        let mut checks: Vec<String> = Vec::new();
        for path in touched {
            let holds = self.packages.iter().filter(|package| is_below(path, &package.path));
            let deepest = holds.clone().map(|package| package.path.len()).max();
            let own: Vec<String> = holds
                .filter(|package| Some(package.path.len()) == deepest)
                .filter_map(|package| package.check.clone())
                .collect();
            checks.extend(own);
        }
        once(&mut checks);
        if checks.is_empty() { self.checks() } else { checks }
    }
}

fn once(checks: &mut Vec<String>) {
    let mut seen: Vec<String> = Vec::new();
    checks.retain(|check| {
        let new = !seen.contains(check) && seen.len() < CHECKS;
        if new {
            seen.push(check.clone());
        }
        new
    });
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Other people's code.
fn is_foreign(path: &str) -> bool {
    path.split('/')
        .any(|part| ["node_modules", "vendor", "target", ".venv", "venv", "third_party"].contains(&part))
}

/// A path inside of a folder.
fn join(folder: &str, file: &str) -> String {
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

/// A path as a word of a shell line.
fn quoted(path: &str) -> String {
    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c));
    if plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests;
