//! `holon adapter`: the native agent as the agent of a container.

use std::path::PathBuf;
use std::process::ExitCode;

use holon_core::event::EventBody;
use holon_core::outcome::RunOutcome;
use holon_host::contained::{self, ContractFolders};

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{self, Session};
use crate::terminal::visible;

const EXAMPLES: &str = "\
Examples:
  ENTRYPOINT [\"/bin/holon\", \"adapter\"]       in the recipe of an image
  holon run --image my/agent:1 --goal \"…\"    a run that uses it

It reads /holon/input, works in /holon/workspace and leaves its artifacts in /holon/output, as every agent does. Its hands \
are in this process: the container is the wall. Exit codes: 0 success, 1 failure, 2 needs a person.";

/// Be the agent in a container: the native one, with the container as the wall
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdapterArgs {
    /// Answer from this cassette instead of a model
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

pub(crate) fn run(args: &AdapterArgs, session: &Session) -> CommandExit {
    let folders = ContractFolders::from_env(&session::variable);
    if !folders.input.join("spec.yaml").exists() {
        let message = format!("there is no {}", folders.input.join("spec.yaml").display());
        return Err(CliFailure::config(message).hint(
            "this command is for a container that `holon run --image` started; for a run of your own: holon run",
        ));
    }
    let secret = session::secrets();
    // Commands get everything but what is named like a secret.
    let commands =
        std::env::vars_os().filter(|(name, _)| !secret.iter().any(|(known, _)| name == known.as_str()));
    let terminal = session.terminal.clone();
    let watcher = move |body: EventBody| match body {
        EventBody::MessageDelta { text } => drop(terminal.print(visible(&text))),
        EventBody::ToolProposed { tool, summary, .. } => {
            let what = visible(&summary.unwrap_or_default());
            drop(terminal.print(format!("\n> {} {what}\n", visible(&tool))));
        }
        EventBody::Warning { message } => terminal.say(&format!("warning: {}", visible(&message))),
        _ => {}
    };
    let said =
        contained::work(&folders, &session::variable, commands.collect(), args.replay.as_deref(), &watcher)?;
    if let Some(problem) = &said.problem {
        session.terminal.say(&format!("holon adapter: {}", visible(problem)));
    }
    Ok(match said.outcome {
        RunOutcome::Success => ExitCode::SUCCESS,
        RunOutcome::Failure => ExitCode::FAILURE,
        RunOutcome::NeedsHuman => ExitCode::from(2),
    })
}
