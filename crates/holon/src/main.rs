//! The `holon` binary: one file per command, and the only place that reads the environment and the terminal.

mod cli;
mod command;
mod commander;
mod core_files;
mod failure;
mod observe;
mod person;
mod recovery;
mod screen;
mod session;
mod show;
mod stop;
mod terminal;
mod threads;
mod variables;

use std::process::ExitCode;

use failure::CliFailure;
use session::Session;

fn main() -> ExitCode {
    holon_sandbox::isolation::become_launcher_if_asked();
    holon_hands::become_hands_if_asked();
    holon_host::adapter::client::become_client_if_asked();
    holon_login::become_renewer_if_asked();
    core_files::forbid();
    failure::plain_panics();
    if let Some(code) = screen::carry_if_asked() {
        return code;
    }
    // The hook has said what there is to say; unwinding lets runs clean up behind themselves.
    std::panic::catch_unwind(run).unwrap_or(ExitCode::FAILURE)
}

fn run() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let session = Session::from_process(&args);
    let done = cli::parse(args, &session).and_then(|asked| {
        if matches!(asked, cli::ParsedCommandLine::Command(_)) {
            variables::warn(&session.terminal);
            observe::start_trace(&session.terminal);
            if let Ok(places) = session.places() {
                recovery::recover(&places, &session.terminal);
            }
        }
        command::dispatch(asked, &session)
    });
    let code = match done {
        Ok(code) => code,
        Err(failure) => failure.report(&session.terminal),
    };
    observe::finish();
    code
}

/// What a command gives back: its exit code, or why it could not do its work.
type CommandExit = Result<ExitCode, CliFailure>;
