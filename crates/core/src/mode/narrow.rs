//! The order of rights: whether one profile stays inside another, value by value.

use crate::access::Access;
use crate::policy::class_of;

use super::error::Widening;
use super::profile::Profile;

/// Every value of `child` that grants more than `parent` does; empty means the child is narrower or equal.
///
/// Each kind of right is compared, and where containment cannot be proven it counts as wider.
pub fn widenings(child: &Profile, parent: &Profile) -> Vec<Widening> {
    let mut found = Vec::new();
    let mut wider = |key: &str, asked: String, allowed: String| {
        found.push(Widening { key: key.to_owned(), asked, allowed });
    };

    if !child.access.is_within(&parent.access) {
        let key = match (&child.access, &parent.access) {
            (Access::Scoped { .. }, Access::Scoped { .. }) => "workspace.write",
            _ => "workspace.access",
        };
        wider(key, child.access.to_string(), parent.access.to_string());
    }
    if child.writes_on_request && !parent.writes_on_request {
        wider("workspace.writes_on_request", "true".into(), "false".into());
    }
    for glob in parent.hide.iter().filter(|g| !child.hide.contains(g)) {
        wider("workspace.hide", format!("seeing `{glob}`"), "what its parent sees".into());
    }
    for (tool, asked, allowed) in wider_tools(child, parent) {
        wider(&format!("tools.{tool}"), asked, allowed);
    }
    if !child.commands.is_within(&parent.commands) {
        wider("commands", "commands its parent does not run".into(), "those of its parent".into());
    }
    if child.network > parent.network {
        wider("network.tools", child.network.to_string(), parent.network.to_string());
    }
    if !child.minimum.meets(parent.minimum) {
        wider("sandbox.minimum", child.minimum.to_string(), parent.minimum.to_string());
    }
    for (key, c, p) in [
        ("expose.toolchains", child.expose.toolchains, parent.expose.toolchains),
        ("expose.caches", child.expose.caches, parent.expose.caches),
    ] {
        if c > p {
            wider(key, c.to_string(), p.to_string());
        }
    }
    for path in child.expose.paths.iter().filter(|c| !parent.expose.paths.iter().any(|p| path_within(c, p))) {
        wider("expose.paths", format!("`{path}`"), format!("{:?}", parent.expose.paths));
    }
    for ((key, c), (_, p)) in child.limits.counts().into_iter().zip(parent.limits.counts()) {
        if c > p {
            wider(&format!("limits.{key}"), c.to_string(), p.to_string());
        }
    }
    for (key, c, p) in [
        ("limits.timeout", child.limits.timeout, parent.limits.timeout),
        ("limits.idle_timeout", child.limits.idle_timeout, parent.limits.idle_timeout),
    ] {
        if c > p {
            wider(key, c.to_string(), p.to_string());
        }
    }
    // A value that compares with nothing must count as wider.
    if child.limits.cost_usd.partial_cmp(&parent.limits.cost_usd).is_none_or(std::cmp::Ordering::is_gt) {
        wider("limits.cost_usd", child.limits.cost_usd.to_string(), parent.limits.cost_usd.to_string());
    }
    for artifact in parent.artifacts.required.iter().filter(|a| !child.artifacts.required.contains(a)) {
        wider("artifacts.required", format!("leaving out `{artifact}`"), "all its parent requires".into());
    }
    found
}

/// Tools whose verdict is more permissive in the child, over every name either side mentions.
fn wider_tools(child: &Profile, parent: &Profile) -> Vec<(String, String, String)> {
    let mentioned = child.tools.layers.iter().chain(&parent.tools.layers).flat_map(|layer| layer.keys());
    let mut names: Vec<&String> = mentioned.collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| {
            let class = class_of(name, false);
            let (c, p) = (child.tools.verdict(name, class).0, parent.tools.verdict(name, class).0);
            (c > p).then(|| (name.clone(), c.to_string(), p.to_string()))
        })
        .collect()
}

fn path_within(child: &str, parent: &str) -> bool {
    child == parent
        || child.strip_prefix(parent.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
}
