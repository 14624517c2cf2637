//! Credentials that nobody renews: keys and tokens in variables.

use crate::credential::{Credential, CredentialProvider, TokenHeader};
use crate::error::LoginError;
use crate::known_login::KnownLogin;
use crate::login_text::LoginTokens;
use crate::secret::Secret;

/// A credential from a variable.
#[derive(Debug, Clone)]
pub struct FixedCredential {
    credential: Credential,
    variable: String,
    remedy: String,
}

impl FixedCredential {
    /// The key a variable holds; `look_up` reads the environment.
    pub fn key(
        variable: &str,
        form: TokenHeader,
        look_up: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, LoginError> {
        let credential = Credential::new(value(variable, look_up)?, form, None);
        let remedy = format!("set {variable} to a key that is valid");
        Ok(Self { credential, variable: variable.to_owned(), remedy })
    }

    /// The token of a login that a variable holds instead of the agent's file.
    pub fn token(login: &KnownLogin, look_up: impl Fn(&str) -> Option<String>) -> Result<Self, LoginError> {
        let variable = login.variable.clone().unwrap_or_default();
        let access = value(&variable, look_up)?;
        let (account, who, scopes, plan) = (None, None, Vec::new(), None);
        let tokens = LoginTokens { access, refresh: None, ends: None, account, who, scopes, plan };
        let made = login.variable_log_in.as_ref().unwrap_or(&login.log_in);
        let remedy = format!("make a new one with `{made}`");
        Ok(Self { credential: Credential::of_login(login, &tokens), variable, remedy })
    }
}

impl CredentialProvider for FixedCredential {
    fn credential(&self) -> Result<Credential, LoginError> {
        Ok(self.credential.clone())
    }

    fn after_refusal(&self, _: &Credential) -> Result<Credential, LoginError> {
        Err(LoginError::Refused { from: self.source(), remedy: self.remedy.clone() })
    }

    fn source(&self) -> String {
        format!("what is in {}", self.variable)
    }
}

fn value(variable: &str, look_up: impl Fn(&str) -> Option<String>) -> Result<Secret, LoginError> {
    let value = look_up(variable).map(|value| Secret::new(&value)).filter(|value| !value.is_blank());
    value.ok_or_else(|| LoginError::Unset { variable: variable.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::known_login::known_login;

    #[test]
    fn a_variable_serves_until_it_is_refused() {
        let set = |_: &str| Some(" canary\n".to_owned());
        let key = FixedCredential::key("SOME_API_KEY", TokenHeader::ApiKey, set).unwrap();
        let credential = key.credential().unwrap();
        assert_eq!(credential.headers()[0].value.expose(), "canary");
        let error = key.after_refusal(&credential).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the provider refuses what is in SOME_API_KEY: set SOME_API_KEY to a key that is valid"
        );
        let token = FixedCredential::token(known_login("claude").unwrap(), set).unwrap();
        let credential = token.credential().unwrap();
        assert_eq!(credential.headers().len(), 2);
        let error = token.after_refusal(&credential).unwrap_err();
        assert!(error.is_refusal() && error.to_string().ends_with("`claude setup-token`"), "{error}");
        assert!(!format!("{token:?}{key:?}").contains("canary"));
        for unset in [None, Some(String::new()), Some(" ".to_owned())] {
            let error =
                FixedCredential::key("SOME_API_KEY", TokenHeader::Bearer, |_| unset.clone()).unwrap_err();
            assert!(error.to_string().contains("SOME_API_KEY is not set"));
        }
    }
}
