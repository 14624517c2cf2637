//! Writes the run's events: redacted, numbered, to `events.jsonl` and to whoever listens.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use holon_core::event::{EventBody, EventSink, RunEvent};
use holon_core::ids::RunId;
use holon_core::redact::Redactor;

use crate::error::HostError;

/// The current time as RFC 3339 with milliseconds.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Numbers, redacts and distributes events.
pub struct RunEventWriter<'s> {
    run: RunId,
    seq: u64,
    file: File,
    redactor: Redactor,
    sink: &'s mut dyn EventSink,
}

impl<'s> RunEventWriter<'s> {
    /// Starts the event file of a run.
    pub fn create(
        run: RunId,
        path: &Path,
        redactor: Redactor,
        sink: &'s mut dyn EventSink,
    ) -> Result<Self, HostError> {
        let file =
            File::options().create(true).append(true).open(path).map_err(HostError::io("create", path))?;
        Ok(Self { run, seq: 0, file, redactor, sink })
    }

    /// Records one event. A full disk must not end the run, so a failing write is only lost, not fatal.
    pub fn emit(&mut self, body: EventBody) {
        self.seq += 1;
        let event = RunEvent { seq: self.seq, at: now(), run: self.run.clone(), task: None, body };
        let line = self.redactor.redact_str(&event.to_line());
        // Listeners get exactly what is stored.
        let event = serde_json::from_str(&line).unwrap_or(event);
        let _ = self.file.write_all(format!("{line}\n").as_bytes());
        self.sink.emit(&event);
    }

    /// A note that does not change the outcome.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.emit(EventBody::Warning { message: message.into() });
    }

    /// The redactor in use.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}
