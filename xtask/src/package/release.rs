//! What is packaged: the version the binary tells, and the time of its commit.

use std::path::Path;
use std::process::Command;

use crate::{XtaskFailure, process, project};

/// One version of the product.
pub(super) struct Release {
    pub(super) version: String,
    /// Seconds since 1970, the same for everybody who packages this commit.
    pub(super) time: u64,
}

impl Release {
    /// Asks the binary for its version, and git, or `SOURCE_DATE_EPOCH`, for the time.
    pub(super) fn of(binary: &Path) -> Result<Self, XtaskFailure> {
        let told = process::capture(Command::new(binary).arg("--version"))?;
        let version = version_in(&told)
            .ok_or_else(|| format!("{} is no holon: --version says {}", binary.display(), told.trim()))?;
        Ok(Self { version, time: time()? })
    }

    /// The time as a person or a changelog writes it, in these words of `date`.
    pub(super) fn date(&self, format: &str) -> Result<String, XtaskFailure> {
        let mut date = Command::new("date");
        date.env("LC_ALL", "C").args(["--utc", &format!("--date=@{}", self.time), format]);
        process::capture(&mut date).map(|text| text.trim().to_owned())
    }
}

fn version_in(told: &str) -> Option<String> {
    let version = told.trim().strip_prefix("holon ")?.split_whitespace().next()?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

fn time() -> Result<u64, XtaskFailure> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let mut git = Command::new("git");
    git.current_dir(project::root()).args(["log", "-1", "--format=%ct"]);
    // An unpacked source archive has no commits; its packages say 1980, as zip does.
    let text = given.or_else(|| process::capture(&mut git).ok()).unwrap_or_else(|| "315532800".into());
    text.trim().parse().map_err(|_| format!("SOURCE_DATE_EPOCH is `{}`, no number of seconds", text.trim()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_binary_says_its_version() {
        assert_eq!(super::version_in("holon 0.1.0 (abc)\n").as_deref(), Some("0.1.0"));
        assert_eq!(super::version_in("bwrap 0.8\n"), None);
        assert_eq!(super::version_in("holon says no\n"), None);
    }
}
