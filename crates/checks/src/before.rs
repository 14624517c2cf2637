//! The tree before a change, and what its tests say: which data they read and which functions they bring along.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use holon_core::manifest::DefinitionKind;
use regex::Regex;

use crate::definition::RULES;
use crate::reach::is_code;

/// Most files of tests, and of anything else, that are read.
const FILES: usize = 400;
/// Most bytes of each kind that are looked at.
const BYTES: usize = 4 << 20;

/// The tree before a change.
pub struct BaseTree<'b> {
    /// The text of a file, touched or not.
    pub text: &'b dyn Fn(&str) -> Option<String>,
    /// Whether there is a folder.
    pub has_folder: &'b dyn Fn(&str) -> bool,
    /// Paths of its files; a large tree need not tell all.
    pub paths: &'b dyn Fn() -> Vec<String>,
}

/// What the sources of a tree say, read when first asked for.
pub(crate) struct BaseSources<'b> {
    base: &'b BaseTree<'b>,
    read: OnceCell<SourceTexts>,
}

#[derive(Default)]
struct SourceTexts {
    tests: Vec<String>,
    products: Vec<String>,
}

impl<'b> BaseSources<'b> {
    pub(crate) fn of(base: &'b BaseTree<'b>) -> Self {
        Self { base, read: OnceCell::new() }
    }

    fn texts(&self) -> &SourceTexts {
        self.read.get_or_init(|| {
            let mut texts = SourceTexts::default();
            let (mut of_tests, mut of_products) = ((0, 0), (0, 0));
            for path in (self.base.paths)() {
                let of_test = is_test(&path);
                let (list, (files, bytes)) = if of_test {
                    (&mut texts.tests, &mut of_tests)
                } else if is_code(&path) {
                    (&mut texts.products, &mut of_products)
                } else {
                    continue;
                };
                if *files >= FILES || *bytes >= BYTES {
                    continue;
                }
                let Some(text) = (self.base.text)(&path) else { continue };
                *files += 1;
                *bytes += text.len();
                list.push(text);
            }
            texts
        })
    }

    /// Whether tests name a file of data that the product does not name.
    pub(crate) fn is_read_by_tests_alone(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let texts = self.texts();
        texts.tests.iter().any(|text| names_file(text, path, name))
            && !texts.products.iter().any(|text| text.contains(name))
    }

    /// Whether tests take a module in and the product does not.
    pub(crate) fn is_imported_by_tests_alone(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().unwrap_or(name);
        let texts = self.texts();
        !stem.is_empty()
            && texts.tests.iter().any(|text| imports(text, stem))
            && !texts.products.iter().any(|text| imports(text, stem))
    }

    /// Whether tests hold a word.
    pub(crate) fn say(&self, word: &str) -> bool {
        self.texts().tests.iter().any(|text| has_word(text, word))
    }

    /// Whether tests hold a word that the product does not hold.
    pub(crate) fn alone_say(&self, word: &str) -> bool {
        self.say(word) && !self.texts().products.iter().any(|text| has_word(text, word))
    }

    /// Whether the product holds a word.
    pub(crate) fn product_says(&self, word: &str) -> bool {
        self.texts().products.iter().any(|text| has_word(text, word))
    }

    /// Whether any source holds an expression.
    pub(crate) fn any_matches(&self, regex: &Regex) -> bool {
        let SourceTexts { tests, products } = self.texts();
        tests.iter().chain(products).any(|text| regex.is_match(text))
    }

    /// The tests that name a file.
    pub(crate) fn tests_naming<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.texts().tests.iter().map(String::as_str).filter(move |text| text.contains(name))
    }

    /// Whether tests read a script in as their own text.
    pub(crate) fn is_sourced(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.texts().tests.iter().any(|text| sources(text, name))
    }

    /// Functions that tests bring along, where one of them names a file.
    pub(crate) fn functions_of_tests(&self, path: &str) -> BTreeSet<String> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let tests = &self.texts().tests;
        let named = tests.iter().any(|text| text.contains(name));
        tests.iter().filter(|_| named).flat_map(|text| functions(text)).collect()
    }
}

/// Whether a file is a source of tests by its name.
fn is_test(path: &str) -> bool {
    RULES.definition(path).is_some_and(|one| {
        let telling = [DefinitionKind::TestSource, DefinitionKind::CheckScript].contains(&one.kind);
        // Helpers lie among data.
        telling || (one.kind == DefinitionKind::Fixture && is_script(path))
    })
}

fn is_script(path: &str) -> bool {
    is_code(path) || [".sh", ".bash"].iter().any(|end| path.ends_with(end))
}

/// Whether a text holds the name of a file between quotes: the whole of it, or its last part.
fn names_file(text: &str, path: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let ends = text[at + name.len()..].starts_with(['"', '\'', '`']);
        let before = text[..at].rsplit(['"', '\'', '`', '\n', ' ']).next().unwrap_or_default();
        let folder = before.trim_start_matches("./");
        let quoted = text[..at - before.len()].ends_with(['"', '\'', '`']);
        let fits =
            folder.is_empty() || path.ends_with(&format!("{}{name}", folder.trim_start_matches("../")));
        ends && quoted && fits
    })
}

/// Whether a text holds a word, and not as a part of a longer one.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(at, _)| !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside))
}

/// Whether a script reads in a file of a name, or one whose name only a variable tells.
fn sources(text: &str, name: &str) -> bool {
    text.split(['\n', ';', '&', '|']).map(str::trim_start).any(|part| {
        let Some(rest) = [". ", "source ", "load "]
            .iter()
            .find_map(|word| part.trim_start_matches("then ").trim_start_matches("do ").strip_prefix(word))
        else {
            return false;
        };
        let bare = rest.trim().trim_matches('"');
        let variable = bare.starts_with('$') && !bare.contains(['/', ' ', '.']);
        rest.contains(name) || variable
    })
}

/// Words of a line that takes a module in.
pub(crate) const TAKING: [&str; 8] =
    ["import", "from", "require", "require_relative", "use", "include", "load", "source"];

/// Whether a text takes in a module of a name.
fn imports(text: &str, stem: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| TAKING.contains(&word)) && words.any(|word| word == stem)
    })
}

/// Names of functions that a text defines.
pub(crate) fn functions(text: &str) -> impl Iterator<Item = String> {
    static DEFINES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?m)^[ \t]*(?:(?:export\s+|async\s+|static\s+|pub\s+)*(?:function|def|proc|sub|fn|func)\s+([A-Za-z_][\w:]*)|([A-Za-z_]\w*)\s*\(\)\s*\{)").ok()
    });
    let found: Vec<String> = DEFINES
        .as_ref()
        .map(|defines| {
            let name =
                |found: regex::Captures<'_>| found.get(1).or(found.get(2)).map(|m| m.as_str().to_owned());
            defines.captures_iter(text).filter_map(name).collect()
        })
        .unwrap_or_default();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_tests_alone_read_is_known() {
        let text = |path: &str| {
            let text = match path {
                "tests/test_a.py" => "open('share/a.json'), ROOT / 'reference' / 'b.csv', open('own.json')\n",
                "pkg/own.py" => "open('own.json')\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let paths = || vec!["tests/test_a.py".to_owned(), "pkg/own.py".to_owned()];
        let base = BaseTree { text: &text, has_folder: &|_| true, paths: &paths };
        let sources = BaseSources::of(&base);
        assert!(sources.is_read_by_tests_alone("share/a.json"));
        assert!(sources.is_read_by_tests_alone("reference/b.csv"));
        assert!(!sources.is_read_by_tests_alone("other/a.json"), "another folder");
        assert!(!sources.is_read_by_tests_alone("pkg/own.json"), "the product reads it, too");
        assert!(!sources.is_read_by_tests_alone("b.txt"));
    }

    #[test]
    fn functions_by_their_names() {
        let found: Vec<String> =
            functions("same() {\nfunction two($a) {\n  def three(x):\nproc four {n} {\nx = same()\n")
                .collect();
        assert_eq!(found, ["same", "two", "three", "four"]);
    }
}
