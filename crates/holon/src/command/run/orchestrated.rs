//! `holon run --mode orchestrate`, which is what `holon "goal"` and `holon improve` become.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::artifact::orchestration::OrchestrationGraph;
use holon_core::manifest::EthicsOverride;
use holon_core::release::{SHORTEST_REASON, is_a_reason};
use holon_flow::dispatch::DispatchSettings;
use holon_flow::orchestrate::release_gate::ReleaseGate;
use holon_flow::orchestrate::{CodeEdges, OrchestrationOrder, Orchestrator};
use holon_flow::{Dispatcher, FlowError, RaisedLimits};
use holon_host::store::RunFolder;
use holon_host::{FinishedRun, RunRequest};

use super::composite::{current_folder, kept, raised, saved, workspace_of};
use super::{RunArgs, conclude, host_with, report};
use crate::CommandExit;
use crate::commander::Commander;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::tree::TaskTree;
use crate::stop;

/// Starts an orchestration.
pub(super) fn start(args: RunArgs, session: &Session) -> CommandExit {
    let base = current_folder()?;
    let asked = saved(&base);
    let way = OrchestrationShowOptions::of(&args)?;
    let publish = args.publish.clone();
    let workspace = workspace_of(&args, &base);
    let finished =
        way.go(RunRequest::from(args), (base, &workspace), session, |orchestrator, commission| {
            orchestrator.start(asked, commission)
        })?;
    report(&finished, way.json, session)?;
    conclude(&finished, publish, way.json, session)
}

/// Starts a single run in mode code with its edges to review and ethical.
pub(super) fn start_single(args: RunArgs, edges: CodeEdges, session: &Session) -> CommandExit {
    let base = current_folder()?;
    let asked = saved(&base);
    let way = OrchestrationShowOptions::of(&args)?;
    let publish = args.publish.clone();
    let workspace = workspace_of(&args, &base);
    let finished =
        way.go(RunRequest::from(args), (base, &workspace), session, |orchestrator, commission| {
            orchestrator.start_single(asked, edges, commission)
        })?;
    report(&finished, way.json, session)?;
    conclude(&finished, publish, way.json, session)
}

/// Carries out a plan that a question led to; `words` is the command that asks for the same without one, for going on.
pub(crate) fn carry_out(
    request: RunRequest,
    plan: OrchestrationGraph,
    words: Vec<OsString>,
    quiet: bool,
    session: &Session,
) -> CommandExit {
    let base = current_folder()?;
    let asked = kept(words, &base);
    let workspace = session.workspace(request.workspace.as_deref())?;
    let way = OrchestrationShowOptions {
        json: false,
        quiet,
        ethics_override: None,
        raised: RaisedLimits::default(),
    };
    let finished = way.go(request, (base, &workspace), session, |orchestrator, commission| {
        orchestrator.carry_out(asked, plan, commission)
    })?;
    report(&finished, false, session)?;
    conclude(&finished, None, false, session)
}

/// Goes on with one.
pub(super) fn resume(
    folder: RunFolder,
    request: RunRequest,
    base: PathBuf,
    args: &RunArgs,
    session: &Session,
) -> CommandExit {
    let way = OrchestrationShowOptions::of(args)?;
    let message = args.message.clone();
    let workspace = folder.record()?.workspace;
    let finished = way.go(request, (base, &workspace), session, |orchestrator, commission| {
        orchestrator.resume(folder, message, commission)
    })?;
    report(&finished, way.json, session)?;
    conclude(&finished, args.publish.clone(), way.json, session)
}

/// How this time's is carried out and shown.
struct OrchestrationShowOptions {
    json: bool,
    quiet: bool,
    ethics_override: Option<EthicsOverride>,
    raised: RaisedLimits,
}

impl OrchestrationShowOptions {
    fn of(args: &RunArgs) -> Result<Self, CliFailure> {
        if args.gate.is_some() {
            return Err(CliFailure::user(
                "--gate is for flows",
                "leave it out; an orchestration has no gates",
            ));
        }
        let ethics_override = args.override_ethics.as_deref().map(overruling).transpose()?;
        Ok(Self { json: args.json, quiet: args.quiet, ethics_override, raised: raised(args) })
    }

    fn go(
        &self,
        request: RunRequest,
        (base, workspace): (PathBuf, &Path),
        session: &Session,
        work: impl FnOnce(&Orchestrator<'_>, OrchestrationOrder<'_>) -> Result<FinishedRun, FlowError>,
    ) -> Result<FinishedRun, CliFailure> {
        let places = session.places()?;
        let config = session.settings(workspace)?;
        let dispatcher = Dispatcher::new(places.clone()).within(DispatchSettings::of(&config, workspace)?);
        let cancel = stop::on_signals()?;
        let mut view = TaskTree::new(&session.terminal, self.json, self.quiet);
        let configuration = session.configuration()?;
        let host = |places| host_with(places, Arc::clone(&configuration));
        let conscience = ReleaseGate::configured(&config, places.home.clone());
        let orchestrator =
            Orchestrator { places, host: &host, dispatcher: &dispatcher, conscience: &conscience };
        let commission = OrchestrationOrder {
            request,
            base,
            ethics_override: self.ethics_override.clone(),
            raised: self.raised,
            sink: &mut view,
            cancel: &cancel,
        };
        let finished = work(&orchestrator, commission);
        drop(view);
        Ok(finished?)
    }
}

/// Who overrules an assessment, and why; both are written down.
fn overruling(reason: &str) -> Result<EthicsOverride, CliFailure> {
    if !is_a_reason(reason) {
        return Err(CliFailure::user(
            format!("--override-ethics needs a reason of at least {SHORTEST_REASON} characters"),
            "say in a sentence why the result may go out; it is written to the audit log",
        ));
    }
    let Commander { name: person, uid, terminal } = Commander::of_process();
    Ok(EthicsOverride { reason: reason.trim().to_owned(), person, uid, terminal })
}
