//! Has a child that can only look find something out, in a conversation of its own.

use holon_core::event::Body;
use holon_hands::{HandsError, Trouble as HandsTrouble};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::{Arguments, Described, Outcome, Running, Scene, Settings, Tool, Trouble};
use crate::agent::Agent;
use crate::conversation::Conversation;
use crate::ended::Reason;
use crate::prompt;
use crate::steward::{Evidence, Trusting};
use crate::turn::Turn;
use crate::watcher::Watcher;

/// Rounds a child has, within what its parent has left.
const ROUNDS: u64 = 15;

pub(super) struct Delegate;

#[derive(Deserialize)]
struct Wanted {
    #[serde(alias = "prompt", alias = "description")]
    task: String,
}

impl Tool for Delegate {
    fn name(&self) -> &str {
        "delegate"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema =
            json!({"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]});
        Described::new(
            "delegate",
            "A helper that only reads and searches finds something out; it knows nothing but the task.",
            schema,
        )
    }

    fn target<'a>(&self, arguments: &'a Arguments) -> Option<&'a str> {
        arguments.get("task").and_then(Value::as_str)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { task } = read(arguments)?;
            if task.trim().is_empty() {
                return Err(Trouble::Arguments("`task` is empty".to_owned()));
            }
            let parent = scene.agent;
            let mut settings = parent.settings.clone();
            settings.system = prompt::delegate().to_owned();
            (settings.required, settings.optional) = (Vec::new(), Vec::new());
            let watcher = CallsOnly(parent.watcher);
            let child = Agent {
                settings: &settings,
                watcher: &watcher,
                steward: &Trusting,
                person: None,
                servers: None,
                ..*parent
            };
            let mut conversation = Conversation::default();
            conversation.ask(&task);
            let mut turn = Turn::looking(&child, scene.budget, ROUNDS, format!("{}.", scene.call));
            let reason = turn.run(&mut conversation, None).await;
            report(reason, turn.text)
        })
    }
}

/// What the parent hears of how its child ended.
fn report(reason: Reason, text: String) -> Result<Outcome, Trouble> {
    match reason {
        Reason::Finished(_) | Reason::TextOnly if !text.trim().is_empty() => {
            Ok(Outcome::said(text.trim()).proving(Evidence::Helped))
        }
        Reason::Limit(limit) => {
            let words = if text.trim().is_empty() { "it found nothing yet" } else { text.trim() };
            Ok(Outcome::said(format!("[stopped: {} used up]\n{words}", limit.name())))
        }
        Reason::Cancelled => Err(Trouble::Cancelled),
        Reason::HandsGone(words) => Err(Trouble::Hands(HandsError::new(HandsTrouble::Gone, words))),
        Reason::ModelFailed(error) => Err(Trouble::Said(format!("the helper failed: {error}"))),
        Reason::Refused(words) => Err(Trouble::Said(format!("the helper declined: {words}"))),
        _ => Err(Trouble::Said("the helper gave no answer".to_owned())),
    }
}

/// Lets what a child does be seen, and keeps what it says to itself.
struct CallsOnly<'a>(&'a dyn Watcher);

impl Watcher for CallsOnly<'_> {
    fn tell(&self, body: Body) {
        if matches!(body, Body::ToolProposed { .. } | Body::ToolDecided { .. } | Body::ToolFinished { .. }) {
            self.0.tell(body);
        }
    }
}
