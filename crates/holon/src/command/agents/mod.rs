//! `holon agents`: which agents can be named, whether each works here, and how another is added.

mod add;
mod check;
mod list;
mod screen;

use clap::Subcommand;

pub(crate) use screen::screen_of;

use crate::CommandExit;
use crate::session::Session;

/// See which agents there are, add others, and try them behind the walls
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon agents list\n  holon agents add npm:@kilocode/cli\n  holon agents check claude-code"
)]
pub(crate) enum AgentsCommand {
    List(list::AgentsListArgs),
    Add(add::AgentsAddArgs),
    Check(check::AgentsCheckArgs),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: AgentsCommand, session: &Session) -> CommandExit {
    match command {
        AgentsCommand::List(args) => list::run(&args, session),
        AgentsCommand::Add(args) => add::run(&args, session),
        AgentsCommand::Check(args) => check::run(&args, session),
    }
}
