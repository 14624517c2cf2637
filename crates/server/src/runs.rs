//! Runs and flows started from the server: each in a thread of its own, with its gates answered over the wire.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::event::{EventSink, RunEvent};
use holon_core::ids::RunId;
use holon_flow::dispatch::DispatchSettings;
use holon_flow::orchestrate::release_gate::ReleaseGate;
use holon_flow::orchestrate::{CodeEdges, OrchestrationOrder, Orchestrator};
use holon_flow::{
    Conductor, DispatchCall, Dispatcher, FlowCatalog, FlowError, FlowOrder, GateAnswer, GateMode,
    GateQuestion, Gatekeeper, MakeHost, RaisedLimits,
};
use holon_host::{
    ConfigurationFiles, HolonFolders, Host, HostError, ModelCancel, RunContext, RunRequest, modes,
};
use holon_telemetry::TraceCaller;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::app::AppState;
use crate::caller;
use crate::guard::{ConcurrencyLimit, ConcurrencyPermit};
use crate::problem::{ApiProblem, ApiResult};

/// Runs under way.
pub(crate) struct ServerRuns {
    seats: ConcurrencyLimit,
    all: Mutex<HashMap<RunId, Arc<OngoingRun>>>,
}

/// One run under way.
pub(crate) struct OngoingRun {
    pub(crate) user: String,
    pub(crate) workspace: PathBuf,
    cancel: ModelCancel,
    gate: Mutex<Option<OpenGate>>,
}

struct OpenGate {
    step: String,
    files: BTreeMap<String, String>,
    paths: BTreeMap<String, PathBuf>,
    answer: Sender<GateAnswer>,
}

impl ServerRuns {
    pub(crate) fn new(seats: ConcurrencyLimit) -> Self {
        Self { seats, all: Mutex::default() }
    }

    /// A run under way.
    pub(crate) fn find(&self, id: &RunId) -> Option<Arc<OngoingRun>> {
        self.lock().get(id).cloned()
    }

    /// Asks all to end.
    pub(crate) fn cancel_all(&self) {
        self.lock().values().for_each(|going| going.cancel.cancel());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Arc<OngoingRun>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OngoingRun {
    /// The gate it waits at: the step behind it and the files the decision is about.
    pub(crate) fn gate(&self) -> Option<(String, BTreeMap<String, String>)> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        gate.as_ref().map(|gate| (gate.step.clone(), gate.files.clone()))
    }

    /// Where the files are that the decision is about, by name.
    pub(crate) fn gate_files(&self) -> BTreeMap<String, PathBuf> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        gate.as_ref().map(|gate| gate.paths.clone()).unwrap_or_default()
    }

    /// Asks it to end.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Answers at the gate; `false` when it does not wait at one.
    pub(crate) fn answer(&self, word: GateAnswer) -> bool {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner).take();
        gate.is_some_and(|gate| gate.answer.send(word).is_ok())
    }
}

/// Starts a run or a flow; gives its id as soon as it has one.
pub(crate) async fn start(
    app: &Arc<AppState>,
    user: &str,
    request: RunRequest,
    gates: GateMode,
) -> ApiResult<RunId> {
    let work = app.begin_work()?;
    let seat =
        app.runs.seats.take(user).ok_or_else(|| ApiProblem::too_many("too many runs are under way", 10))?;
    let (known, first) = oneshot::channel();
    let (app, user, caller) = (Arc::clone(app), user.to_owned(), caller::present());
    std::thread::Builder::new()
        .name("run".into())
        .spawn(move || {
            let by = RunCaller { user, caller };
            carry_out(&app, by, request, gates, known, seat);
            drop(work);
        })
        .map_err(|e| ApiProblem::internal(format!("no thread for a run: {e}")))?;
    first.await.unwrap_or_else(|_| Err(ApiProblem::internal("the run ended before it began")))
}

type RunIdReply = oneshot::Sender<ApiResult<RunId>>;

/// Who wants a run.
struct RunCaller {
    user: String,
    caller: Option<TraceCaller>,
}

fn carry_out(
    app: &Arc<AppState>,
    by: RunCaller,
    request: RunRequest,
    gates: GateMode,
    known: RunIdReply,
    seat: ConcurrencyPermit,
) {
    let RunCaller { user, caller } = by;
    let workspace = request.workspace.clone().unwrap_or_default();
    let cancel = ModelCancel::default();
    let going = Arc::new(OngoingRun {
        user,
        workspace: workspace.clone(),
        cancel: cancel.clone(),
        gate: Mutex::default(),
    });
    let mut sink = RunListingSink { app, going: &going, known: Some(known), id: None };
    // All of the run goes by the configuration as it is now.
    let configuration = ConfigurationFiles::shared(&app.setup.places);
    let make = |places: HolonFolders| {
        let configuration = Arc::clone(&configuration);
        Host { configuration, ..app.host(places, caller.as_ref()) }
    };
    let flow = |mode: &str| FlowCatalog::find_in(&app.setup.places, Some(&workspace), mode);
    let flow = request.mode.as_deref().map(flow).transpose();
    // A configuration that cannot be read is told of by whoever carries the run out.
    let edges = code_edges(app, &make(app.setup.places.clone()), &request, &workspace).ok().flatten();
    let failed = match flow {
        Ok(_) if request.mode.as_deref() == Some("orchestrate") => {
            orchestrate(app, &make, (request, None), workspace, &mut sink, &cancel).err()
        }
        Ok(None | Some(None)) if edges.is_some() => {
            orchestrate(app, &make, (request, edges), workspace, &mut sink, &cancel).err()
        }
        Ok(Some(Some(definition))) => {
            let conductor = Conductor { places: app.setup.places.clone(), host: &make };
            let mut keeper = WireGatekeeper { going: &going };
            let asked = serde_json::to_value(&request).unwrap_or_default();
            let order = FlowOrder {
                request,
                base: workspace,
                raised: RaisedLimits::default(),
                gates,
                gatekeeper: &mut keeper,
                sink: &mut sink,
                cancel: &cancel,
            };
            conductor.start(&definition, asked, order).err().map(|e| ApiProblem::invalid(e.to_string()))
        }
        Ok(_) => {
            let places = app.setup.places.clone();
            let (host, dispatcher) = (make(places.clone()), Dispatcher::new(places));
            let done = host.plan(&request).map_err(FlowError::from).and_then(|plan| {
                dispatcher.dispatch(DispatchCall::new(plan), &host, RunContext::new(&mut sink, &cancel))
            });
            done.err().map(refused)
        }
        Err(e) => Some(ApiProblem::invalid(e.to_string())),
    };
    let RunListingSink { known, id, .. } = sink;
    if let Some(id) = id {
        app.runs.lock().remove(&id);
    }
    if let (Some(known), Some(problem)) = (known, failed) {
        let _ = known.send(Err(problem));
    }
    drop(seat);
}

/// What the configuration wants to follow a single run in mode code before its changes go out.
fn code_edges(
    app: &AppState,
    host: &Host,
    request: &RunRequest,
    workspace: &Path,
) -> Result<Option<CodeEdges>, HostError> {
    let spec = request.given_spec.as_ref().and_then(|given| given.spec.constraints.mode.as_deref());
    let mode = request.mode.as_deref().or(spec).unwrap_or("execute");
    if modes::catalog(&app.setup.places, Some(workspace))?.canonical(mode) != Some("execute") {
        return Ok(None);
    }
    let config = host.configuration.of(workspace)?.merged(&*host.env)?;
    Ok(CodeEdges::wanted(false, false, &config))
}

/// Splits a goal and carries the tasks out, assessed at the end, as the command does; with edges, a single run in mode code
/// and what follows it. Nobody can overrule the assessment from here.
fn orchestrate(
    app: &AppState,
    make: &MakeHost<'_>,
    (request, edges): (RunRequest, Option<CodeEdges>),
    workspace: PathBuf,
    sink: &mut dyn EventSink,
    cancel: &ModelCancel,
) -> ApiResult<()> {
    let places = app.setup.places.clone();
    let host = make(places.clone());
    let config = host.configuration.of(&workspace)?.merged(&*host.env)?;
    let dispatcher = Dispatcher::new(places.clone()).within(DispatchSettings::of(&config, &workspace)?);
    let conscience = ReleaseGate::configured(&config, places.home.clone());
    let asked = as_command(&request, &workspace, edges.is_some());
    let orchestrator = Orchestrator { places, host: make, dispatcher: &dispatcher, conscience: &conscience };
    let commission = OrchestrationOrder {
        request,
        base: workspace,
        ethics_override: None,
        raised: RaisedLimits::default(),
        sink,
        cancel,
    };
    let done = match edges {
        Some(edges) => orchestrator.start_single(asked, edges, commission),
        None => orchestrator.start(asked, commission),
    };
    done.map(drop).map_err(refused)
}

/// The command that asks for the same, with which a person goes on at a terminal.
fn as_command(request: &RunRequest, workspace: &Path, single: bool) -> Value {
    let mode = if single { "execute" } else { "orchestrate" };
    let mut words: Vec<String> = ["holon", "run", "--mode", mode].map(str::to_owned).to_vec();
    let mut give = |flag: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    };
    give("--goal", request.goal.clone());
    give("--agent", request.agent.clone());
    give("--model", request.model.clone());
    let folder = match workspace.to_str() {
        Some(text) => json!(text),
        // Other bytes than text are numbers.
        None => json!(workspace.as_os_str().as_bytes()),
    };
    json!({ "args": words, "folder": folder, "spec": request.given_spec })
}

fn refused(error: FlowError) -> ApiProblem {
    match error {
        FlowError::Host(error) => ApiProblem::from(error),
        other => ApiProblem::invalid(other.to_string()),
    }
}

/// Hears the first event, which names the run.
struct RunListingSink<'a> {
    app: &'a Arc<AppState>,
    going: &'a Arc<OngoingRun>,
    known: Option<RunIdReply>,
    id: Option<RunId>,
}

impl EventSink for RunListingSink<'_> {
    fn emit(&mut self, event: &RunEvent) {
        let Some(known) = self.known.take() else { return };
        self.app.runs.lock().insert(event.run.clone(), Arc::clone(self.going));
        self.id = Some(event.run.clone());
        let _ = known.send(Ok(event.run.clone()));
    }
}

/// Waits for a word that comes over the wire.
struct WireGatekeeper<'a> {
    going: &'a Arc<OngoingRun>,
}

impl Gatekeeper for WireGatekeeper<'_> {
    fn ask(&mut self, question: &GateQuestion) -> GateAnswer {
        let (answer, words): (_, Receiver<GateAnswer>) = channel();
        let digest = |path: &PathBuf| std::fs::read(path).map(|bytes| holon_core::digest::sha256(&bytes));
        let files = question
            .files
            .iter()
            .map(|(name, path)| (name.clone(), digest(path).unwrap_or_default()))
            .collect();
        let paths = question.files.iter().map(|(name, path)| (name.clone(), path.clone())).collect();
        let gate = OpenGate { step: question.step.clone(), files, paths, answer };
        *self.going.gate.lock().unwrap_or_else(PoisonError::into_inner) = Some(gate);
        let going = Arc::clone(self.going);
        let _ends = self.going.cancel.on_cancel(move || {
            going.answer(GateAnswer::Cancelled);
        });
        words.recv().unwrap_or(GateAnswer::Stop)
    }
}
