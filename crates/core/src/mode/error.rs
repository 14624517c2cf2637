//! What can be wrong with a mode, told so that it can be mended.

use std::fmt;

use crate::suggest;

/// Why a mode could not be read or resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// No mode of that name.
    #[error("unknown mode `{name}`{}; the modes are: {}", suggest::hint(.name, .known.iter().map(String::as_str)), .known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// The file is not TOML of the right form.
    #[error("{file}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The parser's words, with line and column.
        message: String,
    },
    /// The file is unreasonably large.
    #[error("{file}: {bytes} bytes is too large for a mode file (at most {limit})")]
    TooLarge {
        /// The file.
        file: String,
        /// Its size.
        bytes: usize,
        /// The largest size read.
        limit: usize,
    },
    /// A value makes no sense.
    #[error("{file}: `{key}` {problem}")]
    Value {
        /// The file.
        file: String,
        /// The key, as in `limits.timeout`.
        key: String,
        /// What is wrong and what to write.
        problem: String,
    },
    /// A project file tried what only a user may.
    #[error(
        "{file}: `{key}` {problem}; files of a workspace can add modes and narrow, so put it into your own configuration if you want it"
    )]
    NotTrusted {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// What it tried.
        problem: String,
    },
    /// More rights than the parent has.
    #[error(
        "{file}: mode `{mode}` would have more rights than {parent}: {}; a mode file of your own (not the workspace's) that \
         says `widen = true` may give more",
        list(.widenings)
    )]
    Wider {
        /// The file or flag.
        file: String,
        /// The mode.
        mode: String,
        /// What it must stay inside, in words.
        parent: String,
        /// Each value that is wider.
        widenings: Vec<Widening>,
    },
    /// `extends` leads back to itself.
    #[error("{file}: `extends` goes in a circle: {}", .chain.join(" → "))]
    Cycle {
        /// The file.
        file: String,
        /// The names in order.
        chain: Vec<String>,
    },
    /// `--allow-writes` on a mode that is not made for it.
    #[error(
        "mode `{mode}` does not take --allow-writes; only modes with `workspace.writes_on_request = true` do (debug is one)"
    )]
    NoWritesOnRequest {
        /// The mode.
        mode: String,
    },
}

/// One value that is wider than it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widening {
    /// The key, as in `network.tools`.
    pub key: String,
    /// What was asked.
    pub asked: String,
    /// The most that is allowed.
    pub allowed: String,
}

impl fmt::Display for Widening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` asks for {} where at most {} is allowed", self.key, self.asked, self.allowed)
    }
}

fn list(widenings: &[Widening]) -> String {
    widenings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
