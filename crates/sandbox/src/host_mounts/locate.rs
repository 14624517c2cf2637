//! Where toolchains live on this host.

use std::env;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::HostMountRequest;
use super::names::expand;
use super::table::ToolchainPlace;

/// Entries of the host's PATH that are looked at.
const PATH_ENTRIES: usize = 64;

/// The host as far as the table asks about it.
pub(super) struct ToolchainHost<'a> {
    request: &'a HostMountRequest<'a>,
    /// The host's PATH: each entry as it is written and without links.
    pub(super) path: Vec<(PathBuf, PathBuf)>,
}

impl<'a> ToolchainHost<'a> {
    pub(super) fn new(request: &'a HostMountRequest<'a>) -> Self {
        let path = (request.env)("PATH").unwrap_or_default();
        let path = env::split_paths(&path)
            .filter(|entry| entry.is_absolute())
            .take(PATH_ENTRIES)
            .filter_map(|entry| entry.canonicalize().ok().map(|real| (entry, real)))
            .collect();
        Self { request, path }
    }

    /// The folders a place of the table stands for here.
    pub(super) fn places(&self, place: &ToolchainPlace) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for pattern in &place.find {
            let mut matches = self.candidates(pattern);
            matches.retain(|path| path.is_dir() && place.needs.iter().all(|need| path.join(need).exists()));
            if place.every {
                found.append(&mut matches);
                continue;
            }
            // What the person uses comes before what is merely newest.
            let used = matches.iter().position(|path| self.on_path(path)).unwrap_or(0);
            if used < matches.len() {
                return vec![matches.swap_remove(used)];
            }
        }
        found
    }

    fn on_path(&self, folder: &Path) -> bool {
        folder.canonicalize().is_ok_and(|real| self.path.iter().any(|(_, entry)| entry.starts_with(&real)))
    }

    fn candidates(&self, pattern: &str) -> Vec<PathBuf> {
        let (bases, rest) = if let Some(rest) = pattern.strip_prefix("~/") {
            (self.request.home.map(Path::to_owned).into_iter().collect(), rest)
        } else if let Some(variable) = pattern.strip_prefix('$') {
            let (name, rest) = variable.split_once('/').unwrap_or((variable, ""));
            ((self.request.env)(name).map(|value| folders(&value)).unwrap_or_default(), rest)
        } else {
            (vec![PathBuf::from("/")], pattern.trim_start_matches('/'))
        };
        bases.iter().filter(|base| base.is_absolute()).flat_map(|base| expand(&plain(base), rest)).collect()
    }
}

fn folders(value: &OsStr) -> Vec<PathBuf> {
    env::split_paths(value).filter(|path| path.is_absolute()).collect()
}

/// The path without `.`, doubled slashes and, by resolving it, `..`.
fn plain(path: &Path) -> PathBuf {
    if path.components().any(|part| part == Component::ParentDir) {
        return path.canonicalize().unwrap_or_else(|_| path.to_owned());
    }
    path.components().collect()
}
