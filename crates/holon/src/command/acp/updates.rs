//! Events of a thread as updates of a session.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::threads::{StreamEvent, own_words};

/// Translates the events of one thread.
pub(super) struct SessionUpdates {
    /// The folder, for absolute paths.
    folder: String,
    /// Whether former turns are told again.
    past: bool,
    /// The turn or the run that calls belong to.
    scope: String,
    /// Calls that were told already, by their names there.
    told: HashMap<String, Value>,
    /// The last call that wrote a path in this turn.
    pub(super) writers: HashMap<String, String>,
    /// What waits for a person.
    pub(super) interrupt: Option<Value>,
    /// Code and words of the error that ended the turn.
    pub(super) error: Option<(String, String)>,
}

impl SessionUpdates {
    pub(super) fn new(folder: &str, past: bool) -> Self {
        Self {
            folder: folder.to_owned(),
            past,
            scope: "turn-0".to_owned(),
            told: HashMap::new(),
            writers: HashMap::new(),
            interrupt: None,
            error: None,
        }
    }

    /// For the events of a run.
    pub(super) fn of_run(folder: &str, run: &str) -> Self {
        Self { scope: run.to_owned(), ..Self::new(folder, false) }
    }

    /// The name of a call in the whole session.
    pub(super) fn call(&self, call: &str) -> String {
        format!("{}-{call}", self.scope)
    }

    /// What an event is for the editor.
    pub(super) fn of(&mut self, event: &StreamEvent) -> Vec<Value> {
        let data = &event.data;
        match event.name.as_str() {
            "turn" => self.turn(data),
            "message" if data["restart"] == true => {
                vec![words("agent_message_chunk", "\n\n(the connection broke; the answer starts again)\n\n")]
            }
            "message" => vec![words("agent_message_chunk", text(&data["text"]))],
            "reasoning" => vec![words("agent_thought_chunk", text(&data["text"]))],
            "tool_start" => vec![self.started(data)],
            // Told as refused already, with the reason.
            "tool_end" if data["denied"] == true => Vec::new(),
            "tool_end" => vec![self.ended(data)],
            "graph" => plan(data).into_iter().collect(),
            "title" => vec![json!({"sessionUpdate": "session_info_update", "title": data["title"]})],
            "note" if text(&data["kind"]) == "warning" => {
                vec![words("agent_thought_chunk", &format!("{}\n", text(&data["text"])))]
            }
            "interrupt" => {
                self.interrupt = Some(data.clone());
                Vec::new()
            }
            "error" => {
                let code = text(&data["code"]);
                let message = own_words(code, text(&data["message"]));
                self.error = Some((code.to_owned(), message.to_owned()));
                // What the agent could not do is for the person to read; what ended the session's turn is its answer.
                let shown = self.past
                    || matches!(code, "plan_mode" | "max_iterations" | "refused" | "limit" | "stopped");
                shown.then(|| words("agent_message_chunk", &format!("\n\n{message}\n"))).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn turn(&mut self, data: &Value) -> Vec<Value> {
        (self.interrupt, self.error) = (None, None);
        if let Some(turn) = data["turn"].as_u64() {
            self.scope = format!("turn-{turn}");
        }
        if data["resumed"] != true {
            self.writers.clear();
        }
        let said = match data["message"].as_str() {
            Some(message) => message.to_owned(),
            None => {
                let answers = data["answers"].as_array().into_iter().flatten();
                answers.map(text).collect::<Vec<_>>().join("\n")
            }
        };
        if self.past && !said.is_empty() {
            return vec![words("user_message_chunk", &said)];
        }
        Vec::new()
    }

    fn started(&mut self, data: &Value) -> Value {
        let id = self.call(text(&data["call"]));
        let (tool, summary) = (text(&data["tool"]), text(&data["summary"]));
        let status = match text(&data["decision"]) {
            "deny" => "failed",
            "ask" => "pending",
            _ => "in_progress",
        };
        let mut update = json!({"toolCallId": id, "status": status});
        if status == "failed" {
            update["content"] = json!([content(text(&data["reason"]))]);
        }
        if self.told.contains_key(&id) {
            update["sessionUpdate"] = "tool_call_update".into();
            return update;
        }
        update["sessionUpdate"] = "tool_call".into();
        update["title"] = if summary.is_empty() { tool.into() } else { format!("{tool}: {summary}").into() };
        update["kind"] = kind(tool, text(&data["class"])).into();
        if is_file_tool(tool) && !summary.is_empty() {
            let path = Path::new(&self.folder).join(summary.trim_start_matches("/holon/workspace/"));
            update["locations"] = json!([{"path": path}]);
            if text(&data["class"]) == "write" {
                let inside = summary.trim_start_matches("/holon/workspace/").to_owned();
                self.writers.insert(inside, id.clone());
            }
        }
        self.told.insert(id, data["tool"].clone());
        update
    }

    fn ended(&self, data: &Value) -> Value {
        let ok = data["ok"] == true && data["exit_code"].as_i64().unwrap_or(0) == 0;
        let output = match text(&data["output"]) {
            "" => text(&data["summary"]).to_owned(),
            output => whole(output, data),
        };
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": self.call(text(&data["call"])),
            "status": if ok { "completed" } else { "failed" }});
        if !output.is_empty() {
            update["content"] = json!([content(&output)]);
        }
        if let Some(code) = data["exit_code"].as_i64() {
            update["rawOutput"] = json!({"exitCode": code, "durationMs": data["duration_ms"]});
        }
        update
    }
}

/// An output with its end, and a mark for what is left out between them.
fn whole(output: &str, data: &Value) -> String {
    match data["output_end"].as_str() {
        Some(end) => format!("{output}\n[… {} bytes left out …]\n{end}", data["output_left_out"]),
        None => output.to_owned(),
    }
}

/// Some words of a kind.
pub(super) fn words(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

fn content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

fn plan(data: &Value) -> Option<Value> {
    let todos = data["todos"].as_array()?;
    let entries = todos.iter().map(|todo| {
        let status = match text(&todo["status"]) {
            "done" => "completed",
            "doing" => "in_progress",
            _ => "pending",
        };
        json!({"content": todo["text"], "priority": "medium", "status": status})
    });
    Some(json!({"sessionUpdate": "plan", "entries": entries.collect::<Vec<_>>()}))
}

/// The protocol's word for what a call does.
pub(super) fn kind(tool: &str, class: &str) -> &'static str {
    match (tool, class) {
        ("write_todos", _) => "think",
        (_, "read") => "read",
        (_, "search") => "search",
        (_, "write") => "edit",
        (_, "exec") => "execute",
        _ => "other",
    }
}

fn is_file_tool(tool: &str) -> bool {
    matches!(tool, "read_file" | "write_file" | "edit_file")
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_once_and_then_updated() {
        let mut updates = SessionUpdates::new("/w", false);
        let mut tell =
            |name: &str, data: Value| updates.of(&StreamEvent { id: None, name: name.into(), data });
        assert!(tell("turn", json!({"turn": 2, "mode": "build", "message": "go"})).is_empty());
        let start = json!({"call": "1-1", "tool": "edit_file", "class": "write", "summary": "a.txt", "decision": "ask"});
        let expect = json!({"toolCallId": "turn-2-1-1", "status": "pending", "sessionUpdate": "tool_call",
            "title": "edit_file: a.txt", "kind": "edit", "locations": [{"path": "/w/a.txt"}]});
        assert_eq!(tell("tool_start", start.clone()), [expect]);
        let mut allowed = start;
        allowed["decision"] = "allow".into();
        let again =
            json!({"toolCallId": "turn-2-1-1", "status": "in_progress", "sessionUpdate": "tool_call_update"});
        assert_eq!(tell("tool_start", allowed), [again]);
        let end = json!({"call": "1-1", "tool": "edit_file", "ok": true, "summary": "done", "output": ""});
        assert_eq!(tell("tool_end", end)[0]["status"], "completed");
    }

    #[test]
    fn the_past_is_told_with_what_the_person_said() {
        let mut updates = SessionUpdates::new("/w", true);
        let turn =
            StreamEvent { id: Some(1), name: "turn".into(), data: json!({"turn": 1, "message": "hello"}) };
        assert_eq!(updates.of(&turn), [words("user_message_chunk", "hello")]);
    }
}
