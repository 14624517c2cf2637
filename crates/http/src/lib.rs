//! The one place that makes HTTP clients: for models, the gateway, forges and collectors alike.
//!
//! No client follows a redirect, because keys would go along; none tells where it comes from. Proxies are those of the
//! environment, and none for this machine itself. Certificates are those this machine trusts.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// What a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSettings {
    /// Whether it talks to an encrypted address. Without that no certificate is read, and no encrypted host is trusted.
    pub encrypted: bool,
    /// Whether it talks to this machine alone, where no proxy stands between.
    pub loopback: bool,
    /// How long a connection may take.
    pub connect: Duration,
    /// How long a whole exchange may take; without end when its pieces have a limit of their own.
    pub whole: Option<Duration>,
}

impl ClientSettings {
    /// Makes the client, or says in words why there can be none.
    pub fn client(self) -> Result<reqwest::Client, String> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(trusted(self.encrypted)?)
            .user_agent(concat!("holon/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false);
        if let Some(whole) = self.whole {
            builder = builder.timeout(whole);
        }
        if self.loopback {
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| causes(&error))
    }
}

/// Encryption with the certificates this machine trusts.
fn trusted(encrypted: bool) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if encrypted {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(
                "this machine trusts no certificates: install `ca-certificates`, or set SSL_CERT_FILE".into(),
            );
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("encryption cannot be set up: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The error with its reasons, which the outermost text leaves out.
pub fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(cause) = inner {
        text = format!("{text}: {cause}");
        inner = cause.source();
    }
    text
}

/// What went wrong, and the innermost reason, without the address: it may hold what nobody should read.
pub fn innermost(error: &reqwest::Error) -> String {
    let outer = if error.is_timeout() { "no answer in time" } else { "the connection failed" };
    let mut inner = error.source();
    while let Some(cause) = inner.and_then(Error::source) {
        inner = Some(cause);
    }
    inner.map_or_else(|| outer.to_owned(), |inner| format!("{outer}: {inner}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_for_this_machine_needs_no_certificates() {
        let settings =
            ClientSettings { encrypted: false, loopback: true, connect: Duration::from_secs(1), whole: None };
        assert!(settings.client().is_ok());
    }
}
