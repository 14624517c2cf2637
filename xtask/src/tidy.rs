//! `cargo xtask tidy`: rules of the source tree that no compiler checks.
//!
//! Each rule is a pure function from the tree to findings; only [`SourceTree::read`] touches the disk.

mod arrows;
pub(crate) mod code;
mod leftovers;
pub(crate) mod length;
mod licences;
mod machine;
mod markdown;
mod names;
mod promises;
mod unsafety;
mod versions;

pub(crate) use code::code_only;

use crate::{XtaskFailure, project};

/// `cargo xtask tidy`.
pub(crate) fn run() -> Result<(), XtaskFailure> {
    let tree = SourceTree::read()?;
    let mut findings = check(&tree);
    findings.extend(licences::check(&tree, &licences::of_dependencies()?));
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, nothing to say", tree.0.len());
            Ok(())
        }
        count => Err(format!("tidy has {count} findings")),
    }
}

fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let rules = [
        arrows::check,
        versions::check,
        unsafety::check,
        promises::check,
        names::check,
        length::check,
        leftovers::check,
        machine::check,
        markdown::check,
    ];
    rules.iter().flat_map(|rule| rule(tree)).collect()
}

/// A text file of the tree.
pub(crate) struct TidyFile {
    /// Relative to the root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TidyFile {
    /// The ending of its name, without the dot.
    fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Its lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The text files of the source tree.
pub(crate) struct SourceTree(pub(crate) Vec<TidyFile>);

impl SourceTree {
    pub(crate) fn read() -> Result<Self, XtaskFailure> {
        let root = project::root();
        let mut files = Vec::new();
        for path in project::files()? {
            let full = root.join(&path);
            if full.is_symlink() || !full.is_file() {
                continue;
            }
            let bytes =
                std::fs::read(&full).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            // What is not text has nothing to check.
            if let (Some(path), Ok(text)) = (path.to_str(), String::from_utf8(bytes)) {
                files.push(TidyFile { path: path.to_owned(), text });
            }
        }
        Ok(Self(files))
    }

    fn get(&self, path: &str) -> Option<&TidyFile> {
        self.0.iter().find(|file| file.path == path)
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &TidyFile> {
        self.0.iter().filter(|file| file.extension() == "rs")
    }

    /// The manifests of the workspace's own packages.
    fn manifests(&self) -> impl Iterator<Item = &TidyFile> {
        let own = |path: &str| {
            let parts: Vec<&str> = path.split('/').collect();
            matches!(parts.as_slice(), ["crates", _, "Cargo.toml"] | ["xtask" | "bench", "Cargo.toml"])
        };
        self.0.iter().filter(move |file| own(&file.path))
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| TidyFile { path: path.to_string(), text: text.to_string() })
                .collect(),
        )
    }
}

/// Something a rule objects to.
#[derive(Debug, PartialEq, Eq)]
struct TidyFinding {
    path: String,
    /// From 1; 0 for the file as a whole.
    line: usize,
    message: String,
}

impl TidyFinding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl std::fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Runs one rule over files given as data and compares what it says, as `path:line` and a part of the message.
#[cfg(test)]
#[track_caller]
fn expect(rule: fn(&SourceTree) -> Vec<TidyFinding>, files: &[(&str, &str)], expected: &[(&str, &str)]) {
    let found: Vec<String> = rule(&SourceTree::of(files)).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, (place, part)) in found.iter().zip(expected) {
        assert!(
            found.starts_with(&format!("{place}: ")) && found.contains(part),
            "{found} is not {place}: {part}"
        );
    }
}
