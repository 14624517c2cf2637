//! One POST at a time, with the certificates this machine trusts.

use std::time::Duration;

use holon_http::{ClientSettings, innermost};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::retry;
use crate::settings::{TelemetrySettings, without_user};

/// A collector is near, or it is not worth waiting for.
const CONNECT: Duration = Duration::from_secs(2);
const WHOLE: Duration = Duration::from_secs(5);
/// The most that is read of an answer.
const ANSWER: usize = 64 * 1024;

/// Why something was not taken.
pub(crate) struct SendRefusal {
    /// In words without any header.
    pub(crate) words: String,
    /// Whether the same may be taken another time.
    pub(crate) passing: bool,
    /// When, if the other side said so.
    pub(crate) after: Option<Duration>,
}

/// Sends bodies; what goes wrong is told in words without any header.
pub(crate) struct CollectorClient {
    client: reqwest::Client,
    headers: HeaderMap,
}

impl CollectorClient {
    pub(crate) fn new(settings: &TelemetrySettings) -> Result<Self, String> {
        let urls = || [&settings.traces, &settings.metrics].into_iter().flatten();
        let encrypted = urls().any(|url| url.starts_with("https://"));
        let loopback = urls().all(|url| is_here(url));
        let client = ClientSettings { encrypted, loopback, connect: CONNECT, whole: Some(WHOLE) };
        let client = client.client()?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &settings.headers {
            let bad = || format!("the header `{name}` holds characters no header can");
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        Ok(Self { client, headers })
    }

    /// Delivers a body once; gives back how many spans or numbers of it were not taken, or why none was.
    pub(crate) async fn post(&self, url: &str, body: String) -> Result<u64, SendRefusal> {
        let place = without_user(url);
        let sent = self.client.post(url).headers(self.headers.clone()).body(body).send().await;
        match sent {
            Ok(answer) if answer.status().is_success() => Ok(rejected(&beginning(answer).await)),
            Ok(answer) => {
                let status = answer.status().as_u16();
                let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let after = header.and_then(|text| retry::asked(text, jiff::Timestamp::now().as_second()));
                let words = format!("{place} answers with status {status}");
                Err(SendRefusal { words, passing: retry::is_passing(status), after })
            }
            Err(error) => {
                let words = format!("{place}: {}", innermost(&error));
                Err(SendRefusal { words, passing: true, after: None })
            }
        }
    }
}

/// As much of an answer as is read; what does not come is not there.
async fn beginning(mut answer: reqwest::Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER {
            return Vec::new();
        }
    }
    bytes
}

/// What a collector says it did not take of what it took; a 64-bit number is a text in this form.
fn rejected(answer: &[u8]) -> u64 {
    let Ok(answer) = serde_json::from_slice::<serde_json::Value>(answer) else { return 0 };
    let partial = &answer["partialSuccess"];
    let number = |key: &str| {
        let value = &partial[key];
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    };
    number("rejectedSpans").or_else(|| number("rejectedDataPoints")).unwrap_or(0)
}

/// Whether an address is on this machine.
fn is_here(url: &str) -> bool {
    let host =
        reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_collector_left_out_is_heard() {
        for (answer, left_out) in [
            ("", 0),
            ("{}", 0),
            ("not json", 0),
            (r#"{"partialSuccess":{}}"#, 0),
            (r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#, 3),
            (r#"{"partialSuccess":{"rejectedSpans":3}}"#, 3),
            (r#"{"partialSuccess":{"rejectedDataPoints":"2"}}"#, 2),
        ] {
            assert_eq!(rejected(answer.as_bytes()), left_out, "{answer}");
        }
    }
}
