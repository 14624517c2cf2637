//! The permits of one run, and what they say of a target.

use std::net::IpAddr;

use holon_core::suggest;

use super::access::{Permit, PermitAccess, PermitSource};
use super::host_target::{HostTarget, TargetHost};
use super::rule::{HostPattern, HostRule};
use crate::address::AddressKind;

/// All that one run may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermitBook {
    permits: Vec<Permit>,
}

/// Why a target or an address is not permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitRefusal {
    /// No permit names the host.
    Host {
        /// A permitted name that was perhaps meant.
        nearest: Option<String>,
    },
    /// No permit names the address.
    RawAddress(AddressKind),
    /// The host is permitted, at other ports.
    Port,
    /// The name leads to an address that nobody may reach by a name.
    Address(AddressKind, IpAddr),
}

impl PermitBook {
    /// A book of these.
    pub fn new(permits: impl IntoIterator<Item = Permit>) -> Self {
        let mut book = Self::default();
        permits.into_iter().for_each(|permit| book.add(permit));
        book
    }

    /// Adds a permit, behind those that are there.
    pub fn add(&mut self, permit: Permit) {
        if !self.permits.contains(&permit) {
            self.permits.push(permit);
        }
    }

    /// All of them.
    pub fn permits(&self) -> &[Permit] {
        &self.permits
    }

    /// The permit a target goes by. What a person named comes first, then the narrower one.
    pub fn judge(&self, target: &HostTarget) -> Result<&Permit, PermitRefusal> {
        let found = self.permits.iter().filter(|permit| permit.permits(target));
        // The first of several equals is the one that was there first.
        let found = found.min_by_key(|permit| {
            let led = match permit.source {
                PermitSource::Named => 0,
                PermitSource::ClientConfiguration(_) => 1,
                PermitSource::RegistryAnswer(_) => 2,
            };
            (led, matches!(permit.rule.pattern, HostPattern::Below(_)), permit.rule.port.is_none())
        });
        found.ok_or_else(|| self.refusal(target))
    }

    fn refusal(&self, target: &HostTarget) -> PermitRefusal {
        if self.permits.iter().any(|permit| permit.rule.names(&target.host)) {
            return PermitRefusal::Port;
        }
        match &target.host {
            TargetHost::Address(address) => PermitRefusal::RawAddress(AddressKind::of(*address)),
            TargetHost::Name(name) => {
                let known = self.permits.iter().filter_map(|permit| match &permit.rule.pattern {
                    HostPattern::Name(known) => Some(known.as_str()),
                    _ => None,
                });
                let nearest = suggest::closest(name.as_str(), known).map(str::to_owned);
                PermitRefusal::Host { nearest }
            }
        }
    }

    /// Whether a connection may go to an address that a permitted target was resolved to.
    ///
    /// What a permit names by its address is reached whatever the address is. A name may lead to the public network; where the
    /// user's own configuration of a client named it, also into a private one, and never to where machines tell their secrets.
    /// The kind is the caller's to say: which public addresses are this machine's is not to be seen by the address.
    pub fn judge_address(
        &self,
        permit: &Permit,
        target: &HostTarget,
        address: IpAddr,
        kind: AddressKind,
    ) -> Result<(), PermitRefusal> {
        let named =
            |rule: &HostRule| rule.pattern == HostPattern::Address(address) && rule.permits_port(target.port);
        let by_address =
            self.permits.iter().any(|other| other.source == PermitSource::Named && named(&other.rule));
        let fine = match kind {
            AddressKind::Public => true,
            _ if by_address => true,
            AddressKind::Private
            | AddressKind::CarrierShared
            | AddressKind::Documentation
            | AddressKind::Loopback => {
                matches!(permit.source, PermitSource::ClientConfiguration(_))
                    && !matches!(permit.rule.pattern, HostPattern::Below(_))
            }
            _ => false,
        };
        if fine { Ok(()) } else { Err(PermitRefusal::Address(kind, address)) }
    }

    /// Whether nothing but reading is permitted by a permit, given whether credentials are put in for the host.
    pub fn reads_only(permit: &Permit, with_credential: bool) -> Option<bool> {
        match permit.access {
            PermitAccess::ReadOnly { opaque } => Some(opaque && !with_credential),
            PermitAccess::Repository(_) => Some(false),
            PermitAccess::Whole => with_credential.then_some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::permit::{ClientSet, PermitRule};

    fn rule(text: &str) -> HostRule {
        match PermitRule::parse(text) {
            Ok(PermitRule::Host(rule)) => rule,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn book(named: &[&str], configured: &[&str]) -> PermitBook {
        let named = named.iter().map(|text| Permit::named(rule(text)));
        let configured = configured.iter().map(|text| Permit::configured(rule(text), ClientSet::Npm));
        PermitBook::new(named.chain(configured))
    }

    fn target(text: &str) -> HostTarget {
        HostTarget::parse(text, Some(443)).unwrap()
    }

    #[test]
    fn what_is_named_is_permitted_and_nothing_else() {
        let book = book(&["example.org", "*.example.net", "192.0.2.7:8080", "deep.example.com:444"], &[]);
        for fine in
            ["example.org", "EXAMPLE.org.:80", "a.b.example.net", "192.0.2.7:8080", "deep.example.com:444"]
        {
            assert!(book.judge(&target(fine)).is_ok(), "{fine}");
        }
        for other in [
            "example.org:8443",
            "example.net",
            "aexample.net",
            "example.org.evil.test",
            "192.0.2.7",
            "192.0.2.8:8080",
            "[::ffff:192.0.2.7]:8080",
            "deep.example.com",
            "www.example.org",
            "example.com",
        ] {
            assert!(book.judge(&target(other)).is_err(), "{other}");
        }
        assert!(PermitBook::default().judge(&target("example.org")).is_err());
    }

    #[test]
    fn a_refusal_knows_what_was_perhaps_meant() {
        let book = book(&["example.org"], &[]);
        let nearest = Some("example.org".to_owned());
        assert_eq!(book.judge(&target("exmaple.org")), Err(PermitRefusal::Host { nearest }));
        assert_eq!(book.judge(&target("example.org:22")), Err(PermitRefusal::Port));
        assert_eq!(book.judge(&target("127.0.0.1")), Err(PermitRefusal::RawAddress(AddressKind::Loopback)));
    }

    #[test]
    fn a_person_comes_before_a_client_and_the_narrow_before_the_wide() {
        let book = book(&["*.example.org"], &["a.example.org", "b.example.test"]);
        assert_eq!(book.judge(&target("a.example.org")).unwrap().access, PermitAccess::Whole);
        assert_eq!(
            book.judge(&target("b.example.test")).unwrap().access,
            PermitAccess::ReadOnly { opaque: false }
        );
    }

    #[test]
    fn addresses_by_name_are_public_or_configured() {
        let book = book(&["example.org", "10.0.0.1", "169.254.169.254:80"], &["registry.example:8080"]);
        let check = |host: &str, address: &str, fine: bool| {
            let target = target(host);
            let permit = book.judge(&target).unwrap();
            let address = address.parse().unwrap();
            let judged = book.judge_address(permit, &target, address, AddressKind::of(address));
            assert_eq!(judged.is_ok(), fine, "{host} at {address}");
        };
        check("example.org", "93.184.216.34", true);
        check("example.org", "10.0.0.2", false);
        check("example.org", "127.0.0.1", false);
        check("example.org", "::ffff:127.0.0.1", false);
        check("example.org", "10.0.0.1", true);
        check("example.org", "169.254.169.254", false);
        check("example.org:80", "169.254.169.254", true);
        check("10.0.0.1", "10.0.0.1", true);
        check("registry.example:8080", "10.0.0.2", true);
        check("registry.example:8080", "127.0.0.1", true);
        check("registry.example:8080", "100.64.0.1", true);
        check("registry.example:8080", "169.254.169.254", false);
        check("registry.example:8080", "100.100.100.200", false);
        check("registry.example:8080", "0.0.0.0", false);
        check("registry.example:8080", "::ffff:10.0.0.2", false);
        // An address of this machine is what the caller says it is, however public it looks.
        let (address, host) = ("93.184.216.34".parse().unwrap(), target("example.org"));
        let permit = book.judge(&host).unwrap();
        assert!(book.judge_address(permit, &host, address, AddressKind::Loopback).is_err());
    }
}
