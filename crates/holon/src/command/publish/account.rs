//! Who publishes, from the environment: never from a flag, which every process list shows.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use holon_core::HumanDuration;
use holon_publish::api::{ApiBase, Clock, HttpApi, PatientApi, SystemClock};
use holon_publish::auth::{GitHubApp, installation_token};
use holon_publish::github::OwnAccount;
use holon_publish::{ForgeToken, RepoName};

use crate::failure::CliFailure;
use crate::session;

const TOKENS: [&str; 3] = ["HOLON_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"];
const APP_ID: &str = "HOLON_GITHUB_APP_ID";
const APP_KEY: &str = "HOLON_GITHUB_APP_KEY";
const APP_KEY_FILE: &str = "HOLON_GITHUB_APP_KEY_FILE";

/// How the forge is reached.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ForgeArgs {
    /// The API's address, for GitHub Enterprise [default: $GITHUB_API_URL, then https://api.github.com]
    #[arg(long, value_name = "URL", help_heading = "How")]
    pub(crate) api_url: Option<String>,
    /// The longest time to wait for rate limits in all [default: 5m]
    #[arg(long, value_name = "TIME", help_heading = "How")]
    pub(crate) max_wait: Option<HumanDuration>,
}

/// A connection, and the account behind it.
pub(crate) struct ForgeConnection {
    /// The API, which waits where it is asked to.
    pub(crate) api: PatientApi<HttpApi, SystemClock>,
    /// Where it is.
    pub(crate) reach: ApiBase,
    /// The token, for git.
    pub(crate) token: Option<ForgeToken>,
    /// Who it belongs to.
    pub(crate) own: OwnAccount,
}

fn text(name: &str) -> Option<String> {
    session::variable(name)
        .and_then(|value| value.into_string().ok())
        .filter(|value| !value.trim().is_empty())
}

/// Connects with the token or App that the environment holds; without one only what is public can be read.
pub(crate) fn connect(
    forge: &ForgeArgs,
    repo: &RepoName,
    need_token: bool,
) -> Result<ForgeConnection, CliFailure> {
    let address = forge.api_url.clone().or_else(|| text("GITHUB_API_URL"));
    let reach = ApiBase::new(address.as_deref().unwrap_or("https://api.github.com"))?;
    let (token, own) = match app()? {
        Some(app) => {
            let (token, login) = installation_token(&app, &reach, repo, SystemClock.now())?;
            (Some(token), OwnAccount::Login(login))
        }
        None => {
            (TOKENS.iter().find_map(|name| text(name)).as_deref().and_then(ForgeToken::new), OwnAccount::Ask)
        }
    };
    if token.is_none() && need_token {
        let hint = format!("set {}, or {APP_ID} and {APP_KEY} for a GitHub App", TOKENS.join(" or "));
        return Err(CliFailure::config("there is no token for GitHub").hint(hint));
    }
    let http = HttpApi::new(reach.clone(), token.clone())?;
    let allowed = forge.max_wait.map_or(Duration::from_secs(300), |span| span.get());
    Ok(ForgeConnection { api: PatientApi::new(http, SystemClock, allowed), reach, token, own })
}

/// The App that the environment names.
fn app() -> Result<Option<GitHubApp>, CliFailure> {
    let Some(id) = text(APP_ID) else { return Ok(None) };
    let key = match (text(APP_KEY), text(APP_KEY_FILE)) {
        (Some(key), _) => key.into_bytes(),
        (None, Some(file)) => {
            let path = PathBuf::from(file);
            fs::read(&path).map_err(CliFailure::io("read the App's key", &path))?
        }
        (None, None) => {
            return Err(CliFailure::config(format!("{APP_ID} is set, but the App's private key is not"))
                .hint(format!("set {APP_KEY} to its text, or {APP_KEY_FILE} to the file that holds it")));
        }
    };
    Ok(Some(GitHubApp { id, key }))
}

/// The variables of the network that git shall see as well.
pub(crate) fn network() -> Vec<(&'static str, String)> {
    let same = ["https_proxy", "HTTPS_PROXY", "http_proxy", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"];
    let mut found: Vec<(&'static str, String)> =
        same.into_iter().filter_map(|name| Some((name, text(name)?))).collect();
    for (ours, gits) in [("SSL_CERT_FILE", "GIT_SSL_CAINFO"), ("SSL_CERT_DIR", "GIT_SSL_CAPATH")] {
        found.extend(text(ours).map(|value| (gits, value)));
    }
    found
}
