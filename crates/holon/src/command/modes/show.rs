//! `holon modes show`: one mode with the origin of each value.

use std::process::ExitCode;

use holon_host::HostError;
use serde_json::json;

use super::ModesWorkspaceArgs;
use crate::CommandExit;
use crate::session::Session;
use crate::show::flow;
use crate::show::table::TextTable;

/// Show what a mode binds, and where each value comes from
#[derive(Debug, clap::Args)]
pub(crate) struct ModesShowArgs {
    /// The mode, by name or alias
    name: String,
    #[command(flatten)]
    whose: ModesWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the resolved profile.
pub(crate) fn run(args: &ModesShowArgs, session: &Session) -> CommandExit {
    let catalog = args.whose.catalog_with_warnings(session)?;
    let terminal = &session.terminal;
    if let Some(found) = holon_flow::builtin::find(&args.name)? {
        terminal.print(if args.json {
            flow::json(&found)
        } else {
            flow::definition(&found, terminal.stdout)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let profile = catalog.resolve(&args.name).map_err(|e| flow::with_flows(HostError::from(e)))?;
    if args.json {
        let text = format!("{:#}\n", json!({ "profile": profile, "rows": profile.rows() }));
        terminal.print(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = profile.name.clone();
    if !profile.aliases.is_empty() {
        text.push_str(&format!(" (also {})", profile.aliases.join(", ")));
    }
    if !profile.lineage.is_empty() {
        text.push_str(&format!(", extends {}", profile.lineage.join(", which extends ")));
    }
    text.push('\n');
    let mut table = TextTable::new(["KEY", "VALUE", "FROM"]);
    for row in profile.rows() {
        table.row([&row.key, &row.value, &row.origin.to_string()]);
    }
    terminal.print(text + &table.render(terminal.stdout))?;
    Ok(ExitCode::SUCCESS)
}
