//! The lists that tell a check from what it checks: data, in `rules/checks/named.toml`.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

/// The lists of the file, by its names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedRules {
    pub(super) interpreters: Vec<String>,
    pub(super) config_options: Vec<String>,
    pub(super) script_ends: Vec<String>,
    pub(super) data_ends: Vec<String>,
    pub(super) setting_ends: Vec<String>,
    pub(super) code_ends: Vec<String>,
    pub(super) report_options: Vec<String>,
    pub(super) check_words: Vec<String>,
    pub(super) judge_words: Vec<String>,
    pub(super) setting_words: Vec<String>,
    pub(super) expected_parts: Vec<String>,
    pub(super) case_folders: Vec<String>,
    pub(super) source_folders: Vec<String>,
    pub(super) tool_folders: Vec<String>,
    pub(super) product_modes: String,
    pub(super) checking: Vec<String>,
    comparing: Vec<String>,
    pub(super) judging: Vec<String>,
    pub(super) pair_ends: Vec<String>,
    pub(super) pair_output_ends: Vec<String>,
    pub(super) pair_input_ends: Vec<String>,
    pub(super) free_keys: Vec<String>,
}

const TEXT: &str = include_str!("../../../../rules/checks/named.toml");

/// The lists; the file is sound, which a test holds.
pub(super) static NAMED: LazyLock<NamedRules> = LazyLock::new(|| toml::from_str(TEXT).unwrap_or_default());
static MODES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&NAMED.product_modes).ok());

/// Whether a path ends in one of a list.
pub(super) fn ends(path: &str, list: &[String]) -> bool {
    list.iter().any(|end| path.ends_with(end.as_str()))
}

fn has_word(name: &str, list: &[String]) -> bool {
    let small = name.to_lowercase();
    small.split(|c: char| !c.is_alphanumeric()).any(|word| list.iter().any(|known| known == word))
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    let (above, _) = path.rsplit_once('/').unwrap_or(("", path));
    above.split('/').filter(|part| !part.is_empty())
}

impl NamedRules {
    pub(super) fn is_script(&self, path: &str) -> bool {
        ends(path, &self.script_ends)
    }

    pub(super) fn is_code(&self, path: &str) -> bool {
        ends(path, &self.code_ends)
    }

    pub(super) fn is_data(&self, path: &str) -> bool {
        ends(path, &self.data_ends)
    }

    pub(super) fn is_named_check(&self, path: &str) -> bool {
        has_word(name(path), &self.check_words)
    }

    /// Whether a name is that of something to compare with.
    pub(super) fn is_expected(&self, path: &str) -> bool {
        let small = path.to_lowercase();
        self.expected_parts.iter().any(|part| small.contains(part.as_str()))
    }

    /// Whether a name is that of something a check measures by.
    pub(super) fn is_setting(&self, path: &str) -> bool {
        let stem = name(path).rsplit_once('.').map_or(name(path), |(stem, _)| stem);
        ends(path, &self.setting_ends)
            || (!self.is_code(path) && !self.is_script(path) && has_word(stem, &self.setting_words))
    }

    /// Whether a path with wildcards is one of cases and not one of sources.
    pub(super) fn is_of_cases(&self, glob: &str) -> bool {
        let of_cases = |folder: &str| {
            has_word(folder, &self.check_words) || self.case_folders.iter().any(|c| c == folder)
        };
        folders(glob).any(of_cases)
            || has_word(name(glob), &self.check_words)
            || ends(glob, &self.pair_input_ends)
            || ends(glob, &self.pair_ends)
    }

    pub(super) fn is_interpreter(&self, program: &str) -> bool {
        self.interpreters.iter().any(|known| known == name(program))
    }

    /// Whether a script that a command line runs is the check, and not what is checked. `text` is what it holds.
    pub(super) fn is_the_check(&self, path: &str, line: &str, text: &str) -> bool {
        let plain = !name(path).contains('.');
        if self.is_script(path) || plain || self.is_named_check(path) {
            return true;
        }
        let of_product = folders(path).any(|folder| self.source_folders.iter().any(|f| f == folder))
            || MODES.as_ref().is_some_and(|modes| modes.is_match(line));
        !of_product && (has_word(path, &self.judge_words) || self.judges(text))
    }

    /// The same for one that is run by something the command runs: those run the product, too.
    pub(super) fn is_tool(&self, path: &str, text: &str) -> bool {
        let named = has_word(name(path), &self.judge_words);
        let placed = folders(path).any(|folder| self.tool_folders.iter().any(|f| f == folder));
        (named || placed) && self.judges(text)
    }

    fn judges(&self, text: &str) -> bool {
        self.judging.iter().any(|word| text.contains(word.as_str()))
    }

    pub(super) fn is_checking(&self, text: &str) -> bool {
        self.checking.iter().any(|word| text.contains(word.as_str()))
    }

    /// Whether a script compares, in whatever words.
    pub(super) fn is_comparing(&self, path: &str, text: &str) -> bool {
        self.is_script(path) && self.comparing.iter().any(|word| text.contains(word.as_str()))
    }

    /// Whether an option is followed by a file that tells a runner what to do.
    pub(super) fn is_config_option(&self, word: &str) -> bool {
        self.config_options.iter().any(|option| option == word)
    }

    /// Whether a file can be half of a golden pair: programs that lie beside what they shall print are what is checked.
    pub(super) fn may_be_half(&self, path: &str) -> bool {
        let program = self.is_code(path) || self.is_script(path) || !name(path).contains('.');
        !program || folders(path).any(|folder| self.case_folders.iter().any(|known| known == folder))
    }

    /// Names that the partner of a golden pair could have.
    pub(super) fn partners(&self, path: &str) -> Vec<String> {
        let file = name(path);
        let Some((stem, _)) = path.rsplit_once('.').filter(|_| file.contains('.')) else {
            return self.pair_ends.iter().map(|end| format!("{path}{end}")).collect();
        };
        let input = ends(path, &self.pair_input_ends);
        let outputs = self.pair_output_ends.iter().filter(|_| input);
        let output = ends(path, &self.pair_output_ends) || ends(path, &self.pair_ends);
        let inputs = self.pair_input_ends.iter().filter(|_| output);
        let ends = self.pair_ends.iter().chain(outputs).chain(inputs);
        let of_stem = ends.map(|end| format!("{stem}{end}"));
        of_stem
            .chain(self.pair_ends.iter().map(|end| format!("{path}{end}")))
            .filter(|other| other != path)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_lists_are_sound() {
        let rules: NamedRules = toml::from_str(TEXT).unwrap();
        assert!(!rules.interpreters.is_empty() && Regex::new(&rules.product_modes).is_ok());
        assert!(
            rules.is_setting("limits.json") && rules.is_setting(".env") && !rules.is_setting("src/list.py")
        );
        assert!(rules.partners("cases/a.in").contains(&"cases/a.expected".to_owned()));
        assert!(rules.partners("cases/a.out").contains(&"cases/a.in".to_owned()));
        assert!(!rules.partners("src/a.c").contains(&"src/a.out".to_owned()));
    }
}
