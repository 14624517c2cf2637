//! The hosts of a set, each with who says so.

use std::collections::BTreeMap;
use std::fmt;

use crate::permit::{
    ClientSet, HostPattern, HostRule, HostTarget, Permit, PermitError, RepositoryPath, TargetHost,
};

/// What a set means now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetHosts {
    /// The set.
    pub set: ClientSet,
    /// Its hosts.
    pub hosts: Vec<SetHost>,
    /// What the user has configured the client to, in its own words, for a client inside; without anybody's password.
    pub settings: BTreeMap<String, String>,
    /// What a person should know: what could not be read, and what is not a matter of permits.
    pub notes: Vec<String>,
}

/// One host of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetHost {
    /// The host and its port.
    pub rule: HostRule,
    /// Who says so, such as a command or a file.
    pub said_by: String,
    /// Whether only the project says so, which permits nothing.
    pub by_project: bool,
    /// What is there.
    pub part: SetHostPart,
}

/// What a host of a set holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetHostPart {
    /// A registry or an index, which the user has configured.
    Registry,
    /// The files of an index, which the index itself names.
    Files,
    /// One repository.
    Repository(RepositoryPath),
}

impl SetHosts {
    pub(super) fn new(set: ClientSet) -> Self {
        Self { set, hosts: Vec::new(), settings: BTreeMap::new(), notes: Vec::new() }
    }

    /// The permits that the user's own configuration amounts to.
    pub fn permits(&self) -> impl Iterator<Item = Permit> {
        let own = self.hosts.iter().filter(|host| !host.by_project);
        own.map(|host| match &host.part {
            SetHostPart::Registry => Permit::configured(host.rule.clone(), self.set.clone()),
            SetHostPart::Files => Permit::files(host.rule.clone(), self.set.clone()),
            SetHostPart::Repository(path) => {
                Permit::repository(host.rule.clone(), path.clone(), self.set.clone())
            }
        })
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds the host of an address that the user's configuration names.
    pub(super) fn add_url(&mut self, url: &str, said_by: &str) {
        self.add(url, said_by, false, SetHostPart::Registry);
    }

    /// Adds the host of an address that a project's file names.
    pub(super) fn ask_url(&mut self, url: &str, said_by: &str) {
        self.add(url, said_by, true, SetHostPart::Registry);
    }

    /// Adds a host at which an index keeps its files.
    pub(super) fn add_files(&mut self, target: &HostTarget, said_by: &str) {
        let rule = HostRule { port: Some(target.port), ..HostRule::narrowest(target) };
        if !self.hosts.iter().any(|host| host.rule == rule && !host.by_project) {
            let (said_by, by_project, part) = (said_by.to_owned(), false, SetHostPart::Files);
            self.hosts.push(SetHost { rule, said_by, by_project, part });
        }
    }

    /// Adds the repository at an address of a remote.
    pub(super) fn add_repository(&mut self, url: &str, said_by: &str) {
        match path_of(url).and_then(RepositoryPath::parse) {
            Some(path) => self.add(url, said_by, false, SetHostPart::Repository(path)),
            None => self.note(format!(
                "{said_by} has a path that can be read in several ways: nothing is permitted by it"
            )),
        }
    }

    /// Keeps what the client is told inside; of an address, without the user before it.
    pub(super) fn tell(&mut self, key: &str, value: &str) {
        let words: Vec<String> = value.split_whitespace().filter_map(without_user).collect();
        self.tell_as_it_is(key, &words.join(" "));
    }

    /// The same for what holds nobody's name.
    pub(super) fn tell_as_it_is(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.settings.insert(key.to_owned(), value.to_owned());
        }
    }

    fn add(&mut self, url: &str, said_by: &str, by_project: bool, part: SetHostPart) {
        match host_of(url) {
            Ok(Some((rule, with_user))) => {
                if with_user {
                    self.note(format!(
                        "{said_by} holds a user name or password for {rule}, which does not go inside: [credentials.\"HOST\"] of your configuration puts one in outside"
                    ));
                }
                let known = |host: &SetHost| {
                    host.rule == rule
                        && (by_project
                            || (!host.by_project && (host.part == part || part == SetHostPart::Registry)))
                };
                if !self.hosts.iter().any(known) {
                    self.hosts.push(SetHost { rule, said_by: said_by.to_owned(), by_project, part });
                }
            }
            Ok(None) => {}
            Err(error) => self.note(format!("{said_by} names no usable host: {error}")),
        }
    }
}

impl SetHost {
    /// As a plan holds it: the host and its port, and the path of a repository.
    pub fn planned(&self) -> String {
        match &self.part {
            SetHostPart::Repository(path) => format!("{}{path}", self.rule),
            SetHostPart::Registry | SetHostPart::Files => self.rule.to_string(),
        }
    }
}

/// The path of an address over HTTP.
fn path_of(url: &str) -> Option<&str> {
    let rest = url.trim().split_once("://")?.1;
    let at = rest.find('/')?;
    let path = rest.get(at..)?;
    (!path.contains(['?', '#'])).then_some(path)
}

/// An address without the user before its host; nothing of one that can be read in several ways, which may hold a password
/// anywhere. Other words stay as they are.
pub(super) fn without_user(url: &str) -> Option<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return Some(url.to_owned()) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    HostTarget::parse(host, Some(443)).ok()?;
    Some(format!("{scheme}://{host}{path}"))
}

/// The host of an address over HTTP, and whether somebody's name stands before it; nothing for other schemes.
fn host_of(url: &str) -> Result<Option<(HostRule, bool)>, PermitError> {
    let Some((scheme, rest)) = url.trim().split_once("://") else { return Ok(None) };
    let usual = match scheme.to_ascii_lowercase().trim_start_matches("sparse+").trim_start_matches("git+") {
        "https" => 443,
        "http" => 80,
        _ => return Ok(None),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let target = HostTarget::parse(host, Some(usual))?;
    let pattern = match target.host {
        TargetHost::Name(name) => HostPattern::Name(name),
        TargetHost::Address(address) => HostPattern::Address(address),
    };
    Ok(Some((HostRule { pattern, port: Some(target.port) }, user.is_some())))
}

impl fmt::Display for SetHosts {
    /// For a person, without a line end behind it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.set)?;
        if self.hosts.is_empty() {
            f.write_str(" no host is known")?;
        }
        for host in &self.hosts {
            let asked = if host.by_project { "  asked for by the project, not permitted" } else { "" };
            write!(f, "\n  {}  ({}){asked}", host.planned(), host.said_by)?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}
