//! `holon runs replay`: a stored run once more, with the model's recorded words.

use std::process::ExitCode;

use super::Which;
use crate::Done;
use crate::command::run;
use crate::session::Session;
use crate::show::progress::Progress;
use crate::stop;

/// Run a run of the native agent again, with what the model said then, and say what differs
///
/// Works offline, in a new snapshot of the workspace as it is now. Times and ids differ by nature and are not
/// compared. A request that is not the recorded one ends the replay and is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Show nothing while it runs
    #[arg(long)]
    quiet: bool,
}

/// Replays it; exit 1 when anything is different.
pub(crate) fn run(args: &Args, session: &Session) -> Done {
    let folder = args.which.find(session)?;
    let host = run::host(session)?;
    let cancel = stop::on_signals()?;
    let mut progress = Progress::new(&session.terminal, false, args.quiet);
    let replayed = host.replay(&folder, &mut progress, &cancel);
    drop(progress);
    let replayed = replayed?;
    let id = replayed.finished.manifest.run_id.as_str();
    if replayed.differences.is_empty() {
        session.terminal.print(format!("the same but for times and ids; the new run is {id}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("the replay is different; the new run is {id}\n");
    for difference in &replayed.differences {
        text += &format!("  {}\n", crate::terminal::visible(difference));
    }
    if let Some(error) = &replayed.finished.manifest.error {
        text += &format!("{}\n", crate::terminal::visible(&error.message));
    }
    session.terminal.print(text)?;
    Ok(ExitCode::FAILURE)
}
