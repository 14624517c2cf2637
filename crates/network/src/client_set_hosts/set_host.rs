//! The hosts of a set, each with who says so.

use std::fmt;

use crate::permit::{ClientSet, HostPattern, HostRule, HostTarget, Permit, PermitError, TargetHost};

/// What a set means now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetHosts {
    /// The set.
    pub set: ClientSet,
    /// Its hosts.
    pub hosts: Vec<SetHost>,
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
}

impl SetHosts {
    pub(super) fn new(set: ClientSet) -> Self {
        Self { set, hosts: Vec::new(), notes: Vec::new() }
    }

    /// The permits that the user's own configuration amounts to.
    pub fn permits(&self) -> impl Iterator<Item = Permit> {
        let own = self.hosts.iter().filter(|host| !host.by_project);
        own.map(|host| Permit::configured(host.rule.clone(), self.set.clone()))
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds the host of an address that the user's configuration names.
    pub(super) fn add_url(&mut self, url: &str, said_by: &str) {
        self.add(url, said_by, false);
    }

    /// Adds the host of an address that a project's file names.
    pub(super) fn ask_url(&mut self, url: &str, said_by: &str) {
        self.add(url, said_by, true);
    }

    fn add(&mut self, url: &str, said_by: &str, by_project: bool) {
        match host_of(url) {
            Ok(Some((rule, with_user))) => {
                if with_user {
                    self.note(format!(
                        "{said_by} holds a user name or password for {rule}, which does not go inside: what needs it cannot be read there"
                    ));
                }
                let known = |host: &SetHost| host.rule == rule && (by_project || !host.by_project);
                if !self.hosts.iter().any(known) {
                    self.hosts.push(SetHost { rule, said_by: said_by.to_owned(), by_project });
                }
            }
            Ok(None) => {}
            Err(error) => self.note(format!("{said_by} names no usable host: {error}")),
        }
    }
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
            write!(f, "\n  {}  ({}){asked}", host.rule, host.said_by)?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}
