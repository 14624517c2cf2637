//! Remotes of a repository.

use std::path::Path;

use super::queries::ClientQueries;
use super::set_host::SetHosts;
use crate::permit::RemoteName;

/// Asks git where a remote is; its own substitutions of addresses count.
pub(super) fn git(queries: &dyn ClientQueries, project: &Path, remote: &RemoteName, hosts: &mut SetHosts) {
    let folder = project.to_string_lossy();
    let name = remote.as_str();
    let answer = match queries.ask("git", &["-C", &folder, "remote", "get-url", "--all", name]) {
        Ok(answer) => answer,
        Err(super::ClientQueryError::Failed { .. }) => {
            return hosts
                .note(format!("this repository has no remote `{name}`: `git remote` lists those it has"));
        }
        Err(error) => return hosts.note(error.to_string()),
    };
    for url in answer.lines().map(str::trim).filter(|url| !url.is_empty()) {
        let over_http = url.starts_with("https://") || url.starts_with("http://");
        if over_http {
            hosts.add_repository(url, &format!("the remote {name}"));
        } else if url.contains("://") || url.contains(':') {
            hosts.note(format!("the remote {name} is not reached over HTTP: a run cannot fetch from it"));
        } else {
            hosts.note(format!("the remote {name} is a folder of this machine"));
        }
    }
}
