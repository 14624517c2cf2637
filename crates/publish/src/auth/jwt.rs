//! The signed claim with which a GitHub App introduces itself.

use rustls::SignatureScheme;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

use crate::error::PublishError;
use crate::token::ForgeToken;

/// GitHub takes at most ten minutes; clocks may differ by one.
const LIFETIME: u64 = 9 * 60;
const SKEW: u64 = 60;

/// A claim that is valid for some minutes from `now`, signed with the App's key in PEM form.
pub(super) fn signed(issuer: &str, key: &[u8], now: u64) -> Result<ForgeToken, PublishError> {
    let bad = |why: String| PublishError::Credentials(format!("the App's private key cannot be used: {why}"));
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| bad(e.to_string()))?;
    let key = ring::default_provider().key_provider.load_private_key(key).map_err(|e| bad(e.to_string()))?;
    let signer = key
        .choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])
        .ok_or_else(|| bad("it is not an RSA key".to_owned()))?;
    let claims = json!({"iat": now.saturating_sub(SKEW), "exp": now + LIFETIME, "iss": issuer});
    let head = encode_url(br#"{"alg":"RS256","typ":"JWT"}"#);
    let text = format!("{head}.{}", encode_url(claims.to_string().as_bytes()));
    let signature = signer.sign(text.as_bytes()).map_err(|e| bad(e.to_string()))?;
    ForgeToken::new(&format!("{text}.{}", encode_url(&signature)))
        .ok_or_else(|| bad("nothing was signed".into()))
}

fn encode_url(bytes: &[u8]) -> String {
    base64(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// Base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let three = [chunk[0], chunk.get(1).copied().unwrap_or(0), chunk.get(2).copied().unwrap_or(0)];
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for position in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * position) & 63) as usize];
            out.push(if position <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn base64_as_others_write_it() {
        for (bytes, expect) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), expect);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        for key in [
            "",
            "CANARY-no-key",
            "-----BEGIN RSA PRIVATE KEY-----\nQ0FOQVJZ\n-----END RSA PRIVATE KEY-----\n",
        ] {
            let error = signed("1", key.as_bytes(), 0).unwrap_err().to_string();
            assert!(
                error.contains("private key") && !error.contains("CANARY") && !error.contains("Q0FO"),
                "{error}"
            );
        }
    }
}
