//! What a machine could enforce around a run, as recorded and as demanded.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strong the walls are, strongest first; `None` is no wall at all.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum IsolationLevel {
    /// All namespaces as an ordinary user, private root, Landlock and seccomp.
    L0,
    /// The same as root, with the payload dropped to an unprivileged kernel uid.
    L1,
    /// A container made by podman or docker.
    L2,
    /// The system's bubblewrap.
    L3,
    /// Landlock and seccomp on a copied workspace, without namespaces.
    L4,
    /// No isolation; only ever on a person's explicit request.
    #[default]
    #[serde(rename = "none")]
    None,
}

impl IsolationLevel {
    /// Whether this level is at least as strong as the one demanded.
    pub fn meets(self, minimum: Self) -> bool {
        self <= minimum
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::None => "none",
        })
    }
}

/// What held on this machine, layer by layer; a field is false or absent unless it was enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnforcementRecord {
    /// Own user namespace.
    pub user_ns: bool,
    /// Own mount table.
    pub mount_ns: bool,
    /// Own process numbers: nothing outside can be seen or signalled.
    pub pid_ns: bool,
    /// Own network stack without a way out.
    pub net_ns: bool,
    /// Own System V and POSIX message queues.
    pub ipc_ns: bool,
    /// Own host name.
    pub uts_ns: bool,
    /// Own view of control groups.
    pub cgroup_ns: bool,
    /// The root directory holds a short read-only list, not the host's tree.
    pub private_root: bool,
    /// Dangerous parts of /proc are covered.
    pub masked_proc: bool,
    /// The Landlock ABI in force.
    pub landlock: Option<u32>,
    /// The system call filter is on.
    pub seccomp: bool,
    /// Privileges cannot be gained by executing a file.
    pub no_new_privs: bool,
    /// No capability is left.
    pub capabilities_dropped: bool,
    /// The payload does not run as kernel uid 0.
    pub unprivileged_payload: bool,
    /// How the workspace was given, in words: `read-only mount`, `overlay`, `copy` …
    pub workspace: Option<String>,
    /// Whether the tool policy was enforced by the host (true) or only asked of a foreign agent (false).
    pub tools: bool,
    /// How each resource limit was enforced.
    pub limits: EnforcedLimits,
}

/// The mechanism behind each resource limit, or nothing where this machine has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnforcedLimits {
    /// Number of processes, e.g. `pid_max` or `cgroup v2`.
    pub processes: Option<String>,
    /// Memory, e.g. `cgroup v2`.
    pub memory: Option<String>,
    /// Bytes on disk, e.g. `tmpfs size` or `watched`.
    pub disk: Option<String>,
    /// Number of files.
    pub files: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stronger_meets_weaker_only() {
        let all = [
            IsolationLevel::L0,
            IsolationLevel::L1,
            IsolationLevel::L2,
            IsolationLevel::L3,
            IsolationLevel::L4,
            IsolationLevel::None,
        ];
        for (i, have) in all.iter().enumerate() {
            for (j, want) in all.iter().enumerate() {
                assert_eq!(have.meets(*want), i <= j, "{have} meets {want}");
            }
        }
    }

    #[test]
    fn nothing_is_claimed_by_default() {
        assert_eq!(IsolationLevel::default(), IsolationLevel::None);
    }
}
