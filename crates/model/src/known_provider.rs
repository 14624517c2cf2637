//! The providers that are known by name, as `rules/providers.toml` lists them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::wire::{WireDialect, WireFormat};

const TEXT: &str = include_str!("../../../rules/providers.toml");

/// A row of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownProvider {
    /// What it is called on the command line, in variables and in manifests.
    pub name: String,
    /// What it calls itself.
    pub title: String,
    /// The variable that holds its key.
    pub key: String,
    /// The URL below which the wire's path is.
    pub base: String,
    /// What it speaks.
    pub wire: WireFormat,
    /// Its dialect.
    pub dialect: WireDialect,
    /// Addresses that are its own.
    pub hosts: Vec<String>,
    /// Whether OpenRouter calls a maker of models the same.
    #[serde(default)]
    pub maker: bool,
    /// Headers besides those of the wire.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderList {
    provider: Vec<KnownProvider>,
}

static PROVIDERS: LazyLock<Vec<KnownProvider>> =
    LazyLock::new(|| toml::from_str(TEXT).map(|list: ProviderList| list.provider).unwrap_or_default());

/// All of them, the first one asked first.
pub fn known_providers() -> &'static [KnownProvider] {
    &PROVIDERS
}

/// The one of this name.
pub fn known_provider(name: &str) -> Option<&'static KnownProvider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// Their names.
pub fn known_provider_names() -> impl Iterator<Item = &'static str> + Clone {
    PROVIDERS.iter().map(|provider| provider.name.as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_list_is_well_formed() {
        let list: ProviderList = toml::from_str(TEXT).unwrap();
        for (at, provider) in list.provider.iter().enumerate() {
            let name = &provider.name;
            assert!(!list.provider[..at].iter().any(|other| other.name == *name), "{name} is there twice");
            assert!(provider.base.starts_with("https://") && !provider.base.ends_with('/'), "{name}");
            assert!(
                provider.key.ends_with("_API_KEY"),
                "{name}: what looks like a key is kept out of everything"
            );
            assert!(provider.hosts.iter().any(|host| provider.base.contains(host.as_str())), "{name}");
            assert!(!provider.title.is_empty(), "{name}");
        }
        assert_eq!(known_provider_names().next(), Some("openrouter"));
    }
}
