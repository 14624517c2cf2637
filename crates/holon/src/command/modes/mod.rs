//! `holon modes`: what a run may do, by name.

mod check;
mod list;
mod new;
mod show;

use std::path::PathBuf;

use clap::Subcommand;
use holon_core::mode::Catalog;
use holon_host::modes;

use crate::Done;
use crate::failure::Failure;
use crate::session::Session;

/// List, show, write and check modes
#[derive(Debug, Subcommand)]
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
    /// Every mode that can be named there; files that were refused are told, not hidden.
    fn catalog(&self, session: &Session) -> Result<Catalog, Failure> {
        let workspace = session.workspace(self.workspace.as_deref())?;
        let catalog = modes::catalog(&session.places()?, Some(&workspace))?;
        for (_, error) in catalog.refused() {
            session.terminal.say(&format!("warning: {}", crate::terminal::visible(&error.to_string())));
        }
        Ok(catalog)
    }
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
