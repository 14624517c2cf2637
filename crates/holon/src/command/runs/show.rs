//! `holon runs show`: one run on one page.

use std::fs;
use std::process::ExitCode;

use holon_core::event::RunEvent;
use holon_host::recording::SupervisorRecording;
use holon_host::store::RunFolder;

use super::StoredRunArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::tasks::TaskRows;
use crate::show::{flow, manifest, supervisor};
use crate::terminal::Terminal;

/// Show what happened in a run: outcome, phases, walls, artifacts
#[derive(Debug, clap::Args)]
pub(crate) struct RunsShowArgs {
    #[command(flatten)]
    which: StoredRunArgs,
    /// Print the manifest as it is stored
    #[arg(long, conflicts_with = "events")]
    json: bool,
    /// Print the run's events as JSON lines
    #[arg(long)]
    events: bool,
    /// Show what the supervisor saw and decided: the plan, the phases, the reasons
    #[arg(long, conflicts_with = "events")]
    supervisor: bool,
}

/// Prints the run.
pub(crate) fn run(args: &RunsShowArgs, session: &Session) -> CommandExit {
    let folder = args.which.find(session)?;
    let terminal = &session.terminal;
    if args.supervisor {
        let recording = SupervisorRecording::of(&folder)?;
        let text =
            if args.json { supervisor::json(&recording) } else { supervisor::page(&recording, terminal)? };
        terminal.print(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = match (args.json, args.events) {
        (true, _) => Some(folder.output().join("manifest.json")),
        (_, true) => Some(folder.evidence().join("events.jsonl")),
        _ => None,
    };
    if let Some(path) = file {
        terminal.deliver(fs::read(&path).map_err(CliFailure::io("read", &path))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let record = folder.record()?;
    let path = folder.path().display().to_string();
    let found = if record.finished { folder.read_manifest()? } else { None };
    match found {
        None if record.finished => {
            return Err(CliFailure::config(format!("the manifest of run {} is gone", record.id))
                .hint(format!("what it left is in {path}")));
        }
        Some(found) => {
            let steps = found.metadata.flow.as_ref().map(|flow| flow::section(flow, terminal.stdout));
            let page = manifest::page(&record, &found, &path, terminal.stdout);
            terminal.print(page + &steps.unwrap_or_default())?;
        }
        None => terminal.print(format!(
            "running {} · {}\n  agent {}\n{}  `holon runs show {} --events` shows what it has done so far\n",
            record.mode,
            record.id,
            record.agent,
            tasks(&folder, terminal),
            record.id
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The tasks of an orchestration that is going on, and how to speak to one of them; nothing of other runs.
fn tasks(folder: &RunFolder, terminal: &Terminal) -> String {
    let events = fs::read_to_string(folder.evidence().join("events.jsonl")).unwrap_or_default();
    let mut rows = TaskRows::default();
    for event in events.lines().filter_map(|line| serde_json::from_str::<RunEvent>(line).ok()) {
        rows.take(&event, None);
    }
    let lines = rows.render(terminal.width.saturating_sub(2), terminal.stdout);
    if lines.is_empty() {
        return String::new();
    }
    let mut text: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    text += "  `holon runs task last/NAME say|stop|skip|retry` speaks to one of them\n";
    text
}
