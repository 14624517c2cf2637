//! `holon runs`: what earlier runs left.

mod apply;
mod attach;
mod diff;
mod gc;
mod list;
mod replay;
mod rm;
mod show;
mod takeover;
mod task;
mod undo;
mod verify;

pub(crate) use apply::apply_folder;
pub(crate) use verify::place_of;

use std::path::PathBuf;

use clap::Subcommand;
use holon_host::store::{RunFolder, RunStore, StoredRunSummary};

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;

/// Look at, apply and remove earlier runs
///
/// A run is named by its id, by the beginning or end of it when that is unique, or as `last`; a step of a flow as
/// FLOW/STEP.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon runs list\n  holon runs show last\n  holon runs diff last\n  holon runs apply last        bring it into your files\n  holon runs undo last         and out again\n  holon runs verify last       is what its manifest says true?"
)]
pub(crate) enum RunsCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Diff(diff::DiffArgs),
    Apply(apply::ApplyArgs),
    Attach(attach::AttachArgs),
    Undo(undo::UndoArgs),
    Replay(replay::ReplayArgs),
    Verify(verify::RunsVerifyArgs),
    Takeover(takeover::TakeoverArgs),
    Task(task::TaskArgs),
    Rm(rm::RmArgs),
    Gc(gc::GcArgs),
}

/// The workspace whose runs are meant.
#[derive(Debug, clap::Args)]
pub(crate) struct RunsWorkspaceArgs {
    /// The folder whose runs are meant [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

impl RunsWorkspaceArgs {
    /// Those of a folder.
    pub(crate) fn of(workspace: Option<&std::path::Path>) -> Self {
        Self { workspace: workspace.map(std::path::Path::to_owned) }
    }
}

/// One run of a workspace.
#[derive(Debug, clap::Args)]
pub(crate) struct StoredRunArgs {
    /// The run: its id, the beginning or end of it, or `last`; a step of a flow as FLOW/STEP
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    whose: RunsWorkspaceArgs,
}

impl StoredRunArgs {
    /// As it was given.
    fn words(&self) -> String {
        let workspace =
            self.whose.workspace.as_ref().map(|path| format!(" --workspace '{}'", path.display()));
        format!("{}{}", self.run, workspace.unwrap_or_default())
    }

    fn find(&self, session: &Session) -> Result<RunFolder, CliFailure> {
        let store = session.store(self.whose.workspace.as_deref())?;
        match find(&store, &self.run) {
            // A step of a flow is kept inside it.
            Err(failure) => holon_flow::find_step(&session.places()?, &store, &self.run).ok_or(failure),
            found => found,
        }
    }
}

/// A run by its id, a part of it, or `last`.
pub(crate) fn find(store: &RunStore, name: &str) -> Result<RunFolder, CliFailure> {
    // Ids tell seconds apart, no less; the record knows which of two quick runs came later.
    let last = if name == "last" { newest_first(store)?.into_iter().next() } else { None };
    match last {
        Some(summary) => Ok(store.open(&summary.record.id)),
        None => Ok(store.find(name)?),
    }
}

/// Every run, the one started last first.
fn newest_first(store: &RunStore) -> Result<Vec<StoredRunSummary>, CliFailure> {
    let mut runs = store.list()?;
    runs.sort_by(|a, b| b.record.started_at.cmp(&a.record.started_at));
    Ok(runs)
}

/// Carries out one of them.
pub(crate) fn dispatch(command: RunsCommand, session: &Session) -> CommandExit {
    match command {
        RunsCommand::List(args) => list::run(&args, session),
        RunsCommand::Show(args) => show::run(&args, session),
        RunsCommand::Diff(args) => diff::run(&args, session),
        RunsCommand::Apply(args) => apply::run(&args, session),
        RunsCommand::Attach(args) => attach::run(&args, session),
        RunsCommand::Undo(args) => undo::run(&args, session),
        RunsCommand::Replay(args) => replay::run(&args, session),
        RunsCommand::Verify(args) => verify::run(&args, session),
        RunsCommand::Takeover(args) => takeover::run(&args, session),
        RunsCommand::Task(args) => task::run(&args, session),
        RunsCommand::Rm(args) => rm::run(&args, session),
        RunsCommand::Gc(args) => gc::run(&args, session),
    }
}
