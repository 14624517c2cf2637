//! A manifest for people: `holon runs show`.

use holon_core::manifest::Manifest;
use holon_core::release::ReleaseOverride;
use holon_core::sandbox::EnforcementRecord;
use holon_host::store::RunRecord;

use super::table::TextTable;
use super::{amount, environment, network, summary};
use crate::terminal::{TerminalStream, TextStyle, one_line, visible};

/// Everything about a finished run on one page.
pub(crate) fn page(record: &RunRecord, manifest: &Manifest, folder: &str, stream: TerminalStream) -> String {
    let mut text = format!("{}\n{}", summary::headline(manifest, stream), summary::reason(manifest, stream));
    let head = |name: &str| format!("\n{}\n", stream.paint(TextStyle::Bold, name));
    let mut facts = TextTable::indented(2);
    facts.row(["goal", &record.goal]);
    facts.row(["agent", &agent(manifest)]);
    facts.row(["workspace", &record.workspace.display().to_string()]);
    facts.row(["started", &manifest.started_at]);
    facts.row(["exit code", &manifest.exit_code.to_string()]);
    facts.row(["folder", folder]);
    if let Some(out) = &record.out {
        facts.row(["out", &out.display().to_string()]);
    }
    if let Some(at) = &record.applied_at {
        facts.row(["applied", at]);
    }
    text.push_str(&facts.render(stream));

    text.push_str(&head("phases"));
    let mut phases = TextTable::indented(2);
    for (phase, timing) in &manifest.phases {
        let note = if timing.ok { "" } else { "failed" };
        phases.row([phase.name(), &amount::millis(timing.duration_ms), note]);
    }
    text.push_str(&phases.render(stream));

    text.push_str(&head("walls"));
    text.push_str(&walls(manifest, stream));
    if let Some(snapshot) = &manifest.metadata.snapshot {
        let commit = snapshot.base_commit.as_deref().map(|c| format!(", based on {}", one_line(c, 12)));
        text.push_str(&format!(
            "  snapshot: {}{}\n",
            snapshot.strategy,
            visible(&commit.unwrap_or_default())
        ));
    }
    if let Some(used) = &manifest.metadata.environment {
        text.push_str(&head("environment"));
        text.push_str(&environment::page(used, stream));
    }
    if let Some(used) = &manifest.metadata.network {
        text.push_str(&head("network"));
        text.push_str(&network::page(used, stream));
    }
    if !manifest.artifacts.is_empty() {
        text.push_str(&head("artifacts"));
        text.push_str(&summary::artifacts(manifest, stream));
    }
    let changes = &manifest.metadata.changes;
    if changes.files > 0 {
        let files = amount::count(changes.files, "file");
        text.push_str(&format!("\n  {files} changed, +{} -{}\n", changes.insertions, changes.deletions));
    }
    let overrides: Vec<String> = manifest.metadata.overrides.iter().map(ReleaseOverride::told).collect();
    let notes = manifest.metadata.accepted.iter().map(|a| ("accepted", a));
    let notes = notes.chain(overrides.iter().map(|o| ("override", o)));
    for (what, note) in notes.chain(manifest.metadata.warnings.iter().map(|w| ("warning", w))) {
        text.push_str(&format!(
            "\n  {} {}",
            stream.paint(TextStyle::Yellow, &format!("{what}:")),
            visible(note)
        ));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn agent(manifest: &Manifest) -> String {
    let meta = &manifest.metadata;
    let version = meta.agent.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
    format!("{}{version} (adapter {})", meta.agent.name, meta.adapter)
}

/// The walls that stood, and those that did not.
fn walls(manifest: &Manifest, stream: TerminalStream) -> String {
    let sandbox = &manifest.metadata.sandbox;
    if sandbox.backend.is_empty() {
        return "  none were built: the run ended before\n".to_owned();
    }
    let (held, missing) = layers(&sandbox.enforced);
    let mut table = TextTable::indented(2);
    let workspace = sandbox.enforced.workspace.as_deref().unwrap_or(&manifest.metadata.workspace_access);
    table.row(["backend", &format!("{} (level {})", sandbox.backend, sandbox.level)]);
    table.row(["workspace", workspace]);
    table.row(["held", &list(&held)]);
    if !missing.is_empty() {
        table.row(["not there", &list(&missing)]);
    }
    let limits = &sandbox.enforced.limits;
    for (name, how) in [
        ("processes", &limits.processes),
        ("memory", &limits.memory),
        ("disk", &limits.disk),
        ("files", &limits.files),
    ] {
        table.row([name, how.as_deref().unwrap_or("not limited on this machine")]);
    }
    table.render(stream)
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// The layers that held and those that did not, by name.
pub(crate) fn layers(enforced: &EnforcementRecord) -> (Vec<String>, Vec<String>) {
    let landlock = enforced.landlock.map_or("landlock".to_owned(), |abi| format!("landlock (ABI {abi})"));
    let all = [
        ("user namespace".to_owned(), enforced.user_ns),
        ("mounts".to_owned(), enforced.mount_ns),
        ("processes".to_owned(), enforced.pid_ns),
        ("network".to_owned(), enforced.net_ns),
        ("ipc".to_owned(), enforced.ipc_ns),
        ("host name".to_owned(), enforced.uts_ns),
        ("control groups".to_owned(), enforced.cgroup_ns),
        ("private root".to_owned(), enforced.private_root),
        ("masked /proc".to_owned(), enforced.masked_proc),
        (landlock, enforced.landlock.is_some()),
        ("seccomp".to_owned(), enforced.seccomp),
        ("no new privileges".to_owned(), enforced.no_new_privs),
        ("no capabilities".to_owned(), enforced.capabilities_dropped),
        ("unprivileged".to_owned(), enforced.unprivileged_payload),
    ];
    let pick =
        |wanted: bool| all.iter().filter(|(_, held)| *held == wanted).map(|(name, _)| name.clone()).collect();
    (pick(true), pick(false))
}
