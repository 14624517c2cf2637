//! What the server holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

/// When everything happens.
pub(super) const TIME: &str = "2024-01-02T03:04:05Z";

/// What an account may do with one kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessLevel {
    /// Nothing.
    None,
    /// Look.
    Read,
    /// Change.
    Write,
}

/// Whose token a request carries.
#[derive(Debug, Clone)]
pub(super) struct GitHubAccount {
    pub login: String,
    pub bot: bool,
    /// By kind: contents, issues, pull_requests, checks. What is not named may be written.
    pub levels: BTreeMap<String, AccessLevel>,
}

impl GitHubAccount {
    pub(super) fn may(&self, kind: &str) -> AccessLevel {
        self.levels.get(kind).copied().unwrap_or(AccessLevel::Write)
    }

    pub(super) fn user(&self, base: &str) -> Value {
        user(&self.login, self.bot, base)
    }
}

pub(super) fn user(login: &str, bot: bool, base: &str) -> Value {
    json!({
        "login": login, "id": 1, "node_id": "U", "type": if bot { "Bot" } else { "User" }, "site_admin": false,
        "html_url": format!("{base}/{login}"), "url": format!("{base}/users/{login}"), "avatar_url": format!("{base}/a"),
    })
}

#[derive(Debug, Default)]
pub(super) struct GitHubWorld {
    pub tokens: BTreeMap<String, GitHubAccount>,
    pub repos: BTreeMap<String, HostedRepoState>,
    pub app: Option<HostedApp>,
    pub next_id: u64,
    /// Refuses every comment on a line, as when the diff changed under the reader.
    pub refuse_lines: bool,
}

#[derive(Debug, Clone)]
pub(super) struct HostedApp {
    pub id: String,
    pub slug: String,
    /// DER of the public key, as openssl checks it.
    pub public_key: PathBuf,
}

impl GitHubWorld {
    pub(super) fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id + 1000
    }
}

#[derive(Debug)]
pub(super) struct HostedRepoState {
    pub name: String,
    pub dir: PathBuf,
    pub default_branch: String,
    pub private: bool,
    /// Who may see and push; empty for everyone.
    pub members: Vec<String>,
    pub file_address: bool,
    pub threads: BTreeMap<u64, HostedThread>,
    pub checks: Vec<Value>,
    pub statuses: Vec<Value>,
}

/// An issue, or a pull request when `pull` is there.
#[derive(Debug, Clone)]
pub(super) struct HostedThread {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: String,
    pub open: bool,
    pub labels: Vec<String>,
    pub comments: Vec<HostedComment>,
    pub pull: Option<HostedPull>,
}

#[derive(Debug, Clone)]
pub(super) struct HostedComment {
    pub id: u64,
    pub author: String,
    pub bot: bool,
    pub body: String,
}

#[derive(Debug, Clone)]
pub(super) struct HostedPull {
    pub head_repo: String,
    pub head_ref: String,
    pub base_ref: String,
    pub draft: bool,
    pub reviews: Vec<HostedReview>,
    pub comments: Vec<LineComment>,
}

#[derive(Debug, Clone)]
pub(super) struct HostedReview {
    pub id: u64,
    pub author: String,
    pub bot: bool,
    pub body: String,
    pub state: String,
    pub commit: String,
}

#[derive(Debug, Clone)]
pub(super) struct LineComment {
    pub id: u64,
    pub review: u64,
    pub author: String,
    pub bot: bool,
    pub body: String,
    pub path: String,
    pub line: u64,
    pub start_line: Option<u64>,
    pub side: String,
    pub commit: String,
}
