//! Whose certificates count when the host speaks with the world.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::authority::pem;

/// How the host encrypts towards the world.
#[derive(Clone)]
pub struct UpstreamTrust(Arc<ClientConfig>);

/// The certificates that this machine trusts, as the text of one file; empty where it trusts nobody.
pub fn machine_bundle() -> String {
    rustls_native_certs::load_native_certs().certs.iter().map(pem).collect()
}

/// Why nothing can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There are no certificates.
    #[error("this machine trusts no certificates: install `ca-certificates`, or set SSL_CERT_FILE")]
    Nobody,
    /// The encryption could not be set up.
    #[error("encryption cannot be set up: {0}")]
    Encryption(#[from] rustls::Error),
}

impl UpstreamTrust {
    /// What this machine trusts.
    pub fn of_this_machine() -> Result<Self, TrustError> {
        Self::of(rustls_native_certs::load_native_certs().certs)
    }

    /// These authorities and no other.
    pub fn of(authorities: impl IntoIterator<Item = CertificateDer<'static>>) -> Result<Self, TrustError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities);
        if roots.is_empty() {
            return Err(TrustError::Nobody);
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}
