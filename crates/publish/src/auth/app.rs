//! From an App's key to a token for one repository.

use serde_json::json;

use super::jwt;
use crate::api::{ApiBase, ApiRequest, ForgeApi, HttpApi, HttpMethod, json};
use crate::error::PublishError;
use crate::target::RepoName;
use crate::token::ForgeToken;

/// A GitHub App: its id and its private key.
#[derive(Clone)]
pub struct GitHubApp {
    /// The App's id or client id.
    pub id: String,
    /// Its private key, PEM.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for GitHubApp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A token that is valid for an hour and for this repository alone, and the account that it acts as.
pub fn installation_token(
    app: &GitHubApp,
    reach: &ApiBase,
    repo: &RepoName,
    now: u64,
) -> Result<(ForgeToken, String), PublishError> {
    let claim = jwt::signed(&app.id, &app.key, now)?;
    let mut api = HttpApi::new(reach.clone(), Some(claim))?;
    exchange(&mut api, repo)
}

fn exchange(api: &mut dyn ForgeApi, repo: &RepoName) -> Result<(ForgeToken, String), PublishError> {
    let me = json(api, &ApiRequest::get("/app"))?;
    let found = json(api, &ApiRequest::get(repo.path("/installation")))?;
    let id = found["id"].as_u64().ok_or_else(|| PublishError::Answer {
        call: "GET /installation".into(),
        why: "the installation has no id".into(),
    })?;
    // No more than publishing needs.
    let body = json!({
        "repositories": [repo.name],
        "permissions": {
            "checks": "write", "contents": "write", "issues": "write", "metadata": "read", "pull_requests": "write",
        },
    });
    let path = format!("/app/installations/{id}/access_tokens");
    let given = json(api, &ApiRequest::send(HttpMethod::Post, path, body))?;
    let token = given["token"].as_str().and_then(ForgeToken::new).ok_or_else(|| PublishError::Answer {
        call: "POST access_tokens".into(),
        why: "no token was given".into(),
    })?;
    let slug = me["slug"].as_str().unwrap_or_default();
    Ok((token, format!("{slug}[bot]")))
}
