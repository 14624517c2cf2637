//! Keeps a credential out of answers, however it is written and however the bytes are cut.
//!
//! What is found is covered in place, byte for byte, so that lengths and ranges stay true. A piece of a secret counts as the
//! secret once it is so long that nothing else says it.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// So many characters of a secret in a row are a piece of it and nothing else.
const PIECE: usize = 12;
/// What stands where a secret stood.
const COVER: u8 = b'*';

/// The secrets that must not pass; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct CredentialScrub(Option<Arc<Patterns>>);

struct Patterns {
    automaton: AhoCorasick,
    longest: usize,
}

impl CredentialScrub {
    /// Looks for these in every writing that is known.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns: Vec<Vec<u8>> =
            secrets.into_iter().flat_map(|secret| writings(secret.as_bytes())).collect();
        patterns.sort();
        patterns.dedup();
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(&patterns);
        Self(
            automaton.ok().filter(|_| longest > 0).map(|automaton| Arc::new(Patterns { automaton, longest })),
        )
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Covers what is there as a whole.
    pub(crate) fn cover(&self, bytes: &mut [u8]) -> bool {
        let Some(patterns) = &self.0 else { return false };
        let found: Vec<_> =
            patterns.automaton.find_overlapping_iter(&*bytes).map(|found| found.range()).collect();
        let any = !found.is_empty();
        for range in found {
            if let Some(part) = bytes.get_mut(range) {
                part.fill(COVER);
            }
        }
        any
    }

    /// For bytes that come piece by piece.
    pub(crate) fn stream(&self) -> ScrubbedStream {
        ScrubbedStream { scrub: self.clone(), held: Vec::new(), covered: Vec::new() }
    }
}

/// Covers secrets in a stream; holds back as many bytes as a secret could still begin in.
pub(crate) struct ScrubbedStream {
    scrub: CredentialScrub,
    held: Vec<u8>,
    /// Which of them are to be covered; they stay as they are until they leave, because a further piece may begin in them.
    covered: Vec<bool>,
}

impl ScrubbedStream {
    /// Takes a piece and gives what is certain.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(patterns) = self.scrub.0.clone() else { return piece.to_vec() };
        self.held.extend_from_slice(piece);
        self.look(&patterns);
        self.release(self.held.len().saturating_sub(patterns.longest - 1))
    }

    /// Gives what was held back.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.release(self.held.len())
    }

    fn look(&mut self, patterns: &Patterns) {
        self.covered.resize(self.held.len(), false);
        for found in patterns.automaton.find_overlapping_iter(&self.held) {
            if let Some(part) = self.covered.get_mut(found.range()) {
                part.fill(true);
            }
        }
    }

    fn release(&mut self, count: usize) -> Vec<u8> {
        let covered = self.covered.drain(..count.min(self.covered.len()));
        self.held
            .drain(..count)
            .zip(covered)
            .map(|(byte, covered)| if covered { COVER } else { byte })
            .collect()
    }
}

/// Every piece of a secret in every writing.
fn writings(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for piece in secret.windows(PIECE.min(secret.len()).max(1)) {
        let each =
            |write: fn(u8) -> String| piece.iter().map(|byte| write(*byte)).collect::<String>().into_bytes();
        all.push(piece.to_vec());
        all.push(piece.iter().rev().copied().collect());
        all.push(each(|byte| format!("{byte:02x}")));
        all.push(each(|byte| format!("%{byte:02x}")));
        all.push(each(|byte| format!("\\u{byte:04x}")));
        all.push(each(|byte| format!("\\x{byte:02x}")));
        all.push(each(|byte| format!("&#{byte};")));
        all.push(each(|byte| format!("&#x{byte:x};")));
        all.push(each(percent));
        all.push(each(escaped));
    }
    for shift in 0..3 {
        all.extend(packed(secret, shift, |bytes| STANDARD_NO_PAD.encode(bytes)));
        all.extend(packed(secret, shift, |bytes| URL_SAFE_NO_PAD.encode(bytes)));
    }
    all.retain(|writing| writing.len() >= 4);
    all
}

/// As an address writes it.
fn percent(byte: u8) -> String {
    let plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    if plain { char::from(byte).to_string() } else { format!("%{byte:02x}") }
}

/// As JSON writes it.
fn escaped(byte: u8) -> String {
    if matches!(byte, b'"' | b'\\' | b'/') {
        format!("\\{}", char::from(byte))
    } else {
        char::from(byte).to_string()
    }
}

/// Pieces of the characters that are the same whatever stands around a secret that begins so many bytes into a group of three.
fn packed(secret: &[u8], shift: usize, encode: impl Fn(&[u8]) -> String) -> Vec<Vec<u8>> {
    let shifted = [&vec![0; shift][..], secret].concat();
    let text = encode(&shifted).into_bytes();
    let (first, last) = ((shift * 8).div_ceil(6), shifted.len() * 8 / 6);
    let own = text.get(first..last).unwrap_or_default();
    if own.len() < 8 {
        return Vec::new();
    }
    own.windows(own.len().min(16)).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "npm_Canary/0123\"456789+abc";

    fn written() -> Vec<Vec<u8>> {
        let each = |write: fn(u8) -> String| SECRET.bytes().map(write).collect::<String>().into_bytes();
        let mut all = vec![
            SECRET.as_bytes().to_vec(),
            SECRET.to_uppercase().into_bytes(),
            SECRET.as_bytes()[5..20].to_vec(),
            each(|byte| format!("{byte:02X}")),
            each(|byte| format!("%{byte:02X}")),
            each(|byte| format!("\\u{byte:04x}")),
            each(percent),
            each(escaped),
        ];
        for front in ["", "x", "me:", "user:"] {
            all.push(STANDARD_NO_PAD.encode(format!("{front}{SECRET}tail")).into_bytes());
            all.push(URL_SAFE_NO_PAD.encode(format!("{front}{SECRET}")).into_bytes());
        }
        all
    }

    #[test]
    fn every_writing_is_covered_wherever_it_is_cut() {
        let scrub = CredentialScrub::new([SECRET]);
        for writing in written() {
            let whole = [b"before ".as_slice(), &writing, b" after"].concat();
            for cut in 0..whole.len() {
                let mut stream = scrub.stream();
                let mut out = stream.push(&whole[..cut]);
                out.extend(stream.push(&whole[cut..]));
                out.extend(stream.finish());
                let said = String::from_utf8_lossy(&writing);
                assert_eq!(out.len(), whole.len(), "{said}");
                assert!(out.starts_with(b"before ") && out.ends_with(b" after"), "{said}");
                // What remains is too short to say anything.
                let longest = writing.windows(9).any(|part| out.windows(9).any(|other| other == part));
                assert!(!longest, "{said} at {cut}: {}", String::from_utf8_lossy(&out));
            }
        }
    }

    proptest! {
        #[test]
        fn other_bytes_pass_as_they_are(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 0..8)) {
            let mut stream = CredentialScrub::new([SECRET]).stream();
            let mut out: Vec<u8> = pieces.iter().flat_map(|piece| stream.push(piece)).collect();
            out.extend(stream.finish());
            prop_assert_eq!(out, pieces.concat());
        }

        #[test]
        fn one_byte_at_a_time_is_the_same(front in "[a-z]{0,90}", back in "[a-z]{0,90}") {
            let text = format!("{front}{SECRET}{back}");
            let mut stream = CredentialScrub::new([SECRET]).stream();
            let mut out: Vec<u8> = text.bytes().flat_map(|byte| stream.push(&[byte])).collect();
            out.extend(stream.finish());
            prop_assert_eq!(out, format!("{front}{}{back}", "*".repeat(SECRET.len())).into_bytes());
        }
    }
}
