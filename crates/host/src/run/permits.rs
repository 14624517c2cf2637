//! Who permits a run to reach what: flags and the user's configuration; a repository only asks.

use std::path::Path;

use holon_core::config::{ConfigSource, ResolvedConfig};
use holon_core::mode::{ModeSource, NetworkReach, Profile, ValueOrigin};
use holon_network::{
    ArrivalRules, ClientQueries, ClientSet, DeniedPackage, HostPattern, HostRule, HostTarget, Permit,
    PermitError, PermitRule, RegistrySettings, RepositoryPath, SetHostPart, SetHosts, TargetHost,
};
use holon_sandbox::fallback::SandboxChoice;

use crate::error::HostError;
use crate::plan::{PlannedArrivals, PlannedPermit};
use crate::request::RunRequest;

const ALLOW: &str = "network.allow";
const WANTS: &str = "network.wants";
const DENY: &str = "network.deny";
const MIN_AGE: &str = "network.min_age_days";

/// What was decided about the network of a run.
#[derive(Debug, Default)]
pub(super) struct GrantedNetwork {
    pub permits: Vec<PlannedPermit>,
    pub arrivals: PlannedArrivals,
    pub warnings: Vec<String>,
}

/// What permits are made from.
pub(super) struct GrantSources<'a> {
    pub request: &'a RunRequest,
    pub configured: &'a ResolvedConfig,
    pub workspace: &'a Path,
    pub sandbox: SandboxChoice,
    pub queries: &'a dyn ClientQueries,
}

/// Works the permits out and sets what they make of the mode's network.
pub(super) fn grant(profile: &mut Profile, sources: &GrantSources<'_>) -> Result<GrantedNetwork, HostError> {
    let mut granted = GrantedNetwork::default();
    let mut wanted: Vec<(PermitRule, String)> = Vec::new();
    for text in &sources.request.allow_net {
        possible(profile, sources)?;
        wanted.push((parsed(text, "--allow-net")?, "flag --allow-net".to_owned()));
    }
    if configuration_counts(profile, sources) {
        let from = sources.configured.get(ALLOW).map(|found| found.source.to_string()).unwrap_or_default();
        for text in sources.configured.list(ALLOW) {
            wanted.push((parsed(&text, &format!("`{ALLOW}` of {from}"))?, from.clone()));
        }
    }
    for (rule, granted_by) in wanted {
        if granted.permits.iter().any(|known| known.rule == rule.to_string()) {
            continue;
        }
        let mut permit = PlannedPermit { rule: rule.to_string(), granted_by, ..PlannedPermit::default() };
        if let PermitRule::Set(set) = &rule {
            fill(&mut permit, set, sources, &mut granted.warnings);
        }
        granted.permits.push(permit);
    }
    if let Some(first) = granted.permits.first() {
        let origin = match first.granted_by.strip_prefix("flag ") {
            Some(flag) => ValueOrigin::Flag { flag: flag.to_owned() },
            None => ValueOrigin::File { source: ModeSource::User, file: first.granted_by.clone() },
        };
        profile.network = NetworkReach::Permit;
        granted.arrivals = arrivals(sources.configured)?;
        profile.origins.insert("network.tools".into(), origin);
    }
    if matches!(profile.network, NetworkReach::Gateway | NetworkReach::Permit)
        && !profile.promises_no_change()
    {
        let asked = asked(sources.configured, &granted.permits);
        granted.warnings.extend(asked);
    }
    Ok(granted)
}

/// Permits that would hold nothing, or nobody could use, are refused.
fn possible(profile: &Profile, sources: &GrantSources<'_>) -> Result<(), HostError> {
    if let Some(network) = sources.request.network {
        return Err(HostError::usage(
            format!("--allow-net names what may be reached, and --network {network} says otherwise"),
            "leave one of them out",
        ));
    }
    if profile.network == NetworkReach::None {
        return Err(HostError::usage(
            format!("--allow-net would have no effect: mode {} has no network at all here", profile.name),
            "use another mode, or take `network: none` out of the spec",
        ));
    }
    if sources.sandbox == SandboxChoice::None {
        return Err(HostError::usage(
            "--allow-net would have no effect with --sandbox none: without walls everything can be reached",
            "leave one of them out",
        ));
    }
    if !can_hold(sources.sandbox) {
        return Err(HostError::usage(
            format!("--sandbox {} has no way for what is permitted to be reached", sources.sandbox.name()),
            "use --sandbox native, or podman for a container",
        ));
    }
    Ok(())
}

/// Whether walls of this kind have a network in which the host can listen.
fn can_hold(sandbox: SandboxChoice) -> bool {
    matches!(sandbox, SandboxChoice::Auto | SandboxChoice::Native | SandboxChoice::Oci)
}

/// The configuration is for modes that change things, and gives way to every flag about the network.
fn configuration_counts(profile: &Profile, sources: &GrantSources<'_>) -> bool {
    sources.request.network.is_none()
        && can_hold(sources.sandbox)
        && matches!(profile.network, NetworkReach::Gateway | NetworkReach::Permit)
        && !profile.promises_no_change()
}

fn parsed(text: &str, place: &str) -> Result<PermitRule, HostError> {
    PermitRule::parse(text).map_err(|error| {
        HostError::usage(
            format!("{place}: {error}"),
            "`holon network show` says what clients stand for; docs/network.md says what a permit can be",
        )
    })
}

/// Writes down what a client stands for; what only the project names is told.
fn fill(permit: &mut PlannedPermit, set: &ClientSet, sources: &GrantSources<'_>, warnings: &mut Vec<String>) {
    let found = SetHosts::work_out(set, sources.queries, sources.workspace);
    for host in found.hosts.iter().filter(|host| !host.by_project) {
        let list = if host.part == SetHostPart::Files { &mut permit.file_hosts } else { &mut permit.hosts };
        list.push(host.planned());
    }
    let (known, notes) = (!permit.hosts.is_empty(), &found.notes);
    if !known {
        warnings.push(format!(
            "{set} is configured for no host that is known here, so nothing is permitted by its name (`holon network show {set}`)"
        ));
    }
    // Where files are matters to everybody who installs something.
    let tell = |note: &&String| !known || note.starts_with("where its files are");
    warnings.extend(notes.iter().filter(tell).map(|note| format!("{set}: {note}")));
    for host in
        found.hosts.iter().filter(|host| host.by_project && !permit.hosts.contains(&host.rule.to_string()))
    {
        warnings.push(format!(
            "the project's {} names {} for {set}, which is not permitted by that; --allow-net {} permits it",
            host.said_by, host.rule, host.rule
        ));
    }
    permit.settings = found.settings;
}

/// What is asked for and not permitted, with the flag that would.
fn asked(configured: &ResolvedConfig, permits: &[PlannedPermit]) -> Vec<String> {
    let whose = match configured.get(WANTS).map(|found| found.source) {
        Some(ConfigSource::Project { .. }) => "this repository".to_owned(),
        Some(source) => source.to_string(),
        None => return Vec::new(),
    };
    let tell = |text: String| match PermitRule::parse(&text) {
        Ok(rule) => {
            let rule = rule.to_string();
            let known = permits.iter().any(|permit| permit.rule == rule);
            (!known).then(|| {
                format!("{whose} asks to reach {rule}, which is not permitted; --allow-net {rule} permits it")
            })
        }
        Err(error) => Some(format!("{whose} asks to reach something that cannot be permitted: {error}")),
    };
    configured.list(WANTS).into_iter().filter_map(tell).collect()
}

/// What the configuration keeps out.
fn arrivals(configured: &ResolvedConfig) -> Result<PlannedArrivals, HostError> {
    let days = configured.number(MIN_AGE).unwrap_or(0);
    let arrivals = PlannedArrivals {
        min_age_days: u32::try_from(days).unwrap_or(u32::MAX),
        denied: configured.list(DENY),
    };
    arrivals.rules()?;
    Ok(arrivals)
}

impl PlannedArrivals {
    /// What the proxy judges downloads by.
    pub(super) fn rules(&self) -> Result<ArrivalRules, HostError> {
        let one = |text: &String| {
            DeniedPackage::parse(text).ok_or_else(|| {
                HostError::usage(
                    format!("`{DENY}` names `{text}`, which is no package"),
                    "write `NAME`, `NAME@VERSION` or `npm:NAME@VERSION`",
                )
            })
        };
        let denied = self.denied.iter().map(one).collect::<Result<_, _>>()?;
        Ok(ArrivalRules { min_age: self.min_age_days, denied })
    }
}

impl PlannedPermit {
    /// What the proxy judges by.
    pub(super) fn permits(&self) -> Result<Vec<Permit>, HostError> {
        let wrong = |error: PermitError| {
            HostError::usage(
                format!("the plan permits `{}`, which is no permit: {error}", self.rule),
                "plan the run anew",
            )
        };
        match PermitRule::parse(&self.rule).map_err(wrong)? {
            PermitRule::Host(rule) => Ok(vec![Permit::named(rule)]),
            PermitRule::Set(set) => {
                let configured = |text: &String| match (&set, text.split_once('/')) {
                    (ClientSet::Git(_), Some((host, path))) => {
                        let odd = || PermitError::WholeUrl { text: text.clone(), host: host.to_owned() };
                        let path = RepositoryPath::parse(&format!("/{path}")).ok_or_else(odd)?;
                        Ok(Permit::repository(exactly(host)?, path, set.clone()))
                    }
                    // A remote without a path is from a plan that knew no better.
                    (ClientSet::Git(_), None) => {
                        Err(PermitError::WholeUrl { text: text.clone(), host: text.clone() })
                    }
                    _ => Ok(Permit::configured(exactly(text)?, set.clone())),
                };
                let files = |text: &String| Ok(Permit::files(exactly(text)?, set.clone()));
                let all = self.hosts.iter().map(configured).chain(self.file_hosts.iter().map(files));
                all.collect::<Result<_, PermitError>>().map_err(wrong)
            }
        }
    }

    /// What the client is told inside.
    pub(super) fn registry_settings(&self) -> Option<RegistrySettings> {
        match PermitRule::parse(&self.rule) {
            Ok(PermitRule::Set(set)) => Some(RegistrySettings { set, values: self.settings.clone() }),
            _ => None,
        }
    }
}

/// A host and its port.
fn exactly(text: &str) -> Result<HostRule, PermitError> {
    let target = HostTarget::parse(text, None)?;
    let pattern = match target.host {
        TargetHost::Name(name) => HostPattern::Name(name),
        TargetHost::Address(address) => HostPattern::Address(address),
    };
    Ok(HostRule { pattern, port: Some(target.port) })
}

#[cfg(test)]
mod tests;
