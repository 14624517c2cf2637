//! `holon run`: one run, from a goal to checked artifacts.

mod composite;
mod edges;
mod flags;
mod gatekeeper;
pub(crate) mod hands_on;
pub(crate) mod orchestrated;
mod resumed;
pub(crate) mod route;

use std::process::ExitCode;
use std::sync::Arc;

use holon_agent::PersonPrompt;
use holon_apply::ApplyOutcome as Applying;
use holon_core::release::ReleaseTarget;
use holon_flow::{DispatchCall, Dispatcher, FlowError};
use holon_host::run::AppliedRun;
use holon_host::store::RunFolder;
use holon_host::{ConfigurationFiles, FinishedRun, HolonFolders, Host, RunContext, RunRequest};
use holon_sandbox::isolation::Launcher;

use crate::CommandExit;
use crate::command::publish::{self, PublishFlags, publish_after};
use crate::failure::CliFailure;
use crate::person::TerminalPerson;
use crate::session::{self, Session};
use crate::show::progress::RunProgress;
use crate::show::{applied, flow, plan, summary};
use crate::stop;
use crate::terminal::visible;

pub(crate) use flags::{EXAMPLES, RunArgs, SupervisorFlag};

/// The host with everything of this process it may use.
pub(crate) fn host(session: &Session) -> Result<Host, CliFailure> {
    Ok(host_with(session.places()?, session.configuration()?))
}

/// The same with its folders elsewhere, and the configuration as it is now.
pub(crate) fn host_in(places: HolonFolders) -> Host {
    let configuration = ConfigurationFiles::shared(&places);
    host_with(places, configuration)
}

/// The same with what this command has read of the configuration.
pub(crate) fn host_with(places: HolonFolders, configuration: Arc<ConfigurationFiles>) -> Host {
    Host {
        observer: crate::observe::observer(&configuration),
        configuration,
        places,
        launcher: Launcher::default(),
        env: Box::new(session::variable),
        secrets: session::secrets(),
        script: None,
    }
}

/// Carries the run out and shows what came of it.
pub(crate) fn run(args: RunArgs, session: &Session) -> CommandExit {
    // Found out before anything is started, and paid for.
    if let Some(target) = &args.publish {
        publish::target(target.as_deref())?;
    }
    if let Some(name) = &args.resume {
        return composite::resume(name, &args, session);
    }
    if args.message.is_some() {
        return Err(CliFailure::user(
            "--message goes with --resume",
            "put what the agent shall know into --goal",
        ));
    }
    if args.interactive && !args.dry_run {
        return hands_on::run(args, session);
    }
    let args = route::routed(args, session)?;
    if composite::is_orchestration(&args) && !args.dry_run {
        edges::refuse(&args, "orchestrate")?;
        return orchestrated::start(args, session);
    }
    let (flow, flows) = composite::asked_for(&args, session)?;
    if let Some(definition) = flow {
        composite::refuse_override(&args)?;
        edges::refuse(&args, &definition.name)?;
        return composite::start(&definition, args, session);
    }
    if let Some(edges) = edges::wanted(&args, session)?.filter(|_| !args.dry_run) {
        return orchestrated::start_single(args, edges, session);
    }
    composite::refuse_override(&args)?;
    let (dry_run, json, quiet) = (args.dry_run, args.json, args.quiet);
    let publish = args.publish.clone();
    let host = host(session)?;
    let request = RunRequest::from(args);
    let terminal = &session.terminal;
    let planned = host.plan(&request).map_err(FlowError::from).map_err(|e| composite::with_flows(e, &flows));
    if dry_run {
        let planned = planned?;
        let text = if json { plan::json(&planned)? } else { plan::text(&planned, terminal.stdout)? };
        terminal.print(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cancel = stop::on_signals()?;
    let mut progress = RunProgress::new(terminal, json, quiet);
    let dispatcher = Dispatcher::new(session.places()?);
    let person = person(session, json || quiet);
    let dispatched = planned.and_then(|plan| {
        let context = RunContext { person, ..RunContext::new(&mut progress, &cancel) };
        let dispatched = dispatcher.dispatch(DispatchCall::new(plan), &host, context);
        dispatched.map_err(|e| composite::with_flows(e, &flows))
    });
    // The status line goes away before anything else is printed.
    drop(progress);
    let finished = dispatched?.finished;
    report(&finished, json, session)?;
    conclude(&finished, publish, json, session)
}

/// Someone at the terminal whom the native agent can ask, unless nothing but the result is wanted there.
pub(crate) fn person(session: &Session, silent: bool) -> Option<Arc<dyn PersonPrompt>> {
    let present = if silent { None } else { TerminalPerson::present(&session.terminal) };
    present.map(|person| Arc::new(person) as _)
}

/// Publishes a good result if that was asked for, and gives the exit code of the whole.
fn conclude(
    finished: &FinishedRun,
    publish: Option<Option<String>>,
    json: bool,
    session: &Session,
) -> CommandExit {
    let code = ExitCode::from(finished.manifest.exit_code);
    match &finished.applied {
        Some(Err(_)) => return Ok(ExitCode::FAILURE),
        Some(Ok(AppliedRun { outcome: Applying::Refused { .. }, .. })) => return Ok(ExitCode::FAILURE),
        _ => {}
    }
    let Some(target) = publish else { return Ok(code) };
    let folder = RunFolder::open(finished.folder.clone());
    let decision = holon_host::release::decision(&folder, ReleaseTarget::Publish)?;
    if !decision.is_released() {
        session.terminal.say(&format!("nothing was published: {}", visible(&decision.message())));
        return Ok(code);
    }
    let wish = PublishFlags { target, json, ..PublishFlags::default() };
    publish_after(&finished.folder.join("output"), &wish, session)
}

/// Says what came of a run or a flow.
fn report(finished: &FinishedRun, json: bool, session: &Session) -> Result<(), CliFailure> {
    let terminal = &session.terminal;
    let manifest = &finished.manifest;
    let reason = summary::reason(manifest, terminal.stderr);
    if !reason.is_empty() {
        terminal.say(reason.trim_end());
    }
    if let Some(Err(error)) = &finished.applied {
        let id = manifest.run_id.as_str();
        let then = format!("the run is kept; when it can be done: holon runs apply {id}");
        let hint = error.hint().map_or(then.clone(), |hint| format!("{hint}; {then}"));
        CliFailure::config(format!("the patch was not applied: {error}")).hint(hint).report(terminal);
    }
    if !json {
        let output = finished.out.clone().unwrap_or_else(|| finished.folder.join("output"));
        let note = finished.applied.as_ref().and_then(|done| done.as_ref().ok()).map(applied::text);
        let folder = RunFolder::open(finished.folder.clone());
        let release = holon_host::release::decision(&folder, ReleaseTarget::Apply).ok();
        let workspace = folder.record().ok().map(|record| record.workspace);
        let elsewhere = workspace.filter(|path| session.workspace(None).ok().as_ref() != Some(path));
        let mut text = summary::whole(
            manifest,
            &output,
            elsewhere.as_deref(),
            (note.as_deref(), release.as_ref()),
            terminal.stdout,
        );
        if let (Some(info), Some((head, rest))) = (&manifest.metadata.flow, text.split_once('\n')) {
            text = format!("{head}\n{}{rest}", flow::steps(info, terminal.stdout));
        }
        // The run is over and on disk: its exit code counts, also when nobody reads the summary.
        let _ = terminal.print(text);
    }
    Ok(())
}
