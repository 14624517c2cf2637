//! What goes wrong with tool servers, in words for the model and for people.

use holon_hands::ExecutorError;

/// A tool server that does not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// Its name in the configuration cannot be used.
    #[error("the tool server name `{name}` {why}: use letters, digits, `-` and `_`, each name once")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It could not be started.
    #[error("tool server {server}: cannot be started: {error}")]
    Start {
        /// The server.
        server: String,
        /// Why.
        error: ExecutorError,
    },
    /// It did not get ready in time.
    #[error("tool server {server}: not ready after {seconds} s{}", said(stderr))]
    NotReady {
        /// The server.
        server: String,
        /// How long it was waited for.
        seconds: u64,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It is gone, or what it says is no conversation.
    #[error("tool server {server}: {why}{}", said(stderr))]
    Gone {
        /// The server.
        server: String,
        /// What happened.
        why: String,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It has no such tool.
    #[error("there is no tool `{tool}` on any tool server")]
    NoSuchTool {
        /// The tool.
        tool: String,
    },
    /// A call took too long and was cancelled.
    #[error("{tool} did not answer within {seconds} s and was cancelled")]
    TimedOut {
        /// The tool.
        tool: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The server refused the call.
    #[error("{tool}: {message}")]
    Refused {
        /// The tool.
        tool: String,
        /// What the server said, cut.
        message: String,
    },
    /// The run was cancelled meanwhile.
    #[error("cancelled")]
    Cancelled,
}

fn said(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!("; it wrote: {text}"),
    }
}
