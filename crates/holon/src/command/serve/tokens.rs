//! Who may come in, by a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::CliFailure;

/// Users with their tokens.
pub(super) type UserTokens = Vec<(String, String)>;

/// The tokens in a file that nobody but its owner can read.
pub(super) fn read(file: &Path) -> Result<UserTokens, CliFailure> {
    let mut opened = File::open(file).map_err(CliFailure::io("read", file))?;
    holon_server::only_its_owners(&opened, file).map_err(|e| CliFailure::user(e.to_string(), e.hint()))?;
    let mut text = String::new();
    opened.read_to_string(&mut text).map_err(CliFailure::io("read", file))?;
    parse(&text).map_err(|line| {
        CliFailure::user(
            format!(
                "{}:{line}: expected a user and a token of at least 16 characters that nobody else has",
                file.display()
            ),
            "write one line `USER TOKEN` for everyone",
        )
    })
}

/// Lines `USER TOKEN`; empty ones and those that begin with `#` do not count. On a wrong line, its number.
fn parse(text: &str) -> Result<UserTokens, usize> {
    let mut tokens = UserTokens::new();
    // Some editors mark the beginning of a file.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            // One token that names two users would let one of them in as the other.
            (Some(user), Some(token), None)
                if token.len() >= 16
                    && !tokens.iter().any(|(other, known)| known == token && other != user) =>
            {
                tokens.push((user.to_owned(), token.to_owned()));
            }
            _ => return Err(number + 1),
        }
    }
    if tokens.is_empty() { Err(1) } else { Ok(tokens) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_line_for_everyone() {
        let check =
            |text: &str, expect: Result<usize, usize>| assert_eq!(parse(text).map(|t| t.len()), expect);
        check("# people\nann 0123456789abcdef\n\nbob  0123456789abcdeg\n", Ok(2));
        check("ann short\n", Err(1));
        check("ann 0123456789abcdef extra\n", Err(1));
        check("\n", Err(1));
        check("ann 0123456789abcdef\nann fedcba9876543210\r\n", Ok(2));
        check("ann 0123456789abcdef\nbob 0123456789abcdef\n", Err(2));
        assert_eq!(parse("\u{feff}ann 0123456789abcdef\n").unwrap()[0].0, "ann");
    }
}
