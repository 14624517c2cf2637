//! What a decision may look at outside of itself.

use std::path::Path;
use std::time::Duration;

use super::spelling;
use crate::ability::{AbilityCache, DeclaredAbilities, ModelAbilities};
use crate::catalogue::{Catalogue, CatalogueCache, Freshness, ModelRow, OPENROUTER};
use crate::detect::{self, DEFAULT_PORTS, DetectionTimeouts, LocalServer, UnlistedReason, detect};
use crate::endpoint::Endpoint;

/// The environment, the servers on this machine, and the catalogue.
pub trait ChoiceEnvironment {
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// The servers that answer on their usual ports.
    fn servers(&self) -> Vec<LocalServer>;

    /// The server at an endpoint on this machine, or why it lists nothing; elsewhere nobody is asked for a list.
    fn server_at(&self, endpoint: &Endpoint) -> Result<LocalServer, UnlistedReason>;

    /// What is known about a model of a server that somebody runs: what it says, and what was tried.
    fn abilities(&self, endpoint: &Endpoint, model: &str) -> ModelAbilities;

    /// What an earlier look at a provider's list says about a model; no network is asked.
    fn row(&self, endpoint: &Endpoint, model: &str) -> Option<ModelRow>;

    /// The models of a provider to choose from; asked only when one must be chosen.
    fn catalogue(&self, endpoint: &Endpoint) -> Catalogue;
}

/// The real ones.
pub struct ThisMachine<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    cache: Option<&'a Path>,
    freshness: Freshness,
}

impl<'a> ThisMachine<'a> {
    /// With this way to read a variable, and the models of the built-in table.
    pub fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable, cache: None, freshness: Freshness::Offline }
    }

    /// The same with lists as fresh as this.
    #[must_use]
    pub fn with_lists(self, freshness: Freshness) -> Self {
        Self { freshness, ..self }
    }

    /// The same with what is kept in this folder: lists that were fetched, and what was tried with models.
    #[must_use]
    pub fn with_cache(self, folder: &'a Path) -> Self {
        Self { cache: Some(folder), ..self }
    }
}

/// A named server may be busy with a model; waiting a moment for it is better than saying it is not there.
const NAMED: DetectionTimeouts =
    DetectionTimeouts { connect: Duration::from_millis(200), answer: Duration::from_millis(1000) };

impl ChoiceEnvironment for ThisMachine<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name)
    }

    fn servers(&self) -> Vec<LocalServer> {
        let mut ports = DEFAULT_PORTS;
        let elsewhere = (self.variable)("OLLAMA_HOST").map(|host| spelling::ollama_base(&host));
        let elsewhere = elsewhere.and_then(|base| Endpoint::compatible("ollama", &base, None).local_port());
        if let Some(port) = elsewhere {
            ports[0].1 = port;
        }
        detect(&ports, DetectionTimeouts::default())
    }

    fn server_at(&self, endpoint: &Endpoint) -> Result<LocalServer, UnlistedReason> {
        let port = endpoint.local_port().ok_or(UnlistedReason::Down)?;
        detect::list(endpoint, port, NAMED)
    }

    fn abilities(&self, endpoint: &Endpoint, model: &str) -> ModelAbilities {
        let told = match endpoint.local_port() {
            Some(port) => detect::tell(endpoint, port, model, NAMED),
            None => elsewhere(endpoint, model),
        };
        let tested = self.cache.and_then(|folder| AbilityCache::new(folder).read(&endpoint.base, model));
        ModelAbilities { told, tested }
    }

    fn row(&self, endpoint: &Endpoint, model: &str) -> Option<ModelRow> {
        let folder = self.cache.filter(|_| endpoint.name == OPENROUTER)?;
        let kept = CatalogueCache::new(folder).read(&format!("{}/models", endpoint.base))?;
        kept.rows.into_iter().find(|row| row.id == model)
    }

    fn catalogue(&self, endpoint: &Endpoint) -> Catalogue {
        listed(endpoint, self.freshness, self.cache)
    }
}

#[cfg(feature = "http")]
fn listed(endpoint: &Endpoint, freshness: Freshness, cache: Option<&Path>) -> Catalogue {
    use crate::catalogue::{CatalogueFetch, CatalogueQuery, load, plan};
    let now = jiff::Timestamp::now();
    let fetch = crate::HttpCatalogue::new(&endpoint.base);
    let cache = cache.map(CatalogueCache::new);
    let cached = cache.as_ref().and_then(|cache| Some(cache.read(&fetch.source())?.age(now)));
    let online = endpoint.key.is_some();
    let plan = plan(CatalogueQuery { provider: &endpoint.name, online, freshness, cached });
    load(plan, &endpoint.name, &fetch, cache.as_ref(), now)
}

#[cfg(not(feature = "http"))]
fn listed(endpoint: &Endpoint, _: Freshness, _: Option<&Path>) -> Catalogue {
    Catalogue::of_table(&endpoint.name)
}

#[cfg(feature = "http")]
fn elsewhere(endpoint: &Endpoint, model: &str) -> DeclaredAbilities {
    crate::http::tell(endpoint, model, Duration::from_millis(1500))
}

#[cfg(not(feature = "http"))]
fn elsewhere(_: &Endpoint, _: &str) -> DeclaredAbilities {
    DeclaredAbilities::default()
}
