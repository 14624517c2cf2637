//! Maven.

use std::path::{Path, PathBuf};

use super::queries::ClientQueries;
use super::set_host::SetHosts;

/// Reads Maven's settings, those of the user and those of the installation.
pub(super) fn maven(queries: &dyn ClientQueries, hosts: &mut SetHosts) {
    let user = queries.home("", ".m2").map(|folder| folder.join("settings.xml"));
    let installed =
        queries.variable("MAVEN_HOME").map(|folder| PathBuf::from(folder).join("conf/settings.xml"));
    let debian = Some(PathBuf::from("/etc/maven/settings.xml"));
    for path in [user, installed, debian].into_iter().flatten() {
        settings(queries, &path, hosts);
    }
    if hosts.hosts.is_empty() {
        hosts.note("Maven's settings name no repository, and its default is inside the program: name its host with --allow-net");
    }
}

fn settings(queries: &dyn ClientQueries, path: &Path, hosts: &mut SetHosts) {
    let Some(text) = queries.read(path) else { return };
    let said_by = if path.starts_with("/etc") { "Maven's own settings.xml" } else { "settings.xml" };
    let text = without_comments(&text);
    for part in ["mirror", "repository", "pluginRepository"] {
        // Maven comes with a mirror that is none: it stands for what is blocked.
        let blocked = |element: &&str| elements(element, "blocked").iter().any(|word| word.trim() == "true");
        for element in elements(&text, part).into_iter().filter(|element| !blocked(element)) {
            for url in elements(element, "url") {
                hosts.add_url(url.trim(), said_by);
            }
        }
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// What stands between the beginnings and ends of elements of one name; none of these lies in another of its name.
fn elements<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    text.split(&begin).skip(1).filter_map(|rest| Some(rest.split_once(&end)?.0)).collect()
}
