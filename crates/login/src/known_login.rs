//! The logins that are known, as `rules/logins.toml` lists them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::error::LoginError;

const TEXT: &str = include_str!("../../../rules/logins.toml");

/// A login that an agent keeps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownLogin {
    /// The agent it was made for.
    pub agent: String,
    /// What tells it from others of the same agent.
    pub name: String,
    /// Whose account it is.
    pub title: String,
    /// The provider that serves it.
    pub provider: String,
    /// The folder below HOME.
    pub folder: String,
    /// The variable that names another folder.
    #[serde(default)]
    pub folder_variable: Option<String>,
    /// The file in the folder.
    pub file: String,
    /// Whether the file may have comments; such a file is never written.
    #[serde(default)]
    pub comments: bool,
    /// The agent's own command that makes a login.
    pub log_in: String,
    /// A variable that holds a token instead.
    #[serde(default)]
    pub variable: Option<String>,
    /// What makes a token for the variable.
    #[serde(default)]
    pub variable_log_in: Option<String>,
    /// Why it cannot be used on a run yet.
    #[serde(default)]
    pub why_not: Option<String>,
    /// What the agent holds while it renews.
    #[serde(default)]
    pub locks: AgentLockRule,
    /// Where values are in the file.
    pub fields: LoginFields,
    /// What goes on a request besides the token.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Where it is served.
    #[serde(default)]
    pub serves: Option<ServedWire>,
    /// How a new token is asked for.
    #[serde(default)]
    pub renewal: Option<RenewalRule>,
    /// What the agent sees inside a sandbox.
    #[serde(default)]
    pub placeholder: PlaceholderRule,
}

/// What an agent holds while it renews its login.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentLockRule {
    /// Folders that are made, in this order.
    #[serde(default)]
    pub folders: Vec<String>,
    /// Seconds after which such a folder counts as left behind.
    #[serde(default)]
    pub stale: u64,
    /// A file that is locked.
    #[serde(default)]
    pub file: Option<String>,
}

/// Where values are in a login file, as JSON pointers in which `*` is any one entry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginFields {
    /// The token for requests.
    pub access: String,
    /// The token for renewals.
    #[serde(default)]
    pub refresh: Option<String>,
    /// The token that says who logged in.
    #[serde(default)]
    pub id: Option<String>,
    /// When the token ends.
    #[serde(default)]
    pub expires: Option<String>,
    /// How that is written.
    #[serde(default)]
    pub expires_as: EndForm,
    /// The account.
    #[serde(default)]
    pub account: Option<String>,
    /// What it was allowed to do.
    #[serde(default)]
    pub scopes: Option<String>,
    /// What was subscribed to.
    #[serde(default)]
    pub plan: Option<String>,
    /// When it was renewed last, as text.
    #[serde(default)]
    pub renewed: Option<String>,
}

/// How a file writes the end of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndForm {
    /// Milliseconds since 1970.
    Milliseconds,
    /// Seconds since 1970.
    Seconds,
    /// A time as text.
    Text,
    /// Not at all: the token itself says it, or nobody does.
    #[default]
    Jwt,
}

/// The wire of the gateway a login is served on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedWire {
    /// `chat`, `responses` or `messages`.
    pub wire: String,
    /// The URL below which the wire's path is.
    pub base: String,
}

/// How a new token is asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewalRule {
    /// Where.
    pub endpoint: String,
    /// The form of the request's body.
    pub body: RenewalBody,
    /// Who asks, which is public.
    pub client_id: String,
    /// Whether the scopes are repeated.
    #[serde(default)]
    pub scope: bool,
}

/// The form of a renewal's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RenewalBody {
    /// A JSON object.
    Json,
    /// Pairs, as a page's form sends them.
    Form,
}

/// What an agent sees inside a sandbox instead of its login.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceholderRule {
    /// What the placeholder must begin with for the agent to take it for a token.
    #[serde(default)]
    pub prefix: String,
    /// Variables that must not be set beside it.
    #[serde(default)]
    pub without: Vec<String>,
    /// Variables to set.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Files to write below the agent's HOME.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginList {
    login: Vec<KnownLogin>,
}

static LOGINS: LazyLock<Vec<KnownLogin>> =
    LazyLock::new(|| toml::from_str(TEXT).map(|list: LoginList| list.login).unwrap_or_default());

/// All logins that are known.
pub fn known_logins() -> &'static [KnownLogin] {
    &LOGINS
}

/// The login of this name.
pub fn known_login(name: &str) -> Result<&'static KnownLogin, LoginError> {
    let found = LOGINS.iter().find(|login| login.name == name);
    found.ok_or_else(|| LoginError::Rules(format!("there is no login `{name}`")))
}

/// The logins that were made for an agent.
pub fn logins_of(agent: &str) -> impl Iterator<Item = &'static KnownLogin> {
    LOGINS.iter().filter(move |login| login.agent == agent)
}

impl KnownLogin {
    /// Where its file lies; `look_up` reads the environment. Nowhere, without a HOME.
    pub fn path(&self, look_up: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let set = |name: &str| look_up(name).filter(|value| !value.trim().is_empty());
        let named = self.folder_variable.as_deref().and_then(set).map(PathBuf::from);
        let folder = named.or_else(|| Some(Path::new(&set("HOME")?).join(&self.folder)))?;
        Some(folder.join(&self.file))
    }

    /// A text of the list with `{folder}` and `{file}` of this login put in.
    pub(crate) fn fill(text: &str, file: &Path) -> PathBuf {
        let folder = file.parent().unwrap_or(Path::new("/"));
        let rest = |name: &str| text.strip_prefix(name).map(str::to_owned);
        let joined = |base: &Path, rest: String| {
            let mut path = base.as_os_str().to_owned();
            path.push(rest);
            PathBuf::from(path)
        };
        match (rest("{folder}"), rest("{file}")) {
            (Some(rest), _) => joined(folder, rest),
            (_, Some(rest)) => joined(file, rest),
            _ => folder.join(text),
        }
    }

    /// Whether a run can use it.
    pub fn is_usable(&self) -> bool {
        self.why_not.is_none() && self.serves.is_some()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_list_is_well_formed() {
        let list: LoginList = toml::from_str(TEXT).unwrap();
        for (at, login) in list.login.iter().enumerate() {
            let name = &login.name;
            assert!(!list.login[..at].iter().any(|other| other.name == *name), "{name} is there twice");
            assert!(login.is_usable() == login.why_not.is_none(), "{name} serves, or says why it does not");
            assert!(login.fields.access.starts_with('/'), "{name}");
            assert!(!(login.comments && login.renewal.is_some()), "{name}: comments would be lost");
            if let Some(rule) = &login.renewal {
                assert!(rule.endpoint.starts_with("https://"), "{name}");
                assert!(login.fields.refresh.is_some(), "{name}");
            }
            assert!(login.locks.folders.is_empty() || login.locks.stale > 0, "{name}");
            for lock in login.locks.folders.iter().chain(&login.locks.file) {
                assert!(lock.starts_with("{folder}") || lock.starts_with("{file}"), "{name}: {lock}");
            }
        }
        assert!(logins_of("claude-code").count() == 1 && logins_of("pi").count() == 2);
    }

    #[test]
    fn a_file_lies_where_its_agent_looks_for_it() {
        let claude = known_login("claude").unwrap();
        let look_up = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        for (pairs, expect) in [
            (&[("HOME", "/home/user")][..], Some("/home/user/.claude/.credentials.json")),
            (&[("HOME", "/home/user"), ("CLAUDE_CONFIG_DIR", "/c")], Some("/c/.credentials.json")),
            (
                &[("HOME", "/home/user"), ("CLAUDE_CONFIG_DIR", " ")],
                Some("/home/user/.claude/.credentials.json"),
            ),
            (&[], None),
        ] {
            assert_eq!(claude.path(look_up(pairs)).as_deref(), expect.map(Path::new));
        }
        let file = Path::new("/c/.credentials.json");
        let locks: Vec<_> = claude.locks.folders.iter().map(|lock| KnownLogin::fill(lock, file)).collect();
        assert_eq!(locks, [Path::new("/c/.oauth_refresh.lock"), Path::new("/c.lock")]);
        assert!(known_login("nobody").is_err());
    }
}
