//! The forms a secret takes on its way: as it is, base64, percent-encoded, JSON-escaped.

use super::MIN_SECRET;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Every form to look for; none for a value too short to be told from ordinary text.
pub(super) fn of(secret: &[u8]) -> Vec<Vec<u8>> {
    if secret.len() < MIN_SECRET {
        return Vec::new();
    }
    let mut forms = vec![secret.to_vec()];
    for alphabet in [STANDARD, URL_SAFE] {
        for shift in 0..3 {
            forms.push(base64_core(secret, shift, alphabet));
        }
    }
    forms.push(percent(secret, b"0123456789ABCDEF"));
    forms.push(percent(secret, b"0123456789abcdef"));
    if let Ok(text) = std::str::from_utf8(secret)
        && let Ok(quoted) = serde_json::to_string(text)
    {
        forms.push(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The characters of a base64 text that depend on the secret alone, when `shift` bytes (mod 3) stand before it.
///
/// `user:SECRET` in a basic authorisation header is the common case.
fn base64_core(secret: &[u8], shift: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let first_char = (shift * 8).div_ceil(6);
    let last_char = (shift + secret.len()) * 8 / 6;
    let bit = |i: usize| -> u8 {
        let byte = (i / 8).checked_sub(shift).and_then(|at| secret.get(at)).copied().unwrap_or(0);
        byte >> (7 - i % 8) & 1
    };
    (first_char..last_char)
        .map(|c| {
            let index = (0..6).fold(0u8, |value, b| value << 1 | bit(c * 6 + b));
            alphabet[usize::from(index)]
        })
        .collect()
}

fn percent(secret: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len());
    for byte in secret {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            out.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_forms() {
        let has = |form: &str| assert!(of(b"s3cr3t/key+").contains(&form.as_bytes().to_vec()), "{form}");
        has("s3cr3t/key+");
        has("s3cr3t%2Fkey%2B");
        has("s3cr3t%2fkey%2b");
        // base64("s3cr3t/key+") = czNjcjN0L2tleSs=, of which the last character depends on what follows
        has("czNjcjN0L2tleS");
        // base64("a:s3cr3t/key+") = YTpzM2NyM3Qva2V5Kw==
        has("zM2NyM3Qva2V5K");
        assert!(of(b"short").is_empty());
    }
}
