//! What is put on a request to one host.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::permit::{HostTarget, TargetHost};

/// A secret for one host and port; it is never shown, and never sent without encryption.
#[derive(Clone)]
pub struct HostCredential {
    target: HostTarget,
    name: HeaderName,
    value: HeaderValue,
    secrets: Vec<String>,
}

/// How a secret is put on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialForm {
    /// As the value of a header.
    Header {
        /// Its name.
        name: String,
        /// What stands before the secret, such as `Bearer `.
        prefix: String,
    },
    /// As the password of a user.
    Basic {
        /// The user.
        user: String,
    },
}

/// Why a credential cannot be used; the secret is not in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// There is no secret.
    #[error("the credential of {target} is empty")]
    Empty {
        /// Whose it is.
        target: String,
    },
    /// No header could carry it.
    #[error(
        "the credential of {target} cannot be put in a header: it holds a character that no header may have, or the header's name is wrong"
    )]
    Header {
        /// Whose it is.
        target: String,
    },
}

impl HostCredential {
    /// A secret for one host.
    pub fn new(target: HostTarget, form: &CredentialForm, secret: &str) -> Result<Self, CredentialError> {
        let secret = secret.trim();
        let whose = || target.to_string();
        if secret.is_empty() {
            return Err(CredentialError::Empty { target: whose() });
        }
        let (name, text) = match form {
            CredentialForm::Header { name, prefix } => {
                let name = HeaderName::try_from(name.as_str());
                (name.map_err(|_| CredentialError::Header { target: whose() })?, format!("{prefix}{secret}"))
            }
            CredentialForm::Basic { user } => {
                (AUTHORIZATION, format!("Basic {}", STANDARD.encode(format!("{user}:{secret}"))))
            }
        };
        let framing = ["host", "content-length", "transfer-encoding", "connection", "te", "upgrade"];
        let mut value =
            HeaderValue::try_from(text.as_str()).ok().filter(|_| !framing.contains(&name.as_str()));
        if let Some(value) = &mut value {
            value.set_sensitive(true);
        }
        let value = value.ok_or_else(|| CredentialError::Header { target: whose() })?;
        let mut secrets = vec![secret.to_owned()];
        if let CredentialForm::Basic { .. } = form {
            secrets.push(text.trim_start_matches("Basic ").to_owned());
        }
        Ok(Self { target, name, value, secrets })
    }

    /// Whether it is for this host and port.
    pub fn is_for(&self, target: &HostTarget) -> bool {
        self.target == *target
    }

    /// Whether it is for this host, whatever the port.
    pub(crate) fn is_for_host(&self, host: &TargetHost) -> bool {
        self.target.host == *host
    }

    pub(crate) fn header(&self) -> (HeaderName, HeaderValue) {
        (self.name.clone(), self.value.clone())
    }

    /// Whose it is.
    pub fn target(&self) -> &HostTarget {
        &self.target
    }

    /// Everything that must not be seen inside, nor be written anywhere.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }
}

impl fmt::Debug for HostCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostCredential({}, {})", self.target, self.name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_credential_is_not_shown() {
        let target = HostTarget::parse("example.org", Some(443)).unwrap();
        let form = CredentialForm::Basic { user: "me".into() };
        let credential = HostCredential::new(target.clone(), &form, "hunter22\n").unwrap();
        let shown = format!("{credential:?} {:?}", credential.header());
        assert!(!shown.contains("hunter22") && !shown.contains("bWU6aHVudGVyMjI="), "{shown}");
        assert_eq!(credential.header().1, "Basic bWU6aHVudGVyMjI=");
        for secret in ["", " ", "a\nb"] {
            let error = HostCredential::new(target.clone(), &form, secret);
            assert!(secret == "a\nb" || error.is_err());
            let form = CredentialForm::Header { name: "x-key".into(), prefix: String::new() };
            assert!(HostCredential::new(target.clone(), &form, secret).is_err(), "{secret:?}");
        }
        for name in ["host", "content-length", "a b"] {
            let form = CredentialForm::Header { name: name.into(), prefix: String::new() };
            assert!(HostCredential::new(target.clone(), &form, "hunter22").is_err(), "{name}");
        }
    }
}
