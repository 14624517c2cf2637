//! Whoever answers in a chat: chosen once, asked by many turns.

use std::path::Path;
use std::sync::Arc;

use holon_core::Profile;
use holon_core::manifest::ModelInfo;
use holon_core::redact::Redactor;
use holon_model::choose::ThisMachine;
use holon_model::{Chosen, Intent, Normaliser, Prices, Provider, Replay, Wish, resolve_endpoint};

use crate::config;
use crate::error::HostError;
use crate::model::{cassette, configured, described, patience};
use crate::places::Places;
use crate::run::Environment;

/// Tokens that fit into a model of a cassette nobody knows the window of.
const UNKNOWN_WINDOW: u64 = 128_000;

/// A model, ready to be asked.
#[derive(Clone)]
pub struct ChatMind {
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

/// The model that would be asked, by what is wished, and what the user's configuration and the environment have.
pub fn chosen(
    env: &Environment,
    places: &Places,
    provider: Option<&str>,
    model: Option<&str>,
    intent: Intent,
) -> Result<Chosen, HostError> {
    let variable = |name: &str| env(name).and_then(|value| value.into_string().ok());
    // A chat answers in many workspaces, and none of them may say where its words go.
    let configured = configured(&config::of_user(places, env)?);
    let wish = Wish { provider, model, intent, configured: Some(&configured), ..Wish::default() };
    let kept = places.cache.join("models");
    Ok(resolve_endpoint(&wish, &ThisMachine::new(&variable).with_cache(&kept))?)
}

/// A model over the network, ready to be asked.
pub fn over_network(
    env: &Environment,
    places: &Places,
    provider: Option<&str>,
    model: Option<&str>,
    profile: &Profile,
) -> Result<ChatMind, HostError> {
    let intent = profile.model.intent.parse().unwrap_or_default();
    let chosen = chosen(env, places, provider, model, intent)?;
    let (info, window, prices) = described(&chosen);
    let provider = Arc::new(chosen.connect(chosen.timeouts(), patience(env)?)?);
    Ok(ChatMind { provider, info, window, max_output: chosen.most_reply(), prices })
}

/// A cassette that answers instead, from its beginning, played so many times over.
pub fn from_cassette(file: &Path, times: usize) -> Result<ChatMind, HostError> {
    let (_, mut cassette) = cassette(file)?;
    let once = cassette.turns.len();
    cassette.turns = cassette.turns.into_iter().cycle().take(once * times.max(1)).collect();
    let id = cassette.model().unwrap_or("cassette").to_owned();
    let replay = Replay::new(cassette, Normaliser::new(Redactor::default()));
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(ChatMind {
        provider: Arc::new(replay),
        info: ModelInfo { provider: "replay".into(), id, why: format!("cassette {name}"), server: None },
        window: UNKNOWN_WINDOW,
        max_output: None,
        prices: None,
    })
}
