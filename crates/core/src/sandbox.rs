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
    /// What was left open that stronger walls close, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
}

/// Landlock keeps signals inside from this version on.
const LANDLOCK_HOLDS_SIGNALS: u32 = 6;

impl EnforcementRecord {
    /// What these layers leave open. A matter of what held, not of the name of what built it.
    pub fn left_open(&self) -> Vec<String> {
        if !self.mount_ns && self.landlock.is_none() {
            return vec!["all that your user may read, write and reach".to_owned()];
        }
        let signals = self.landlock.is_some_and(|version| version >= LANDLOCK_HOLDS_SIGNALS);
        [
            (!self.pid_ns, "the command lines of other programs can be read"),
            (!self.pid_ns && !signals, "signals reach other programs of the same user"),
            (self.pid_ns && !self.masked_proc, "/proc tells about the machine"),
            (!self.uts_ns, "the machine's name can be read"),
            (!self.seccomp, "every system call of the kernel can be made"),
            (!self.no_new_privs, "set-uid programs give privileges"),
            (!self.capabilities_dropped, "capabilities are left"),
            (!self.unprivileged_payload, "it runs as the kernel's user 0"),
        ]
        .into_iter()
        .filter(|(open, _)| *open)
        .map(|(_, words)| words.to_owned())
        .collect()
    }

    /// The layers that this level stands for and that did not hold.
    pub fn missing_for(&self, level: IsolationLevel) -> Vec<&'static str> {
        let confined = [
            ("system call filter", self.seccomp),
            ("no new privileges", self.no_new_privs),
            ("no capabilities", self.capabilities_dropped),
            ("unprivileged user", self.unprivileged_payload),
        ];
        let apart = [
            ("mounts", self.mount_ns),
            ("processes", self.pid_ns),
            ("ipc", self.ipc_ns),
            ("private root", self.private_root),
        ];
        let landlock = [("landlock", self.landlock.is_some())];
        let demanded: Vec<(&'static str, bool)> = match level {
            IsolationLevel::None => Vec::new(),
            IsolationLevel::L4 => confined.into_iter().chain(landlock).collect(),
            _ => confined.into_iter().chain(apart).collect(),
        };
        demanded.into_iter().filter(|(_, held)| !held).map(|(name, _)| name).collect()
    }
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

    fn container() -> EnforcementRecord {
        EnforcementRecord {
            mount_ns: true,
            pid_ns: true,
            ipc_ns: true,
            uts_ns: true,
            private_root: true,
            masked_proc: true,
            seccomp: true,
            no_new_privs: true,
            capabilities_dropped: true,
            unprivileged_payload: true,
            ..EnforcementRecord::default()
        }
    }

    #[test]
    fn a_level_is_what_held() {
        let whole = container();
        assert_eq!(whole.missing_for(IsolationLevel::L2), [""; 0]);
        assert_eq!(whole.left_open(), [""; 0]);
        assert_eq!(whole.missing_for(IsolationLevel::L4), ["landlock"]);
        let unconfined = EnforcementRecord { seccomp: false, ..container() };
        assert_eq!(unconfined.missing_for(IsolationLevel::L2), ["system call filter"]);
        assert_eq!(unconfined.left_open(), ["every system call of the kernel can be made"]);
        let shared = EnforcementRecord { pid_ns: false, ipc_ns: false, ..container() };
        assert_eq!(shared.missing_for(IsolationLevel::L3), ["processes", "ipc"]);
        assert_eq!(EnforcementRecord::default().missing_for(IsolationLevel::None), [""; 0]);
    }

    #[test]
    fn landlock_alone_leaves_what_namespaces_would_close() {
        let landlock = |version| EnforcementRecord {
            landlock: Some(version),
            seccomp: true,
            no_new_privs: true,
            capabilities_dropped: true,
            unprivileged_payload: true,
            ..EnforcementRecord::default()
        };
        assert_eq!(landlock(6).missing_for(IsolationLevel::L4), [""; 0]);
        let (old, new) = (landlock(5).left_open(), landlock(6).left_open());
        assert!(
            old.iter().any(|open| open.contains("signals")) && !new.iter().any(|o| o.contains("signals"))
        );
        assert!(new.iter().any(|open| open.contains("command lines")), "{new:?}");
        assert_eq!(EnforcementRecord::default().left_open().len(), 1, "no walls: one sentence says it all");
    }

    #[test]
    fn nothing_is_claimed_by_default() {
        assert_eq!(IsolationLevel::default(), IsolationLevel::None);
    }
}
