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

/// Scripts whose end decides what a build file does when a command asks for it: as good as written in the command.
pub(super) fn asked_scripts(command: &str, build_file: &str) -> Vec<String> {
    let asked: BTreeSet<&str> = command.split_whitespace().collect();
    let json: Option<serde_json::Value> = serde_json::from_str(build_file).ok();
    let lines: Vec<String> = match &json {
        Some(json) => json["scripts"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| asked.contains(name.as_str()))
            .filter_map(|(_, line)| line.as_str().map(str::to_owned))
            .collect(),
        None => recipes(&asked, build_file),
    };
    // What is passed on or kept is looked at by something else.
    let decides = |line: &&String| !line.contains('>') && !line.replace("||", "").contains('|');
    lines.iter().filter(decides).flat_map(|line| invoked(line)).map(|(path, _)| path).collect()
}

/// The indented lines below those that begin with a target and a colon.
fn recipes(asked: &BTreeSet<&str>, build_file: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in build_file.lines() {
        if line.starts_with([' ', '\t']) {
            if inside {
                found.push(line.trim().to_owned());
            }
            continue;
        }
        let (head, rest) = line.split_once(':').unwrap_or_default();
        inside = head.split_whitespace().any(|target| asked.contains(target)) && !rest.starts_with('=');
        if let Some((_, recipe)) = rest.split_once(';').filter(|_| inside) {
            found.push(recipe.trim().to_owned());
        }
    }
    found
}

/// Names in lines that compare.
pub(super) fn compared(text: &str) -> BTreeSet<String> {
    let compares = |line: &&str| ["diff ", "cmp ", "comm "].iter().any(|word| line.contains(word));
    text.lines().filter(compares).flat_map(names).collect()
}

/// Names of what is read in: `while read line; do …; done < list`, `$(cat limit)`.
pub(super) fn redirected(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for start in ["$(cat ", "`cat "] {
        let parts = text.split(start).skip(1);
        let name = |part: &str| part.split([' ', ')', '`', '\n']).next().and_then(clean);
        found.extend(parts.filter_map(name));
    }
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

/// Files that a build file takes in, there or not: `-include local.mk`, `-include $(OBJS:.o=.d)`.
pub(super) fn included(text: &str) -> BTreeSet<String> {
    let names_of = |line: &str| {
        let line = line.trim_start();
        let rest = ["-include ", "sinclude ", "include "].iter().find_map(|word| line.strip_prefix(word));
        rest.map(|rest| taken_in(rest, text, 0)).unwrap_or_default()
    };
    text.lines().flat_map(names_of).collect()
}

/// Names in what an `include` says. A variable is what the text sets it to; where it gives names another end, any file
/// with that end may be meant.
fn taken_in(said: &str, text: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for word in said.split(|c: char| c.is_whitespace() || ",()".contains(c)).filter(|word| !word.is_empty()) {
        let end = word.rsplit_once(['=', '%']).map_or("", |(_, end)| end);
        if end.starts_with('.') && end.len() > 1 {
            // Sources are what is built.
            found.extend((!NAMED.is_code(end)).then(|| format!("**/*{end}")));
        } else if said.contains("$(")
            && depth < 3
            && word.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
        {
            let set = |line: &str| {
                let (name, value) = line.split_once('=')?;
                (name.trim().trim_end_matches([':', '?', '+']).trim() == word)
                    .then(|| value.trim().to_owned())
            };
            found.extend(text.lines().filter_map(set).flat_map(|value| taken_in(&value, text, depth + 1)));
        } else {
            found.extend(clean(word).filter(|name| !name.starts_with('$') && !NAMED.is_code(name)));
        }
    }
    found
}

/// Files that are run to say what there is to do: `for n in $(sh features.sh)`, `./features | while read n`.
pub(super) fn listing(text: &str) -> BTreeSet<String> {
    let starts = ["in $(", "in $$(", "in `"];
    let inside = starts
        .iter()
        .flat_map(|start| text.split(start).skip(1))
        .filter_map(|rest| rest.split([')', '`']).next());
    let piped = text.lines().filter_map(|line| {
        let (before, _) = line.split_once("| while ").or_else(|| line.split_once("|while "))?;
        before.rsplit([';', '&', '|']).next()
    });
    inside.chain(piped).flat_map(invoked).map(|(path, _)| path).collect()
}

/// Files whose text a program takes for its options: `cc @flags.txt`.
pub(super) fn responses(text: &str) -> BTreeSet<String> {
    let of_line = |line: &str| -> Vec<String> {
        let words = line.split_whitespace().skip(1);
        words
            .filter_map(|word| word.strip_prefix('@'))
            .filter(|word| word.contains(['.', '/']))
            .filter_map(clean)
            .collect()
    };
    text.lines().flat_map(of_line).collect()
}

/// Files that a script reads in as its own text: `. ./env.sh`.
pub(super) fn sourced(text: &str) -> BTreeSet<String> {
    let parts = text.split(['\n', ';', '|', '&']);
    let named = |part: &str| {
        let mut words = part.split_whitespace().skip_while(|word| is_keyword(word));
        words.next().filter(|first| [".", "source"].contains(first))?;
        words.next().and_then(clean)
    };
    parts.filter_map(named).collect()
}

/// Documents whose examples are run.
pub(super) fn documents(text: &str) -> BTreeSet<String> {
    let is_prose = |name: &String| [".md", ".rst", ".txt", ".markdown"].iter().any(|end| name.ends_with(end));
    text.lines().filter(|line| line.contains("doctest")).flat_map(names).filter(is_prose).collect()
}

/// Folders that reports are written to, each with the end of the report's name.
pub(super) fn written(text: &str) -> BTreeSet<(String, String)> {
    let told = |word: &str| {
        let (option, value) = word.split_once('=')?;
        NAMED.report_options.iter().any(|known| known == option).then(|| clean(&last_value(value)))?
    };
    let mut before = "";
    let mut found = BTreeSet::new();
    for word in text.split_whitespace() {
        let apart = NAMED.report_options.iter().any(|known| known == before).then(|| clean(word)).flatten();
        before = word;
        let Some(path) = told(word).or(apart) else { continue };
        let Some((folder, name)) = path.rsplit_once('/') else { continue };
        let Some((_, end)) = name.rsplit_once('.') else { continue };
        found.insert((folder.to_owned(), end.to_owned()));
    }
    found
}

/// What a variable comes to when nobody sets it: `${REPORT:-reports/py.xml}`.
fn last_value(word: &str) -> String {
    let inside = word.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inside.and_then(|inside| inside.split_once(":-")).map_or(word, |(_, usual)| usual).to_owned()
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
