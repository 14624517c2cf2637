//! SHA-256 as text, the way the rest of Holon writes it.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Digest of these bytes, in hexadecimal.
pub(crate) fn of(bytes: &[u8]) -> String {
    let mut running = RunningDigest::default();
    running.update(bytes);
    running.finish()
}

/// A digest of bytes that come piece by piece.
#[derive(Default)]
pub(crate) struct RunningDigest(Sha256);

impl RunningDigest {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> String {
        let mut text = String::with_capacity(64);
        for byte in self.0.finalize() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_known_value() {
        assert_eq!(super::of(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
