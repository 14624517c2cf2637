//! Where spans and counts go: the user's own configuration, or the variables every program with OTLP reads.

use std::net::IpAddr;

use crate::otlp::Temporality;
use crate::span::TraceId;

/// Where to send, and under which name.
#[derive(Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The URL for spans.
    pub traces: Option<String>,
    /// The URL for counts.
    pub metrics: Option<String>,
    /// Headers of every request; they can hold a key, and are told to nobody else.
    pub headers: Vec<(String, String)>,
    /// What is said about this process.
    pub resource: Vec<(String, String)>,
    /// From when on counts count.
    pub temporality: Temporality,
}

impl std::fmt::Debug for TelemetrySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("traces", &self.traces)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

/// Why nothing can be sent as things are configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TelemetrySettingsError {
    /// The address is none.
    #[error("`{0}` is no address of a collector: write it like http://127.0.0.1:4318")]
    Address(String),
    /// A key would be readable on the way.
    #[error("`{0}` is not encrypted, and the headers would be readable on the way: use https")]
    Open(String),
    /// Another protocol is wanted.
    #[error(
        "the protocol `{0}` is not spoken: give the collector's address for OTLP over HTTP, usually port 4318"
    )]
    Protocol(String),
    /// Headers that are none.
    #[error("OTEL_EXPORTER_OTLP_HEADERS cannot be read: write it like key=value,key2=value2")]
    Headers,
}

impl TelemetrySettings {
    /// What holds; nothing when nobody said where to. `configured` is the user's own `telemetry.otlp_endpoint`.
    pub fn read(
        configured: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, TelemetrySettingsError> {
        let said = |name: &str| variable(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        if said("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let own = configured.map(str::trim).filter(|text| !text.is_empty());
        let base = own.map(str::to_owned).or_else(|| said("OTEL_EXPORTER_OTLP_ENDPOINT"));
        if let Some(base) = &base {
            check(base, false)?;
        }
        let address = |signal: &str, path: &str| {
            if said(&format!("OTEL_{signal}_EXPORTER")).is_some_and(|value| value == "none") {
                return None;
            }
            let exact = said(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")).filter(|_| own.is_none());
            exact.or_else(|| Some(format!("{}/{path}", base.as_deref()?.trim_end_matches('/'))))
        };
        let (traces, metrics) = (address("TRACES", "v1/traces"), address("METRICS", "v1/metrics"));
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        let protocol = said("OTEL_EXPORTER_OTLP_PROTOCOL").filter(|word| own.is_none() && word == "grpc");
        if let Some(protocol) = protocol {
            return Err(TelemetrySettingsError::Protocol(protocol));
        }
        let headers = pairs(&said("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default())
            .ok_or(TelemetrySettingsError::Headers)?;
        for url in [&traces, &metrics].into_iter().flatten() {
            check(url, !headers.is_empty())?;
        }
        let resource =
            resource(said("OTEL_SERVICE_NAME"), &said("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let preferred = said("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE").unwrap_or_default();
        let temporality = match preferred.to_ascii_lowercase().as_str() {
            "delta" | "lowmemory" => Temporality::Delta,
            _ => Temporality::Cumulative,
        };
        Ok(Some(Self { traces, metrics, headers, resource, temporality }))
    }
}

/// The values of headers in the form of `OTEL_EXPORTER_OTLP_HEADERS`, which may be secret, with and without their scheme.
pub fn header_values(text: &str) -> Vec<String> {
    let values = pairs(text).unwrap_or_default().into_iter().map(|(_, value)| value);
    values
        .flat_map(|value| [value.split_once(' ').map(|(_, rest)| rest.to_owned()), Some(value)])
        .flatten()
        .collect()
}

fn check(url: &str, secret: bool) -> Result<(), TelemetrySettingsError> {
    let wrong = || TelemetrySettingsError::Address(without_user(url));
    let parsed = reqwest::Url::parse(url).map_err(|_| wrong())?;
    let host = parsed.host_str().unwrap_or_default();
    if !matches!(parsed.scheme(), "http" | "https") || host.is_empty() {
        return Err(wrong());
    }
    let secret = secret || parsed.password().is_some() || !parsed.username().is_empty();
    let near = host == "localhost"
        || host.trim_matches(['[', ']']).parse().is_ok_and(|address| match address {
            IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
            IpAddr::V6(v6) => v6.is_loopback(),
        });
    if secret && parsed.scheme() == "http" && !near {
        return Err(TelemetrySettingsError::Open(without_user(url)));
    }
    Ok(())
}

/// An address as it may be told: without who is named in it.
pub(crate) fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    // A key can hide behind the question mark, too.
    format!("{scheme}://{host}{}", path.split('?').next().unwrap_or_default())
}

/// `key=value,key2=value2`, percent-encoded; nothing when it is not that.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part.split_once('=')?;
            let key = key.trim();
            (!key.is_empty()).then(|| (key.to_owned(), decoded(value.trim())))
        })
        .collect()
}

/// Percent-decoding; what is not encoded stays as it is.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .filter(|pair| bytes[at] == b'%' && pair.iter().all(u8::is_ascii_hexdigit));
        let byte = hex.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

fn resource(name: Option<String>, more: &str) -> Vec<(String, String)> {
    let more = pairs(more).unwrap_or_default();
    let said = |key: &str| more.iter().any(|(name, _)| name == key);
    let name = name.or_else(|| (!said("service.name")).then(|| "holon".to_owned()));
    let mut all = Vec::new();
    all.extend(name.clone().map(|name| ("service.name".to_owned(), name)));
    if !said("service.version") {
        all.push(("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    }
    // Without it the numbers of two processes are taken for those of one that jump to and fro.
    if !said("service.instance.id") {
        all.push(("service.instance.id".to_owned(), uuid()));
    }
    all.extend(more.into_iter().filter(|(key, _)| key != "service.name" || name.is_none()));
    all
}

/// A random UUID.
fn uuid() -> String {
    let hex = TraceId::random().to_string();
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn read(
        configured: Option<&str>,
        env: &[(&str, &str)],
    ) -> Result<Option<TelemetrySettings>, TelemetrySettingsError> {
        TelemetrySettings::read(configured, |name| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn urls(configured: Option<&str>, env: &[(&str, &str)]) -> (Option<String>, Option<String>) {
        read(configured, env).unwrap().map(|s| (s.traces, s.metrics)).unwrap_or_default()
    }

    #[test]
    fn where_it_goes() {
        let url = |text: &str| Some(text.to_owned());
        assert_eq!(urls(None, &[]), (None, None));
        assert_eq!(urls(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), (None, None));
        let both = (url("http://c:4318/v1/traces"), url("http://c:4318/v1/metrics"));
        assert_eq!(urls(Some("http://c:4318/"), &[]), both);
        assert_eq!(urls(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")]), both);
        // What is said for this program beats what is said for all.
        assert_eq!(urls(Some("http://c:4318"), &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://d:1")]), both);
        assert_eq!(
            urls(None, &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/x")]),
            (url("http://c/x"), None)
        );
        let off = [("OTEL_SDK_DISABLED", "true"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")];
        assert_eq!(urls(Some("http://c:4318"), &off), (None, None));
        assert_eq!(urls(Some("http://c:4318"), &[("OTEL_METRICS_EXPORTER", "none")]), (both.0, None));
    }

    #[test]
    fn what_cannot_work_is_said() {
        for wrong in ["c:4318", "ftp://c", "http://", "not an address"] {
            assert!(matches!(read(Some(wrong), &[]), Err(TelemetrySettingsError::Address(_))), "{wrong}");
        }
        let grpc =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert_eq!(read(None, &grpc), Err(TelemetrySettingsError::Protocol("grpc".into())));
        assert_eq!(
            read(Some("http://c"), &[("OTEL_EXPORTER_OTLP_HEADERS", "x")]),
            Err(TelemetrySettingsError::Headers)
        );
    }

    #[test]
    fn a_key_does_not_travel_in_the_open() {
        let headers = [("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-scope=1")];
        for (url, fine) in [
            ("https://example.com", true),
            ("http://127.0.0.1:4318", true),
            ("http://localhost:4318", true),
            ("http://[::1]:4318", true),
            ("http://10.1.2.3:4318", true),
            ("http://example.com", false),
            ("http://localhost.example.com", false),
            ("http://127.0.0.1@example.com", false),
        ] {
            assert_eq!(read(Some(url), &headers).is_ok(), fine, "{url}");
        }
        assert!(read(Some("http://example.com"), &[]).is_ok(), "without a key nothing is given away");
        let settings = read(Some("https://example.com"), &headers).unwrap().unwrap();
        assert_eq!(settings.headers[0], ("authorization".into(), "Bearer abc".into()));
        assert!(!format!("{settings:?}").contains("abc"), "{settings:?}");
        assert_eq!(header_values(headers[0].1), ["abc", "Bearer abc", "1"]);
        assert_eq!(without_user("http://u:p@h:1/x?key=k"), "http://h:1/x");
    }

    #[test]
    fn the_process_has_a_name() {
        let named = |env: &[(&str, &str)]| read(Some("http://c"), env).unwrap().unwrap().resource;
        assert_eq!(named(&[])[0], ("service.name".into(), "holon".into()));
        let more = [("OTEL_SERVICE_NAME", "ci"), ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,team=a%2Cb")];
        let resource = named(&more);
        assert_eq!(resource.iter().filter(|(key, _)| key == "service.name").count(), 1);
        assert!(resource.contains(&("service.name".into(), "ci".into())), "{resource:?}");
        assert!(resource.contains(&("team".into(), "a,b".into())), "{resource:?}");
        let instance = |resource: &[(String, String)]| {
            let found = resource.iter().filter(|(key, _)| key == "service.instance.id");
            found.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        let (one, other) = (instance(&resource), instance(&named(&[])));
        assert_eq!((one.len(), one[0].len(), &one[0][14..15]), (1, 36, "4"), "{one:?}");
        assert_ne!(one, other);
        assert_eq!(instance(&named(&[("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=me")])), ["me"]);
    }

    #[test]
    fn counts_can_be_told_so_that_they_add_up() {
        let temporality = |value: &str| {
            let env = [("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", value)];
            read(Some("http://c"), &env).unwrap().unwrap().temporality
        };
        assert_eq!(
            (temporality("Delta"), temporality("lowmemory")),
            (Temporality::Delta, Temporality::Delta)
        );
        assert_eq!(
            (temporality(""), temporality("cumulative")),
            (Temporality::Cumulative, Temporality::Cumulative)
        );
    }

    proptest! {
        #[test]
        fn anything_can_be_said(configured in ".{0,40}", headers in ".{0,60}", more in ".{0,60}") {
            let env = [("OTEL_EXPORTER_OTLP_HEADERS", headers.as_str()), ("OTEL_RESOURCE_ATTRIBUTES", more.as_str())];
            let _ = read(Some(&configured), &env);
            let _ = header_values(&headers);
        }
    }
}
