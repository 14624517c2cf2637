//! `holon context`: material for a run from where people talk about it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use holon_publish::PublishTarget;
use holon_publish::context::{ContextBounds, collect, write};

use crate::CommandExit;
use crate::command::publish::{ForgeArgs, connect};
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::amount;
use crate::terminal::visible;

/// Collect what people wrote about a piece of work, as files for a run
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    Collect(ContextCollectArgs),
}

/// Write an issue or pull request as context files: texts, threads, checks, diff
///
/// Everything in them was written by someone else and is marked as that. Texts that nobody sees on the page are left out,
/// lengths are bounded, and index.json says what is missing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  holon context collect octocat/hello#12 --out context\n  holon run --mode plan --goal \"Solve the issue\" --context context --agent ./agent.sh"
)]
pub(crate) struct ContextCollectArgs {
    /// The issue or pull request, as OWNER/REPO#NUMBER
    #[arg(value_name = "TARGET")]
    target: String,
    /// The folder to write: a new or empty one, or one that holds earlier context
    #[arg(long, value_name = "DIR", default_value = "context")]
    out: PathBuf,
    /// The most entries of each list; the newest are kept
    #[arg(long, value_name = "N", default_value_t = ContextBounds::default().entries)]
    max_entries: usize,
    /// The most KiB of each file
    #[arg(long, value_name = "N", default_value_t = ContextBounds::default().file_bytes / 1024)]
    max_file_kib: usize,
    #[command(flatten)]
    forge: ForgeArgs,
    /// Print the index as JSON
    #[arg(long)]
    json: bool,
}

/// Carries out one of them.
pub(crate) fn dispatch(command: ContextCommand, session: &Session) -> CommandExit {
    let ContextCommand::Collect(args) = command;
    let target: PublishTarget = args.target.parse()?;
    if target.number.is_none() {
        return Err(CliFailure::user("an issue or pull request is needed", "name it as OWNER/REPO#NUMBER"));
    }
    // Public repositories can be read by anyone.
    let mut connection = connect(&args.forge, &target.repo, false)?;
    let bounds = ContextBounds {
        entries: args.max_entries.max(1),
        file_bytes: args.max_file_kib.clamp(1, 1 << 20) * 1024,
    };
    let files = collect(&mut connection.api, &target, bounds)?;
    let index = write(&args.out, &target, &files)?;
    if args.json {
        let text = serde_json::to_string_pretty(&index).map_err(|e| CliFailure::internal(e.to_string()))?;
        session.terminal.print(text + "\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{} in {}\n", amount::count(index.files.len() as u64, "file"), args.out.display());
    for file in &index.files {
        text.push_str(&format!("  {:12} {}\n", file.path, file.what));
        file.left_out
            .iter()
            .for_each(|left| text.push_str(&format!("  {:12} left out: {}\n", "", visible(left))));
    }
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}
