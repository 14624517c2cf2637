//! Where something goes: a repository, and maybe an issue or pull request of it.

use std::fmt;
use std::str::FromStr;

use crate::error::PublishError;

/// A repository by its two names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoName {
    /// The account it belongs to.
    pub owner: String,
    /// Its name.
    pub name: String,
}

/// A repository and maybe a number in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishTarget {
    /// The repository.
    pub repo: RepoName,
    /// An issue or pull request.
    pub number: Option<u64>,
}

impl RepoName {
    /// The path of the repository below the API's address, and of something in it.
    pub fn path(&self, rest: &str) -> String {
        format!("/repos/{}/{}{rest}", self.owner, self.name)
    }
}

fn is_name(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text != "."
        && text != ".."
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

impl FromStr for RepoName {
    type Err = PublishError;

    fn from_str(text: &str) -> Result<Self, PublishError> {
        match text.split_once('/') {
            Some((owner, name)) if is_name(owner) && is_name(name) => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(PublishError::usage(
                format!("`{}` names no repository", text.chars().take(80).collect::<String>()),
                "write OWNER/REPO, such as octocat/hello-world",
            )),
        }
    }
}

impl FromStr for PublishTarget {
    type Err = PublishError;

    fn from_str(text: &str) -> Result<Self, PublishError> {
        let Some((repo, number)) = text.split_once('#') else {
            return Ok(Self { repo: text.parse()?, number: None });
        };
        match number.parse::<u64>() {
            Ok(number) if number > 0 => Ok(Self { repo: repo.parse()?, number: Some(number) }),
            _ => Err(PublishError::usage(
                format!(
                    "`{}` is no number of an issue or pull request",
                    number.chars().take(40).collect::<String>()
                ),
                "write OWNER/REPO#NUMBER, such as octocat/hello-world#12",
            )),
        }
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl fmt::Display for PublishTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}#{number}", self.repo),
            None => self.repo.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(
                text.parse::<PublishTarget>().ok().map(|t| t.to_string()).as_deref(),
                expect,
                "{text}"
            );
        };
        check("o/r", Some("o/r"));
        check("my-org/a.b_c#12", Some("my-org/a.b_c#12"));
        for bad in
            ["", "o", "o/", "/r", "o/r/x", "o/..", "o/r#", "o/r#0", "o/r#x", "o/r?x=1#1", "o/r%2f", "é/r"]
        {
            check(bad, None);
        }
    }
}
