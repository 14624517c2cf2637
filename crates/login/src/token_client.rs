//! The one request a renewal makes.

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// How long a renewal may take, from the first packet to the last.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of an answer that are read.
const MOST_BYTES: usize = 256 << 10;

/// What a token endpoint answered.
pub(crate) struct EndpointAnswer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Sends a body to an endpoint and waits for the answer; the error is words without a secret.
pub(crate) fn post(endpoint: &str, body: String, media_type: &'static str) -> Result<EndpointAnswer, String> {
    // The caller may itself run on a runtime, where no other can wait.
    let asked = endpoint.to_owned();
    let thread = std::thread::Builder::new().name("login-renewal".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let answer = runtime.block_on(exchange(&asked, body, media_type));
        // A name look-up that hangs is not waited for.
        runtime.shutdown_timeout(Duration::from_millis(100));
        answer
    });
    let ended = thread.map_err(|error| error.to_string())?.join();
    ended.unwrap_or_else(|_| Err("the request ended without an answer".to_owned()))
}

async fn exchange(endpoint: &str, body: String, media_type: &'static str) -> Result<EndpointAnswer, String> {
    let client = client(endpoint)?;
    let request = client
        .post(endpoint)
        .header("content-type", media_type)
        .header("accept", "application/json")
        .body(body);
    let mut response = request.send().await.map_err(|error| words(&error))?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| words(&error))? {
        if body.len() + piece.len() > MOST_BYTES {
            return Err(format!("it answers with more than {MOST_BYTES} bytes"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(EndpointAnswer { status, body })
}

fn client(endpoint: &str) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(trusted(endpoint.starts_with("https://"))?)
        .user_agent(concat!("holon/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false);
    if is_loopback(endpoint) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| words(&error))
}

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
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("encryption cannot be set up: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// What went wrong, and the innermost reason, without the address.
fn words(error: &reqwest::Error) -> String {
    let outer = if error.is_timeout() { "no answer in time" } else { "the connection failed" };
    let mut inner = error.source();
    while let Some(cause) = inner.and_then(std::error::Error::source) {
        inner = Some(cause);
    }
    inner.map_or_else(|| outer.to_owned(), |inner| format!("{outer}: {inner}"))
}

/// Whether a token may travel there: encrypted, or within this machine.
pub(crate) fn is_fit(endpoint: &str) -> bool {
    let named = |authority: &str| authority.contains('@');
    let encrypted = endpoint.strip_prefix("https://").is_some_and(|_| !named(authority(endpoint)));
    encrypted && !host(endpoint).is_empty() || endpoint.starts_with("http://") && is_loopback(endpoint)
}

/// The host of an address, for words.
pub(crate) fn host(endpoint: &str) -> &str {
    let authority = authority(endpoint);
    let authority = authority.rsplit('@').next().unwrap_or_default();
    if let Some(v6) = authority.strip_prefix('[') {
        return v6.split(']').next().unwrap_or_default();
    }
    authority.split(':').next().unwrap_or_default()
}

fn authority(endpoint: &str) -> &str {
    let rest = endpoint.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#', '\\']).next().unwrap_or_default()
}

fn is_loopback(endpoint: &str) -> bool {
    let host = host(endpoint);
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_fit;

    #[test]
    fn tokens_travel_encrypted_or_not_at_all() {
        for (endpoint, fit) in [
            ("https://auth.example.com/oauth/token", true),
            ("http://127.0.0.1:8080/token", true),
            ("http://[::1]:8080/token", true),
            ("http://localhost/token", true),
            ("http://auth.example.com/token", false),
            ("http://localhost.example.com/token", false),
            ("http://127.0.0.1@example.com/token", false),
            ("https://user@example.com/token", false),
            ("https://", false),
            ("ftp://localhost/token", false),
            ("", false),
        ] {
            assert_eq!(is_fit(endpoint), fit, "{endpoint}");
        }
    }
}
