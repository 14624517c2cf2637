//! `holon run` with a mode of several steps: starting a flow, and going on with one.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use holon_core::event::{EventBody, EventSink, RunEvent};
use holon_core::spec;
use holon_flow::gate::UnattendedGates;
use holon_flow::{
    Conductor, FlowCatalog, FlowDefinition, FlowError, FlowOrder, GateMode, Gatekeeper, RaisedLimits,
};
use holon_host::{FinishedRun, ModelCancel, RunRequest, modes};
use serde_json::{Value, json};

use super::flags::GateFlag;
use super::gatekeeper::TerminalGatekeeper;
use super::{RunArgs, host_with};
use crate::CommandExit;
use crate::cli::{self, CliCommand, ParsedCommandLine};
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::progress::RunProgress;
use crate::show::{flow, plan};
use crate::stop;
use crate::terminal::{Terminal, TextStyle};

/// Whether flags or spec ask for a goal to be split.
pub(super) fn is_orchestration(args: &RunArgs) -> bool {
    mode_of(args).is_some_and(|mode| mode == "orchestrate")
}

/// What has no assessment has none to overrule.
pub(super) fn refuse_override(args: &RunArgs) -> Result<(), CliFailure> {
    if args.override_ethics.is_none() {
        return Ok(());
    }
    Err(CliFailure::user(
        "--override-ethics is for orchestrations",
        "leave it out; nothing here has an assessment that could block it",
    ))
}

/// The mode that flags or spec ask for.
pub(super) fn mode_of(args: &RunArgs) -> Option<String> {
    args.mode.clone().or_else(|| spec_of(args)?.constraints.mode)
}

/// The folder that flags or spec name, or the current one.
pub(super) fn workspace_of(args: &RunArgs, base: &Path) -> PathBuf {
    let named = || {
        let folder = args.spec.as_deref()?.parent()?;
        Some(folder.join(spec_of(args)?.context.workspace?))
    };
    let path = base.join(args.workspace.clone().or_else(named).unwrap_or_default());
    path.canonicalize().unwrap_or(path)
}

/// The spec, if it can be read; what is wrong with it is said by the run itself.
fn spec_of(args: &RunArgs) -> Option<spec::Spec> {
    let path = args.spec.as_deref()?;
    let text = holon_host::modes::read_named(path, "--spec").ok()?;
    Some(spec::parse(&text, &path.to_string_lossy()).ok()?.0)
}

/// The flow that flags or spec ask for, if it is one, and the names of all flows there are.
pub(super) fn asked_for(
    args: &RunArgs,
    session: &Session,
) -> Result<(Option<FlowDefinition>, Vec<String>), CliFailure> {
    let mode = mode_of(args);
    let mode_name = mode.clone();
    let catalog = match mode {
        Some(_) => FlowCatalog::of(&session.places()?, Some(&workspace_of(args, &current_folder()?)))?,
        None => FlowCatalog::builtin()?,
    };
    let names: Vec<String> = catalog.list().iter().map(|flow| flow.name.clone()).collect();
    let found = match mode {
        Some(mode) => catalog.find(&mode).map_err(FlowError::from)?.cloned(),
        None => None,
    };
    // What is no mode at all is said first, by whoever resolves it.
    let known = match &mode_name {
        Some(name) => modes::catalog(&session.places()?, Some(&workspace_of(args, &current_folder()?)))?
            .canonical(name)
            .is_some(),
        None => true,
    };
    if found.is_none() && args.gate.is_some() && known {
        return Err(CliFailure::user(
            "--gate is for modes of several steps",
            format!("these are: {}", names.join(", ")),
        ));
    }
    Ok((found, names))
}

/// Starts a flow, or says what it would be.
pub(super) fn start(definition: &FlowDefinition, args: RunArgs, session: &Session) -> CommandExit {
    let base = current_folder()?;
    let saved = saved(&base);
    let way = FlowShowOptions::of(&args, None, session)?;
    let (dry_run, json) = (args.dry_run, args.json);
    let publish = args.publish.clone();
    let request = RunRequest::from(args);
    with_conductor(session, |conductor| {
        if dry_run {
            return say_plan(conductor, definition, request, &base, json, session);
        }
        let finished =
            way.go(request, base.clone(), session, |order| conductor.start(definition, saved, order))?;
        super::report(&finished, json, session)?;
        super::conclude(&finished, publish, json, session)
    })
}

/// Goes on with a flow, or with a single run.
pub(super) fn resume(name: &str, args: &RunArgs, session: &Session) -> CommandExit {
    let store = session.store(args.workspace.as_deref())?;
    let folder = store.find(name)?;
    if let Some(state) = holon_flow::orchestrate::load(&folder)? {
        let (request, base) = before(&state.asked, args, session)?;
        return super::orchestrated::resume(folder, request, base, args, session);
    }
    refuse_override(args)?;
    let Some(state) = holon_flow::load(&folder)? else {
        return super::resumed::resume(&folder, args, session);
    };
    let (words, base) = restored(&state.asked).ok_or_else(lost)?;
    let before = whole(&words, as_run(words.clone(), session)?)?;
    let way = FlowShowOptions::of(args, before.gate, session)?;
    let mut request = RunRequest::from(before);
    request.apply |= args.apply;
    let message = args.message.clone();
    with_conductor(session, |conductor| {
        let finished = way.go(request, base, session, |order| conductor.resume(folder, message, order))?;
        super::report(&finished, args.json, session)?;
        super::conclude(&finished, args.publish.clone(), args.json, session)
    })
}

/// Limits that are given with --resume.
pub(super) fn raised(args: &RunArgs) -> RaisedLimits {
    let (cost_usd, timeout, rounds) = args.limits();
    if args.resume.is_none() {
        return RaisedLimits::default();
    }
    RaisedLimits { cost_usd, timeout, rounds }
}

/// What was asked when an orchestration was started, with what this command adds.
fn before(asked: &Value, args: &RunArgs, session: &Session) -> Result<(RunRequest, PathBuf), CliFailure> {
    let (words, base) = restored(asked).ok_or_else(lost)?;
    let mut request = RunRequest::from(whole(&words, as_run(words.clone(), session)?)?);
    request.apply |= args.apply;
    // One that was started over HTTP has its spec here.
    request.given_spec = serde_json::from_value(asked["spec"].clone()).ok().flatten();
    Ok((request, base))
}

/// Refuses a command line that held a credential anywhere but in the goal: it was not written down, and what stands for it
/// would be taken for a value.
fn whole(words: &[OsString], run: RunArgs) -> Result<RunArgs, CliFailure> {
    let goal = run.goal().unwrap_or_default();
    let lost = |word: &OsString| {
        word.to_str().is_some_and(|word| word.contains("[redacted:") && !word.ends_with(goal))
    };
    match words.iter().any(lost) {
        false => Ok(run),
        true => Err(CliFailure::from(FlowError::resume(
            "its command line held a credential, which was not written down",
            "start it anew with the same flags",
        ))),
    }
}

/// A command line of before as the run it became.
fn as_run(words: Vec<OsString>, session: &Session) -> Result<RunArgs, CliFailure> {
    match cli::parse(words, session)? {
        ParsedCommandLine::Command(CliCommand::Run(before)) => Ok(*before),
        ParsedCommandLine::Command(CliCommand::Improve(args)) => crate::command::improve::as_run(*args),
        _ => Err(lost()),
    }
}

fn lost() -> CliFailure {
    CliFailure::from(FlowError::resume(
        "how the flow was started is not in its state",
        "start it anew with the same flags",
    ))
}

/// An unknown mode may be a mistyped flow.
pub(super) fn with_flows(error: FlowError, flows: &[String]) -> CliFailure {
    match error {
        FlowError::Host(error) => flow::with_flows(error, flows).into(),
        other => other.into(),
    }
}

fn with_conductor(session: &Session, work: impl FnOnce(&Conductor<'_>) -> CommandExit) -> CommandExit {
    let configuration = session.configuration()?;
    let host = |places| host_with(places, Arc::clone(&configuration));
    work(&Conductor { places: session.places()?, host: &host })
}

/// How this time's flow is carried out and shown.
struct FlowShowOptions {
    gates: GateMode,
    json: bool,
    quiet: bool,
    raised: RaisedLimits,
}

impl FlowShowOptions {
    /// `before` is the rule the flow was started with.
    fn of(args: &RunArgs, before: Option<GateFlag>, session: &Session) -> Result<Self, CliFailure> {
        // A person can be asked when one can read and write here, and nothing else is promised on the streams.
        let person = std::io::stdin().is_terminal() && session.terminal.stderr.tty && !args.json;
        let gates = match (args.gate, before) {
            (Some(GateFlag::Ask), _) if !person => {
                return Err(CliFailure::user(
                    "--gate ask needs a terminal to ask at",
                    "use --gate stop and go on later with --resume, or --gate auto",
                ));
            }
            (Some(gate), _) => rule(gate),
            (None, Some(gate)) if gate != GateFlag::Ask || person => rule(gate),
            (None, _) if person => GateMode::Ask,
            (None, _) => GateMode::Stop,
        };
        Ok(Self { gates, json: args.json, quiet: args.quiet, raised: raised(args) })
    }

    fn go(
        &self,
        request: RunRequest,
        base: PathBuf,
        session: &Session,
        work: impl FnOnce(FlowOrder<'_>) -> Result<FinishedRun, FlowError>,
    ) -> Result<FinishedRun, CliFailure> {
        let terminal = &session.terminal;
        let cancel: ModelCancel = stop::on_signals()?;
        let raised = self.raised;
        let mut view = FlowEventView { terminal, json: self.json, quiet: self.quiet, progress: None };
        let mut nobody = UnattendedGates;
        let mut person = TerminalGatekeeper { terminal, cancel: &cancel };
        let gatekeeper: &mut dyn Gatekeeper =
            if self.gates == GateMode::Ask { &mut person } else { &mut nobody };
        let order = FlowOrder {
            request,
            base,
            raised,
            gates: self.gates,
            gatekeeper,
            sink: &mut view,
            cancel: &cancel,
        };
        let finished = work(order);
        drop(view);
        finished.map_err(CliFailure::from)
    }
}

fn rule(gate: GateFlag) -> GateMode {
    match gate {
        GateFlag::Ask => GateMode::Ask,
        GateFlag::Auto => GateMode::Auto,
        GateFlag::Stop => GateMode::Stop,
    }
}

/// Shows the events of a flow and its steps; at a gate the status line makes room for the question.
struct FlowEventView<'a> {
    terminal: &'a Terminal,
    json: bool,
    quiet: bool,
    progress: Option<RunProgress>,
}

impl EventSink for FlowEventView<'_> {
    fn emit(&mut self, event: &RunEvent) {
        let fresh = || RunProgress::new(self.terminal, self.json, self.quiet);
        self.progress.get_or_insert_with(fresh).emit(event);
        if matches!(event.body, EventBody::GateReached { .. }) {
            self.progress = None;
        }
    }
}

fn say_plan(
    conductor: &Conductor<'_>,
    definition: &FlowDefinition,
    request: RunRequest,
    base: &Path,
    json: bool,
    session: &Session,
) -> CommandExit {
    let terminal = &session.terminal;
    let plans = conductor.plan(definition, request, base)?;
    let text = if json {
        let mut steps = Vec::new();
        for (name, planned) in &plans {
            let read: Value = serde_json::from_str(&plan::json(planned)?).unwrap_or_default();
            steps.push(json!({ "step": name, "plan": read }));
        }
        format!("{:#}\n", json!({ "mode": definition.name, "steps": steps }))
    } else {
        let mut text = flow::definition(definition, terminal.stdout);
        for (name, planned) in &plans {
            let head = terminal.stdout.paint(TextStyle::Bold, &format!("step {name}"));
            text.push_str(&format!("\n{head}\n{}", plan::text(planned, terminal.stdout)?));
        }
        text
    };
    terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn current_folder() -> Result<PathBuf, CliFailure> {
    std::env::current_dir().map_err(CliFailure::io("find", Path::new(".")))
}

/// The command line as it was given, and where: enough to make the same request again.
pub(super) fn saved(base: &Path) -> Value {
    kept(std::env::args_os(), base)
}

/// The same with a command line that stands for the one that was given.
pub(super) fn kept(words: impl IntoIterator<Item = OsString>, base: &Path) -> Value {
    let words: Vec<Value> = words.into_iter().map(|word| as_json(&word)).collect();
    json!({ "args": words, "folder": as_json(base.as_os_str()) })
}

fn restored(asked: &Value) -> Option<(Vec<OsString>, PathBuf)> {
    let words = asked["args"].as_array()?.iter().map(from_json).collect::<Option<_>>()?;
    Some((words, from_json(&asked["folder"])?.into()))
}

/// Text as text, other bytes as numbers.
fn as_json(word: &OsStr) -> Value {
    word.to_str().map_or_else(|| json!(word.as_bytes()), |text| json!(text))
}

fn from_json(value: &Value) -> Option<OsString> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Array(bytes) => {
            let byte = |n: &Value| n.as_u64().and_then(|n| u8::try_from(n).ok());
            bytes.iter().map(byte).collect::<Option<_>>().map(OsString::from_vec)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_command_line_comes_back_as_it_was() {
        for word in [&b"plain"[..], b"", "ä \u{1f600}".as_bytes(), b"\xff\xfe/x"] {
            let word = OsStr::from_bytes(word);
            assert_eq!(from_json(&as_json(word)).unwrap(), word);
        }
        let (words, folder) = restored(&saved(Path::new("/x"))).unwrap();
        assert_eq!((words.len(), folder), (std::env::args_os().count(), PathBuf::from("/x")));
        assert!(restored(&Value::Null).is_none());
    }
}
