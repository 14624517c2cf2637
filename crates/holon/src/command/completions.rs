//! `holon completions`: completion scripts for shells.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::session::Session;
use crate::{CommandExit, cli};

/// Print a completion script for your shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  holon completions bash > ~/.local/share/bash-completion/completions/holon"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs, session: &Session) -> CommandExit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::definition(), "holon", &mut script);
    session.terminal.deliver(script)?;
    Ok(ExitCode::SUCCESS)
}
