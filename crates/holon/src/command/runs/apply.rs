//! `holon runs apply`: the only way a run's changes reach the workspace afterwards.

use std::process::ExitCode;

use holon_git::apply::Outcome;

use super::Which;
use crate::Done;
use crate::session::Session;
use crate::show::applied;

/// Apply a run's patch to the workspace, all of it or nothing
///
/// Files that changed since the run are merged when those changes are committed or staged; otherwise nothing is
/// touched and the reasons are listed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
}

/// Applies it and says what that did.
pub(crate) fn run(args: &Args, session: &Session) -> Done {
    let folder = args.which.find(session)?;
    let done = holon_host::run::apply(&folder)?;
    session.terminal.print(format!("{}\n", applied::text(&done)))?;
    Ok(match done.outcome {
        Outcome::Refused { .. } => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}
