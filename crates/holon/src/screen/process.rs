//! The process that carries a session's run: it has no terminal of its own, so that it outlives every one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use holon_flow::{DispatchCall, Dispatcher};
use holon_host::{FinishedRun, RunContext, RunPlan};

use super::carrier::ScreenCarrier;
use super::frame::{FrameKind, NotStarted, ScreenFrame, TerminalHello};
use crate::command::run;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::stop;

/// How such a process is called.
const NAME: &str = "holon-screen";

/// Starts one, with a line to it. It outlives whoever holds it.
pub(super) fn start() -> io::Result<(UnixStream, Child)> {
    let (ours, theirs) = UnixStream::pair()?;
    let carrier = Command::new("/proc/self/exe")
        .arg0(NAME)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((ours, carrier))
}

/// Carries a session's run, if that is what this process was started for.
pub(crate) fn carry_if_asked() -> Option<ExitCode> {
    if std::env::args_os().next().is_none_or(|name| name != NAME) {
        return None;
    }
    Some(carry().unwrap_or(ExitCode::FAILURE))
}

fn carry() -> io::Result<ExitCode> {
    // Keys of the terminal that it was started from are not meant for it.
    rustix::process::setsid()?;
    let line = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 10)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?.as_fd())?;
    let mut line = UnixStream::from(line);
    let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let plan: RunPlan = ScreenFrame::receive(&mut line)?.ok_or_else(gone)?.read()?;
    let hello: TerminalHello = ScreenFrame::receive(&mut line)?.ok_or_else(gone)?.read()?;
    let cancel = stop::on_signals().map_err(|failure| io::Error::other(failure.to_string()))?;
    let carrier = ScreenCarrier::new(hello.size, cancel.clone());
    carrier.attach(line, &hello);
    let done = dispatch(plan, &carrier, &cancel);
    let last = match &done {
        Ok(finished) => ScreenFrame {
            kind: FrameKind::Finished,
            content: finished.folder.as_os_str().as_encoded_bytes().to_vec(),
        },
        Err(failure) => ScreenFrame::with(FrameKind::NotStarted, &not_started(failure))?,
    };
    carrier.tell(&last);
    crate::observe::finish();
    Ok(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn dispatch(
    plan: RunPlan,
    carrier: &ScreenCarrier,
    cancel: &holon_host::ModelCancel,
) -> Result<FinishedRun, CliFailure> {
    let session = Session::from_process(&[]);
    let host = run::host(&session)?;
    let dispatcher = Dispatcher::new(session.places()?);
    let mut events = carrier.clone();
    let context =
        RunContext { terminal: Some(Box::new(carrier.clone())), ..RunContext::new(&mut events, cancel) };
    let dispatched = dispatcher.dispatch(DispatchCall::new(plan), &host, context);
    Ok(dispatched?.finished)
}

fn not_started(failure: &CliFailure) -> NotStarted {
    NotStarted {
        message: failure.to_string(),
        hint: failure.remedy().map(str::to_owned),
        usage: failure.is_users(),
    }
}
