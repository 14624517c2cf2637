//! Whether the network is asked for a list of models.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::openrouter::OPENROUTER;

/// How long a fetched list is good without asking again.
pub const TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// How fresh a list has to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// As fresh as it is: the network is not asked.
    #[default]
    Offline,
    /// Of the last day.
    Daily,
    /// Of now.
    Now,
}

/// What the decision depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogueQuery<'a> {
    /// Whose models are chosen from.
    pub provider: &'a str,
    /// Whether that provider is in use anyway, so that asking it tells nobody anything new.
    pub online: bool,
    /// How fresh the list has to be.
    pub freshness: Freshness,
    /// How old the cached list is, where there is one.
    pub cached: Option<Duration>,
}

/// Where the list comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CataloguePlan {
    /// From the built-in table.
    Table,
    /// From the cache, or the table when there is none.
    Cache,
    /// From the network, with the cache and then the table to fall back on.
    Fetch,
}

/// Decides. Only OpenRouter has a list that is fetched. Nobody comes here when the model is settled already.
pub fn plan(asked: CatalogueQuery<'_>) -> CataloguePlan {
    let fresh = asked.cached.is_some_and(|age| age < TTL);
    match asked.freshness {
        _ if asked.provider != OPENROUTER => CataloguePlan::Table,
        Freshness::Now => CataloguePlan::Fetch,
        Freshness::Daily if asked.online && !fresh => CataloguePlan::Fetch,
        Freshness::Daily | Freshness::Offline => CataloguePlan::Cache,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_is_asked_once_a_day_and_only_where_it_is_in_use() {
        let asked =
            CatalogueQuery { provider: OPENROUTER, online: true, freshness: Freshness::Daily, cached: None };
        let old = Some(TTL + Duration::from_secs(1));
        let fresh = Some(TTL - Duration::from_secs(1));
        let (offline, now) = (Freshness::Offline, Freshness::Now);
        for (asked, expect) in [
            (asked, CataloguePlan::Fetch),
            (CatalogueQuery { cached: fresh, ..asked }, CataloguePlan::Cache),
            (CatalogueQuery { cached: old, ..asked }, CataloguePlan::Fetch),
            (CatalogueQuery { cached: fresh, freshness: now, ..asked }, CataloguePlan::Fetch),
            (CatalogueQuery { online: false, ..asked }, CataloguePlan::Cache),
            (CatalogueQuery { online: false, cached: old, ..asked }, CataloguePlan::Cache),
            (CatalogueQuery { online: false, freshness: now, ..asked }, CataloguePlan::Fetch),
            (CatalogueQuery { freshness: offline, ..asked }, CataloguePlan::Cache),
            (CatalogueQuery { freshness: offline, cached: old, ..asked }, CataloguePlan::Cache),
            (CatalogueQuery { provider: "anthropic", ..asked }, CataloguePlan::Table),
            (CatalogueQuery { provider: "ollama", freshness: now, ..asked }, CataloguePlan::Table),
        ] {
            assert_eq!(plan(asked), expect, "{asked:?}");
        }
    }
}
