//! `holon flows list`: every flow in one line.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{FlowsWorkspaceArgs, warn_of_refused};
use crate::CommandExit;
use crate::session::Session;
use crate::show::flow;
use crate::show::table::TextTable;

/// List every flow that --mode knows
#[derive(Debug, clap::Args)]
pub(crate) struct FlowsListArgs {
    #[command(flatten)]
    whose: FlowsWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(crate) fn run(args: &FlowsListArgs, session: &Session) -> CommandExit {
    let catalog = args.whose.catalog(session)?;
    warn_of_refused(&catalog, session);
    let terminal = &session.terminal;
    if args.json {
        let rows: Vec<Value> = catalog.list().iter().map(flow::value).collect();
        terminal.print(format!("{:#}\n", json!(rows)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::new(["FLOW", "STEPS", "FROM", "WHAT"]);
    for found in catalog.list() {
        let steps: Vec<&str> = found.steps.iter().map(|step| step.name.as_str()).collect();
        table.row([&found.name, &steps.join(", "), &found.source().to_string(), &found.description]);
    }
    terminal.print(table.render(terminal.stdout))?;
    Ok(ExitCode::SUCCESS)
}
