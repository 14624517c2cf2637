//! Writes the run's events: redacted, numbered, to `events.jsonl` and to whoever listens.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use holon_core::event::{Body, Event, Sink};
use holon_core::ids::RunId;
use holon_core::redact::Redactor;

use crate::error::HostError;

/// The current time as RFC 3339 with milliseconds.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Numbers, redacts and distributes events.
pub struct Recorder<'s> {
    run: RunId,
    seq: u64,
    file: File,
    redactor: Redactor,
    sink: &'s mut dyn Sink,
}

impl<'s> Recorder<'s> {
    /// Starts the event file of a run.
    pub fn create(
        run: RunId,
        path: &Path,
        redactor: Redactor,
        sink: &'s mut dyn Sink,
    ) -> Result<Self, HostError> {
        let file =
            File::options().create(true).append(true).open(path).map_err(HostError::io("create", path))?;
        Ok(Self { run, seq: 0, file, redactor, sink })
    }

    /// Records one event. A full disk must not end the run, so a failing write is only lost, not fatal.
    pub fn emit(&mut self, body: Body) {
        self.seq += 1;
        let event = Event { seq: self.seq, at: now(), run: self.run.clone(), body };
        let line = self.redactor.redact_str(&event.to_line());
        // Listeners get exactly what is stored.
        let event = serde_json::from_str(&line).unwrap_or(event);
        let _ = self.file.write_all(format!("{line}\n").as_bytes());
        self.sink.emit(&event);
    }

    /// A note that does not change the outcome.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.emit(Body::Warning { message: message.into() });
    }

    /// The redactor in use.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}
