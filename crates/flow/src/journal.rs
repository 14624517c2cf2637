//! The flow's own events: numbered across resumptions, redacted, to its `events.jsonl` and to whoever listens.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use holon_core::event::{EventBody, EventSink, RunEvent};
use holon_core::ids::RunId;
use holon_core::redact::Redactor;
use holon_host::HostError;
use holon_host::record::now;

use crate::error::FlowError;

/// Writes the flow's events; those of its steps only pass by.
pub(crate) struct FlowJournal<'s> {
    run: RunId,
    seq: u64,
    file: File,
    redactor: Redactor,
    sink: &'s mut dyn EventSink,
}

impl<'s> FlowJournal<'s> {
    /// Goes on after the last event that is there.
    pub(crate) fn open(
        run: RunId,
        path: &Path,
        secrets: &[(String, String)],
        sink: &'s mut dyn EventSink,
    ) -> Result<Self, FlowError> {
        let before = fs::read(path).unwrap_or_default();
        let seq = before.split(|b| *b == b'\n').filter(|line| !line.is_empty()).count() as u64;
        let file =
            File::options().create(true).append(true).open(path).map_err(HostError::io("create", path))?;
        let redactor = Redactor::new(secrets.iter().map(|(name, value)| (name, value)));
        Ok(Self { run, seq, file, redactor, sink })
    }

    /// Records one event; a failing write must not end the flow.
    pub(crate) fn emit(&mut self, body: EventBody) {
        self.seq += 1;
        let event = RunEvent { seq: self.seq, at: now(), run: self.run.clone(), task: None, body };
        let line = self.redactor.redact_str(&event.to_line());
        let event = serde_json::from_str(&line).unwrap_or(event);
        let _ = self.file.write_all(format!("{line}\n").as_bytes());
        self.sink.emit(&event);
    }

    /// Passes an event of a step's run on.
    pub(crate) fn pass(&mut self, event: &RunEvent) {
        self.sink.emit(event);
    }

    /// The same of an event of a task's run, with the name of the task.
    pub(crate) fn pass_from(&mut self, task: &str, event: &RunEvent) {
        self.sink.emit(&RunEvent { task: Some(task.to_owned()), ..event.clone() });
    }

    /// Text without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor.redact_str(text)
    }

    /// Bytes without secrets.
    pub(crate) fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.redactor.redact(bytes)
    }
}
