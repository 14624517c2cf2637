//! What a run did with the network it had by permit, for people.

use holon_core::manifest::{NetworkHost, NetworkPackage, NetworkRecord};

use super::amount;
use super::table::TextTable;
use crate::terminal::{TerminalStream, TextStyle, visible};

/// More packages than this are counted, and are in the manifest.
const PACKAGES_SHOWN: usize = 20;
/// The same for hosts that were refused.
const REFUSALS_SHOWN: usize = 20;

/// Permits, hosts, what came in, and for each refusal the flag that would allow it.
pub(super) fn page(used: &NetworkRecord, stream: TerminalStream) -> String {
    let mut facts = TextTable::indented(2);
    let permits = if used.permits.is_empty() { "nothing".to_owned() } else { used.permits.join(", ") };
    facts.row(["permitted", &permits]);
    for (target, host) in &used.hosts {
        facts.row([name(target), &traffic(host)]);
    }
    if used.other_hosts > 0 {
        facts.row(["further hosts", &amount::count(used.other_hosts, "request")]);
    }
    let mut text = facts.render(stream);
    text.push_str(&brought_in(&used.packages));
    text.push_str(&refused(used, stream));
    text
}

/// What is worth a line when a run is over: what came in, and what was refused with the flag that would allow it.
pub(super) fn end(used: &NetworkRecord, stream: TerminalStream) -> String {
    let refused = refused(used, stream);
    if used.packages.is_empty() && refused.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", stream.paint(TextStyle::Bold, "network"));
    if !used.packages.is_empty() {
        text.push_str(&format!("  brought in: {}\n", amount::count(used.packages.len() as u64, "package")));
    }
    text.push_str(&refused);
    text
}

fn refused(used: &NetworkRecord, stream: TerminalStream) -> String {
    let mut text = String::new();
    let all: Vec<&NetworkHost> = used.hosts.values().filter(|host| host.refused > 0).collect();
    for host in all.iter().take(REFUSALS_SHOWN) {
        let message = host.refusal.as_deref().unwrap_or("a request");
        let remedy = host.flag.as_ref().map(|flag| format!("; {flag} permits it")).unwrap_or_default();
        let label = stream.paint(TextStyle::Yellow, "refused:");
        text.push_str(&format!("  {label} {}\n", visible(&format!("{message}{remedy}"))));
    }
    if all.len() > REFUSALS_SHOWN {
        text.push_str(&format!(
            "    and at {} more, in the manifest\n",
            amount::count((all.len() - REFUSALS_SHOWN) as u64, "host")
        ));
    }
    text
}

fn name(target: &str) -> &str {
    if target.is_empty() { "no host" } else { target }
}

fn traffic(host: &NetworkHost) -> String {
    let mut parts = Vec::new();
    if host.allowed > 0 {
        let came = amount::bytes(host.received);
        parts.push(format!("reached {}, {came} in", amount::count(host.allowed, "time")));
    }
    if host.refused > 0 {
        parts.push(format!("refused {}", amount::count(host.refused, "time")));
    }
    if host.opaque {
        parts.push("passed unread".to_owned());
    }
    parts.join(", ")
}

fn brought_in(packages: &[NetworkPackage]) -> String {
    if packages.is_empty() {
        return String::new();
    }
    let mut text = format!("  brought in: {}\n", amount::count(packages.len() as u64, "package"));
    for package in packages.iter().take(PACKAGES_SHOWN) {
        let line = format!("    {} {} ({})", package.name, package.version, package.host);
        text.push_str(&format!("{}\n", visible(&line)));
    }
    if packages.len() > PACKAGES_SHOWN {
        text.push_str(&format!("    and {} more, in the manifest\n", packages.len() - PACKAGES_SHOWN));
    }
    text
}
