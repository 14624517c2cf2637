//! Which git it is.

use std::fmt;

/// A version of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl GitVersion {
    /// The oldest git that knows every option used here.
    pub const OLDEST: Self = Self { major: 2, minor: 31 };

    /// Reads the answer to `git --version`.
    pub fn parse(answer: &str) -> Option<Self> {
        let mut numbers = answer.trim().strip_prefix("git version ")?.split(['.', ' ']);
        let mut next = || numbers.next()?.parse().ok();
        Some(Self { major: next()?, minor: next()? })
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
