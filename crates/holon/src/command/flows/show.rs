//! `holon flows show`: the steps of one flow.

use std::process::ExitCode;

use holon_core::suggest;

use super::FlowsWorkspaceArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::flow;

/// Show the steps of a flow: their modes, gates, files and loops
#[derive(Debug, clap::Args)]
pub(crate) struct FlowsShowArgs {
    /// The flow
    name: String,
    #[command(flatten)]
    whose: FlowsWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the steps.
pub(crate) fn run(args: &FlowsShowArgs, session: &Session) -> CommandExit {
    let catalog = args.whose.catalog(session)?;
    let terminal = &session.terminal;
    let found = catalog.find(&args.name).map_err(holon_flow::FlowError::from)?.ok_or_else(|| {
        let names: Vec<&str> = catalog.list().iter().map(|flow| flow.name.as_str()).collect();
        let hint = suggest::hint(&args.name, names.iter().copied());
        let message = format!("unknown flow `{}`{hint}", args.name);
        CliFailure::user(message, format!("the flows are: {}", names.join(", ")))
    })?;
    terminal.print(if args.json { flow::json(found) } else { flow::definition(found, terminal.stdout) })?;
    Ok(ExitCode::SUCCESS)
}
