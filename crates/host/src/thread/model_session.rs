//! Whoever answers in a chat: chosen once, asked by many turns.

use std::path::Path;
use std::sync::Arc;

use holon_core::Profile;
use holon_core::manifest::ModelInfo;
use holon_core::redact::Redactor;
use holon_model::catalogue::Freshness;
use holon_model::{ChosenEndpoint, ModelError, ModelSwitch, Normaliser, Prices, Provider, ReplayProvider};

use crate::config;
use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::model::{ModelPreferences, ModelRules, cassette, decide, described, patience};
use crate::run::HostEnvironment;

/// Tokens that fit into a model of a cassette nobody knows the window of.
const UNKNOWN_WINDOW: u64 = 128_000;

/// A model, ready to be asked.
#[derive(Clone)]
pub struct ChatModelSession {
    /// Whoever answers.
    pub provider: Arc<dyn Provider>,
    /// What it is.
    pub info: ModelInfo,
    /// Tokens it can take.
    pub window: u64,
    /// Most tokens of a reply.
    pub max_output: Option<u32>,
    /// What it costs, where its provider does not tell.
    pub prices: Option<Prices>,
}

/// What is wished of whoever answers in a chat.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatModelPreferences<'a> {
    /// The provider that is named.
    pub provider: Option<&'a str>,
    /// The model that is named.
    pub model: Option<&'a str>,
    /// The model that answered before; it is kept unless another is clearly better.
    pub current: Option<&'a str>,
}

/// The model that would be asked in a mode, by what is wished, and what the user's configuration and the environment
/// have; no list is fetched for it.
pub fn would_ask(
    env: &HostEnvironment,
    places: &HolonFolders,
    wish: ChatModelPreferences<'_>,
    profile: &Profile,
) -> Result<ChosenEndpoint, HostError> {
    let rules = ModelRules { freshness: Freshness::Offline, ..rules(env, places, profile)? };
    decided(env, places, wish, profile, &rules)
}

/// A chat answers in many workspaces, and none of them may say where its words go.
fn rules(env: &HostEnvironment, places: &HolonFolders, profile: &Profile) -> Result<ModelRules, HostError> {
    Ok(ModelRules::of(&config::of_user(places, env)?, config::name_of_mode(&profile.name)))
}

fn decided(
    env: &HostEnvironment,
    places: &HolonFolders,
    wish: ChatModelPreferences<'_>,
    profile: &Profile,
    rules: &ModelRules,
) -> Result<ChosenEndpoint, HostError> {
    let mut asked = ModelPreferences::of(profile, rules).named(wish.provider, wish.model);
    asked.constraints.current = wish.current.map(str::to_owned);
    Ok(decide(&asked, rules, places, env).map_err(ModelError::from)?)
}

/// A model over the network, ready to be asked.
pub fn over_network(
    env: &HostEnvironment,
    places: &HolonFolders,
    wish: ChatModelPreferences<'_>,
    profile: &Profile,
) -> Result<ChatModelSession, HostError> {
    let chosen = decided(env, places, wish, profile, &rules(env, places, profile)?)?;
    let (info, window, prices) = described(&chosen);
    let provider = Arc::new(chosen.connect(chosen.timeouts(), patience(env)?, ModelSwitch::default())?);
    Ok(ChatModelSession { provider, info, window, max_output: chosen.most_reply(), prices })
}

/// A cassette that answers instead, from its beginning, played so many times over.
pub fn from_cassette(file: &Path, times: usize) -> Result<ChatModelSession, HostError> {
    let (mut cassette, _) = cassette(file)?;
    let once = cassette.turns.len();
    cassette.turns = cassette.turns.into_iter().cycle().take(once * times.max(1)).collect();
    let id = cassette.model().unwrap_or("cassette").to_owned();
    let replay = ReplayProvider::new(cassette, Normaliser::new(Redactor::default()));
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(ChatModelSession {
        provider: Arc::new(replay),
        info: ModelInfo {
            provider: "replay".into(),
            id,
            why: format!("cassette {name}"),
            ..ModelInfo::default()
        },
        window: UNKNOWN_WINDOW,
        max_output: None,
        prices: None,
    })
}
