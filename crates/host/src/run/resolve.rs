//! Resolve: from flags, spec, mode and configuration to one plan, with every contradiction refused here.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_core::config::ResolvedConfig;
use holon_core::manifest::Manifest;
use holon_core::mode::{NetworkReach, Profile, RunOverrides, ValueOrigin};
use holon_core::prompt::MAX_GOAL;
use holon_core::redact::Redactor;
use holon_core::scope::PathSet;
use holon_core::spec::Spec;
use holon_network::SystemQueries;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::snapshot::SnapshotStrategyChoice;

use super::Host;
use super::foreign;
use super::out::checked_out;
use super::permits::{self, GrantSources};
use crate::adapter::{self, AdapterKind, ResolvedAgent};
use crate::config;
use crate::effect;
use crate::environment;
use crate::error::HostError;
use crate::model::ModelRules;
use crate::modes;
use crate::plan::{
    BreakerLimits, DayLimits, PLAN_VERSION, PlannedCassette, PlannedPermit, PlannedValue, PlannedWork,
    RunPlan,
};
use crate::request::RunRequest;
use crate::servers;
use crate::spec_source::{NamedPath, SourcedSpec};
use crate::supervision::{self, SupervisionSources};

/// What to tell somebody whose goal is not handed on as it was given.
pub const CREDENTIAL_IN_GOAL: &str =
    "the goal held what looks like a credential; it was taken out, since agents see none";

pub(super) fn resolve(host: &Host, request: &RunRequest) -> Result<RunPlan, HostError> {
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
    let mut profile = narrow(catalog.resolve(&mode)?, request, &spec)?;
    let mode_prompt = modes::prompt_text(&profile)?;

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

    let configuration = host.configuration.of(&workspace)?;
    let configured = configuration.merged(&*host.env)?;
    warnings.extend(configured.warnings.iter().map(ToString::to_string));
    warnings.extend(config::former_mode(&configured, &mode)?);
    warnings.extend(config::unknown_modes(&configured, &catalog));
    let granted = permits::grant(
        &mut profile,
        &GrantSources {
            request,
            configured: &configured,
            workspace: &workspace,
            sandbox,
            queries: &SystemQueries::default(),
        },
    )?;
    warnings.extend(granted.warnings);
    let project = environment::for_run(host, request, &configuration, &workspace, (sandbox, &agent))?;
    warnings.extend(project.warnings);
    // Logs that the user wants in the workspace grow while agents look at it.
    let logs = configured.text("artifacts.logs_dir");
    let out = request.out.as_deref().map(|out| checked_out(out, &workspace)).transpose()?;
    hidden_patterns(&profile)?;
    let mut hide: Vec<PathBuf> = logs.iter().map(PathBuf::from).collect();
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
        configuration: &configuration,
        env: &*host.env,
        spec: spec.constraints.supervisor,
        flag: request.supervisor,
        shadow: request.shadow,
    })?;
    warnings.extend(supervised.warnings);
    let models = models(&configured, &profile)?;
    let wanted = servers::wanted(&configuration, &request.mcp)?;
    warnings.extend(wanted.warnings);
    let mut plan = RunPlan {
        version: PLAN_VERSION,
        work: PlannedWork::Agent,
        mode_prompt,
        figures: None,
        goes_on: None,
        audit: None,
        breaker: BreakerLimits {
            failures: configured.number("breaker.failures"),
            cool_down_seconds: configured.number("breaker.cool_down_seconds"),
        },
        day: DayLimits::of(&configured),
        writes_allowed: request.allow_writes,
        part: request.part,
        money_limit: request.max_cost_usd.or(spec.constraints.max_cost_usd),
        models,
        servers: wanted.servers,
        sources: Vec::new(),
        permits: granted.permits,
        environment: project.planned,
        arrivals: granted.arrivals,
        model: request.model.clone().or_else(|| spec.agent.model.clone()),
        provider: request.provider.clone(),
        replay: request.replay.as_deref().map(PlannedCassette::look).transpose()?,
        cut: None,
        record: request.record.as_deref().map(absolute).transpose()?,
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
    let gateway =
        plan.agent.adapter.model.as_ref().is_some_and(|model| !model.on_request || plan.names_model());
    if native || gateway {
        let shadow = match (plan.supervisor.shadow, native || plan.agent.adapter.calls.is_some()) {
            (true, _) => ", as a shadow",
            (false, false) if plan.supervisor.level.can_shadow() => {
                ", watching alone: its calls are not described"
            }
            _ => "",
        };
        let value = format!("{}{shadow}", plan.supervisor.level.name());
        plan.sources.push(row("supervisor", value, supervised.level_from));
    }
    for named in &mut plan.context {
        named.path = absolute(&named.path)?;
    }
    Ok(plan)
}

/// A path that means the same wherever the run is carried out from.
fn absolute(path: &Path) -> Result<PathBuf, HostError> {
    std::path::absolute(path).map_err(HostError::io("look at", path))
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
    readable_folder(&given)
}

/// The real path of a workspace that can be looked into.
pub(super) fn readable_folder(given: &Path) -> Result<PathBuf, HostError> {
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

/// The patterns among the profile's hide globs; a wrong one is found out before anything starts.
fn hidden_patterns(profile: &Profile) -> Result<Option<PathSet>, HostError> {
    let patterns: Vec<&String> = profile.hide.iter().filter(|glob| is_pattern(glob)).collect();
    if patterns.is_empty() {
        return Ok(None);
    }
    let set = PathSet::new(&patterns).map_err(|e| {
        HostError::usage(format!("mode {}: hide: {e}", profile.name), "correct the mode file")
    })?;
    Ok(Some(set))
}

fn is_pattern(glob: &str) -> bool {
    glob.contains(['*', '?', '[', '{'])
}

/// The profile's hide globs as paths: literal ones as they are, patterns looked up in the tree as it is now.
pub fn hidden(profile: &Profile, workspace: &Path) -> Result<Vec<PathBuf>, HostError> {
    let mut paths: Vec<PathBuf> =
        profile.hide.iter().filter(|glob| !is_pattern(glob)).map(PathBuf::from).collect();
    let Some(set) = hidden_patterns(profile)? else { return Ok(paths) };
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
pub(super) fn describe(plan: &RunPlan, manifest: &mut Manifest) {
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

fn sources(plan: &RunPlan, request: &RunRequest) -> Vec<PlannedValue> {
    let flag_or = |flag: bool, name: &str, other: &str| if flag { name.to_owned() } else { other.to_owned() };
    let has_spec = request.spec.as_ref().map(|p| format!("spec {}", p.display()));
    let spec = has_spec.as_deref().unwrap_or("default");
    let mut rows = vec![
        row(
            "mode",
            plan.profile.name.clone(),
            flag_or(
                request.mode.is_some(),
                "flag --mode",
                if plan.spec.constraints.mode.is_some() { spec } else { "default" },
            ),
        ),
        row("goal", plan.spec.goal.description.clone(), flag_or(request.goal.is_some(), "flag --goal", spec)),
        row(
            "workspace",
            plan.workspace.display().to_string(),
            flag_or(
                request.workspace.is_some(),
                "flag --workspace",
                if plan.spec.context.workspace.is_some() { spec } else { "current folder" },
            ),
        ),
        row(
            "agent",
            plan.agent.name.clone(),
            flag_or(request.agent.is_some() || request.image.is_some(), "flag", spec),
        ),
        row(
            "sandbox",
            plan.sandbox.name().to_owned(),
            flag_or(request.sandbox != SandboxChoice::Auto, "flag --sandbox", "default"),
        ),
    ];
    if let Some(out) = &plan.out {
        rows.push(row("out", out.display().to_string(), "flag --out".into()));
    }
    for check in &plan.checks {
        let from = if request.checks.contains(check) { "flag --check" } else { spec };
        rows.push(row("check", check.clone(), from.into()));
    }
    for glob in &plan.check_reports {
        let from = if request.check_reports.contains(glob) { "flag --check-report" } else { spec };
        rows.push(row("report", glob.clone(), from.into()));
    }
    rows.extend(plan.profile.rows().into_iter().map(|r| row(&r.key, r.value, r.origin.to_string())));
    rows.extend(plan.permits.iter().map(permit_row));
    rows.extend(plan.environment.iter().map(|environment| {
        let value = format!("{} ({})", environment.short(), environment.setup.commands.join("; "));
        row("environment", value, environment.setup.source.to_string())
    }));
    rows.extend(asked_rows(plan, request));
    rows
}

/// A permit, for a client with the hosts that it stands for.
fn permit_row(permit: &PlannedPermit) -> PlannedValue {
    let hosts =
        if permit.hosts.is_empty() { String::new() } else { format!(": {}", permit.hosts.join(", ")) };
    row("permit", format!("{}{hosts}", permit.rule), permit.granted_by.clone())
}

/// What was asked for besides, each with its flag.
fn asked_rows(plan: &RunPlan, request: &RunRequest) -> Vec<PlannedValue> {
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
    rows.extend(request.replay.iter().map(|file| ("replay", path(file), "flag --replay")));
    rows.extend(request.record.iter().map(|file| ("record", path(file), "flag --record")));
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
        (request.fresh, "environment", "none".into(), "flag --fresh"),
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
    rows.into_iter().map(|(name, value, from)| row(name, value, from.to_owned())).collect()
}

fn row(name: &str, value: String, source: String) -> PlannedValue {
    PlannedValue { name: name.to_owned(), value, source }
}
