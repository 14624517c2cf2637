//! cargo.

use std::path::Path;

use serde_json::Value;

use super::queries::ClientQueries;
use super::set_host::SetHosts;

/// Reads cargo's files and what its cache says of the registries it has used.
pub(super) fn cargo(queries: &dyn ClientQueries, project: &Path, hosts: &mut SetHosts) {
    let Some(home) = queries.home("CARGO_HOME", ".cargo") else {
        return hosts.note("there is no HOME, so nobody knows how cargo is configured");
    };
    for name in ["config.toml", "config"] {
        if let Some(text) = queries.read(&home.join(name)) {
            match urls(&text) {
                Ok(all) => all.iter().for_each(|url| hosts.add_url(url, &format!("cargo's {name}"))),
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
            if let Some(url) = serde_json::from_str::<Value>(&config)
                .ok()
                .and_then(|value| Some(value.get("dl")?.as_str()?.to_owned()))
            {
                hosts.add_url(&url, "the index in cargo's cache");
            }
        }
    }
    if hosts.hosts.is_empty() {
        hosts.note("cargo has used no registry on this machine yet: run `cargo fetch` in some project once, or name the host of its index");
    }
    for name in [".cargo/config.toml", ".cargo/config"] {
        for url in queries.read(&project.join(name)).and_then(|text| urls(&text).ok()).unwrap_or_default() {
            hosts.ask_url(&url, name);
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
                out.extend(
                    entry.get(key).and_then(toml::Value::as_str).map(|url| url.replace("sparse+", "")),
                );
            }
        }
    }
    Ok(out)
}
