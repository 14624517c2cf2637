//! `holon config`: what holds, where it comes from, and files of former releases.

mod migrate;
mod show;

use crate::Done;
use crate::session::Session;

/// See and mend the configuration
///
/// Layers, each over the one before: defaults, your own `config.toml`, the workspace's `holon.toml` (which can narrow but
/// never widen), variables such as HOLON_MODELS__SELECTION, and last the flags of a command.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Show(show::Args),
    Migrate(migrate::Args),
}

/// Carries one of them out.
pub(crate) fn dispatch(command: Command, session: &Session) -> Done {
    match command {
        Command::Show(args) => show::run(&args, session),
        Command::Migrate(args) => migrate::run(&args, session),
    }
}
