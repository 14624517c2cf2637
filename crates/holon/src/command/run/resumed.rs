//! `holon run --resume` with a single run: it goes on in a new one.

use std::sync::Arc;

use holon_flow::{Call, Dispatcher};
use holon_host::store::RunFolder;

use super::{Args, conclude, host, report};
use crate::Done;
use crate::failure::Failure;
use crate::person::AtTerminal;
use crate::session::Session;
use crate::show::progress::Progress;
use crate::stop;

/// Goes on with a run of the native agent.
pub(super) fn resume(folder: &RunFolder, args: &Args, session: &Session) -> Done {
    if args.gate.is_some() {
        return Err(Failure::user(
            "--gate is for modes of several steps",
            "leave it out; this is a single run",
        ));
    }
    let mut host = host(session)?;
    if !args.json && !args.quiet {
        host.person = AtTerminal::present(&session.terminal).map(|person| Arc::new(person) as _);
    }
    let cancel = stop::on_signals()?;
    let mut progress = Progress::new(&session.terminal, args.json, args.quiet);
    let call = Call::resuming(folder, args.message.as_deref(), folder.record()?, args.apply);
    let dispatched = Dispatcher::new(session.places()?).dispatch(call, &host, &mut progress, &cancel);
    drop(progress);
    let finished = dispatched?.finished;
    report(&finished, args.json, session)?;
    conclude(&finished, args.publish.clone(), args.json, session)
}
