//! `holon network`: what a run's permits mean on this machine.

mod learn;
mod show;

use clap::Subcommand;

use crate::CommandExit;
use crate::session::Session;

/// See which hosts a permit stands for, and find out which permits a command needs
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon network show npm\n  holon network show git:origin '*.example.org'\n  holon network learn -- npm ci"
)]
pub(crate) enum NetworkCommand {
    Show(show::NetworkShowArgs),
    Learn(learn::NetworkLearnArgs),
}

/// Carries out one of them.
pub(crate) fn dispatch(command: NetworkCommand, session: &Session) -> CommandExit {
    match command {
        NetworkCommand::Show(args) => show::run(&args, session),
        NetworkCommand::Learn(args) => learn::run(args, session),
    }
}
