//! `holon environment list`: what is kept.

use std::process::ExitCode;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::short;
use crate::CommandExit;
use crate::session::Session;
use crate::show::amount;
use crate::show::table::TextTable;

/// List the environments that are kept, the one used last first
#[derive(Debug, clap::Args)]
pub(crate) struct EnvironmentListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists them.
pub(crate) fn run(args: &EnvironmentListArgs, session: &Session) -> CommandExit {
    let all = holon_host::environment::EnvironmentStore::of(&session.places()?).list()?;
    let now = SystemTime::now();
    let days = |used: SystemTime| now.duration_since(used).unwrap_or_default().as_secs() / 86_400;
    if args.json {
        let value = |one: &holon_host::environment::StoredEnvironment| json!({ "environment": one.record, "unused_days": days(one.used), "in_use": one.in_use });
        let all: Vec<Value> = all.iter().map(value).collect();
        session.terminal.print(format!("{:#}\n", Value::Array(all)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        session.terminal.print("no environments\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::new(["environment", "size", "used", "setup", "made for"]);
    for one in &all {
        let used = match (one.in_use, days(one.used)) {
            (true, _) => "now".to_owned(),
            (false, 0) => "today".to_owned(),
            (false, days) => format!("{} ago", amount::count(days, "day")),
        };
        let setup = one.record.setup.commands.join("; ");
        let size = amount::bytes(one.record.bytes);
        table.row([short(&one.record.digest), &size, &used, &setup, &one.record.workspace]);
    }
    session.terminal.print(table.render(session.terminal.stdout))?;
    Ok(ExitCode::SUCCESS)
}
