//! Words of commands and outputs, as data.

use std::sync::LazyLock;

use serde::Deserialize;

/// See `rules/supervisor/outputs.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputWords {
    pub(crate) wrong: Vec<String>,
    pub(crate) well: Vec<String>,
    pub(crate) ends: Vec<String>,
    pub(crate) looking: Vec<String>,
    pub(crate) called: Vec<String>,
    pub(crate) waiting: Vec<String>,
}

pub(crate) static OUTPUTS: LazyLock<OutputWords> = LazyLock::new(|| {
    // A test reads it, so that a slip there is no slip here.
    toml::from_str(include_str!("../../../rules/supervisor/outputs.toml")).unwrap_or_default()
});

/// Whether a word is in a list.
pub(crate) fn is_among(list: &[String], word: &str) -> bool {
    list.iter().any(|own| own == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_read() {
        let words = &*OUTPUTS;
        let lists = [&words.wrong, &words.well, &words.ends, &words.looking, &words.called, &words.waiting];
        assert!(lists.iter().all(|list| !list.is_empty()));
        let lower = |word: &&String| **word != word.to_lowercase();
        assert_eq!(lists.iter().flat_map(|list| list.iter()).find(lower), None);
    }
}
