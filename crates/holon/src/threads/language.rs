//! The language a person reads, by the usual variables.

use std::ffi::OsString;

/// What to ask the server for: Chinese where the locale says so, else English.
pub(super) fn wanted(env: &dyn Fn(&str) -> Option<OsString>) -> &'static str {
    let set = |name: &&str| env(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set).unwrap_or_default();
    if locale.to_string_lossy().starts_with("zh") { "zh" } else { "en" }
}

#[cfg(test)]
mod tests {
    use super::*;

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
