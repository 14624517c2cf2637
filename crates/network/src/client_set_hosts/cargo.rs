//! cargo.

use std::path::Path;

use super::file_hosts;
use super::queries::ClientQueries;
use super::set_host::SetHosts;

/// So many registries are asked where their files are.
const MOST_ASKED: usize = 4;

/// Reads cargo's files and what its cache says of the registries it has used.
pub(super) fn cargo(queries: &dyn ClientQueries, project: &Path, hosts: &mut SetHosts) {
    let Some(home) = queries.home("CARGO_HOME", ".cargo") else {
        return hosts.note("there is no HOME, so nobody knows how cargo is configured");
    };
    for name in ["config.toml", "config"] {
        if let Some(text) = queries.read(&home.join(name)) {
            match urls(&text) {
                Ok(all) => {
                    for url in &all {
                        hosts.add_url(&url.replace("sparse+", ""), &format!("cargo's {name}"));
                    }
                    let sparse: Vec<&String> =
                        all.iter().filter(|url| url.starts_with("sparse+")).take(MOST_ASKED).collect();
                    sparse.iter().for_each(|url| file_hosts::of_crate_registry(queries, url, hosts));
                }
                Err(()) => hosts.note(format!("cargo's {name} cannot be read: it is no TOML")),
            }
            break;
        }
    }
    let indexes = home.join("registry/index");
    for name in queries.list(&indexes) {
        // The name is that of the host, and a digest.
        if let Some((host, digest)) = name.rsplit_once('-')
            && digest.len() == 16
            && host.contains('.')
        {
            hosts.add_url(&format!("https://{host}/"), "cargo's cache");
            let config = queries.read(&indexes.join(&name).join("config.json")).unwrap_or_default();
            if let Some(url) = file_hosts::download(&config) {
                hosts.add_url(&url, "the index in cargo's cache");
            }
        }
    }
    if hosts.hosts.is_empty() {
        hosts.note("cargo has used no registry on this machine yet: run `cargo fetch` in some project once, or name the host of its index");
    }
    for name in [".cargo/config.toml", ".cargo/config"] {
        for url in queries.read(&project.join(name)).and_then(|text| urls(&text).ok()).unwrap_or_default() {
            hosts.ask_url(&url.replace("sparse+", ""), name);
        }
    }
}

/// All registries, sources and indexes that a file names.
fn urls(text: &str) -> Result<Vec<String>, ()> {
    let table: toml::Table = text.parse().map_err(|_| ())?;
    let mut out = Vec::new();
    for (section, keys) in [("registries", &["index"][..]), ("source", &["registry", "git"])] {
        for (_, entry) in table.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
            for key in keys {
                out.extend(entry.get(key).and_then(toml::Value::as_str).map(str::to_owned));
            }
        }
    }
    Ok(out)
}
