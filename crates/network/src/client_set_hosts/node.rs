//! npm, pnpm and yarn.

use std::path::Path;

use serde_json::Value;

use super::queries::ClientQueries;
use super::set_host::SetHosts;

/// Asks npm.
pub(super) fn npm(queries: &dyn ClientQueries, project: &Path, hosts: &mut SetHosts) {
    json_config(queries, "npm", &["config", "ls", "--json"], hosts);
    project_file(queries, project, hosts);
}

/// Asks pnpm; its answer holds tokens, of which nothing is kept.
pub(super) fn pnpm(queries: &dyn ClientQueries, project: &Path, hosts: &mut SetHosts) {
    json_config(queries, "pnpm", &["config", "list", "--json"], hosts);
    if hosts.hosts.is_empty() {
        one_value(queries, "pnpm", &["config", "get", "registry"], hosts);
    }
    project_file(queries, project, hosts);
}

/// Asks yarn, whichever it is, and npm, whose files the first one reads as well.
pub(super) fn yarn(queries: &dyn ClientQueries, project: &Path, hosts: &mut SetHosts) {
    let version = match queries.ask("yarn", &["--version"]) {
        Ok(version) => version,
        Err(error) => return hosts.note(error.to_string()),
    };
    if version.trim().starts_with("1.") {
        if queries.ask("npm", &["--version"]).is_ok() {
            json_config(queries, "npm", &["config", "ls", "--json"], hosts);
        }
        // Its own word about the registry is the later one.
        one_value(queries, "yarn", &["config", "get", "registry"], hosts);
    } else {
        one_value(queries, "yarn", &["config", "get", "npmRegistryServer"], hosts);
    }
    project_file(queries, project, hosts);
}

fn json_config(queries: &dyn ClientQueries, program: &str, arguments: &[&str], hosts: &mut SetHosts) {
    let command = format!("{program} {}", arguments.join(" "));
    let answer = match queries.ask(program, arguments) {
        Ok(answer) => answer,
        Err(error) => return hosts.note(error.to_string()),
    };
    let Ok(Value::Object(all)) = serde_json::from_str(&answer) else {
        return hosts.note(format!("`{command}` printed no JSON"));
    };
    for (key, value) in &all {
        if let (true, Some(url)) = (is_registry(key), value.as_str()) {
            hosts.add_url(url, &format!("`{command}`, {key}"));
            hosts.tell(key, url);
        }
    }
}

fn one_value(queries: &dyn ClientQueries, program: &str, arguments: &[&str], hosts: &mut SetHosts) {
    let command = format!("`{program} {}`", arguments.join(" "));
    match queries.ask(program, arguments) {
        Ok(answer) => {
            let url = answer.trim().trim_matches('"');
            hosts.add_url(url, &command);
            if let (Some(key), true) = (arguments.last(), url.starts_with("http")) {
                hosts.tell(key, url);
            }
        }
        Err(error) => hosts.note(error.to_string()),
    }
}

/// What the project's own file names.
fn project_file(queries: &dyn ClientQueries, project: &Path, hosts: &mut SetHosts) {
    let text = queries.read(&project.join(".npmrc")).unwrap_or_default();
    for line in text.lines() {
        if let Some((key, value)) = line.split_once('=')
            && is_registry(key.trim())
        {
            hosts.ask_url(value.trim().trim_matches('"'), ".npmrc");
        }
    }
}

fn is_registry(key: &str) -> bool {
    key == "registry" || (key.starts_with('@') && key.ends_with(":registry"))
}
