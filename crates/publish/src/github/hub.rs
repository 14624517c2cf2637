//! What GitHub says about a repository, an issue, a pull request, and about us.

use serde_json::Value;

use super::options::OwnAccount;
use crate::api::{ApiRequest, ForgeApi, PageBound, json, pages};
use crate::error::PublishError;
use crate::target::RepoName;

/// Longest list that is read: comments of a pull request, for example.
const LONGEST: PageBound = PageBound { entries: 5_000 };

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepoFacts {
    pub default_branch: String,
    pub clone_url: String,
    pub html_url: String,
    /// Whether the token may push; not known for some tokens.
    pub may_push: Option<bool>,
    pub archived: bool,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullFacts {
    pub number: u64,
    pub author: String,
    pub head_sha: String,
    pub head_ref: String,
    /// Gone when the fork was deleted.
    pub head_repo: Option<RepoName>,
    pub head_clone_url: Option<String>,
    pub base_ref: String,
    pub open: bool,
    pub url: String,
    pub title: String,
    pub body: String,
}

/// What a number names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IssueOrPull {
    Issue,
    Pull(Box<PullFacts>),
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn need(request: &ApiRequest, value: &Value, what: &str) -> Result<String, PublishError> {
    let found = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    found.ok_or_else(|| PublishError::Answer { call: request.shown(), why: format!("{what} is missing") })
}

pub(crate) fn repo(api: &mut dyn ForgeApi, repo: &RepoName) -> Result<RepoFacts, PublishError> {
    let request = ApiRequest::get(repo.path(""));
    let found = json(api, &request)?;
    Ok(RepoFacts {
        default_branch: need(&request, &found["default_branch"], "the default branch")?,
        clone_url: need(&request, &found["clone_url"], "the address for git")?,
        html_url: text(&found["html_url"]),
        may_push: found["permissions"]["push"].as_bool(),
        archived: found["archived"].as_bool().unwrap_or(false),
    })
}

pub(crate) fn pull_of(request: &ApiRequest, found: &Value) -> Result<PullFacts, PublishError> {
    let number = found["number"].as_u64();
    let head = &found["head"];
    let head_repo = head["repo"]["full_name"].as_str().and_then(|name| name.parse().ok());
    Ok(PullFacts {
        number: number
            .ok_or_else(|| PublishError::Answer { call: request.shown(), why: "no number".into() })?,
        author: text(&found["user"]["login"]),
        head_sha: need(request, &head["sha"], "the head's commit")?,
        head_ref: need(request, &head["ref"], "the head's branch")?,
        head_repo,
        head_clone_url: head["repo"]["clone_url"].as_str().map(str::to_owned),
        base_ref: need(request, &found["base"]["ref"], "the base's branch")?,
        open: found["state"] == "open",
        url: text(&found["html_url"]),
        title: text(&found["title"]),
        body: text(&found["body"]),
    })
}

pub(crate) fn pull(api: &mut dyn ForgeApi, repo: &RepoName, number: u64) -> Result<PullFacts, PublishError> {
    let request = ApiRequest::get(repo.path(&format!("/pulls/{number}")));
    pull_of(&request, &json(api, &request)?)
}

/// What a number names. Asked as a pull request first: a token for those may not read issues, and the other way round.
pub(crate) fn thread(
    api: &mut dyn ForgeApi,
    repo: &RepoName,
    number: u64,
) -> Result<IssueOrPull, PublishError> {
    let refused = match pull(api, repo, number) {
        Ok(found) => return Ok(IssueOrPull::Pull(Box::new(found))),
        Err(error) if matches!(error.status(), Some(403 | 404)) => error,
        Err(error) => return Err(error),
    };
    let issue = json(api, &ApiRequest::get(repo.path(&format!("/issues/{number}"))))?;
    if issue["pull_request"].is_object() {
        return Err(refused);
    }
    Ok(IssueOrPull::Issue)
}

/// Who we are on the forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForgeIdentity {
    /// This account.
    Login(String),
    /// Some App: its tokens cannot ask who they are, and no outsider can write as one.
    SomeApp,
}

impl ForgeIdentity {
    /// Whether something was written by us.
    pub(crate) fn wrote(&self, user: &Value) -> bool {
        match self {
            Self::Login(login) => user["login"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(login)),
            Self::SomeApp => user["type"] == "Bot",
        }
    }
}

pub(crate) fn me(api: &mut dyn ForgeApi, own: &OwnAccount) -> Result<ForgeIdentity, PublishError> {
    if let OwnAccount::Login(login) = own {
        return Ok(ForgeIdentity::Login(login.clone()));
    }
    match json(api, &ApiRequest::get("/user")) {
        Ok(found) => Ok(ForgeIdentity::Login(text(&found["login"]))),
        Err(error) if matches!(error.status(), Some(403 | 404)) => Ok(ForgeIdentity::SomeApp),
        Err(error) => Err(error),
    }
}

/// Every entry of a list.
pub(crate) fn list(api: &mut dyn ForgeApi, path: String) -> Result<Vec<Value>, PublishError> {
    Ok(pages(api, ApiRequest::get(path), None, LONGEST)?.entries)
}

/// Every entry of a list that stands in a field.
pub(crate) fn list_in(
    api: &mut dyn ForgeApi,
    request: ApiRequest,
    field: &str,
) -> Result<Vec<Value>, PublishError> {
    Ok(pages(api, request, Some(field), LONGEST)?.entries)
}
