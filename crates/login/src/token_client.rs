//! The one request a renewal makes.

use std::net::IpAddr;
use std::time::Duration;

use holon_http::{ClientSettings, innermost};

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
    let mut response = request.send().await.map_err(|error| innermost(&error))?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| innermost(&error))? {
        if body.len() + piece.len() > MOST_BYTES {
            return Err(format!("it answers with more than {MOST_BYTES} bytes"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(EndpointAnswer { status, body })
}

fn client(endpoint: &str) -> Result<reqwest::Client, String> {
    let settings = ClientSettings {
        encrypted: endpoint.starts_with("https://"),
        loopback: is_loopback(endpoint),
        connect: Duration::from_secs(10),
        whole: Some(PATIENCE),
    };
    settings.client()
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
