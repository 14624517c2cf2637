//! What a request leaves for people and programs: JSON lines and its result, below the state folder.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use holon_core::mode_run::{Envelope, ModeResult};
use holon_core::redact::Redactor;
use holon_host::HostError;
use holon_host::record::now;
use holon_host::store::write_atomic;
use serde_json::{Value, json};

use super::breaker::private_folder;

/// The log of one request, at `logs/<mode>/<task_id>/<request_id>/`.
pub(super) struct RequestLog {
    folder: PathBuf,
    file: Option<File>,
    fields: Value,
    redactor: Redactor,
}

impl RequestLog {
    /// Begins the log. Nothing may fail because of it, so what cannot be written is left out.
    pub(super) fn begin(
        state: &Path,
        envelope: &Envelope,
        intent: &str,
        secrets: &[(String, String)],
    ) -> Self {
        let folder = state
            .join("logs")
            .join(&envelope.mode)
            .join(envelope.task_id.as_str())
            .join(envelope.request_id.as_str());
        let file = private_folder(&folder)
            .and_then(|()| {
                let path = folder.join("log.jsonl");
                let opened = File::options().create(true).append(true).open(&path);
                opened.map_err(HostError::io("create", &path))
            })
            .ok();
        let fields = json!({
            "mode": envelope.mode, "request_id": envelope.request_id, "task_id": envelope.task_id, "intent": intent,
        });
        let redactor = Redactor::new(secrets.iter().map(|(name, value)| (name, value)));
        let mut log = Self { folder, file, fields, redactor };
        log.line("begun", json!({ "envelope": envelope }));
        log
    }

    /// One line, with the fields every line has.
    pub(super) fn line(&mut self, step: &str, more: Value) {
        let mut line = json!({ "at": now(), "step": step });
        for part in [&self.fields, &more] {
            if let (Some(line), Some(part)) = (line.as_object_mut(), part.as_object()) {
                line.extend(part.clone());
            }
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(format!("{}\n", self.redactor.redact_str(&line.to_string())).as_bytes());
        }
    }

    /// The log of a request that has ended, to add to it.
    pub(super) fn reopen(state: &Path, mode: &str, task: &str, request: &str) -> Self {
        let folder = state.join("logs").join(mode).join(task).join(request);
        let file = File::options().append(true).open(folder.join("log.jsonl")).ok();
        let fields = json!({ "mode": mode, "request_id": request, "task_id": task, "intent": mode });
        Self { folder, file, fields, redactor: Redactor::default() }
    }

    /// The end: the result as a file of its own, and one line that says it in short.
    pub(super) fn end(&mut self, result: &ModeResult, model: Option<(&str, &str)>) {
        for log in &result.logs {
            self.line(&log.step, json!({ "detail": log.detail }));
        }
        let (provider, model) = model.unzip();
        self.line(
            "ended",
            json!({
                "provider": provider, "model": model, "success": result.success, "outcome": result.outcome,
                "timings": { "duration_ms": result.metrics.duration_ms }, "decision": result.decision,
            }),
        );
        let text = serde_json::to_string_pretty(result).unwrap_or_default();
        let _ = write_atomic(&self.folder.join("result.json"), self.redactor.redact_str(&text).as_bytes());
    }
}
