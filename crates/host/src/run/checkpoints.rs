//! Checkpoints in a run's folder: what is needed to go on, as of the end of every round.
//!
//! A conversation only grows at its end, so that a round adds a line with its own messages to a file instead of writing
//! the file anew: new files are what a round would pay most for. A line that a killed process left half is no line.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use holon_agent::supervise::RunCheckpoint;
use holon_core::redact::Redactor;
use holon_model::ModelMessage;
use serde::{Deserialize, Serialize};

use crate::error::HostError;
use crate::store::write_atomic;

/// The file, in the run's folder.
pub(crate) const CHECKPOINT: &str = "checkpoint.jsonl";
/// The file is written anew when it has grown by so much, and by four times what it was.
const GROWTH: usize = 1 << 20;

/// One line: the messages after the first `from` are these.
#[derive(Serialize)]
struct CheckpointLine<'a> {
    from: usize,
    messages: &'a [ModelMessage],
    rest: &'a RunCheckpoint,
}

#[derive(Deserialize)]
struct StoredCheckpointLine {
    from: usize,
    messages: Vec<ModelMessage>,
    rest: RunCheckpoint,
}

/// Writes them.
pub(super) struct CheckpointWriter {
    file: PathBuf,
    redactor: Redactor,
    log: Mutex<CheckpointLog>,
}

#[derive(Default)]
struct CheckpointLog {
    /// The file, once there is a whole one.
    open: Option<File>,
    /// What it holds.
    messages: Vec<ModelMessage>,
    whole: usize,
    added: usize,
}

impl CheckpointWriter {
    pub(super) fn new(folder: &Path, redactor: Redactor) -> Self {
        Self { file: folder.join(CHECKPOINT), redactor, log: Mutex::default() }
    }

    /// Keeps one; what a full disk does not take is only lost.
    pub(super) fn keep(&self, mut checkpoint: RunCheckpoint) {
        let messages = std::mem::take(&mut checkpoint.conversation.messages);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match log.open.take().filter(|_| log.added < GROWTH.max(4 * log.whole)) {
            Some(file) => self.add(&mut log, file, &messages, &checkpoint),
            None => self.write(&mut log, &messages, &checkpoint),
        };
        // Without an open file the next one is written whole.
        log.open = written.ok();
        log.messages = messages;
    }

    fn write(
        &self,
        log: &mut CheckpointLog,
        messages: &[ModelMessage],
        rest: &RunCheckpoint,
    ) -> io::Result<File> {
        let line = self.line(0, messages, rest)?;
        write_atomic(&self.file, &line).map_err(io::Error::other)?;
        (log.whole, log.added) = (line.len(), 0);
        File::options().append(true).open(&self.file)
    }

    fn add(
        &self,
        log: &mut CheckpointLog,
        mut file: File,
        messages: &[ModelMessage],
        rest: &RunCheckpoint,
    ) -> io::Result<File> {
        let from = log.messages.iter().zip(messages).take_while(|(old, new)| old == new).count();
        let line = self.line(from, &messages[from..], rest)?;
        file.write_all(&line)?;
        log.added += line.len();
        Ok(file)
    }

    fn line(&self, from: usize, messages: &[ModelMessage], rest: &RunCheckpoint) -> io::Result<Vec<u8>> {
        let text = serde_json::to_string(&CheckpointLine { from, messages, rest })?;
        let mut line = self.redactor.redact_str(&text).into_bytes();
        line.push(b'\n');
        Ok(line)
    }
}

/// The last checkpoint in a run's folder.
pub(crate) fn load(folder: &Path, id: &str) -> Result<RunCheckpoint, HostError> {
    let path = folder.join(CHECKPOINT);
    let bytes = fs::read(&path).map_err(|e| {
        HostError::run(
            format!("run {id} cannot go on: it kept no checkpoint ({e})"),
            "run it again from its start",
        )
    })?;
    last(&bytes)
        .map_err(|why| HostError::run(format!("{}: {why}", path.display()), "the run store is damaged"))
}

fn last(bytes: &[u8]) -> Result<RunCheckpoint, String> {
    let (mut messages, mut rest) = (Vec::new(), None);
    for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        if !line.ends_with(b"\n") {
            break;
        }
        let stored: StoredCheckpointLine =
            serde_json::from_slice(line).map_err(|e| format!("line {number}: {e}"))?;
        if stored.from > messages.len() {
            return Err(format!("line {number}: messages before it are missing"));
        }
        messages.truncate(stored.from);
        messages.extend(stored.messages);
        rest = Some(stored.rest);
    }
    let mut checkpoint: RunCheckpoint = rest.ok_or("there is no whole line in it")?;
    checkpoint.conversation.messages = messages;
    Ok(checkpoint)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_agent::{AgentConversation, SupervisionSession};
    use holon_supervisor::event::SupervisorSetup;

    use super::*;

    fn checkpoint(words: &[&str]) -> RunCheckpoint {
        let setup = SupervisorSetup {
            run: "20261115-120000-abcdef".parse().unwrap(),
            mode: "execute".into(),
            goal: "Do it".into(),
            plan_files: Vec::new(),
            plan_steps: 0,
            checks: Vec::new(),
            monorepo: false,
            token_limit: 1000,
            round_limit: 0,
            foreign: false,
        };
        let supervision = SupervisionSession::new(Default::default(), setup).unwrap();
        let messages = words.iter().map(|word| ModelMessage::user(*word)).collect();
        RunCheckpoint::of(&supervision, &AgentConversation { messages, ..AgentConversation::default() })
    }

    fn keeper(folder: &Path) -> CheckpointWriter {
        CheckpointWriter::new(folder, Redactor::default())
    }

    fn said(folder: &Path) -> Vec<ModelMessage> {
        load(folder, "r").unwrap().conversation.messages
    }

    #[test]
    fn what_was_kept_last_is_found_and_each_round_adds_only_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path());
        let long = "long ".repeat(1000);
        for words in [&["a", &long][..], &["a", &long, "b"], &["a", &long, "b", "c"], &["short"]] {
            keeper.keep(checkpoint(words));
            assert_eq!(said(folder.path()), checkpoint(words).conversation.messages);
        }
        let text = fs::read_to_string(folder.path().join(CHECKPOINT)).unwrap();
        assert_eq!((text.lines().count(), text.matches(&long).count()), (4, 1));
    }

    #[test]
    fn half_a_line_is_none_and_a_damaged_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path());
        keeper.keep(checkpoint(&["a"]));
        keeper.keep(checkpoint(&["a", "b"]));
        let file = folder.path().join(CHECKPOINT);
        let bytes = fs::read(&file).unwrap();
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in first..bytes.len() {
            fs::write(&file, &bytes[..end]).unwrap();
            assert_eq!(said(folder.path()).len(), 1, "cut at {end}");
        }
        for (cut, why) in [(&bytes[..first - 1], "no whole line"), (&bytes[first..], "are missing")] {
            fs::write(&file, cut).unwrap();
            assert!(load(folder.path(), "r").unwrap_err().to_string().contains(why), "{why}");
        }
        fs::remove_file(&file).unwrap();
        assert!(load(folder.path(), "r").unwrap_err().to_string().contains("kept no checkpoint"));
    }

    #[test]
    fn it_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path());
        let large = "x".repeat(GROWTH / 4);
        let mut most = 0;
        for round in 0..40 {
            keeper.keep(checkpoint(&[&format!("{round}{large}")]));
            most = most.max(fs::metadata(folder.path().join(CHECKPOINT)).unwrap().len());
        }
        assert!(most < 3 * GROWTH as u64, "{most}");
        assert_eq!(said(folder.path()).len(), 1);
    }
}
