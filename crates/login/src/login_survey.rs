//! What logins there are, whose, and until when: without a secret, and without asking anybody.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::credential_choice::LoginOffer;
use crate::error::LoginError;
use crate::known_login::{KnownLogin, known_logins};
use crate::login_file::LoginFile;
use crate::login_text::LoginTokens;

/// How it stands with a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginStanding {
    /// There is none.
    Absent,
    /// A request can be made with it, after a renewal if need be.
    Ready,
    /// It has ended and only the agent itself can renew it.
    Ended,
    /// Its file cannot be used as it is.
    Unfit,
}

/// What there is to say about a login.
#[derive(Debug, Clone, Serialize)]
pub struct LoginReport {
    /// Its name in the list.
    pub name: String,
    /// The agent it was made for, which alone may use it.
    pub agent: String,
    /// Whose account it is.
    pub title: String,
    /// The provider that serves it.
    pub provider: String,
    /// Where it is: a file, or a variable.
    pub from: String,
    /// How it stands with it.
    pub standing: LoginStanding,
    /// Who logged in, where the file says it.
    pub who: Option<String>,
    /// What was subscribed to.
    pub plan: Option<String>,
    /// When its token ends.
    pub ends: Option<Timestamp>,
    /// Whether it is renewed here when it ends.
    pub renewed_here: bool,
    /// Whether a run can use it.
    pub usable: bool,
    /// What is wrong with it, or why no run can use it.
    pub problem: Option<String>,
    /// The agent's own command that makes a login.
    pub log_in: String,
}

impl LoginReport {
    /// Whether somebody logged in and would expect it to work.
    pub fn is_there(&self) -> bool {
        self.standing != LoginStanding::Absent
    }

    /// The same for a choice.
    pub fn offer(&self) -> LoginOffer {
        let problem = self.problem.clone().filter(|_| !self.usable);
        LoginOffer { name: self.name.clone(), title: self.title.clone(), agent: self.agent.clone(), problem }
    }
}

/// Looks at all logins that are known; `look_up` reads the environment.
pub fn survey(look_up: impl Fn(&str) -> Option<String>, now: Timestamp) -> Vec<LoginReport> {
    known_logins().iter().map(|login| report(login, &look_up, now)).collect()
}

fn report(login: &KnownLogin, look_up: impl Fn(&str) -> Option<String>, now: Timestamp) -> LoginReport {
    let set = |name: &String| look_up(name).is_some_and(|value| !value.trim().is_empty());
    let variable = login.variable.as_ref().filter(|name| set(name));
    let from = match (variable, login.path(&look_up)) {
        (Some(variable), _) => variable.clone(),
        (None, Some(path)) => path.display().to_string(),
        (None, None) => login.file.clone(),
    };
    let mut report = LoginReport {
        name: login.name.clone(),
        agent: login.agent.clone(),
        title: login.title.clone(),
        provider: login.provider.clone(),
        from,
        standing: LoginStanding::Absent,
        who: None,
        plan: None,
        ends: None,
        renewed_here: false,
        usable: false,
        problem: None,
        log_in: login.log_in.clone(),
    };
    if variable.is_some() {
        report.standing = LoginStanding::Ready;
    } else if let Some(path) = login.path(&look_up) {
        match read(login, &path) {
            Ok(tokens) => report.told(login, tokens, now),
            Err(LoginError::Missing { .. } | LoginError::LoggedOut { .. }) => {}
            Err(error) => {
                report.standing = LoginStanding::Unfit;
                report.problem = Some(error.to_string());
            }
        }
    }
    report.usable = report.standing == LoginStanding::Ready && login.is_usable();
    report.problem = report.problem.or_else(|| login.why_not.clone());
    report
}

impl LoginReport {
    fn told(&mut self, login: &KnownLogin, tokens: LoginTokens, now: Timestamp) {
        self.renewed_here = login.renewal.is_some() && tokens.refresh.is_some();
        let lost = tokens.has_ended(now) && !self.renewed_here;
        self.standing = if lost { LoginStanding::Ended } else { LoginStanding::Ready };
        if lost {
            self.problem = Some(format!("it has ended: log in again with `{}`", login.log_in));
        }
        (self.who, self.plan, self.ends) = (tokens.who, tokens.plan, tokens.ends);
    }
}

/// The file a login is in, unless it cannot be believed.
fn read(login: &KnownLogin, path: &Path) -> Result<LoginTokens, LoginError> {
    LoginFile::read(login, path)?.tokens(login)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn put(home: &Path, file: &str, text: &str, mode: u32) {
        let path = home.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn each_login_is_told_without_a_secret() {
        let home = tempfile::tempdir().unwrap();
        // {"email":"me@example.com"}
        let id = "e30.eyJlbWFpbCI6Im1lQGV4YW1wbGUuY29tIn0.canary";
        put(
            home.path(),
            ".claude/.credentials.json",
            r#"{"claudeAiOauth":{"accessToken":"canary","refreshToken":"canary","expiresAt":1000,"subscriptionType":"max"}}"#,
            0o600,
        );
        put(
            home.path(),
            ".codex/auth.json",
            &format!(r#"{{"tokens":{{"access_token":"canary","id_token":"{id}","account_id":"a"}}}}"#),
            0o644,
        );
        put(
            home.path(),
            ".gemini/oauth_creds.json",
            r#"{"access_token":"canary","expiry_date":1000}"#,
            0o600,
        );
        put(
            home.path(),
            ".config/goose/chatgpt_codex/tokens.json",
            &format!(r#"{{"access_token":"canary","id_token":"{id}"}}"#),
            0o600,
        );
        put(home.path(), ".cline/data/settings/providers.json", "{\"canary", 0o600);
        let place = home.path().to_string_lossy().into_owned();
        let env = |name: &str| match name {
            "HOME" => Some(place.clone()),
            "KILO_API_KEY" => Some("canary".to_owned()),
            _ => None,
        };
        let reports = survey(env, Timestamp::from_second(1_800_000_000).unwrap());
        let of = |name: &str| reports.iter().find(|report| report.name == name).unwrap();
        for (name, standing, usable, words) in [
            ("claude", LoginStanding::Ready, true, ""),
            ("codex", LoginStanding::Unfit, false, "chmod 600"),
            ("gemini", LoginStanding::Ended, false, "log in again with `gemini, then /auth`"),
            ("goose", LoginStanding::Ready, false, "cannot be led to the gateway"),
            ("cline", LoginStanding::Unfit, false, "ends in the middle"),
            ("kilo", LoginStanding::Ready, false, "paths that the gateway does not have"),
            ("opencode", LoginStanding::Absent, false, "cannot be led"),
        ] {
            let report = of(name);
            assert_eq!((report.standing, report.usable), (standing, usable), "{name}");
            assert!(
                report.problem.as_deref().unwrap_or_default().contains(words),
                "{name}: {:?}",
                report.problem
            );
            assert_eq!(report.offer().problem.is_none(), usable, "{name}");
        }
        assert_eq!((of("claude").plan.as_deref(), of("claude").renewed_here), (Some("max"), true));
        assert_eq!(of("goose").who.as_deref(), Some("me@example.com"));
        assert_eq!(of("kilo").from, "KILO_API_KEY");
        let json = serde_json::to_string(&reports).unwrap();
        assert!(!json.contains("canary") && !format!("{reports:?}").contains("canary"), "{json}");
    }
}
