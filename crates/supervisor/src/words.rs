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
    documents: Vec<String>,
    new_documents: Vec<String>,
    build_files: Vec<String>,
}

pub(crate) static OUTPUTS: LazyLock<OutputWords> = LazyLock::new(|| {
    // A test reads it, so that a slip there is no slip here.
    toml::from_str(include_str!("../../../rules/supervisor/outputs.toml")).unwrap_or_default()
});

/// Whether a word is in a list.
pub(crate) fn is_among(list: &[String], word: &str) -> bool {
    list.iter().any(|own| own == word)
}

/// Whether a command only looks at something.
pub(crate) fn is_looking(line: &str) -> bool {
    let program = line.split_whitespace().next().unwrap_or_default();
    is_among(&OUTPUTS.looking, program.rsplit('/').next().unwrap_or(program))
}

/// Whether a file holds text for people, by its name.
pub(crate) fn is_document(path: &str, is_new: bool) -> bool {
    let path = path.to_lowercase();
    let new = OUTPUTS.new_documents.iter().filter(|_| is_new);
    OUTPUTS.documents.iter().chain(new).any(|end| path.ends_with(end.as_str()))
}

/// Whether a file says how things are built and checked.
pub(crate) fn is_build_file(path: &str) -> bool {
    let path = path.to_lowercase();
    is_among(&OUTPUTS.build_files, path.rsplit('/').next().unwrap_or(&path))
}

/// Whether a file is called as a check is.
pub(crate) fn is_called_check(text: &str) -> bool {
    let text = text.to_lowercase();
    OUTPUTS.called.iter().any(|part| text.contains(part.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_read() {
        let words = &*OUTPUTS;
        let lists = [
            &words.wrong,
            &words.well,
            &words.ends,
            &words.looking,
            &words.called,
            &words.waiting,
            &words.documents,
            &words.new_documents,
            &words.build_files,
        ];
        assert!(lists.iter().all(|list| !list.is_empty()));
        let lower = |word: &&String| **word != word.to_lowercase();
        assert_eq!(lists.iter().flat_map(|list| list.iter()).find(lower), None);
    }
}
