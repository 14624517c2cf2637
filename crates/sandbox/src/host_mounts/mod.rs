//! Toolchains inside the walls: what a workspace needs to build and test offline, and nothing else of the host.
//!
//! Read `policies/toolchains.toml` first: it is the whole list of what can be seen. [`find`] looks which of it this
//! workspace needs (`need`) and this host has (`locate`), refuses what must never be seen (`guard`), collects it
//! (`plan`) and turns it into mounts (`settle`). Secrets are left out in three ways: a private place holds only what
//! the table names, a merged view gets a whiteout, and a plain view gets something laid over the file.

mod backing_folders;
mod guard;
mod locate;
mod names;
mod need;
mod path;
mod plan;
mod resolve;
mod secrets;
mod settle;
mod table;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::mount::Mount;
use locate::ToolchainHost;
use plan::{HostMountPlan, ShownParts};

/// Where the workspace is inside.
const WORKSPACE: &str = "/holon/workspace";
/// Where HOME is inside.
const HOME: &str = "/holon/home";

/// What to look for, and on which host.
pub struct HostMountRequest<'a> {
    /// The workspace on the host; only names in it are looked at.
    pub workspace: &'a Path,
    /// Whether the payload may write to its workspace; if not, build output is sent to temporary space.
    pub workspace_writable: bool,
    /// The home folder of the host's user.
    pub home: Option<&'a Path>,
    /// The host's environment variables.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
    /// Whether programs of toolchains are shown (`expose.toolchains`).
    pub toolchains: bool,
    /// Whether package caches are shown (`expose.caches`).
    pub caches: bool,
    /// Paths the user's own configuration asks for (`expose.paths`); `~/` is the home folder.
    pub extra_paths: &'a [PathBuf],
    /// The private folder of this run; what backs writable views is made below it.
    pub run_dir: &'a Path,
    /// Kernel uid and gid that must own what the payload writes to, when root starts it.
    pub owner: Option<(u32, u32)>,
    /// Toolchains an adapter needs to run itself; their programs are shown whatever `toolchains` says.
    pub wanted: &'a [&'a str],
    /// Whether the run is without network: tools are then told so, and fail at once instead of waiting.
    pub offline: bool,
    /// Whether merged views can be mounted; if not, caches are read-only.
    pub overlays: bool,
}

impl fmt::Debug for HostMountRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("workspace", &self.workspace).field("wanted", &self.wanted).finish()
    }
}

/// What the payload will find besides the system and its workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostMounts {
    /// Mounts for the private root.
    pub mounts: Vec<Mount>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
    /// Variables by which tools know that there is no network, for what has none in a run that has one.
    pub env_offline: Vec<(String, String)>,
    /// Entries for PATH, in order, to go before those of the system.
    pub path: Vec<PathBuf>,
    /// What was left out and why, for a person to read.
    pub notes: Vec<String>,
    /// Files of the host that hold credentials and are not seen, or not as they are.
    pub masked: Vec<PathBuf>,
    /// Names of the toolchains shown.
    pub toolchains: Vec<String>,
}

/// Why nothing can be shown.
#[derive(Debug, thiserror::Error)]
pub enum HostMountError {
    /// The built-in table is broken.
    #[error("policies/toolchains.toml: {0}")]
    Table(String),
    /// An adapter asks for something the table does not have.
    #[error("no toolchain is called `{name}`; known ones are {known}")]
    UnknownToolchain {
        /// The name asked for.
        name: String,
        /// All names of the table.
        known: String,
    },
    /// A path of the user's configuration that must not be seen.
    #[error("`{}` in expose.paths is refused: {reason}; name a folder inside it that holds no credentials", path.display())]
    Refused {
        /// The path asked for.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A folder of the run could not be made.
    #[error("preparing {}: {source}", path.display())]
    Prepare {
        /// What was being made.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl HostMountError {
    fn prepare(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::Prepare { path: path.to_owned(), source }
    }
}

/// Finds what the workspace and the adapter need on this host and prepares it to be mounted.
pub fn find(request: &HostMountRequest<'_>) -> Result<HostMounts, HostMountError> {
    let table = table::table()?;
    let needed = need::needed(table, request)?;
    let host = ToolchainHost::new(request);
    let mut plan = HostMountPlan::new(request, table);
    for toolchain in needed {
        let programs = request.toolchains || request.wanted.contains(&toolchain.name.as_str());
        let parts = ShownParts { programs, caches: request.caches };
        for place in &toolchain.place {
            for root in host.places(place) {
                plan.place(&toolchain.name, place, &root, parts);
            }
        }
        let conditional = [
            (&toolchain.env, true),
            (&toolchain.env_offline, request.offline),
            (&toolchain.env_read_only, !request.workspace_writable),
        ];
        for (variables, _) in conditional.iter().filter(|(_, holds)| *holds) {
            plan.out.env.extend(variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        if !request.offline {
            let told = toolchain.env_offline.iter().map(|(name, value)| (name.clone(), value.clone()));
            plan.out.env_offline.extend(told);
        }
        plan.out.toolchains.push(toolchain.name.clone());
    }
    for path in request.extra_paths {
        let refuse = |reason: &str| HostMountError::Refused { path: path.clone(), reason: reason.to_owned() };
        let full = match (path.strip_prefix("~"), request.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path.clone(),
        };
        if !full.is_absolute() {
            return Err(refuse("it is not absolute"));
        }
        plan.extra(&full).map_err(|reason| refuse(&reason))?;
    }
    settle::settle(&mut plan)?;
    let path = path::entries(&plan, &host);
    let mut exposed = plan.out;
    exposed.path = path;
    exposed.masked.sort();
    exposed.masked.dedup();
    Ok(exposed)
}
