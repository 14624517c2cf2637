//! The same check without its stop at the first thing that fails: what comes after it could not be compared otherwise.

use std::borrow::Cow;

use super::TestRunner;
use super::recognise::{of_words, words};

/// What joins or ends commands; where quotes are open, it is none of that.
const JOINTS: [char; 4] = ['\n', ';', '|', '&'];
/// Signs of a line that is more than commands one after the other.
const MORE: [char; 9] = ['\n', ';', '|', '\'', '"', '`', '(', '{', '#'];

/// The same check, going on after what fails; it ends as the check itself does.
pub fn unstopped(command: &str) -> Cow<'_, str> {
    let whole = each_goes_on(command);
    match all_are_run(&whole) {
        Some(all) => Cow::Owned(all),
        None => whole,
    }
}

/// Every runner goes on after the first binary or case that fails.
fn each_goes_on(command: &str) -> Cow<'_, str> {
    let mut places = Vec::new();
    for part in command.split(JOINTS) {
        let words = words(part);
        match of_words(&words) {
            Some(TestRunner::Cargo) => {
                places.extend(after_verb(command, part, &words, "cargo", &["test", "t"]))
            }
            Some(TestRunner::Nextest) => {
                places.extend(after_verb(command, part, &words, "nextest", &["run", "r"]))
            }
            Some(TestRunner::Pytest) => places.extend(at_end_of_pytest(command, part, &words)),
            _ => {}
        }
    }
    let mut whole = Cow::Borrowed(command);
    for (place, option) in places.into_iter().rev() {
        whole.to_mut().insert_str(place, &format!(" {option}"));
    }
    whole
}

/// Where a part of the command is in it.
fn place_of(command: &str, part: &str) -> usize {
    part.as_ptr().addr() - command.as_ptr().addr()
}

fn after_verb(
    command: &str,
    part: &str,
    words: &[&str],
    after: &str,
    names: &[&str],
) -> Option<(usize, &'static str)> {
    const ON: &str = "--no-fail-fast";
    // Whoever says how it is to stop, or that it is not to run, is taken at their word.
    let says = [ON, "--fail-fast", "--ff", "--no-run", "--max-fail"];
    if part.split(['=', ' ', '\t']).any(|word| says.contains(&word)) {
        return None;
    }
    let mut rest = words.iter().skip_while(|word| !word.ends_with(after)).skip(1);
    let verb = rest.find(|word| names.contains(word))?;
    Some((place_of(command, verb) + verb.len(), ON))
}

/// pytest's last word about it counts, and options in its settings come before those of the command.
fn at_end_of_pytest(command: &str, part: &str, words: &[&str]) -> Option<(usize, &'static str)> {
    const ON: &str = "--maxfail=0";
    let named =
        |word: &&str| word.rsplit('/').next().is_some_and(|name| name == "pytest" || name == "py.test");
    let open = part.matches('\'').count() % 2 + part.matches('"').count() % 2 > 0;
    let other = |word: &str| word == "--" || word == ON || word.starts_with(['#', '>', '<']);
    if open || !words.iter().any(named) || part.split_whitespace().any(other) {
        return None;
    }
    let end = part.trim_end();
    Some((place_of(command, part) + end.len(), ON))
}

/// Checks that follow each other only while all is well: each of them is run, and the first that fails is how it ends.
fn all_are_run(command: &str) -> Option<String> {
    let parts: Vec<&str> = command.split("&&").map(str::trim).collect();
    if command.contains(MORE) || parts.iter().any(|part| part.is_empty() || part.contains('&')) {
        return None;
    }
    let is_check = |part: &&str| of_words(&words(part)).is_some();
    let first = parts.iter().position(&is_check).filter(|first| first + 1 < parts.len())?;
    if !parts[first..].iter().all(is_check) {
        return None;
    }
    // What leads there, such as `cd`, must work as before.
    let before: String = parts[..first].iter().map(|part| format!("{part} && ")).collect();
    let each: String =
        parts[first..].iter().map(|part| format!("( {part} ) || failed=\"${{failed:-$?}}\"; ")).collect();
    Some(format!("{before}{{ failed=; {each}exit \"${{failed:-0}}\"; }}"))
}
