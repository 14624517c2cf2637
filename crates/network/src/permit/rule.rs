//! A permit as people write it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::client_set::ClientSet;
use super::error::{PermitError, shortened};
use super::host_name::HostName;
use super::host_target::{HostTarget, TargetHost, parse_with_port, split_port};

/// What `--allow-net` takes: `HOST[:PORT]`, `*.HOST[:PORT]`, an address, or a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PermitRule {
    /// Hosts.
    Host(HostRule),
    /// What a client is configured for.
    Set(ClientSet),
}

/// Which hosts, and at which port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostRule {
    /// Which hosts.
    pub pattern: HostPattern,
    /// Their port; 443 and 80 where none is named.
    pub port: Option<u16>,
}

/// Which hosts a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostPattern {
    /// One name.
    Name(HostName),
    /// Every name below a domain, and not the domain itself.
    Below(HostName),
    /// One address.
    Address(IpAddr),
}

/// Ports that need not be named.
const USUAL_PORTS: [u16; 2] = [443, 80];

impl PermitRule {
    /// Reads a permit.
    pub fn parse(text: &str) -> Result<Self, PermitError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PermitError::Empty);
        }
        if let Some(set) = ClientSet::parse(text) {
            return set.map(Self::Set);
        }
        HostRule::parse(text).map(Self::Host)
    }
}

impl HostRule {
    /// Reads a permit that is not a client.
    pub fn parse(text: &str) -> Result<Self, PermitError> {
        if let Some((_, rest)) = text.split_once("://") {
            return Err(whole_url(text, rest));
        }
        if text.contains('*') {
            return Self::parse_star(text);
        }
        if text.contains('/') {
            return Err(whole_url(text, text));
        }
        let (host, port) = parse_with_port(text)?;
        let pattern = match host {
            TargetHost::Address(address) => HostPattern::Address(address),
            TargetHost::Name(name) if name.is_this_machine() => {
                return Err(PermitError::ThisMachine { name: name.to_string() });
            }
            // A word without a dot is most likely a client, misspelt.
            TargetHost::Name(name) if !name.as_str().contains('.') && port.is_none() => {
                return Err(ClientSet::unknown(name.as_str()));
            }
            TargetHost::Name(name) => HostPattern::Name(name),
        };
        Ok(Self { pattern, port })
    }

    fn parse_star(text: &str) -> Result<Self, PermitError> {
        let wrong = |hint| PermitError::Star { text: shortened(text), hint };
        let Some(rest) = text.strip_prefix("*.").filter(|rest| !rest.contains('*')) else {
            let all = text == "*" || text == "*:*";
            return Err(wrong(if all { "; the whole network is `--network host`" } else { "" }));
        };
        let (domain, port) = split_port(rest)?;
        let domain = HostName::parse(domain)?;
        if !domain.as_str().contains('.') {
            return Err(wrong("; a whole top-level domain is not a permit"));
        }
        Ok(Self { pattern: HostPattern::Below(domain), port })
    }

    /// Whether it is about this host, whatever the port.
    pub fn names(&self, host: &TargetHost) -> bool {
        match (&self.pattern, host) {
            (HostPattern::Name(own), TargetHost::Name(name)) => own == name,
            (HostPattern::Below(domain), TargetHost::Name(name)) => name.is_below(domain),
            (HostPattern::Address(own), TargetHost::Address(address)) => own == address,
            _ => false,
        }
    }

    /// Whether it permits this port.
    pub fn permits_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| USUAL_PORTS.contains(&port), |own| own == port)
    }

    /// The narrowest rule that would permit a target; what follows `--allow-net`.
    pub fn narrowest(target: &HostTarget) -> Self {
        let pattern = match &target.host {
            TargetHost::Name(name) => HostPattern::Name(name.clone()),
            TargetHost::Address(address) => HostPattern::Address(*address),
        };
        let dotless = matches!(&target.host, TargetHost::Name(name) if !name.as_str().contains('.'));
        let port = (dotless || !USUAL_PORTS.contains(&target.port)).then_some(target.port);
        Self { pattern, port }
    }
}

fn whole_url(text: &str, rest: &str) -> PermitError {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    // What stands before an `@` may be a secret.
    let text = if text.contains('@') { "…@…" } else { text };
    PermitError::WholeUrl { text: shortened(text), host: shortened(authority) }
}

impl FromStr for PermitRule {
    type Err = PermitError;

    fn from_str(text: &str) -> Result<Self, PermitError> {
        Self::parse(text)
    }
}

impl fmt::Display for PermitRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(rule) => rule.fmt(f),
            Self::Set(set) => set.fmt(f),
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            HostPattern::Name(name) => name.fmt(f)?,
            HostPattern::Below(domain) => write!(f, "*.{domain}")?,
            HostPattern::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            HostPattern::Address(IpAddr::V4(address)) => address.fmt(f)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests;
