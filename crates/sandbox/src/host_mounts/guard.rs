//! What may never be shown, whoever asks: the last check on every path before it is planned.

use std::path::{Path, PathBuf};

use super::HostMountRequest;
use super::table::ToolchainTable;

/// Kernel interfaces, sockets, and the places the private root fills itself.
const MADE_INSIDE: &[&str] = &["/boot", "/dev", "/holon", "/proc", "/run", "/sys", "/var/run", "/var/tmp"];

/// Knows the folders that must stay out of sight.
#[derive(Debug)]
pub(super) struct ExposureGuard {
    home: Option<PathBuf>,
    workspace: PathBuf,
    run_dir: PathBuf,
    never: Vec<PathBuf>,
}

impl ExposureGuard {
    pub(super) fn new(table: &ToolchainTable, request: &HostMountRequest<'_>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let home = request.home.map(real);
        let mut never = Vec::new();
        for entry in &table.never {
            let path = match (entry.strip_prefix("~/"), &home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_), None) => continue,
                (None, _) => PathBuf::from(entry),
            };
            // Only a path asked for by a person can be wide enough to hold the far end of such a link.
            let far = (!request.extra_paths.is_empty()).then(|| path.canonicalize().ok()).flatten();
            never.extend(far.filter(|far| *far != path));
            never.push(path);
        }
        Self { home, workspace: real(request.workspace), run_dir: real(request.run_dir), never }
    }

    /// The workspace, without links in its path.
    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The folder of the run, without links in its path.
    pub(super) fn run_dir(&self) -> &Path {
        &self.run_dir
    }

    /// Why `real`, a path without links, may not be shown; `None` if it may.
    pub(super) fn objection(&self, real: &Path) -> Option<&'static str> {
        if real.components().count() <= 2 {
            return Some("it is the root of the machine or one of its top folders");
        }
        if MADE_INSIDE.iter().any(|made| real.starts_with(made)) {
            return Some("it belongs to the kernel, to running services or to the sandbox itself");
        }
        if self.home.as_ref().is_some_and(|home| home.starts_with(real)) {
            return Some("it holds the home folder");
        }
        if real.starts_with(&self.workspace) || self.workspace.starts_with(real) {
            return Some("it overlaps the workspace, which the run sees as its own copy");
        }
        if real.starts_with(&self.run_dir) || self.run_dir.starts_with(real) {
            return Some("it overlaps the folder of this run");
        }
        if self.never.iter().any(|never| real.starts_with(never)) {
            return Some("it holds credentials");
        }
        None
    }

    /// Paths below `real` that hold credentials.
    pub(super) fn never_below<'a>(&'a self, real: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        self.never.iter().filter(move |never| never.starts_with(real) && *never != real)
    }
}
