//! The DSSE envelope: a payload with its type, and signatures over both.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde::{Deserialize, Serialize};

use crate::error::AttestError;
use crate::key::{PublicKey, SigningKey};
use crate::statement::RunStatement;

/// What is in the envelope.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Larger ones are not read.
const LARGEST: usize = 8 << 20;

/// A signed payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DsseEnvelope {
    /// What the payload is.
    pub payload_type: String,
    /// The payload in base64.
    pub payload: String,
    /// Who signed it.
    pub signatures: Vec<Signature>,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Which key, as a hint.
    #[serde(default)]
    pub keyid: String,
    /// The signature in base64: 64 bytes of Ed25519, or the whole SSHSIG structure.
    pub sig: String,
}

impl DsseEnvelope {
    /// Signs a statement.
    pub fn seal(statement: &RunStatement, key: &SigningKey) -> Result<Self, AttestError> {
        let payload = statement.to_bytes();
        let sig = key.sign(&pre_authentication(PAYLOAD_TYPE, &payload))?;
        Ok(Self {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(&payload),
            signatures: vec![Signature { keyid: key.public().id(), sig: STANDARD.encode(&sig) }],
        })
    }

    /// Reads an envelope.
    pub fn parse(bytes: &[u8]) -> Result<Self, AttestError> {
        if bytes.len() > LARGEST {
            return Err(AttestError::Envelope(format!("it has more than {} MiB", LARGEST >> 20)));
        }
        serde_json::from_slice(bytes).map_err(|e| AttestError::Envelope(e.to_string()))
    }

    /// Reads an envelope, or the first one in a text such as the body of a pull request.
    pub fn find_in(bytes: &[u8]) -> Result<Self, AttestError> {
        let whole = Self::parse(bytes);
        if whole.is_ok() || bytes.len() > LARGEST {
            return whole;
        }
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let blocks = text.split("```json\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
        blocks.map(|(block, _)| Self::parse(block.as_bytes())).find(Result::is_ok).unwrap_or(whole)
    }

    /// As a file, with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The payload's bytes; nothing when it is not written as it has to be.
    pub fn payload(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.payload).ok()
    }

    /// Whether one of the signatures is this key's.
    pub fn is_signed_by(&self, key: &PublicKey) -> Result<bool, AttestError> {
        let Some(payload) = self.payload() else { return Ok(false) };
        let signed = pre_authentication(&self.payload_type, &payload);
        for signature in &self.signatures {
            let Ok(sig) = STANDARD.decode(&signature.sig) else { continue };
            if key.verify(&signed, &sig)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What is signed: type and payload with their lengths, so that neither can run into the other.
pub(crate) fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_what_the_protocol_says() {
        // The example of the protocol's own text.
        let signed = pre_authentication("http://example.com/HelloWorld", b"hello world");
        assert_eq!(signed, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }
}
