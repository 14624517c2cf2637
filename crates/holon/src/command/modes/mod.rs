//! `holon modes`: what a run may do, by name.

mod check;
mod list;
mod new;
mod show;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use holon_core::mode::Catalog;
use holon_host::{HostError, modes};

use crate::Done;
use crate::failure::Failure;
use crate::session::Session;
use crate::terminal::visible;

/// More than any mode file may have.
const LONGEST: u64 = 4 << 20;

/// List, show, write and check modes
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon modes list\n  holon modes show plan        what it may do, and who says so\n  holon modes new plan-strict --extends plan"
)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
    New(new::Args),
    Check(check::Args),
}

/// The workspace whose modes count.
#[derive(Debug, clap::Args)]
pub(crate) struct Whose {
    /// The folder whose modes count too [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

impl Whose {
    /// Every mode that can be named there. A file that is wrong does not hide the others: the catalogue remembers it.
    fn catalog(&self, session: &Session) -> Result<Catalog, Failure> {
        let workspace = session.workspace(self.workspace.as_deref())?;
        let mut catalog = Catalog::builtin().map_err(HostError::from)?;
        for (source, folder) in modes::folders(&session.places()?, Some(&workspace)) {
            for path in mode_files(&folder) {
                let _ = catalog.add(source, &path.to_string_lossy(), &read(&path)?);
            }
        }
        Ok(catalog)
    }

    /// The same, with a warning for each file that was refused.
    fn catalog_with_warnings(&self, session: &Session) -> Result<Catalog, Failure> {
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
fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Failure::io("read", path))?;
    file.take(LONGEST).read_to_end(&mut bytes).map_err(Failure::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Carries out one of them.
pub(crate) fn dispatch(command: Command, session: &Session) -> Done {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Show(args) => show::run(&args, session),
        Command::New(args) => new::run(&args, session),
        Command::Check(args) => check::run(&args, session),
    }
}
