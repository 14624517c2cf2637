//! `holon config show`: every value that holds, with its origin.

use std::path::PathBuf;
use std::process::ExitCode;

use holon_core::config::ConfigValue;
use holon_host::{config, modes};
use serde_json::json;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{Session, variable};
use crate::terminal::visible;

/// Show what holds here
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  holon config show --origin\n  HOLON_MODELS__SELECTION=off holon config show --json"
)]
pub(crate) struct ConfigShowArgs {
    /// Say where each value comes from
    #[arg(long)]
    origin: bool,
    /// The folder it is about [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// As JSON, with origins
    #[arg(long)]
    json: bool,
}

/// Prints the values; what is wrong with files goes to standard error.
pub(super) fn run(args: &ConfigShowArgs, session: &Session) -> CommandExit {
    let workspace = session.workspace(args.workspace.as_deref())?;
    let places = session.places()?;
    let config = config::read(&places, &workspace, &variable)?;
    let modes = config::mode_warnings(&config, &modes::catalog(&places, Some(&workspace))?);
    for warning in config.warnings.iter().map(ToString::to_string).chain(modes) {
        session.terminal.say(&format!("warning: {}", visible(&warning)));
    }
    let rows = config.rows();
    if args.json {
        let value = |found: &ConfigValue| json!({ "value": found.value, "origin": found.source.to_string() });
        let all: serde_json::Map<_, _> =
            rows.iter().map(|(name, found)| (name.clone(), value(found))).collect();
        let text = serde_json::to_string_pretty(&all).map_err(|e| CliFailure::config(e.to_string()))?;
        session.terminal.print(text + "\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let widest =
        rows.iter().map(|(name, found)| name.len() + found.value.to_string().len()).max().unwrap_or(0);
    let line = |(name, found): (&String, &ConfigValue)| {
        let said = format!("{name} = {}", visible(&found.value.to_string()));
        if args.origin {
            format!("{said:<width$}  # {}\n", visible(&found.source.to_string()), width = widest + 3)
        } else {
            format!("{said}\n")
        }
    };
    session.terminal.print(rows.iter().map(line).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
