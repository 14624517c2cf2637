//! Whether a list of models is needed at all, and whether the network is asked for it.

use std::time::Duration;

use holon_core::mode::ModelPolicy;

use super::openrouter::OPENROUTER;

/// How long a fetched list is good without asking again.
pub const TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// What the decision depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Whether models are chosen at all (`[models] selection`).
    pub selection: bool,
    /// How one is chosen.
    pub policy: ModelPolicy,
    /// Whether somebody named the model.
    pub named: bool,
    /// Whose models are chosen from.
    pub provider: &'a str,
    /// Whether that provider is in use anyway, so that asking it tells nobody anything new.
    pub online: bool,
    /// Whether somebody asked for fresh figures.
    pub refresh: bool,
    /// How old the cached list is, where there is one.
    pub cached: Option<Duration>,
}

/// Where the list comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// From nowhere: nothing is chosen. Neither network nor cache is touched.
    None,
    /// From the built-in table.
    Table,
    /// From the cache, or the table when there is none.
    Cache,
    /// From the network, with the cache and then the table to fall back on.
    Fetch,
}

/// Decides. Only OpenRouter has a list that is fetched, and never when the model is settled already.
pub fn plan(asked: Asked<'_>) -> Plan {
    let settled = asked.named || matches!(asked.policy, ModelPolicy::Pinned | ModelPolicy::LegacyDefault);
    if !asked.selection || settled {
        return Plan::None;
    }
    if asked.provider != OPENROUTER {
        return Plan::Table;
    }
    let fresh = asked.cached.is_some_and(|age| age < TTL);
    if asked.refresh || (asked.online && !fresh) { Plan::Fetch } else { Plan::Cache }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_network_when_selection_is_off_or_the_model_is_settled() {
        let asked = Asked {
            selection: true,
            policy: ModelPolicy::Auto,
            named: false,
            provider: OPENROUTER,
            online: true,
            refresh: false,
            cached: None,
        };
        let old = Some(TTL + Duration::from_secs(1));
        let fresh = Some(TTL - Duration::from_secs(1));
        for (asked, expect) in [
            (asked, Plan::Fetch),
            (Asked { cached: fresh, ..asked }, Plan::Cache),
            (Asked { cached: old, ..asked }, Plan::Fetch),
            (Asked { cached: fresh, refresh: true, ..asked }, Plan::Fetch),
            (Asked { policy: ModelPolicy::Cheapest, ..asked }, Plan::Fetch),
            (Asked { online: false, ..asked }, Plan::Cache),
            (Asked { online: false, cached: old, ..asked }, Plan::Cache),
            (Asked { online: false, refresh: true, ..asked }, Plan::Fetch),
            (Asked { provider: "anthropic", ..asked }, Plan::Table),
            (Asked { provider: "ollama", refresh: true, ..asked }, Plan::Table),
            (Asked { selection: false, ..asked }, Plan::None),
            (Asked { selection: false, refresh: true, cached: old, ..asked }, Plan::None),
            (Asked { named: true, ..asked }, Plan::None),
            (Asked { policy: ModelPolicy::Pinned, refresh: true, ..asked }, Plan::None),
            (Asked { policy: ModelPolicy::LegacyDefault, ..asked }, Plan::None),
        ] {
            assert_eq!(plan(asked), expect, "{asked:?}");
        }
    }
}
