//! What a goal names: files, steps, and the area they lie in.

use crate::key::clip_path;

/// Longest path kept.
pub(crate) const PATH: usize = 120;
/// Most named paths kept.
const PATHS: usize = 32;

/// The paths a text names, in order, each once.
pub fn named_paths(text: &str) -> Vec<String> {
    let separators = |c: char| c.is_whitespace() || "`'\"()[]{}<>,;|=".contains(c);
    let mut found: Vec<String> = Vec::new();
    for word in text.split(separators) {
        let word = word.trim_end_matches(['.', ':', '!', '?', '*']).trim_start_matches("./");
        // A place in a file names the file.
        let word = word.split(':').next().unwrap_or(word);
        if is_path(word) && found.len() < PATHS && !found.iter().any(|seen| seen == word) {
            found.push(clip_path(word, PATH));
        }
    }
    found
}

fn is_path(word: &str) -> bool {
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    let plain = word.chars().all(|c| c.is_alphanumeric() || "/._-+@*".contains(c));
    let any_letter = word.chars().any(char::is_alphabetic);
    if !plain || !any_letter || word.starts_with('/') || word.contains("//") || word.contains("..") {
        return false;
    }
    let extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let known_shape = (1..=5).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic());
        known_shape && !stem.is_empty() && !["e.g", "i.e"].contains(&name)
    });
    let well_known = ["Makefile", "Dockerfile", "LICENSE", "README"].contains(&name);
    let folder =
        word.contains('/') && !name.is_empty() && (word.ends_with('/') || word.matches('/').count() >= 2);
    extension || well_known || folder
}

/// How many steps a text lists, as bullets or numbers.
pub fn named_steps(text: &str) -> u32 {
    let is_step = |line: &str| {
        let line = line.trim_start();
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let numbered =
            digits > 0 && line[digits..].starts_with(['.', ')']) && line[digits + 1..].starts_with(' ');
        numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
    };
    text.lines().filter(|line| is_step(line)).count().try_into().unwrap_or(u32::MAX)
}

/// Whether a name is that of a file and not of a folder.
pub(crate) fn is_file(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|last| last.contains('.'))
}

/// Whether a path is one of the named ones, or lies in a named folder.
pub fn is_named(path: &str, named: &[String]) -> bool {
    named.iter().any(|name| {
        let folder = name.trim_end_matches('/');
        path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Whether a path lies in the area of the named ones: named itself, or beside a named file.
pub fn is_in_area(path: &str, named: &[String]) -> bool {
    let folder_of = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    is_named(path, named)
        || named.iter().any(|name| {
            let folder = folder_of(name);
            let own = folder_of(path);
            own == folder || (!folder.is_empty() && own.starts_with(&format!("{folder}/")))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_found_in_prose() {
        let check = |text: &str, expect: &[&str]| assert_eq!(named_paths(text), expect, "{text}");
        check("Fix `src/a.rs` and ./b.py, please.", &["src/a.rs", "b.py"]);
        check("see src/a.rs:10:5, src/a.rs", &["src/a.rs"]);
        check("touch crates/core/src and docs/", &["crates/core/src", "docs/"]);
        check("Makefile and README", &["Makefile", "README"]);
        check("version 1.2, e.g. 3.5; and/or; https://x.org/a.html /etc/passwd ../x.rs", &[]);
        check("", &[]);
    }

    #[test]
    fn steps_are_counted() {
        let check = |text: &str, expect: u32| assert_eq!(named_steps(text), expect, "{text}");
        check("do\n1. a\n2) b\n - c\n", 3);
        check("1.5 is no step\n-neither", 0);
    }

    #[test]
    fn areas_are_folders_of_named_files() {
        let check = |path: &str, named: &[&str], is: bool, area: bool| {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            assert_eq!((is_named(path, &named), is_in_area(path, &named)), (is, area), "{path}");
        };
        check("src/a.rs", &["src/a.rs"], true, true);
        check("src/b.rs", &["src/a.rs"], false, true);
        check("src/x/b.rs", &["src/a.rs"], false, true);
        check("srcs/b.rs", &["src/a.rs"], false, false);
        check("docs/a.md", &["docs/"], true, true);
        check("docsy/a.md", &["docs/"], false, false);
        check("b.rs", &["a.rs"], false, true);
        check("x/b.rs", &["a.rs"], false, false);
        check("x/b.rs", &[], false, false);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,200}|[-a-z0-9./: \n]{0,200}") {
            prop_assert!(named_paths(&text).len() <= PATHS);
            let _ = named_steps(&text);
        }
    }
}
