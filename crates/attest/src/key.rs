//! Keys: Ed25519 in PEM or base64, and SSH keys of any kind.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use holon_core::digest::sha256;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use crate::error::AttestError;
use crate::ssh;

/// What comes before the 32 bytes of an Ed25519 key in a PEM file.
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A key that signs.
#[derive(Debug)]
pub enum SigningKey {
    /// Kept in a file, without a passphrase.
    Ed25519(Box<Ed25519KeyPair>),
    /// A private key's file, or a public key's whose private one an agent or a token holds.
    Ssh {
        /// The file.
        path: PathBuf,
        /// The public key, one line.
        public: String,
    },
}

/// A key that signatures are checked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// Its 32 bytes.
    Ed25519([u8; 32]),
    /// One line as in a `.pub` file: kind and key.
    Ssh(String),
}

impl SigningKey {
    /// Reads a key's file and finds out what it is.
    pub fn read(path: &Path) -> Result<Self, AttestError> {
        let unusable = |why: String| AttestError::Key { path: path.to_owned(), why };
        let bytes = fs::read(path).map_err(|e| unusable(e.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        if let Some(der) = pem(&text, "PRIVATE KEY") {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der)
                .map_err(|e| unusable(format!("it is no Ed25519 key ({e})")))?;
            return Ok(Self::Ed25519(Box::new(pair)));
        }
        if text.contains("ENCRYPTED PRIVATE KEY") {
            return Err(unusable("it has a passphrase; use an SSH key with an agent instead".into()));
        }
        let public = if is_ssh_line(&text) { text.into_owned() } else { ssh::public_of(path)? };
        Ok(Self::Ssh {
            path: path.to_owned(),
            public: ssh_line(&public)
                .ok_or_else(|| unusable("it is neither an SSH key nor an Ed25519 key in PEM".into()))?,
        })
    }

    /// Its public half.
    pub fn public(&self) -> PublicKey {
        match self {
            Self::Ed25519(pair) => {
                let mut bytes = [0; 32];
                bytes.copy_from_slice(pair.public_key().as_ref());
                PublicKey::Ed25519(bytes)
            }
            Self::Ssh { public, .. } => PublicKey::Ssh(public.clone()),
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, AttestError> {
        match self {
            Self::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Self::Ssh { path, .. } => ssh::sign(path, message),
        }
    }
}

impl PublicKey {
    /// Reads a public key from text: a line of SSH, a PEM block, or 32 bytes in base64.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(line) = ssh_line(text) {
            return Some(Self::Ssh(line));
        }
        let bytes = match pem(text, "PUBLIC KEY") {
            Some(der) => der.strip_prefix(&SPKI)?.to_vec(),
            None => STANDARD.decode(text).ok()?,
        };
        Some(Self::Ed25519(bytes.try_into().ok()?))
    }

    /// A short name for it, derived from the key.
    pub fn id(&self) -> String {
        match self {
            Self::Ed25519(bytes) => sha256(bytes),
            Self::Ssh(line) => ssh::fingerprint(line).unwrap_or_default(),
        }
    }

    /// As text that [`PublicKey::parse`] reads.
    pub fn to_text(&self) -> String {
        match self {
            Self::Ed25519(bytes) => STANDARD.encode(bytes),
            Self::Ssh(line) => line.clone(),
        }
    }

    pub(crate) fn verify(&self, message: &[u8], sig: &[u8]) -> Result<bool, AttestError> {
        match self {
            Self::Ed25519(bytes) => Ok(UnparsedPublicKey::new(&ED25519, bytes).verify(message, sig).is_ok()),
            Self::Ssh(line) => ssh::verify(line, message, sig),
        }
    }
}

/// The bytes of a PEM block of a kind.
fn pem(text: &str, kind: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {kind}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {kind}-----"))?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
}

fn is_ssh_line(text: &str) -> bool {
    ssh_line(text).is_some()
}

/// Kind and key of a line as in a `.pub` file, without its comment.
fn ssh_line(text: &str) -> Option<String> {
    let mut words = text.trim().lines().next()?.split_whitespace();
    let (kind, key) = (words.next()?, words.next()?);
    let known =
        ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"].iter().any(|start| kind.starts_with(start));
    (known && STANDARD.decode(key).is_ok()).then(|| format!("{kind} {key}"))
}
