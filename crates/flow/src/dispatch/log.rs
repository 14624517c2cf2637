//! What a request leaves for people and programs: JSON lines and its result.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::manifest::Manifest;
use holon_core::mode_run::{ModeDecision, ModeEnvelope, ModeResult};
use holon_core::redact::Redactor;
use holon_host::record::now;
use holon_host::store::write_atomic;
use holon_telemetry::Observer;
use serde_json::{Value, json};

/// The name of the result's file.
const RESULT: &str = "result.json";
/// Longer reports stay in the run alone.
const LONGEST_REPORT: u64 = 1 << 20;

/// The log of one request, at `<mode>/<task_id>/<request_id>/` where logs go.
pub(super) struct RequestLog {
    folder: Option<PathBuf>,
    file: Option<File>,
    fields: Value,
    redactor: Redactor,
    observer: Option<Arc<dyn Observer>>,
}

impl RequestLog {
    /// The log of a new request. Nothing may fail because of it, so what cannot be written is left out.
    pub(super) fn new(
        folder: Option<PathBuf>,
        envelope: &ModeEnvelope,
        intent: &str,
        secrets: &[(String, String)],
    ) -> Self {
        let file = folder.as_deref().and_then(open);
        let fields = json!({
            "mode": envelope.mode, "request_id": envelope.request_id, "task_id": envelope.task_id, "intent": intent,
        });
        let redactor = Redactor::new(secrets.iter().map(|(name, value)| (name, value)));
        Self { folder, file, fields, redactor, observer: None }
    }

    /// Tells every line to somebody else, too.
    pub(super) fn heard_by(self, observer: Option<Arc<dyn Observer>>) -> Self {
        Self { observer, ..self }
    }

    /// The first line.
    pub(super) fn begin(mut self, envelope: &ModeEnvelope) -> Self {
        self.line("begun", json!({ "envelope": envelope }));
        self
    }

    /// One line, with the fields every line has.
    pub(super) fn line(&mut self, step: &str, more: Value) {
        let mut line = json!({ "at": now(), "step": step });
        for part in [&self.fields, &more] {
            if let (Some(line), Some(part)) = (line.as_object_mut(), part.as_object()) {
                line.extend(part.clone());
            }
        }
        let line = self.redactor.redact_str(&line.to_string());
        if let Some(file) = &mut self.file {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
        if let Some(observer) = &self.observer {
            observer.logged(&line);
        }
    }

    /// The log of a request that has ended, to add to it.
    pub(super) fn reopen(folder: Option<PathBuf>, mode: &str, task: &str, request: &str) -> Self {
        let file = folder.as_deref().and_then(open);
        let fields = json!({ "mode": mode, "request_id": request, "task_id": task, "intent": mode });
        Self { folder, file, fields, redactor: Redactor::default(), observer: None }
    }

    /// The end of a request that was refused before anything started.
    pub(super) fn refused(&mut self, error: &str, duration_ms: u64) {
        let decision = ModeDecision::Escalate { reason: error.to_owned() };
        self.line(
            "refused",
            json!({
                "provider": null, "model": null, "success": false, "error": error,
                "timings": { "duration_ms": duration_ms }, "child_tasks": [], "decision": decision,
            }),
        );
    }

    /// The end: the result and the reports as files of their own, and one line that says it in short.
    pub(super) fn end(&mut self, output: &Path, manifest: &Manifest, result: &ModeResult) {
        self.keep_reports(output, manifest);
        for log in &result.logs {
            self.line(&log.step, json!({ "detail": log.detail }));
        }
        let model = manifest.metadata.model.as_ref();
        let phases: BTreeMap<_, _> =
            manifest.phases.iter().map(|(phase, timing)| (phase.name(), timing.duration_ms)).collect();
        // The plan of an orchestration is over before its children begin; a line of its own tells of them.
        let children = if manifest.mode == "orchestrate" { Value::Null } else { json!([]) };
        self.line(
            "ended",
            json!({
                "provider": model.map(|model| &model.provider), "model": model.map(|model| &model.id),
                "run_id": manifest.run_id, "attempt": result.metrics.attempt,
                "success": result.success, "outcome": result.outcome,
                "timings": {
                    "started_at": manifest.started_at, "duration_ms": result.metrics.duration_ms, "phases_ms": phases,
                },
                "usage": result.metrics.usage, "child_tasks": children, "decision": result.decision,
            }),
        );
        let text = serde_json::to_string_pretty(result).unwrap_or_default();
        if let Some(folder) = &self.folder {
            let _ = write_atomic(&folder.join(RESULT), self.redactor.redact_str(&text).as_bytes());
        }
    }
}

impl RequestLog {
    /// What the mode wrote for people goes beside its log. Patches do not: they wait in the run until they may go out.
    fn keep_reports(&self, output: &Path, manifest: &Manifest) {
        let Some(folder) = &self.folder else { return };
        for row in manifest.artifacts.iter().filter(|row| row.valid && row.bytes <= LONGEST_REPORT) {
            let name = Path::new(&row.path);
            let report = name.extension().is_some_and(|kind| kind == "json" || kind == "md");
            // A name and nothing else, and none of the log's own.
            if !report || name.file_name() != Some(name.as_os_str()) || row.path == RESULT {
                continue;
            }
            if let Ok(text) = std::fs::read_to_string(output.join(name)) {
                let _ = write_atomic(&folder.join(name), self.redactor.redact_str(&text).as_bytes());
            }
        }
    }
}

/// The file of a log; never through a link.
fn open(folder: &Path) -> Option<File> {
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).ok()?;
    File::options().create(true).append(true).custom_flags(no_link).open(folder.join("log.jsonl")).ok()
}
