//! Why a login cannot be used, and what a person can do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no credential. No message holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// There is no such file.
    #[error("{path} is not there: log in with `{log_in}`")]
    Missing {
        /// The file.
        path: PathBuf,
        /// The agent's own command.
        log_in: String,
    },
    /// Something else than a file lies there.
    #[error("{path} is {what} and no file of its own: a login is only read from a regular file")]
    NotRegular {
        /// What should be the file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Somebody else owns the file.
    #[error("{path} belongs to user {owner} and not to you: a login is only read from its owner's file")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Others may read or write the file.
    #[error("{path} is open to other users of this machine (mode {mode:04o}): run `chmod 600 {path}`")]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is larger than any login.
    #[error(
        "{path} has more than {most} bytes, which no login has: look at it, or log in anew with `{log_in}`"
    )]
    Large {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        most: u64,
        /// The agent's own command.
        log_in: String,
    },
    /// The file ends too early.
    #[error(
        "{path} ends in the middle, so it is being written or was cut off: try again, or log in anew with `{log_in}`"
    )]
    HalfWritten {
        /// The file.
        path: PathBuf,
        /// The agent's own command.
        log_in: String,
    },
    /// The file is no JSON.
    #[error("{path} is no JSON (line {line}): mend it, or log in anew with `{log_in}`")]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where reading stopped.
        line: usize,
        /// The agent's own command.
        log_in: String,
    },
    /// The file is JSON, and its form is none that is known.
    #[error(
        "{path} has no login in a form that is known here ({field} is {what}): its agent may be newer than this version of Holon; update Holon, or use a key"
    )]
    UnknownForm {
        /// The file.
        path: PathBuf,
        /// The place that was looked at.
        field: String,
        /// What is there.
        what: &'static str,
    },
    /// Nobody is logged in.
    #[error("nobody is logged in by {path}: log in with `{log_in}`")]
    LoggedOut {
        /// The file.
        path: PathBuf,
        /// The agent's own command.
        log_in: String,
    },
    /// The login has ended and nothing here can renew it.
    #[error("the {title} login in {from} has ended and cannot be renewed here: log in again with `{log_in}`")]
    Ended {
        /// Whose it is.
        title: String,
        /// Where it is.
        from: String,
        /// The agent's own command.
        log_in: String,
    },
    /// The provider's token endpoint declines to renew.
    #[error(
        "the {title} login was not renewed: {host} declines ({reason}); log in again with `{log_in}`. The file was left as it is"
    )]
    RenewalRefused {
        /// Whose login it is.
        title: String,
        /// Who was asked.
        host: String,
        /// The status, and an error's short name where one was given.
        reason: String,
        /// The agent's own command.
        log_in: String,
    },
    /// The provider refused a credential that had just been made.
    #[error("the provider refuses {from}: {remedy}")]
    Refused {
        /// What was refused.
        from: String,
        /// What to do.
        remedy: String,
    },
    /// The token endpoint could not be asked.
    #[error("the {title} login could not be renewed: {host}: {why}; nothing was changed, try again")]
    Unreachable {
        /// Whose login it is.
        title: String,
        /// Who was asked.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// An address that no token may be sent to.
    #[error("`{endpoint}` is no place for a refresh token: it must be https, or on this machine")]
    Endpoint {
        /// The address.
        endpoint: String,
    },
    /// Somebody else holds a lock for too long.
    #[error(
        "{lock} is held by another program for more than {seconds} s: end that program, or remove the lock if there is none"
    )]
    Busy {
        /// What is held.
        lock: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// A variable that should hold a key is not set.
    #[error("{variable} is not set: set it, or log in with the agent's own command")]
    Unset {
        /// The variable.
        variable: String,
    },
    /// The program that should print a credential did not.
    #[error("the credential command `{program}` {what}")]
    Command {
        /// The program, without its arguments.
        program: String,
        /// What it did.
        what: String,
    },
    /// The process that renews ended without a word.
    #[error("the renewal of the {title} login did not end as it should: {what}")]
    Process {
        /// Whose login it is.
        title: String,
        /// What happened.
        what: String,
    },
    /// What the process that renews said.
    #[error("{message}")]
    Told {
        /// Its words.
        message: String,
        /// Whether the provider declined, so that trying again makes no sense.
        refused: bool,
    },
    /// The list of logins that comes with Holon.
    #[error("rules/logins.toml: {0}")]
    Rules(String),
    /// The operating system declined.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl LoginError {
    /// For `map_err` around file operations.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { doing, path, source: error.into() }
    }

    /// Whether trying again later may help.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Busy { .. }
                | Self::HalfWritten { .. }
                | Self::Told { refused: false, .. }
        )
    }

    /// Whether the provider or its token endpoint declined, so that trying again makes no sense.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::RenewalRefused { .. } | Self::Refused { .. } | Self::Told { refused: true, .. })
    }
}
