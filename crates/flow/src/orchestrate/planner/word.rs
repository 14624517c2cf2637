//! What a person says about one task while the others go on: stop it, skip it, begin it again, or listen. Pure.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::artifact::orchestration::OrchestrationTask;
use holon_core::mode_run::ModeDecision;
use holon_core::outcome::RunStatus;
use serde::{Deserialize, Serialize};

use super::super::graph::{self, CHECK};
use super::super::resumed::{from_the_start, is_stuck};
use super::super::state::{INTERRUPTED, OrchestrationState, TaskNode, TaskPhase, UnfinishedPart};

/// A person's word about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TaskWord {
    /// It ends here and has failed; whoever plans is told why.
    Stop {
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// It is left out, and with it what waits for it; the others go on.
    Skip {
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// The run that is under way ends, and the task begins again.
    Retry,
    /// Its agent is told something, now.
    Say {
        /// What.
        text: String,
    },
}

impl TaskWord {
    /// The word on the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stop { .. } => "stop",
            Self::Skip { .. } => "skip",
            Self::Retry => "retry",
            Self::Say { .. } => "say",
        }
    }

    fn why(&self) -> String {
        let (what, reason) = match self {
            Self::Stop { reason } => ("a person stopped it", reason),
            Self::Skip { reason } => ("a person left it out", reason),
            Self::Retry | Self::Say { .. } => return String::new(),
        };
        let reason = reason.as_deref().map(str::trim).filter(|text| !text.is_empty());
        reason.map_or_else(|| what.to_owned(), |reason| format!("{what}: {reason}"))
    }
}

/// What follows from a word that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardWord {
    /// Whether the task's run that is under way has to end for it.
    pub ends_run: bool,
    /// What becomes of the task, in a sentence.
    pub says: String,
}

/// Takes a word about a task, or says why it cannot be taken.
pub fn hear(state: &mut OrchestrationState, node: usize, word: TaskWord) -> Result<HeardWord, String> {
    if state.ended.is_some() {
        return Err("the orchestration is at its end".into());
    }
    let Some(now) = state.nodes.get(node) else { return Err("there is no such task any more".into()) };
    if let Some(problem) = problem_with(state, now, &word) {
        return Err(problem);
    }
    let running = matches!(now.phase, TaskPhase::Running { .. });
    match &word {
        TaskWord::Skip { .. } if !leaves_something(state, node) => {
            return Err("without it nothing would be left to bring home; end the whole instead".into());
        }
        TaskWord::Retry if !running => {
            return Err("no run of it is under way; it begins when its turn comes".into());
        }
        TaskWord::Say { text } if text.trim().is_empty() => return Err("there is nothing to tell".into()),
        _ => {}
    }
    let says = says(&word, running);
    let now = &mut state.nodes[node];
    if let TaskWord::Say { text } = &word {
        now.told.push(text.trim().to_owned());
    }
    now.word = Some(word);
    Ok(HeardWord { ends_run: running, says })
}

/// The same of a word that was kept until somebody goes on: what could not be done may be asked for again then.
pub fn hear_before_going_on(
    state: &mut OrchestrationState,
    node: usize,
    word: TaskWord,
) -> Result<HeardWord, String> {
    let Some(now) = state.nodes.get(node) else { return Err("there is no such task any more".into()) };
    let (phase, fixes) = (now.phase.clone(), now.fixes);
    let again = matches!(word, TaskWord::Retry) && matches!(phase, TaskPhase::ToMerge { .. });
    if again || is_stuck(now) {
        let now = &mut state.nodes[node];
        now.phase = from_the_start(now.attempts.last().map(|attempt| attempt.purpose));
        now.fixes = 0;
    }
    let heard = match &word {
        TaskWord::Retry => {
            problem_with(state, &state.nodes[node], &word).map_or_else(|| Ok(retried(again)), Err)
        }
        _ => hear(state, node, word),
    };
    if heard.is_err() {
        (state.nodes[node].phase, state.nodes[node].fixes) = (phase, fixes);
    }
    heard
}

fn retried(again: bool) -> HeardWord {
    let says = match again {
        true => "it is done again, and what it left is not joined",
        false => "it is begun when its turn comes",
    };
    HeardWord { ends_run: false, says: says.to_owned() }
}

/// Does what was said, when no run is under way: tasks have fixed places while one is.
pub fn settle(state: &mut OrchestrationState) {
    while let Some(node) = state.nodes.iter().position(|node| node.word.is_some()) {
        let Some(word) = state.nodes[node].word.take() else { continue };
        if state.nodes[node].phase != TaskPhase::Done {
            obey(state, node, &word);
        }
    }
}

fn obey(state: &mut OrchestrationState, node: usize, word: &TaskWord) {
    let reason = word.why();
    match word {
        TaskWord::Skip { .. } if leaves_something(state, node) => skip(state, node, reason),
        TaskWord::Stop { .. } | TaskWord::Skip { .. } => {
            let node = &mut state.nodes[node];
            node.phase = TaskPhase::Failed { reason: reason.clone() };
            if let Some(end) = node.attempts.last_mut().and_then(|attempt| attempt.end.as_mut()) {
                end.error = Some(("stopped".into(), reason));
            }
        }
        TaskWord::Say { .. } => {
            let end = state.nodes[node].attempts.last_mut().and_then(|attempt| attempt.end.as_mut());
            if let Some(end) = end.filter(|end| end.status == RunStatus::Cancelled) {
                end.error = Some((INTERRUPTED.into(), "a person had something to say".into()));
            }
        }
        TaskWord::Retry => {}
    }
}

fn problem_with(state: &OrchestrationState, node: &TaskNode, word: &TaskWord) -> Option<String> {
    let leaves = matches!(word, TaskWord::Stop { .. } | TaskWord::Skip { .. });
    match &node.phase {
        TaskPhase::Done | TaskPhase::ToMerge { .. } => return Some("it is done already".into()),
        TaskPhase::Failed { reason } | TaskPhase::Blocked { reason } => {
            return Some(format!("it could not be done ({reason}), and what follows is being decided"));
        }
        _ => {}
    }
    if matches!(node.word, Some(TaskWord::Stop { .. } | TaskWord::Skip { .. })) {
        return Some("it is being ended already".into());
    }
    match node.task.mode.as_str() {
        CHECK => Some("the checks are the host's own, and nobody leads them".into()),
        "ethical" if leaves => Some("nothing goes out without an assessment; end the whole instead".into()),
        "review" if leaves && said_no(node) => {
            Some("it has found something, and what a review does not let in does not go out".into())
        }
        _ if leaves && is_joined_so_far(state, node) => {
            Some("a part of it is joined with the others' work already".into())
        }
        _ => None,
    }
}

fn says(word: &TaskWord, running: bool) -> String {
    let says = match (word, running) {
        (TaskWord::Stop { .. }, true) => "its run ends, and whoever plans is told",
        (TaskWord::Stop { .. }, false) => "it is not begun, and whoever plans is told",
        (TaskWord::Skip { .. }, true) => "its run ends, and the others go on without it",
        (TaskWord::Skip { .. }, false) => "the others go on without it",
        (TaskWord::Retry, _) => "its run ends, and it begins again",
        (TaskWord::Say { .. }, true) => "its run is interrupted, and goes on with what you said",
        (TaskWord::Say { .. }, false) => "its agent is told when it begins",
    };
    says.to_owned()
}

fn said_no(node: &TaskNode) -> bool {
    let blocks = |decision: &ModeDecision| matches!(decision, ModeDecision::Block { .. });
    node.attempts.iter().filter_map(|attempt| attempt.end.as_ref()).any(|end| blocks(&end.decision))
}

fn is_joined_so_far(state: &OrchestrationState, node: &TaskNode) -> bool {
    state.merges.iter().any(|merge| merge.task == node.task.id)
}

/// A task and everything that cannot be begun without it. The host's checks, the assessment and reviews of others' work
/// look at what there is.
fn without(state: &OrchestrationState, node: usize) -> BTreeSet<String> {
    let mut lost = BTreeSet::from([state.nodes[node].task.id.clone()]);
    let tasks: Vec<OrchestrationTask> = state.nodes.iter().map(|node| node.task.clone()).collect();
    loop {
        let before = lost.len();
        for node in state.nodes.iter().filter(|node| node.phase != TaskPhase::Done) {
            let waits = node.task.depends_on.iter().any(|id| lost.contains(id));
            let looks_at_others = match node.task.mode.as_str() {
                CHECK | "ethical" => true,
                "review" => {
                    let about = graph::before(&tasks, &node.task);
                    let stays = |other: &&TaskNode| {
                        other.writes()
                            && about.contains(other.task.id.as_str())
                            && !lost.contains(&other.task.id)
                    };
                    state.nodes.iter().any(|other| stays(&other))
                }
                _ => false,
            };
            if waits && !looks_at_others {
                lost.insert(node.task.id.clone());
            }
        }
        if lost.len() == before {
            return lost;
        }
    }
}

/// Whether anything but looking at others' work remains without a task.
fn leaves_something(state: &OrchestrationState, node: usize) -> bool {
    let lost = without(state, node);
    !state.merges.is_empty() || state.nodes.iter().any(|node| node.writes() && !lost.contains(&node.task.id))
}

fn skip(state: &mut OrchestrationState, node: usize, reason: String) {
    let (lost, task) = (without(state, node), state.nodes[node].task.id.clone());
    let tasks: Vec<OrchestrationTask> = state.nodes.iter().map(|node| node.task.clone()).collect();
    let (skipped, mut kept): (Vec<TaskNode>, Vec<TaskNode>) =
        std::mem::take(&mut state.nodes).into_iter().partition(|node| lost.contains(&node.task.id));
    let mut waited_for = BTreeMap::new();
    for node in &mut kept {
        // What it waited for through a task that is left out it waits for by itself.
        let before = graph::before(&tasks, &node.task);
        if node.task.depends_on.iter().any(|id| lost.contains(id)) {
            waited_for.insert(node.task.id.clone(), node.task.depends_on.clone());
            node.task.depends_on =
                before.into_iter().filter(|id| !lost.contains(*id)).map(str::to_owned).collect();
        }
    }
    state.nodes = kept;
    let left = state.left.get_or_insert_with(|| UnfinishedPart {
        task,
        reason,
        nodes: Vec::new(),
        by_person: true,
        waited_for: BTreeMap::new(),
    });
    left.nodes.extend(skipped);
    for (id, on) in waited_for {
        // What was waited for at first counts, however often something of it is left out.
        left.waited_for.entry(id).or_default().extend(on);
    }
}
