//! `holon modes list`: every mode in one line.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::ModesWorkspaceArgs;
use crate::CommandExit;
use crate::session::Session;
use crate::show::table::TextTable;

/// List every mode that --mode knows
#[derive(Debug, clap::Args)]
pub(crate) struct ModesListArgs {
    #[command(flatten)]
    whose: ModesWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(crate) fn run(args: &ModesListArgs, session: &Session) -> CommandExit {
    let catalog = args.whose.catalog_with_warnings(session)?;
    let terminal = &session.terminal;
    let mut table = TextTable::new(["MODE", "WORKSPACE", "PRODUCES", "FROM", "WHAT"]);
    let mut rows: Vec<Value> = Vec::new();
    for mode in catalog.list() {
        let (access, required) = match catalog.resolve(&mode.name) {
            Ok(profile) => (profile.access.label().to_owned(), profile.artifacts.required),
            Err(_) => ("broken".to_owned(), Vec::new()),
        };
        rows.push(json!({
            "name": mode.name,
            "aliases": mode.aliases,
            "workspace": access,
            "required": required,
            "source": mode.source.to_string(),
            "description": mode.description,
        }));
        table.row([&mode.name, &access, &required.join(", "), &mode.source.to_string(), &mode.description]);
    }
    for flow in holon_flow::builtin::all()? {
        let steps: Vec<&str> = flow.steps.iter().map(|step| step.name.as_str()).collect();
        let files = flow.steps.iter().flat_map(|step| &step.deliver).filter(|file| !file.optional);
        let mut required: Vec<String> = files.map(|file| file.name.clone()).collect();
        required.sort();
        required.dedup();
        rows.push(json!({
            "name": flow.name,
            "aliases": [],
            "workspace": "steps",
            "steps": steps,
            "required": required,
            "source": "built-in",
            "description": flow.description,
        }));
        table.row([&flow.name, "steps", &required.join(", "), "built-in", &flow.description]);
    }
    let text = if args.json { format!("{:#}\n", json!(rows)) } else { table.render(terminal.stdout) };
    terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
