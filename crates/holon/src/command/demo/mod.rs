//! `holon demo`: the whole way once, with scripted agents and real walls.

mod stage;
mod story;

use std::process::ExitCode;
use std::time::Instant;

use stage::Stage;

use crate::Done;
use crate::session::Session;
use crate::show::amount;

/// See Holon work: scripted agents, real walls, no key, no network
///
/// Writes a small repository with a failing test into a temporary folder, then plans, mends and reviews it, each
/// in its own sandbox. The agents are short shell scripts written by hand, not models; the snapshot, the walls, the
/// patch and the checks are the real ones. Nothing is left behind.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the sample repository and the runs, and say where they are
    #[arg(long)]
    keep: bool,
}

/// Tells the story; exit 1 when a part of it did not go as promised.
pub(crate) fn run(args: &Args, session: &Session) -> Done {
    let began = Instant::now();
    let stage = Stage::build(session)?;
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
            "\nThat was it, in {took}{}. Try it with an agent of your own: holon run --help\n",
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
