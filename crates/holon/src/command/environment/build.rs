//! `holon environment build`: makes the environment of a project.

use std::process::ExitCode;

use holon_host::environment::EnvironmentOrder;
use holon_host::plan::PlannedEnvironment;
use serde_json::json;

use super::{EnvironmentWorkspaceArgs, ShownProject, short};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::amount;
use crate::show::progress::RunProgress;
use crate::stop;
use crate::terminal::visible;

/// Make the environment of the project now
///
/// Its setup runs behind the walls with what it may reach. What it leaves in ignored folders and in its private home is kept; later
/// runs start on it, without network. Tracked files that it changes are named and left out.
#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// Make it once more although it is there
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    whose: EnvironmentWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Makes it.
pub(crate) fn run(args: &BuildArgs, session: &Session) -> CommandExit {
    let project = ShownProject::of(&args.whose, session)?;
    let found = project.wanted()?;
    if !found.standing.may_run() {
        return Err(CliFailure::user(
            format!("you have not agreed to the setup that {} brings", found.setup.source),
            "`holon environment trust` shows it and asks you",
        ));
    }
    let environment = PlannedEnvironment { digest: found.digest.clone(), setup: found.setup.clone() };
    let cancel = stop::on_signals()?;
    let mut progress = RunProgress::new(&session.terminal, false, args.json);
    let order = EnvironmentOrder {
        environment: &environment,
        workspace: &project.workspace,
        snapshot: Default::default(),
        again: args.again,
    };
    let built = project.host.build_environment(&order, &mut progress, &cancel);
    drop(progress);
    let built = built?;
    let record = &built.open.record;
    if args.json {
        let value = json!({ "made_now": built.made.is_some(), "environment": record });
        session.terminal.print(format!("{value:#}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = if built.made.is_some() { "made" } else { "is there already, made" };
    let mut text = format!("environment {}: {what} by run {}\n", short(&record.digest), record.run);
    let files = amount::count(record.files, "file");
    text.push_str(&format!("  {files}, {}\n", amount::bytes(record.bytes)));
    for root in &record.roots {
        text.push_str(&format!("  brings {}\n", visible(root)));
    }
    if !record.packages.is_empty() {
        text.push_str(&format!("  brought in: {}\n", amount::count(record.packages.len() as u64, "package")));
    }
    for one in &record.left_out {
        text.push_str(&format!("  left out {}: {}\n", visible(&one.path), visible(&one.why)));
    }
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
