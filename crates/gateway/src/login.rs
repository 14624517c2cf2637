//! A login instead of a key: what goes on the requests to a provider changes while the gateway is open.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_login::{Credential, CredentialProvider, LoginError};
use holon_model::{ModelError, ModelErrorKind, ProviderKey};

use crate::key_redactor::HiddenKeys;

/// Who gives the credentials, and everything of them that must not come back.
pub(crate) struct GatewayLogin {
    provider: Arc<dyn CredentialProvider>,
    hidden: Mutex<HiddenValues>,
}

struct HiddenValues {
    values: Vec<ProviderKey>,
    keys: HiddenKeys,
}

impl GatewayLogin {
    /// One beside values that are hidden anyway.
    pub(crate) fn new(provider: Arc<dyn CredentialProvider>, values: Vec<ProviderKey>) -> Self {
        let keys = HiddenKeys::new(values.iter().map(ProviderKey::expose));
        Self { provider, hidden: Mutex::new(HiddenValues { values, keys }) }
    }

    /// What goes on the next request.
    pub(crate) async fn credential(&self) -> Result<Credential, ModelError> {
        self.asked(|provider| provider.credential()).await
    }

    /// What goes on a request that was refused with this credential, when there is anything else.
    pub(crate) async fn after_refusal(&self, refused: Credential) -> Result<Credential, ModelError> {
        self.asked(move |provider| provider.after_refusal(&refused)).await
    }

    /// Everything that must not come back.
    pub(crate) fn keys(&self) -> HiddenKeys {
        self.hidden().keys.clone()
    }

    fn hidden(&self) -> MutexGuard<'_, HiddenValues> {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks where it may take a while: files are read, and a renewal waits for a network.
    async fn asked(
        &self,
        ask: impl FnOnce(&dyn CredentialProvider) -> Result<Credential, LoginError> + Send + 'static,
    ) -> Result<Credential, ModelError> {
        let provider = Arc::clone(&self.provider);
        let refused = |why: String| ModelError::new(ModelErrorKind::Auth, why);
        let asked = tokio::task::spawn_blocking(move || ask(&*provider)).await;
        let credential = asked.map_err(|error| refused(error.to_string()))?;
        let credential = credential.map_err(|error| match error.is_transient() {
            true => ModelError::new(ModelErrorKind::Network, error.to_string()),
            false => refused(error.to_string()),
        })?;
        let mut hidden = self.hidden();
        for secret in credential.secrets() {
            let value = ProviderKey::new(secret.expose());
            if !hidden.values.contains(&value) {
                hidden.values.push(value);
                hidden.keys = HiddenKeys::new(hidden.values.iter().map(ProviderKey::expose));
            }
        }
        Ok(credential)
    }
}

/// Lays a credential over the headers of a request: betas are joined, everything else is replaced.
pub(crate) fn lay_over(headers: &mut Vec<(String, String)>, credential: &Credential) {
    for header in credential.headers() {
        let value = header.value.expose();
        let there = headers.iter_mut().find(|(name, _)| *name == header.name);
        match there {
            Some((name, there)) if name == "anthropic-beta" => {
                if !there.split(',').any(|beta| beta.trim() == value) {
                    *there = format!("{there},{value}");
                }
            }
            Some((_, there)) => value.clone_into(there),
            None => headers.push((header.name.clone(), value.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use holon_login::{Secret, TokenHeader};

    use super::*;

    #[test]
    fn a_credential_is_laid_over_what_is_there() {
        let credential = Credential::new(Secret::new("t"), TokenHeader::Bearer, None)
            .with_header("anthropic-beta", "oauth", false)
            .with_header("originator", "us", false);
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = vec![header("anthropic-beta", "a,b"), header("originator", "them")];
        lay_over(&mut headers, &credential);
        lay_over(&mut headers, &credential);
        let expect = [
            header("anthropic-beta", "a,b,oauth"),
            header("originator", "us"),
            header("authorization", "Bearer t"),
        ];
        assert_eq!(headers, expect);
    }
}
