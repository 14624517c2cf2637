//! The words by which a reply tells what the blocks in it are for; they are data.

use std::sync::LazyLock;

use serde::Deserialize;

/// The words, by what they are said of.
pub(super) static WORDS: LazyLock<ReplyWords> =
    LazyLock::new(|| toml::from_str(include_str!("../../../../rules/replies.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
pub(super) struct ReplyWords {
    pub(super) commands: CommandWords,
    pub(super) files: FileWords,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandWords {
    pub(super) advice: Vec<String>,
    pub(super) past: Vec<String>,
    pub(super) now: Vec<String>,
    pub(super) not_now: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileWords {
    pub(super) whole: Vec<String>,
    pub(super) part: Vec<String>,
    pub(super) left_out: Vec<String>,
}

/// Whether a text, in lower case, has one of these in it.
pub(super) fn says(text: &str, words: &[String]) -> bool {
    words.iter().any(|word| text.contains(word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_words() {
        let (commands, files) = (&WORDS.commands, &WORDS.files);
        let lists = [&commands.advice, &commands.past, &commands.now, &commands.not_now];
        let lists = lists.into_iter().chain([&files.whole, &files.part, &files.left_out]);
        assert!(
            lists
                .into_iter()
                .all(|list| !list.is_empty() && list.iter().all(|word| *word == word.to_lowercase()))
        );
    }
}
