//! Command rules: argv patterns, checked on every simple command a line would run.

use serde::{Deserialize, Serialize};

use super::shell::{SimpleCommand, Word, split};
use super::wrapper::{self, Unwrapped};

/// Which commands may run; every layer that has an allow-list must allow a command, no deny may match it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        let words = argv.iter().map(|w| Word::Literal(w.as_ref().to_owned())).collect();
        match wrapper::unwrap_all(vec![SimpleCommand { assignments: Vec::new(), words }]) {
            Ok(commands) => self.check(&commands),
            Err(why) => CommandVerdict::Opaque { why },
        }
    }

    fn check(&self, commands: &[Unwrapped]) -> CommandVerdict {
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
    if let Some(Word::Literal(name)) = words.first_mut()
        && let Some((_, base)) = name.rsplit_once('/')
        && !tokens.first().is_some_and(|t| t.contains('/'))
    {
        *name = base.to_owned();
    }
    tokens_match(&tokens, &words, true)
        || wrapper::without_leading_options(&words).iter().any(|bare| tokens_match(&tokens, bare, true))
}

fn tokens_match(tokens: &[&str], words: &[Word], unknown_matches: bool) -> bool {
    match (tokens, words) {
        (["*"], _) | ([], []) => true,
        ([token, rest @ ..], [word, words @ ..]) => {
            let hit = match word {
                Word::Literal(text) => token_matches(token, text),
                Word::Dynamic => {
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn rules(allow: Option<&[&str]>, deny: &[&str]) -> CommandRules {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        CommandRules { allow: allow.map(own).into_iter().collect(), deny: own(deny) }
    }

    fn runs(rules: &CommandRules, line: &str) -> bool {
        rules.check_line(line) == CommandVerdict::Allowed
    }

    #[test]
    fn deny_sees_through_wrapping() {
        let rules = rules(None, &["git push *", "sudo *", "rm -rf *"]);
        for line in [
            "git push",
            "git push origin main",
            "/usr/bin/git push",
            "git -C x push",
            "git -c a=b --no-pager push",
            "cd x && git push",
            "true; git push",
            "(git push)",
            "{ git push; }",
            "echo $(git push)",
            "echo `git push`",
            "echo \"$(git push)\"",
            "env A=1 git push",
            "env -i -u B git push",
            "A=1 git push",
            "bash -c 'git push'",
            "sh -ec \"git push\"",
            "bash -c 'sh -c \"git push\"'",
            "timeout 5 git push",
            "nice -n 3 git push",
            "eval git push",
            "echo x | xargs git push",
            "find . -exec git push {} \\;",
            "command git push",
            "nohup git push &",
            "exec git push",
            "time git push",
            "time { git push; }",
            "! git push",
            "if true; then git push; fi",
            "git $X",
            "$X push",
            "git pu*",
            "{git,push}",
            "g\"it\" pus\\h",
            "sudo ls",
            "cat <<EOF\n$(git push)\nEOF",
            "watch 'git push'",
            "trap 'git push' EXIT",
            "busybox sh -c 'git push'",
            "rm -rf /",
            "x=$(git push)",
            "diff <(git push) y",
            "curl x | bash",
            "bash -c \"$X\"",
            "case a in a) git push;; esac",
            "git push 'unclosed",
            "ssh host git push",
        ] {
            assert!(!runs(&rules, line), "{line}");
        }
        for line in [
            "git status",
            "git commit -m 'git push'",
            "echo git push",
            "git log --grep push",
            "cargo test > out 2>&1",
            "cat <<'EOF' > f\ngit push\nEOF",
            "grep -r 'git push' .",
            "bash build.sh",
            "rm file",
            "for f in *; do cat $f; done",
            "ls *.rs",
            "",
        ] {
            assert!(runs(&rules, line), "{line}: {:?}", rules.check_line(line));
        }
    }

    #[test]
    fn allow_lists_hold_for_every_part() {
        let rules = rules(Some(&["cargo test *", "cargo build", "ls *", "git log *"]), &[]);
        for line in [
            "cargo test",
            "cargo test -p x",
            "cargo build",
            "ls -l | ls",
            "A=1 cargo test",
            "env A=1 cargo test",
            "bash -c 'cargo test; ls'",
            "cargo test $ARGS",
            "timeout 10 cargo test",
            "ls > out",
            "X=1; ls",
        ] {
            assert!(runs(&rules, line), "{line}: {:?}", rules.check_line(line));
        }
        for line in [
            "cargo build --release",
            "cargo",
            "ls; rm x",
            "ls $(rm x)",
            "./cargo test",
            "/tmp/cargo test",
            "$CARGO test",
            "PATH=/tmp cargo test",
            "PATH=/tmp; cargo test",
            "LD_PRELOAD=x ls",
            "env GIT_SSH_COMMAND=x git log",
            "bash evil.sh",
            "find . -exec ls {} +",
            "ls 'x",
            "echo x | sh",
            "cargo te*",
            "python -c 1",
            "export PATH=/tmp",
        ] {
            assert!(!runs(&rules, line), "{line}");
        }
        assert!(runs(&rules, "bash -c 'ls'"));
        assert_eq!(rules.check_argv(&["cargo", "test", "; rm x"]), CommandVerdict::Allowed);
        assert_ne!(rules.check_argv(&["sh", "-c", "rm x"]), CommandVerdict::Allowed);
    }

    #[test]
    fn an_empty_allow_list_runs_nothing() {
        let rules = rules(Some(&[]), &[]);
        assert!(!runs(&rules, "ls"));
        assert!(runs(&CommandRules::default(), "anything 'at all"));
    }

    #[test]
    fn patterns_inside_patterns() {
        let check = |inner: &str, outer: &str, expect| {
            assert_eq!(pattern_within(inner, outer), expect, "{inner} in {outer}")
        };
        check("cargo test *", "cargo *", true);
        check("cargo test", "cargo test *", true);
        check("cargo test", "cargo *", true);
        check("cargo", "cargo *", true);
        check("anything *", "*", true);
        check("cargo test-unit", "cargo test-*", true);
        check("cargo *", "cargo test *", false);
        check("cargo test *", "cargo test", false);
        check("cargo test -p *", "cargo test", false);
        check("cargo test a*b", "cargo test a*", false);
        check("*", "cargo *", false);
    }

    fn token() -> impl Strategy<Value = String> {
        prop_oneof![2 => "[ab]{1,2}", 1 => Just("*".to_owned()), 1 => Just("a*".to_owned())]
    }

    fn pattern() -> impl Strategy<Value = String> {
        prop::collection::vec(token(), 1..4).prop_map(|t| t.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
        #[test]
        fn inv_11_a_narrower_pattern_never_matches_more(
            inner in pattern(), outer in pattern(), words in prop::collection::vec("[ab]{1,3}", 1..5)
        ) {
            if pattern_within(&inner, &outer) {
                let command = SimpleCommand { assignments: vec![], words: words.into_iter().map(Word::Literal).collect() };
                prop_assert!(!allows(&inner, &command) || allows(&outer, &command), "{} in {}: {}", inner, outer, command);
            }
        }

        #[test]
        fn inv_10_a_denied_command_is_denied_wherever_it_hides(
            before in "[a-z]{1,5}( [a-z]{1,5}){0,2}",
            shape in 0usize..9,
        ) {
            let rules = rules(None, &["git push *"]);
            let line = match shape {
                0 => format!("{before}; git push x"),
                1 => format!("{before} && git push"),
                2 => format!("{before} | git push"),
                3 => format!("{before} $(git push)"),
                4 => format!("{before} `git push`"),
                5 => format!("({before}; git push)"),
                6 => format!("bash -c '{before}; git push'"),
                7 => format!("{before} <<X\n$(git push)\nX"),
                _ => format!("{before}\ngit push"),
            };
            prop_assert!(!runs(&rules, &line), "{}", line);
        }

        #[test]
        fn any_text_gets_a_verdict(line in "\\PC{0,60}") {
            let _ = rules(Some(&["ls *"]), &["git push *"]).check_line(&line);
        }
    }
}
