//! `holon runs gc`: removes old runs.

use std::process::ExitCode;

use holon_core::HumanDuration;
use serde_json::json;

use super::RunsWorkspaceArgs;
use crate::CommandExit;
use crate::session::Session;
use crate::show::amount;

/// Remove old runs of a workspace
#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    /// How old a run must be
    #[arg(long, value_name = "DURATION", default_value = "30d")]
    older_than: HumanDuration,
    /// How many of the newest stay whatever their age
    #[arg(long, value_name = "N", default_value_t = 10)]
    keep: usize,
    #[command(flatten)]
    whose: RunsWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Removes them and says how many.
pub(crate) fn run(args: &GcArgs, session: &Session) -> CommandExit {
    let store = session.store(args.whose.workspace.as_deref())?;
    let report = store.gc(args.older_than.get(), args.keep)?;
    let text = if args.json {
        format!("{:#}\n", json!({ "removed": report.removed, "interrupted": report.interrupted }))
    } else {
        format!("removed {}\n", amount::count(report.removed.len() as u64, "run"))
    };
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
