//! Encryption with the certificates this machine trusts.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::error::PublishError;

/// Client settings; certificates are read only when they will be needed.
pub(super) fn config(encrypted: bool) -> Result<ClientConfig, PublishError> {
    let mut roots = RootCertStore::empty();
    if encrypted {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            let message =
                "this machine trusts no certificates: install `ca-certificates`, or set SSL_CERT_FILE";
            return Err(PublishError::Credentials(message.to_owned()));
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| PublishError::Credentials(format!("encryption cannot be set up: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
