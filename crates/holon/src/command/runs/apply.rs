//! `holon runs apply`: the only way a run's changes reach the workspace afterwards.

use std::process::ExitCode;

use holon_apply::ApplyOutcome;
use holon_core::release::ReleaseTarget;
use holon_flow::release;
use holon_host::store::RunFolder;

use super::{RunsWorkspaceArgs, StoredRunArgs};
use crate::CommandExit;
use crate::command::overrule::{self, OverrideArgs};
use crate::commander::Commander;
use crate::session::{Session, variable};
use crate::show::applied;

/// Apply a run's patch to the workspace, all of it or nothing
///
/// Files that changed since the run are merged with your changes. Where both changed the same lines nothing is touched, and
/// the agent's version is kept beside the run for you to compare. `holon runs undo` takes an apply back. What was blocked
/// stays where it is: a part of a flow or orchestration that failed, is blocked or not over, and changes of files that steer
/// agents, CI, git or Holon itself, need a second word. Exit code 2 says that a person has to look first, and the hint what
/// to add.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  holon runs apply last\n  holon runs apply last --commit && git merge holon/ID\n  holon runs apply last --override sensitive --reason \"I have read the new workflow\""
)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    which: StoredRunArgs,
    /// Commit the patch on the branch holon/RUN instead; your files, index and checked-out branch stay as they are, and no
    /// hook runs
    #[arg(long)]
    commit: bool,
    #[command(flatten)]
    overruling: OverrideArgs,
}

/// Applies what nobody holds back.
pub(crate) fn apply_folder(folder: &RunFolder, session: &Session) -> CommandExit {
    let id = folder.record()?.id;
    let which = StoredRunArgs { run: id.as_str().to_owned(), whose: RunsWorkspaceArgs::of(None) };
    let args = ApplyArgs { which, commit: false, overruling: OverrideArgs::default() };
    apply(&args, folder, session)
}

/// Applies it and says what that did.
pub(crate) fn run(args: &ApplyArgs, session: &Session) -> CommandExit {
    apply(args, &args.which.find(session)?, session)
}

fn apply(args: &ApplyArgs, folder: &RunFolder, session: &Session) -> CommandExit {
    let target = if args.commit { ReleaseTarget::Commit } else { ReleaseTarget::Apply };
    let decision = args.overruling.settle(folder, target, &args.command(), session)?;
    let (text, code, outcome) = if args.commit {
        let done = holon_host::run::commit(folder, &variable)?;
        (applied::on_branch(&done), ExitCode::SUCCESS, "committed")
    } else {
        let done = holon_host::run::apply(folder, &session.places()?)?;
        match done.outcome {
            ApplyOutcome::Refused { .. } => (applied::text(&done), ExitCode::FAILURE, "conflicts"),
            _ => (applied::text(&done), ExitCode::SUCCESS, "applied"),
        }
    };
    session.terminal.print(format!("{text}\n"))?;
    let noted = overrule::audit(session).and_then(|audit| {
        Ok(release::note_release(&audit, &Commander::of_process().name, &decision, outcome)?)
    });
    // It has left, whatever the log says; only a word against the gate has to be in it first.
    if let Err(failure) = noted {
        session.terminal.say("warning: this is not in the audit log:");
        failure.report(&session.terminal);
    }
    Ok(code)
}

impl ApplyArgs {
    /// The command as it was given, for the hint that says what to add.
    fn command(&self) -> String {
        let commit = if self.commit { " --commit" } else { "" };
        format!("holon runs apply {}{commit}", self.which.words())
    }
}
