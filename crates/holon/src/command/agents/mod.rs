//! `holon agents`: which agents can be named, and whether each works here.

mod check;
mod list;

use clap::Subcommand;

use crate::Done;
use crate::session::Session;

/// See which agents there are, and try them behind the walls
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  holon agents list\n  holon agents check claude-code")]
pub(crate) enum Command {
    List(list::Args),
    Check(check::Args),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: Command, session: &Session) -> Done {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Check(args) => check::run(&args, session),
    }
}
