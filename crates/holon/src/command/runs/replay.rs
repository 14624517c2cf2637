//! `holon runs replay`: a stored run once more, with the model's recorded words.

use std::process::ExitCode;

use holon_host::recording::SupervisorRecording;
use holon_host::store::RunFolder;

use super::StoredRunArgs;
use crate::CommandExit;
use crate::command::overrule::audit;
use crate::command::run;
use crate::command::run::SupervisorFlag;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::progress::RunProgress;
use crate::show::supervisor;
use crate::stop;

/// Run a run of the native agent again, with what the model said then, and say what differs
///
/// Works offline, in a new snapshot of the workspace as it is now. Times and ids differ by nature and are not
/// compared. A request that is not the recorded one ends the replay and is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    which: StoredRunArgs,
    /// Run nothing: say what the supervisor would have done at this level, from the recorded facts alone
    #[arg(long, value_name = "LEVEL")]
    supervisor: Option<SupervisorFlag>,
    /// Show nothing while it runs
    #[arg(long)]
    quiet: bool,
}

/// What another level would have done; the facts must first lead to the decisions that were made.
fn what_if(folder: &RunFolder, level: SupervisorFlag, session: &Session) -> CommandExit {
    let recording = SupervisorRecording::of(folder)?;
    let checked = recording.verify().map_err(|difference| {
        CliFailure::internal(format!(
            "the recorded facts do not lead to the recorded decisions: {difference}"
        ))
    })?;
    let found = recording.under(level.into())?;
    let text = supervisor::what_if(&recording, level.name(), checked, &found, &session.terminal);
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Replays it; exit 1 when anything is different.
pub(crate) fn run(args: &ReplayArgs, session: &Session) -> CommandExit {
    let folder = args.which.find(session)?;
    if let Some(level) = args.supervisor {
        return what_if(&folder, level, session);
    }
    let host = run::host(session)?;
    let cancel = stop::on_signals()?;
    let mut progress = RunProgress::new(&session.terminal, false, args.quiet);
    let replayed = host.replay(&folder, &mut progress, &cancel);
    drop(progress);
    let replayed = replayed?;
    let made = RunFolder::open(replayed.finished.folder.clone());
    holon_flow::sealed::seal_and_tell(&audit(session)?, "replay", &made, &replayed.finished.manifest);
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
