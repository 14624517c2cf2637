//! `holon config`: what holds, where it comes from, and files of former releases.

mod migrate;
mod show;

use crate::CommandExit;
use crate::session::Session;

/// See and mend the configuration
///
/// Layers, each over the one before: defaults, your own `config.toml`, the workspace's `holon.toml` (which can narrow but
/// never widen), variables such as HOLON_MODELS__SELECTION, and last the flags of a command.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ConfigCommand {
    Show(show::ConfigShowArgs),
    Migrate(migrate::ConfigMigrateArgs),
}

/// Carries one of them out.
pub(crate) fn dispatch(command: ConfigCommand, session: &Session) -> CommandExit {
    match command {
        ConfigCommand::Show(args) => show::run(&args, session),
        ConfigCommand::Migrate(args) => migrate::run(&args, session),
    }
}
