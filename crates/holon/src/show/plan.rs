//! What a run would be: `holon run --dry-run`.

use std::fs;
use std::path::Path;

use holon_core::prompt::{CompiledPrompt, ContextEntry};
use holon_core::{Access, digest};
use holon_host::HostError;
use holon_host::plan::{PlannedValue, RunPlan};
use holon_sandbox::isolation::{PayloadIdentity, layout};
use holon_sandbox::mount::{Mount, MountSource};
use serde_json::json;

use super::table::TextTable;
use crate::failure::CliFailure;
use crate::terminal::{TerminalStream, TextStyle, visible};

/// Values with their sources, mounts and prompts, for people.
pub(crate) fn text(plan: &RunPlan, stream: TerminalStream) -> Result<String, CliFailure> {
    let head = |name: &str| format!("\n{}\n", stream.paint(TextStyle::Bold, name));
    let mut values = TextTable::new(["VALUE", "IS", "FROM"]);
    for PlannedValue { name, value, source } in &plan.sources {
        values.row([name, value, source]);
    }
    let mut mounts = TextTable::new(["INSIDE", "FROM", ""]);
    for view in views(plan) {
        mounts.row([&view.at, &view.from, if view.writable { "writable" } else { "read-only" }]);
    }
    let prompts = prompts(plan)?;
    let mut text = format!("nothing is started; this is what would be\n\n{}", values.render(stream));
    for warning in &plan.warnings {
        text.push_str(&format!("warning: {}\n", visible(warning)));
    }
    text.push_str(&head("what the agent would see"));
    text.push_str(&mounts.render(stream));
    for (name, prompt) in [("prompts/system.md", &prompts.system), ("prompts/user.md", &prompts.user)] {
        text.push_str(&head(name));
        text.push_str(visible(prompt).trim_end());
        text.push('\n');
    }
    Ok(text)
}

/// The same for programs.
pub(crate) fn json(plan: &RunPlan) -> Result<String, CliFailure> {
    let prompts = prompts(plan)?;
    let values: Vec<_> = plan
        .sources
        .iter()
        .map(|row| json!({ "key": row.name, "value": row.value, "source": row.source }))
        .collect();
    let mounts: Vec<_> =
        views(plan).iter().map(|v| json!({ "at": v.at, "from": v.from, "writable": v.writable })).collect();
    let whole = json!({
        "mode": plan.profile.name,
        "workspace": plan.workspace.to_string_lossy(),
        "spec": plan.spec,
        "values": values,
        "mounts": mounts,
        "prompts": prompts,
        "warnings": plan.warnings,
    });
    Ok(format!("{whole:#}\n"))
}

fn prompts(plan: &RunPlan) -> Result<CompiledPrompt, CliFailure> {
    Ok(plan.prompts(&context(plan)?)?)
}

/// The context as the agent would find it listed.
fn context(plan: &RunPlan) -> Result<Vec<ContextEntry>, HostError> {
    let mut entries = Vec::new();
    for path in plan.context.iter().map(|named| &named.path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut todo = vec![(path.clone(), name)];
        while let Some((path, name)) = todo.pop() {
            let meta = fs::metadata(&path).map_err(HostError::io("read", &path))?;
            if !meta.is_dir() {
                entries.push(ContextEntry { path: name, bytes: meta.len() });
                continue;
            }
            for entry in fs::read_dir(&path).map_err(HostError::io("read", &path))?.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file()) {
                    todo.push((entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy())));
                }
            }
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// One thing inside the walls.
struct MountRow {
    at: String,
    from: String,
    writable: bool,
}

/// What native walls would hold; toolchains and caches depend on the workspace and are found when the run starts.
fn views(plan: &RunPlan) -> Vec<MountRow> {
    let fixed = |at: &str, from: &str, writable| MountRow { at: at.into(), from: from.into(), writable };
    let workspace = plan.workspace.to_string_lossy().into_owned();
    let (from, writable) = match &plan.profile.access {
        Access::ReadOnly => (workspace, false),
        Access::Scoped { write } => (format!("{workspace} (writable: {})", write.join(", ")), false),
        Access::Scratch => (format!("a copy of {workspace}, thrown away"), true),
        Access::ReadWrite => (format!("a copy of {workspace}"), true),
    };
    let mut views = vec![
        MountRow { at: "/holon/workspace".into(), from, writable },
        fixed("/holon/input", "the run store", false),
        fixed("/holon/output", "the run store, empty", true),
        fixed("/holon/home", "the run store, empty", true),
    ];
    if let Some(file) = &plan.agent.file {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        views.push(fixed(&format!("/holon/agent/{name}"), &file.to_string_lossy(), false));
    }
    // The seed only decides which unprivileged number root would use.
    let identity = PayloadIdentity::for_run(&digest::sha256(b"dry run"));
    views.extend(layout::system_root(&identity).iter().map(view));
    views
}

fn view(mount: &Mount) -> MountRow {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let from = match &mount.source {
        MountSource::Bind(source) => path(source),
        MountSource::Symlink(target) => format!("link to {}", target.display()),
        MountSource::Tmpfs { mb, .. } => format!("memory, at most {mb} MiB"),
        MountSource::File(_) => "generated".to_owned(),
        MountSource::Overlay(_) => "a layer".to_owned(),
        MountSource::EmptyDir => "empty".to_owned(),
    };
    MountRow { at: path(&mount.at), from, writable: mount.writable }
}
