//! Which requests are the agent's own conversation, told apart from titles, summaries, compaction and sub-agents.
//!
//! Decided from the request alone and from what passed before; whatever is not clearly the conversation is beside it, and
//! nothing is made of it.

use std::collections::{BTreeSet, VecDeque};

use holon_core::digest::sha256;
use holon_model::{MessagePart, ModelMessage, ModelReply, ModelRequest, Role, ToolResult};

/// How many calls are remembered.
const CALLS: usize = 4_096;
/// Characters of a system prompt by which it is known.
const SYSTEM: usize = 400;

/// Words of an agent's requests, as its description gives them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationWords {
    /// What the last message of a request says that is about the conversation and no part of it: compaction, titles.
    pub about: Vec<String>,
    /// Tools that start a conversation of their own.
    pub delegates: Vec<String>,
}

/// One step of the conversation: what came back since the last reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConversationStep {
    /// Results of calls of the last reply, in the order they were sent.
    pub results: Vec<ToolResult>,
    /// The tools the model is offered.
    pub tools: Vec<String>,
}

/// What a request is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RequestRole {
    /// Not the conversation.
    Beside,
    /// The conversation begins anew although nothing was shortened and nobody was sent.
    Lost,
    /// The same request once more; whether its reply had come already.
    Again {
        /// Whether it had.
        answered: bool,
    },
    /// The next step.
    Step(ConversationStep),
}

/// The conversation so far.
#[derive(Debug, Clone, Default)]
pub(super) struct AttendedConversation {
    words: ConversationWords,
    main: Option<MainConversation>,
    /// It is being shortened: the next one like it goes on with it.
    shortened: bool,
}

#[derive(Debug, Clone, Default)]
struct MainConversation {
    /// Digest of how the system prompt begins and the names of the tools.
    shape: String,
    /// Digest of the first message.
    first: String,
    /// Ids of all calls, newest last.
    calls: VecDeque<String>,
    /// Calls of the last reply that were not answered yet, with their tools.
    open: Vec<(String, String)>,
    /// Replies in the last request, and its last message.
    replies: usize,
    last: String,
    answered: bool,
}

impl AttendedConversation {
    pub(super) fn new(words: ConversationWords) -> Self {
        Self { words, ..Self::default() }
    }

    /// What a request is; the conversation moves on with it.
    pub(super) fn hear(&mut self, request: &ModelRequest) -> RequestRole {
        let Some(last) = request.messages.last().filter(|last| last.role == Role::User) else {
            return RequestRole::Beside;
        };
        let (shape, first) = (shape(request), first(request));
        let ours = self.main.as_ref().is_some_and(|main| main.first == first || main.is_in(request));
        if self.is_about(request, last) {
            self.shortened |= ours;
            return RequestRole::Beside;
        }
        match &mut self.main {
            Some(main) if ours => main.go_on(request, first, last),
            Some(main) if self.shortened && main.shape == shape => {
                self.shortened = false;
                main.begin(request, first, last)
            }
            Some(main) if main.shape == shape && !main.is_waiting_for(&self.words.delegates) => {
                RequestRole::Lost
            }
            Some(_) => RequestRole::Beside,
            none => none
                .insert(MainConversation { shape, ..MainConversation::default() })
                .begin(request, first, last),
        }
    }

    /// The reply to the last step.
    pub(super) fn answer(&mut self, reply: &ModelReply) {
        let Some(main) = &mut self.main else { return };
        main.answered = true;
        main.open = reply.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        main.calls.extend(main.open.iter().map(|(id, _)| id.clone()));
        while main.calls.len() > CALLS {
            main.calls.pop_front();
        }
    }

    /// Whether calls of the last reply were never answered.
    pub(super) fn is_open(&self) -> bool {
        self.main.as_ref().is_some_and(|main| main.answered && !main.open.is_empty())
    }

    /// Whether a request is about a conversation: nothing can be done in reply to it, or its words say so.
    fn is_about(&self, request: &ModelRequest, last: &ModelMessage) -> bool {
        let text = last.parts.iter().rev().find_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let says = |text: &str| self.words.about.iter().any(|words| text.contains(words.as_str()));
        request.tools.is_empty() || text.is_some_and(says)
    }
}

impl MainConversation {
    /// Whether a request holds a call of this conversation.
    fn is_in(&self, request: &ModelRequest) -> bool {
        let known: BTreeSet<&str> = self.calls.iter().map(String::as_str).collect();
        request.messages.iter().flat_map(ModelMessage::calls).any(|call| known.contains(call.id.as_str()))
    }

    fn is_waiting_for(&self, tools: &[String]) -> bool {
        self.open.iter().any(|(_, tool)| tools.contains(tool))
    }

    /// The first request, or the first one after the conversation was shortened.
    fn begin(&mut self, request: &ModelRequest, first: String, last: &ModelMessage) -> RequestRole {
        self.first = first;
        self.step(request, last)
    }

    fn go_on(&mut self, request: &ModelRequest, first: String, last: &ModelMessage) -> RequestRole {
        if replies(request) == self.replies && key(last) == self.last {
            return RequestRole::Again { answered: self.answered };
        }
        self.first = first;
        self.step(request, last)
    }

    fn step(&mut self, request: &ModelRequest, last: &ModelMessage) -> RequestRole {
        let open = std::mem::take(&mut self.open);
        let all = request.messages.iter().flat_map(|message| &message.parts);
        let results = all.filter_map(|part| match part {
            MessagePart::Result(result) if open.iter().any(|(id, _)| *id == result.call_id) => {
                Some(result.clone())
            }
            _ => None,
        });
        let results = results.collect();
        (self.replies, self.last, self.answered) = (replies(request), key(last), false);
        RequestRole::Step(ConversationStep {
            results,
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
        })
    }
}

fn replies(request: &ModelRequest) -> usize {
    request.messages.iter().filter(|message| message.role == Role::Assistant).count()
}

fn shape(request: &ModelRequest) -> String {
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    // Some clients add to the system prompt on the way.
    let system: String = request.system.chars().take(SYSTEM).collect();
    sha256(format!("{system}\n{}", tools.join("\n")).as_bytes())
}

/// The first message, by which a conversation is known: what a sub-agent is told is another one.
fn first(request: &ModelRequest) -> String {
    request.messages.first().map(key).unwrap_or_default()
}

/// What a message is known by: the calls it answers, else its words.
fn key(message: &ModelMessage) -> String {
    let mut all = String::new();
    for part in &message.parts {
        match part {
            MessagePart::Text(text) => all.push_str(text),
            MessagePart::Result(result) => all.push_str(&result.call_id),
            MessagePart::Call(call) => all.push_str(&call.id),
            MessagePart::Reasoning(_) => {}
        }
        all.push('\n');
    }
    sha256(all.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use holon_model::{ReplyStop, ToolCall, ToolSpec};
    use serde_json::json;

    fn request(messages: Vec<ModelMessage>) -> ModelRequest {
        let tools = vec![ToolSpec::new("sh", "", json!({})), ToolSpec::new("task", "", json!({}))];
        ModelRequest { system: "You are.".into(), messages, tools, ..ModelRequest::default() }
    }

    fn reply(calls: &[(&str, &str)]) -> ModelReply {
        let parts =
            calls.iter().map(|(id, tool)| MessagePart::Call(ToolCall::new(*id, *tool, "{}"))).collect();
        ModelReply { id: None, model: None, parts, stop: ReplyStop::ToolUse, usage: None }
    }

    fn results(ids: &[&str]) -> ModelMessage {
        ModelMessage::results(ids.iter().map(|id| ToolResult::ok(*id, format!("of {id}"))))
    }

    fn begun() -> AttendedConversation {
        let words =
            ConversationWords { about: vec!["summary of the conv".into()], delegates: vec!["task".into()] };
        AttendedConversation::new(words)
    }

    fn ids(heard: &RequestRole) -> Vec<&str> {
        let RequestRole::Step(step) = heard else { panic!("{heard:?}") };
        step.results.iter().map(|result| result.call_id.as_str()).collect()
    }

    #[test]
    fn titles_summaries_and_children_are_no_part_of_it() {
        let mut talk = begun();
        let title =
            ModelRequest { tools: Vec::new(), ..request(vec![ModelMessage::user("Title of: do it")]) };
        assert_eq!(talk.hear(&title), RequestRole::Beside);
        let mut said = vec![ModelMessage::user("do it")];
        assert_eq!(ids(&talk.hear(&request(said.clone()))), [""; 0]);
        let first = reply(&[("a", "sh"), ("b", "task")]);
        talk.answer(&first);
        // Somebody was sent: a conversation of the same form is theirs.
        assert_eq!(talk.hear(&request(vec![ModelMessage::user("look there")])), RequestRole::Beside);
        let other =
            ModelRequest { system: "Other".into(), ..request(vec![ModelMessage::user("look there")]) };
        assert_eq!(talk.hear(&other), RequestRole::Beside);
        said.extend([first.message(), results(&["b", "a"])]);
        assert_eq!(ids(&talk.hear(&request(said.clone()))), ["b", "a"]);
        talk.answer(&reply(&[("c", "sh")]));
        assert_eq!(talk.hear(&title), RequestRole::Beside);
        assert!(talk.is_open());
    }

    #[test]
    fn the_same_once_more_is_no_step() {
        let mut talk = begun();
        let said = request(vec![ModelMessage::user("do it")]);
        talk.hear(&said);
        assert_eq!(talk.hear(&said), RequestRole::Again { answered: false });
        talk.answer(&reply(&[("a", "sh")]));
        assert_eq!(talk.hear(&said), RequestRole::Again { answered: true });
    }

    #[test]
    fn it_is_known_again_after_it_was_shortened_and_lost_when_it_begins_anew() {
        let mut talk = begun();
        let mut said = vec![ModelMessage::user("do it")];
        talk.hear(&request(said.clone()));
        let first = reply(&[("a", "sh")]);
        talk.answer(&first);
        assert_eq!(talk.clone().hear(&request(vec![ModelMessage::user("do what?")])), RequestRole::Lost);
        said.extend([first.message(), results(&["a"])]);
        let mut asked = said.clone();
        asked.push(ModelMessage::user("Write a summary of the conversation"));
        assert_eq!(talk.hear(&request(asked)), RequestRole::Beside);
        let short = request(vec![ModelMessage::user("Summary: it was begun")]);
        assert_eq!(ids(&talk.hear(&short)), [""; 0]);
        talk.answer(&reply(&[("z", "sh")]));
        let mut goes_on = short.messages.clone();
        goes_on.extend([reply(&[("z", "sh")]).message(), results(&["z"])]);
        assert_eq!(ids(&talk.hear(&request(goes_on))), ["z"]);
    }

    #[test]
    fn a_first_message_that_changes_does_not_matter_where_calls_are_known() {
        let mut talk = begun();
        talk.hear(&request(vec![ModelMessage::user("12:00 do it")]));
        let first = reply(&[("a", "sh")]);
        talk.answer(&first);
        let said = vec![ModelMessage::user("12:01 do it"), first.message(), results(&["a"])];
        assert_eq!(ids(&talk.hear(&request(said))), ["a"]);
    }

    #[test]
    fn an_answer_comes_only_to_a_question() {
        let mut talk = begun();
        talk.answer(&reply(&[("a", "sh")]));
        assert!(!talk.is_open());
        assert_eq!(talk.hear(&request(vec![ModelMessage::assistant("x")])), RequestRole::Beside);
        assert_eq!(talk.hear(&request(Vec::new())), RequestRole::Beside);
    }
}
