//! `holon schema`: JSON Schemas of everything people and programs exchange with Holon.

use std::process::ExitCode;

use holon_core::{schema, suggest};

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;

/// The schema of plans.
const RUN_PLAN: &str = "run-plan";

/// Print the JSON Schema of a file or message
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  holon schema review > review.schema.json")]
pub(crate) struct SchemaArgs {
    /// Which one; without it, their names are listed
    name: Option<String>,
    /// List the names
    #[arg(long, conflicts_with = "name")]
    list: bool,
}

/// Prints the schema or the names.
pub(crate) fn run(args: &SchemaArgs, session: &Session) -> CommandExit {
    // Plans are put together above the crate that holds the other schemas.
    let names = || schema::schemas().iter().map(|(name, _)| *name).chain([RUN_PLAN]);
    let text = match args.name.as_deref().filter(|_| !args.list) {
        None => names().map(|name| format!("{name}\n")).collect(),
        Some(RUN_PLAN) => format!("{:#}\n", holon_host::plan::schema()),
        Some(name) => schema::render(name).ok_or_else(|| {
            let message = format!("unknown schema `{name}`{}", suggest::hint(name, names()));
            CliFailure::user(message, format!("the schemas are: {}", names().collect::<Vec<_>>().join(", ")))
        })?,
    };
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
