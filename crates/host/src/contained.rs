//! The contract from the agent's side: in a container that is itself the wall, the native agent reads the input folder,
//! works in the workspace with hands in this very process, and leaves its artifacts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_agent::{Agent, Conversation, Ended, Finish, Reason, Settings, Watcher};
use holon_core::mode::{Profile, builtin};
use holon_core::outcome::Outcome;
use holon_core::prompt::{ContextEntry, Layers};
use holon_core::redact::Redactor;
use holon_core::spec::{self, Spec};
use holon_hands::Local;
use holon_model::choose::ThisMachine;
use holon_model::{Cancel, ModelSwitch, Normaliser, Provider, Wish, resolve_endpoint};

use crate::error::HostError;
use crate::model;
use crate::modes;
use crate::places::Places;
use crate::run::Environment;

/// Where the three parts of the contract are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Read only: the spec, its context and the prompts.
    pub input: PathBuf,
    /// The snapshot.
    pub workspace: PathBuf,
    /// Empty at first; artifacts go here.
    pub output: PathBuf,
}

/// What the agent says about its end; the host judges what it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What it came to.
    pub outcome: Outcome,
    /// Why it is no success.
    pub problem: Option<String>,
}

impl Folders {
    /// Where the host says they are, else where the contract puts them.
    pub fn from_env(env: &Environment) -> Self {
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
    folders: &Folders,
    env: &Environment,
    commands: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    replay: Option<&Path>,
    watcher: &dyn Watcher,
) -> Result<Said, HostError> {
    let file = folders.input.join("spec.yaml");
    let text = fs::read_to_string(&file).map_err(HostError::io("read", &file))?;
    let (spec, _) = spec::parse(&text, "spec.yaml")?;
    let profile = profile(folders, &spec, env)?;
    let (provider, id, window, max_output) = mind(&spec, &profile, env, replay)?;
    let (system, message) = prompts(folders, &spec, &profile)?;
    let mut settings = Settings::for_run(profile, system, id);
    settings.window = window;
    settings.max_output = max_output;
    settings.output = folders.output.to_string_lossy().into_owned();
    let hands = Local::new(&folders.workspace).with_env(commands);
    let cancel = Cancel::default();
    let agent = Agent::new(&*provider, &hands, &settings, &cancel).watched_by(watcher);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(HostError::io("prepare", "a thread to think in".as_ref()))?;
    let mut conversation = Conversation::default();
    let ended = runtime.block_on(agent.turn(&mut conversation, &message));
    let said = said(&ended);
    let claim = serde_json::json!({
        "status": if said.outcome == Outcome::Failure { "failed" } else { "completed" },
        "outcome": said.outcome,
        "error": said.problem.as_ref().map(|message| serde_json::json!({"message": message})),
    });
    let manifest = folders.output.join("manifest.json");
    fs::write(&manifest, format!("{claim:#}\n")).map_err(HostError::io("write", &manifest))?;
    Ok(said)
}

/// The mode the host enforces; here it only says what is asked of the agent.
fn profile(folders: &Folders, spec: &Spec, env: &Environment) -> Result<Profile, HostError> {
    let named = env("HOLON_MODE").and_then(|name| name.into_string().ok());
    let mode = named.or_else(|| spec.constraints.mode.clone()).unwrap_or_else(|| "execute".into());
    let catalog = modes::catalog(&Places::from_env(env)?, Some(&folders.workspace))?;
    let mut profile = catalog.resolve(&mode)?;
    let limits = &mut profile.limits;
    limits.rounds = spec.constraints.max_steps.map_or(limits.rounds, |most| most.min(limits.rounds));
    limits.cost_usd = spec.constraints.max_cost_usd.map_or(limits.cost_usd, |most| most.min(limits.cost_usd));
    Ok(profile)
}

/// Who answers, under which model's name, with how large a window, and how long a reply may be.
type Mind = (Arc<dyn Provider>, String, u64, Option<u32>);

fn mind(spec: &Spec, profile: &Profile, env: &Environment, replay: Option<&Path>) -> Result<Mind, HostError> {
    if let Some(file) = replay {
        let (cassette, _) = model::cassette(file)?;
        let normaliser = Normaliser::new(Redactor::default());
        let (replay, info, window, _) =
            model::replayed(file, cassette, spec.agent.model.as_deref(), normaliser);
        return Ok((replay, info.id, window, None));
    }
    let variable = |name: &str| env(name).and_then(|value| value.into_string().ok());
    let intent = profile.model.intent.parse().unwrap_or_default();
    let wish = Wish { model: spec.agent.model.as_deref(), intent, ..Wish::default() };
    let chosen = resolve_endpoint(&wish, &ThisMachine::new(&variable))?;
    let (info, window, _) = model::described(&chosen);
    let provider = chosen.connect(chosen.timeouts(), model::patience(env)?, ModelSwitch::default())?;
    Ok((Arc::from(provider), info.id, window, chosen.most_reply()))
}

/// The prompts anew: those of the input folder are for agents that have no tools of ours.
fn prompts(folders: &Folders, spec: &Spec, profile: &Profile) -> Result<(String, String), HostError> {
    let index = folders.input.join("context/index.json");
    let context: Vec<ContextEntry> =
        fs::read(&index).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let project = modes::read_bounded(&folders.workspace.join("AGENTS.md")).ok();
    let layers = Layers {
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

fn said(ended: &Ended) -> Said {
    let words =
        |before: &str| Some(format!("{before}: {}", ended.text.trim()).trim_end_matches(": ").to_owned());
    let (outcome, problem) = match &ended.reason {
        Reason::Finished(Finish::Done) | Reason::TextOnly => (Outcome::Success, None),
        Reason::Finished(Finish::NeedsPerson) | Reason::Interrupted(_) => {
            (Outcome::NeedsHuman, words("the agent asks for a person"))
        }
        Reason::Finished(Finish::Failed) => (Outcome::Failure, words("the agent says that it failed")),
        Reason::Limit(limit) => (Outcome::Failure, Some(format!("the agent used up its {}", limit.name()))),
        Reason::Denied { tool, decision } => {
            (Outcome::Failure, Some(format!("`{tool}` was denied: {}", decision.reason)))
        }
        Reason::Refused(said) => (Outcome::Failure, Some(format!("the model declines: {said}"))),
        Reason::ModelFailed(error) => (Outcome::Failure, Some(error.to_string())),
        Reason::HandsGone(said) => (Outcome::Failure, Some(format!("the hands are gone: {said}"))),
        Reason::Stopped(stop) => (stop.outcome, Some(stop.reason.clone())),
        Reason::Cancelled => (Outcome::Failure, Some("it was stopped".into())),
    };
    Said { outcome, problem }
}
