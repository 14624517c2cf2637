//! A stored run once more, with its recorded model: what differs from the first time?

use std::fs;
use std::path::{Path, PathBuf};

use holon_agent::mcp::McpServerConfig;
use holon_core::event::EventSink;
use holon_core::ids::RunId;
use holon_core::manifest::{ErrorInfo, Manifest, ModelInfo};
use holon_core::outcome::RunStatus;
use holon_core::spec;
use holon_model::Prices;
use holon_supervisor::SupervisorConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::native_run_result::TAPE;
use super::prepare::OF_HOST;
use super::{FinishedRun, Host};
use crate::cancel::RunCancel;
use crate::error::HostError;
use crate::request::RunRequest;
use crate::spec_source::SourcedSpec;
use crate::store::{RunFolder, write_atomic};

/// `asked.json`: everything needed to run it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReplayInputs {
    /// The request as it came.
    pub request: RunRequest,
    /// The model that answered.
    pub model: Option<ModelInfo>,
    /// What it could take.
    pub window: u64,
    /// What it cost.
    pub prices: Option<Prices>,
    /// How closely it was watched.
    #[serde(default)]
    pub supervisor: Option<SupervisorConfig>,
    /// Its tool servers.
    #[serde(default)]
    pub servers: Vec<McpServerConfig>,
    /// The run it went on from.
    #[serde(default)]
    pub resumed_from: Option<RunId>,
    /// How it was cut short, when somebody or the clock did: that is on no tape.
    #[serde(skip)]
    pub cut: Option<(RunStatus, ErrorInfo)>,
}

const FILE: &str = "asked.json";

impl ReplayInputs {
    /// For an agent nobody watches over.
    pub(super) fn new(request: &RunRequest, model: &ModelInfo, window: u64, prices: Option<Prices>) -> Self {
        Self {
            request: request.clone(),
            model: Some(model.clone()),
            window,
            prices,
            supervisor: None,
            servers: Vec::new(),
            resumed_from: None,
            cut: None,
        }
    }

    pub(super) fn save(&self, folder: &RunFolder) -> Result<(), HostError> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        write_atomic(&folder.path().join(FILE), &text)
    }

    /// The same request once more, from what the run folder keeps.
    pub(super) fn request_again(&self, folder: &RunFolder) -> Result<RunRequest, HostError> {
        let record = folder.record()?;
        Ok(RunRequest {
            spec: None,
            given_spec: Some(spec_alone(folder, &record.workspace)?),
            // It was judged the first time.
            part: true,
            workspace: Some(record.workspace),
            out: record.out,
            context: entries(&folder.input().join("context")),
            record: None,
            ..self.request.clone()
        })
    }

    pub(super) fn load(folder: &RunFolder) -> Result<Self, HostError> {
        let path = folder.path().join(FILE);
        let text = fs::read(&path).map_err(|e| {
            HostError::run(
                match e.kind() {
                    std::io::ErrorKind::NotFound => "there is no recording of this run".to_owned(),
                    _ => format!("the recording of this run cannot be read: {e}"),
                },
                "only runs of the native agent are recorded, and only they can be replayed or resumed",
            )
        })?;
        serde_json::from_slice(&text)
            .map_err(|e| HostError::run(format!("{}: {e}", path.display()), "the run store is damaged"))
    }
}

/// A replay and how it differs from the first time; nothing when it is the same but for times and ids.
#[derive(Debug)]
pub struct ReplayedRun {
    /// The new run.
    pub finished: FinishedRun,
    /// What is different, in words.
    pub differences: Vec<String>,
}

impl Host {
    /// Runs a stored run again, on the workspace as it is now, with the model's recorded words.
    pub fn replay(
        &self,
        folder: &RunFolder,
        sink: &mut dyn EventSink,
        cancel: &RunCancel,
    ) -> Result<ReplayedRun, HostError> {
        let mut asked = ReplayInputs::load(folder)?;
        if let Some(from) = &asked.resumed_from {
            return Err(HostError::run(
                format!("this run went on from {from}, and cannot be replayed by itself"),
                format!(
                    "replay that one, or ask what the supervisor would have done: `holon runs replay {from}`"
                ),
            ));
        }
        let request = asked.request_again(folder)?;
        let request = RunRequest {
            replay: Some(folder.evidence().join(TAPE)),
            model: asked.model.as_ref().map(|m| m.id.clone()),
            provider: None,
            out: None,
            apply: false,
            ..request
        };
        let before = folder.manifest().ok_or_else(|| {
            HostError::run("this run has no manifest to compare with", "choose one that is over")
        })?;
        let cut = matches!(before.status, RunStatus::Cancelled | RunStatus::Timeout);
        asked.cut = before.error.clone().filter(|_| cut).map(|error| (before.status, error));
        let finished = self.run_as(&request, Some(&asked), None, sink, cancel)?;
        let new = RunFolder::open(finished.folder.clone());
        let (old, now) = (manifest_lines(&before), manifest_lines(&finished.manifest));
        let mut differences: Vec<String> = differing("manifest", &old, &now).into_iter().collect();
        let patch = |f: &RunFolder| fs::read(f.output().join("diff.patch")).unwrap_or_default();
        if patch(folder) != patch(&new) {
            differences.push("the patch is different".to_owned());
        }
        differences.extend(differing("event", &event_lines(folder), &event_lines(&new)));
        Ok(ReplayedRun { finished, differences })
    }
}

/// The stored spec without the files it named: they are among the context already.
fn spec_alone(folder: &RunFolder, workspace: &Path) -> Result<SourcedSpec, HostError> {
    let stored = folder.input().join("spec.yaml");
    let text = fs::read_to_string(&stored).map_err(HostError::io("read", &stored))?;
    let (mut spec, _) = spec::parse(&text, &stored.to_string_lossy())?;
    spec.context.files.clear();
    Ok(SourcedSpec::sent(spec, workspace))
}

/// What was handed in as context, apart from what the host adds itself.
fn entries(context: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(context).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        listed.filter(|e| !OF_HOST.iter().any(|name| e.file_name() == *name)).map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// Keys that differ from run to run by nature.
const VARYING: &[&str] = &[
    "at",
    "run",
    "run_id",
    "seq",
    "ts",
    "started_at",
    "duration_ms",
    "cached",
    "manifest_sha256",
    "audit",
    "phases",
    "why",
    "provider",
    "warnings",
    "model",
];

/// Limits that are hit from outside, not by what the agent does.
const CUTS: [&str; 3] = ["cancelled", "timeout", "idle_timeout"];

/// A value without what varies.
fn steady(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(k, _)| !VARYING.contains(&k.as_str()))
                .map(|(k, v)| (k, steady(v)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(steady).collect()),
        other => other,
    }
}

fn manifest_lines(manifest: &Manifest) -> Vec<String> {
    let value = steady(serde_json::to_value(manifest).unwrap_or_default());
    serde_json::to_string_pretty(&value).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The events of a run, without warnings, which may tell of the replay itself, without pauses nobody waited for, and
/// without what tells of the server.
fn event_lines(folder: &RunFolder) -> Vec<String> {
    let text = fs::read_to_string(folder.evidence().join("events.jsonl")).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut lines = Vec::new();
    let mut spoken = 0;
    for mut event in events {
        match event["type"].as_str() {
            Some("warning" | "model_waiting" | "model_answered") => continue,
            // Who cut it short did so at a moment of their own.
            Some("limit_hit") if CUTS.iter().any(|limit| event["limit"] == *limit) => continue,
            Some("agent_exited") => {
                event = serde_json::json!({ "type": "agent_exited", "attempt": event["attempt"] });
                spoken = 0;
            }
            // What was said before an answer was asked for again is void, and on no tape.
            Some("message_restarted") => {
                lines.truncate(lines.len() - spoken);
                spoken = 0;
                continue;
            }
            Some("message_delta" | "reasoning_delta") => spoken += 1,
            // Commands print times and the like. The requests, which hold all of it, were compared with that folded.
            Some("tool_finished") => {
                event["summary"].take();
                spoken = 0;
            }
            _ => spoken = 0,
        }
        lines.push(steady(event).to_string());
    }
    lines
}

/// The first line that differs, said in a few words.
fn differing(what: &str, before: &[String], after: &[String]) -> Option<String> {
    let at = before.iter().zip(after).position(|(a, b)| a != b);
    let at = at.or_else(|| (before.len() != after.len()).then_some(before.len().min(after.len())))?;
    let line = |lines: &[String]| {
        lines.get(at).map_or("nothing".to_owned(), |l| l.trim().chars().take(300).collect())
    };
    Some(format!("{what} {}: {} before, {} now", at + 1, line(before), line(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_varies_by_nature_is_passed_over() {
        let value = serde_json::json!({"run_id": "x", "outcome": "success", "phases": {}, "deep": [{"duration_ms": 1, "ok": true}]});
        assert_eq!(steady(value), serde_json::json!({"outcome": "success", "deep": [{"ok": true}]}));
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(differing("event", &lines("a b"), &lines("a b")), None);
        assert_eq!(
            differing("event", &lines("a b"), &lines("a c")).as_deref(),
            Some("event 2: b before, c now")
        );
        assert_eq!(
            differing("event", &lines("a"), &lines("a c")).as_deref(),
            Some("event 2: nothing before, c now")
        );
    }
}
