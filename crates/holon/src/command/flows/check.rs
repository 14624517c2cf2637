//! `holon flows check`: what is wrong with flow files.

use std::path::PathBuf;
use std::process::ExitCode;

use holon_core::mode::ModeSource;
use holon_flow::FlowCatalog;
use holon_host::modes;

use super::FlowsWorkspaceArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::amount;
use crate::terminal::{TextStyle, visible};

/// Check flow files: those of the workspace and your own, or the ones named
#[derive(Debug, clap::Args)]
pub(crate) struct FlowsCheckArgs {
    /// Flow files to check as if they were the project's
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    whose: FlowsWorkspaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints every problem with its remedy; exit 1 when there is one.
pub(crate) fn run(args: &FlowsCheckArgs, session: &Session) -> CommandExit {
    let catalog = match args.files.as_slice() {
        [] => args.whose.catalog(session)?,
        files => named(files, args, session)?,
    };
    let terminal = &session.terminal;
    let refused = catalog.refused();
    let code = if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    let own = catalog.list().iter().filter(|flow| flow.source() != ModeSource::Builtin).count();
    if args.json {
        let wrong = refused.iter().map(|(name, error)| {
            serde_json::json!({
                "flow": name, "file": error.file, "line": error.line, "step": error.step, "key": error.key,
                "problem": error.problem, "remedy": error.remedy,
            })
        });
        let wrong: Vec<_> = wrong.collect();
        terminal.print(format!("{:#}\n", serde_json::json!({ "fine": own, "wrong": wrong })))?;
        return Ok(code);
    }
    for (_, error) in refused {
        let label = terminal.stdout.paint(TextStyle::Red, "wrong:");
        let remedy = terminal.stdout.paint(TextStyle::Cyan, "  do:");
        let (problem, what) = (visible(&error.to_string()), visible(&error.remedy));
        terminal.print(format!("{label} {problem}\n{remedy} {what}\n"))?;
    }
    if refused.is_empty() {
        let counted = amount::count(own as u64, "flow file");
        let verb = if own == 1 { "is" } else { "are" };
        let built_in = catalog.list().len() - own;
        terminal.print(format!("{counted} {verb} fine; {built_in} built-in flows\n"))?;
    }
    Ok(code)
}

/// Only the files that were named, beside the flows that come with Holon.
fn named(files: &[PathBuf], args: &FlowsCheckArgs, session: &Session) -> Result<FlowCatalog, CliFailure> {
    let workspace = session.workspace(args.whose.workspace.as_deref())?;
    let known = modes::catalog(&session.places()?, Some(&workspace))?;
    let mut catalog = FlowCatalog::builtin()?;
    for path in files {
        let text = modes::read_named_file(path, "FILE")?;
        // What is wrong is remembered by the catalogue.
        let _ = catalog.add(ModeSource::Project, &path.to_string_lossy(), &text, &known);
    }
    Ok(catalog)
}
