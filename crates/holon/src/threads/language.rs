//! The language a person reads, by the usual variables.

use std::ffi::OsString;

/// What to ask the server for: Chinese where the locale says so, else English.
pub(super) fn wanted(env: &dyn Fn(&str) -> Option<OsString>) -> &'static str {
    let set = |name: &&str| env(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set).unwrap_or_default();
    if locale.to_string_lossy().starts_with("zh") { "zh" } else { "en" }
}

/// What a server says that starts after one that was killed; it cannot know who will read it.
const INTERRUPTED: &str = "the server ended during this turn; nothing that was stored is lost";

/// The words of an error: the stored ones, or the same in the language of whoever reads them now.
pub(crate) fn own_words<'a>(code: &str, stored: &'a str) -> &'a str {
    in_language(wanted(&crate::session::variable), code, stored)
}

fn in_language<'a>(language: &str, code: &str, stored: &'a str) -> &'a str {
    if code == "interrupted" && language == "en" { INTERRUPTED } else { stored }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_in_another_language_is_told_in_the_readers() {
        assert_eq!(in_language("en", "interrupted", "服务器停止"), INTERRUPTED);
        assert_eq!(in_language("zh", "interrupted", "服务器停止"), "服务器停止");
        assert_eq!(in_language("en", "model", "no key"), "no key");
    }

    #[test]
    fn the_strongest_variable_counts() {
        let check = |set: &[(&str, &str)], expect| {
            let env = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            assert_eq!(wanted(&env), expect, "{set:?}");
        };
        check(&[], "en");
        check(&[("LANG", "zh_CN.UTF-8")], "zh");
        check(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")], "en");
        check(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "")], "en");
        check(&[("LC_MESSAGES", "zh_TW"), ("LANG", "en_US")], "zh");
    }
}
