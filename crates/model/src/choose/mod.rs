//! Decides which endpoint and model are asked: what was named, else whoever there is a key for, else a server on this
//! machine, else an error that says what to do.

mod environment;
mod local;
mod merged_preferences;
mod spelling;
#[cfg(test)]
mod tests;
mod tools;

pub use environment::{ChoiceEnvironment, ThisMachine};
pub use tools::{ToolCalls, ToolMode};

use holon_core::suggest;
use merged_preferences::{MergedPreferences, NamedBaseUrl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ability::ModelAbilities;
use crate::catalogue::{CatalogueOrigin, DataPolicy, ModelRow, ModelRowTable, OPENROUTER, maker_of};
use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelErrorKind};
use crate::key::ProviderKey;
use crate::known_provider::{known_provider, known_provider_names};
use crate::select::{ModelConstraints, ModelIntent, NoModel, SelectedModel, select};
use crate::wire::WireFormat;

/// Names of providers on this machine; `local` is any of them.
pub const LOCAL_NAMES: [&str; 5] = ["ollama", "lm-studio", "vllm", "llama.cpp", "local"];

/// What somebody asked for, with flags or in a configuration; all of it may be left open.
#[derive(Debug, Clone, Default)]
pub struct EndpointPreferences<'a> {
    /// The provider; else the variable `HOLON_PROVIDER`.
    pub provider: Option<&'a str>,
    /// The model, in anyone's spelling; else the variable `HOLON_MODEL`.
    pub model: Option<&'a str>,
    /// The base URL; else the variables `HOLON_BASE_URL` or `OPENAI_BASE_URL`.
    pub base_url: Option<&'a str>,
    /// How tools are called; else the variable `HOLON_TOOLS`.
    pub tools: ToolMode,
    /// What a configuration says about the server; flags and variables beat it.
    pub configured: Option<&'a ConfiguredServer>,
    /// What the model is for, when one must be chosen.
    pub intent: ModelIntent,
    /// What the choice must keep to.
    pub constraints: ModelConstraints,
    /// Whether it is only told who would be asked: then a provider needs no key.
    pub only_told: bool,
}

/// What a configuration says about the server to ask when nobody names a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConfiguredServer")]
pub struct ConfiguredServer {
    /// Its base URL.
    pub base_url: Option<String>,
    /// The wire it speaks: `chat`, `responses` or `messages`.
    pub wire: Option<String>,
    /// How tools are called: `auto`, `native` or `text`.
    pub tools: Option<String>,
}

/// Whom to ask.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenEndpoint {
    /// Where.
    pub endpoint: Endpoint,
    /// The model, as that provider spells it.
    pub model: String,
    /// How it calls tools.
    pub tools: ToolCalls,
    /// Why, in words for a log and a manifest.
    pub why: String,
    /// What is known about the model.
    pub row: Option<ModelRow>,
    /// What its server says, and what was tried.
    pub known: ModelAbilities,
    /// How the model was chosen, unless somebody named it.
    pub choice: Option<CatalogueChoice>,
}

/// How a model was chosen among others.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueChoice {
    /// The candidates and the reasons.
    pub selection: SelectedModel,
    /// Where the figures are from.
    pub origin: CatalogueOrigin,
    /// What did not work on the way to them, in words.
    pub warning: Option<String>,
}

/// Why nobody can be asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EndpointUndecided {
    /// Something is missing or wrong in what was asked for, or around it.
    #[error(transparent)]
    Setup(#[from] ModelError),
    /// There are models, and none is taken.
    #[error("{0}")]
    NoModel(NoModel),
}

impl From<EndpointUndecided> for ModelError {
    fn from(why: EndpointUndecided) -> Self {
        match why {
            EndpointUndecided::Setup(error) => error,
            EndpointUndecided::NoModel(no) => none_fits(&no),
        }
    }
}

/// Decides, and gives an error in words for whoever wanted to ask.
pub fn resolve_endpoint(
    wish: &EndpointPreferences<'_>,
    around: &dyn ChoiceEnvironment,
) -> Result<ChosenEndpoint, ModelError> {
    Ok(decide(wish, around)?)
}

/// Decides. Keys are only looked up, servers only looked for, and neither unless the decision hangs on it.
pub fn decide(
    wish: &EndpointPreferences<'_>,
    around: &dyn ChoiceEnvironment,
) -> Result<ChosenEndpoint, EndpointUndecided> {
    let asked = MergedPreferences::gather(wish, around)?;
    let tools = if wish.tools == ToolMode::Auto { asked.tools } else { wish.tools };
    let decider = EndpointDecider { wish, around, tools, wire: asked.wire, table: ModelRowTable::builtin() };
    let mut chosen = match (&asked.base, &asked.provider, &asked.model) {
        (Some(base), provider, model) => decider.at_base(base, provider.as_deref(), model.as_deref())?,
        (None, Some(provider), model) => decider.at_provider(provider, model.as_deref(), "was asked for")?,
        (None, None, Some(model)) => decider.by_model(model)?,
        (None, None, None) => decider.by_keys()?,
    };
    if wish.constraints.data == DataPolicy::Local && !chosen.endpoint.is_loopback() {
        return Err(elsewhere(&chosen.endpoint).into());
    }
    if chosen.endpoint.name == OPENROUTER {
        chosen.endpoint.extra.extend(wish.constraints.routing());
    }
    Ok(chosen)
}

struct EndpointDecider<'a> {
    wish: &'a EndpointPreferences<'a>,
    around: &'a dyn ChoiceEnvironment,
    tools: ToolMode,
    wire: Option<WireFormat>,
    table: &'static ModelRowTable,
}

impl EndpointDecider<'_> {
    fn at_base(
        &self,
        base: &NamedBaseUrl,
        provider: Option<&str>,
        model: Option<&str>,
    ) -> Result<ChosenEndpoint, EndpointUndecided> {
        let url = spelling::base(&base.url);
        let look_up = |name: &str| set(self.around, name);
        if let Some(provider) = provider.or_else(|| spelling::provider_at(&url)) {
            let mut endpoint = self.named(provider, Some(&url))?;
            if provider == "openai" && spelling::provider_at(&url).is_none() {
                // Whoever stands in for OpenAI speaks this one, and seldom the newer.
                endpoint.wire = WireFormat::Chat;
            }
            endpoint.wire = self.wire.unwrap_or(endpoint.wire);
            if known_provider(provider).is_some() {
                return self.in_cloud(endpoint, model, &format!("{provider} at {url} was asked for"));
            }
            return Ok(self.at_server(endpoint, model, &format!("{provider} at {url} was asked for"))?);
        }
        let key = look_up(base.key).map(|key| ProviderKey::new(&key));
        let mut endpoint = Endpoint::compatible("", &url, key);
        endpoint.name = endpoint.host().to_owned();
        endpoint.key_from = Some(base.key.to_owned());
        endpoint.wire = self.wire.unwrap_or(endpoint.wire);
        endpoint.check()?;
        Ok(self.at_server(endpoint, model, &format!("{url} was asked for"))?)
    }

    fn at_provider(
        &self,
        provider: &str,
        model: Option<&str>,
        why: &str,
    ) -> Result<ChosenEndpoint, EndpointUndecided> {
        if known_provider(provider).is_some() {
            let endpoint = self.named(provider, None)?;
            return self.in_cloud(endpoint, model, &format!("{provider} {why}"));
        }
        if LOCAL_NAMES.contains(&provider) {
            return Ok(self.on_this_machine(provider, model)?);
        }
        let known = known_provider_names().chain(LOCAL_NAMES);
        let meant = suggest::hint(provider, known.clone());
        let list = known.collect::<Vec<_>>().join(", ");
        let list = format!("use one of {list}, or give a base URL");
        Err(setup(format!("unknown provider `{provider}`{meant}: {list}")).into())
    }

    /// The endpoint of a provider, with its key; without one where it is only told who would be asked.
    fn named(&self, provider: &str, base: Option<&str>) -> Result<Endpoint, ModelError> {
        let keyless = self.wish.only_told && self.key_of(provider).is_none();
        let stands_in = |name: &str| set(self.around, name).or_else(|| keyless.then(|| "none".to_owned()));
        let mut endpoint = Endpoint::named(provider, base, stands_in)?;
        endpoint.key = endpoint.key.filter(|_| !keyless);
        Ok(endpoint)
    }

    /// A provider that needs a key, with the model named or chosen.
    fn in_cloud(
        &self,
        endpoint: Endpoint,
        model: Option<&str>,
        why: &str,
    ) -> Result<ChosenEndpoint, EndpointUndecided> {
        let provider = endpoint.name.clone();
        if self.wish.constraints.data == DataPolicy::Local && !endpoint.is_loopback() {
            return Err(elsewhere(&endpoint).into());
        }
        let (mut choice, mut chosen_row) = (None, None);
        let (model, why) = match model {
            Some(model) => {
                let spelled = self.table.spelled(&provider, model).ok_or_else(|| {
                    setup(format!("{provider} does not offer `{model}`: name another model or provider"))
                })?;
                let as_spelled = if spelled == model {
                    String::new()
                } else {
                    format!(", where `{model}` is `{spelled}`")
                };
                (spelled, format!("{why}{as_spelled}"))
            }
            None => {
                let constraints =
                    ModelConstraints { provider: Some(provider.clone()), ..self.wish.constraints.clone() };
                let listed = self.around.catalogue(&endpoint);
                let selection = select(self.wish.intent, &constraints, &listed.rows)
                    .map_err(EndpointUndecided::NoModel)?;
                let (model, why) =
                    (selection.model.clone(), format!("{why}; the model is {}", selection.reason));
                chosen_row = listed.rows.into_iter().find(|row| row.id == model);
                choice = Some(CatalogueChoice { selection, origin: listed.origin, warning: listed.warning });
                (model, why)
            }
        };
        // Figures nobody asked for are not worth a look at the network.
        let of_table = || self.table.rows(&provider).into_iter().find(|row| row.id == model);
        let row = chosen_row.or_else(of_table).or_else(|| self.around.row(&endpoint, &model));
        let tools = tools::in_cloud(self.tools, row.as_ref());
        Ok(ChosenEndpoint { endpoint, model, tools, why, row, known: ModelAbilities::default(), choice })
    }

    fn by_model(&self, model: &str) -> Result<ChosenEndpoint, EndpointUndecided> {
        let has = |provider: &str| self.key_of(provider).is_some();
        let maker = model.split_once('/').map(|(maker, _)| maker).or_else(|| maker_of(model));
        let native = maker.filter(|maker| known_provider(maker).is_some());
        // A model as its maker spells it is asked of its maker; with a folder before it, it is OpenRouter's spelling.
        let order = if model.contains('/') {
            [Some(OPENROUTER), native]
        } else {
            [native, maker.map(|_| OPENROUTER)]
        };
        for provider in order.into_iter().flatten() {
            let offered = self.table.spelled(provider, model).is_some();
            if let Some(variable) = self.key_of(provider).filter(|_| offered) {
                return self.at_provider(provider, Some(model), &format!("has a key in {variable}"));
            }
        }
        if let Some(found) = self.server_with(model)? {
            return Ok(found);
        }
        // Own names (fine-tuned models) are known to the one provider there is a key for.
        if maker.is_none() && !has(OPENROUTER) {
            let mut there = known_provider_names().filter(|provider| has(provider));
            if let (Some(only), None) = (there.next(), there.next()) {
                return self.at_provider(only, Some(model), "is the only provider with a key");
            }
        }
        if self.wish.only_told && (native.is_some() || model.contains('/')) {
            let provider = order.into_iter().flatten().find(|name| self.table.spelled(name, model).is_some());
            return self.at_provider(provider.unwrap_or(OPENROUTER), Some(model), "would be asked");
        }
        Err(setup(self.nobody_has(model, native)).into())
    }

    fn nobody_has(&self, model: &str, native: Option<&str>) -> String {
        let variable = |provider: &str| known_provider(provider).map(|provider| provider.key.as_str());
        let own = native.and_then(|maker| Some(format!("{} to ask {maker} itself", variable(maker)?)));
        match own {
            Some(own) => format!("`{model}` needs a key: set OPENROUTER_API_KEY, or {own}"),
            None if model.contains('/') => format!(
                "no server on this machine has `{model}`: set OPENROUTER_API_KEY to ask OpenRouter for it, or start the server that has it"
            ),
            None => format!(
                "no server on this machine has `{model}`: start the one that has it, give its URL as HOLON_BASE_URL, or spell a model of OpenRouter as maker/model"
            ),
        }
    }

    fn by_keys(&self) -> Result<ChosenEndpoint, EndpointUndecided> {
        let private = self.wish.constraints.data == DataPolicy::Local;
        for provider in known_provider_names().filter(|_| !private) {
            if let Some(variable) = self.key_of(provider) {
                return self.at_provider(provider, None, &format!("has a key in {variable}"));
            }
        }
        match self.on_this_machine("local", None) {
            Err(_) if self.wish.only_told && !private => {
                self.at_provider(OPENROUTER, None, "would be asked first")
            }
            found => Ok(found?),
        }
    }

    /// The variable with a provider's key, when it is set.
    fn key_of(&self, provider: &str) -> Option<&'static str> {
        let variable = known_provider(provider)?.key.as_str();
        set(self.around, variable).map(|_| variable)
    }
}

/// Tokens that fit into a model whose window nobody tells, at a provider.
const UNKNOWN_WINDOW: u64 = 128_000;
/// The same on this machine, where memory is what bounds it.
const UNKNOWN_LOCAL_WINDOW: u64 = 32_768;

impl ChosenEndpoint {
    /// Tokens of prompt and answer together, as far as anybody tells.
    pub fn window(&self) -> u64 {
        let told = self.row.as_ref().and_then(|row| row.context);
        let assumed = match self.endpoint.is_loopback() {
            true => self.known.told.longest.unwrap_or(u64::MAX).min(UNKNOWN_LOCAL_WINDOW),
            false => UNKNOWN_WINDOW,
        };
        told.unwrap_or(assumed)
    }

    /// Most tokens of one reply: a quarter of the window, and what the model can; nothing where neither is told.
    pub fn most_reply(&self) -> Option<u32> {
        const MOST: u64 = 32_000;
        let row = self.row.as_ref();
        let can = row.and_then(|row| row.max_output);
        let quarter = row.and_then(|row| row.context).map(|window| (window / 4).max(256));
        let quarter = quarter.or(self.endpoint.is_loopback().then(|| self.window() / 4));
        let most = can.into_iter().chain(quarter).min()?;
        u32::try_from(most.min(MOST)).ok()
    }
}

#[cfg(feature = "http")]
impl ChosenEndpoint {
    /// How long to wait for it: as long as it takes to read a full window at the speed that was measured, where one was.
    pub fn timeouts(&self) -> crate::HttpTimeouts {
        let usual = crate::HttpTimeouts::default();
        let speed = self.known.tested.as_ref().and_then(|tested| tested.reads_per_second);
        let Some(speed) = speed.filter(|speed| *speed > 0.0) else { return usual };
        #[expect(clippy::cast_precision_loss, reason = "seconds are wanted")]
        let seconds = (self.window() as f64 / speed * 1.5).min(3600.0);
        let head = std::time::Duration::try_from_secs_f64(seconds).unwrap_or(usual.head).max(usual.head);
        crate::HttpTimeouts { head, ..usual }
    }

    /// A provider for it: patient, with tools in words where the model needs that, and with the next best model in
    /// place of one that is gone; `switch` says so.
    pub fn connect(
        &self,
        timeouts: crate::HttpTimeouts,
        patience: crate::retry::Backoff,
        switch: crate::ModelSwitch,
    ) -> Result<Box<dyn crate::Provider>, ModelError> {
        let http = crate::HttpProvider::new(self.endpoint.clone(), timeouts)?;
        let patient = crate::RetryingProvider::patient(http, patience);
        let patient = crate::alternates::AlternateModels::new(patient, self.next_best(), switch);
        Ok(match self.tools {
            ToolCalls::Native => Box::new(crate::fallback::NativeTools::new(patient)),
            ToolCalls::Text { constrain } => Box::new(crate::TextTools::new(patient, constrain)),
        })
    }

    /// Who is asked when the chosen model is gone or declines: nobody, where somebody named it.
    fn next_best(&self) -> Vec<String> {
        const MOST: usize = 2;
        let candidates = self.choice.iter().flat_map(|choice| &choice.selection.candidates);
        candidates.filter(|one| one.id != self.model).take(MOST).map(|one| one.id.clone()).collect()
    }
}

/// A variable that says something.
fn set(around: &dyn ChoiceEnvironment, name: &str) -> Option<String> {
    around.variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn setup(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Setup, message)
}

fn elsewhere(endpoint: &Endpoint) -> ModelError {
    setup(format!(
        "nothing may leave this machine, and {} is elsewhere: choose a server on this machine",
        endpoint.base
    ))
}

/// Why no model of a list is taken, and where the limits are.
fn none_fits(no: &NoModel) -> ModelError {
    let remedy = match no {
        NoModel::Rejected { .. } => {
            "; `holon models select --explain` shows each model's reason, models.* in the configuration has the limits"
        }
        NoModel::Nothing | NoModel::Unnamed => "",
    };
    setup(format!("{no}{remedy}"))
}
