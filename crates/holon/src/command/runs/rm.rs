//! `holon runs rm`: removes runs that are over.

use std::process::ExitCode;

use super::{RunsWorkspaceArgs, find};
use crate::CommandExit;
use crate::session::Session;

/// Remove runs that are over, with everything they left
#[derive(Debug, clap::Args)]
pub(crate) struct RmArgs {
    /// The runs: ids, beginnings or ends of them, or `last`
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    #[command(flatten)]
    whose: RunsWorkspaceArgs,
}

/// Removes them; all are found before the first one goes.
pub(crate) fn run(args: &RmArgs, session: &Session) -> CommandExit {
    let store = session.store(args.whose.workspace.as_deref())?;
    let folders = args.runs.iter().map(|name| find(&store, name)).collect::<Result<Vec<_>, _>>()?;
    for folder in folders {
        store.remove(&folder)?;
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        session.terminal.print(format!("removed {name}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
