//! Keeps a key out of what is passed to a client, however the bytes are cut.
//!
//! Only the key itself is covered: an answer of a model may well hold text that looks like somebody's key, and changing
//! that would damage the agent's work.

use std::sync::Arc;

/// Shorter values would cover ordinary text.
const SHORTEST: usize = 8;
const COVER: &[u8] = b"[key]";

/// The values that must not pass; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct HiddenKeys(Arc<Vec<Vec<u8>>>);

impl HiddenKeys {
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let long = values.into_iter().map(|value| value.trim().as_bytes().to_vec());
        Self(Arc::new(long.filter(|value| value.len() >= SHORTEST).collect()))
    }

    pub(crate) fn redactor(&self) -> KeyRedactor {
        KeyRedactor { keys: self.clone(), held: Vec::new() }
    }

    /// Covers bytes that are there as a whole.
    pub(crate) fn cover(&self, bytes: &[u8]) -> Vec<u8> {
        let mut veil = self.redactor();
        let mut out = veil.push(bytes);
        out.extend(veil.finish());
        out
    }
}

/// Covers keys in a stream; holds back only what may become one.
pub(crate) struct KeyRedactor {
    keys: HiddenKeys,
    held: Vec<u8>,
}

impl KeyRedactor {
    /// Takes a piece and gives what is certain.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.keys.0.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        let mut out = Vec::with_capacity(self.held.len());
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            if let Some(key) = self.keys.0.iter().find(|key| rest.starts_with(key)) {
                out.extend_from_slice(COVER);
                at += key.len();
            } else if self.keys.0.iter().any(|key| key.starts_with(rest)) {
                break;
            } else {
                out.push(rest[0]);
                at += 1;
            }
        }
        self.held.drain(..at);
        out
    }

    /// Gives what was held back.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_cut_lets_a_key_through(
            before in "[ks-]{0,12}", between in "[a-z]{0,3}", cuts in prop::collection::vec(0usize..60, 0..8),
        ) {
            let keys = HiddenKeys::new(["sk-secret-1", "ks-other-22"]);
            let text = format!("{before}sk-secret-1{between}ks-other-22 sk-secret-");
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut veil = keys.redactor();
            let mut out = Vec::new();
            for pair in cuts.windows(2) {
                out.extend(veil.push(&bytes[pair[0]..pair[1]]));
            }
            out.extend(veil.finish());
            let expect = format!("{before}[key]{between}[key] sk-secret-");
            prop_assert_eq!(String::from_utf8_lossy(&out), expect);
        }
    }
}
