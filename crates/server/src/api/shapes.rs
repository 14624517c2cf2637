//! What goes over the wire about threads.

use std::collections::BTreeMap;

use holon_core::manifest::UsageTotals;
use holon_store as store;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatThread {
    /// Its name.
    id: String,
    /// The folder it is about.
    workspace: String,
    /// Who answers.
    agent: String,
    /// The wanted model.
    model: Option<String>,
    /// What it is called.
    title: Option<String>,
    /// The mode of the last turn.
    mode: String,
    /// `idle`, `running` or `waiting`.
    state: String,
    /// RFC 3339.
    created_at: String,
    /// RFC 3339.
    updated_at: String,
    /// Number of the last event.
    last_seq: u64,
    /// How many turns it has had.
    turns_count: u64,
    /// `allow`, `ask` or `deny` by tool, on top of the mode.
    #[schema(value_type = BTreeMap<String, String>)]
    tools: BTreeMap<String, Value>,
    /// Whether it stays at the top of lists.
    pinned: bool,
    /// Whether it is only in the list of archived threads.
    archived: bool,
    /// Where it begins, when it goes on from the middle of another thread.
    branch: Option<ThreadBranch>,
    /// The same for a thread and all its branches.
    family: String,
    /// What waits for a person.
    #[schema(value_type = Option<Object>)]
    interrupt: Option<Value>,
    /// Tokens and money so far.
    usage: SpentUsage,
    /// The turns, where one thread was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<Vec<ChatTurn>>,
}

/// Where a branch begins.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ThreadBranch {
    /// The thread it goes on from, which may be gone.
    thread: String,
    /// Its first own turn.
    turn: u64,
}

/// Tokens and money.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpentUsage {
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
    cost_usd: Option<f64>,
}

/// One message of a person, and what came of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatTurn {
    number: u64,
    mode: String,
    message: String,
    files: Vec<String>,
    /// `running`, `waiting`, `completed`, `denied`, `failed`, `cancelled`, `interrupted` or `undone`.
    state: String,
    code: Option<String>,
    first_seq: u64,
    last_seq: u64,
    started_at: String,
    ended_at: Option<String>,
    changed: bool,
    applied: bool,
}

impl ChatThread {
    pub(crate) fn new(
        thread: store::StoredThread,
        interrupt: Option<store::InterruptRow>,
        turns: Option<Vec<store::StoredTurn>>,
    ) -> Self {
        let tools = thread.tools.iter().map(|(name, verdict)| (name.clone(), word(verdict).into())).collect();
        Self {
            id: thread.id.as_str().to_owned(),
            workspace: thread.workspace,
            agent: thread.agent,
            model: thread.model,
            title: thread.title,
            mode: thread.mode.unwrap_or_else(|| "build".to_owned()),
            state: word(&thread.state),
            created_at: thread.created_at,
            updated_at: thread.updated_at,
            last_seq: thread.last_seq,
            turns_count: thread.turns,
            tools,
            pinned: thread.pinned,
            archived: thread.archived,
            branch: thread
                .branch
                .map(|origin| ThreadBranch { thread: origin.thread.as_str().to_owned(), turn: origin.turn }),
            family: thread.family.as_str().to_owned(),
            interrupt: interrupt.and_then(|row| serde_json::from_str(&row.body).ok()),
            usage: thread.usage.into(),
            turns: turns.map(|turns| turns.into_iter().map(ChatTurn::from).collect()),
        }
    }
}

impl From<UsageTotals> for SpentUsage {
    fn from(usage: UsageTotals) -> Self {
        let UsageTotals { input, cached, output, reasoning, cost_usd } = usage;
        Self { input, cached, output, reasoning, cost_usd }
    }
}

impl From<store::StoredTurn> for ChatTurn {
    fn from(turn: store::StoredTurn) -> Self {
        Self {
            number: turn.number,
            mode: turn.mode,
            message: turn.message,
            files: turn.files,
            state: word(&turn.state),
            code: turn.code,
            first_seq: turn.first_seq,
            last_seq: turn.last_seq,
            started_at: turn.started_at,
            ended_at: turn.ended_at,
            changed: turn.changed,
            applied: turn.applied,
        }
    }
}

/// One of a few words, as it is written in JSON.
pub(crate) fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}
