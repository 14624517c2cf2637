//! Where a request wants to go.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::error::{PermitError, shortened};
use super::host_name::{HostName, plain_ipv4};

/// A name or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TargetHost {
    /// A name, which the host resolves.
    Name(HostName),
    /// An address.
    Address(IpAddr),
}

/// A host with a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostTarget {
    /// The host.
    pub host: TargetHost,
    /// The port.
    pub port: u16,
}

impl TargetHost {
    /// Reads a name, an IPv4 address in four decimal numbers, or an IPv6 address with or without brackets.
    pub fn parse(text: &str) -> Result<Self, PermitError> {
        let odd = || PermitError::OddIpv6 { name: shortened(text) };
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or_else(odd)?;
            return inner.parse::<Ipv6Addr>().map(|address| Self::Address(address.into())).map_err(|_| odd());
        }
        if text.contains(':') {
            return text.parse::<Ipv6Addr>().map(|address| Self::Address(address.into())).map_err(|_| odd());
        }
        match plain_ipv4(text) {
            Some(address) => Ok(Self::Address(address.into())),
            None => HostName::parse(text).map(Self::Name),
        }
    }

    /// The name, if it is one.
    pub fn name(&self) -> Option<&HostName> {
        match self {
            Self::Name(name) => Some(name),
            Self::Address(_) => None,
        }
    }
}

impl fmt::Display for TargetHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl HostTarget {
    /// Reads what a request names; without a default, the port has to be there.
    pub fn parse(authority: &str, default: Option<u16>) -> Result<Self, PermitError> {
        let (host, port) = parse_with_port(authority)?;
        let port = port.or(default).ok_or_else(|| PermitError::NoPort { name: shortened(authority) })?;
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Reads a host and the port behind it, if there is one.
pub(super) fn parse_with_port(text: &str) -> Result<(TargetHost, Option<u16>), PermitError> {
    let (host, port) = split_port(text)?;
    Ok((TargetHost::parse(host)?, port))
}

/// Parts a text into a host and its port; two colons without brackets are an IPv6 address.
pub(super) fn split_port(text: &str) -> Result<(&str, Option<u16>), PermitError> {
    if text.is_empty() {
        return Err(PermitError::Empty);
    }
    if let Some((_, host)) = text.rsplit_once('@') {
        return Err(PermitError::UserName { text: shortened(host) });
    }
    let (host, port) = match text.rfind(']') {
        Some(end) => {
            let (host, rest) = text.split_at(end + 1);
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err(PermitError::OddIpv6 { name: shortened(text) }),
            }
        }
        None => match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (text, None),
        },
    };
    Ok((host, port.map(parse_port).transpose()?))
}

fn parse_port(text: &str) -> Result<u16, PermitError> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain).ok_or_else(|| PermitError::Port { port: shortened(text) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn authorities_are_read() {
        let check = |text: &str, expect: &str| {
            assert_eq!(HostTarget::parse(text, Some(443)).unwrap().to_string(), expect, "{text}");
        };
        check("Example.org", "example.org:443");
        check("example.org.:8080", "example.org:8080");
        check("192.0.2.7:80", "192.0.2.7:80");
        check("[2001:DB8::0:7]:80", "[2001:db8::7]:80");
        check("2001:db8::7", "[2001:db8::7]:443");
        check("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]:443");
    }

    #[test]
    fn odd_authorities_are_not() {
        for text in [
            "",
            ":80",
            "a:",
            "a:0",
            "a:080",
            "a:+80",
            "a:65536",
            "a:8 0",
            "a:80:80",
            "u@a:80",
            "u:p@a",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1%1]",
            "[fe80::1%25lo]:80",
            "[127.0.0.1]",
            "[a]",
            "127.0.0.01",
            "127.0.0.1.",
            "127.0.0.1.:80",
            "0x7f.0.0.1:80",
            "127.0.1",
            "1",
            "a#b",
            "a?b",
            "a/b",
            "a\\b",
            " a",
            "a ",
            "a\t",
            "a,b",
            "a;b",
            "\u{feff}",
            "127.0.0.1\u{0}.example",
        ] {
            assert!(HostTarget::parse(text, Some(443)).is_err(), "{text:?} is taken for a host");
        }
        assert!(HostTarget::parse("example.org", None).is_err());
    }
}
