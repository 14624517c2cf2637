//! `holon models`: which models there are, and which would be chosen.

mod figures;
mod list;
mod probe;
mod select;

use clap::Subcommand;

use crate::CommandExit;
use crate::session::Session;

/// List models, find out what one can do, and see which would be chosen and why
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon models list\n  holon models probe\n  holon models select --intent code"
)]
pub(crate) enum ModelsCommand {
    List(list::ModelsListArgs),
    Probe(probe::ModelsProbeArgs),
    Select(select::ModelsSelectArgs),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: ModelsCommand, session: &Session) -> CommandExit {
    match command {
        ModelsCommand::List(args) => list::run(&args, session),
        ModelsCommand::Probe(args) => probe::run(&args, session),
        ModelsCommand::Select(args) => select::run(&args, session),
    }
}
