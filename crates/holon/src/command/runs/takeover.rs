//! `holon runs takeover`: a person asks the supervisor to lead a run that is going on.

use std::process::ExitCode;

use super::StoredRunArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;

/// Ask the supervisor to take over a run that is going on
///
/// It rebuilds the plan from the facts in the workspace, tells the agent the next step, and hands back when the run is
/// on its way again. Heard at the next beginning or end of a round; levels other than adaptive refuse, in the timeline.
#[derive(Debug, clap::Args)]
pub(crate) struct TakeoverArgs {
    #[command(flatten)]
    which: StoredRunArgs,
}

/// Leaves the wish in the run's folder, where its host looks for it.
pub(crate) fn run(args: &TakeoverArgs, session: &Session) -> CommandExit {
    let folder = args.which.find(session)?;
    let record = folder.record()?;
    if record.finished || !folder.is_alive() {
        let message = format!("run {} is not going on", record.id);
        return Err(CliFailure::config(message)
            .hint("only a running run can be taken over; `holon runs list` shows them"));
    }
    folder.ask_takeover("holon runs takeover")?;
    session
        .terminal
        .print(format!("asked for; `holon runs show {} --supervisor` tells what came of it\n", record.id))?;
    Ok(ExitCode::SUCCESS)
}
