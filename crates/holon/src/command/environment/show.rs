//! `holon environment show`: how a project is set up, and whether that is made.

use std::process::ExitCode;

use holon_environment::SetupStanding;
use holon_host::environment::EnvironmentStore;
use serde_json::json;

use super::{EnvironmentWorkspaceArgs, ShownProject, page, short};
use crate::CommandExit;
use crate::session::Session;
use crate::show::amount;
use crate::terminal::visible;

/// Show how the project is set up, who says so, and what is kept of it
///
/// Nothing is run. The setup is your own (below [environment] in your configuration), else the repository's (in holon.toml), else what
/// its files suggest: a devcontainer.json or lock files.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvironmentShowArgs {
    #[command(flatten)]
    whose: EnvironmentWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows it.
pub(crate) fn run(args: &EnvironmentShowArgs, session: &Session) -> CommandExit {
    let project = ShownProject::of(&args.whose, session)?;
    let found = project.wanted()?;
    let kept = EnvironmentStore::of(&project.host.places).list()?;
    let kept = kept.into_iter().find(|kept| kept.record.digest == found.digest);
    if args.json {
        let standing = match found.standing {
            SetupStanding::Own => "own",
            SetupStanding::Agreed => "agreed",
            SetupStanding::Unknown => "unknown",
        };
        let value = json!({
            "digest": found.digest,
            "setup": found.setup,
            "setup_digest": found.setup.digest(),
            "standing": standing,
            "inputs": found.inputs,
            "kept": kept.map(|kept| kept.record),
        });
        session.terminal.print(format!("{value:#}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("environment {}\n", short(&found.digest));
    text.push_str(&page(&found.setup, found.standing, session.terminal.stdout));
    text.push_str(&format!("  goes by: {}\n", visible(&found.inputs.join(", "))));
    match kept {
        None if found.standing.may_run() => {
            text.push_str("  not made yet: the next run makes it, or `holon environment build`\n");
        }
        None => text.push_str("  not made\n"),
        Some(kept) => {
            let record = kept.record;
            let size = amount::bytes(record.bytes);
            let files = amount::count(record.files, "file");
            text.push_str(&format!("  made {} by run {}: {files}, {size}\n", record.made_at, record.run));
            for root in &record.roots {
                text.push_str(&format!("  brings {}\n", visible(root)));
            }
            if !record.packages.is_empty() {
                let packages = amount::count(record.packages.len() as u64, "package");
                text.push_str(&format!("  brought in: {packages}\n"));
            }
            for one in &record.left_out {
                text.push_str(&format!("  left out {}: {}\n", visible(&one.path), visible(&one.why)));
            }
        }
    }
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
