//! `holon network`: what a run's permits mean on this machine.

mod show;

use clap::Subcommand;

use crate::CommandExit;
use crate::session::Session;

/// See which hosts a permit stands for
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon network show npm\n  holon network show git:origin '*.example.org'"
)]
pub(crate) enum NetworkCommand {
    Show(show::NetworkShowArgs),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: NetworkCommand, session: &Session) -> CommandExit {
    match command {
        NetworkCommand::Show(args) => show::run(&args, session),
    }
}
