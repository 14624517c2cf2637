//! What the host asks the launcher to start.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::identity::Identity;
use crate::mount::{self, Mount};

/// One payload with everything it may see and use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Name of the run: host name inside, and name of its control group.
    pub name: String,
    /// Who the payload is, outside and inside.
    pub identity: Identity,
    /// The private root, complete; what every payload gets (`layout::system_root`) first.
    pub mounts: Vec<Mount>,
    /// Directories below a read-only mount that are opened for writing again.
    #[serde(with = "mount::paths")]
    pub writable_below: Vec<PathBuf>,
    /// The command; empty for a probe that only builds the walls.
    #[serde(with = "mount::strings")]
    pub argv: Vec<std::ffi::OsString>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Working directory inside.
    #[serde(with = "mount::path")]
    pub cwd: PathBuf,
    /// What it may use up.
    pub limits: Limits,
    /// What it can reach.
    pub network: Network,
    /// What its standard streams are.
    pub streams: Streams,
}

/// The part of a job that is known early: enough to make the namespaces and most of the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// As in [`Job`].
    pub name: String,
    /// As in [`Job`].
    pub identity: Identity,
    /// As in [`Job`].
    pub limits: Limits,
    /// As in [`Job`].
    pub network: Network,
    /// As in [`Job`].
    pub streams: Streams,
    /// The first mounts of the job: the system, which every payload gets.
    pub mounts: Vec<Mount>,
    /// Owner of the workspace, if it will have to be mapped to the payload.
    pub owner: Option<(u32, u32)>,
}

impl Ground {
    /// Whether a launcher warmed for this ground can carry out `job`.
    pub fn carries(&self, job: &Job) -> bool {
        (&self.name, self.identity, self.limits, self.network, self.streams)
            == (&job.name, job.identity, job.limits, job.network, job.streams)
            && job.mounts.starts_with(&self.mounts)
    }
}

impl Job {
    /// The part of it that could have been known early.
    pub fn ground(&self) -> Ground {
        let system = self.mounts.iter().take_while(|m| !m.at.starts_with("/holon"));
        Ground {
            name: self.name.clone(),
            identity: self.identity,
            limits: self.limits,
            network: self.network,
            streams: self.streams,
            mounts: system.cloned().collect(),
            owner: None,
        }
    }
}

/// Hard limits, enforced by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Open descriptors per process.
    pub files: u64,
    /// Largest single file in MiB.
    pub file_mb: u64,
    /// Memory of the whole run in MiB, where a control group can be had.
    pub memory_mb: u64,
}

/// The network the payload lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// A namespace of its own with nothing but loopback.
    None,
    /// The same, and a listener at [`GATEWAY_PORT`] of its loopback that the host answers.
    Gateway,
    /// The host's network.
    Host,
}

impl Network {
    /// Whether it is a namespace of its own.
    pub fn is_private(self) -> bool {
        self != Self::Host
    }
}

/// Where the payload finds the host's listener; the namespace is the run's own, so the number is always free.
pub const GATEWAY_PORT: u16 = 8001;

/// What a payload's standard streams are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// Nothing to read; what it prints is watched.
    #[default]
    Watched,
    /// Standard input and output are one channel to the host; standard error is watched.
    Channel,
}
