//! `holon agents`: which agents can be named, and whether each works here.

mod check;
mod list;

use clap::Subcommand;

use crate::CommandExit;
use crate::session::Session;

/// See which agents there are, and try them behind the walls
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  holon agents list\n  holon agents check claude-code")]
pub(crate) enum AgentsCommand {
    List(list::AgentsListArgs),
    Check(check::AgentsCheckArgs),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: AgentsCommand, session: &Session) -> CommandExit {
    match command {
        AgentsCommand::List(args) => list::run(&args, session),
        AgentsCommand::Check(args) => check::run(&args, session),
    }
}
