//! What an agent sees inside a sandbox instead of its login: variables and files with the run's token in them.

use std::collections::BTreeMap;

use crate::known_login::KnownLogin;

/// What goes into a placeholder; nothing of it is worth anything outside the run.
#[derive(Debug, Clone, Copy)]
pub struct PlaceholderPlaces<'a> {
    /// The gateway's address inside.
    pub gateway: &'a str,
    /// The run's token.
    pub token: &'a str,
    /// The agent's HOME inside.
    pub home: &'a str,
}

/// Variables and files for the inside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoginPlaceholder {
    /// Variables to set.
    pub variables: BTreeMap<String, String>,
    /// Variables that must not be set beside them.
    pub without: Vec<String>,
    /// Files to write below HOME.
    pub files: BTreeMap<String, String>,
}

impl KnownLogin {
    /// What the agent sees instead of this login.
    pub fn placeholder(&self, places: PlaceholderPlaces<'_>) -> LoginPlaceholder {
        let token = self.placeholder_token(places.token);
        let fill = |text: &String| fill(text, &PlaceholderPlaces { token: &token, ..places });
        let all = |pairs: &BTreeMap<String, String>| {
            pairs.iter().map(|(name, text)| (name.clone(), fill(text))).collect()
        };
        let rule = &self.placeholder;
        LoginPlaceholder {
            variables: all(&rule.variables),
            without: rule.without.clone(),
            files: all(&rule.files),
        }
    }

    /// The run's token in a form that the agent takes for one of this login's.
    pub fn placeholder_token(&self, token: &str) -> String {
        format!("{}{token}", self.placeholder.prefix)
    }
}

/// Puts the places in, once and from left to right: what is put in is not looked at again.
fn fill(text: &str, places: &PlaceholderPlaces<'_>) -> String {
    let names = [("{gateway}", places.gateway), ("{token}", places.token), ("{home}", places.home)];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let known = names.iter().find_map(|(name, value)| Some((from.strip_prefix(name)?, *value)));
        let (after, value) = known.unwrap_or_else(|| (from.get(1..).unwrap_or_default(), "{"));
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::known_login::{known_login, known_logins};

    const PLACES: PlaceholderPlaces<'static> =
        PlaceholderPlaces { gateway: "http://127.0.0.1:1", token: "holon-{home}", home: "/h" };

    #[test]
    fn an_agent_sees_the_runs_token_and_the_gateway() {
        let claude = known_login("claude").unwrap().placeholder(PLACES);
        assert_eq!(claude.variables["CLAUDE_CODE_OAUTH_TOKEN"], "sk-ant-oat01-holon-{home}");
        assert_eq!(claude.variables["ANTHROPIC_BASE_URL"], "http://127.0.0.1:1");
        assert!(claude.without.contains(&"ANTHROPIC_API_KEY".to_owned()));
        let codex = known_login("codex").unwrap().placeholder(PLACES);
        assert!(codex.files[".codex/config.toml"].contains("base_url = \"http://127.0.0.1:1/v1\""));
        assert!(!codex.files.contains_key(".codex/auth.json"), "a login inside would be used");
        let config: toml::Table = codex.files[".codex/config.toml"].parse().unwrap();
        assert_eq!(config["model_provider"].as_str(), Some("gateway"));
        let pi = known_login("pi-claude").unwrap().placeholder(PLACES);
        assert!(serde_json::from_str::<serde_json::Value>(&pi.files[".pi/agent/models.json"]).is_ok());
    }

    #[test]
    fn whatever_is_usable_has_a_placeholder_that_leads_to_the_gateway() {
        for login in known_logins().iter().filter(|login| login.is_usable()) {
            let placeholder = login.placeholder(PLACES);
            let texts: Vec<&String> =
                placeholder.variables.values().chain(placeholder.files.values()).collect();
            for part in ["http://127.0.0.1:1", "holon-{home}"] {
                assert!(texts.iter().any(|text| text.contains(part)), "{}: {part}", login.name);
            }
        }
    }
}
