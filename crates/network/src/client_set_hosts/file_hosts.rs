//! Where an index keeps its files, as it says itself when the host asks it.
//!
//! What a run loads permits nothing, because the run chooses what it loads. So the host asks before the run begins, over its own
//! connection, for the one page that is the client's own: the file that describes a registry, or the page of the program `pip`.

use serde_json::Value;

use super::queries::ClientQueries;
use super::set_host::SetHosts;
use crate::arrival::recognise;
use crate::permit::{HostTarget, PackageFamily, TargetHost};

const JSON: &str = "application/vnd.pypi.simple.v1+json";
const HTML: [&str; 2] = ["application/vnd.pypi.simple.v1+html", "text/html"];
/// Indexes keep their files at few hosts.
const MOST_HOSTS: usize = 4;
/// The program whose page is asked for: every index that stands for all packages has it.
const PROGRAM: &str = "pip";

/// Asks an index of Python's for its page of `pip`.
pub(super) fn of_python_index(queries: &dyn ClientQueries, url: &str, hosts: &mut SetHosts) {
    let Some(index) = index_address(url, hosts) else { return };
    let accept = format!("{JSON}, {}, {};q=0.1", HTML[0], HTML[1]);
    let answer = match queries.fetch(&format!("{index}/{PROGRAM}/"), &accept) {
        Ok(answer) => answer,
        Err(error) => return unknown(&error.to_string(), hosts),
    };
    let links = match answer.form.as_str() {
        JSON => json_links(&answer.text),
        form if HTML.contains(&form) => html_links(&answer.text),
        _ => return unknown("an index answers in another form than indexes have", hosts),
    };
    let mut found: Vec<HostTarget> = Vec::new();
    for target in links.iter().filter_map(|link| file_host(link, &index)) {
        if !found.contains(&target) && found.len() < MOST_HOSTS {
            found.push(target);
        }
    }
    found.iter().for_each(|target| hosts.add_files(target, "the index, for its files"));
}

/// Asks a registry of crates for the file that describes it.
pub(super) fn of_crate_registry(queries: &dyn ClientQueries, url: &str, hosts: &mut SetHosts) {
    let Some(index) = index_address(url, hosts) else { return };
    match queries.fetch(&format!("{index}/config.json"), "application/json") {
        Ok(answer) => match download(&answer.text).and_then(|link| host(&link, &index)) {
            Some(target) => hosts.add_files(&target, "the registry, for its files"),
            None => unknown("a registry does not say it in its config.json", hosts),
        },
        Err(error) => unknown(&error.to_string(), hosts),
    }
}

/// What the file that describes a registry says of downloads.
pub(super) fn download(text: &str) -> Option<String> {
    Some(serde_json::from_str::<Value>(text).ok()?.get("dl")?.as_str()?.to_owned())
}

/// The address to ask at; nobody's password goes along.
fn index_address(url: &str, hosts: &mut SetHosts) -> Option<String> {
    let url = url.trim().trim_start_matches("sparse+").trim_end_matches('/');
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.contains('@') || url.contains(['?', '#']) {
        unknown("an index that wants a password is not asked", hosts);
        return None;
    }
    Some(url.to_owned())
}

fn unknown(why: &str, hosts: &mut SetHosts) {
    hosts.note(format!(
        "where its files are is not known ({why}): if that is another host, name it with --allow-net"
    ));
}

/// The host of a link to a file of the program that was asked for.
fn file_host(link: &str, index: &str) -> Option<HostTarget> {
    let path = link.split_once("://")?.1.split_once('/')?.1;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let package = recognise(PackageFamily::Python, path)?;
    (package.name == PROGRAM).then(|| host(link, index)).flatten()
}

/// The host of an address: a name, encrypted as the index is, and not this machine's.
fn host(link: &str, index: &str) -> Option<HostTarget> {
    let (rest, usual) = match (link.strip_prefix("https://"), link.strip_prefix("http://")) {
        (Some(rest), _) => (rest, 443),
        (None, Some(rest)) if index.starts_with("http://") => (rest, 80),
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let target = HostTarget::parse(authority, Some(usual)).ok()?;
    let named = matches!(&target.host, TargetHost::Name(name) if !name.is_this_machine());
    // The index's own host needs no second permit.
    let own = index.split_once("://").and_then(|(scheme, rest)| {
        let usual = if scheme == "https" { 443 } else { 80 };
        HostTarget::parse(rest.split('/').next().unwrap_or_default(), Some(usual)).ok()
    });
    (named && own.as_ref() != Some(&target)).then_some(target)
}

fn json_links(text: &str) -> Vec<String> {
    let Ok(page) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let files = page.get("files").and_then(Value::as_array).into_iter().flatten();
    files.filter_map(|file| Some(file.get("url")?.as_str()?.to_owned())).collect()
}

/// What the links of a page lead to.
fn html_links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for piece in text.split("<a ").skip(1) {
        let tag = piece.split('>').next().unwrap_or_default();
        let Some((_, rest)) = tag.split_once("href=") else { continue };
        let mut chars = rest.chars();
        if let Some(quote @ ('"' | '\'')) = chars.next() {
            links.push(chars.as_str().split(quote).next().unwrap_or_default().replace("&amp;", "&"));
        }
    }
    links
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    fn hosts_of(links: &[String], index: &str) -> Vec<String> {
        links.iter().filter_map(|link| file_host(link, index)).map(|target| target.to_string()).collect()
    }

    #[test]
    fn only_files_of_the_program_itself_say_where_files_are() {
        let html = "<a href=\"https://files.test/p/pip-3.0.0-py3-none-any.whl#sha256=1\">x</a> <a class=x href='https://b.test/pip-1.0.tar.gz?a&amp;b'>\
                    <a href=\"https://evil.test/flask-1.0.tar.gz\"> <a href=\"https://home.test/\"> <a href=\"../../pip-2.0.tar.gz\">\
                    <a href=\"http://plain.test/pip-1.0.tar.gz\"> https://words.test/pip-1.0.tar.gz <a href=https://bare.test/pip-1.0.tar.gz>\
                    <a href=\"https://index.test/x/pip-1.0.tar.gz\">";
        let found = hosts_of(&html_links(html), "https://index.test/simple");
        assert_eq!(found, ["files.test:443", "b.test:443"]);
        let json = r#"{"files":[{"url":"https://files.test/pip-3.0.0.tar.gz"},{"url":"https://evil.test/x-3.0.0.tar.gz"}],"home":"https://home.test/"}"#;
        assert_eq!(hosts_of(&json_links(json), "https://index.test/simple"), ["files.test:443"]);
        for host in ["127.0.0.1", "[::1]", "localhost", "10.0.0.1", "me@127.0.0.1", "0x7f.1", "me@b.test"] {
            let link = format!("https://{host}/pip-3.0.0.tar.gz");
            assert_eq!(hosts_of(&[link], "https://index.test"), Vec::<String>::new(), "{host}");
        }
    }

    proptest! {
        #[test]
        fn any_page_is_read(text in r#"([a-z:/."'<h>=]{0,40}|<a |href=|\PC{0,9}){0,20}"#) {
            let _ = hosts_of(&html_links(&text), "https://index.test");
            let _ = hosts_of(&json_links(&text), &text);
            let _ = download(&text);
        }
    }
}
