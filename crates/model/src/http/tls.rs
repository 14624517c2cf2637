//! Encryption with the certificates this machine trusts.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::error::{ModelError, ModelErrorKind};

/// The settings for a client; without `encrypted` no certificate is read, and no encrypted host is trusted.
pub(super) fn config(encrypted: bool) -> Result<ClientConfig, ModelError> {
    let fail = |message: String| ModelError::new(ModelErrorKind::Network, message);
    let mut roots = RootCertStore::empty();
    if encrypted {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(fail(
                "this machine trusts no certificates: install `ca-certificates`, or set SSL_CERT_FILE"
                    .to_owned(),
            ));
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(format!("encryption cannot be set up: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
