//! `holon run --resume` with a single run: it goes on in a new one.

use std::sync::Arc;

use holon_flow::{DispatchCall, Dispatcher};
use holon_host::store::RunFolder;

use super::{RunArgs, conclude, host, report};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::person::TerminalPerson;
use crate::session::Session;
use crate::show::progress::RunProgress;
use crate::stop;

/// Goes on with a run of the native agent.
pub(super) fn resume(folder: &RunFolder, args: &RunArgs, session: &Session) -> CommandExit {
    if args.gate.is_some() {
        return Err(CliFailure::user(
            "--gate is for modes of several steps",
            "leave it out; this is a single run",
        ));
    }
    let mut host = host(session)?;
    if !args.json && !args.quiet {
        host.person = TerminalPerson::present(&session.terminal).map(|person| Arc::new(person) as _);
    }
    let cancel = stop::on_signals()?;
    let mut progress = RunProgress::new(&session.terminal, args.json, args.quiet);
    let call = DispatchCall::resuming(folder, args.message.as_deref(), folder.record()?, args.apply);
    let dispatched = Dispatcher::new(session.places()?).dispatch(call, &host, &mut progress, &cancel);
    drop(progress);
    let finished = dispatched?.finished;
    report(&finished, args.json, session)?;
    conclude(&finished, args.publish.clone(), args.json, session)
}
