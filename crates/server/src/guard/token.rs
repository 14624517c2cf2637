//! Tokens name users; comparing them takes the same time whatever is wrong with them.

use holon_core::digest::sha256;

/// Who has which token, by digest.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessTokens {
    known: Vec<(String, String)>,
}

impl AccessTokens {
    pub(crate) fn new(tokens: &[(String, String)]) -> Self {
        Self { known: tokens.iter().map(|(user, token)| (user.clone(), sha256(token.as_bytes()))).collect() }
    }

    /// The user a request comes from, by its `Authorization` header.
    pub(crate) fn user(&self, authorization: Option<&str>) -> Option<String> {
        let given = authorization?;
        let (scheme, token) = given.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        self.owner(token.trim())
    }

    /// The user whose token it is.
    pub(crate) fn owner(&self, token: &str) -> Option<String> {
        let digest = sha256(token.as_bytes());
        // All are compared, each whole.
        let mut found = None;
        for (user, known) in &self.known {
            if same(known.as_bytes(), digest.as_bytes()) {
                found = Some(user.clone());
            }
        }
        found
    }
}

fn same(one: &[u8], other: &[u8]) -> bool {
    let differs = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_users_name() {
        let tokens = AccessTokens::new(&[("ann".into(), "one".into()), ("bob".into(), "two".into())]);
        let check = |header: Option<&str>, expect: Option<&str>| {
            assert_eq!(tokens.user(header).as_deref(), expect, "{header:?}");
        };
        check(Some("Bearer one"), Some("ann"));
        check(Some("bearer two"), Some("bob"));
        check(Some("Bearer three"), None);
        check(Some("Basic one"), None);
        check(Some("one"), None);
        check(Some("Bearer "), None);
        check(None, None);
        assert_eq!(
            AccessTokens::default().user(Some("Bearer ")),
            None,
            "nobody comes in where nobody is known"
        );
    }
}
