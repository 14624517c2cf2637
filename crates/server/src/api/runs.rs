//! Runs: started, listed, shown, and answered at their gates.

use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holon_core::ids::RunId;
use holon_core::spec::Spec;
use holon_flow::{GateAnswer, GateMode};
use holon_host::effect::SETTINGS;
use holon_host::store::{RunFolder, RunStore, StoredRunSummary};
use holon_host::{RunRequest, SourcedSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::extract::{JsonBody, QueryPart};
use super::run_evidence;
use super::shapes::word;
use super::threads::checked_workspace;
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};
use crate::runs;
use crate::setup::ReplySource;

/// A run to be started.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRun {
    /// The folder it is about: absolute, below one of the server's roots.
    workspace: Option<String>,
    /// What to do.
    goal: Option<String>,
    /// The mode, `execute` unless told; flows such as `plan-then-execute` too.
    mode: Option<String>,
    /// Who does it: a known name, never a path.
    agent: Option<String>,
    /// The wanted model.
    model: Option<String>,
    /// How gates are decided: `ask` (the default), `auto` or `stop`.
    gate: Option<String>,
    /// A whole spec instead, as in `spec.yaml`.
    #[schema(value_type = Option<Object>)]
    spec: Option<Value>,
}

/// A run that was started.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StartedRun {
    id: String,
}

/// Starts a run.
#[utoipa::path(post, path = "/api/runs", tag = "runs", request_body = NewRun,
    responses((status = 202, body = StartedRun), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn create(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    JsonBody(wanted): JsonBody<NewRun>,
) -> ApiResult<(StatusCode, Json<StartedRun>)> {
    let gates: GateMode = match wanted.gate.as_deref() {
        None => GateMode::Ask,
        Some(text) => text.parse().map_err(ApiProblem::invalid)?,
    };
    let asked = asked(wanted)?;
    let request = request(&app, asked, gates)?;
    let id = runs::start(&app, &user.0, request, gates).await?;
    let audit = app.audit(&user.0, "run_started", None, json!({"run": id}));
    app.store.write(vec![audit]).await?;
    Ok((StatusCode::ACCEPTED, Json(StartedRun { id: id.to_string() })))
}

/// What a client asked for, before the server adds what is its own.
struct RequestedRun {
    request: RunRequest,
    spec: Option<Spec>,
    workspace: String,
}

/// Only what a client may choose: no paths of the machine but the workspace, nothing that weakens walls or checks. Whatever
/// else it sends is refused by name.
fn asked(wanted: NewRun) -> ApiResult<RequestedRun> {
    let mut request = RunRequest { mode: wanted.mode, agent: wanted.agent, ..RunRequest::default() };
    let (mut goal, mut workspace) = (wanted.goal, wanted.workspace);
    request.model = wanted.model;
    let spec = wanted.spec.map(|spec| sent_spec(&spec, goal.as_deref())).transpose()?;
    if let Some(spec) = &spec {
        goal = goal.or_else(|| Some(spec.goal.description.clone()));
        workspace = workspace.or_else(|| spec.context.workspace.clone());
        request.mode = request.mode.or_else(|| spec.constraints.mode.clone());
        request.agent = request.agent.or_else(|| spec.agent.name.clone());
        request.model = request.model.or_else(|| spec.agent.model.clone());
    }
    if request
        .agent
        .as_deref()
        .is_some_and(|agent| agent.contains(['/', '\\', '\0']) || agent.starts_with('.'))
    {
        return Err(ApiProblem::invalid("`agent` must be a known name"));
    }
    let workspace = workspace.ok_or_else(|| ApiProblem::invalid("`workspace` is missing"))?;
    if goal.as_deref().is_none_or(|goal| goal.trim().is_empty()) {
        return Err(ApiProblem::invalid("`goal` is missing"));
    }
    request.goal = goal;
    Ok(RequestedRun { request, spec, workspace })
}

/// A spec as a client may send it: every key is known, and none reaches for the server.
fn sent_spec(value: &Value, goal: Option<&str>) -> ApiResult<Spec> {
    let mut value = value.clone();
    // The goal may stand beside the spec.
    if let (Some(keys), Some(goal)) = (value.as_object_mut(), goal) {
        keys.entry("goal").or_insert_with(|| json!(goal));
    }
    let (spec, unknown) = holon_core::spec::parse(&value.to_string(), "spec")
        .map_err(|error| ApiProblem::invalid(error.to_string()))?;
    if let Some(first) = unknown.first() {
        let message = first.message.replace(" is ignored", " of the spec is not known here");
        return Err(ApiProblem::invalid(message));
    }
    for setting in SETTINGS {
        let (Some(key), Some(reason)) = (setting.key, setting.over_http) else { continue };
        let found = value.pointer(&format!("/{}", key.replace('.', "/")));
        if found.is_some_and(|found| !found.is_null() && found.as_array().is_none_or(|list| !list.is_empty()))
        {
            return Err(ApiProblem::invalid(format!("`{key}` of the spec is refused: {reason}")));
        }
    }
    let in_file =
        spec.output.artifacts.iter().find(|a| a.schema.as_ref().is_some_and(|s| s.file().is_some()));
    if let Some(artifact) = in_file {
        let message = format!(
            "`output.artifacts.schema` of the spec is refused for {}: a client cannot name files of the server; send the \
             schema itself",
            artifact.path
        );
        return Err(ApiProblem::invalid(message));
    }
    Ok(spec)
}

/// The request as this server carries it out.
fn request(app: &AppState, asked: RequestedRun, gates: GateMode) -> ApiResult<RunRequest> {
    let RequestedRun { mut request, spec, workspace } = asked;
    let mode = request.mode.as_deref().unwrap_or("execute");
    let has_gates = holon_flow::builtin::find(mode).is_ok_and(|flow| flow.is_some());
    if !has_gates && gates != GateMode::Ask {
        let message = format!("`gate` is for modes of several steps, and {mode} is none");
        return Err(ApiProblem::invalid(message));
    }
    // What the server was started with counts for its own agent; others have their own ways to a model.
    if let ReplySource::Network { provider, model, .. } = &app.setup.minds
        && request.agent.as_deref().is_none_or(|agent| agent == "native")
    {
        request.provider.clone_from(provider);
        request.model = request.model.or_else(|| model.clone());
    }
    let workspace = checked_workspace(app, &workspace)?;
    request.given_spec = spec.map(|spec| SourcedSpec::sent(spec, &workspace));
    request.workspace = Some(workspace);
    Ok(request)
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunInfo {
    id: String,
    workspace: String,
    mode: String,
    goal: String,
    agent: String,
    started_at: String,
    /// `running`, `gate` or `finished`.
    state: String,
    outcome: Option<String>,
    exit_code: Option<u8>,
    /// Where it waits: `{step, files}`.
    #[schema(value_type = Option<Object>)]
    gate: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    manifest: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<Vec<RunFile>>,
    /// What it left besides: what the agent and the checks printed, also those of its steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Vec<RunFile>>,
}

/// A file of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunFile {
    pub(super) path: String,
    pub(super) bytes: u64,
}

/// Runs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunList {
    runs: Vec<RunInfo>,
}

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunsQuery {
    /// At most so many, 50 unless told.
    limit: Option<u32>,
    /// Of this workspace only.
    workspace: Option<String>,
}

/// Lists runs of the workspaces below the server's roots, newest first.
#[utoipa::path(get, path = "/api/runs", tag = "runs", params(RunsQuery),
    responses((status = 200, body = RunList), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    _user: RequestUser,
    QueryPart(which): QueryPart<RunsQuery>,
) -> ApiResult<Json<RunList>> {
    let limit = which.limit.unwrap_or(50).clamp(1, 500) as usize;
    let only = which.workspace.as_deref().map(|text| checked_workspace(&app, text)).transpose()?;
    let shared = Arc::clone(&app);
    let mut all = blocking(move || all_runs(&shared, only.as_deref())).await?;
    all.sort_by(|a, b| b.record.started_at.cmp(&a.record.started_at));
    all.truncate(limit);
    let runs = all.into_iter().map(|summary| run(&app, summary)).collect();
    Ok(Json(RunList { runs }))
}

fn all_runs(app: &AppState, only: Option<&FsPath>) -> Vec<StoredRunSummary> {
    let mut folders: Vec<PathBuf> = Vec::new();
    match only {
        Some(workspace) => folders.push(app.setup.places.runs_of(workspace)),
        None => {
            let entries = std::fs::read_dir(&app.setup.places.state).into_iter().flatten().flatten();
            folders.extend(entries.map(|entry| entry.path().join("runs")).filter(|path| path.is_dir()));
        }
    }
    let summaries = folders.into_iter().flat_map(|folder| RunStore::at(folder).list().unwrap_or_default());
    summaries.filter(|summary| visible(app, &summary.record.workspace)).collect()
}

fn visible(app: &AppState, workspace: &FsPath) -> bool {
    app.is_below_a_root(workspace)
}

fn run(app: &AppState, summary: StoredRunSummary) -> RunInfo {
    let StoredRunSummary { record, manifest, alive } = summary;
    let gate = app.runs.find(&record.id).and_then(|going| going.gate());
    let state = match (&gate, alive) {
        (Some(_), _) => "gate",
        (None, true) => "running",
        (None, false) => "finished",
    };
    RunInfo {
        id: record.id.to_string(),
        workspace: record.workspace.to_string_lossy().into_owned(),
        mode: record.mode,
        goal: record.goal,
        agent: record.agent,
        started_at: record.started_at,
        state: state.to_owned(),
        outcome: manifest.as_ref().filter(|_| !alive).map(|manifest| word(&manifest.outcome)),
        exit_code: manifest.as_ref().filter(|_| !alive).map(|manifest| manifest.exit_code),
        gate: gate.map(|(step, files)| json!({"step": step, "files": files})),
        manifest: None,
        artifacts: None,
        evidence: None,
    }
}

/// The folder of a run in one of the workspaces that may be seen.
pub(super) async fn folder(app: &Arc<AppState>, id: &str) -> ApiResult<(RunFolder, StoredRunSummary)> {
    let missing = || ApiProblem::not_found("run");
    let id: RunId = id.parse().map_err(|_| missing())?;
    let shared = Arc::clone(app);
    let found = blocking(move || {
        let entries = std::fs::read_dir(&shared.setup.places.state).into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path().join("runs").join(id.as_str()));
        let path = paths.find(|path| path.join("run.json").is_file())?;
        let folder = RunFolder::open(path);
        let record = folder.record().ok().filter(|record| visible(&shared, &record.workspace))?;
        let alive = !record.finished && folder.is_alive();
        let manifest = folder.manifest();
        Some((folder, StoredRunSummary { alive, manifest, record }))
    })
    .await?;
    found.ok_or_else(missing)
}

/// Shows a run with its manifest and the names of its artifacts and its evidence.
#[utoipa::path(get, path = "/api/runs/{id}", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, body = RunInfo), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    _user: RequestUser,
    Path(id): Path<String>,
) -> ApiResult<Json<RunInfo>> {
    let (folder, summary) = folder(&app, &id).await?;
    let manifest = summary.manifest.as_ref().and_then(|manifest| serde_json::to_value(manifest).ok());
    let own = std::fs::read_dir(folder.output()).into_iter().flatten().flatten().filter_map(|entry| {
        let meta = entry.metadata().ok().filter(|meta| meta.is_file())?;
        Some(RunFile { path: entry.file_name().into_string().ok()?, bytes: meta.len() })
    });
    // Whoever is asked at a gate must be able to see what about.
    let asked = app.runs.find(&summary.record.id).map(|going| going.gate_files()).unwrap_or_default();
    let asked = asked.into_iter().filter_map(|(path, at)| {
        let bytes = at.symlink_metadata().ok().filter(|meta| meta.is_file())?.len();
        Some(RunFile { path, bytes })
    });
    let artifacts = asked.chain(own).collect();
    let evidence = blocking(move || run_evidence::list(folder.path())).await?;
    Ok(Json(RunInfo { manifest, artifacts: Some(artifacts), evidence: Some(evidence), ..run(&app, summary) }))
}

/// A word at a gate.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateReply {
    /// `approve` or `reject`.
    decision: String,
    /// What the next step shall know.
    comment: Option<String>,
}

/// Answers at the gate a run waits at.
#[utoipa::path(post, path = "/api/runs/{id}/gate", tag = "runs", request_body = GateReply, params(("id" = String, Path)),
    responses((status = 202), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn gate(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    JsonBody(given): JsonBody<GateReply>,
) -> ApiResult<StatusCode> {
    let closed = || ApiProblem::conflict("no_gate", "that run waits at no gate");
    let id: RunId = id.parse().map_err(|_| ApiProblem::not_found("run"))?;
    let going = app.runs.find(&id).filter(|going| going.user == user.0 && visible(&app, &going.workspace));
    let Some(going) = going else {
        folder(&app, id.as_str()).await?;
        return Err(closed());
    };
    let word = match given.decision.as_str() {
        "approve" => GateAnswer::Go { comment: given.comment.clone() },
        "reject" => GateAnswer::Stop,
        _ => return Err(ApiProblem::invalid("`decision` must be approve or reject")),
    };
    if !going.answer(word) {
        return Err(closed());
    }
    let detail = json!({"run": id, "decision": given.decision, "comment": given.comment});
    app.store.write(vec![app.audit(&user.0, "gate_answered", None, detail)]).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Stops a run that is under way.
#[utoipa::path(post, path = "/api/runs/{id}/cancel", tag = "runs", params(("id" = String, Path)),
    responses((status = 202), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn stop(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
) -> ApiResult<StatusCode> {
    let over = || ApiProblem::conflict("not_running", "that run is not under way here");
    let id: RunId = id.parse().map_err(|_| ApiProblem::not_found("run"))?;
    let Some(going) = app.runs.find(&id).filter(|going| going.user == user.0) else {
        folder(&app, id.as_str()).await?;
        return Err(over());
    };
    going.cancel();
    app.store.write(vec![app.audit(&user.0, "run_cancelled", None, json!({"run": id}))]).await?;
    Ok(StatusCode::ACCEPTED)
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> ApiResult<T> {
    tokio::task::spawn_blocking(work).await.map_err(|e| ApiProblem::internal(e.to_string()))
}

#[cfg(test)]
mod tests;
