//! `holon modes list`: every mode in one line.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::Whose;
use crate::Done;
use crate::session::Session;
use crate::show::table::Table;

/// List every mode that --mode knows
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    whose: Whose,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub(crate) fn run(args: &Args, session: &Session) -> Done {
    let catalog = args.whose.catalog_with_warnings(session)?;
    let terminal = &session.terminal;
    let mut table = Table::new(["MODE", "WORKSPACE", "PRODUCES", "FROM", "WHAT"]);
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
    let text = if args.json { format!("{:#}\n", json!(rows)) } else { table.render(terminal.stdout) };
    terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
