//! Who may come in: a file of tokens, or a fresh one where one is needed.

use std::net::SocketAddr;
use std::path::Path;

use crate::failure::CliFailure;

/// Users with their tokens.
pub(super) type UserTokens = Vec<(String, String)>;

/// The tokens, and the one that has to be told because it was made just now.
pub(super) fn read(
    file: Option<&Path>,
    listen: SocketAddr,
) -> Result<(UserTokens, Option<String>), CliFailure> {
    if let Some(file) = file {
        let text = std::fs::read_to_string(file).map_err(CliFailure::io("read", file))?;
        return parse(&text).map(|tokens| (tokens, None)).map_err(|line| {
            CliFailure::user(
                format!(
                    "{}:{line}: expected a user and a token of at least 16 characters that nobody else has",
                    file.display()
                ),
                "write one line `USER TOKEN` for everyone",
            )
        });
    }
    if listen.ip().is_loopback() {
        return Ok((Vec::new(), None));
    }
    let mut random = [0_u8; 24];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| CliFailure::internal(format!("no randomness for a token: {e}")))?;
    let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((vec![("local".to_owned(), token.clone())], Some(token)))
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
