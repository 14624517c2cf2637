//! The proxy a company puts before the world, as the host's own environment names it.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::permit::{HostName, HostTarget, PermitError, TargetHost};

/// The proxies of the host's environment, and what is reached without them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CompanyProxies {
    /// For encrypted connections.
    encrypted: Option<CompanyProxy>,
    /// For the others.
    plain: Option<CompanyProxy>,
    exempt: Vec<Exemption>,
}

/// One proxy, asked with `CONNECT`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CompanyProxy {
    pub(crate) target: HostTarget,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Exemption {
    Everything,
    Name(HostName),
    Address(IpAddr),
    Network(IpAddr, u8),
}

/// Why a proxy of the environment cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompanyProxyError {
    /// The scheme is another one.
    #[error("{variable} names a proxy that is not spoken to in plain HTTP: only http:// is supported")]
    Scheme {
        /// The variable.
        variable: String,
    },
    /// The host in it.
    #[error("{variable} names no usable proxy: {source}")]
    Host {
        /// The variable.
        variable: String,
        /// What is wrong.
        source: PermitError,
    },
}

impl CompanyProxies {
    /// Reads the variables other programs read; the lower-case form goes first.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Self, CompanyProxyError> {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| {
                let value = variable(name).filter(|value| !value.trim().is_empty())?;
                Some(((*name).to_owned(), value))
            })
        };
        let read = |names: &[&str]| {
            first(names).map(|(name, value)| CompanyProxy::parse(&name, value.trim())).transpose()
        };
        let exempt = first(&["no_proxy", "NO_PROXY"]).map(|(_, value)| value).unwrap_or_default();
        Ok(Self {
            encrypted: read(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])?,
            plain: read(&["http_proxy", "all_proxy", "ALL_PROXY"])?,
            exempt: exempt.split([',', ' ']).filter_map(|entry| Exemption::parse(entry.trim())).collect(),
        })
    }

    /// The proxy a target is reached through, if there is one.
    pub(crate) fn before(&self, target: &HostTarget, encrypted: bool) -> Option<&CompanyProxy> {
        let proxy = if encrypted { self.encrypted.as_ref() } else { self.plain.as_ref() }?;
        let exempt = self.exempt.iter().any(|exemption| exemption.covers(&target.host));
        let own = matches!(&target.host, TargetHost::Address(address) if address.is_loopback());
        (!exempt && !own).then_some(proxy)
    }

    /// Everything in it that must not be seen inside.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let both = self.encrypted.iter().chain(self.plain.iter());
        both.filter_map(|proxy| proxy.authorization.as_deref()?.strip_prefix("Basic "))
    }
}

impl fmt::Debug for CompanyProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = |proxy: &Option<CompanyProxy>| proxy.as_ref().map(|proxy| proxy.target.to_string());
        f.debug_struct("CompanyProxies")
            .field("encrypted", &target(&self.encrypted))
            .field("plain", &target(&self.plain))
            .field("exempt", &self.exempt)
            .finish()
    }
}

impl CompanyProxy {
    fn parse(variable: &str, text: &str) -> Result<Self, CompanyProxyError> {
        let variable = || variable.to_owned();
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(CompanyProxyError::Scheme { variable: variable() }),
            None => text,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let target = HostTarget::parse(host, Some(80))
            .map_err(|source| CompanyProxyError::Host { variable: variable(), source })?;
        let authorization = user.map(|user| {
            let (name, word) = user.split_once(':').unwrap_or((user, ""));
            let plain = [&decoded(name)[..], b":", &decoded(word)[..]].concat();
            format!("Basic {}", STANDARD.encode(plain))
        });
        Ok(Self { target, authorization })
    }
}

impl Exemption {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Everything);
        }
        if let Some((address, bits)) = text.split_once('/') {
            return Some(Self::Network(address.parse().ok()?, bits.parse().ok()?));
        }
        let text = text.trim_start_matches("*.").trim_start_matches('.');
        let host =
            text.split_once(':').filter(|(_, port)| !port.contains(':')).map_or(text, |(host, _)| host);
        match TargetHost::parse(host).ok()? {
            TargetHost::Name(name) => Some(Self::Name(name)),
            TargetHost::Address(address) => Some(Self::Address(address)),
        }
    }

    fn covers(&self, host: &TargetHost) -> bool {
        match (self, host) {
            (Self::Everything, _) => true,
            (Self::Name(own), TargetHost::Name(name)) => own == name || name.is_below(own),
            (Self::Address(own), TargetHost::Address(address)) => own == address,
            (Self::Network(own, bits), TargetHost::Address(address)) => same_network(*own, *address, *bits),
            _ => false,
        }
    }
}

fn same_network(a: IpAddr, b: IpAddr, bits: u8) -> bool {
    let (a, b, size) = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return false,
    };
    let Some(rest) = u32::checked_sub(size, u32::from(bits)) else { return false };
    (a ^ b).checked_shr(rest).unwrap_or(0) == 0
}

/// Bytes with percent signs taken off.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let pair = (byte == b'%').then(|| Some((hex(ahead.next()?)?, hex(ahead.next()?)?))).flatten();
        match pair {
            Some((high, low)) => {
                bytes = ahead;
                out.push(high << 4 | low);
            }
            None => out.push(byte),
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn proxies(pairs: &[(&str, &str)]) -> Result<CompanyProxies, CompanyProxyError> {
        CompanyProxies::from_environment(|name| {
            pairs.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_says_what_goes_through_which_proxy() {
        let all = proxies(&[
            ("HTTPS_PROXY", "http://user:p%40ss@proxy.example:3128/"),
            ("NO_PROXY", "inner.example, .deep.example,10.0.0.0/8,192.0.2.7,bad entry/,*.star.example"),
        ])
        .unwrap();
        let before = |target: &str, encrypted| {
            all.before(&HostTarget::parse(target, Some(443)).unwrap(), encrypted)
                .map(|proxy| proxy.target.to_string())
        };
        assert_eq!(before("example.org", true).as_deref(), Some("proxy.example:3128"));
        for direct in [
            "inner.example",
            "a.inner.example",
            "deep.example",
            "10.1.2.3",
            "192.0.2.7",
            "x.star.example",
            "127.0.0.1",
        ] {
            assert_eq!(before(direct, true), None, "{direct}");
        }
        assert_eq!(before("example.org", false), None);
        assert_eq!(all.secrets().collect::<Vec<_>>(), ["dXNlcjpwQHNz"]);
        assert!(!format!("{all:?}").contains("dXNl") && !format!("{all:?}").contains("p@ss"));
    }

    #[test]
    fn what_cannot_be_used_is_told_without_its_password() {
        for value in
            ["socks5://user:hunter22@proxy.example", "http://user:hunter22@pro xy", "http://user:hunter22@"]
        {
            let error = proxies(&[("https_proxy", value)]).expect_err(value).to_string();
            assert!(error.contains("https_proxy") && !error.contains("hunter22"), "{error}");
        }
        assert_eq!(proxies(&[("https_proxy", " ")]), Ok(CompanyProxies::default()));
    }
}
