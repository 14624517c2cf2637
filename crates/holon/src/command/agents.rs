//! `holon agents`: which agents can be named.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use holon_host::adapter::{self, Kind};
use serde_json::json;

use crate::Done;
use crate::session::Session;
use crate::show::table::Table;

/// Agents and how they are driven
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the agents that --agent knows: built in, yours, the project's
    List {
        /// The folder whose agents count too [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Carries out one of them.
pub(crate) fn dispatch(command: Command, session: &Session) -> Done {
    let Command::List { workspace, json } = command;
    let workspace = session.workspace(workspace.as_deref())?;
    let adapters = adapter::list(&session.places()?, Some(&workspace))?;
    let kind = |kind| match kind {
        Kind::Native => "native",
        Kind::Exec => "exec",
        Kind::Image => "image",
    };
    if json {
        let rows: Vec<_> = adapters
            .iter()
            .map(|(source, a)| {
                json!({ "name": a.name, "kind": kind(a.kind), "source": source.to_string(), "description": a.description })
            })
            .collect();
        session.terminal.print(format!("{:#}\n", json!(rows)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["NAME", "KIND", "FROM", "WHAT"]);
    for (source, adapter) in &adapters {
        table.row([&adapter.name, kind(adapter.kind), &source.to_string(), &adapter.description]);
    }
    session.terminal.print(table.render(session.terminal.stdout))?;
    Ok(ExitCode::SUCCESS)
}
