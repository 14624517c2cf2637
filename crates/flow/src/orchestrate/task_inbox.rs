//! What people say about single tasks while an orchestration goes on: left in its folder, taken by the process that leads
//! it, and answered there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use holon_host::HostError;
use holon_host::store::{RunFolder, write_atomic};
use serde::{Deserialize, Serialize};

use super::folder::load;
use super::graph::CHECK;
use super::planner::word::{self, TaskWord};
use super::resumed::resumed;
use super::state::{OrchestrationEnd, OrchestrationState, TaskPhase};
use crate::dispatch::private_folder;
use crate::error::FlowError;

const INBOX: &str = "words";
const ANSWER: &str = "answer";
/// The longest word that is taken.
const LONGEST: u64 = 256 * 1024;
/// How long whoever says something waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// A word about a task, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskMessage {
    /// The task.
    pub task: String,
    /// What is said about it.
    pub word: TaskWord,
    /// Who says it.
    pub person: String,
}

/// What was answered to a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TaskAnswer {
    /// It was taken.
    Taken {
        /// What becomes of the task.
        says: String,
    },
    /// It was not taken.
    Refused {
        /// Why not.
        problem: String,
    },
    /// Nobody has looked yet; it is heard as soon as the step that is under way is over.
    Left,
    /// The orchestration is not going on: the word is kept until somebody goes on with it.
    Kept {
        /// What becomes of the task then.
        says: String,
    },
}

/// Says something about a task, and waits a moment for the answer. Where the orchestration is not going on, the word is kept
/// for whoever goes on with it.
pub fn tell_task(folder: &RunFolder, message: &TaskMessage) -> Result<TaskAnswer, FlowError> {
    let Some(state) = load(folder)? else {
        return Err(FlowError::refused("this run is no orchestration", "only an orchestration has tasks"));
    };
    let every = || state.nodes.iter().chain(state.left.iter().flat_map(|left| &left.nodes));
    if state.planned.is_some() && !every().any(|node| node.task.id == message.task) {
        let names: Vec<&str> =
            every().filter(|node| node.task.mode != CHECK).map(|node| node.task.id.as_str()).collect();
        let problem = format!("run {} has no task `{}`", state.id, message.task);
        return Err(FlowError::refused(problem, format!("its tasks are: {}", names.join(", "))));
    }
    if !is_going_on(folder)? {
        return keep(folder, state, message);
    }
    let file = put(folder, message)?;
    let (answer, until) = (file.with_extension(ANSWER), Instant::now() + PATIENCE);
    while Instant::now() < until {
        if let Ok(bytes) = fs::read(&answer) {
            let _ = fs::remove_file(&answer);
            return Ok(serde_json::from_slice(&bytes).unwrap_or(TaskAnswer::Left));
        }
        if !is_going_on(folder)? {
            // It ended without a look; the word is judged by where it is now.
            let _ = fs::remove_file(&file);
            return match load(folder)? {
                Some(state) => keep(folder, state, message),
                None => Ok(TaskAnswer::Left),
            };
        }
        std::thread::sleep(LOOK);
    }
    Ok(TaskAnswer::Left)
}

fn is_going_on(folder: &RunFolder) -> Result<bool, FlowError> {
    Ok(folder.is_alive() && !folder.record()?.finished)
}

/// Keeps a word for whoever goes on, when it could be taken then.
fn keep(
    folder: &RunFolder,
    state: OrchestrationState,
    message: &TaskMessage,
) -> Result<TaskAnswer, FlowError> {
    let id = state.id.clone();
    if state.sealed && state.ended == Some(OrchestrationEnd::Complete) {
        let problem = format!("run {id} is over, and all of it is done");
        return Err(FlowError::refused(problem, format!("see `holon runs show {id}`")));
    }
    if matches!(message.word, TaskWord::Stop { .. }) {
        let hint = format!("`skip` leaves the task out when somebody goes on: holon run --resume {id}");
        return Err(FlowError::refused(
            format!("run {id} is not going on, so nothing of it can be stopped"),
            hint,
        ));
    }
    if state.planned.is_none() {
        let hint = format!("go on with `holon run --resume {id} --message \"…\"`");
        return Err(FlowError::refused(format!("run {id} is not going on and has no tasks yet"), hint));
    }
    // The same as when somebody goes on: what is refused then is refused now.
    let mut then = resumed(state, None, false)?;
    for node in &mut then.nodes {
        if matches!(node.phase, TaskPhase::Running { .. }) {
            node.phase = TaskPhase::Waiting;
        }
    }
    let node = then.nodes.iter().position(|node| node.task.id == message.task);
    let heard = match node {
        Some(node) => word::hear_before_going_on(&mut then, node, message.word.clone()),
        None => Err("it is left out of what goes on".to_owned()),
    };
    match heard {
        Ok(heard) => {
            put(folder, message)?;
            Ok(TaskAnswer::Kept { says: heard.says })
        }
        Err(problem) => Ok(TaskAnswer::Refused { problem }),
    }
}

/// Leaves a word in the inbox.
fn put(folder: &RunFolder, message: &TaskMessage) -> Result<PathBuf, FlowError> {
    let inbox = folder.path().join(INBOX);
    private_folder(&inbox)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Names in the order of time; two in one moment are told apart by who left them.
    let file = inbox.join(format!("{:020}-{}.json", now.as_nanos(), std::process::id()));
    write_atomic(&file, &serde_json::to_vec(message).unwrap_or_default())?;
    Ok(file)
}

/// Where the words are left.
pub(super) struct TaskInbox {
    folder: PathBuf,
}

/// A word that was taken out, and how to answer it.
pub(super) struct LeftMessage {
    pub(super) message: TaskMessage,
    file: PathBuf,
}

impl TaskInbox {
    pub(super) fn of(orchestration: &Path) -> Self {
        Self { folder: orchestration.join(INBOX) }
    }

    /// The words that nobody has answered, in the order in which they were left. What is none is passed over.
    pub(super) fn waiting(&self) -> Vec<LeftMessage> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let files = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
        files.sort();
        files.into_iter().filter_map(LeftMessage::read).collect()
    }
}

impl LeftMessage {
    fn read(file: PathBuf) -> Option<Self> {
        let meta = fs::symlink_metadata(&file).ok()?;
        let plain = meta.is_file() && meta.len() <= LONGEST;
        let bytes = plain.then(|| fs::read(&file).ok()).flatten();
        let message = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if message.is_none() {
            let _ = fs::remove_file(&file);
        }
        Some(Self { message: message?, file })
    }

    /// What it is called, unlike every other.
    pub(super) fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The word is away before its answer is there.
    pub(super) fn answer(self, answer: &TaskAnswer) -> Result<(), FlowError> {
        let path = self.file.with_extension(ANSWER);
        fs::remove_file(&self.file).map_err(HostError::io("remove", &self.file))?;
        Ok(write_atomic(&path, &serde_json::to_vec(answer).unwrap_or_default())?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_are_taken_in_order_and_once_and_what_is_none_is_thrown_away() {
        let temp = tempfile::tempdir().unwrap();
        let inbox = TaskInbox::of(temp.path());
        assert!(inbox.waiting().is_empty());
        let folder = temp.path().join(INBOX);
        fs::create_dir(&folder).unwrap();
        let message = |task: &str| TaskMessage {
            task: task.into(),
            word: TaskWord::Say { text: "hello".into() },
            person: "somebody".into(),
        };
        for (name, task) in [("2-1.json", "second"), ("1-1.json", "first")] {
            fs::write(folder.join(name), serde_json::to_vec(&message(task)).unwrap()).unwrap();
        }
        fs::write(folder.join("0-1.json"), "{\"task\": 1}").unwrap();
        fs::create_dir(folder.join("3-1.json")).unwrap();
        let words = inbox.waiting();
        let tasks: Vec<&str> = words.iter().map(|word| word.message.task.as_str()).collect();
        assert_eq!(tasks, ["first", "second"]);
        for word in words {
            word.answer(&TaskAnswer::Taken { says: "yes".into() }).unwrap();
        }
        assert!(inbox.waiting().is_empty() && folder.join("1-1.answer").is_file());
        assert!(!folder.join("0-1.json").exists());
    }
}
