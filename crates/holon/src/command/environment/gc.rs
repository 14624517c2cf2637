//! `holon environment gc`: removes what nobody used lately.

use std::process::ExitCode;

use holon_core::HumanDuration;
use holon_host::environment::EnvironmentStore;
use serde_json::json;

use crate::CommandExit;
use crate::session::Session;
use crate::show::amount;

/// Remove environments that no run used lately
///
/// What runs stand on now stays. What a killed process left half made goes, too, and so do files that no environment has any more.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvironmentGcArgs {
    /// How long nobody may have used one
    #[arg(long, value_name = "DURATION", default_value = "30d")]
    unused_for: HumanDuration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Removes them and says how many.
pub(crate) fn run(args: &EnvironmentGcArgs, session: &Session) -> CommandExit {
    let garbage = EnvironmentStore::of(&session.places()?).collect_garbage(args.unused_for.get())?;
    let text = if args.json {
        let value =
            json!({ "removed": garbage.removed, "unfinished": garbage.unfinished, "bytes": garbage.bytes });
        format!("{value:#}\n")
    } else {
        let removed = amount::count(garbage.removed.len() as u64, "environment");
        let unfinished = match garbage.unfinished {
            0 => String::new(),
            number => {
                format!(" and {number} that {} never finished", if number == 1 { "was" } else { "were" })
            }
        };
        format!("removed {removed}{unfinished}; {} freed\n", amount::bytes(garbage.bytes))
    };
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
