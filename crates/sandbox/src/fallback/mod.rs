//! The rungs below the native walls, for machines that refuse those: each says honestly what it holds.
//!
//! | level | backend | what it is |
//! |---|---|---|
//! | L2 | [`oci::OciSandbox`] | a container made by podman or docker; the image brings its own root |
//! | L3 | [`bubblewrap::Bubblewrap`] | the system's bubblewrap, which may be allowed what we are not |
//! | L4 | [`landlock_only::LandlockOnly`] | Landlock, seccomp and limits on a copied workspace, no namespaces |
//! | – | [`none::UnsandboxedBackend`] | nothing; only on a person's explicit request |
//!
//! [`fallback_order`] chooses among them; [`probe`] finds out, by doing, what this machine can have. None of them mounts merged
//! views, so the host copies the workspace for them.

mod attended;
pub mod bubblewrap;
mod command_line;
pub mod detect;
pub mod engine;
pub mod fallback_order;
pub mod landlock_only;
mod measure;
pub mod none;
pub mod oci;
mod oci_filter;
mod plan;
pub mod probe;
mod staged;
pub mod trial;

#[cfg(test)]
mod live;
#[cfg(test)]
mod live_bubblewrap;
#[cfg(test)]
mod live_channel;
#[cfg(test)]
mod live_oci;
#[cfg(test)]
pub(crate) mod testing;

pub use bubblewrap::Bubblewrap;
pub use fallback_order::{ChosenBackend, IsolationDemand, NoSandboxBackend, SandboxChoice, choose_backend};
pub use landlock_only::LandlockOnly;
pub use none::UnsandboxedBackend;
pub use oci::OciSandbox;
pub use probe::{IsolationProbes, probe_all};
