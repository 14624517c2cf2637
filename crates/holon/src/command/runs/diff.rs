//! `holon runs diff`: the patch of a run.

use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;

use holon_host::store::RunFolder;

use super::StoredRunArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::{patch, summary};

/// Print the patch of a run, coloured on a terminal
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  holon runs diff last | git apply --check")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    which: StoredRunArgs,
    /// Only say which files changed and by how much
    #[arg(long)]
    stat: bool,
}

/// Prints the patch.
pub(crate) fn run(args: &DiffArgs, session: &Session) -> CommandExit {
    let folder = args.which.find(session)?;
    let terminal = &session.terminal;
    let path = folder.output().join("diff.patch");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(no_patch(&folder)?);
        }
        Err(e) => return Err(CliFailure::io("read", &path)(e)),
    };
    if bytes.is_empty() {
        terminal.say("the agent changed nothing");
    } else if args.stat {
        terminal.print(summary::changed_files(&bytes, terminal.stdout))?;
    } else if terminal.stdout.tty {
        terminal.print(patch::coloured(&bytes, terminal.stdout))?;
    } else {
        terminal.deliver(bytes)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why there is nothing to print, and where what was kept back is.
fn no_patch(folder: &RunFolder) -> Result<CliFailure, CliFailure> {
    let record = folder.record()?;
    let kept = ["withheld.patch", "experiments.patch"].map(|name| folder.evidence().join(name));
    let hint = match kept.iter().find(|path| path.exists()) {
        Some(path) => format!("what was kept back is in {}, without credentials", path.display()),
        None => format!("see `holon runs show {}`", record.id),
    };
    let message = format!("run {} in mode {} delivered no patch", record.id, record.mode);
    Ok(CliFailure::config(message).hint(hint))
}
