//! Where an index keeps its files: hosts that its answers name and no configuration does.

use super::recognise::recognise;
use crate::outside::decoded;
use crate::permit::{HostTarget, PackageFamily, TargetHost};

/// Reads an answer as it passes.
pub(crate) struct LinkScan {
    family: PackageFamily,
    /// The end of what passed, where an address may have begun.
    tail: Vec<u8>,
}

const BEGIN: &[u8] = b"https://";
/// No address is longer.
const LONGEST: usize = 2048;

impl LinkScan {
    /// For an answer that may name such hosts.
    pub(crate) fn new(family: PackageFamily) -> Self {
        Self { family, tail: Vec::new() }
    }

    /// Whether a request asks for what may name such hosts.
    pub(crate) fn is_index(family: PackageFamily, path: &str) -> bool {
        match family {
            PackageFamily::Python => recognise(family, path).is_none() && !path.ends_with(".metadata"),
            PackageFamily::Cargo => path.ends_with("/config.json"),
            _ => false,
        }
    }

    /// Takes a piece and gives the hosts of files that it names.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<HostTarget> {
        self.tail.extend_from_slice(piece);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(at) = self.tail.get(from..).and_then(|rest| position(rest, BEGIN)).map(|at| at + from)
        {
            let rest = self.tail.get(at..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| !part_of_address(*byte)) else {
                if rest.len() > LONGEST {
                    from = at + BEGIN.len();
                    continue;
                }
                self.tail.drain(..at.saturating_sub(16));
                return found;
            };
            let before = self.tail.get(at.saturating_sub(16)..at).unwrap_or_default();
            found.extend(self.host(before, rest.get(..end).unwrap_or_default()));
            from = at + end;
        }
        let keep = self.tail.len().saturating_sub(16 + BEGIN.len()).max(from.min(self.tail.len()));
        self.tail.drain(..keep.min(self.tail.len()));
        found
    }

    fn host(&self, before: &[u8], url: &[u8]) -> Option<HostTarget> {
        let url = std::str::from_utf8(url).ok()?.strip_prefix("https://")?;
        let (authority, path) = url.split_once('/').unwrap_or((url, ""));
        let file = match self.family {
            // Only what follows this key is where files are.
            PackageFamily::Cargo => {
                let before: String = before
                    .iter()
                    .filter(|byte| !byte.is_ascii_whitespace())
                    .map(|byte| char::from(*byte))
                    .collect();
                before.ends_with("\"dl\":\"")
            }
            family => recognise(family, path.split('?').next().unwrap_or_default()).is_some(),
        };
        let authority = String::from_utf8(decoded(authority)).ok()?;
        let target = HostTarget::parse(&authority, Some(443)).ok()?;
        let fits = file
            && target.port == 443
            && matches!(&target.host, TargetHost::Name(name) if !name.is_this_machine());
        fits.then_some(target)
    }
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn part_of_address(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'#' | b'\\' | b')' | b'{' | b'}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    fn found(family: PackageFamily, text: &str, piece: usize) -> Vec<String> {
        let mut scan = LinkScan::new(family);
        let mut all: Vec<String> = text
            .as_bytes()
            .chunks(piece)
            .flat_map(|piece| scan.push(piece))
            .map(|host| host.to_string())
            .collect();
        all.dedup();
        all
    }

    #[test]
    fn the_hosts_of_files_are_found_wherever_the_text_is_cut() {
        let html = "<a href=\"https://help.test/x\">help</a> <a href=\"https://files.test/p/flask-3.0.0-py3-none-any.whl#sha256=1\">\
                    f</a> <a href='https://evil.test/'>x</a> <a href=\"http://plain.test/flask-3.0.0.tar.gz\">";
        let json = "{\"files\":[{\"url\":\"https://files.test/flask-3.0.0.tar.gz\",\"yanked\":false}],\"home\":\"https://home.test/\"}";
        let config = "{ \"dl\": \"https://crates.test/api\", \"api\": \"https://api.test\" }";
        for piece in [1, 2, 3, 7, 16, 1000] {
            assert_eq!(found(PackageFamily::Python, html, piece), ["files.test:443"], "{piece}");
            assert_eq!(found(PackageFamily::Python, json, piece), ["files.test:443"], "{piece}");
            assert_eq!(found(PackageFamily::Cargo, config, piece), ["crates.test:443"], "{piece}");
        }
    }

    #[test]
    fn addresses_and_this_machine_are_not_led_to() {
        for host in ["127.0.0.1", "[::1]", "localhost", "10.0.0.1", "a.test:8443", "me@127.0.0.1", "0x7f.1"] {
            let html = format!("<a href=\"https://{host}/flask-3.0.0.tar.gz\">");
            assert_eq!(found(PackageFamily::Python, &html, 1000), Vec::<String>::new(), "{host}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read(pieces in prop::collection::vec(r#"[a-z:/."<h]{0,40}|https://|"dl":"|\PC{0,9}"#, 0..20)) {
            for family in [PackageFamily::Python, PackageFamily::Cargo] {
                let mut scan = LinkScan::new(family);
                for piece in &pieces {
                    scan.push(piece.as_bytes());
                    prop_assert!(scan.tail.len() <= LONGEST + 200);
                }
            }
        }
    }
}
