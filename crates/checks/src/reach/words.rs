//! Words of command lines and scripts that could be names of files.

use std::collections::BTreeSet;

use super::rules::NAMED;

/// The files a command line or script starts or gives to an interpreter, each with the command it is in.
pub(super) fn invoked(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in text.split(['\n', ';', '|', '&', '(', ')', '`', '"']) {
        let words: Vec<&str> = part
            .split_whitespace()
            .skip_while(|word| (word.contains('=') && !word.starts_with('-')) || is_keyword(word))
            .collect();
        let Some((first, rest)) = words.split_first() else { continue };
        let first = first.trim_start_matches(['@', '-', '+']);
        let path = if NAMED.is_interpreter(first) {
            // A module, or a text that is a program, is no file.
            let is_program = rest.iter().any(|word| ["-m", "-c", "-e"].contains(word));
            rest.iter()
                .find(|word| !word.starts_with('-'))
                .filter(|_| !is_program)
                .and_then(|word| clean(word))
        } else if first.contains('/') {
            clean(first)
        } else {
            None
        };
        found.extend(path.map(|path| (path, part.trim().to_owned())));
    }
    found
}

fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 15] = [
        "if", "then", "else", "do", "while", "until", "time", "env", "exec", "!", "command", "nice", "xargs",
        "sudo", "timeout",
    ];
    KEYWORDS.contains(&word)
}

/// Files that options of a command name: `-f rules.mk`, `--config=ci.json`.
pub(super) fn configurations(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut before: Option<&str> = None;
    let makes = command.split_whitespace().any(|word| word == "make" || word == "gmake");
    for word in command.split_whitespace() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => (Some(option), value),
            _ => (before, word),
        };
        let told = option.is_some_and(|option| NAMED.is_config_option(option));
        // `cc -c main.c` names what is checked.
        let fits =
            |path: &String| !NAMED.is_code(path) || (makes && option == Some("-f")) || path.contains("conf");
        found.extend(clean(value).filter(|_| told).filter(fits));
        before = Some(word);
    }
    found
}

/// What make is asked for.
pub(super) fn targets(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in command.split(['\n', ';', '|', '&']) {
        let mut words = part.split_whitespace().skip_while(|word| word.contains('='));
        if !words.next().is_some_and(|first| ["make", "gmake"].contains(&first)) {
            continue;
        }
        let fine = |word: &&str| !word.starts_with('-') && !word.contains(['=', '/', '$', '.']);
        found.extend(words.filter(fine).map(str::to_owned));
    }
    found
}

/// Names in lines that compare.
pub(super) fn compared(text: &str) -> BTreeSet<String> {
    let compares = |line: &&str| ["diff ", "cmp ", "comm "].iter().any(|word| line.contains(word));
    text.lines().filter(compares).flat_map(names).collect()
}

/// Names of what is read in: `while read line; do …; done < list`.
pub(super) fn redirected(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let doubled = rest[at + 1..].starts_with(['<', '(', '&', '=']);
        rest = rest[at + 1..].trim_start_matches(['<', ' ']);
        if !doubled {
            found.extend(
                rest.split(|c: char| c.is_whitespace() || ";|&)\"'".contains(c)).next().and_then(clean),
            );
        }
    }
    found
}

/// Words that a script leaves lines out by: `grep -v 'lint: ok'`.
pub(super) fn left_out(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split(['|', '\n', ';']) {
        let Some((_, rest)) = part.split_once("grep ") else { continue };
        let rest = rest.trim_start();
        let Some((options, rest)) = rest.split_once(' ') else { continue };
        if !options.starts_with('-') || options.starts_with("--") || !options.contains('v') {
            continue;
        }
        let rest = rest.trim_start();
        let word = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].split(quote).next(),
            _ => rest.split_whitespace().next(),
        };
        let plain = |word: &&str| {
            word.len() >= 4 && word.chars().all(|c| c.is_alphanumeric() || " :_-#/@".contains(c))
        };
        found.extend(word.filter(plain).map(str::to_owned));
    }
    found
}

/// Everything in a text that could be the name of a file.
pub(super) fn names(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| c.is_whitespace() || "\"'`();|&<>=,:{}[]$".contains(c)).filter_map(clean)
}

/// Names with wildcards, or with a variable where one could be; at least the folder must be told.
pub(super) fn globs(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| c.is_whitespace() || "\"'`();|&<>=,".contains(c))
        .filter(|word| word.contains(['*', '$', '?', '%']))
        .filter_map(|word| clean(&wild(word)))
        .filter(|glob| {
            glob.contains('*') && glob.split_once('/').is_some_and(|(folder, _)| !folder.contains('*'))
        })
}

/// `suite/$name.sh` and `suite/${name}.sh` as `suite/*.sh`.
fn wild(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '$' | '%' => {
                let close = if chars.peek() == Some(&'{') { Some('}') } else { None };
                while let Some(next) = chars.peek().copied() {
                    let inside = close.is_some() || next.is_alphanumeric() || next == '_';
                    if !inside {
                        break;
                    }
                    chars.next();
                    if Some(next) == close {
                        break;
                    }
                }
                out.push('*');
            }
            '[' | ']' | '{' | '}' => out.push('*'),
            other => out.push(other),
        }
    }
    out
}

/// A word without quotes and the like; none when it cannot be a path of the workspace.
pub(crate) fn clean(word: &str) -> Option<String> {
    let word = word.trim_matches(['"', '\'']).trim_start_matches("./").trim_start_matches('@');
    let fine = !word.is_empty()
        && word.len() < 200
        && !word.starts_with(['/', '-'])
        && !word.split('/').any(|part| part == "..")
        && word.contains(|c: char| c.is_alphanumeric());
    fine.then(|| word.to_owned())
}
