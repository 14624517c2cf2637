//! From what the user asked for to what one step is asked: each flag where it makes sense, and never more than the
//! step's own mode gives.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::Span;
use holon_core::mode::{Catalog, Network, Profile};
use holon_core::redact::Redactor;
use holon_core::spec::{self, Spec};
use holon_host::run::CREDENTIAL_IN_GOAL;
use holon_host::store::write_atomic;
use holon_host::{HostError, RunRequest};

use crate::definition::{Definition, RunWork, Work};
use crate::error::FlowError;

/// What was asked of the whole flow, with every path made absolute.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The flags.
    pub(crate) request: RunRequest,
    /// The spec, if one was given, and its digest.
    pub(crate) spec: Option<(Spec, String)>,
    /// What is odd about the spec.
    pub(crate) warnings: Vec<String>,
}

impl Asked {
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
        let Some(path) = request.spec.clone() else {
            request.workspace.get_or_insert_with(|| base.to_owned());
            return Ok(Self { request, spec: None, warnings: Vec::new() });
        };
        let text = holon_host::modes::read_named(&path, "--spec")?;
        let (mut spec, warnings) = spec::parse(&text, &path.to_string_lossy()).map_err(HostError::from)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let below = |folder: &Path, text: &String| folder.join(text).to_string_lossy().into_owned();
        spec.context.files = spec.context.files.iter().map(|file| below(folder, file)).collect();
        let workspace = spec.context.workspace.take().map(|path| folder.join(path));
        request.workspace.get_or_insert_with(|| workspace.unwrap_or_else(|| base.to_owned()));
        // An agent's path is relative to where the command was given, not to the spec.
        spec.agent.name =
            spec.agent.name.map(|name| if name.contains('/') { below(base, &name) } else { name });
        let digest = holon_core::digest::sha256(text.as_bytes());
        let warnings = warnings.into_iter().map(|w| format!("{}: {}", path.display(), w.message)).collect();
        Ok(Self { request, spec: Some((spec, digest)), warnings })
    }

    /// The same without credentials in the goal, which is written down and told to every step.
    pub(crate) fn without_secrets(mut self, redactor: &Redactor) -> Self {
        let spec = self.spec.as_mut().map(|(spec, _)| &mut spec.goal.description);
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
        let spec = self.spec.as_ref().and_then(|(spec, _)| spec.constraints.max_cost_usd);
        [self.request.max_cost_usd, spec].into_iter().flatten().reduce(f64::min)
    }

    /// How long all of it may take.
    pub(crate) fn timeout(&self) -> Option<Span> {
        let spec = self.spec.as_ref().and_then(|(spec, _)| spec.constraints.timeout);
        self.request.timeout.or(spec)
    }

    /// The goal in words.
    pub(crate) fn goal(&self) -> String {
        let spec = self.spec.as_ref().map(|(spec, _)| spec.goal.description.clone());
        self.request.goal.clone().or(spec).unwrap_or_default()
    }

    /// The request of one step; `handed` and `notes` are files for its context.
    pub(crate) fn step(
        &self,
        definition: &Definition,
        place: usize,
        profile: &Profile,
        extra: Extra<'_>,
    ) -> Result<RunRequest, FlowError> {
        let step = &definition.steps[place];
        let Work::Run(work) = &step.work else {
            return Err(FlowError::Definition {
                file: definition.name.clone(),
                message: format!("step `{}` is no run", step.name),
            });
        };
        let asked = &self.request;
        let limits = &profile.limits;
        let mut request = RunRequest {
            mode: Some(work.mode.clone()),
            goal: Some(goal(&self.goal(), work, extra.message)),
            checks: if work.checks { asked.checks.clone() } else { Vec::new() },
            auto_checks: asked.auto_checks && work.checks,
            // Only the flow as a whole is applied.
            apply: false,
            // A limit that is wider than the mode's own changes nothing there.
            timeout: asked.timeout.map(|t| t.min(limits.timeout)),
            idle_timeout: asked.idle_timeout.map(|t| t.min(limits.idle_timeout)),
            max_rounds: asked.max_rounds.map(|n| n.min(limits.rounds)),
            max_output_mb: asked.max_output_mb.map(|n| n.min(limits.output_mb)),
            max_cost_usd: extra.money_left.map(|left| left.min(limits.cost_usd)),
            network: asked.network.filter(|n| *n != Network::Host || !profile.promises_no_change()),
            record: asked.record.as_deref().map(|path| cassette(path, &step.name)),
            replay: asked.replay.as_deref().map(|path| cassette(path, &step.name)),
            ..asked.clone()
        };
        // First, so that no file of the user's can take the name the brief speaks of.
        request.context.splice(..0, extra.files.iter().cloned());
        if let Some((spec, _)) = &self.spec {
            let last = last_run(definition) == Some(place);
            let spec = narrowed(spec.clone(), work, profile, last);
            request.spec = Some(write_spec(&spec, extra.folder, &step.name)?);
        }
        Ok(request)
    }
}

impl Asked {
    /// The request of a child: its own goal, workspace and files, and never more than its mode gives.
    pub(crate) fn child(&self, child: ChildWork<'_>) -> Result<RunRequest, FlowError> {
        let ChildWork { profile, label, goal, workspace, files, specs, checks } = child;
        let asked = &self.request;
        let work = RunWork { mode: profile.name.clone(), context: Vec::new(), brief: None, checks };
        let mut request = RunRequest {
            mode: Some(profile.name.clone()),
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
            network: asked.network.filter(|n| *n != Network::Host || !profile.promises_no_change()),
            record: asked.record.as_deref().map(|path| cassette(path, label)),
            replay: asked.replay.as_deref().map(|path| cassette(path, label)),
            ..asked.clone()
        };
        request.context.splice(..0, files.iter().cloned());
        if let Some((spec, _)) = &self.spec {
            let spec = narrowed(spec.clone(), &work, profile, false);
            request.spec = Some(write_spec(&spec, specs, label)?);
        }
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
    /// Where a spec for it can be written.
    pub(crate) specs: &'a Path,
    /// Whether the user's checks are for it.
    pub(crate) checks: bool,
}

/// What a step gets besides what the user asked for.
pub(crate) struct Extra<'a> {
    /// Files of earlier steps, and what people said.
    pub(crate) files: &'a [PathBuf],
    /// Whether people said something.
    pub(crate) message: bool,
    /// What is left of the money.
    pub(crate) money_left: Option<f64>,
    /// Where a spec for the step can be written.
    pub(crate) folder: &'a Path,
}

/// The mode of a step as it is in this workspace.
pub(crate) fn profile(catalog: &Catalog, work: &RunWork) -> Result<Profile, FlowError> {
    Ok(catalog.resolve(&work.mode).map_err(HostError::from)?)
}

fn last_run(definition: &Definition) -> Option<usize> {
    definition.steps.iter().rposition(|step| matches!(step.work, Work::Run(_)))
}

fn goal(goal: &str, work: &RunWork, message: bool) -> String {
    if goal.trim().is_empty() {
        // Nothing a step says by itself may stand for what the user did not.
        return String::new();
    }
    let said = "A person has looked at what was done so far; read `/holon/input/context/message.md`, it comes first.";
    let parts = [Some(goal.trim_end()), work.brief.as_deref(), message.then_some(said)];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The spec as one step gets it: artifacts asked for belong to the last run, checks to the steps that are checked.
fn narrowed(mut spec: Spec, work: &RunWork, profile: &Profile, last: bool) -> Spec {
    let limits = &profile.limits;
    let wants = &mut spec.constraints;
    wants.mode = None;
    wants.timeout = wants.timeout.map(|t| t.min(limits.timeout));
    wants.max_steps = wants.max_steps.map(|n| n.min(limits.rounds));
    // The flow hands money down by itself.
    wants.max_cost_usd = None;
    wants.network = wants.network.filter(|n| *n != Network::Host || !profile.promises_no_change());
    if !work.checks {
        wants.checks.clear();
    }
    if !last {
        spec.output.artifacts.clear();
    }
    spec
}

/// JSON is YAML, so a spec written as JSON is one that can be read.
fn write_spec(spec: &Spec, folder: &Path, step: &str) -> Result<PathBuf, FlowError> {
    fs::create_dir_all(folder).map_err(HostError::io("create", folder))?;
    let path = folder.join(format!("{step}.yaml"));
    write_atomic(&path, &serde_json::to_vec_pretty(spec).unwrap_or_default())?;
    Ok(path)
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
