//! `holon modes`: what a run may do, by name.

mod check;
mod list;
mod new;
mod show;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use holon_core::mode::ModeCatalog;
use holon_host::{HostError, modes};

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::visible;

/// More than any mode file may have.
const LONGEST: u64 = 4 << 20;

/// List, show, write and check modes
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon modes list\n  holon modes show plan        what it may do, and who says so\n  holon modes new plan-strict --extends plan"
)]
pub(crate) enum ModesCommand {
    List(list::ModesListArgs),
    Show(show::ModesShowArgs),
    New(new::ModesNewArgs),
    Check(check::ModesCheckArgs),
}

/// The workspace whose modes count.
#[derive(Debug, clap::Args)]
pub(crate) struct ModesWorkspaceArgs {
    /// The folder whose modes count too [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

impl ModesWorkspaceArgs {
    /// Every mode that can be named there. A file that is wrong does not hide the others: the catalogue remembers it.
    fn catalog(&self, session: &Session) -> Result<ModeCatalog, CliFailure> {
        let workspace = session.workspace(self.workspace.as_deref())?;
        let mut catalog = ModeCatalog::builtin().map_err(HostError::from)?;
        for (source, folder) in modes::folders(&session.places()?, Some(&workspace)) {
            for path in mode_files(&folder) {
                let _ = catalog.add(source, &path.to_string_lossy(), &read(&path)?);
            }
        }
        Ok(catalog)
    }

    /// The same, with a warning for each file that was refused.
    fn catalog_with_warnings(&self, session: &Session) -> Result<ModeCatalog, CliFailure> {
        let catalog = self.catalog(session)?;
        for (_, error) in catalog.refused() {
            session.terminal.say(&format!("warning: {}", visible(&error.to_string())));
        }
        Ok(catalog)
    }
}

/// Regular `*.toml` files in name order, links left out.
fn mode_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let regular = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<PathBuf> = regular.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    files.sort();
    files
}

/// A mode file's text, with just enough of a large one to be told that it is too large.
fn read(path: &Path) -> Result<String, CliFailure> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(CliFailure::io("read", path))?;
    file.take(LONGEST).read_to_end(&mut bytes).map_err(CliFailure::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Carries out one of them.
pub(crate) fn dispatch(command: ModesCommand, session: &Session) -> CommandExit {
    match command {
        ModesCommand::List(args) => list::run(&args, session),
        ModesCommand::Show(args) => show::run(&args, session),
        ModesCommand::New(args) => new::run(&args, session),
        ModesCommand::Check(args) => check::run(&args, session),
    }
}
