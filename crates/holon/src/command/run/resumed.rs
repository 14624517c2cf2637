//! `holon run --resume` with a single run: it goes on in a new one.

use holon_flow::{DispatchCall, Dispatcher, FlowError};
use holon_host::store::RunFolder;
use holon_host::{HostError, RunContext, modes};

use super::composite::raised;
use super::{RunArgs, conclude, host, person, report};
use crate::CommandExit;
use crate::failure::CliFailure;
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
    let host = host(session)?;
    let person = person(session, args.json || args.quiet);
    let cancel = stop::on_signals()?;
    let mut progress = RunProgress::new(&session.terminal, args.json, args.quiet);
    let dispatcher = Dispatcher::new(session.places()?);
    let planned = host.plan_to_resume(folder, args.message.as_deref(), args.apply).map_err(FlowError::from);
    let planned = planned.and_then(|mut plan| {
        let own = modes::catalog(&host.places, Some(&plan.workspace))?.resolve(&plan.profile.name);
        raised(args).on(&mut plan, &own.map_err(HostError::from)?.limits)?;
        Ok(plan)
    });
    let dispatched = planned.and_then(|plan| {
        let context = RunContext { person, ..RunContext::new(&mut progress, &cancel) };
        dispatcher.dispatch(DispatchCall::new(plan), &host, context)
    });
    drop(progress);
    let finished = dispatched?.finished;
    report(&finished, args.json, session)?;
    conclude(&finished, args.publish.clone(), args.json, session)
}
