//! Whom to ask: one decision for runs, turns, tasks and whoever only wants to know.

use holon_core::Profile;
use holon_core::config::{ModeSettings, ResolvedConfig};
use holon_core::manifest::{ModelCandidate, ModelSelection};
use holon_core::mode::ModelPolicy;
use holon_model::catalogue::{DataPolicy, Freshness};
use holon_model::choose::{self, CatalogueChoice, EndpointUndecided, ThisMachine};
use holon_model::select::{Preference, ScoredCandidate};
use holon_model::{
    ChosenEndpoint, ConfiguredServer, EndpointPreferences, ModelConstraints, ModelError, ModelErrorKind,
    ModelIntent,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::holon_folders::HolonFolders;
use crate::run::HostEnvironment;

/// Everything a configuration says about the models of a mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRules {
    /// Whether one is chosen when nobody names it.
    pub selection: bool,
    /// How fresh a provider's list has to be.
    pub freshness: Freshness,
    /// The most US dollars per million tokens.
    pub max_price: Option<f64>,
    /// The least context.
    pub min_context: Option<u64>,
    /// What may become of what is said.
    pub data: DataPolicy,
    /// Whether free variants count.
    pub free: bool,
    /// The server that is asked when nobody names a provider.
    pub server: ConfiguredServer,
    /// What holds for the mode.
    pub mode: ModeSettings,
}

impl ModelRules {
    /// What holds for a mode, by the name it has in the configuration.
    pub fn of(config: &ResolvedConfig, mode: &str) -> Self {
        let text =
            |key: &str| config.text(key).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let data = match text("models.data").as_deref() {
            Some("local") => DataPolicy::Local,
            Some("no_training") => DataPolicy::NoTraining,
            _ => DataPolicy::Any,
        };
        let offline = text("models.catalogue").as_deref() == Some("offline");
        Self {
            selection: text("models.selection").as_deref() != Some("off"),
            freshness: if offline { Freshness::Offline } else { Freshness::Daily },
            max_price: config.amount("models.max_price"),
            min_context: config.number("models.min_context"),
            data,
            free: config.flag("models.free").unwrap_or_default(),
            server: ConfiguredServer {
                base_url: text("models.base_url"),
                wire: text("models.wire"),
                tools: text("models.tools"),
            },
            mode: config.mode(mode),
        }
    }

    /// What a choice must keep to.
    pub fn constraints(&self) -> ModelConstraints {
        let mode = &self.mode;
        let policy = match mode.policy {
            // Without a name there is nothing to pin.
            ModelPolicy::Pinned if mode.model.is_none() => ModelPolicy::Auto,
            policy => policy,
        };
        ModelConstraints {
            policy,
            pinned: mode.model.clone(),
            legacy: mode.model.clone(),
            min_context: self.min_context,
            max_price: self.max_price,
            tools_required: mode.tools_required.then_some(true),
            reasoning: mode.reasoning_preferred.then_some(Preference::Preferred),
            data: self.data,
            allow_free: self.free,
            ..ModelConstraints::default()
        }
    }
}

/// What is said about the model of one piece of work, besides the configuration.
#[derive(Debug, Clone)]
pub struct ModelPreferences<'a> {
    /// The model that is named for it.
    pub model: Option<&'a str>,
    /// The provider that is named for it.
    pub provider: Option<&'a str>,
    /// What it is for.
    pub intent: ModelIntent,
    /// What a choice must keep to; as a rule what the configuration says.
    pub constraints: ModelConstraints,
    /// Whether it is only told who would be asked.
    pub only_told: bool,
}

impl<'a> ModelPreferences<'a> {
    /// What a mode is for, and what the configuration says of it.
    pub fn of(profile: &Profile, rules: &ModelRules) -> Self {
        let mut constraints = rules.constraints();
        let own = &profile.model;
        // The configuration beats the mode's own file; to pin or to fall back is not for that to say.
        if constraints.policy == ModelPolicy::Auto
            && matches!(own.policy, ModelPolicy::Cheapest | ModelPolicy::Best)
        {
            constraints.policy = own.policy;
        }
        if own.reasoning {
            constraints.reasoning.get_or_insert(Preference::Preferred);
        }
        let intent = own.intent.parse().unwrap_or_default();
        Self { model: None, provider: None, intent, constraints, only_told: false }
    }

    /// The same with a model and a provider, where they are named.
    #[must_use]
    pub fn named(self, provider: Option<&'a str>, model: Option<&'a str>) -> Self {
        Self { provider, model, ..self }
    }
}

/// Decides whom to ask, for a run, a turn, a task and whoever only wants to know: by what is named, what the
/// configuration says, and what the environment has.
pub fn decide(
    wish: &ModelPreferences<'_>,
    rules: &ModelRules,
    places: &HolonFolders,
    env: &HostEnvironment,
) -> Result<ChosenEndpoint, EndpointUndecided> {
    let variable = |name: &str| env(name).and_then(|value| value.into_string().ok());
    // What is said for this work beats what is said for the mode, and a variable is said for this work.
    let said = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
    let mode = &rules.mode;
    let own = |value: &Option<String>, variable: &str| value.clone().filter(|_| !said(variable));
    let model = own(&mode.model, "HOLON_MODEL").filter(|_| mode.policy != ModelPolicy::Auto);
    let provider = own(&mode.provider, "HOLON_PROVIDER").filter(|_| wish.model.is_none());
    let asked = EndpointPreferences {
        provider: wish.provider.or(provider.as_deref()),
        model: wish.model.or(model.as_deref()),
        intent: wish.intent,
        constraints: wish.constraints.clone(),
        configured: Some(&rules.server),
        only_told: wish.only_told,
        ..EndpointPreferences::default()
    };
    if !rules.selection && asked.model.is_none() && !said("HOLON_MODEL") {
        let message = "models.selection is off, and no model is named: give --model, or modes.*.model in the configuration";
        return Err(ModelError::new(ModelErrorKind::Setup, message).into());
    }
    let kept = places.cache.join("models");
    let machine = ThisMachine::new(&variable).with_cache(&kept).with_lists(rules.freshness);
    choose::decide(&asked, &machine)
}

/// A choice as a manifest keeps it: the best candidates and how many there were.
pub(super) fn for_manifest(choice: &CatalogueChoice) -> ModelSelection {
    const MOST: usize = 8;
    let selection = &choice.selection;
    let best = selection.candidates.iter().take(MOST);
    let candidate =
        |one: &ScoredCandidate| ModelCandidate { id: one.id.clone(), score: one.score, why: one.why.clone() };
    ModelSelection {
        intent: selection.intent.to_string(),
        policy: selection.policy,
        figures: choice.origin.describe(jiff::Timestamp::now()),
        candidates: best.map(candidate).collect(),
        fitting: selection.candidates.len(),
        rejected: selection.rejected.len(),
    }
}
