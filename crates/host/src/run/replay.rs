//! A stored run once more, with its recorded model: what differs from the first time?

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::event::EventSink;
use holon_core::manifest::{Manifest, ModelInfo};
use holon_core::outcome::RunStatus;
use holon_model::{ModelCancel, Prices};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::former::FormerRequest;
use super::native_run_result::TAPE;
use super::prepare::OF_HOST;
use super::resolve::readable_folder;
use super::{FinishedRun, Host};
use crate::error::HostError;
use crate::executor::RunContext;
use crate::plan::{EarlierEnd, ModelFigures, PlannedCassette, RunPlan};
use crate::spec_source::NamedPath;
use crate::store::{RunFolder, write_atomic};

/// `recorded-model.json`: whom a run asked, and what was known about the model then.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedModel {
    /// The model that answered.
    pub model: Option<ModelInfo>,
    /// What it could take, in tokens.
    pub window: u64,
    /// What it cost.
    pub prices: Option<Prices>,
}

const FILE: &str = "recorded-model.json";

impl RecordedModel {
    pub(super) fn new(model: &ModelInfo, window: u64, prices: Option<Prices>) -> Self {
        Self { model: Some(model.clone()), window, prices }
    }

    pub(super) fn save(&self, folder: &RunFolder) -> Result<(), HostError> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        write_atomic(&folder.path().join(FILE), &text)
    }

    fn load(folder: &RunFolder) -> Result<Self, HostError> {
        read_recording(&folder.path().join(FILE))
    }

    /// The figures that lead to the same decisions.
    fn figures(&self) -> ModelFigures {
        ModelFigures { window: self.window, prices: self.prices }
    }
}

/// Reads what a run of a model left to be done again.
pub(super) fn read_recording<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, HostError> {
    let text = fs::read(path).map_err(|e| {
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

/// A run in the store, ready to be done once more.
pub(super) struct StoredRun {
    /// What it was, with what its folder keeps in place of what it was given.
    pub plan: RunPlan,
    /// Whom it asked.
    pub recorded: RecordedModel,
}

impl Host {
    /// The plan of a stored run of a model. What was resolved then holds; only what this machine has now is looked for anew.
    pub(super) fn stored(&self, folder: &RunFolder) -> Result<StoredRun, HostError> {
        let (mut plan, recorded) = match RunPlan::load(folder, &self.secrets)? {
            Some(plan) => (plan, RecordedModel::load(folder)?),
            None => FormerRequest::load(folder)?.planned(self, folder)?,
        };
        let record = folder.record()?;
        readable_folder(&record.workspace)?;
        plan.agent.look_again(&self.places, &*self.env)?;
        plan.workspace = record.workspace;
        // The files are among the context that was kept.
        plan.spec.context.files.clear();
        plan.context = kept_context(folder);
        // It was judged the first time.
        plan.part = true;
        plan.figures = Some(recorded.figures());
        (plan.record, plan.audit) = (None, None);
        Ok(StoredRun { plan, recorded })
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
        cancel: &ModelCancel,
    ) -> Result<ReplayedRun, HostError> {
        let StoredRun { mut plan, recorded } = self.stored(folder)?;
        if let Some(from) = plan.goes_on.map(|before| before.run) {
            return Err(HostError::run(
                format!("this run went on from {from}, and cannot be replayed by itself"),
                format!(
                    "replay that one, or ask what the supervisor would have done: `holon runs replay {from}`"
                ),
            ));
        }
        plan.goes_on = None;
        plan.replay = Some(PlannedCassette::look(&folder.evidence().join(TAPE))?);
        plan.model = recorded.model.as_ref().map(|model| model.id.clone());
        (plan.provider, plan.out, plan.apply) = (None, None, false);
        let before = folder.manifest().ok_or_else(|| {
            HostError::run("this run has no manifest to compare with", "choose one that is over")
        })?;
        let cut = matches!(before.status, RunStatus::Cancelled | RunStatus::Timeout);
        let ended = before.error.clone().filter(|_| cut);
        plan.cut = ended.map(|error| EarlierEnd { status: before.status, error });
        let finished = self.run(plan, RunContext::new(sink, cancel))?;
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

/// What was handed in as context, apart from what the host adds itself.
fn kept_context(folder: &RunFolder) -> Vec<NamedPath> {
    let listed = fs::read_dir(folder.input().join("context")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        listed.filter(|e| !OF_HOST.iter().any(|name| e.file_name() == *name)).map(|e| e.path()).collect();
    paths.sort();
    paths.into_iter().map(NamedPath::of_user).collect()
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
