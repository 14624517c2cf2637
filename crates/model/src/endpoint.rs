//! Where a model is, how it is spoken to, and with which key.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::error::{ModelError, ModelErrorKind};
use crate::key::ProviderKey;
use crate::known_provider::{KnownProvider, known_provider, known_provider_names};
use crate::request::ModelRequest;
use crate::wire::{WireDialect, WireFormat};

/// An endpoint that answers requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// What it is called in messages and manifests.
    pub name: String,
    /// The URL below which the wire's path is, such as `https://openrouter.ai/api/v1`.
    pub base: String,
    /// The wire it speaks.
    pub wire: WireFormat,
    /// Its dialect.
    pub dialect: WireDialect,
    /// The key, where one is needed.
    pub key: Option<ProviderKey>,
    /// The variable that is looked into for the key.
    pub key_from: Option<String>,
    /// Headers besides those of the wire.
    pub headers: Vec<(String, String)>,
    /// Fields put into every body, such as OpenRouter's routing; objects are joined with those already there.
    pub extra: Map<String, Value>,
}

impl Endpoint {
    /// A provider that is known by name.
    pub fn of(provider: &KnownProvider, key: ProviderKey) -> Self {
        let headers = provider.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Self {
            headers,
            ..Self::at(&provider.name, &provider.base, provider.wire, provider.dialect, Some(key))
        }
    }

    /// Any server that speaks chat completions, local ones mostly.
    pub fn compatible(name: &str, base: &str, key: Option<ProviderKey>) -> Self {
        Self::at(name, base, WireFormat::Chat, WireDialect::Compatible, key)
    }

    fn at(name: &str, base: &str, wire: WireFormat, dialect: WireDialect, key: Option<ProviderKey>) -> Self {
        let base = base.trim().trim_end_matches('/').to_owned();
        let name = name.to_owned();
        Self { name, base, wire, dialect, key, key_from: None, headers: Vec::new(), extra: Map::new() }
    }

    /// The endpoint of a provider by name, with its key from the environment; `base` replaces its URL.
    ///
    /// Any other name needs a base and takes its key from `NAME_API_KEY`, if that is set.
    pub fn named(
        name: &str,
        base: Option<&str>,
        look_up: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        let mut endpoint = match (known_provider(name), base) {
            (Some(provider), _) => {
                let key = ProviderKey::from_env(&provider.key, &provider.title, &look_up)?;
                Self { key_from: Some(provider.key.clone()), ..Self::of(provider, key) }
            }
            (None, Some(base)) => {
                let variable = format!("{}_API_KEY", name.to_ascii_uppercase().replace('-', "_"));
                let key = ProviderKey::from_env(&variable, name, &look_up).ok();
                Self { key_from: Some(variable), ..Self::compatible(name, base, key) }
            }
            (None, None) => {
                let known = known_provider_names().collect::<Vec<_>>().join(", ");
                let message = format!("unknown provider `{name}`: use {known}, or give a base URL");
                return Err(ModelError::new(ModelErrorKind::Setup, message));
            }
        };
        if let Some(base) = base {
            base.trim().trim_end_matches('/').clone_into(&mut endpoint.base);
        }
        endpoint.check()?;
        Ok(endpoint)
    }

    /// Refuses what is no URL, and a key on its way over an open network.
    pub fn check(&self) -> Result<(), ModelError> {
        let refuse = |message: String| Err(ModelError::new(ModelErrorKind::Setup, message));
        let encrypted = self.base.starts_with("https://");
        if !encrypted && !self.base.starts_with("http://") {
            return refuse(format!(
                "`{}` is no base URL: write HOLON_BASE_URL (or models.base_url) like http://localhost:11434/v1",
                self.base
            ));
        }
        if !encrypted && self.key.is_some() && !self.is_near() {
            return refuse(format!(
                "`{}` is not encrypted, and the key would be readable on the way: use https",
                self.base
            ));
        }
        Ok(())
    }

    /// The URL requests go to.
    pub fn url(&self) -> String {
        format!("{}{}", self.base, self.wire.path())
    }

    /// True for this machine.
    pub fn is_loopback(&self) -> bool {
        match self.host() {
            "localhost" => true,
            host => host.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        }
    }

    /// The port on this machine, when it is there.
    pub(crate) fn local_port(&self) -> Option<u16> {
        let rest = self.base.strip_prefix("http://").filter(|_| self.is_loopback())?;
        let authority = rest.split(['/', '?', '#']).next()?;
        match authority.rsplit_once(':') {
            Some((_, port)) if !port.ends_with(']') => port.parse().ok(),
            _ => Some(80),
        }
    }

    /// The path below the host, such as `/v1`.
    pub(crate) fn path(&self) -> &str {
        let rest = self.base.split_once("://").map_or(self.base.as_str(), |(_, rest)| rest);
        rest.find('/').map_or("", |at| &rest[at..])
    }

    /// True for this machine and private networks.
    fn is_near(&self) -> bool {
        let private = |address| matches!(address, IpAddr::V4(v4) if v4.is_private());
        self.is_loopback() || self.host().parse().is_ok_and(private)
    }

    pub(crate) fn host(&self) -> &str {
        let rest = self.base.split_once("://").map_or(self.base.as_str(), |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        if let Some(v6) = host.strip_prefix('[') {
            return v6.split(']').next().unwrap_or_default();
        }
        host.split(':').next().unwrap_or_default()
    }

    /// The headers of a request, the key included.
    pub fn request_headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "text/event-stream".to_owned()),
        ];
        if self.wire == WireFormat::Messages {
            headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
        }
        match &self.key {
            Some(key) if self.wire == WireFormat::Messages => {
                headers.push(("x-api-key".to_owned(), key.expose().to_owned()));
            }
            Some(key) => headers.push(("authorization".to_owned(), format!("Bearer {}", key.expose()))),
            None => {}
        }
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// The body of a request.
    pub fn body(&self, request: &ModelRequest) -> Value {
        let mut body = self.wire.encode(request, self.dialect);
        for (key, value) in &self.extra {
            match (body.get_mut(key), value) {
                (Some(Value::Object(there)), Value::Object(more)) => there.extend(more.clone()),
                _ => body[key.as_str()] = json!(value),
            }
        }
        body
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn env(name: &str) -> Option<String> {
        (name.ends_with("_API_KEY") && name != "LOCAL_API_KEY").then(|| format!("value-of-{name}"))
    }

    #[test]
    fn providers_by_name() {
        for (name, url, header) in [
            ("openrouter", "https://openrouter.ai/api/v1/chat/completions", "authorization"),
            ("anthropic", "https://api.anthropic.com/v1/messages", "x-api-key"),
            ("openai", "https://api.openai.com/v1/responses", "authorization"),
        ] {
            let endpoint = Endpoint::named(name, None, env).unwrap();
            assert_eq!(endpoint.url(), url);
            let headers = endpoint.request_headers();
            let value = &headers.iter().find(|(key, _)| key == header).unwrap().1;
            assert!(value.ends_with(&format!("value-of-{}_API_KEY", name.to_uppercase())), "{value}");
            assert!(!format!("{endpoint:?}").contains("value-of"));
            let error = Endpoint::named(name, None, |_| None).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Auth);
            assert!(error.to_string().contains(&format!("{}_API_KEY", name.to_uppercase())), "{error}");
        }
        let local = Endpoint::named("local", Some("http://127.0.0.1:8080/v1/"), env).unwrap();
        assert_eq!((local.url().as_str(), &local.key), ("http://127.0.0.1:8080/v1/chat/completions", &None));
        assert!(Endpoint::named("nonesuch", None, env).unwrap_err().to_string().contains("nonesuch"));
    }

    #[test]
    fn a_key_does_not_travel_in_the_open() {
        let with = |base: &str| Endpoint::compatible("x", base, Some(ProviderKey::new("k"))).check().is_ok();
        for (base, fine) in [
            ("https://example.com/v1", true),
            ("http://localhost:1234/v1", true),
            ("http://[::1]:1234/v1", true),
            ("http://192.168.1.5/v1", true),
            ("http://example.com/v1", false),
            ("http://localhost.example.com/v1", false),
            ("http://localhost@example.com/v1", false),
            ("ftp://localhost/v1", false),
        ] {
            assert_eq!(with(base), fine, "{base}");
        }
        assert!(Endpoint::compatible("x", "http://example.com/v1", None).check().is_ok());
    }

    #[test]
    fn extra_fields_join_what_is_there() {
        let mut endpoint = Endpoint::of(known_provider("openrouter").unwrap(), ProviderKey::new("k"));
        endpoint.extra =
            json!({"provider": {"data_collection": "deny"}, "models": ["b"]}).as_object().unwrap().clone();
        let mut request = ModelRequest::new("a", "x");
        request.tools = vec![crate::ToolSpec::new("ls", "", json!({}))];
        let body = endpoint.body(&request);
        assert_eq!(body["provider"], json!({"require_parameters": true, "data_collection": "deny"}));
        assert_eq!(body["models"], json!(["b"]));
    }
}
