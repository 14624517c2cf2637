//! The steps of building the walls, and what to do when the machine refuses one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One step of a launch; errors name it, so that a refusal can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchStep {
    /// Reading the job from the host.
    Job,
    /// Entering new namespaces.
    Namespaces,
    /// Writing the uid and gid maps.
    IdMap,
    /// Becoming the unprivileged identity.
    Identity,
    /// Showing files of the workspace's owner as the payload's own.
    IdmappedMount,
    /// Mounting a merged view.
    Overlay,
    /// Mounting a view of a host path.
    Bind,
    /// Building the private root.
    Root,
    /// Mounting a fresh /proc.
    Proc,
    /// Bringing up the loopback interface.
    Loopback,
    /// Process, file and memory limits.
    Limits,
    /// The second user namespace, which locks the mounts.
    Lock,
    /// Landlock rules.
    Landlock,
    /// Dropping capabilities.
    Capabilities,
    /// Loading the seccomp filters.
    Seccomp,
    /// Starting the payload.
    Exec,
}

impl fmt::Display for LaunchStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LaunchStep::Job => "reading the job",
            LaunchStep::Namespaces => "entering new namespaces",
            LaunchStep::IdMap => "writing the user map",
            LaunchStep::Identity => "becoming an unprivileged user",
            LaunchStep::IdmappedMount => "mapping file owners",
            LaunchStep::Overlay => "mounting the overlay",
            LaunchStep::Bind => "mounting a host path",
            LaunchStep::Root => "building the private root",
            LaunchStep::Proc => "mounting /proc",
            LaunchStep::Loopback => "bringing up loopback",
            LaunchStep::Limits => "setting limits",
            LaunchStep::Lock => "locking the mounts",
            LaunchStep::Landlock => "applying Landlock",
            LaunchStep::Capabilities => "dropping capabilities",
            LaunchStep::Seccomp => "loading seccomp",
            LaunchStep::Exec => "starting the command",
        })
    }
}

/// A refused step with the kernel's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}{}: {message}", if detail.is_empty() { String::new() } else { format!(" ({detail})") })]
pub struct LaunchRefusal {
    /// What was being done.
    pub step: LaunchStep,
    /// The kernel's error number, 0 when it was not the kernel.
    pub errno: i32,
    /// The error in words.
    pub message: String,
    /// Which path or value it was about.
    pub detail: String,
}

impl LaunchRefusal {
    /// From an I/O error at `step`, about `detail`.
    pub fn new(step: LaunchStep, error: impl Into<std::io::Error>, detail: impl Into<String>) -> Self {
        let error = error.into();
        Self {
            step,
            errno: error.raw_os_error().unwrap_or(0),
            message: error.to_string(),
            detail: detail.into(),
        }
    }

    /// What a person can do about it; `None` when nothing general can be said.
    pub fn remedy(&self) -> Option<&'static str> {
        match (self.step, self.errno) {
            (LaunchStep::Namespaces, libc::ENOSPC) => Some(
                "user namespaces are switched off (user.max_user_namespaces is 0); ask the administrator to raise it, or use --sandbox oci",
            ),
            (LaunchStep::Namespaces, libc::EPERM) => Some(
                "the kernel or the surrounding container's seccomp profile refuses user namespaces; run on the host, use --sandbox oci, or allow unshare/clone in the outer profile; an ordinary user (not root) gets the landlock walls without them",
            ),
            (LaunchStep::IdMap, libc::EPERM | libc::EACCES) => Some(
                "a security module (AppArmor on Ubuntu) restricts user namespaces; install an AppArmor profile that grants `userns` to the holon binary, or use --sandbox oci",
            ),
            (LaunchStep::IdMap | LaunchStep::Identity, libc::EINVAL) => Some(
                "only root's own id exists in this container, and nothing is run as root; start it as an ordinary user, or with \
                 more ids",
            ),
            (LaunchStep::Proc, libc::EPERM) => Some(
                "the surrounding container masks /proc, so a private one is refused; run on the host or start the outer container with an unmasked /proc",
            ),
            (LaunchStep::Overlay | LaunchStep::IdmappedMount, _) => Some(
                "overlayfs is not usable for this folder (for example because it is itself an overlay); use --snapshot copy",
            ),
            (LaunchStep::Exec, libc::ENOENT) => Some(
                "the command or its interpreter is not visible inside the walls; give a path, or expose its folder (a script \
                 with line ends of Windows names an interpreter that nobody has)",
            ),
            (LaunchStep::Exec, libc::ENOEXEC) => {
                Some("it is no program of this machine: a script begins with a line such as `#!/bin/sh`")
            }
            (LaunchStep::Exec, libc::EACCES) => Some("the command is not executable: chmod +x it"),
            _ => None,
        }
    }
}
