//! `holon demo`: the whole way once, with recorded words and real walls.

mod stage;
mod story;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use stage::DemoStage;

use crate::CommandExit;
use crate::session::Session;
use crate::show::amount;

/// See Holon work: a hand-written cassette, real walls, no key, no network
///
/// Writes a small repository with a failing test into a temporary folder, then plans, mends and reviews it with the
/// native agent, each in its own sandbox. What the model says comes from cassettes written by hand; the agent, its
/// tools, the snapshot, the walls, the patch and the checks are the real ones. Nothing is left behind.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Keep the sample repository and the runs, and say where they are
    #[arg(long)]
    keep: bool,
    /// Play plan.yaml, execute.yaml and review.yaml of this folder instead of the bundled ones
    #[arg(long, value_name = "DIR")]
    cassettes: Option<PathBuf>,
}

/// Tells the story; exit 1 when a part of it did not go as promised.
pub(crate) fn run(args: &DemoArgs, session: &Session) -> CommandExit {
    let began = Instant::now();
    let stage = DemoStage::build(session, args.cassettes.as_deref())?;
    let told = story::tell(&stage, session);
    let (sample, state) = (stage.sample().display().to_string(), stage.state().display().to_string());
    if args.keep {
        stage.keep();
        session.terminal.print(format!("\nkept: the sample in {sample}, the runs in {state}\n"))?;
    } else {
        stage.remove();
    }
    let surprises = told?;
    let took = amount::millis(began.elapsed().as_millis() as u64);
    if surprises == 0 {
        session.terminal.print(format!(
            "\nThat was it, in {took}{}. Try it on a repository of yours: holon run --help\n",
            if args.keep { "" } else { "; nothing was left behind" }
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = amount::count(surprises, "step");
    session
        .terminal
        .say(&format!("{what} did not go as promised; `holon doctor` says what this machine can do"));
    Ok(ExitCode::FAILURE)
}
