//! Where the figures come from: a provider's list, the cache, the table, or the servers on this machine.

use holon_model::HttpCatalogue;
use holon_model::catalogue::{
    Asked, Catalogue, CatalogueCache, DataPolicy, Fetch, ModelRow, OPENROUTER, Origin, Plan, load, plan,
};
use holon_model::choose::{LOCAL_NAMES, Surroundings, ThisMachine};
use holon_model::endpoint::KEY_VARIABLES;
use holon_model::select::ModelPolicy;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::session::{Session, variable};

/// Whose models, and how fresh.
#[derive(Debug, clap::Args)]
pub(super) struct Whose {
    /// Whose models: openrouter, anthropic, openai, or those on this machine (local) [default: whoever has a key]
    #[arg(long, value_name = "NAME")]
    pub(super) provider: Option<String>,
    /// Fetch OpenRouter's list now; otherwise that happens once a day, and only with its key set
    #[arg(long)]
    refresh: bool,
}

/// Models and the story of their figures.
pub(super) struct Figures {
    pub(super) provider: String,
    pub(super) catalogue: Catalogue,
    now: Timestamp,
}

impl Whose {
    /// The models to list or choose from; `policy` and `named` tell whether there is a choice at all.
    pub(super) fn figures(
        &self,
        policy: ModelPolicy,
        named: bool,
        session: &Session,
    ) -> Result<Figures, Failure> {
        let provider = self.name()?;
        let now = Timestamp::now();
        if LOCAL_NAMES.contains(&provider.as_str()) {
            let kept = session.places()?.cache.join("models");
            return Ok(Figures { catalogue: on_this_machine(&provider, &kept), provider, now });
        }
        let fetch = HttpCatalogue::new(&base());
        let cache = CatalogueCache::new(session.places()?.cache.join("models"));
        let cached = cache.read(&fetch.source()).map(|kept| kept.age(now));
        let online = has_key(OPENROUTER);
        let asked = Asked {
            selection: true,
            policy,
            named,
            provider: &provider,
            online,
            refresh: self.refresh,
            cached,
        };
        let catalogue = match plan(asked) {
            // Nothing is chosen, but what is known offline can be told.
            Plan::None => load(Plan::Table, &provider, &fetch, None, now),
            plan => load(plan, &provider, &fetch, Some(&cache), now),
        };
        match &catalogue.warning {
            Some(warning) if self.refresh && catalogue.origin != Origin::Fetched => {
                let hint = "without --refresh the last known figures are used";
                return Err(Failure::config(warning.clone()).hint(hint));
            }
            Some(warning) => session.terminal.say(&format!("warning: {warning}")),
            None => {}
        }
        Ok(Figures { provider, catalogue, now })
    }

    fn name(&self) -> Result<String, Failure> {
        let asked =
            self.provider.clone().or_else(|| text("HOLON_PROVIDER")).map(|name| name.to_ascii_lowercase());
        let cloud = || KEY_VARIABLES.into_iter().map(|(name, _)| name);
        let name = match asked {
            Some(name) => name,
            None => cloud().find(|name| has_key(name)).unwrap_or(OPENROUTER).to_owned(),
        };
        if !cloud().chain(LOCAL_NAMES).any(|known| known == name) {
            let list = cloud().chain(LOCAL_NAMES).collect::<Vec<_>>().join(", ");
            let meant = holon_core::suggest::hint(&name, cloud().chain(LOCAL_NAMES));
            return Err(Failure::user(
                format!("unknown provider `{name}`{meant}"),
                format!("the providers are: {list}"),
            ));
        }
        if self.refresh && name != OPENROUTER {
            return Err(Failure::user(
                format!("{name} has no list to fetch"),
                "--refresh is for OpenRouter's list; leave it out",
            ));
        }
        Ok(name)
    }
}

impl Whose {
    /// Whether a server is named by its URL, and nobody says whose models are meant.
    pub(super) fn at_base(&self) -> bool {
        let named = self.provider.is_some() || text("HOLON_PROVIDER").is_some();
        !named && text("HOLON_BASE_URL").is_some()
    }
}

impl Figures {
    /// What one server says of itself.
    pub(super) fn of_server(provider: &str, row: Option<ModelRow>) -> Self {
        let catalogue = Catalogue { rows: row.into_iter().collect(), origin: Origin::Local, warning: None };
        Self { provider: provider.to_owned(), catalogue, now: Timestamp::now() }
    }

    /// One line about them.
    pub(super) fn story(&self) -> String {
        format!("figures: {}", self.catalogue.origin.describe(self.now))
    }

    /// The same for programs.
    pub(super) fn as_json(&self) -> Map<String, Value> {
        let (source, date) = match &self.catalogue.origin {
            Origin::Fetched => ("fetched", Some(self.now.to_string())),
            Origin::Cached { checked_at } => ("cache", Some(checked_at.to_string())),
            Origin::Table { as_of } => ("table", Some(as_of.clone())),
            Origin::Local => ("local", None),
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
            let by_name = holon_model::catalogue::Table::builtin().local.calls_tools(model);
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
    Catalogue { rows, origin: Origin::Local, warning: None }
}

/// Where OpenRouter's list is: a mirror is one for its list, too.
fn base() -> String {
    let mirror = text("HOLON_BASE_URL").filter(|_| text("HOLON_PROVIDER").as_deref() == Some(OPENROUTER));
    mirror.unwrap_or_else(|| "https://openrouter.ai/api/v1".to_owned())
}

fn has_key(provider: &str) -> bool {
    KEY_VARIABLES.iter().any(|(name, variable)| *name == provider && text(variable).is_some())
}

/// A variable that says something.
fn text(name: &str) -> Option<String> {
    variable(name).and_then(|value| value.into_string().ok()).filter(|value| !value.trim().is_empty())
}
