//! Where the figures come from: a provider's list, the cache, the table, or the servers on this machine.

use holon_model::HttpCatalogue;
use holon_model::catalogue::{
    Catalogue, CatalogueCache, CatalogueFetch, CatalogueOrigin, CatalogueQuery, DataPolicy, Freshness,
    ModelRow, OPENROUTER, load, plan,
};
use holon_model::choose::{ChoiceEnvironment, LOCAL_NAMES, ThisMachine};
use holon_model::known_provider::{known_provider, known_provider_names};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::failure::CliFailure;
use crate::session::{Session, variable};

/// Whose models, and how fresh.
#[derive(Debug, clap::Args)]
pub(super) struct ModelSourceArgs {
    /// Whose models: openrouter, anthropic, openai, or those on this machine (local) [default: whoever has a key]
    #[arg(long, value_name = "NAME")]
    pub(super) provider: Option<String>,
    /// Fetch OpenRouter's list now; otherwise that happens once a day, and only with its key set
    #[arg(long)]
    pub(super) refresh: bool,
}

/// Models and the story of their figures.
pub(super) struct ModelFigures {
    pub(super) provider: String,
    pub(super) catalogue: Catalogue,
    now: Timestamp,
}

impl ModelSourceArgs {
    /// The models to list.
    pub(super) fn figures(&self, session: &Session) -> Result<ModelFigures, CliFailure> {
        let provider = self.name()?;
        if LOCAL_NAMES.contains(&provider.as_str()) {
            let kept = session.places()?.cache.join("models");
            return Ok(ModelFigures::new(provider.clone(), on_this_machine(&provider, &kept)));
        }
        let now = Timestamp::now();
        let fetch = HttpCatalogue::new(&base());
        let cache = CatalogueCache::new(session.places()?.cache.join("models"));
        let cached = cache.read(&fetch.source()).map(|kept| kept.age(now));
        let freshness = if self.refresh { Freshness::Now } else { Freshness::Daily };
        let asked = CatalogueQuery { provider: &provider, online: has_key(OPENROUTER), freshness, cached };
        let catalogue = load(plan(asked), &provider, &fetch, Some(&cache), now);
        let figures = ModelFigures::new(provider, catalogue);
        if let Some(warning) = figures.unfetched(self.refresh)? {
            session.terminal.say(&format!("warning: {warning}"));
        }
        Ok(figures)
    }

    /// Refuses a name that is no provider's, and a list that nobody has.
    pub(super) fn check(&self) -> Result<(), CliFailure> {
        self.provider.as_ref().map_or(Ok(()), |_| self.name().map(drop))
    }

    fn name(&self) -> Result<String, CliFailure> {
        let asked =
            self.provider.clone().or_else(|| text("HOLON_PROVIDER")).map(|name| name.to_ascii_lowercase());
        let name = match asked {
            Some(name) => name,
            None => known_provider_names().find(|name| has_key(name)).unwrap_or(OPENROUTER).to_owned(),
        };
        if !known_provider_names().chain(LOCAL_NAMES).any(|known| known == name) {
            let list = known_provider_names().chain(LOCAL_NAMES).collect::<Vec<_>>().join(", ");
            let meant = holon_core::suggest::hint(&name, known_provider_names().chain(LOCAL_NAMES));
            return Err(CliFailure::user(
                format!("unknown provider `{name}`{meant}"),
                format!("the providers are: {list}"),
            ));
        }
        if self.refresh && name != OPENROUTER {
            return Err(CliFailure::user(
                format!("{name} has no list to fetch"),
                "--refresh is for OpenRouter's list; leave it out",
            ));
        }
        Ok(name)
    }
}

impl ModelFigures {
    /// Those of a provider, as they are now.
    pub(super) fn new(provider: String, catalogue: Catalogue) -> Self {
        Self { provider, catalogue, now: Timestamp::now() }
    }

    /// What did not work on the way to them: a word, or the end where fresh ones were asked for.
    pub(super) fn unfetched(&self, refresh: bool) -> Result<Option<&str>, CliFailure> {
        match &self.catalogue.warning {
            Some(warning) if refresh && self.catalogue.origin != CatalogueOrigin::Fetched => {
                let hint = "without --refresh the last known figures are used";
                Err(CliFailure::config(warning.clone()).hint(hint))
            }
            warning => Ok(warning.as_deref()),
        }
    }

    /// One line about them.
    pub(super) fn story(&self) -> String {
        format!("figures: {}", self.catalogue.origin.describe(self.now))
    }

    /// The same for programs.
    pub(super) fn as_json(&self) -> Map<String, Value> {
        let (source, date) = match &self.catalogue.origin {
            CatalogueOrigin::Fetched => ("fetched", Some(self.now.to_string())),
            CatalogueOrigin::Cached { checked_at } => ("cache", Some(checked_at.to_string())),
            CatalogueOrigin::Table { as_of } => ("table", Some(as_of.clone())),
            CatalogueOrigin::Local => ("local", None),
        };
        Map::from_iter([
            ("provider".to_owned(), json!(self.provider)),
            ("figures".to_owned(), json!({ "from": source, "of": date })),
        ])
    }
}

fn on_this_machine(name: &str, kept: &std::path::Path) -> Catalogue {
    let machine = ThisMachine::new(&text).with_cache(kept);
    let mut rows = Vec::new();
    for server in machine.servers() {
        let wanted = name == "local" || server.endpoint.name == name;
        for model in server.models.iter().filter(|_| wanted) {
            let known = machine.abilities(&server.endpoint, model);
            let by_name = holon_model::catalogue::ModelRowTable::builtin().local.calls_tools(model);
            rows.push(ModelRow {
                context: known.window(),
                tools: known.tools().or(by_name),
                reasoning: known.told.thinks,
                structured: known.schema(),
                data: DataPolicy::Local,
                ..ModelRow::new(&server.endpoint.name, model)
            });
        }
    }
    Catalogue { rows, origin: CatalogueOrigin::Local, warning: None }
}

/// Where OpenRouter's list is: a mirror is one for its list, too.
fn base() -> String {
    let mirror = text("HOLON_BASE_URL").filter(|_| text("HOLON_PROVIDER").as_deref() == Some(OPENROUTER));
    mirror.unwrap_or_else(|| "https://openrouter.ai/api/v1".to_owned())
}

fn has_key(provider: &str) -> bool {
    known_provider(provider).is_some_and(|provider| text(&provider.key).is_some())
}

/// A variable that says something.
fn text(name: &str) -> Option<String> {
    variable(name).and_then(|value| value.into_string().ok()).filter(|value| !value.trim().is_empty())
}
