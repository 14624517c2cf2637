//! Programs of the Python package index that long tests use: pinned, each in an environment of its own outside of the tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::{XtaskFailure, process};

/// How long installing one may take, in seconds.
const SECONDS: u64 = 600;

/// A program, where tests look for it, and what happens without it.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct PythonProgram {
    pub(crate) name: String,
    pub(crate) version: String,
    /// What is started of it, when that is not called like the package.
    #[serde(default)]
    pub(crate) binary: Option<String>,
    /// Packages in the same environment, with their versions.
    #[serde(default)]
    pub(crate) with: Vec<String>,
    /// The variable that names it to the tests.
    pub(crate) variable: String,
    pub(crate) without: String,
}

impl PythonProgram {
    /// Its path, installed or not.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        Some(self.folder()?.join("bin").join(self.binary.as_ref().unwrap_or(&self.name)))
    }

    fn folder(&self) -> Option<PathBuf> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
        Some(cache.join("holon-xtask/python").join(format!("{}@{}", self.name, self.version)))
    }

    /// Whether it was installed to the end.
    pub(crate) fn is_there(&self) -> bool {
        self.folder().is_some_and(|folder| folder.join("complete").is_file())
    }

    /// Makes its environment; one that was begun and not finished is made anew.
    pub(crate) fn install(&self) -> Result<(), XtaskFailure> {
        let folder = self.folder().ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
        let _ = std::fs::remove_dir_all(&folder);
        let parent = folder.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("cannot create {}: {error}", parent.display()))?;
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&folder);
        process::show(&mut process::with_deadline(SECONDS, &make))?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
        ])
        .arg(format!("{}=={}", self.name, self.version))
        .args(&self.with);
        process::show(&mut process::with_deadline(SECONDS, &pip))?;
        let done = folder.join("complete");
        std::fs::write(&done, "").map_err(|error| format!("{}: {error}", done.display()))
    }
}
