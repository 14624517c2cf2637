//! `holon models`: which models there are, and which would be chosen.

mod figures;
mod list;
mod probe;
mod select;

use clap::Subcommand;

use crate::Done;
use crate::session::Session;

/// List models, find out what one can do, and see which would be chosen and why
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon models list\n  holon models probe\n  holon models select --intent code"
)]
pub(crate) enum Command {
    List(list::Args),
    Probe(probe::Args),
    Select(select::Args),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: Command, session: &Session) -> Done {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Probe(args) => probe::run(&args, session),
        Command::Select(args) => select::run(&args, session),
    }
}
