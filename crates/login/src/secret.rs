//! A text that cannot be printed by accident.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A token, a key, or anything else that must not be shown: no `Display`, and `Debug` says only that it is there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Holds a secret; white space around it is dropped.
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// The value itself, for a header or a redactor and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether nothing is in it, as where an agent has blanked its login.
    pub fn is_blank(&self) -> bool {
        self.0.is_empty()
    }

    /// What tells this one from others and gives nothing away.
    pub fn mark(&self) -> SecretMark {
        SecretMark(hex(&Sha256::digest(self.0.as_bytes())))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A digest that stands for a secret where only sameness matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretMark(String);

/// A short text that stands for a path in a name.
pub(crate) fn path_mark(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    hex(digest.get(..8).unwrap_or_default())
}

/// Lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(u32::from(n & 15), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_and_is_told_apart() {
        let secret = Secret::new(" canary-1 \n");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(…) Some(Secret(…))");
        assert_eq!(secret.expose(), "canary-1");
        assert_eq!(secret.mark(), Secret::new("canary-1").mark());
        assert_ne!(secret.mark(), Secret::new("canary-2").mark());
        assert!(!format!("{:?}", secret.mark()).contains("canary"));
        assert!(Secret::new("  ").is_blank());
    }
}
