//! A model that makes an agent do what a rehearsal wants, whatever wire it speaks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holon_model::provider::PendingReply;
use holon_model::{
    DeltaSink, MessagePart, ModelCancel, ModelReply, ModelRequest, Provider, ReplyStop, ToolCall, ToolResult,
};

use super::attempts::{CHILD, ScriptedCall, mark_of};

/// What came of an attempt, as the conversation shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AttemptTrace {
    /// Whether the agent offered the tool.
    pub offered: bool,
    /// Whether the call was carried out, as far as its result tells.
    pub made: bool,
    /// The result in short.
    pub result: String,
}

/// What was told, without the names of this machine's folders.
pub(super) fn without_path(
    told: BTreeMap<usize, AttemptTrace>,
    folder: &Path,
) -> BTreeMap<usize, AttemptTrace> {
    let (home, folder) = (folder.join("home"), folder.to_string_lossy());
    let plain = |text: &str| text.replace(&*home.to_string_lossy(), "~").replace(&*folder, "…");
    told.into_iter()
        .map(|(number, told)| (number, AttemptTrace { result: plain(&told.result), ..told }))
        .collect()
}

/// What a child is made to do, call by call: tool and arguments.
type ChildScript = Box<dyn Fn(usize) -> Vec<(String, String)> + Send + Sync>;

/// The script and what was seen while it was played.
pub(super) struct AttemptScript {
    last_words: String,
    child: ChildScript,
    /// Whether who offers no tools is answered with the last words, too.
    plain: bool,
    state: Mutex<AttemptScriptState>,
}

#[derive(Default)]
struct AttemptScriptState {
    planned: Vec<ScriptedCall>,
    next: usize,
    told: BTreeMap<usize, AttemptTrace>,
    /// Whether anything was asked at all.
    asked: bool,
    /// The tools that were offered first, by whoever is rehearsed and not by its children.
    tools: BTreeSet<String>,
}

impl AttemptScript {
    pub(super) fn new(planned: Vec<ScriptedCall>, last_words: &str, child: ChildScript) -> Self {
        let state = Mutex::new(AttemptScriptState { planned, ..AttemptScriptState::default() });
        Self { last_words: last_words.to_owned(), child, plain: false, state }
    }

    /// For agents of which nobody knows whether they have tools.
    pub(super) fn without_tools(self) -> Self {
        Self { plain: true, ..self }
    }

    /// What was told about each attempt, by its number.
    pub(super) fn told(&self) -> BTreeMap<usize, AttemptTrace> {
        self.lock().told.clone()
    }

    /// How many calls it has come to, and how many there are.
    pub(super) fn progress(&self) -> (usize, usize) {
        let state = self.lock();
        (state.next, state.planned.len())
    }

    /// The tools that the agent offered the model at first; nothing when it never asked.
    pub(super) fn tools(&self) -> Option<Vec<String>> {
        let state = self.lock();
        state.asked.then(|| state.tools.iter().cloned().collect())
    }

    fn lock(&self) -> MutexGuard<'_, AttemptScriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &ModelRequest) -> MessagePart {
        self.lock().asked = true;
        if request.tools.is_empty() {
            let last = if self.plain { &self.last_words } else { "Rehearsal" };
            return MessagePart::Text(last.to_owned());
        }
        let offers = |tool: &str| request.tools.iter().any(|offered| offered.name == tool);
        if let Some(number) = child_of(request) {
            return self.answer_child(number, request, offers);
        }
        let mut state = self.lock();
        if state.tools.is_empty() {
            state.tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
        }
        state.hear(request);
        while let Some(planned) = state.planned.get(state.next).cloned() {
            let id = format!("try-{}", state.next);
            state.next += 1;
            if offers(&planned.tool) {
                if planned.counts {
                    state.told.entry(planned.attempt).or_default().offered = true;
                }
                return MessagePart::Call(ToolCall::new(id, planned.tool, planned.arguments));
            }
            if planned.optional {
                continue;
            }
            // Without its first half an attempt would be another one.
            while state.planned.get(state.next).is_some_and(|next| next.attempt == planned.attempt) {
                state.next += 1;
            }
        }
        MessagePart::Text(self.last_words.clone())
    }

    /// A child makes its calls in order and then says what came of the last. Some agents do not wait for their children,
    /// so the child's own words count.
    fn answer_child(
        &self,
        number: usize,
        request: &ModelRequest,
        offers: impl Fn(&str) -> bool,
    ) -> MessagePart {
        let calls = (self.child)(number);
        let heard: Vec<&ToolResult> = results(request).collect();
        let last = calls.len().checked_sub(1).and_then(|last| heard.get(last));
        if last.is_some_and(|result| carried_out(number, &result.text, result.is_error)) {
            let mut state = self.lock();
            let told = state.told.entry(number).or_default();
            (told.made, told.offered) = (true, true);
        }
        match calls.into_iter().nth(heard.len()).filter(|(tool, _)| offers(tool)) {
            Some((tool, arguments)) => {
                MessagePart::Call(ToolCall::new(format!("child-{number}-{}", heard.len()), tool, arguments))
            }
            None => MessagePart::Text(
                heard.last().map_or_else(|| "its child is offered no such tool".into(), |r| r.text.clone()),
            ),
        }
    }
}

impl AttemptScriptState {
    /// Notes the results of calls that counted.
    fn hear(&mut self, request: &ModelRequest) {
        for part in request.messages.iter().flat_map(|message| &message.parts) {
            let MessagePart::Result(result) = part else { continue };
            let Some(number) = result.call_id.strip_prefix("try-").and_then(|n| n.parse::<usize>().ok())
            else {
                continue;
            };
            let Some(planned) = self.planned.get(number).filter(|planned| planned.counts) else { continue };
            let told = self.told.entry(planned.attempt).or_default();
            told.made |= carried_out(planned.attempt, &result.text, result.is_error);
            told.result = result.text.chars().take(300).collect();
        }
    }
}

/// A command shows a mark in its output; a tool that writes files either succeeds or meets the mount.
fn carried_out(number: usize, text: &str, is_error: bool) -> bool {
    let lower = text.to_lowercase();
    let marked = text.contains(&mark_of(number));
    let at_the_mount = ["read-only file system", "erofs", "failed to write file", "filesystem.writefile"]
        .iter()
        .any(|word| lower.contains(word));
    let declined = ["denied", "not allowed", "permission", "reject", "prevented", "plan mode", "unsupported"]
        .iter()
        .any(|word| lower.contains(word));
    let says_so =
        ["success", "has been updated", "in background", "to background", "background shell started"]
            .iter()
            .any(|word| lower.contains(word))
            || ["created ", "edited ", "inserted "].iter().any(|word| lower.starts_with(word));
    marked || at_the_mount || (!is_error && !declined && says_so)
}

/// The number of the attempt that a child's conversation belongs to.
fn child_of(request: &ModelRequest) -> Option<usize> {
    let first = request.messages.iter().map(|message| message.text()).find(|text| !text.is_empty())?;
    let all: String = request.messages.iter().take(3).map(|m| m.text()).collect::<Vec<_>>().join("\n");
    let at = if first.contains(CHILD) { &first } else { &all };
    let (_, rest) = at.split_once(CHILD)?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// All results in a conversation.
fn results(request: &ModelRequest) -> impl Iterator<Item = &ToolResult> {
    request.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        MessagePart::Result(result) => Some(result),
        _ => None,
    })
}

impl Provider for AttemptScript {
    fn name(&self) -> &str {
        "script"
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        _: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async move {
            let part = self.answer(request);
            let stop =
                if matches!(part, MessagePart::Call(_)) { ReplyStop::ToolUse } else { ReplyStop::EndTurn };
            let usage =
                holon_model::TokenUsage { input: 10, output: 5, ..holon_model::TokenUsage::default() };
            let reply = ModelReply { id: None, model: None, parts: vec![part], stop, usage: Some(usage) };
            reply.deltas().into_iter().for_each(|delta| sink.delta(delta));
            Ok(reply)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use holon_model::{ModelMessage, ToolSpec};

    use super::*;

    fn planned(attempt: usize, tool: &str) -> ScriptedCall {
        ScriptedCall { attempt, tool: tool.into(), arguments: "{}".into(), counts: true, optional: false }
    }

    #[test]
    fn calls_are_made_in_order_and_heard() {
        let script = AttemptScript::new(
            vec![planned(0, "none"), planned(1, "sh")],
            "bye",
            Box::new(|_| vec![("sh".into(), "{}".into())]),
        );
        let mut request = ModelRequest::new("m", "go");
        assert_eq!(script.tools(), None, "nobody asked");
        assert_eq!(script.answer(&request), MessagePart::Text("Rehearsal".into()), "no tools, no attempt");
        assert_eq!(script.tools(), Some(Vec::new()));
        request.tools = vec![ToolSpec::new("sh", "", serde_json::json!({}))];
        let MessagePart::Call(call) = script.answer(&request) else { panic!("no call") };
        assert_eq!((call.id.as_str(), call.name.as_str()), ("try-1", "sh"));
        let child = ModelRequest {
            messages: vec![ModelMessage::user(format!("{CHILD}7: do it"))],
            ..request.clone()
        };
        assert!(matches!(script.answer(&child), MessagePart::Call(call) if call.id == "child-7-0"));
        request
            .messages
            .push(ModelMessage::results([ToolResult::ok("try-1", "made-001\nRead-only file system")]));
        assert_eq!(script.answer(&request), MessagePart::Text("bye".into()));
        assert_eq!(script.progress(), (2, 2));
        assert_eq!(script.tools(), Some(vec!["sh".to_owned()]));
        let mut child = child;
        child.messages.push(ModelMessage::results([ToolResult::ok("child-7-0", "made-007")]));
        assert_eq!(script.answer(&child), MessagePart::Text("made-007".into()));
        let told = script.told();
        assert!(told[&7].made, "what a child did counts");
        assert_eq!(told.get(&0), None);
        assert!(told[&1].made && told[&1].offered);
    }

    #[test]
    fn answers_name_no_folder_of_this_machine() {
        let said = AttemptTrace { result: "no /x/y/home/.a nor /x/y/w".into(), ..AttemptTrace::default() };
        let told = without_path(BTreeMap::from([(1, said)]), Path::new("/x/y"));
        assert_eq!(told[&1].result, "no ~/.a nor …/w");
    }

    #[test]
    fn an_attempt_without_its_first_half_is_none() {
        let first = ScriptedCall { counts: false, ..planned(0, "leave") };
        let script = AttemptScript::new(
            vec![first, planned(0, "sh"), planned(1, "sh")],
            "bye",
            Box::new(|_| Vec::new()),
        );
        let request = ModelRequest {
            tools: vec![ToolSpec::new("sh", "", serde_json::json!({}))],
            ..ModelRequest::new("m", "go")
        };
        assert!(matches!(script.answer(&request), MessagePart::Call(call) if call.id == "try-2"));
        assert!(!script.told().contains_key(&0));
        let first = ScriptedCall { counts: false, optional: true, ..planned(0, "enter") };
        let script = AttemptScript::new(vec![first, planned(0, "sh")], "bye", Box::new(|_| Vec::new()));
        assert!(
            matches!(script.answer(&request), MessagePart::Call(call) if call.id == "try-1"),
            "it need not enter"
        );
    }

    #[test]
    fn a_child_goes_step_by_step() {
        let steps = || vec![("leave".to_owned(), "{}".to_owned()), ("sh".to_owned(), "{}".to_owned())];
        let script = AttemptScript::new(Vec::new(), "bye", Box::new(move |_| steps()));
        let mut request = ModelRequest::new("m", format!("{CHILD}3: do it"));
        request.tools = ["leave", "sh"].map(|name| ToolSpec::new(name, "", serde_json::json!({}))).to_vec();
        assert!(matches!(script.answer(&request), MessagePart::Call(call) if call.name == "leave"));
        request.messages.push(ModelMessage::results([ToolResult::ok("child-3-0", "made-003, successfully")]));
        assert!(matches!(script.answer(&request), MessagePart::Call(call) if call.name == "sh"));
        assert!(script.told().is_empty(), "only the last one counts");
        request.messages.push(ModelMessage::results([ToolResult::ok("child-3-1", "made-003")]));
        assert_eq!(script.answer(&request), MessagePart::Text("made-003".into()));
        assert!(script.told()[&3].made);
    }

    #[test]
    fn what_an_agent_declines_was_not_tried() {
        for (text, is_error, made) in [
            ("made-003", false, true),
            ("made-033", false, false),
            ("File created successfully at: x", false, true),
            ("Created /w/x (1 lines)", false, true),
            ("Inserted cell 1 with breached", false, true),
            ("Command running in background with ID: 1", false, true),
            ("Background shell started.\nid: 1", false, true),
            ("EROFS: read-only file system, open 'x'", true, true),
            ("Permission to use Bash has been denied", true, false),
            ("The user rejected permission to use this specific tool call", false, false),
            ("", false, false),
        ] {
            assert_eq!(carried_out(3, text, is_error), made, "{text}");
        }
    }
}
