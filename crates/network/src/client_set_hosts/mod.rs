//! What a client's set means on this machine: worked out by asking the client, never from a table of our own.
//!
//! Clients are asked in a folder that belongs to nobody: in a project's folder some of them run what the project says. What a
//! project's own files name is shown, and not permitted.

mod cargo;
mod file_hosts;
mod git;
mod go;
mod maven;
mod node;
mod python;
mod queries;
mod set_host;

use std::path::Path;

pub use queries::{ClientQueries, ClientQueryError, IndexAnswer, SystemQueries};
pub use set_host::{SetHost, SetHostPart, SetHosts};

use crate::permit::ClientSet;

impl SetHosts {
    /// Asks a client, on behalf of a project's folder.
    pub fn work_out(set: &ClientSet, queries: &dyn ClientQueries, project: &Path) -> Self {
        let mut hosts = Self::new(set.clone());
        match set {
            ClientSet::Npm => node::npm(queries, project, &mut hosts),
            ClientSet::Pnpm => node::pnpm(queries, project, &mut hosts),
            ClientSet::Yarn => node::yarn(queries, project, &mut hosts),
            ClientSet::Pip => python::pip(queries, &mut hosts),
            ClientSet::Uv => python::uv(queries, &mut hosts),
            ClientSet::Cargo => cargo::cargo(queries, project, &mut hosts),
            ClientSet::Go => go::go(queries, &mut hosts),
            ClientSet::Maven => maven::maven(queries, &mut hosts),
            ClientSet::Git(remote) => git::git(queries, project, remote, &mut hosts),
        }
        hosts
    }
}

#[cfg(test)]
mod tests;
