//! From what the user asked for to what one step is asked: each flag where it makes sense, and never more than the
//! step's own mode gives.

use std::path::{Path, PathBuf};

use holon_core::HumanDuration;
use holon_core::mode::{ModeCatalog, NetworkReach, Profile};
use holon_core::redact::Redactor;
use holon_core::spec::{RequestedArtifact, Spec};
use holon_host::run::CREDENTIAL_IN_GOAL;
use holon_host::{HostError, RunPlan, RunRequest, SourcedSpec, effect};

use crate::definition::{FlowDefinition, StepRunWork, StepWork};
use crate::error::FlowError;

/// What was asked of the whole flow, with every path made absolute.
#[derive(Debug, Clone)]
pub(crate) struct FlowRequest {
    /// The flags.
    pub(crate) request: RunRequest,
    /// The spec, if one was given.
    pub(crate) spec: Option<SourcedSpec>,
    /// What is odd about the spec.
    pub(crate) warnings: Vec<String>,
}

impl FlowRequest {
    /// Reads the spec and makes the paths in it independent of where it lies.
    pub(crate) fn new(request: RunRequest, base: &Path) -> Result<Self, FlowError> {
        let mut request = absolute(request, base);
        if request.allow_writes {
            return Err(HostError::usage(
                "--allow-writes is for single runs in a mode that throws its changes away",
                "leave it out: the last step of a flow delivers its changes anyway",
            )
            .into());
        }
        let (given, warnings) = SourcedSpec::of(&request)?;
        let Some(mut given) = given else {
            request.workspace.get_or_insert_with(|| base.to_owned());
            return Ok(Self { request, spec: None, warnings });
        };
        let below = |folder: &Path, text: &String| folder.join(text).to_string_lossy().into_owned();
        if request.workspace.is_none() {
            request.workspace = Some(given.workspace()?.unwrap_or_else(|| base.to_owned()));
        }
        given.spec.context.workspace = None;
        // An agent's path is relative to where the command was given, not to the spec.
        let agent = &mut given.spec.agent.name;
        *agent = agent.take().map(|name| if name.contains('/') { below(base, &name) } else { name });
        let workspace = request.workspace.clone().unwrap_or_default();
        let mut given = given.settled(&request, &workspace.canonicalize().unwrap_or(workspace))?;
        // Judged here, where it is known where the spec lies: its parts lie nowhere.
        given.context()?;
        let files = given.spec.context.files.iter().map(|file| below(&given.folder, file)).collect();
        given.spec.context.files = files;
        Ok(Self { request, spec: Some(given), warnings })
    }

    /// Refuses what would have no effect with the agent of this work, whichever step it is meant for.
    pub(crate) fn refuse_without_effect(&self, plan: &RunPlan) -> Result<(), FlowError> {
        let nothing = Spec::for_goal(String::new());
        let spec = self.spec.as_ref().map_or(&nothing, |given| &given.spec);
        Ok(effect::refuse_without_effect(&self.request, spec, &plan.agent)?)
    }

    /// Digest of the spec, by which a resume knows that it is the same.
    pub(crate) fn spec_sha256(&self) -> Option<String> {
        self.spec.as_ref().map(|given| given.sha256.clone())
    }

    /// Artifacts that the spec asks for.
    pub(crate) fn artifacts(&self) -> &[RequestedArtifact] {
        self.spec.as_ref().map(|given| given.spec.output.artifacts.as_slice()).unwrap_or_default()
    }

    /// The same without credentials in the goal, which is written down and told to every step.
    pub(crate) fn without_secrets(mut self, redactor: &Redactor) -> Self {
        let spec = self.spec.as_mut().map(|given| &mut given.spec.goal.description);
        let mut found = false;
        for goal in self.request.goal.as_mut().into_iter().chain(spec) {
            let clean = redactor.redact_str(goal);
            found |= clean != *goal;
            *goal = clean;
        }
        if found {
            self.warn(&[CREDENTIAL_IN_GOAL.to_owned()]);
        }
        self
    }

    /// Adds what the whole is to be warned of, each once.
    pub(crate) fn warn(&mut self, warnings: &[String]) {
        let new: Vec<String> =
            warnings.iter().filter(|text| !self.warnings.contains(text)).cloned().collect();
        self.warnings.extend(new);
    }

    /// What all steps together may cost.
    pub(crate) fn max_cost_usd(&self) -> Option<f64> {
        let spec = self.spec.as_ref().and_then(|given| given.spec.constraints.max_cost_usd);
        [self.request.max_cost_usd, spec].into_iter().flatten().reduce(f64::min)
    }

    /// How long all of it may take.
    pub(crate) fn timeout(&self) -> Option<HumanDuration> {
        let spec = self.spec.as_ref().and_then(|given| given.spec.constraints.timeout);
        self.request.timeout.or(spec)
    }

    /// The goal in words.
    pub(crate) fn goal(&self) -> String {
        let spec = self.spec.as_ref().map(|given| given.spec.goal.description.clone());
        self.request.goal.clone().or(spec).unwrap_or_default()
    }

    /// The request of one step; `handed` and `notes` are files for its context.
    pub(crate) fn step(
        &self,
        definition: &FlowDefinition,
        place: usize,
        profile: &Profile,
        extra: StepExtras<'_>,
    ) -> Result<RunRequest, FlowError> {
        let step = &definition.steps[place];
        let StepWork::Run(work) = &step.work else {
            return Err(FlowError::Definition {
                file: definition.name.clone(),
                message: format!("step `{}` is no run", step.name),
            });
        };
        let asked = &self.request;
        // Rounds of a loop are conversations of their own.
        let label =
            if extra.round > 1 { format!("{}.{}", step.name, extra.round) } else { step.name.clone() };
        let limits = &profile.limits;
        let mut request = RunRequest {
            mode: Some(work.mode.clone()),
            part: true,
            goal: Some(goal(&self.goal(), work, extra.message)),
            checks: if work.checks { asked.checks.clone() } else { Vec::new() },
            auto_checks: asked.auto_checks && work.checks,
            tests_may_change: asked.tests_may_change || work.tests_may_change,
            // Only the flow as a whole is applied.
            apply: false,
            // A limit that is wider than the mode's own changes nothing there.
            timeout: asked.timeout.map(|t| t.min(limits.timeout)),
            idle_timeout: asked.idle_timeout.map(|t| t.min(limits.idle_timeout)),
            max_rounds: asked.max_rounds.map(|n| n.min(limits.rounds)),
            max_output_mb: asked.max_output_mb.map(|n| n.min(limits.output_mb)),
            max_cost_usd: extra.money_left.map(|left| left.min(limits.cost_usd)),
            network: asked.network.filter(|n| *n != NetworkReach::Host || !profile.promises_no_change()),
            allow_net: permits_for(asked, profile),
            record: asked.record.as_deref().map(|path| cassette(path, &label)),
            replay: asked.replay.as_deref().map(|path| cassette(path, &label)),
            workspace: extra.workspace.map(Path::to_owned).or_else(|| asked.workspace.clone()),
            environment_of: environment_of(asked),
            ..asked.clone()
        };
        // First, so that no file of the user's can take the name the brief speaks of.
        request.context.splice(..0, extra.files.iter().cloned());
        let wanted: &[RequestedArtifact] = match last_run(definition) == Some(place) {
            true => self.artifacts(),
            false => &[],
        };
        (request.spec, request.given_spec) = (None, self.part(work, profile, wanted));
        Ok(request)
    }

    /// The part of the spec that one step or child gets.
    fn part(
        &self,
        work: &StepRunWork,
        profile: &Profile,
        artifacts: &[RequestedArtifact],
    ) -> Option<SourcedSpec> {
        let given = self.spec.as_ref()?;
        let mut spec = narrowed(given.spec.clone(), work, profile);
        spec.output.artifacts = artifacts.to_vec();
        Some(SourcedSpec { spec, ..given.clone() })
    }
}

impl FlowRequest {
    /// The request of a child: its own goal, workspace and files, and never more than its mode gives.
    pub(crate) fn child(&self, child: ChildWork<'_>) -> Result<RunRequest, FlowError> {
        let ChildWork { profile, label, goal, workspace, files, artifacts, checks } = child;
        let asked = &self.request;
        let work = StepRunWork {
            mode: profile.name.clone(),
            context: Vec::new(),
            brief: None,
            checks,
            tests_may_change: false,
        };
        let mut request = RunRequest {
            mode: Some(profile.name.clone()),
            part: true,
            goal: Some(goal),
            workspace: Some(workspace.to_owned()),
            checks: if checks { asked.checks.clone() } else { Vec::new() },
            auto_checks: asked.auto_checks && checks,
            out: None,
            apply: false,
            // The orchestration's time and money are shared out by whoever starts the child.
            timeout: None,
            max_cost_usd: None,
            idle_timeout: asked.idle_timeout.map(|t| t.min(profile.limits.idle_timeout)),
            max_rounds: asked.max_rounds.map(|n| n.min(profile.limits.rounds)),
            max_output_mb: asked.max_output_mb.map(|n| n.min(profile.limits.output_mb)),
            network: asked.network.filter(|n| *n != NetworkReach::Host || !profile.promises_no_change()),
            allow_net: permits_for(asked, profile),
            environment_of: environment_of(asked),
            record: asked.record.as_deref().map(|path| cassette(path, label)),
            replay: asked.replay.as_deref().map(|path| cassette(path, label)),
            ..asked.clone()
        };
        request.context.splice(..0, files.iter().cloned());
        (request.spec, request.given_spec) = (None, self.part(&work, profile, artifacts));
        Ok(request)
    }
}

/// A child of an orchestration.
pub(crate) struct ChildWork<'a> {
    /// Its mode.
    pub(crate) profile: &'a Profile,
    /// Its name in the orchestration.
    pub(crate) label: &'a str,
    /// What it is asked.
    pub(crate) goal: String,
    /// The folder it works on.
    pub(crate) workspace: &'a Path,
    /// Files that go with it.
    pub(crate) files: &'a [PathBuf],
    /// Artifacts of the spec that it hands over.
    pub(crate) artifacts: &'a [RequestedArtifact],
    /// Whether the user's checks are for it.
    pub(crate) checks: bool,
}

/// What a step gets besides what the user asked for.
pub(crate) struct StepExtras<'a> {
    /// Files of earlier steps, and what people said.
    pub(crate) files: &'a [PathBuf],
    /// Whether people said something.
    pub(crate) message: bool,
    /// What is left of the money.
    pub(crate) money_left: Option<f64>,
    /// The folder it works on, unless it is the user's.
    pub(crate) workspace: Option<&'a Path>,
    /// Which round of its loop it is in; 1 outside of loops.
    pub(crate) round: u32,
}

/// The mode of a step as it is in this workspace.
pub(crate) fn profile(catalog: &ModeCatalog, work: &StepRunWork) -> Result<Profile, FlowError> {
    Ok(catalog.resolve(&work.mode).map_err(HostError::from)?)
}

fn last_run(definition: &FlowDefinition) -> Option<usize> {
    definition.steps.iter().rposition(|step| matches!(step.work, StepWork::Run(_)))
}

fn goal(goal: &str, work: &StepRunWork, message: bool) -> String {
    if goal.trim().is_empty() {
        // Nothing a step says by itself may stand for what the user did not.
        return String::new();
    }
    let said = "A person has looked at what was done so far; read `/holon/input/context/message.md`, it comes first.";
    let parts = [Some(goal.trim_end()), work.brief.as_deref(), message.then_some(said)];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The spec as one step gets it: within its mode, with checks where there are any.
fn narrowed(mut spec: Spec, work: &StepRunWork, profile: &Profile) -> Spec {
    let limits = &profile.limits;
    let wants = &mut spec.constraints;
    wants.mode = None;
    wants.timeout = wants.timeout.map(|t| t.min(limits.timeout));
    wants.max_steps = wants.max_steps.map(|n| n.min(limits.rounds));
    // The flow hands money down by itself.
    wants.max_cost_usd = None;
    wants.network = wants.network.filter(|n| *n != NetworkReach::Host || !profile.promises_no_change());
    if !work.checks {
        wants.checks.clear();
    }
    spec
}

/// The workspace whose setup the user agreed to: what works on a copy of it has the same environment.
fn environment_of(asked: &RunRequest) -> Option<PathBuf> {
    let workspace = || asked.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    Some(asked.environment_of.clone().unwrap_or_else(workspace))
}

/// What a person permits is for what changes things: whoever only looks needs none of it.
fn permits_for(asked: &RunRequest, profile: &Profile) -> Vec<String> {
    if profile.promises_no_change() { Vec::new() } else { asked.allow_net.clone() }
}

/// Each step has a conversation of its own, so `demo.cassette` becomes `demo.plan.cassette`.
fn cassette(path: &Path, step: &str) -> PathBuf {
    match (path.file_stem(), path.extension()) {
        (Some(stem), Some(end)) => {
            let (stem, end) = (stem.to_string_lossy(), end.to_string_lossy());
            path.with_file_name(format!("{stem}.{step}.{end}"))
        }
        _ => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.with_file_name(format!("{name}.{step}"))
        }
    }
}

/// Makes every path of a request independent of the current folder, so that a flow can be resumed from anywhere.
fn absolute(mut request: RunRequest, base: &Path) -> RunRequest {
    let join = |path: &mut PathBuf| *path = base.join(&*path);
    request.spec.iter_mut().for_each(join);
    request.workspace.iter_mut().for_each(join);
    request.out.iter_mut().for_each(join);
    request.context.iter_mut().for_each(join);
    request.record.iter_mut().for_each(join);
    request.replay.iter_mut().for_each(join);
    if let Some(agent) = request.agent.as_mut().filter(|agent| agent.contains('/')) {
        *agent = base.join(&*agent).to_string_lossy().into_owned();
    }
    request
}

#[cfg(test)]
mod tests;
