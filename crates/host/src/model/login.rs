//! The login an agent's owner has: it serves a run of that agent where no key is there.
//!
//! Keys come first, and whoever names a provider or a server gets that one. A login is used for the agent it was made for and
//! nobody else. To the choice of a model it looks like a key of its provider; what goes on requests comes from the login.

use std::ffi::OsString;
use std::sync::Arc;

use holon_login::{
    ChosenCredential, CredentialChoice, CredentialOffer, CredentialProvider, FileLogin, FixedCredential,
    LoginReport, choose_credential, known_login, survey,
};
use holon_model::known_provider::{known_provider, known_providers};
use holon_model::{ChosenEndpoint, ModelError, ModelErrorKind};
use serde::Serialize;

use crate::config::ConfigurationFiles;
use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::plan::RunPlan;
use crate::run::HostEnvironment;

/// What stands where a key would be, until the login takes over.
const STAND_IN: &str = "the-login-stands-in";
/// Variables that name a server.
const SERVERS: [&str; 2] = ["HOLON_BASE_URL", "OPENAI_BASE_URL"];

/// What a run of an agent uses on this machine, and why.
#[derive(Debug, Clone, Serialize)]
pub struct AgentCredential {
    /// The agent.
    pub agent: String,
    /// What is used, and why nothing else is.
    #[serde(flatten)]
    pub choice: CredentialChoice,
}

/// What runs of the native agent use when nothing is named, and those of each agent that somebody is logged in with. Nobody is
/// asked and nothing renewed.
pub fn credentials_here(env: &HostEnvironment) -> Vec<AgentCredential> {
    let text = |name: &str| env(name).and_then(|value| value.into_string().ok());
    let set = |name: &str| text(name).is_some_and(|value| !value.trim().is_empty());
    let reports: Vec<LoginReport> =
        survey(text, jiff::Timestamp::now()).into_iter().filter(LoginReport::is_there).collect();
    let keys = known_providers().iter().filter(|known| set(&known.key)).map(|known| known.key.clone());
    let offer = CredentialOffer {
        named: None,
        keys: keys.collect(),
        has_command: false,
        logins: reports.iter().map(LoginReport::offer).collect(),
    };
    let mut agents: Vec<&str> = reports.iter().map(|report| report.agent.as_str()).collect();
    agents.sort_unstable();
    agents.dedup();
    let server = SERVERS.into_iter().find(|name| set(name));
    let of = |agent: &str| {
        let mut choice = choose_credential(agent, &offer);
        if let Some(server) = server {
            let word = format!("{server} names a server, which is asked before anybody a login leads to.");
            choice.reasons.insert(0, word);
            choice.chosen = choice.chosen.filter(|chosen| matches!(chosen, ChosenCredential::Key(_)));
        }
        AgentCredential { agent: agent.to_owned(), choice }
    };
    ["native"].into_iter().chain(agents).map(of).collect()
}

/// A login that a run uses.
pub(crate) struct LoginRoute {
    /// The variable its provider's key would be in.
    variable: &'static str,
    base: String,
    /// Gives what goes on requests.
    pub(crate) credentials: Arc<dyn CredentialProvider>,
}

/// The login a run uses, or what there is to say about those it does not.
pub(crate) enum LoginSearch {
    /// It is used.
    Route(LoginRoute),
    /// None is; the sentences say why, where somebody would expect one to be.
    Nothing(Vec<String>),
}

/// Looks for a login that serves a run.
pub(crate) fn search(
    plan: &RunPlan,
    places: &HolonFolders,
    configuration: &ConfigurationFiles,
    env: &HostEnvironment,
) -> Result<LoginSearch, HostError> {
    let text = |name: &str| env(name).and_then(|value| value.into_string().ok());
    let set = |name: &str| text(name).filter(|value| !value.trim().is_empty());
    let nothing = Ok(LoginSearch::Nothing(Vec::new()));
    let mode = &plan.models.mode;
    let provider = plan.provider.clone().or_else(|| set("HOLON_PROVIDER")).or_else(|| mode.provider.clone());
    let has_server = SERVERS.iter().any(|name| set(name).is_some()) || plan.models.server.base_url.is_some();
    if has_server {
        return nothing;
    }
    let agent = plan.agent.adapter.name.as_str();
    let reports: Vec<LoginReport> = survey(text, jiff::Timestamp::now())
        .into_iter()
        .filter(|report| report.is_there() && report.agent == agent)
        .filter(|report| provider.as_ref().is_none_or(|name| *name == report.provider))
        .collect();
    let keys = known_providers().iter().filter(|known| {
        provider.as_ref().is_none_or(|name| *name == known.name) && set(&known.key).is_some()
    });
    let offer = CredentialOffer {
        named: None,
        keys: keys.map(|known| known.key.clone()).collect(),
        has_command: false,
        logins: reports.iter().map(LoginReport::offer).collect(),
    };
    let choice = choose_credential(agent, &offer);
    let Some(ChosenCredential::Login(name)) = choice.chosen else {
        let told = if offer.keys.is_empty() && !reports.is_empty() { choice.reasons } else { Vec::new() };
        return Ok(LoginSearch::Nothing(told));
    };
    match route(&name, places, configuration, &text)? {
        Some(route) => Ok(LoginSearch::Route(route)),
        None => nothing,
    }
}

fn route(
    name: &str,
    places: &HolonFolders,
    configuration: &ConfigurationFiles,
    text: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<LoginRoute>, HostError> {
    let login = known_login(name).map_err(refused)?;
    let (Some(provider), Some(serves)) = (known_provider(&login.provider), &login.serves) else {
        return Ok(None);
    };
    let base = configuration.login_setting(name, "base")?.unwrap_or_else(|| serves.base.clone());
    let endpoint = configuration.login_setting(name, "token_endpoint")?;
    let in_variable = login.variable.as_deref().and_then(text).is_some_and(|value| !value.trim().is_empty());
    let credentials: Arc<dyn CredentialProvider> = match login.path(text) {
        _ if in_variable => Arc::new(FixedCredential::token(login, text).map_err(refused)?),
        Some(file) => {
            Arc::new(FileLogin::new(login, file, places.state.join("logins")).with_endpoint(endpoint))
        }
        None => return Ok(None),
    };
    Ok(Some(LoginRoute { variable: provider.key.as_str(), base, credentials }))
}

impl LoginRoute {
    /// The environment, in which the login's provider has a key.
    pub(crate) fn stands_in(&self, name: &str, env: &HostEnvironment) -> Option<OsString> {
        if name == self.variable { Some(STAND_IN.into()) } else { env(name) }
    }

    /// Makes a choice that was made by the stand-in one that goes by the login; false when it went to somebody else.
    pub(crate) fn takes_over(&self, chosen: &mut ChosenEndpoint) -> Result<bool, ModelError> {
        let endpoint = &mut chosen.endpoint;
        if endpoint.key.as_ref().is_none_or(|key| key.expose() != STAND_IN) {
            return Ok(false);
        }
        self.base.trim_end_matches('/').clone_into(&mut endpoint.base);
        // Nor does a token travel in the open.
        endpoint.check()?;
        // Before anything is started: a login that has ended for good is no reason to build walls.
        self.credentials
            .credential()
            .map_err(|error| ModelError::new(ModelErrorKind::Auth, error.to_string()))?;
        (endpoint.key, endpoint.key_from) = (None, None);
        let source = self.credentials.source();
        chosen.why =
            chosen.why.replace(&format!("has a key in {}", self.variable), &format!("serves {source}"));
        if !chosen.why.contains(&source) {
            chosen.why = format!("{}, with {source}", chosen.why);
        }
        Ok(true)
    }
}

fn refused(error: holon_login::LoginError) -> HostError {
    HostError::usage(error.to_string(), "`holon login list` says which logins there are")
}
