//! Native isolation without a daemon: namespaces, a private root, Landlock, seccomp, limits.
//!
//! Read in this order: [`job`] (what is asked for), `launcher` and `init` (the processes), `view` and `root` (the
//! mounts), `confine` (the last steps), [`spawn`] (the host's side).

mod apart;
pub(crate) mod bare;
mod cgroup;
mod confine;
pub mod held;
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
mod view;
mod wire;

pub(crate) use apart::Apart;
pub(crate) use confine::seccomp_bytes;
pub use held::Held;
pub use identity::Identity;
pub use job::{GATEWAY_PORT, Ground, Job, Limits, Network, Streams};
pub use launcher::become_launcher_if_asked;
pub(crate) use root::{PROC_HIDDEN, PROC_READ_ONLY};
pub use spawn::{Ending, Finished, Launcher, Running, Warm};
pub use step::{Refusal, Step};
