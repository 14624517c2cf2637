//! Resolve: from flags, spec, mode and configuration to one plan, with every contradiction refused here.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_agent::mcp::McpServerConfig;
use holon_core::config::ResolvedConfig;
use holon_core::manifest::{ErrorInfo, Manifest};
use holon_core::mode::{NetworkReach, Profile, RunOverrides, ValueOrigin};
use holon_core::outcome::RunStatus;
use holon_core::prompt::MAX_GOAL;
use holon_core::redact::Redactor;
use holon_core::scope::PathSet;
use holon_core::spec::Spec;
use holon_model::Cassette;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::snapshot::SnapshotStrategyChoice;
use holon_supervisor::SupervisorConfig;

use super::Host;
use super::foreign;
use super::out::checked_out;
use crate::adapter::{self, AdapterKind, ResolvedAgent};
use crate::config;
use crate::effect;
use crate::error::HostError;
use crate::model::{self, ModelRules};
use crate::modes;
use crate::request::RunRequest;
use crate::servers;
use crate::spec_source::{NamedPath, SourcedSpec};
use crate::supervision::{self, SupervisionSources};

/// What a request means, completely worked out.
pub struct ResolvedRun {
    /// The spec, with flags laid over it.
    pub spec: Spec,
    /// The mode, narrowed by spec and flags.
    pub profile: Profile,
    /// The agent.
    pub agent: ResolvedAgent,
    /// Canonical path of the workspace.
    pub workspace: PathBuf,
    /// Wanted model.
    pub model: Option<String>,
    /// Wanted provider.
    pub provider: Option<String>,
    /// A cassette that answers instead, with the file it came from.
    pub replay: Option<(PathBuf, Cassette)>,
    /// How the run that is done once more was cut short, if it was.
    pub cut: Option<(RunStatus, ErrorInfo)>,
    /// Where the conversation with the model is copied to.
    pub record: Option<PathBuf>,
    /// Where to copy the artifacts.
    pub out: Option<PathBuf>,
    /// Context files and folders on the host.
    pub context: Vec<NamedPath>,
    /// Commands the host runs on the result.
    pub checks: Vec<String>,
    /// Whether commands that fit the repository's shape are run when none were asked for.
    pub auto_checks: bool,
    /// How closely the native agent is watched.
    pub supervisor: SupervisorConfig,
    /// What the configuration says about the mode's models.
    pub models: ModelRules,
    /// Tool servers of the native agent.
    pub servers: Vec<McpServerConfig>,
    /// Wanted walls.
    pub sandbox: SandboxChoice,
    /// Whether no walls at all are acceptable.
    pub accept_no_isolation: bool,
    /// Wanted snapshot.
    pub snapshot: SnapshotStrategyChoice,
    /// Workspace-relative paths the agent must not see.
    pub hide: Vec<PathBuf>,
    /// The folder of the workspace that logs go to, when the user wants them there.
    pub logs: Option<PathBuf>,
    /// Whether tests and what else defines checks may change.
    pub tests_may_change: bool,
    /// Where else the runners of checks may write reports.
    pub check_reports: Vec<String>,
    /// Whether a patch touching Holon's, CI's or an agent's files is fine.
    pub allow_sensitive: bool,
    /// Whether to apply the patch when the run succeeds.
    pub apply: bool,
    /// Whether to hash the whole workspace before and after.
    pub verify_full: bool,
    /// Whether to keep the snapshot.
    pub keep: bool,
    /// Where each effective value comes from: (name, value, source).
    pub sources: Vec<(String, String, String)>,
    /// Things to tell the user.
    pub warnings: Vec<String>,
}

/// What to tell somebody whose goal is not handed on as it was given.
pub const CREDENTIAL_IN_GOAL: &str =
    "the goal held what looks like a credential; it was taken out, since agents see none";

pub(super) fn resolve(host: &Host, request: &RunRequest) -> Result<ResolvedRun, HostError> {
    let (given, mut warnings) = SourcedSpec::of(request)?;
    let workspace = workspace(request, given.as_ref())?;
    let given = given.map(|given| given.settled(request, &workspace)).transpose()?;
    let mut context = given.as_ref().map(SourcedSpec::context).transpose()?.unwrap_or_default();
    let mut spec = with_goal(given.map(|given| given.spec), request)?;
    let redactor = Redactor::new(host.secrets.iter().map(|(name, value)| (name, value)));
    let goal = redactor.redact_str(&spec.goal.description);
    if goal != spec.goal.description {
        spec.goal.description = goal;
        warnings.push(CREDENTIAL_IN_GOAL.into());
    }
    // Found out before anything is started; a mode's own words come on top of it.
    let bytes = spec.goal.description.len();
    if bytes > MAX_GOAL {
        let hint = "put long texts into files and pass them with --context";
        return Err(HostError::usage(format!("the goal has {bytes} bytes, at most {MAX_GOAL} fit"), hint));
    }
    let state = &host.places.state;
    if state.starts_with(&workspace) {
        return Err(HostError::usage(
            format!("Holon's state folder {} lies inside the workspace", state.display()),
            "set XDG_STATE_HOME to a folder outside the workspace",
        ));
    }
    let catalog = modes::catalog(&host.places, Some(&workspace))?;
    warnings.extend(catalog.refused().iter().map(|(file, e)| format!("{file} is ignored: {e}")));
    let mode =
        request.mode.clone().or_else(|| spec.constraints.mode.clone()).unwrap_or_else(|| "execute".into());
    let profile = narrow(catalog.resolve(&mode)?, request, &spec)?;

    let agent_name = request.agent.as_deref().or(spec.agent.name.as_deref());
    let image = request.image.as_deref().or(spec.agent.image.as_deref());
    if image.is_some_and(|image| image.trim().is_empty()) {
        return Err(HostError::usage("the name of the image is empty", "give one, or leave --image out"));
    }
    let agent = adapter::find(&host.places, &workspace, agent_name, image, &request.agent_args, &*host.env)?;
    if !request.part {
        effect::refuse_without_effect(request, &spec, &agent)?;
    }
    // An orchestration delivers what its children change.
    if request.apply && !profile.access.delivers() && profile.name != "orchestrate" {
        return Err(HostError::usage(
            format!("--apply would have no effect: mode {} delivers no patch", profile.name),
            "leave it out, or use a mode that changes things, such as execute",
        ));
    }
    let sandbox = walls_for(request, &agent)?;
    warnings.extend(agent.warnings.iter().cloned());
    warnings.extend(foreign::untried(&agent));
    warnings.extend(foreign::unheard(&agent, &catalog));

    let configured = config::read(&host.places, &workspace, &*host.env)?;
    warnings.extend(configured.warnings.iter().map(ToString::to_string));
    warnings.extend(config::former_mode(&configured, &mode)?);
    warnings.extend(config::unknown_modes(&configured, &catalog));
    // Logs that the user wants in the workspace grow while agents look at it.
    let logs = configured.text("artifacts.logs_dir").map(PathBuf::from);
    let out = request.out.as_deref().map(|out| checked_out(out, &workspace)).transpose()?;
    let mut hide = hidden(&profile, &workspace)?;
    hide.extend(logs.clone());
    hide.extend(out.as_deref().and_then(|o| o.strip_prefix(&workspace).ok()).map(Path::to_owned));
    context.extend(request.context.iter().cloned().map(NamedPath::of_user));
    for named in &context {
        let wrong = |what: &str, hint: &str| {
            HostError::usage(format!("context {}: {what}", named.path.display()), hint)
        };
        let check = "check the path given with --context or context.files";
        let meta = fs::metadata(&named.path).map_err(|e| wrong(&e.to_string(), check))?;
        // A pipe or a device could keep us waiting for ever.
        if !meta.is_file() && !meta.is_dir() {
            return Err(wrong("neither a file nor a folder", "write what it gives to a file first"));
        }
    }
    let checks = [spec.constraints.checks.clone(), request.checks.clone()].concat();
    if checks.iter().any(|check| check.trim().is_empty()) {
        return Err(HostError::usage(
            "a check is an empty command, which would pass whatever happens",
            "give a command with --check, or leave it out",
        ));
    }
    let check_reports = [spec.constraints.check_reports.clone(), request.check_reports.clone()].concat();
    holon_checks::ReportLocations::of("", &check_reports).map_err(|wrong| {
        HostError::usage(wrong.to_string(), "give one such as `reports/*.xml`, relative to the workspace")
    })?;
    let supervised = supervision::settle(&SupervisionSources {
        places: &host.places,
        workspace: &workspace,
        env: &*host.env,
        spec: spec.constraints.supervisor,
        flag: request.supervisor,
        shadow: request.shadow,
    })?;
    warnings.extend(supervised.warnings);
    let models = models(&configured, &profile)?;
    let wanted = servers::wanted(&host.places.config, &workspace, &request.mcp)?;
    warnings.extend(wanted.warnings);
    let mut plan = ResolvedRun {
        models,
        servers: wanted.servers,
        sources: Vec::new(),
        model: request.model.clone().or_else(|| spec.agent.model.clone()),
        provider: request.provider.clone(),
        replay: request.replay.as_deref().map(model::cassette).transpose()?,
        cut: None,
        record: request.record.clone(),
        out,
        context,
        checks,
        auto_checks: request.auto_checks,
        supervisor: supervised.config,
        sandbox,
        hide,
        logs,
        warnings,
        accept_no_isolation: request.accept_no_isolation,
        snapshot: request.snapshot,
        check_reports,
        tests_may_change: request.tests_may_change || spec.constraints.tests_may_change,
        allow_sensitive: request.allow_sensitive,
        apply: request.apply,
        verify_full: request.verify_full,
        keep: request.keep,
        spec,
        profile,
        agent,
        workspace,
    };
    plan.sources = sources(&plan, request);
    let native = plan.agent.adapter.kind == AdapterKind::Native;
    let named = plan.model.is_some() || plan.provider.is_some() || plan.replay.is_some();
    let gateway = plan.agent.adapter.model.as_ref().is_some_and(|model| !model.on_request || named);
    if native || gateway {
        let shadow = match (plan.supervisor.shadow, native || plan.agent.adapter.calls.is_some()) {
            (true, _) => ", as a shadow",
            (false, false) if plan.supervisor.level.can_shadow() => {
                ", watching alone: its calls are not described"
            }
            _ => "",
        };
        let value = format!("{}{shadow}", plan.supervisor.level.name());
        plan.sources.push(("supervisor".into(), value, supervised.level_from));
    }
    Ok(plan)
}

/// What the configuration says about the mode's models; a mode that is switched off cannot be used.
fn models(configured: &ResolvedConfig, profile: &Profile) -> Result<ModelRules, HostError> {
    let name = config::name_of_mode(&profile.name);
    let rules = ModelRules::of(configured, name);
    if !rules.mode.enabled {
        let from = configured.get(&format!("modes.{name}.enabled")).map(|found| found.source.to_string());
        return Err(HostError::usage(
            format!("the mode {} is switched off by {}", profile.name, from.unwrap_or_default()),
            format!("remove `enabled = false` from [modes.{name}], or choose another mode"),
        ));
    }
    Ok(rules)
}

/// The spec, or one for the goal alone; a goal on the command line beats that of the spec.
fn with_goal(spec: Option<Spec>, request: &RunRequest) -> Result<Spec, HostError> {
    let mut spec = spec.unwrap_or_else(|| Spec::for_goal(String::new()));
    if let Some(goal) = &request.goal {
        spec.goal.description.clone_from(goal);
    }
    if spec.goal.description.trim().is_empty() {
        return Err(HostError::usage(
            "there is no goal",
            "say what to do with --goal \"…\" or in a spec with --spec FILE",
        ));
    }
    Ok(spec)
}

fn workspace(request: &RunRequest, spec: Option<&SourcedSpec>) -> Result<PathBuf, HostError> {
    let given = match &request.workspace {
        Some(flag) => flag.clone(),
        None => spec.map(SourcedSpec::workspace).transpose()?.flatten().unwrap_or_else(|| PathBuf::from(".")),
    };
    let wrong = |e: std::io::Error| {
        HostError::usage(
            format!("workspace {}: {e}", given.display()),
            "give an existing, readable folder with --workspace",
        )
    };
    let path = given.canonicalize().map_err(wrong)?;
    fs::read_dir(&path).map_err(wrong)?;
    Ok(path)
}

/// Spec first, then flags; each can only narrow, except for the flags made to widen.
fn narrow(profile: Profile, request: &RunRequest, spec: &Spec) -> Result<Profile, HostError> {
    let wanted = spec.output.artifacts.iter().map(|a| (a.path.clone(), a.required)).collect();
    let from_spec = RunOverrides {
        timeout: spec.constraints.timeout,
        rounds: spec.constraints.max_steps,
        cost_usd: spec.constraints.max_cost_usd,
        network: spec.constraints.network,
        artifacts: wanted,
        ..RunOverrides::default()
    };
    let file = request.spec.as_ref().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    let mut profile = profile.narrowed(&from_spec, &ValueOrigin::Spec { file })?;
    let flags = [
        ("--timeout", RunOverrides { timeout: request.timeout, ..RunOverrides::default() }),
        ("--idle-timeout", RunOverrides { idle_timeout: request.idle_timeout, ..RunOverrides::default() }),
        ("--max-rounds", RunOverrides { rounds: request.max_rounds, ..RunOverrides::default() }),
        ("--max-cost", RunOverrides { cost_usd: request.max_cost_usd, ..RunOverrides::default() }),
        ("--max-output", RunOverrides { output_mb: request.max_output_mb, ..RunOverrides::default() }),
    ];
    for (flag, overrides) in flags {
        profile = profile.narrowed(&overrides, &ValueOrigin::Flag { flag: flag.into() })?;
    }
    if request.allow_writes {
        profile = profile.with_writes()?;
    }
    if let Some(network) = request.network {
        profile = with_network(profile, network)?;
    }
    Ok(profile)
}

/// `--network` is made to choose; a mode that promises no change still refuses the host's network.
fn with_network(mut profile: Profile, network: NetworkReach) -> Result<Profile, HostError> {
    if network == NetworkReach::Host && profile.promises_no_change() {
        return Err(HostError::usage(
            format!(
                "mode {} promises that nothing changes, so it cannot use the host's network",
                profile.name
            ),
            "use a mode of your own that widens it, in your user configuration",
        ));
    }
    profile.network = network;
    profile.origins.insert("network.tools".into(), ValueOrigin::Flag { flag: "--network".into() });
    Ok(profile)
}

fn walls_for(request: &RunRequest, agent: &ResolvedAgent) -> Result<SandboxChoice, HostError> {
    let container = agent.adapter.kind == AdapterKind::Image || agent.image.is_some();
    match (request.sandbox, container) {
        (SandboxChoice::Auto, true) => Ok(SandboxChoice::Oci),
        (SandboxChoice::Oci, true) => Ok(SandboxChoice::Oci),
        (SandboxChoice::Oci, false) => Err(HostError::usage(
            "--sandbox oci needs an image that holds the agent or its interpreter",
            "name one with --image",
        )),
        (choice, true) => {
            let message = format!("an image cannot run with --sandbox {}", choice.name());
            Err(HostError::usage(message, "use --sandbox oci, or leave --sandbox out"))
        }
        (SandboxChoice::None, false) if !request.accept_no_isolation => Err(HostError::usage(
            "--sandbox none takes all walls away: the agent could change anything you can",
            "add --i-accept-no-isolation if that is what you want",
        )),
        (choice, false) => Ok(choice),
    }
}

/// The profile's hide globs as paths: literal ones as they are, patterns looked up in the tree.
pub fn hidden(profile: &Profile, workspace: &Path) -> Result<Vec<PathBuf>, HostError> {
    let (literal, patterns): (Vec<&String>, Vec<&String>) =
        profile.hide.iter().partition(|g| !g.contains(['*', '?', '[', '{']));
    let mut paths: Vec<PathBuf> = literal.into_iter().map(PathBuf::from).collect();
    if patterns.is_empty() {
        return Ok(paths);
    }
    let set = PathSet::new(&patterns).map_err(|e| {
        HostError::usage(format!("mode {}: hide: {e}", profile.name), "correct the mode file")
    })?;
    let mut todo = vec![PathBuf::new()];
    while let Some(folder) = todo.pop() {
        let Ok(entries) = fs::read_dir(workspace.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            if set.matches(path.as_os_str().as_bytes()) {
                paths.push(path);
            } else if entry.file_type().is_ok_and(|t| t.is_dir()) && path != Path::new(".git") {
                todo.push(path);
            }
        }
    }
    Ok(paths)
}

/// Copies what is known before anything runs into the manifest.
pub(super) fn describe(plan: &ResolvedRun, manifest: &mut Manifest) {
    let meta = &mut manifest.metadata;
    meta.mode.clone_from(&plan.profile.name);
    meta.workspace_access = plan.profile.access.label().to_owned();
    meta.agent.name.clone_from(&plan.agent.name);
    meta.adapter.clone_from(&plan.agent.adapter.name);
    foreign::describe(&plan.agent, &plan.profile, manifest);
    let meta = &mut manifest.metadata;
    if plan.accept_no_isolation && plan.sandbox == SandboxChoice::None {
        meta.accepted.push("no isolation (--i-accept-no-isolation)".into());
    }
    if plan.tests_may_change {
        meta.accepted.push("changes to what defines checks (--tests-may-change)".into());
    }
    if plan.allow_sensitive {
        meta.accepted.push("changes to sensitive files (--allow-sensitive)".into());
    }
}

fn sources(plan: &ResolvedRun, request: &RunRequest) -> Vec<(String, String, String)> {
    let flag_or = |flag: bool, name: &str, other: &str| if flag { name.to_owned() } else { other.to_owned() };
    let has_spec = request.spec.as_ref().map(|p| format!("spec {}", p.display()));
    let spec = has_spec.as_deref().unwrap_or("default");
    let mut rows = vec![
        (
            "mode".into(),
            plan.profile.name.clone(),
            flag_or(
                request.mode.is_some(),
                "flag --mode",
                if plan.spec.constraints.mode.is_some() { spec } else { "default" },
            ),
        ),
        (
            "goal".into(),
            plan.spec.goal.description.clone(),
            flag_or(request.goal.is_some(), "flag --goal", spec),
        ),
        (
            "workspace".into(),
            plan.workspace.display().to_string(),
            flag_or(
                request.workspace.is_some(),
                "flag --workspace",
                if plan.spec.context.workspace.is_some() { spec } else { "current folder" },
            ),
        ),
        (
            "agent".into(),
            plan.agent.name.clone(),
            flag_or(request.agent.is_some() || request.image.is_some(), "flag", spec),
        ),
        (
            "sandbox".into(),
            plan.sandbox.name().to_owned(),
            flag_or(request.sandbox != SandboxChoice::Auto, "flag --sandbox", "default"),
        ),
    ];
    if let Some(out) = &plan.out {
        rows.push(("out".into(), out.display().to_string(), "flag --out".into()));
    }
    for check in &plan.checks {
        let from = if request.checks.contains(check) { "flag --check" } else { spec };
        rows.push(("check".into(), check.clone(), from.into()));
    }
    for glob in &plan.check_reports {
        let from = if request.check_reports.contains(glob) { "flag --check-report" } else { spec };
        rows.push(("report".into(), glob.clone(), from.into()));
    }
    rows.extend(plan.profile.rows().into_iter().map(|r| (r.key, r.value, r.origin.to_string())));
    rows.extend(asked_rows(plan, request));
    rows
}

/// What was asked for besides, each with its flag.
fn asked_rows(plan: &ResolvedRun, request: &RunRequest) -> Vec<(String, String, String)> {
    let path = |path: &Path| path.display().to_string();
    let mut rows: Vec<(&str, String, &str)> = Vec::new();
    for named in &plan.context {
        let from = if request.context.contains(&named.path) { "flag --context" } else { "spec" };
        rows.push(("context", path(&named.path), from));
    }
    let model = if request.model.is_some() { "flag --model" } else { "spec" };
    rows.extend(plan.model.iter().map(|id| ("model", id.clone(), model)));
    rows.extend(plan.provider.iter().map(|name| ("provider", name.clone(), "flag --provider")));
    let image = if request.image.is_some() { "flag --image" } else { "spec" };
    rows.extend(plan.agent.image.iter().map(|name| ("image", name.clone(), image)));
    rows.extend(request.mcp.iter().map(|server| ("tool server", server.clone(), "flag --mcp")));
    rows.extend(plan.replay.iter().map(|(file, _)| ("replay", path(file), "flag --replay")));
    rows.extend(plan.record.iter().map(|file| ("record", path(file), "flag --record")));
    rows.extend(request.agent_args.iter().map(|arg| ("agent argument", arg.clone(), "after --")));
    rows.extend(
        plan.spec.context.env.iter().map(|(name, value)| ("variable", format!("{name}={value}"), "spec")),
    );
    for artifact in &plan.spec.output.artifacts {
        let need = if artifact.required { "required" } else { "optional" };
        let schema = if artifact.schema.is_some() { ", held to a schema" } else { "" };
        rows.push(("artifact", format!("{}: {need}{schema}", artifact.path), "spec"));
    }
    for (asked, name, value, flag) in [
        (
            plan.snapshot != SnapshotStrategyChoice::Auto,
            "snapshot",
            format!("{:?}", plan.snapshot).to_lowercase(),
            "flag --snapshot",
        ),
        (plan.verify_full, "verify", "full".into(), "flag --verify"),
        (plan.keep, "keep", "the agent's copy of the workspace".into(), "flag --keep"),
        (plan.apply, "apply", "when the run succeeds".into(), "flag --apply"),
        (plan.allow_sensitive, "accepted", "changes to sensitive files".into(), "flag --allow-sensitive"),
        (
            plan.tests_may_change,
            "accepted",
            "changes to what defines checks".into(),
            if request.tests_may_change { "flag --tests-may-change" } else { "spec" },
        ),
        (plan.accept_no_isolation, "accepted", "no isolation".into(), "flag --i-accept-no-isolation"),
        (!plan.auto_checks, "checks", "only those asked for".into(), "flag --no-auto-checks"),
    ] {
        if asked {
            rows.push((name, value, flag));
        }
    }
    rows.into_iter().map(|(name, value, from)| (name.to_owned(), value, from.to_owned())).collect()
}
