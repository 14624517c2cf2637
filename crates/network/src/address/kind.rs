//! Addresses sorted by what may be behind them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of place an address is; everything but the first is refused unless somebody names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressKind {
    /// The network everybody shares.
    Public,
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// A network shared behind a carrier's translation.
    CarrierShared,
    /// The link this machine is on.
    LinkLocal,
    /// Where a cloud tells its machines their secrets.
    Metadata,
    /// Many machines at once.
    Multicast,
    /// No address, which systems take for this machine.
    Unspecified,
    /// Set aside for examples and measurements.
    Documentation,
    /// An IPv4 address written or carried as an IPv6 one.
    Embedded,
    /// Set aside for something else, or for nothing yet.
    Reserved,
}

/// Addresses at which clouds serve metadata or credentials, besides those of the local link.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

impl AddressKind {
    /// The kind of an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => v4(address),
            IpAddr::V6(address) => v6(address),
        }
    }
}

fn v4(address: Ipv4Addr) -> AddressKind {
    if METADATA_V4.contains(&address) {
        return AddressKind::Metadata;
    }
    match address.octets() {
        [0, ..] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressKind::Private,
        [100, 64..=127, ..] => AddressKind::CarrierShared,
        [169, 254, ..] => AddressKind::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18..=19, ..] => {
            AddressKind::Documentation
        }
        // The anycast address of 6to4 relays.
        [192, 88, 99, _] => AddressKind::Embedded,
        [192, 0, 0, _] => AddressKind::Reserved,
        [224..=239, ..] => AddressKind::Multicast,
        [240..=255, ..] => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn v6(address: Ipv6Addr) -> AddressKind {
    if METADATA_V6.contains(&address) {
        return AddressKind::Metadata;
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // Compatible, mapped and translated forms; NAT64, with its local prefix; Teredo; 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => AddressKind::Embedded,
        [0x64, 0xff9b, ..] | [0x2001, 0, ..] | [0x2002, ..] => AddressKind::Embedded,
        // ISATAP, below any prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => AddressKind::Embedded,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x2001, 2, 0, ..] => AddressKind::Documentation,
        [0xfc00..=0xfdff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        [0xfec0..=0xfeff, ..] => AddressKind::Private,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        [0x2001, ..=0x1ff, ..] => AddressKind::Reserved,
        // Only this eighth of the space is in use.
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "this machine itself",
            Self::Private => "a private network",
            Self::CarrierShared => "a network shared behind a carrier",
            Self::LinkLocal => "the local link",
            Self::Metadata => "where a cloud tells its machines their secrets",
            Self::Multicast => "many machines at once",
            Self::Unspecified => "no address, which means this machine",
            Self::Documentation => "an address set aside for examples",
            Self::Embedded => "an IPv4 address in the form of an IPv6 one",
            Self::Reserved => "an address set aside",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::AddressKind::*;
    use super::*;

    #[test]
    fn every_range_has_its_kind_at_both_ends() {
        let check = |expect: AddressKind, addresses: &[&str]| {
            for text in addresses {
                assert_eq!(AddressKind::of(text.parse().unwrap()), expect, "{text}");
            }
        };
        check(Unspecified, &["0.0.0.0", "0.255.255.255", "::"]);
        check(Loopback, &["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"]);
        check(
            Private,
            &["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"],
        );
        check(Private, &["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::1"]);
        check(CarrierShared, &["100.64.0.0", "100.127.255.255"]);
        check(LinkLocal, &["169.254.0.0", "169.254.255.255", "fe80::", "febf::1"]);
        check(
            Metadata,
            &["169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16"],
        );
        check(Metadata, &["fd00:ec2::254", "fd20:ce::254"]);
        check(Multicast, &["224.0.0.0", "239.255.255.255", "ff00::", "ff02::1"]);
        check(
            Reserved,
            &[
                "240.0.0.0",
                "255.255.255.255",
                "192.0.0.1",
                "2001:1::1",
                "5f00::1",
                "100::1",
                "4000::1",
                "e000::",
            ],
        );
        check(Documentation, &["192.0.2.0", "198.51.100.255", "203.0.113.9", "198.18.0.0", "198.19.255.255"]);
        check(Documentation, &["2001:db8::1", "3fff::1", "3fff:fff::1", "2001:2::1"]);
        check(
            Embedded,
            &["::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "192.88.99.1"],
        );
        check(
            Embedded,
            &["64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001::1", "2a00::200:5efe:a00:1"],
        );
        check(
            Public,
            &["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"],
        );
        check(
            Public,
            &["128.0.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "223.255.255.255"],
        );
        check(Public, &["2001:200::1", "2606:4700::1111", "3ffe::1", "3fff:1000::1", "2a00:1450::1"]);
    }

    proptest! {
        #[test]
        fn no_ipv6_form_of_an_ipv4_address_is_public(bits in any::<u32>()) {
            let [a, b] = [(bits >> 16) as u16, bits as u16];
            for form in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, a, b), Ipv6Addr::new(0, 0, 0, 0, 0, 0, a, b),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, a, b), Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, a, b), Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, a, b, 0, 0, !a, !b),
            ] {
                prop_assert_ne!(AddressKind::of(form.into()), Public);
            }
        }

        #[test]
        fn the_standard_library_agrees(bits in any::<u32>()) {
            let address = Ipv4Addr::from_bits(bits);
            let special = address.is_loopback() || address.is_private() || address.is_link_local() || address.is_multicast()
                || address.is_broadcast() || address.is_documentation() || address.is_unspecified();
            prop_assert!(!special || AddressKind::of(address.into()) != Public);
        }
    }
}
