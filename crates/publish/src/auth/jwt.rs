//! The signed claim with which a GitHub App introduces itself.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;
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
    let head = URL_SAFE_NO_PAD.encode(br#"{"alg":"RS256","typ":"JWT"}"#);
    let text = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string().as_bytes()));
    let signature = signer.sign(text.as_bytes()).map_err(|e| bad(e.to_string()))?;
    ForgeToken::new(&format!("{text}.{}", URL_SAFE_NO_PAD.encode(&signature)))
        .ok_or_else(|| bad("nothing was signed".into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
