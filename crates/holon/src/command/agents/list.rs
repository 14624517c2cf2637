//! `holon agents list`.

use std::path::PathBuf;
use std::process::ExitCode;

use holon_core::mode::ModeSource;
use holon_host::HolonFolders;
use holon_host::adapter::{self, Adapter, AdapterKind};
use serde_json::json;

use crate::CommandExit;
use crate::session::{self, Session};
use crate::show::table::TextTable;
use crate::terminal::visible;

/// List the agents that --agent knows: built in, yours, the project's; which are installed, and how to get the others
#[derive(Debug, clap::Args)]
pub(crate) struct AgentsListArgs {
    /// The folder whose agents count too [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Whether an agent can be used here.
struct AgentAvailability {
    /// Set when it is described as a program that must be installed.
    install: Option<String>,
    /// Why it cannot be used.
    missing: Option<String>,
    program: Option<PathBuf>,
    version: Option<String>,
    /// Whether the version is one it was tried with.
    tried: Option<bool>,
}

pub(super) fn run(args: &AgentsListArgs, session: &Session) -> CommandExit {
    let workspace = session.workspace(args.workspace.as_deref())?;
    let places = session.places()?;
    let known = adapter::list(&places, Some(&workspace))?;
    for warning in known.warnings() {
        session.terminal.say(&format!("warning: {}", visible(&warning)));
    }
    let rows: Vec<_> =
        known.adapters.iter().map(|(source, a)| (*source, a, look(*source, a, &places))).collect();
    if args.json {
        let rows: Vec<_> = rows.iter().map(|(source, a, here)| as_json(*source, a, here)).collect();
        session.terminal.print(format!("{:#}\n", json!(rows)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::new(["NAME", "KIND", "FROM", "HERE", "WHAT"]);
    for (source, adapter, here) in &rows {
        table.row([
            &adapter.name,
            kind(adapter.kind),
            &source.to_string(),
            &in_words(here),
            &adapter.description,
        ]);
    }
    let mut text = table.render(session.terminal.stdout);
    let missing = rows.iter().filter(|(_, _, here)| here.missing.is_some());
    for (_, adapter, here) in missing {
        let install = here.install.as_deref().unwrap_or_default();
        text += &format!("\n{}: {install}", adapter.name);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks for an agent; its own word about its version is taken only when its package does not say.
fn look(source: ModeSource, adapter: &Adapter, places: &HolonFolders) -> AgentAvailability {
    let mut here =
        AgentAvailability { install: None, missing: None, program: None, version: None, tried: None };
    let Some(find) = &adapter.find else { return here };
    here.install = Some(find.install.clone());
    match adapter::locate(find, places, &session::variable) {
        Err(absent) => here.missing = Some(absent.to_string()),
        Ok(located) => {
            let ask =
                || Adapter::may_be_started(source).then(|| adapter::ask_version(find, &located)).flatten();
            here.version = located.version.clone().or_else(ask);
            here.tried = here.version.as_deref().zip(find.tested.as_ref()).map(|(v, range)| range.holds(v));
            here.program = Some(located.program);
        }
    }
    here
}

fn in_words(here: &AgentAvailability) -> String {
    match (&here.missing, &here.version) {
        (Some(missing), _) => missing.clone(),
        (None, Some(version)) if here.tried == Some(false) => format!("{version} (untried)"),
        (None, Some(version)) => version.clone(),
        (None, None) if here.install.is_some() => "installed".into(),
        (None, None) => "yes".into(),
    }
}

fn as_json(source: ModeSource, adapter: &Adapter, here: &AgentAvailability) -> serde_json::Value {
    json!({
        "name": adapter.name, "kind": kind(adapter.kind), "source": source.to_string(),
        "description": adapter.description, "available": here.missing.is_none(), "missing": here.missing,
        "program": here.program, "version": here.version, "tried": here.tried, "install": here.install,
        "tested": adapter.find.as_ref().and_then(|find| find.tested.as_ref()).map(ToString::to_string),
        "native_plan": adapter.modes.values().any(|mode| mode.native_plan),
        "native_review": adapter.modes.values().any(|mode| mode.native_review),
    })
}

fn kind(kind: AdapterKind) -> &'static str {
    match kind {
        AdapterKind::Native => "native",
        AdapterKind::Exec => "exec",
        AdapterKind::Image => "image",
    }
}
