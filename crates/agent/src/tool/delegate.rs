//! Has a child that can only look find something out, in a conversation of its own.

use holon_core::event::EventBody;
use holon_hands::{ExecutorError, ExecutorErrorKind as HandsTrouble};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, ToolTrouble, TurnSettings,
};
use crate::agent::NativeAgent;
use crate::conversation::AgentConversation;
use crate::ended::TurnEndReason;
use crate::prompt;
use crate::supervisor_hook::{NoSupervisor, ToolCallEvidence};
use crate::turn::AgentTurn;
use crate::watcher::AgentEventSink;

/// Rounds a child has, within what its parent has left.
const ROUNDS: u64 = 15;

pub(super) struct DelegateTool;

#[derive(Deserialize)]
struct DelegateArguments {
    #[serde(alias = "prompt", alias = "description")]
    task: String,
}

impl AgentTool for DelegateTool {
    fn name(&self) -> &str {
        "delegate"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema =
            json!({"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]});
        ToolSpec::new(
            "delegate",
            "A helper that only reads and searches finds something out; it knows nothing but the task.",
            schema,
        )
    }

    fn target<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        arguments.get("task").and_then(Value::as_str)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let DelegateArguments { task } = read(arguments)?;
            if task.trim().is_empty() {
                return Err(ToolTrouble::Arguments("`task` is empty".to_owned()));
            }
            let parent = scene.agent;
            let mut settings = parent.settings.clone();
            settings.system = prompt::delegate().to_owned();
            (settings.required, settings.optional) = (Vec::new(), Vec::new());
            let watcher = CallEventsOnly(parent.watcher);
            let child = NativeAgent {
                settings: &settings,
                watcher: &watcher,
                steward: &NoSupervisor,
                person: None,
                servers: None,
                ..*parent
            };
            let mut conversation = AgentConversation::default();
            conversation.ask(&task);
            let mut turn = AgentTurn::looking(&child, scene.budget, ROUNDS, format!("{}.", scene.call));
            let reason = turn.run(&mut conversation, None).await;
            report(reason, turn.text)
        })
    }
}

/// What the parent hears of how its child ended.
fn report(reason: TurnEndReason, text: String) -> Result<ToolOutcome, ToolTrouble> {
    match reason {
        TurnEndReason::Finished(_) | TurnEndReason::TextOnly if !text.trim().is_empty() => {
            Ok(ToolOutcome::said(text.trim()).proving(ToolCallEvidence::Helped))
        }
        TurnEndReason::Limit(limit) => {
            let words = if text.trim().is_empty() { "it found nothing yet" } else { text.trim() };
            Ok(ToolOutcome::said(format!("[stopped: {} used up]\n{words}", limit.name())))
        }
        TurnEndReason::Cancelled => Err(ToolTrouble::Cancelled),
        TurnEndReason::HandsGone(words) => {
            Err(ToolTrouble::Hands(ExecutorError::new(HandsTrouble::Gone, words)))
        }
        TurnEndReason::ModelFailed(error) => Err(ToolTrouble::Said(format!("the helper failed: {error}"))),
        TurnEndReason::Refused(words) => Err(ToolTrouble::Said(format!("the helper declined: {words}"))),
        _ => Err(ToolTrouble::Said("the helper gave no answer".to_owned())),
    }
}

/// Lets what a child does be seen, and keeps what it says to itself.
struct CallEventsOnly<'a>(&'a dyn AgentEventSink);

impl AgentEventSink for CallEventsOnly<'_> {
    fn tell(&self, body: EventBody) {
        if matches!(
            body,
            EventBody::ToolProposed { .. } | EventBody::ToolDecided { .. } | EventBody::ToolFinished { .. }
        ) {
            self.0.tell(body);
        }
    }
}
