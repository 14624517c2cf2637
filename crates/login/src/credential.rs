//! What goes on a request, and who gives it.

use std::fmt;

use jiff::Timestamp;

use crate::error::LoginError;
use crate::known_login::KnownLogin;
use crate::login_text::LoginTokens;
use crate::secret::{Secret, SecretMark};

/// Gives credentials for requests to one provider. All of it may take a while: whoever runs on a runtime asks from a thread.
pub trait CredentialProvider: Send + Sync {
    /// What to put on the next request; one that ends soon is renewed first.
    fn credential(&self) -> Result<Credential, LoginError>;

    /// What to put on a request again that was refused with this credential: another one, once. When that is refused as
    /// well, the error says what a person can do.
    fn after_refusal(&self, refused: &Credential) -> Result<Credential, LoginError>;

    /// Where the credentials come from, for a log and a manifest.
    fn source(&self) -> String;
}

/// How a token is put on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenHeader {
    /// `authorization: Bearer …`.
    #[default]
    Bearer,
    /// `x-api-key: …`.
    ApiKey,
}

/// A header of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct CredentialHeader {
    /// Its name, in small letters.
    pub name: String,
    /// Its value.
    pub value: Secret,
    /// Whether the value must never be shown.
    pub is_secret: bool,
}

/// What goes on a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    headers: Vec<CredentialHeader>,
    token: Secret,
    ends: Option<Timestamp>,
}

impl Credential {
    /// A token, put on requests in one way.
    pub fn new(token: Secret, form: TokenHeader, ends: Option<Timestamp>) -> Self {
        let (name, value) = match form {
            TokenHeader::Bearer => ("authorization", Secret::new(&format!("Bearer {}", token.expose()))),
            TokenHeader::ApiKey => ("x-api-key", token.clone()),
        };
        let headers = vec![CredentialHeader { name: name.to_owned(), value, is_secret: true }];
        Self { headers, token, ends }
    }

    /// The same with another header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str, is_secret: bool) -> Self {
        let name = name.to_ascii_lowercase();
        self.headers.retain(|header| header.name != name);
        self.headers.push(CredentialHeader { name, value: Secret::new(value), is_secret });
        self
    }

    /// What a login's tokens amount to.
    pub(crate) fn of_login(login: &KnownLogin, tokens: &LoginTokens) -> Self {
        let plain = Self::new(tokens.access.clone(), TokenHeader::Bearer, tokens.ends);
        login.headers.iter().fold(plain, |credential, (name, value)| {
            match (value.contains("{account}"), &tokens.account) {
                (false, _) => credential.with_header(name, value, false),
                (true, Some(account)) => {
                    credential.with_header(name, &value.replace("{account}", account), true)
                }
                (true, None) => credential,
            }
        })
    }

    /// The headers, with names in small letters.
    pub fn headers(&self) -> &[CredentialHeader] {
        &self.headers
    }

    /// When it ends, where that is known.
    pub fn ends(&self) -> Option<Timestamp> {
        self.ends
    }

    /// Everything in it that must not be shown to anybody.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let values = self.headers.iter().filter(|header| header.is_secret).map(|header| &header.value);
        std::iter::once(&self.token).chain(values)
    }

    /// What tells it from others and gives nothing away.
    pub fn mark(&self) -> SecretMark {
        self.token.mark()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|header| header.name.as_str()).collect();
        f.debug_struct("Credential")
            .field("headers", &names)
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::known_login::known_login;

    fn tokens(account: Option<&str>) -> LoginTokens {
        LoginTokens {
            access: Secret::new("canary"),
            refresh: Some(Secret::new("canary-r")),
            ends: None,
            account: account.map(str::to_owned),
            who: None,
            scopes: vec![],
            plan: None,
        }
    }

    fn shown(credential: &Credential) -> Vec<(&str, &str)> {
        credential.headers().iter().map(|header| (header.name.as_str(), header.value.expose())).collect()
    }

    #[test]
    fn each_login_has_its_headers() {
        let of = |name: &str, account| Credential::of_login(known_login(name).unwrap(), &tokens(account));
        assert_eq!(
            shown(&of("claude", None)),
            [("authorization", "Bearer canary"), ("anthropic-beta", "oauth-2025-04-20")]
        );
        assert_eq!(
            shown(&of("codex", Some("acc-1"))),
            [
                ("authorization", "Bearer canary"),
                ("chatgpt-account-id", "acc-1"),
                ("originator", "codex_exec")
            ]
        );
        assert_eq!(shown(&of("codex", None)).len(), 2);
    }

    #[test]
    fn secrets_are_named_and_not_shown() {
        let credential = Credential::of_login(known_login("codex").unwrap(), &tokens(Some("acc-1")));
        let secrets: Vec<&str> = credential.secrets().map(Secret::expose).collect();
        assert_eq!(secrets, ["canary", "Bearer canary", "acc-1"]);
        let text = format!("{credential:?}");
        assert!(
            !text.contains("canary") && !text.contains("acc-1") && text.contains("authorization"),
            "{text}"
        );
        let key = Credential::new(Secret::new("canary"), TokenHeader::ApiKey, None).with_header(
            "X-Api-Key",
            "b",
            true,
        );
        assert_eq!(shown(&key), [("x-api-key", "b")]);
    }
}
