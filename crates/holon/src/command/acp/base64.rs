//! Bytes that came as base64 text.

/// The bytes; nothing if it is not base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).ok()?);
        }
    }
    (bits < 6).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let check = |text: &str, expect: Option<&[u8]>| assert_eq!(decode(text).as_deref(), expect, "{text}");
        check("", Some(b""));
        check("aGk=", Some(b"hi"));
        check("aGkh", Some(b"hi!"));
        check("aG\nkh", Some(b"hi!"));
        check("_-8=", Some(&[0xff, 0xef]));
        check("a", None);
        check("a?==", None);
    }
}
