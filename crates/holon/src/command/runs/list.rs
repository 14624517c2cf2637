//! `holon runs list`: every run of a workspace, newest first.

use std::process::ExitCode;

use holon_host::store::StoredRunSummary;
use serde_json::{Value, json};

use super::{RunsWorkspaceArgs, newest_first};
use crate::CommandExit;
use crate::session::Session;
use crate::show::table::TextTable;
use crate::show::{amount, summary};

/// List the runs of a workspace, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct RunsListArgs {
    #[command(flatten)]
    whose: RunsWorkspaceArgs,
    /// Show at most this many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(crate) fn run(args: &RunsListArgs, session: &Session) -> CommandExit {
    let mut runs = newest_first(&session.store(args.whose.workspace.as_deref())?)?;
    let none = runs.is_empty();
    runs.truncate(args.limit.unwrap_or(usize::MAX));
    let terminal = &session.terminal;
    if args.json {
        let rows: Vec<Value> = runs.iter().map(as_json).collect();
        terminal.print(format!("{:#}\n", json!(rows)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if none {
        terminal.say("no runs yet for this workspace; `holon run --help` shows how to start one");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::new(["RUN", "MODE", "OUTCOME", "TOOK", "CHANGES", "AGENT", "GOAL"]);
    for run in &runs {
        let record = &run.record;
        let (took, changes) = run.manifest.as_ref().map_or_else(Default::default, |manifest| {
            let c = &manifest.metadata.changes;
            let changes =
                if c.files == 0 { String::new() } else { format!("+{} -{}", c.insertions, c.deletions) };
            (amount::millis(manifest.duration_ms), changes)
        });
        let goal = crate::terminal::one_line(&record.goal, 48);
        table.row([record.id.as_str(), &record.mode, outcome(run), &took, &changes, &record.agent, &goal]);
    }
    terminal.print(table.render(terminal.stdout))?;
    Ok(ExitCode::SUCCESS)
}

fn outcome(run: &StoredRunSummary) -> &'static str {
    match &run.manifest {
        _ if run.alive => "running",
        Some(_) if run.record.applied_at.is_some() => "applied",
        Some(manifest) => summary::word(manifest).1,
        None if run.record.finished => "damaged",
        None => "unknown",
    }
}

fn as_json(run: &StoredRunSummary) -> Value {
    let manifest = run.manifest.as_ref().filter(|_| !run.alive);
    json!({
        "run_id": run.record.id,
        "mode": run.record.mode,
        "agent": run.record.agent,
        "goal": run.record.goal,
        "started_at": run.record.started_at,
        "running": run.alive,
        "damaged": run.manifest.is_none() && run.record.finished,
        "applied_at": run.record.applied_at,
        "status": manifest.map(|m| m.status),
        "outcome": manifest.map(|m| m.outcome),
        "exit_code": manifest.map(|m| m.exit_code),
        "duration_ms": manifest.map(|m| m.duration_ms),
        "changes": manifest.map(|m| &m.metadata.changes),
    })
}
