//! A credential that cannot be printed by accident.

use std::fmt;

use crate::error::ModelError;

/// A provider's key. It has no `Display`, and `Debug` shows only that it is there.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(String);

impl ProviderKey {
    /// Holds a key; white space around it is dropped.
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// The key a variable of the environment holds; `look_up` reads the environment.
    pub fn from_env(
        variable: &str,
        provider: &str,
        look_up: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        match look_up(variable).map(|value| Self::new(&value)) {
            Some(key) if !key.0.is_empty() => Ok(key),
            _ => Err(ModelError::missing_key(variable, provider)),
        }
    }

    /// The value itself, for a header or a redactor and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_never_prints() {
        let key = ProviderKey::from_env("K", "Somebody", |_| Some(" s3cret-value\n".into())).unwrap();
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "Key(…) Some(Key(…))");
        assert_eq!(key.expose(), "s3cret-value");
    }

    #[test]
    fn a_missing_or_empty_key_names_its_variable() {
        for value in [None, Some(String::new()), Some("  ".to_owned())] {
            let error = ProviderKey::from_env("SOME_API_KEY", "Somebody", |_| value.clone()).unwrap_err();
            assert!(error.to_string().contains("SOME_API_KEY"), "{error}");
        }
    }
}
