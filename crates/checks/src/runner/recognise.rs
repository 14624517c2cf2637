//! Which check a command line is.

use super::Runner;

/// Which check a command line is, if it is one: the last of several commands counts.
pub fn recognise(command: &str) -> Option<Runner> {
    command.split(['\n', ';', '|', '&']).rev().find_map(|part| of_words(&words(part)))
}

/// The words of a simple command, without assignments, wrappers and options of those.
pub(super) fn words(part: &str) -> Vec<&str> {
    const WRAPPERS: [&str; 10] =
        ["sudo", "env", "time", "nice", "timeout", "npx", "bunx", "exec", "command", "xvfb-run"];
    let assignment = |word: &&str| word.contains('=') && !word.starts_with('-');
    let clean =
        |word: &'_ str| -> bool { WRAPPERS.contains(&word) || word.starts_with('-') || is_number(word) };
    let mut words = part.split_whitespace().skip_while(assignment).peekable();
    while words.peek().is_some_and(|word| clean(word) || assignment(word)) {
        words.next();
    }
    words.take(12).collect()
}

fn is_number(word: &str) -> bool {
    let word = word.trim_end_matches(['s', 'm', 'h']);
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn of_words(words: &[&str]) -> Option<Runner> {
    let (first, rest) = words.split_first()?;
    let program = first.rsplit('/').next().unwrap_or(first);
    let second = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or("");
    match (program, second) {
        ("cargo", "nextest") => Some(Runner::Nextest),
        ("cargo", "test" | "t") => Some(Runner::Cargo),
        ("cargo", "check" | "c" | "clippy" | "build" | "b" | "fmt") => Some(Runner::Other),
        ("pytest" | "py.test", _) => Some(Runner::Pytest),
        ("tox" | "nox", _) => Some(Runner::Pytest),
        ("python" | "python3", _) => python(rest),
        ("uv" | "poetry" | "pdm" | "hatch", "run") => after(rest, "run"),
        ("bundle", "exec") => after(rest, "exec"),
        ("go", "test") => Some(Runner::Go),
        ("gotestsum", _) => Some(Runner::Go),
        ("go", "vet" | "build") => Some(Runner::Other),
        ("node", _) => rest.iter().any(|word| word.starts_with("--test")).then_some(Runner::Node),
        ("jest" | "vitest", _) => Some(Runner::Jest),
        ("mocha", _) => Some(Runner::Mocha),
        ("npm" | "pnpm" | "yarn" | "bun", "test" | "t" | "vitest" | "jest") => Some(Runner::Jest),
        ("npm" | "pnpm" | "yarn" | "bun", "run") => script(rest),
        ("mvn" | "mvnw", goal) => ["test", "verify", "package"].contains(&goal).then_some(Runner::Maven),
        ("gradle" | "gradlew", task) => {
            (task.ends_with("test") || task == "check" || task == "build").then_some(Runner::Gradle)
        }
        ("dotnet", "test") => Some(Runner::Dotnet),
        ("rspec", _) => Some(Runner::Rspec),
        ("rake" | "rails", "test" | "spec") | ("rake", "") => Some(Runner::Minitest),
        ("phpunit" | "pest" | "paratest", _) => Some(Runner::Phpunit),
        ("prove", _) => Some(Runner::Tap),
        ("bats", _) => Some(Runner::Bats),
        ("ctest", _) => Some(Runner::Ctest),
        ("make" | "gmake" | "ninja" | "just" | "task", _) => Some(Runner::Make),
        (
            "tsc" | "eslint" | "ruff" | "mypy" | "flake8" | "pylint" | "shellcheck" | "pyright" | "biome",
            _,
        ) => Some(Runner::Other),
        _ => None,
    }
}

fn python(rest: &[&str]) -> Option<Runner> {
    match rest {
        ["-m", "pytest", ..] => Some(Runner::Pytest),
        ["-m", "unittest", ..] => Some(Runner::Unittest),
        ["-m", "mypy" | "ruff" | "compileall" | "doctest", ..] => Some(Runner::Other),
        _ => None,
    }
}

/// What a wrapper's subcommand starts.
fn after(rest: &[&str], word: &str) -> Option<Runner> {
    let at = rest.iter().position(|other| *other == word)?;
    let program = rest[at + 1..].iter().position(|word| !word.starts_with('-'))?;
    of_words(&rest[at + 1 + program..])
}

fn script(rest: &[&str]) -> Option<Runner> {
    let script = rest.iter().filter(|word| !word.starts_with('-')).nth(1).copied().unwrap_or("");
    let known = ["lint", "build", "typecheck", "check", "tsc"];
    if script.starts_with("test") {
        Some(Runner::Jest)
    } else {
        known.contains(&script).then_some(Runner::Other)
    }
}
