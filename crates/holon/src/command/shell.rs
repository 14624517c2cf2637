//! `holon shell`: the walls of a mode with a shell inside, to see what an agent sees.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::CommandExit;
use crate::command::run::{self, RunArgs};
use crate::failure::CliFailure;
use crate::session::{Session, variable};

/// Shells to look for where the environment names none that is there.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// Open a shell behind the walls of a mode, and see what an agent sees
///
/// The folder is a copy, the network is the mode's, and afterwards there is a patch as after every run. Ctrl-] d leaves it
/// running; `holon runs attach` comes back.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  holon shell --mode plan      nothing can be changed\n  holon shell --allow-net npm  try what a permit lets through"
)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    run: RunArgs,
}

/// Opens it.
pub(crate) fn run(args: ShellArgs, session: &Session) -> CommandExit {
    let own = variable("SHELL").and_then(|shell| shell.into_string().ok());
    let shell = own.into_iter().chain(SHELLS.map(str::to_owned)).find(|shell| is_program(Path::new(shell)));
    let shell = shell.ok_or_else(|| {
        CliFailure::config("there is no shell on this machine").hint("name one with the variable SHELL")
    })?;
    run::run(args.run.at_the_screen_of(shell)?, session)
}

fn is_program(path: &Path) -> bool {
    path.is_absolute()
        && path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
