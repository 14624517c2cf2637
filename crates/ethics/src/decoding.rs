//! Text behind text: base64 as it appears in code (standard or URL-safe, padded or not), and hexadecimal digits.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, general_purpose};

/// Decoders of other languages do not look at the last bits, so what hides from them must not be hidden here.
const ENGINE: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, general_purpose::NO_PAD.with_decode_allow_trailing_bits(true));

/// The bytes behind a text, or `None` when it is not base64.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').replace('-', "+").replace('_', "/");
    ENGINE.decode(text).ok()
}

/// The same for pairs of hexadecimal digits.
pub(crate) fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Whether bytes are text one could read.
pub(crate) fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let odd = text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')).count();
    (odd == 0 && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts() {
        assert_eq!(decode_base64("aGVsbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode_base64("aGVsbG8").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode_base64("a"), None);
        assert_eq!(decode_base64("a b c"), None);
        assert_eq!(decode_hex("6869").as_deref(), Some(&b"hi"[..]));
        assert_eq!(decode_hex("686"), None);
        assert_eq!(as_text(b"hi\0"), None);
    }
}
