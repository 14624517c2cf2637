//! Which walls really stood: reported by init from inside, never assumed.

use holon_core::sandbox::{EnforcedLimits, EnforcementRecord};
use serde::{Deserialize, Serialize};

/// One field per layer, filled in as each step succeeds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxEnforcement {
    /// User namespace.
    pub user_ns: bool,
    /// Mount namespace.
    pub mount_ns: bool,
    /// Process namespace.
    pub pid_ns: bool,
    /// Network namespace with nothing but loopback.
    pub net_ns: bool,
    /// System V IPC and message queue namespace.
    pub ipc_ns: bool,
    /// Host name namespace.
    pub uts_ns: bool,
    /// Control group namespace.
    pub cgroup_ns: bool,
    /// A root built from a short list.
    pub private_root: bool,
    /// A fresh /proc with its dangerous files covered.
    pub masked_proc: bool,
    /// Landlock version applied.
    pub landlock: Option<u32>,
    /// System call filter.
    pub seccomp: bool,
    /// No privileges through set-uid programs.
    pub no_new_privs: bool,
    /// All capability sets are empty.
    pub capabilities_dropped: bool,
    /// The payload's kernel uid is not 0.
    pub unprivileged_payload: bool,
    /// Mounts cannot be changed from inside even with capabilities.
    pub locked_mounts: bool,
    /// How the number of processes is limited.
    pub processes: Option<String>,
    /// How memory is limited.
    pub memory: Option<String>,
    /// How the number of descriptors and the size of a file are limited.
    pub files: Option<String>,
}

impl SandboxEnforcement {
    /// The record for a manifest; what only the host knows (workspace, tools, disk) is left for it to fill in.
    pub fn enforced(&self) -> EnforcementRecord {
        EnforcementRecord {
            user_ns: self.user_ns,
            mount_ns: self.mount_ns,
            pid_ns: self.pid_ns,
            net_ns: self.net_ns,
            ipc_ns: self.ipc_ns,
            uts_ns: self.uts_ns,
            cgroup_ns: self.cgroup_ns,
            private_root: self.private_root,
            masked_proc: self.masked_proc,
            landlock: self.landlock,
            seccomp: self.seccomp,
            no_new_privs: self.no_new_privs,
            capabilities_dropped: self.capabilities_dropped,
            unprivileged_payload: self.unprivileged_payload,
            limits: EnforcedLimits {
                processes: self.processes.clone(),
                memory: self.memory.clone(),
                files: self.files.clone(),
                ..EnforcedLimits::default()
            },
            ..EnforcementRecord::default()
        }
    }
}
