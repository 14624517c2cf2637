//! `holon runs undo`: the way back from an apply.

use std::process::ExitCode;

use holon_apply::ApplyOutcome;

use super::StoredRunArgs;
use crate::CommandExit;
use crate::session::Session;
use crate::show::applied;

/// Take back what applying a run's patch did to the workspace
///
/// Files are as they were before the apply. What you changed since stays: where it does not meet the run's lines both are
/// kept, and where it does nothing is touched. Works for 30 days after an apply.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  holon runs undo last\n  holon runs apply last        and in again")]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    which: StoredRunArgs,
}

/// Takes it back and says what that did.
pub(crate) fn run(args: &UndoArgs, session: &Session) -> CommandExit {
    let folder = args.which.find(session)?;
    let done = holon_host::run::undo(&folder, &session.places()?)?;
    session.terminal.print(format!("{}\n", applied::undone(&done)))?;
    if !matches!(done.outcome, ApplyOutcome::Refused { .. }) && folder.record()?.applied_at.is_some() {
        session.terminal.print(
            "an earlier apply of this run is still in place: the same command once more takes it back, too\n",
        )?;
    }
    Ok(match done.outcome {
        ApplyOutcome::Refused { .. } => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}
