//! A host's name in the one form in which names are compared.

use std::fmt;
use std::net::Ipv4Addr;

use super::error::{PermitError, shortened};

/// A DNS name as it is compared: ASCII, lower case, without a trailing dot, and never a number that could be an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// Reads a name in any case and script; full-width digits and dots count as what they are mapped to.
    pub fn parse(text: &str) -> Result<Self, PermitError> {
        let name = || shortened(text);
        if text.is_empty() {
            return Err(PermitError::Empty);
        }
        // Mapping a text of any length would be work without end.
        if text.len() > 1024 {
            return Err(PermitError::TooLong { name: name() });
        }
        if let Some(character) = text.chars().find(|c| c.is_ascii() && !written(*c)) {
            return Err(PermitError::Character { name: name(), character });
        }
        let mapped = idna::domain_to_ascii(text).map_err(|_| PermitError::International { name: name() })?;
        let ascii = mapped.strip_suffix('.').unwrap_or(&mapped);
        if ascii.len() > 253 {
            return Err(PermitError::TooLong { name: name() });
        }
        if let Some(character) = ascii.chars().find(|c| !written(*c)) {
            return Err(PermitError::Character { name: name(), character });
        }
        let whole =
            |label: &str| (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-');
        if !ascii.split('.').all(whole) {
            return Err(PermitError::Label { name: name() });
        }
        if ends_in_number(ascii) {
            return Err(PermitError::OddAddress { name: name() });
        }
        Ok(Self(ascii.to_ascii_lowercase()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it lies below a domain, which itself does not.
    pub fn is_below(&self, domain: &Self) -> bool {
        self.0.strip_suffix(&domain.0).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
    }

    /// Whether every resolver takes it for the machine that asks.
    pub fn is_this_machine(&self) -> bool {
        let last = self.0.rsplit('.').next().unwrap_or_default();
        last == "localhost" || self.0 == "localhost.localdomain"
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Characters names are written with; an underscore stands in names that are in use.
fn written(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Whether some program would read the name as an IPv4 address: its last part is decimal, octal or hexadecimal.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || last.bytes().all(|byte| byte.is_ascii_digit())
}

/// An IPv4 address in its one plain spelling.
pub(super) fn plain_ipv4(text: &str) -> Option<Ipv4Addr> {
    let address: Ipv4Addr = text.parse().ok()?;
    (address.to_string() == text).then_some(address)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_name_has_one_form() {
        let check = |text: &str, expect: &str| {
            assert_eq!(HostName::parse(text).map(|name| name.0).as_deref(), Ok(expect), "{text}");
        };
        check("Example.ORG", "example.org");
        check("example.org.", "example.org");
        check("ex\u{ff41}mple.org", "example.org");
        check("example\u{3002}org", "example.org");
        check("bücher.example", "xn--bcher-kva.example");
        check("XN--BCHER-KVA.example", "xn--bcher-kva.example");
        check("_dmarc.example.org", "_dmarc.example.org");
        check("1.example", "1.example");
        check("0xg.example.a1", "0xg.example.a1");
    }

    #[test]
    fn what_is_no_name_is_told() {
        let check = |text: &str| assert!(HostName::parse(text).is_err(), "{text:?} is taken for a name");
        let long = "a".repeat(64);
        let longer = vec!["abcdefg"; 40].join(".");
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "-a.b",
            "a-.b",
            "a b",
            "a/b",
            "a%2eb",
            "a\0.b",
            "a:b",
            "a@b",
            "[::1]",
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "2130706433",
            "0177.0.0.1",
            "1.2.3.4.",
            "0x7f000001",
            "a.0x",
            "a.08",
            "１２７.0.0.1",
            "127。0。0。1",
            "①.②.③.④",
            "\u{ad}.\u{200b}",
            "xn--\u{0}",
            "xn--zzzzzz-\u{301}",
            "a\n",
            &long,
            &longer,
        ] {
            check(text);
        }
    }

    #[test]
    fn below_is_not_beside() {
        let below = |name: &str, domain: &str| {
            HostName::parse(name).unwrap().is_below(&HostName::parse(domain).unwrap())
        };
        assert!(below("a.example.org", "example.org"));
        assert!(below("a.b.example.org", "example.org"));
        assert!(!below("example.org", "example.org"));
        assert!(!below("aexample.org", "example.org"));
        assert!(!below("example.org.evil.test", "example.org"));
    }
}
