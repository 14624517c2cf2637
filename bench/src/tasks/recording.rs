//! Replies of an endpoint, written down per task and agent, and given again in their order.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use serde::{Deserialize, Serialize};

use crate::BenchFailure;

/// One exchange. The request is known by its digest only: what agents send is theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedExchange {
    pub(crate) method: String,
    pub(crate) path: String,
    /// SHA-256 of the request's body.
    pub(crate) request: String,
    pub(crate) status: u16,
    /// The content type.
    pub(crate) kind: String,
    pub(crate) body: String,
}

/// The file `recording.json` of a folder of recordings.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyRecordingHead {
    model: String,
}

fn file(folder: &Path, task: &str, agent: &str) -> PathBuf {
    folder.join(task).join(format!("{agent}.jsonl"))
}

/// Begins a folder of recordings.
pub(crate) fn begin(folder: &Path, model: &str) -> Result<(), BenchFailure> {
    let head = serde_json::to_string_pretty(&ReplyRecordingHead { model: model.to_owned() })
        .map_err(|e| e.to_string())?;
    write(&folder.join("recording.json"), &(head + "\n"))
}

/// The model whose replies a folder holds.
pub(crate) fn model(folder: &Path) -> Result<String, BenchFailure> {
    let path = folder.join("recording.json");
    let text = fs::read_to_string(&path).map_err(|e| format!("{} is no recording: {e}", folder.display()))?;
    let head: ReplyRecordingHead =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(head.model)
}

/// Writes what one agent heard in one task.
pub(crate) fn keep(
    folder: &Path,
    task: &str,
    agent: &str,
    exchanges: &[RecordedExchange],
) -> Result<(), BenchFailure> {
    let mut text = String::new();
    for exchange in exchanges {
        text += &serde_json::to_string(exchange).map_err(|e| e.to_string())?;
        text.push('\n');
    }
    write(&file(folder, task, agent), &text)
}

fn write(path: &Path, text: &str) -> Result<(), BenchFailure> {
    fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| fs::write(path, text))
        .map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Gives recorded replies.
#[derive(Debug, Default)]
pub(crate) struct ReplyPlayer {
    waiting: Vec<RecordedExchange>,
    /// Questions that can be asked at any time: what models there are, and the like.
    always: Vec<RecordedExchange>,
    /// Replies that were given although the request was not the recorded one.
    pub(crate) drifted: usize,
    /// Requests for which nothing was left.
    pub(crate) missing: usize,
}

impl ReplyPlayer {
    /// What this agent heard in this task; an error when nothing was recorded.
    pub(crate) fn open(folder: &Path, task: &str, agent: &str) -> Result<Self, BenchFailure> {
        let path = file(folder, task, agent);
        let text = fs::read_to_string(&path).map_err(|e| format!("no recording {}: {e}", path.display()))?;
        let exchanges: Result<Vec<RecordedExchange>, _> = text.lines().map(serde_json::from_str).collect();
        exchanges.map(Self::new).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Of these.
    pub(crate) fn new(exchanges: Vec<RecordedExchange>) -> Self {
        let (always, waiting) = exchanges.into_iter().partition(|exchange| exchange.method == "GET");
        Self { waiting, always, ..Self::default() }
    }

    /// The reply to the same request if one waits, else the next one on the same path.
    pub(crate) fn next(&mut self, method: &str, path: &str, body: &[u8]) -> Option<RecordedExchange> {
        if method == "GET" {
            return self.always.iter().find(|exchange| exchange.path == path).cloned();
        }
        let digest = sha256(body);
        let same =
            self.waiting.iter().position(|exchange| exchange.path == path && exchange.request == digest);
        let next = self.waiting.iter().position(|exchange| exchange.path == path);
        match same.or(next) {
            Some(at) => {
                self.drifted += usize::from(same.is_none());
                Some(self.waiting.remove(at))
            }
            None => {
                self.missing += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn exchange(method: &str, path: &str, request: &str, body: &str) -> RecordedExchange {
        RecordedExchange {
            method: method.to_owned(),
            path: path.to_owned(),
            request: sha256(request.as_bytes()),
            status: 200,
            kind: "application/json".to_owned(),
            body: body.to_owned(),
        }
    }

    #[test]
    fn recordings_are_kept_and_played() {
        let folder = tempfile::tempdir().unwrap();
        let chat = "/v1/chat/completions";
        let all = [
            exchange("GET", "/v1/models", "", "models"),
            exchange("POST", chat, "one", "1\nline"),
            exchange("POST", chat, "two", "2"),
            exchange("POST", chat, "three", "3"),
        ];
        begin(folder.path(), "small").unwrap();
        keep(folder.path(), "task", "holon-off", &all).unwrap();
        assert_eq!(model(folder.path()).unwrap(), "small");
        let mut player = ReplyPlayer::open(folder.path(), "task", "holon-off").unwrap();
        let mut said = |method: &str, path: &str, body: &str| {
            player.next(method, path, body.as_bytes()).map(|exchange| exchange.body)
        };
        assert_eq!(said("GET", "/v1/models", "").as_deref(), Some("models"));
        assert_eq!(said("GET", "/v1/models", "").as_deref(), Some("models"));
        assert_eq!(said("GET", "/props", ""), None);
        assert_eq!(said("POST", chat, "two").as_deref(), Some("2"), "the same request has its own reply");
        assert_eq!(said("POST", chat, "changed").as_deref(), Some("1\nline"), "else the order counts");
        assert_eq!(said("POST", "/v1/messages", "three"), None);
        assert_eq!(said("POST", chat, "three").as_deref(), Some("3"));
        assert_eq!(said("POST", chat, "four"), None);
        assert_eq!((player.drifted, player.missing), (1, 2));
        assert!(ReplyPlayer::open(folder.path(), "task", "aider").is_err());
        assert!(model(&folder.path().join("task")).is_err());
    }
}
