//! Whoever answers in a chat: chosen once, asked by many turns.

use std::path::Path;
use std::sync::Arc;

use holon_core::Profile;
use holon_core::manifest::ModelInfo;
use holon_core::redact::Redactor;
use holon_model::choose::ThisMachine;
use holon_model::{Normaliser, Prices, Provider, Replay, Timeouts, Wish, resolve_endpoint};

use crate::config;
use crate::error::HostError;
use crate::model::{cassette, configured, patience, server_of};
use crate::places::Places;
use crate::run::Environment;

/// Tokens that fit into a model nobody knows the window of.
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
    /// What it costs, where its provider does not tell.
    pub prices: Option<Prices>,
}

/// A model over the network, by what is wished, and what the user's configuration and the environment have.
pub fn over_network(
    env: &Environment,
    places: &Places,
    provider: Option<&str>,
    model: Option<&str>,
    profile: &Profile,
) -> Result<ChatMind, HostError> {
    let variable = |name: &str| env(name).and_then(|value| value.into_string().ok());
    let intent = profile.model.intent.parse().unwrap_or_default();
    // A chat answers in many workspaces, and none of them may say where its words go.
    let configured = configured(&config::of_user(places, env)?);
    let wish = Wish { provider, model, intent, configured: Some(&configured), ..Wish::default() };
    let chosen = resolve_endpoint(&wish, &ThisMachine::new(&variable))?;
    let row = chosen.row.as_ref();
    Ok(ChatMind {
        provider: Arc::new(chosen.connect(Timeouts::default(), patience(env)?)?),
        info: ModelInfo {
            provider: chosen.endpoint.name.clone(),
            id: chosen.model.clone(),
            why: chosen.why.clone(),
            server: server_of(&chosen.endpoint.base),
        },
        window: row.and_then(|row| row.context).unwrap_or(UNKNOWN_WINDOW),
        prices: row.and_then(|row| row.prices),
    })
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
        prices: None,
    })
}
