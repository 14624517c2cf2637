//! `holon modes check`: what is wrong with mode files.

use std::path::PathBuf;
use std::process::ExitCode;

use holon_core::mode::{ModeCatalog, ModeSource, Profile};
use holon_host::HostError;

use super::{ModesWorkspaceArgs, read};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::amount;
use crate::terminal::{TextStyle, visible};

/// Check mode files: those of the workspace and your own, or the ones named
#[derive(Debug, clap::Args)]
pub(crate) struct ModesCheckArgs {
    /// Mode files to check as if they were the project's
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    whose: ModesWorkspaceArgs,
}

/// Prints every problem; exit 1 when there is one.
pub(crate) fn run(args: &ModesCheckArgs, session: &Session) -> CommandExit {
    let catalog = match args.files.as_slice() {
        [] => args.whose.catalog(session)?,
        files => named(files)?,
    };
    let terminal = &session.terminal;
    let mut problems: Vec<String> = catalog.problems().iter().map(|(_, error)| error.to_string()).collect();
    problems.extend(missing_prompts(&catalog));
    for problem in &problems {
        terminal.print(format!(
            "{} {}\n",
            terminal.stdout.paint(TextStyle::Red, "wrong:"),
            visible(problem)
        ))?;
    }
    if problems.is_empty() {
        let own = catalog.list().iter().filter(|mode| mode.source != ModeSource::Builtin).count();
        let built_in = catalog.list().len() - own;
        let counted = amount::count(own as u64, "mode file");
        terminal.print(format!(
            "{} fine; {built_in} built-in modes\n",
            if own == 1 { format!("{counted} is") } else { format!("{counted} are") }
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

/// Modes whose prompt is not where their file says: they could not be used.
fn missing_prompts(catalog: &ModeCatalog) -> Vec<String> {
    let own = catalog.list().into_iter().filter(|mode| mode.source != ModeSource::Builtin);
    let profiles = own.filter_map(|mode| catalog.resolve(&mode.name).ok());
    let wrong = |profile: Profile| {
        let error = holon_host::modes::prompt_text(&profile).err()?;
        Some(format!("{}: mode `{}`: prompt.file: {error}", profile.prompt.named_by, profile.name))
    };
    profiles.filter_map(wrong).collect()
}

fn named(files: &[PathBuf]) -> Result<ModeCatalog, CliFailure> {
    let mut catalog = ModeCatalog::builtin().map_err(HostError::from)?;
    for path in files {
        // What is wrong is remembered by the catalogue.
        let _ = catalog.add(ModeSource::Project, &path.to_string_lossy(), &read(path)?);
    }
    Ok(catalog)
}
