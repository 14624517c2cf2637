//! `holon flows`: modes of several steps, those that come with Holon and those people write.

mod check;
mod list;
mod show;

use std::path::PathBuf;

use clap::Subcommand;
use holon_flow::FlowCatalog;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::visible;

const EXAMPLES: &str = "\
A flow is a file: .holon/flows/NAME.toml of a project, or ~/.config/holon/flows/NAME.toml for all of yours.

  description = \"Reviews and mends until a review finds nothing\"

  [[step]]
  name = \"review\"
  mode = \"review\"
  deliver = [\"review.json\"]

  [[step]]
  name = \"mend\"
  mode = \"execute\"
  gate = true                                  # somebody looks before anything is changed
  when = \"findings\"                            # left out when the review found nothing
  context = [\"review/review.json\"]             # what it gets of the steps before
  brief = \"Mend what the review found, and nothing else.\"
  repeat = { from = \"review\", until = \"no findings\", most = 3 }

Examples:
  holon flows check                            is every file fine?
  holon flows show polish                      its steps
  holon run --mode polish --goal \"…\"           carry it out";

/// How many wrong files are told where they are not what was asked for.
const WARNINGS: usize = 10;

/// List, show and check flows: modes of several steps
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum FlowsCommand {
    List(list::FlowsListArgs),
    Show(show::FlowsShowArgs),
    Check(check::FlowsCheckArgs),
}

/// The workspace whose flows count.
#[derive(Debug, clap::Args)]
pub(crate) struct FlowsWorkspaceArgs {
    /// The folder whose flows count too [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

impl FlowsWorkspaceArgs {
    /// Every flow that can be named there. A file that is wrong does not hide the others: the catalogue remembers it.
    fn catalog(&self, session: &Session) -> Result<FlowCatalog, CliFailure> {
        let workspace = session.workspace(self.workspace.as_deref())?;
        Ok(FlowCatalog::of(&session.places()?, Some(&workspace))?)
    }
}

/// Warns of each file that cannot be used.
pub(crate) fn warn_of_refused(catalog: &FlowCatalog, session: &Session) {
    for (_, error) in catalog.refused().iter().take(WARNINGS) {
        session.terminal.say(&format!(
            "warning: {}; {}",
            visible(&error.to_string()),
            visible(&error.remedy)
        ));
    }
    let more = catalog.refused().len().saturating_sub(WARNINGS);
    if more > 0 {
        session
            .terminal
            .say(&format!("warning: {more} more flow files are wrong; `holon flows check` names all"));
    }
}

/// Carries out one of them.
pub(crate) fn dispatch(command: FlowsCommand, session: &Session) -> CommandExit {
    match command {
        FlowsCommand::List(args) => list::run(&args, session),
        FlowsCommand::Show(args) => show::run(&args, session),
        FlowsCommand::Check(args) => check::run(&args, session),
    }
}
