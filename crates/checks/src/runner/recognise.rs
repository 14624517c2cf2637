//! Which check a command line is.

use super::TestRunner;

/// Which check a command line is, if it is one: the last of several commands counts.
pub fn recognise(command: &str) -> Option<TestRunner> {
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

pub(super) fn of_words(words: &[&str]) -> Option<TestRunner> {
    let (first, rest) = words.split_first()?;
    let program = first.rsplit('/').next().unwrap_or(first);
    let second = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or("");
    match (program, second) {
        ("cargo", "nextest") => Some(TestRunner::Nextest),
        ("cargo", "test" | "t") => Some(TestRunner::Cargo),
        ("cargo", "check" | "c" | "clippy" | "build" | "b" | "fmt") => Some(TestRunner::Other),
        ("pytest" | "py.test", _) => Some(TestRunner::Pytest),
        ("tox" | "nox", _) => Some(TestRunner::Pytest),
        ("python" | "python3", _) => python(rest),
        ("uv" | "poetry" | "pdm" | "hatch", "run") => after(rest, "run"),
        ("bundle", "exec") => after(rest, "exec"),
        ("go", "test") => Some(TestRunner::Go),
        ("gotestsum", _) => Some(TestRunner::Go),
        ("go", "vet" | "build") => Some(TestRunner::Other),
        ("node", _) => rest.iter().any(|word| word.starts_with("--test")).then_some(TestRunner::Node),
        ("jest" | "vitest", _) => Some(TestRunner::Jest),
        ("mocha", _) => Some(TestRunner::Mocha),
        ("npm" | "pnpm" | "yarn" | "bun", "test" | "t" | "vitest" | "jest") => Some(TestRunner::Jest),
        ("npm" | "pnpm" | "yarn" | "bun", "run") => script(rest),
        ("mvn" | "mvnw", goal) => ["test", "verify", "package"].contains(&goal).then_some(TestRunner::Maven),
        ("gradle" | "gradlew", task) => {
            (task.ends_with("test") || task == "check" || task == "build").then_some(TestRunner::Gradle)
        }
        ("dotnet", "test") => Some(TestRunner::Dotnet),
        ("rspec", _) => Some(TestRunner::Rspec),
        ("rake" | "rails", "test" | "spec") | ("rake", "") => Some(TestRunner::Minitest),
        ("phpunit" | "pest" | "paratest", _) => Some(TestRunner::Phpunit),
        ("prove", _) => Some(TestRunner::Tap),
        ("bats", _) => Some(TestRunner::Bats),
        ("ctest", _) => Some(TestRunner::Ctest),
        ("make" | "gmake" | "ninja" | "just" | "task", _) => Some(TestRunner::Make),
        (
            "tsc" | "eslint" | "ruff" | "mypy" | "flake8" | "pylint" | "shellcheck" | "pyright" | "biome",
            _,
        ) => Some(TestRunner::Other),
        _ => None,
    }
}

fn python(rest: &[&str]) -> Option<TestRunner> {
    match rest {
        ["-m", "pytest", ..] => Some(TestRunner::Pytest),
        ["-m", "unittest", ..] => Some(TestRunner::Unittest),
        ["-m", "mypy" | "ruff" | "compileall" | "doctest", ..] => Some(TestRunner::Other),
        _ => None,
    }
}

/// What a wrapper's subcommand starts.
fn after(rest: &[&str], word: &str) -> Option<TestRunner> {
    let at = rest.iter().position(|other| *other == word)?;
    let program = rest[at + 1..].iter().position(|word| !word.starts_with('-'))?;
    of_words(&rest[at + 1 + program..])
}

fn script(rest: &[&str]) -> Option<TestRunner> {
    let script = rest.iter().filter(|word| !word.starts_with('-')).nth(1).copied().unwrap_or("");
    let known = ["lint", "build", "typecheck", "check", "tsc"];
    if script.starts_with("test") {
        Some(TestRunner::Jest)
    } else {
        known.contains(&script).then_some(TestRunner::Other)
    }
}
