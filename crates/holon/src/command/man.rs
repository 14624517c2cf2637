//! `holon man`: the manual pages, made from the same description as the help.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_mangen::Man;

use crate::failure::CliFailure;
use crate::session::Session;
use crate::{CommandExit, cli};

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  holon man | man -l -\n  holon man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this folder instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints or writes the pages.
pub(crate) fn run(args: &ManArgs, session: &Session) -> CommandExit {
    let mut command = cli::definition();
    // Gives every command its full name.
    command.build();
    let Some(folder) = &args.out else {
        session.terminal.deliver(page(command)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(folder).map_err(CliFailure::io("create", folder))?;
    let mut written = Vec::new();
    write_all(&command, folder, &mut written)?;
    for path in written {
        session.terminal.print(format!("{}\n", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(command: &clap::Command, folder: &Path, written: &mut Vec<PathBuf>) -> Result<(), CliFailure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    fs::write(&path, page(command.clone())?).map_err(CliFailure::io("write", &path))?;
    written.push(path);
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_all(sub, folder, written)?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, CliFailure> {
    let mut bytes = Vec::new();
    let made = Man::new(command).render(&mut bytes);
    made.map_err(|e| CliFailure::internal(format!("cannot make the manual page: {e}")))?;
    Ok(bytes)
}
