//! `holon publish`: a finished run to the places where people look.

mod account;
mod forms;
mod github;
mod source;
mod tell;

use clap::Subcommand;
use holon_core::redact::Redactor;
use holon_publish::text::Cleaner;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{self, Session};

pub(crate) use account::{ForgeArgs, connect};
pub(crate) use github::{PublishFlags, publish_after, target};

/// Bring a finished run to GitHub, code scanning, test reports or any place that shows Markdown
///
/// What a run left is checked against its manifest first. The agent never holds a token: publishing is a step of its own,
/// and doing it twice changes nothing.
#[derive(Debug, Subcommand)]
pub(crate) enum PublishCommand {
    Github(Box<github::PublishGithubArgs>),
    Summary(forms::SummaryArgs),
    Sarif(forms::SarifArgs),
    Junit(forms::JunitArgs),
    Markdown(forms::MarkdownArgs),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: PublishCommand, session: &Session) -> CommandExit {
    match command {
        PublishCommand::Github(args) => github::run(&args, session),
        PublishCommand::Summary(args) => forms::summary(&args, session),
        PublishCommand::Sarif(args) => forms::sarif(&args, session),
        PublishCommand::Junit(args) => forms::junit(&args, session),
        PublishCommand::Markdown(args) => forms::markdown(&args, session),
    }
}

impl From<holon_publish::PublishError> for CliFailure {
    fn from(error: holon_publish::PublishError) -> Self {
        let message = error.to_string();
        let hint = error.hint();
        if let holon_publish::PublishError::Held(decision) = &error {
            return Self::held(decision, "").hint(hint.unwrap_or_default());
        }
        match (error.is_usage(), hint) {
            (true, hint) => Self::user(message, hint.unwrap_or_else(|| "see `--help`".into())),
            (false, Some(hint)) => Self::config(message).hint(hint),
            (false, None) => Self::config(message),
        }
    }
}

/// Knows every secret of this process.
fn redactor() -> Redactor {
    Redactor::new(session::secrets())
}

/// Makes text fit to be published.
fn cleaner() -> Cleaner {
    Cleaner::new(redactor())
}
