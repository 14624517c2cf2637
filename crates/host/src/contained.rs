//! The contract from the agent's side: in a container that is itself the wall, the native agent reads the input folder,
//! works in the workspace with hands in this very process, and leaves its artifacts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_agent::{
    AgentConversation, AgentEventSink, FinishStatus, NativeAgent, TurnEndReason, TurnResult, TurnSettings,
};
use holon_core::mode::{Profile, builtin};
use holon_core::outcome::RunOutcome;
use holon_core::prompt::{ContextEntry, PromptLayers};
use holon_core::redact::Redactor;
use holon_core::spec::{self, Spec};
use holon_hands::LocalExecutor;
use holon_model::choose::ThisMachine;
use holon_model::{EndpointPreferences, ModelCancel, ModelSwitch, Normaliser, Provider, resolve_endpoint};

use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::model;
use crate::modes;
use crate::run::HostEnvironment;

/// Where the three parts of the contract are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractFolders {
    /// Read only: the spec, its context and the prompts.
    pub input: PathBuf,
    /// The snapshot.
    pub workspace: PathBuf,
    /// Empty at first; artifacts go here.
    pub output: PathBuf,
}

/// What the agent says about its end; the host judges what it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainedReport {
    /// What it came to.
    pub outcome: RunOutcome,
    /// Why it is no success.
    pub problem: Option<String>,
}

impl ContractFolders {
    /// Where the host says they are, else where the contract puts them.
    pub fn from_env(env: &HostEnvironment) -> Self {
        let place = |name: &str, usual: &str| env(name).map_or_else(|| usual.into(), PathBuf::from);
        Self {
            input: place("HOLON_INPUT_DIR", "/holon/input"),
            workspace: place("HOLON_WORKSPACE_DIR", "/holon/workspace"),
            output: place("HOLON_OUTPUT_DIR", "/holon/output"),
        }
    }
}

/// Works as the spec says and writes down how that ended; `commands` is the environment of the commands it runs, and
/// `replay` a cassette that answers instead of a model.
pub fn work(
    folders: &ContractFolders,
    env: &HostEnvironment,
    commands: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    replay: Option<&Path>,
    watcher: &dyn AgentEventSink,
) -> Result<ContainedReport, HostError> {
    let file = folders.input.join("spec.yaml");
    let text = fs::read_to_string(&file).map_err(HostError::io("read", &file))?;
    let (spec, _) = spec::parse(&text, "spec.yaml")?;
    let profile = profile(folders, &spec, env)?;
    let (provider, id, window, max_output) = contained_model(&spec, &profile, env, replay)?;
    let (system, message) = prompts(folders, &spec, &profile)?;
    let mut settings = TurnSettings::for_run(profile, system, id);
    settings.window = window;
    settings.max_output = max_output;
    settings.output = folders.output.to_string_lossy().into_owned();
    let hands = LocalExecutor::new(&folders.workspace).with_env(commands);
    let cancel = ModelCancel::default();
    let agent = NativeAgent::new(&*provider, &hands, &settings, &cancel).watched_by(watcher);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(HostError::io("prepare", "a thread to think in".as_ref()))?;
    let mut conversation = AgentConversation::default();
    let ended = runtime.block_on(agent.turn(&mut conversation, &message));
    let said = said(&ended);
    let claim = serde_json::json!({
        "status": if said.outcome == RunOutcome::Failure { "failed" } else { "completed" },
        "outcome": said.outcome,
        "error": said.problem.as_ref().map(|message| serde_json::json!({"message": message})),
    });
    let manifest = folders.output.join("manifest.json");
    fs::write(&manifest, format!("{claim:#}\n")).map_err(HostError::io("write", &manifest))?;
    Ok(said)
}

/// The mode the host enforces; here it only says what is asked of the agent.
fn profile(folders: &ContractFolders, spec: &Spec, env: &HostEnvironment) -> Result<Profile, HostError> {
    let named = env("HOLON_MODE").and_then(|name| name.into_string().ok());
    let mode = named.or_else(|| spec.constraints.mode.clone()).unwrap_or_else(|| "execute".into());
    let catalog = modes::catalog(&HolonFolders::from_env(env)?, Some(&folders.workspace))?;
    let mut profile = catalog.resolve(&mode)?;
    let limits = &mut profile.limits;
    limits.rounds = spec.constraints.max_steps.map_or(limits.rounds, |most| most.min(limits.rounds));
    limits.cost_usd = spec.constraints.max_cost_usd.map_or(limits.cost_usd, |most| most.min(limits.cost_usd));
    Ok(profile)
}

/// Who answers, under which model's name, with how large a window, and how long a reply may be.
type ContainedModel = (Arc<dyn Provider>, String, u64, Option<u32>);

fn contained_model(
    spec: &Spec,
    profile: &Profile,
    env: &HostEnvironment,
    replay: Option<&Path>,
) -> Result<ContainedModel, HostError> {
    if let Some(file) = replay {
        let (cassette, _) = model::cassette(file)?;
        let normaliser = Normaliser::new(Redactor::default());
        let (replay, info, window, _) =
            model::replayed(file, cassette, spec.agent.model.as_deref(), normaliser);
        return Ok((replay, info.id, window, None));
    }
    let variable = |name: &str| env(name).and_then(|value| value.into_string().ok());
    let intent = profile.model.intent.parse().unwrap_or_default();
    let wish =
        EndpointPreferences { model: spec.agent.model.as_deref(), intent, ..EndpointPreferences::default() };
    let chosen = resolve_endpoint(&wish, &ThisMachine::new(&variable))?;
    let (info, window, _) = model::described(&chosen);
    let provider = chosen.connect(chosen.timeouts(), model::patience(env)?, ModelSwitch::default())?;
    Ok((Arc::from(provider), info.id, window, chosen.most_reply()))
}

/// The prompts anew: those of the input folder are for agents that have no tools of ours.
fn prompts(folders: &ContractFolders, spec: &Spec, profile: &Profile) -> Result<(String, String), HostError> {
    let index = folders.input.join("context/index.json");
    let context: Vec<ContextEntry> =
        fs::read(&index).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let project = modes::read_bounded(&folders.workspace.join("AGENTS.md")).ok();
    let layers = PromptLayers {
        common: builtin::common_prompt(),
        mode: &modes::prompt_text(profile)?,
        agent: None,
        project: project.as_deref(),
        goal: &spec.goal.description,
        context: &context,
    };
    let compiled = holon_agent::prompt::compile(profile, &layers)
        .map_err(|e| HostError::usage(e.to_string(), "correct the mode or the goal"))?;
    let repair = fs::read_to_string(folders.input.join("context/repair.md")).unwrap_or_default();
    Ok((compiled.system, format!("{}\n{repair}", compiled.user).trim().to_owned()))
}

fn said(ended: &TurnResult) -> ContainedReport {
    let words =
        |before: &str| Some(format!("{before}: {}", ended.text.trim()).trim_end_matches(": ").to_owned());
    let (outcome, problem) = match &ended.reason {
        TurnEndReason::Finished(FinishStatus::Done) | TurnEndReason::TextOnly => (RunOutcome::Success, None),
        TurnEndReason::Finished(FinishStatus::NeedsPerson) | TurnEndReason::Interrupted(_) => {
            (RunOutcome::NeedsHuman, words("the agent asks for a person"))
        }
        TurnEndReason::Finished(FinishStatus::Failed) => {
            (RunOutcome::Failure, words("the agent says that it failed"))
        }
        TurnEndReason::Limit(limit) => {
            (RunOutcome::Failure, Some(format!("the agent used up its {}", limit.name())))
        }
        TurnEndReason::Denied { tool, decision } => {
            (RunOutcome::Failure, Some(format!("`{tool}` was denied: {}", decision.reason)))
        }
        TurnEndReason::Refused(said) => (RunOutcome::Failure, Some(format!("the model declines: {said}"))),
        TurnEndReason::ModelFailed(error) => (RunOutcome::Failure, Some(error.to_string())),
        TurnEndReason::HandsGone(said) => (RunOutcome::Failure, Some(format!("the hands are gone: {said}"))),
        TurnEndReason::Stopped(stop) => (stop.outcome, Some(stop.reason.clone())),
        TurnEndReason::Cancelled => (RunOutcome::Failure, Some("it was stopped".into())),
    };
    ContainedReport { outcome, problem }
}
