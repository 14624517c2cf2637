//! pip and uv.

use super::file_hosts;
use super::queries::ClientQueries;
use super::set_host::SetHosts;

/// So many indexes are asked where their files are.
const MOST_ASKED: usize = 4;

/// Asks pip what is configured, and what it would use otherwise.
pub(super) fn pip(queries: &dyn ClientQueries, hosts: &mut SetHosts) {
    let program = ["pip", "pip3"].into_iter().find(|name| queries.ask(name, &["--version"]).is_ok());
    let Some(program) = program else {
        let error = super::ClientQueryError::Missing { program: "pip".to_owned() };
        return hosts.note(error.to_string());
    };
    let mut indexes = Vec::new();
    match queries.ask(program, &["config", "list"]) {
        Ok(answer) => configured(&answer, &format!("`{program} config list`"), hosts, &mut indexes),
        Err(error) => hosts.note(error.to_string()),
    }
    if !hosts.hosts.iter().any(|host| host.said_by.ends_with(" index-url")) {
        indexes.extend(defaults(queries, program, &["install", "--help"], "Package Index", hosts));
    }
    ask_all(queries, &indexes, hosts);
}

/// Asks uv's environment and files, pip's as well, and uv what it would use otherwise.
pub(super) fn uv(queries: &dyn ClientQueries, hosts: &mut SetHosts) {
    let mut indexes = Vec::new();
    for name in ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX"] {
        for url in queries.variable(name).unwrap_or_default().split_whitespace() {
            // An index may have a name of its own in front.
            let url = url.split_once('=').filter(|(name, _)| !name.contains(':')).map_or(url, |(_, url)| url);
            hosts.add_url(url, name);
            indexes.push(url.to_owned());
        }
        hosts.tell(name, &queries.variable(name).unwrap_or_default());
    }
    if let Some(file) = queries.home("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("uv/uv.toml")) {
        tables(&queries.read(&file).unwrap_or_default(), hosts, &mut indexes);
    }
    let chosen = ["UV_DEFAULT_INDEX", "UV_INDEX_URL"].iter().any(|name| queries.variable(name).is_some());
    if !chosen {
        indexes.extend(defaults(queries, "uv", &["help", "pip", "install"], "index", hosts));
    }
    ask_all(queries, &indexes, hosts);
}

fn ask_all(queries: &dyn ClientQueries, indexes: &[String], hosts: &mut SetHosts) {
    let mut asked: Vec<&String> = Vec::new();
    for index in indexes {
        if !asked.contains(&index) && asked.len() < MOST_ASKED {
            asked.push(index);
            file_hosts::of_python_index(queries, index, hosts);
        }
    }
}

/// Lines such as `global.index-url='https://…'`.
fn configured(answer: &str, said_by: &str, hosts: &mut SetHosts, indexes: &mut Vec<String>) {
    for line in answer.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let name = key.rsplit('.').next().unwrap_or_default();
        if matches!(name, "index-url" | "extra-index-url" | "find-links" | "index") {
            let value = value.trim().trim_matches('\'').replace("\\n", " ");
            value.split_whitespace().for_each(|url| {
                hosts.add_url(url, &format!("{said_by}, {name}").replace(", index-url", " index-url"))
            });
            if matches!(name, "index-url" | "extra-index-url") {
                indexes.extend(value.split_whitespace().map(str::to_owned));
                hosts.tell(name, &value);
            }
        }
        if name == "trusted-host" {
            hosts.tell(name, &value.trim().trim_matches('\'').replace("\\n", " "));
        }
    }
}

/// The address that a client's own help names as its default.
fn defaults(
    queries: &dyn ClientQueries,
    program: &str,
    arguments: &[&str],
    about: &str,
    hosts: &mut SetHosts,
) -> Option<String> {
    let command = format!("`{program} {}`", arguments.join(" "));
    let answer = match queries.ask(program, arguments) {
        Ok(answer) => answer,
        Err(error) => {
            hosts.note(error.to_string());
            return None;
        }
    };
    let words: Vec<&str> = answer.split_whitespace().collect();
    let plain = words.join(" ");
    for (at, _) in plain.match_indices("default") {
        let before = plain.get(..at).unwrap_or_default();
        let sentence = before
            .char_indices()
            .rev()
            .nth(120)
            .map_or(before, |(from, _)| before.get(from..).unwrap_or_default());
        let rest = plain
            .get(at..)
            .unwrap_or_default()
            .trim_start_matches("default")
            .trim_start_matches([':', ' ', '<', '[']);
        let url: String = rest.chars().take_while(|c| !matches!(c, ')' | ']' | '>' | ' ' | ',')).collect();
        if sentence.contains(about) && url.starts_with("https://") {
            hosts.add_url(&url, &format!("{command} index-url"));
            return Some(url);
        }
    }
    hosts.note(format!("{command} names no default index"));
    None
}

/// Indexes in uv's own file.
fn tables(text: &str, hosts: &mut SetHosts, indexes: &mut Vec<String>) {
    let Ok(table) = text.parse::<toml::Table>() else {
        return hosts.note("uv.toml cannot be read: it is no TOML");
    };
    let pip = table.get("pip").and_then(toml::Value::as_table);
    for table in [Some(&table), pip].into_iter().flatten() {
        for key in ["index-url", "default-index"] {
            if let Some(url) = table.get(key).and_then(toml::Value::as_str) {
                hosts.add_url(url, "uv.toml");
                hosts.tell("UV_DEFAULT_INDEX", url);
                indexes.push(url.to_owned());
            }
        }
        for key in ["index", "extra-index-url"] {
            for index in table.get(key).and_then(toml::Value::as_array).into_iter().flatten() {
                if let Some(url) = index.as_str().or_else(|| index.get("url")?.as_str()) {
                    hosts.add_url(url, "uv.toml");
                    indexes.push(url.to_owned());
                    let first = index.get("default").and_then(toml::Value::as_bool).unwrap_or(false);
                    if first {
                        hosts.tell("UV_DEFAULT_INDEX", url);
                    } else {
                        let all = hosts.settings.get("UV_INDEX").cloned().unwrap_or_default();
                        hosts.tell("UV_INDEX", &format!("{all} {url}"));
                    }
                }
            }
        }
    }
}
