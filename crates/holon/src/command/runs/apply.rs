//! `holon runs apply`: the only way a run's changes reach the workspace afterwards.

use std::process::ExitCode;

use holon_git::apply::Outcome;

use super::Which;
use crate::Done;
use crate::session::{Session, variable};
use crate::show::applied;

/// Apply a run's patch to the workspace, all of it or nothing
///
/// Files that changed since the run are merged when those changes are committed or staged; otherwise nothing is
/// touched and the reasons are listed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  holon runs apply last\n  holon runs apply last --commit && git merge holon/ID"
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Commit the patch on the branch holon/RUN instead; your files, index and checked-out branch stay as they are, and no
    /// hook runs
    #[arg(long)]
    commit: bool,
}

/// Applies it and says what that did.
pub(crate) fn run(args: &Args, session: &Session) -> Done {
    let folder = args.which.find(session)?;
    if args.commit {
        let done = holon_host::run::commit(&folder, &variable)?;
        session.terminal.print(format!("{}\n", applied::on_branch(&done)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let done = holon_host::run::apply(&folder)?;
    session.terminal.print(format!("{}\n", applied::text(&done)))?;
    Ok(match done.outcome {
        Outcome::Refused { .. } => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}
