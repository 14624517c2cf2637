//! Whether an agent keeps the contract in each mode, behind the walls of this machine.

use std::path::Path;
use std::sync::Arc;

use holon_core::HumanDuration;
use holon_core::event::{EventBody, OutputStream, RunEvent};
use holon_core::manifest::Manifest;
use holon_core::outcome::RunOutcome;
use holon_model::ModelCancel;
use holon_sandbox::isolation::Launcher;
use serde::Serialize;

use super::attempts::ScriptedCall;
use super::script::AttemptScript;
use super::stage;
use crate::adapter::events::AgentEventFormat;
use crate::adapter::fill::PlaceholderValues;
use crate::adapter::{self, Adapter, AdapterKind};
use crate::config::ConfigurationFiles;
use crate::error::HostError;
use crate::executor::RunContext;
use crate::holon_folders::HolonFolders;
use crate::request::RunRequest;
use crate::run::{Host, HostEnvironment};

/// One thing that was looked at in one mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConformanceRow {
    /// The mode.
    pub mode: &'static str,
    /// What was looked at.
    pub check: &'static str,
    /// What came of it.
    pub result: ConformanceResult,
    /// What was seen.
    pub detail: String,
}

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConformanceResult {
    /// As the contract says.
    Ok,
    /// Not so.
    Failed,
    /// Nothing to look at with this agent.
    Skipped,
}

/// A mode and what is asked of an agent in it.
struct ConformanceMode {
    name: &'static str,
    /// What the model makes the agent run.
    command: &'static str,
    /// What the model says last.
    last: &'static str,
    artifacts: &'static [&'static str],
}

const MODES: [ConformanceMode; 3] = [
    ConformanceMode {
        name: "execute",
        command: "echo rehearsed > rehearsed.txt",
        last: "I wrote rehearsed.txt as I was told to.",
        artifacts: &["diff.patch", "summary.md"],
    },
    ConformanceMode {
        name: "plan",
        command: "echo rehearsed > rehearsed.txt",
        last: "# Plan\n\n## Goal\nRehearse.\n\n## Context\nA rehearsal.\n\n## Steps\n1. None.\n\n## Risks\nNone.\n\n## Verification\nBy the host.\n",
        artifacts: &["plan.md"],
    },
    ConformanceMode {
        name: "review",
        command: "cat a.txt",
        last: "One thing.\n\n```json\n{\"version\": 1, \"verdict\": \"comment\", \"findings\": []}\n```\n",
        artifacts: &["review.json", "summary.md"],
    },
];

/// How long an agent may take in one mode; a script answers at once.
const PATIENCE: &str = "5m";

/// How an agent is tried.
pub struct ConformanceTrial<'a> {
    /// A name, or the path of a command.
    pub agent: &'a str,
    /// The modes to try it in; all of them when empty.
    pub modes: &'a [&'a str],
    /// Where Holon keeps things.
    pub places: &'a HolonFolders,
    /// Makes the environment of the host anew for each mode.
    pub env: &'a dyn Fn() -> Box<HostEnvironment>,
    /// Where throw-away folders are made.
    pub scratch: &'a Path,
}

/// Tries one agent in each mode.
pub fn conform(
    trial: &ConformanceTrial<'_>,
    told: &mut dyn FnMut(&str),
) -> Result<Vec<ConformanceRow>, HostError> {
    let by_path = trial.agent.contains('/');
    let adapter = match by_path {
        true => super::described("exec", trial.places)?,
        false => super::described(trial.agent, trial.places)?,
    };
    if adapter.kind != AdapterKind::Exec {
        return Err(HostError::usage(
            format!(
                "agent `{}` is not tried: it is no command that is started behind the walls",
                trial.agent
            ),
            "name one that `holon agents list` calls exec, or give the path of a command",
        ));
    }
    // Who lacks the program hears that before anything is made.
    adapter::find(trial.places, trial.scratch, Some(trial.agent), None, &[], &*(trial.env)())?;
    let mut rows = Vec::new();
    for mode in MODES.iter().filter(|mode| trial.modes.is_empty() || trial.modes.contains(&mode.name)) {
        told(&format!("{}: {}", trial.agent, mode.name));
        rows.extend(in_mode(trial, &adapter, mode)?);
    }
    Ok(rows)
}

/// What an agent did in one mode.
struct ConformanceSight {
    manifest: Manifest,
    /// Paths of the workspace that differ afterwards.
    changed: usize,
    /// Results of calls that were told.
    calls: usize,
    /// Lines of standard output that were no events.
    unread: usize,
    /// Requests to the model.
    asked: usize,
    exit: Option<i32>,
    /// Whether the command was run, where one was asked for.
    made: Option<bool>,
}

fn in_mode(
    trial: &ConformanceTrial<'_>,
    adapter: &Adapter,
    mode: &ConformanceMode,
) -> Result<Vec<ConformanceRow>, HostError> {
    let folder = tempfile::tempdir_in(trial.scratch).map_err(HostError::io("create", trial.scratch))?;
    let workspace = folder.path().join("workspace");
    stage::build(&workspace)?;
    let before = stage::look(&workspace);
    let shell = adapter.rehearsal.get("shell");
    let call = shell.map(|shell| {
        let mut filling = PlaceholderValues::default();
        filling.set("command", format!("printf 'made-%03d\\n' 0; {}", mode.command));
        ScriptedCall {
            attempt: 0,
            tool: shell.tool.clone(),
            arguments: filling.file(&shell.arguments),
            counts: true,
            optional: false,
        }
    });
    let script = AttemptScript::new(call.into_iter().collect(), mode.last, Box::new(|_| Vec::new()));
    let script = Arc::new(if shell.is_some() { script } else { script.without_tools() });
    let host = Host {
        places: HolonFolders { state: folder.path().join("state"), ..trial.places.clone() },
        launcher: Launcher::default(),
        env: (trial.env)(),
        secrets: Vec::new(),
        script: adapter.model.is_some().then(|| Arc::clone(&script) as _),
        observer: None,
        configuration: ConfigurationFiles::shared(trial.places),
    };
    let request = RunRequest {
        mode: Some(mode.name.to_owned()),
        goal: Some("Rehearse what you are told.".into()),
        workspace: Some(workspace.clone()),
        agent: Some(trial.agent.to_owned()),
        auto_checks: false,
        timeout: PATIENCE.parse::<HumanDuration>().ok(),
        ..RunRequest::default()
    };
    let (mut calls, mut unread, mut asked, mut exit) = (0, 0, 0, None);
    let mut sink = |event: &RunEvent| match &event.body {
        EventBody::ToolFinished { .. } => calls += 1,
        EventBody::Output { stream: OutputStream::Stdout, .. } => unread += 1,
        EventBody::RoundStarted { .. } => asked += 1,
        EventBody::AgentExited { code, .. } => exit = *code,
        _ => {}
    };
    let finished = host.run(host.plan(&request)?, RunContext::new(&mut sink, &ModelCancel::default()))?;
    let made = shell.map(|_| script.told().get(&0).is_some_and(|told| told.made));
    let changed = stage::changed(&before, &stage::look(&workspace)).len();
    let sight = ConformanceSight { manifest: finished.manifest, changed, calls, unread, asked, exit, made };
    Ok(sight.judged(adapter, mode))
}

impl ConformanceSight {
    fn judged(&self, adapter: &Adapter, mode: &ConformanceMode) -> Vec<ConformanceRow> {
        use ConformanceResult::{Failed, Ok, Skipped};
        let row = |check, result, detail: String| ConformanceRow { mode: mode.name, check, result, detail };
        let judged = |check, well: bool, detail: String| row(check, if well { Ok } else { Failed }, detail);
        let mut rows = vec![self.handed_over(mode)];
        rows.push(judged(
            "exit code",
            self.exit == Some(0),
            match self.exit {
                Some(code) => code.to_string(),
                None => "ended by a signal, or never started".into(),
            },
        ));
        rows.push(judged(
            "workspace",
            self.changed == 0,
            match self.changed {
                0 => "0 bytes changed".into(),
                paths => format!("{paths} paths changed"),
            },
        ));
        rows.push(match self.made {
            Some(true) => row("command", Ok, "ran what the model asked for".into()),
            Some(false) => row("command", Failed, "it did not run a command of the model's".into()),
            None => row("command", Skipped, "the description has no [rehearsal.shell]".into()),
        });
        let told = adapter.events.filter(|format| *format != AgentEventFormat::Text);
        rows.push(match (told, self.calls, self.made) {
            (None, ..) => row("events", Skipped, "it prints words, no events".into()),
            (Some(_), 0, Some(_)) => row("events", Failed, "it tells nothing about its calls".into()),
            (Some(_), ..)
                if self.manifest.metadata.agent.version.is_none() && self.unread > 0 && self.calls == 0 =>
            {
                row("events", Failed, format!("{} lines of its output are no events", self.unread))
            }
            (Some(_), calls, _) => {
                row("events", Ok, format!("{calls} calls told, {} lines unread", self.unread))
            }
        });
        let walled = self.manifest.metadata.sandbox.enforced.net_ns;
        rows.push(match (walled, adapter.model.is_some()) {
            (false, _) => row("network", Failed, "these walls give it no network of its own".into()),
            (true, true) if self.asked == 0 => {
                row("network", Failed, "it never asked the model at the gateway".into())
            }
            (true, true) => row("network", Ok, format!("only the gateway, asked {} times", self.asked)),
            (true, false) => row("network", Ok, "none; it is not described with a model".into()),
        });
        rows
    }

    fn handed_over(&self, mode: &ConformanceMode) -> ConformanceRow {
        let valid = |name: &str| self.manifest.artifacts.iter().any(|a| a.valid && a.path == name);
        let missing = mode.artifacts.iter().find(|name| !valid(name));
        let wrong = match (&self.manifest.error, missing) {
            (Some(error), _) if self.manifest.outcome != RunOutcome::Success => {
                let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
                Some(format!("{}{hint}", error.message))
            }
            (_, Some(missing)) => Some(format!("{missing} is missing")),
            (None, None) if self.manifest.outcome != RunOutcome::Success => Some("it failed".into()),
            _ => None,
        };
        ConformanceRow {
            mode: mode.name,
            check: "artifacts",
            result: if wrong.is_none() { ConformanceResult::Ok } else { ConformanceResult::Failed },
            detail: wrong.unwrap_or_else(|| mode.artifacts.join(", ")),
        }
    }
}
