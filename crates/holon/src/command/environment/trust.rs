//! `holon environment trust`: agreeing to a setup that a repository brings.

use std::io::BufRead;
use std::process::ExitCode;

use holon_host::environment::TrustFile;

use super::{EnvironmentWorkspaceArgs, ShownProject, page, short};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;

/// Shorter beginnings of a digest are no agreement.
const LEAST: usize = 12;

/// Agree to the setup that the repository brings
///
/// Shows the commands and what they may reach. On a terminal you are asked; elsewhere give the digest that
/// `holon environment show` prints. The agreement is for exactly these commands in this folder; when the repository changes them,
/// nothing runs until you agree again.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The digest of the setup you agree to, or its first 12 letters
    #[arg(value_name = "DIGEST")]
    digest: Option<String>,
    /// Take the agreement back
    #[arg(long, conflicts_with = "digest")]
    withdraw: bool,
    #[command(flatten)]
    whose: EnvironmentWorkspaceArgs,
}

/// Notes the agreement.
pub(crate) fn run(args: &TrustArgs, session: &Session) -> CommandExit {
    if args.withdraw {
        let workspace = session.workspace(args.whose.workspace.as_deref())?;
        let was = TrustFile::of(&session.places()?).withdraw(&workspace)?;
        session.terminal.print(if was { "taken back\n" } else { "there was no agreement\n" })?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = ShownProject::of(&args.whose, session)?;
    let found = project.wanted()?;
    if !found.setup.source.is_of_repository() {
        session.terminal.print("the setup is your own; it needs no agreement\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let digest = found.setup.digest();
    let agreed = match &args.digest {
        Some(given) => {
            if given.len() < LEAST || !digest.starts_with(given.as_str()) {
                return Err(CliFailure::user(
                    format!("the setup of this repository has the digest {}, not {given}", short(&digest)),
                    "look at it with `holon environment show`, and give its digest",
                ));
            }
            true
        }
        None => asked(&page(&found.setup, found.standing, session.terminal.stdout), session)?,
    };
    if agreed {
        TrustFile::of(&project.host.places).agree(&project.workspace, &found.setup)?;
        session.terminal.print(format!("agreed to {}\n", short(&digest)))?;
        return Ok(ExitCode::SUCCESS);
    }
    session.terminal.print("not agreed to; nothing of it runs\n")?;
    Ok(ExitCode::FAILURE)
}

/// Asks a person; where there is none, it is an error that says what to give.
fn asked(page: &str, session: &Session) -> Result<bool, CliFailure> {
    if !session.terminal.stdout.tty || !session.terminal.stderr.tty {
        return Err(CliFailure::user(
            "nobody can be asked here",
            "look with `holon environment show`, then give the digest it prints",
        ));
    }
    session.terminal.print(format!("{page}\nLet this run behind the walls, for this folder? [y/N] "))?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|e| CliFailure::internal(format!("the answer cannot be read: {e}")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
