//! What the host asks the launcher to start.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::identity::PayloadIdentity;
use super::terminal::TerminalSize;
use crate::mount::{self, Mount};

/// One payload with everything it may see and use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SandboxJob {
    /// Name of the run: host name inside, and name of its control group.
    pub name: String,
    /// Who the payload is, outside and inside.
    pub identity: PayloadIdentity,
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
    pub limits: PayloadLimits,
    /// What it can reach.
    pub network: PayloadNetwork,
    /// What its standard streams are.
    pub streams: PayloadStreams,
}

/// The part of a job that is known early: enough to make the namespaces and most of the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseMounts {
    /// As in [`SandboxJob`].
    pub name: String,
    /// As in [`SandboxJob`].
    pub identity: PayloadIdentity,
    /// As in [`SandboxJob`].
    pub limits: PayloadLimits,
    /// As in [`SandboxJob`].
    pub network: PayloadNetwork,
    /// As in [`SandboxJob`].
    pub streams: PayloadStreams,
    /// The first mounts of the job: the system, which every payload gets.
    pub mounts: Vec<Mount>,
    /// Owner of the workspace, if it will have to be mapped to the payload.
    pub owner: Option<(u32, u32)>,
}

impl BaseMounts {
    /// Whether a launcher warmed for this ground can carry out `job`.
    pub fn carries(&self, job: &SandboxJob) -> bool {
        (&self.name, self.identity, self.limits, self.network, self.streams)
            == (&job.name, job.identity, job.limits, job.network, job.streams)
            && job.mounts.starts_with(&self.mounts)
    }
}

impl SandboxJob {
    /// The part of it that could have been known early.
    pub fn ground(&self) -> BaseMounts {
        let system = self.mounts.iter().take_while(|m| !m.at.starts_with("/holon"));
        BaseMounts {
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
pub struct PayloadLimits {
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
pub enum PayloadNetwork {
    /// A namespace of its own with nothing but loopback.
    None,
    /// The same, and a listener at [`GATEWAY_PORT`] of its loopback that the host answers.
    Gateway,
    /// The same, and a second listener at [`PROXY_PORT`], behind which the host judges what is asked for.
    Permit,
    /// The host's network.
    Host,
}

impl PayloadNetwork {
    /// Whether it is a namespace of its own.
    pub fn is_private(self) -> bool {
        self != Self::Host
    }

    /// Whether the host has a listener for a gateway in it.
    pub fn has_gateway(self) -> bool {
        self.ports().contains(&GATEWAY_PORT)
    }

    /// The ports of its loopback at which the host answers, in the order in which their listeners are handed out.
    pub(super) fn ports(self) -> &'static [u16] {
        match self {
            Self::None | Self::Host => &[],
            Self::Gateway => &[GATEWAY_PORT],
            Self::Permit => &[GATEWAY_PORT, PROXY_PORT],
        }
    }
}

/// Where the payload finds the host's listener; the namespace is the run's own, so the number is always free.
pub const GATEWAY_PORT: u16 = 8001;
/// Where it finds the proxy of a network by permit.
pub const PROXY_PORT: u16 = 8002;

/// What a payload's standard streams are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayloadStreams {
    /// Nothing to read; what it prints is watched.
    #[default]
    Watched,
    /// Standard input and output are one channel to the host; standard error is watched.
    Channel,
    /// All three are a terminal of its own, of this size, whose other end the host holds.
    Terminal(TerminalSize),
}
