//! The model of a run: chosen, opened and recorded.

mod choice;
mod login;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use holon_agent::fit;
use holon_core::Profile;
use holon_core::digest::sha256;
use holon_core::manifest::ModelInfo;
use holon_core::redact::Redactor;
use holon_model::catalogue::ModelRowTable;
use holon_model::choose::ToolCalls;
use holon_model::known_provider::known_provider_names;
use holon_model::retry::Backoff;
use holon_model::{
    Cassette, ChosenEndpoint, ModelError, ModelErrorKind, ModelRow, ModelSwitch, Normaliser, Prices,
    Provider, RecordingProvider, ReplayProvider,
};

pub use choice::{ModelPreferences, ModelRules, decide};
pub use login::{AgentCredential, credentials_here};
pub(crate) use login::{LoginSearch, search as search_login};

use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::modes;
use crate::plan::RunPlan;
use crate::run::HostEnvironment;

/// Tokens that fit into a model of a cassette that nobody knows the window of.
const UNKNOWN_WINDOW: u64 = 128_000;
/// The variable that says how often a request is repeated.
const RETRIES: &str = "HOLON_RETRIES";
/// The largest cassette that is read, in bytes; long runs leave a few MiB.
const MOST_CASSETTE: u64 = 1 << 30;
/// What a cassette's model is called when nobody says.
const REPLAYED: &str = "cassette";

/// What answers in a run, ready to be asked.
pub(crate) struct ModelSession {
    /// Whoever answers; everything it says is recorded.
    pub provider: Arc<dyn Provider>,
    /// For the manifest.
    pub info: ModelInfo,
    /// Tokens it can take.
    pub window: u64,
    /// Most tokens of a reply.
    pub max_output: Option<u32>,
    /// What it is too small for, and what did not work on the way to it, in sentences.
    pub warnings: Vec<String>,
    /// What it costs, where its provider does not tell.
    pub prices: Option<Prices>,
    /// The cassette, when one answers.
    pub replay: Option<Arc<ReplayProvider>>,
    /// Who answers instead of the model that was chosen.
    pub switch: ModelSwitch,
}

/// Decides whom a run asks.
pub(crate) fn choose(
    plan: &RunPlan,
    places: &HolonFolders,
    env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<ChosenEndpoint, ModelError> {
    let wish = ModelPreferences::of(&plan.profile, &plan.models)
        .named(plan.provider.as_deref(), plan.model.as_deref());
    let mut chosen = decide(&wish, &plan.models, places, env)?;
    if let ToolCalls::Text { constrain } = &mut chosen.tools
        && fit::free_answers(&plan.profile, &chosen.model)
    {
        *constrain = false;
    }
    Ok(chosen)
}

/// How often a request is repeated: as a rule five times, or as often as `HOLON_RETRIES` says.
///
/// An answer that breaks off is asked for again too: a run must not end because a stream did, and whoever watches is told
/// that what came of it is void.
pub(crate) fn patience(env: &HostEnvironment) -> Result<Backoff, ModelError> {
    let usual = Backoff { after_text: true, ..Backoff::default() };
    let Some(text) = env(RETRIES) else { return Ok(usual) };
    let text = text.to_string_lossy();
    match text.trim().parse() {
        Ok(most) => Ok(Backoff { most, ..usual }),
        Err(_) if text.trim().is_empty() => Ok(usual),
        Err(_) => {
            let message = format!("{RETRIES} is `{text}`: it must be a number, such as 0 or 5");
            Err(ModelError::new(ModelErrorKind::Setup, message))
        }
    }
}

/// Reads a cassette, and gives the digest of what it holds.
pub(crate) fn cassette(file: &Path) -> Result<(Cassette, String), HostError> {
    let text = modes::read_large(file, "--replay", MOST_CASSETTE)?;
    let cassette: Cassette = text.parse().map_err(|e| {
        HostError::usage(format!("{}: {e}", file.display()), "correct the cassette, or record it anew")
    })?;
    Ok((cassette, sha256(text.as_bytes())))
}

/// Answers from a cassette.
pub(crate) fn from_cassette(
    file: &Path,
    cassette: Cassette,
    model: Option<&str>,
    tape: &Path,
    normaliser: Normaliser,
) -> Result<ModelSession, HostError> {
    let (replay, info, window, prices) = replayed(file, cassette, model, normaliser.clone());
    let provider = recorded(Arc::clone(&replay), tape, normaliser, window)?;
    Ok(ModelSession {
        provider,
        info,
        window,
        max_output: None,
        warnings: Vec::new(),
        prices,
        replay: Some(replay),
        switch: ModelSwitch::default(),
    })
}

/// A cassette, ready to answer, with what is known about the model it stands for.
pub(crate) fn replayed(
    file: &Path,
    cassette: Cassette,
    model: Option<&str>,
    normaliser: Normaliser,
) -> (Arc<ReplayProvider>, ModelInfo, u64, Option<Prices>) {
    let id = model.or(cassette.model()).unwrap_or(REPLAYED).to_owned();
    // The same figures lead to the same decisions.
    let row = known(&id);
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let info =
        ModelInfo { provider: "replay".into(), id, why: format!("--replay {name}"), ..ModelInfo::default() };
    let told = row.as_ref().and_then(|row| row.context);
    let window = cassette.window().or(told).unwrap_or(UNKNOWN_WINDOW);
    (Arc::new(ReplayProvider::new(cassette, normaliser)), info, window, row.and_then(|row| row.prices))
}

/// What is known about a model, whoever serves it.
fn known(id: &str) -> Option<ModelRow> {
    let of = |provider| ModelRowTable::builtin().rows(provider).into_iter().find(|row| row.id == id);
    known_provider_names().find_map(of)
}

/// Answers over a network.
pub(crate) fn over_network(
    chosen: &ChosenEndpoint,
    profile: &Profile,
    patience: Backoff,
    tape: &Path,
    normaliser: Normaliser,
) -> Result<ModelSession, HostError> {
    let (info, window, prices) = described(chosen);
    let switch = ModelSwitch::default();
    let connected = chosen.connect(chosen.timeouts(), patience, switch.clone())?;
    let provider = recorded(connected, tape, normaliser, window)?;
    let told = chosen.row.as_ref().and_then(|row| row.context);
    let small = fit::too_small(profile, &chosen.model, told, chosen.known.told.kind);
    let unfetched = chosen.choice.as_ref().and_then(|choice| choice.warning.clone());
    let warnings = small.into_iter().chain(unfetched).collect();
    Ok(ModelSession {
        provider,
        info,
        window,
        max_output: chosen.most_reply(),
        warnings,
        prices,
        replay: None,
        switch,
    })
}

/// What is known about a model that was chosen: its place in the manifest, its window, its prices.
pub(crate) fn described(chosen: &ChosenEndpoint) -> (ModelInfo, u64, Option<Prices>) {
    let info = ModelInfo {
        provider: chosen.endpoint.name.clone(),
        id: chosen.model.clone(),
        why: chosen.why.clone(),
        server: server_of(&chosen.endpoint.base),
        selection: chosen.choice.as_ref().map(choice::for_manifest),
        replaced_by: None,
    };
    (info, chosen.window(), chosen.row.as_ref().and_then(|row| row.prices))
}

/// Where an address leads, as `host:port`; who is named in it is nobody's business.
pub(crate) fn server_of(base: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, port),
        _ => (authority, if scheme == "https" { "443" } else { "80" }),
    };
    (!host.is_empty()).then(|| format!("{host}:{port}"))
}

/// Every turn is written down as it ends, redacted, so that a run that is killed leaves what it had.
fn recorded<P: Provider + 'static>(
    provider: P,
    tape: &Path,
    normaliser: Normaliser,
    window: u64,
) -> Result<Arc<dyn Provider>, HostError> {
    let mut file =
        File::options().create(true).append(true).open(tape).map_err(HostError::io("create", tape))?;
    let recorder = RecordingProvider::new(provider, normaliser, move |text| file.write_all(text.as_bytes()));
    Ok(Arc::new(recorder.with_window(window)))
}

/// Folds what differs between two runs of the same thing.
pub(crate) fn normaliser(redactor: &Redactor, folders: &[(&Path, &str)]) -> Normaliser {
    let start = Normaliser::new(redactor.clone());
    folders.iter().fold(start, |n, (path, label)| n.fold_path(path.to_string_lossy().into_owned(), *label))
}

/// What a person can do about a model that does not answer, in words of any kind of failure.
pub fn remedy(error: &ModelError) -> String {
    hint(error).unwrap_or_else(|| "`holon doctor` says which model would be asked".to_owned())
}

/// What a person can do about a model that does not answer.
pub(crate) fn hint(error: &ModelError) -> Option<String> {
    let words = match error.kind {
        ModelErrorKind::Setup | ModelErrorKind::Cancelled => return None,
        ModelErrorKind::Auth => "check the key in the environment, or choose another --provider",
        ModelErrorKind::Billing => "top up the provider's account, or choose another --provider",
        ModelErrorKind::RateLimit | ModelErrorKind::Overloaded => {
            "wait and run again, or choose another --model"
        }
        ModelErrorKind::ContextOverflow => "choose a model with a larger window, or a smaller goal",
        ModelErrorKind::Refused => "rephrase the goal, or choose another --model",
        ModelErrorKind::BadRequest => "check --model and --provider; `holon models list` shows what there is",
        ModelErrorKind::Network | ModelErrorKind::Timeout | ModelErrorKind::Cut => {
            "check the network or the local server, and run again; nothing was lost"
        }
        ModelErrorKind::Malformed => "the server does not speak the protocol it should; check its address",
        ModelErrorKind::Replay => {
            "the run differs from the recording; record it anew, or run without --replay"
        }
    };
    Some(words.to_owned())
}
