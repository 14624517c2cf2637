//! Finding and leaving out secrets in small settings files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::{Table, Value};

/// Larger settings are not looked through but hidden.
const LARGEST: u64 = 256 << 10;
/// A key with one of these in its name holds a secret.
const KEYS: &[&str] =
    &["token", "secret", "password", "passwd", "api-key", "apikey", "access-key", "private-key"];

/// The whole file, if it is small text.
pub(super) fn read_small(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(LARGEST + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= LARGEST).then_some(text)
}

/// Whether one of `words` is in the file; a file that cannot be looked through counts as holding them all.
pub(super) fn holds(path: &Path, words: &[String]) -> bool {
    read_small(path).is_none_or(|text| words.iter().any(|word| text.contains(word.as_str())))
}

/// TOML settings without their secrets, and whether there were any; `None` if it is not TOML.
pub(super) fn without_secrets(text: &str) -> Option<(String, bool)> {
    let mut table: Table = toml::from_str(text).ok()?;
    if !clean_table(&mut table) {
        return Some((text.to_owned(), false));
    }
    Some((toml::to_string(&table).ok()?, true))
}

fn clean_table(table: &mut Table) -> bool {
    let before = table.len();
    // A table may just be called so; one with a value is a variable written the long way.
    let is_named = |value: &Value| value.as_table().is_some_and(|inner| !inner.contains_key("value"));
    table.retain(|key, value| !is_secret_key(key) || is_named(value));
    let mut changed = table.len() != before;
    for (_, value) in table.iter_mut() {
        changed |= clean(value);
    }
    changed
}

fn clean(value: &mut Value) -> bool {
    match value {
        Value::Table(table) => clean_table(table),
        Value::Array(values) => values.iter_mut().fold(false, |changed, v| clean(v) | changed),
        Value::String(text) => match without_login(text) {
            Some(clean) => {
                *text = clean;
                true
            }
            None => false,
        },
        _ => false,
    }
}

fn is_secret_key(key: &str) -> bool {
    let key = key.to_lowercase().replace('_', "-");
    KEYS.iter().any(|word| key.contains(word))
}

/// `scheme://user:password@host/…` without its login; `None` if it has none.
fn without_login(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (login, _) = authority.rsplit_once('@')?;
    // `git@host` names an account everyone shares and no password.
    if scheme.ends_with("ssh") && !login.contains(':') {
        return None;
    }
    Some(format!("{scheme}://{}", &rest[login.len() + 1..]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_go_and_settings_stay() {
        let text = r#"
[registries.mine]
index = "sparse+https://bob:canary@host.example/index/"
token = "canary"
[source.crates-io]
replace-with = "mirror"
[source.mirror]
registry = "ssh://git@host.example/index"
[registry]
global-credential-providers = ["cargo:libsecret"]
[env]
SERVICE_API_KEY = "canary"
DEPLOY_TOKEN = { value = "canary", force = true }
RUST_LOG = "debug"
"#;
        let (clean, changed) = without_secrets(text).unwrap();
        assert!(changed);
        assert!(!clean.contains("canary"), "{clean}");
        for kept in
            ["sparse+https://host.example/index/", "git@host.example", "mirror", "libsecret", "RUST_LOG"]
        {
            assert!(clean.contains(kept), "{kept} is missing in {clean}");
        }
    }

    #[test]
    fn what_holds_no_secret_stays_as_it_is() {
        let text = "# comment\n[build]\njobs = 4\n";
        assert_eq!(without_secrets(text), Some((text.to_owned(), false)));
        assert_eq!(without_secrets("not = = toml"), None);
    }

    #[test]
    fn logins_are_cut_out_of_addresses() {
        for (text, expect) in [
            ("https://u:p@h/x", Some("https://h/x")),
            ("https://ghp_x@h", Some("https://h")),
            ("http://a@b@h:80/x@y", Some("http://h:80/x@y")),
            ("https://h/x@y", None),
            ("ssh://git@h/x", None),
            ("ssh://git:p@h/x", Some("ssh://h/x")),
            ("no address at all", None),
        ] {
            assert_eq!(without_login(text).as_deref(), expect, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_cleaning_is_final(text in "\\PC*", key in "[a-z]{1,8}", value in "[a-z]{1,6}://[^\"\\\\\\p{C}]*") {
            let _ = without_secrets(&text);
            if let Some((clean, true)) = without_secrets(&format!("{key} = \"{value}\"\n{key}_token = \"x\"\n")) {
                let parsed: Table = toml::from_str(&clean).unwrap();
                prop_assert!(parsed.keys().all(|k| !is_secret_key(k)));
            }
        }
    }
}
