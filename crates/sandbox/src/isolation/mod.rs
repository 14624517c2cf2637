//! Native isolation without a daemon: namespaces, a private root, Landlock, seccomp, limits.
//!
//! Read in this order: [`job`] (what is asked for), `launcher` and `init` (the processes), `view` and `root` (the
//! mounts), `confine` (the last steps), [`spawn`] (the host's side).

pub(crate) mod bare;
mod cgroup;
mod confine;
mod detached_netns;
pub mod enforcement;
pub mod identity;
mod idmap;
mod init;
pub mod job;
mod launcher;
pub mod layout;
mod root;
pub mod spawn;
pub mod step;
mod sys;
pub mod terminal;
mod view;
mod wire;

pub(crate) use confine::seccomp_bytes;
pub(crate) use detached_netns::DetachedNetns;
pub use enforcement::SandboxEnforcement;
pub use identity::PayloadIdentity;
pub(crate) use identity::is_kernel_root;
pub use job::{
    BaseMounts, GATEWAY_PORT, PROXY_PORT, PayloadLimits, PayloadNetwork, PayloadStreams, SandboxJob,
};
pub use launcher::become_launcher_if_asked;
pub(crate) use root::{PROC_HIDDEN, PROC_READ_ONLY};
pub use spawn::{FinishedPayload, Launcher, PayloadEnding, SandboxedProcess, WarmLauncher};
pub use step::{LaunchRefusal, LaunchStep};
pub use terminal::{PseudoTerminal, TerminalSize};
