//! `holon environment`: what projects need set up before work, made once and kept.

mod build;
mod gc;
mod list;
mod show;
mod trust;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use holon_environment::{EnvironmentSetup, SetupStanding};
use holon_host::Host;
use holon_host::environment::{ProjectEnvironment, look};

use crate::CommandExit;
use crate::command::run;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::table::TextTable;
use crate::terminal::{TerminalStream, visible};

/// Set a project up once, and let every run start on it
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  holon environment show\n  holon environment trust\n  holon environment build"
)]
pub(crate) enum EnvironmentCommand {
    Show(show::EnvironmentShowArgs),
    Trust(trust::TrustArgs),
    Build(build::BuildArgs),
    List(list::EnvironmentListArgs),
    Gc(gc::EnvironmentGcArgs),
}

/// The folder of the project.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvironmentWorkspaceArgs {
    /// The folder of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// Carries out one of them.
pub(crate) fn dispatch(command: EnvironmentCommand, session: &Session) -> CommandExit {
    match command {
        EnvironmentCommand::Show(args) => show::run(&args, session),
        EnvironmentCommand::Trust(args) => trust::run(&args, session),
        EnvironmentCommand::Build(args) => build::run(&args, session),
        EnvironmentCommand::List(args) => list::run(&args, session),
        EnvironmentCommand::Gc(args) => gc::run(&args, session),
    }
}

/// A project and its environment.
struct ShownProject {
    host: Host,
    workspace: PathBuf,
    found: Option<ProjectEnvironment>,
}

impl ShownProject {
    fn of(whose: &EnvironmentWorkspaceArgs, session: &Session) -> Result<Self, CliFailure> {
        let workspace = session.workspace(whose.workspace.as_deref())?;
        let host = run::host(session)?;
        let configuration = host.configuration.of(&workspace)?;
        let found = look(&host, &configuration, &workspace, &workspace)?;
        Ok(Self { host, workspace, found })
    }

    /// Its environment; the error says what to write where there is none.
    fn wanted(&self) -> Result<&ProjectEnvironment, CliFailure> {
        self.found.as_ref().ok_or_else(|| nothing(&self.workspace))
    }
}

fn nothing(workspace: &Path) -> CliFailure {
    CliFailure::user(
        format!("nothing says how {} is set up", workspace.display()),
        "write `setup = [\"…\"]` below [environment] in holon.toml, or in your own configuration",
    )
}

/// A setup for people.
fn page(setup: &EnvironmentSetup, standing: SetupStanding, stream: TerminalStream) -> String {
    let mut facts = TextTable::indented(2);
    for command in &setup.commands {
        facts.row(["setup", command]);
    }
    let permits = if setup.permits.is_empty() { "nothing".to_owned() } else { setup.permits.join(", ") };
    facts.row(["may reach", &permits]);
    facts.row(["said by", &setup.source.to_string()]);
    let agreed = match standing {
        SetupStanding::Own => "it is your own",
        SetupStanding::Agreed => "yes",
        SetupStanding::Unknown => "no: nothing of it runs (`holon environment trust`)",
    };
    facts.row(["agreed to", agreed]);
    facts.row(["setup digest", short(&setup.digest())]);
    let mut text = facts.render(stream);
    for note in &setup.notes {
        text.push_str(&format!("  note: {}\n", visible(note)));
    }
    text
}

/// As many letters of a digest as people are shown.
fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
