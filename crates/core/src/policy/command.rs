//! Command rules: argv patterns, checked on every simple command a line would run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shell::{ShellWord, SimpleCommand, split};
use super::wrapper::{self, UnwrappedCommand};

/// Which commands may run; every layer that has an allow-list must allow a command, no deny may match it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRules {
    /// Allow-lists of the mode and its ancestors; without any, everything that is not denied runs.
    pub allow: Vec<Vec<String>>,
    /// Patterns that never run.
    pub deny: Vec<String>,
}

/// What the rules say about a line or argv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandVerdict {
    /// Every command in it may run.
    Allowed,
    /// A deny pattern matches.
    Denied {
        /// The pattern.
        pattern: String,
        /// The command as far as it is known.
        command: String,
    },
    /// An allow-list exists and does not contain it.
    NotAllowed {
        /// The command as far as it is known.
        command: String,
    },
    /// It cannot be understood, and there are rules that could concern it.
    Opaque {
        /// Why.
        why: String,
    },
}

impl CommandRules {
    /// Whether there is no rule at all.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Decides about a line for a POSIX shell.
    pub fn check_line(&self, line: &str) -> CommandVerdict {
        if self.is_empty() {
            return CommandVerdict::Allowed;
        }
        match split(line).map_err(|e| e.to_string()).and_then(wrapper::unwrap_all) {
            Ok(commands) => self.check(&commands),
            Err(why) => CommandVerdict::Opaque { why },
        }
    }

    /// Decides about a command given as separate words, without a shell.
    pub fn check_argv<S: AsRef<str>>(&self, argv: &[S]) -> CommandVerdict {
        if self.is_empty() {
            return CommandVerdict::Allowed;
        }
        let words = argv.iter().map(|w| ShellWord::Literal(w.as_ref().to_owned())).collect();
        match wrapper::unwrap_all(vec![SimpleCommand { assignments: Vec::new(), words }]) {
            Ok(commands) => self.check(&commands),
            Err(why) => CommandVerdict::Opaque { why },
        }
    }

    fn check(&self, commands: &[UnwrappedCommand]) -> CommandVerdict {
        for unwrapped in commands {
            for command in unwrapped.shells.iter().chain([&unwrapped.command]) {
                if let Some(pattern) = self.deny.iter().find(|p| denies(p, command)) {
                    return CommandVerdict::Denied { pattern: pattern.clone(), command: command.to_string() };
                }
            }
        }
        for unwrapped in commands {
            let command = &unwrapped.command;
            if command.words.is_empty() && !command.assignments.iter().any(|name| steers_programs(name)) {
                continue;
            }
            for list in &self.allow {
                if !list.iter().any(|p| allows(p, command)) {
                    return CommandVerdict::NotAllowed { command: command.to_string() };
                }
            }
        }
        CommandVerdict::Allowed
    }

    /// Whether these rules let nothing run that `parent` would not (decided conservatively).
    pub fn is_within(&self, parent: &Self) -> bool {
        let denies_kept = parent.deny.iter().all(|p| self.deny.iter().any(|c| pattern_within(p, c)));
        let lists_kept = parent.allow.iter().all(|outer| {
            self.allow.iter().any(|inner| inner.iter().all(|i| outer.iter().any(|o| pattern_within(i, o))))
        });
        denies_kept && lists_kept
    }
}

/// Why a text cannot be used as a pattern.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    if pattern.split_whitespace().next().is_none() {
        return Err("is empty; write a command such as `cargo test *`".to_owned());
    }
    if pattern.contains(['\'', '"', '`', '$', ';', '|', '&', '<', '>', '(', ')', '\\', '\n', '\0']) {
        return Err(format!("`{pattern}` must be plain words and `*`, without quotes or shell operators"));
    }
    Ok(())
}

/// Whether every command that `inner` matches is matched by `outer` (decided conservatively).
pub fn pattern_within(inner: &str, outer: &str) -> bool {
    let inner: Vec<&str> = inner.split_whitespace().collect();
    let outer: Vec<&str> = outer.split_whitespace().collect();
    tokens_within(&inner, &outer)
}

fn tokens_within(inner: &[&str], outer: &[&str]) -> bool {
    match (inner, outer) {
        (_, ["*"]) | ([], []) => true,
        (["*"], _) => false,
        ([i, irest @ ..], [o, orest @ ..]) => {
            (i == o || *o == "*" || (!i.contains('*') && token_matches(o, i))) && tokens_within(irest, orest)
        }
        _ => false,
    }
}

/// An allow pattern matches only what is fully known, by the exact name, in a clean environment.
fn allows(pattern: &str, command: &SimpleCommand) -> bool {
    if command.assignments.iter().any(|name| steers_programs(name)) {
        return false;
    }
    let tokens: Vec<&str> = pattern.split_whitespace().collect();
    tokens_match(&tokens, &command.words, false)
}

/// A deny pattern matches whatever could be it: unknown words count as a match, a path counts as its last part.
fn denies(pattern: &str, command: &SimpleCommand) -> bool {
    let tokens: Vec<&str> = pattern.split_whitespace().collect();
    let mut words = command.words.clone();
    if let Some(ShellWord::Literal(name)) = words.first_mut()
        && let Some((_, base)) = name.rsplit_once('/')
        && !tokens.first().is_some_and(|t| t.contains('/'))
    {
        *name = base.to_owned();
    }
    tokens_match(&tokens, &words, true)
        || wrapper::without_leading_options(&words).iter().any(|bare| tokens_match(&tokens, bare, true))
}

fn tokens_match(tokens: &[&str], words: &[ShellWord], unknown_matches: bool) -> bool {
    match (tokens, words) {
        (["*"], _) | ([], []) => true,
        ([token, rest @ ..], [word, words @ ..]) => {
            let hit = match word {
                ShellWord::Literal(text) => token_matches(token, text),
                ShellWord::Dynamic => {
                    // One unknown word can turn into any number of words, so for a deny the rest may be anything.
                    if unknown_matches {
                        return true;
                    }
                    *token == "*"
                }
            };
            hit && tokens_match(rest, words, unknown_matches)
        }
        _ => false,
    }
}

/// Matches one word against one token, where `*` stands for any characters.
fn token_matches(token: &str, word: &str) -> bool {
    let mut parts = token.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = word.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Variables that make a harmless program run something else.
fn steers_programs(name: &str) -> bool {
    const EXACT: [&str; 12] = [
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELL",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "NODE_OPTIONS",
        "PERL5OPT",
        "RUBYOPT",
        "MAKEFLAGS",
    ];
    const PREFIX: [&str; 8] = ["LD_", "DYLD_", "GIT_", "PYTHON", "RUSTC", "CARGO_", "JAVA_", "npm_config_"];
    EXACT.contains(&name) || PREFIX.iter().any(|p| name.starts_with(p)) || name.contains("COMMAND")
}

#[cfg(test)]
mod tests;
