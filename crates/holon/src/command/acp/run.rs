//! A prompt in a mode that is no chat: a run of its own, told as it goes, and what it hands over.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::changes;
use super::flow;
use super::prompt::EditorPrompt;
use super::request_handler::AcpRequestHandler;
use super::session::EditorSession;
use super::updates::{SessionUpdates, text, words};
use super::wire::RpcRefusal;
use crate::threads::{ApiTrouble, StreamEvent};

/// The most that is shown of one artifact.
const MOST: usize = 64 << 10;
/// Artifacts that are shown as they are, in this order.
const TEXTS: [&str; 4] = ["plan.md", "ethics.md", "debug.md", "summary.md"];

/// Starts the run and follows it to its end; gives the stop reason.
pub(super) fn carry(
    desk: &AcpRequestHandler,
    open: &EditorSession,
    mode: &str,
    said: &EditorPrompt,
) -> Result<&'static str, RpcRefusal> {
    if !said.files.is_empty() {
        return Err(RpcRefusal::params(format!(
            "long texts and files that are no text cannot come along in {mode} mode: name files of the folder instead"
        )));
    }
    let id = desk.api.start_run(&open.folder, &said.text, mode, desk.model())?;
    open.set_run(Some(&id));
    let told = follow(desk, open, &id);
    open.set_run(None);
    told?;
    let run = desk.api.run(&id)?;
    let updates = SessionUpdates::of_run(&open.folder, &id);
    hand_over(desk, open, &run, &updates);
    Ok(if open.is_cancelled() { "cancelled" } else { "end_turn" })
}

fn follow(desk: &AcpRequestHandler, open: &EditorSession, id: &str) -> Result<(), ApiTrouble> {
    if open.is_cancelled() {
        // It was stopped before anyone knew what to stop.
        let _ = desk.api.cancel_run(id);
    }
    let mut updates = SessionUpdates::of_run(&open.folder, id);
    let mut told = RunEventTranslator::default();
    for event in desk.api.follow_run(id)? {
        let event = event.map_err(|e| ApiTrouble::gone(&e))?;
        if let Some(update) = flow::step(&updates, &event.data) {
            desk.wire.update(&open.id, update);
            continue;
        }
        if text(&event.data["type"]) == "gate_reached" {
            flow::gate(desk, open, id, &event.data)?;
            continue;
        }
        let Some(event) = told.as_of_a_thread(&event.data) else { continue };
        for update in updates.of(&event) {
            desk.wire.update(&open.id, update);
        }
    }
    Ok(())
}

/// Events of a run in the words of a thread's.
#[derive(Default)]
struct RunEventTranslator {
    /// What calls are about, until they end.
    calls: HashMap<String, Value>,
}

impl RunEventTranslator {
    fn as_of_a_thread(&mut self, body: &Value) -> Option<StreamEvent> {
        let note = |words: String| ("note", json!({"kind": "warning", "text": words}));
        let (name, data) = match text(&body["type"]) {
            "message_delta" => ("message", json!({"text": body["text"]})),
            "reasoning_delta" => ("reasoning", json!({"text": body["text"]})),
            "message_restarted" => ("message", json!({"text": "", "restart": true})),
            "tool_proposed" => {
                self.calls.insert(text(&body["call"]).to_owned(), body.clone());
                return None;
            }
            "tool_decided" => {
                let call = self.calls.get(text(&body["call"])).unwrap_or(&Value::Null);
                let data = json!({"call": body["call"], "tool": call["tool"], "class": call["class"],
                    "summary": call["summary"], "decision": body["verdict"], "reason": body["reason"]});
                ("tool_start", data)
            }
            "tool_finished" => {
                self.calls.remove(text(&body["call"]));
                ("tool_end", body.clone())
            }
            "todos_changed" => ("graph", json!({"todos": body["todos"]})),
            "check_ran" => {
                let code =
                    body["exit_code"].as_i64().map_or("no code".to_owned(), |code| format!("code {code}"));
                note(format!("The host ran `{}`: {code}", text(&body["command"])))
            }
            "artifact_rejected" => {
                let problems: Vec<&str> =
                    body["problems"].as_array().into_iter().flatten().map(text).collect();
                note(format!("{} was not accepted: {}", text(&body["path"]), problems.join("; ")))
            }
            "limit_hit" => note(format!("{} is used up: {}", text(&body["limit"]), text(&body["value"]))),
            "warning" => note(text(&body["message"]).to_owned()),
            _ => return None,
        };
        Some(StreamEvent { id: body["seq"].as_u64(), name: name.to_owned(), data })
    }
}

/// Shows what came of it: texts and findings as words, changes as differences, the rest by name.
fn hand_over(desk: &AcpRequestHandler, open: &EditorSession, run: &Value, updates: &SessionUpdates) {
    let say = |said: &str| desk.wire.update(&open.id, words("agent_message_chunk", said));
    let id = text(&run["id"]);
    let artifacts: Vec<&str> =
        run["artifacts"].as_array().into_iter().flatten().map(|artifact| text(&artifact["path"])).collect();
    let read = |name: &str| {
        let there = artifacts.contains(&name);
        there.then(|| desk.api.run_file(id, name).ok()).flatten().filter(|text| !text.trim().is_empty())
    };
    for name in TEXTS {
        if let Some(text) = read(name) {
            say(&format!("\n\n{}\n", cut(text.trim())));
        }
    }
    if let Some(found) = read("review.json").and_then(|text| serde_json::from_str(&text).ok()) {
        say(&findings(&found));
    }
    if let Some(patch) = read("diff.patch") {
        for (path, change) in changes::of(&patch, Path::new(&open.folder)) {
            desk.wire.update(&open.id, changes::shown(&updates.call(&path), &path, &change, &open.folder));
        }
        let brings = match text(&run["outcome"]) {
            "failure" => "and a failed run's changes are not brought there".to_owned(),
            _ => {
                format!("`holon runs apply {id}` brings it there, or says what a person has to look at first")
            }
        };
        say(&format!("\n\nNothing of it is in the folder yet: {brings}.\n"));
    }
    let error = &run["manifest"]["error"];
    if let Some(message) = error["message"].as_str() {
        let hint = error["hint"].as_str().map(|hint| format!("; {hint}")).unwrap_or_default();
        say(&format!("\n\n{message}{hint}\n"));
    }
    let outcome = text(&run["outcome"]);
    let handed: Vec<&str> = artifacts.into_iter().filter(|name| *name != "manifest.json").collect();
    let with = if handed.is_empty() { String::new() } else { format!(" with {}", handed.join(", ")) };
    say(&format!("\n\nRun {id} ended: {outcome}{with}.\n"));
}

/// Findings as a list, each with its place.
fn findings(review: &Value) -> String {
    let mut said = format!("\n\n**{}**\n", text(&review["verdict"]));
    for finding in review["findings"].as_array().into_iter().flatten() {
        let line = finding["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        let (path, severity) = (text(&finding["path"]), text(&finding["severity"]));
        said.push_str(&format!("\n- `{path}{line}` {severity}: **{}**\n", text(&finding["title"])));
        for line in text(&finding["body"]).lines() {
            said.push_str(&format!("  {line}\n"));
        }
    }
    said
}

fn cut(text: &str) -> &str {
    let end = (0..=text.len().min(MOST)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_run_is_told_as_a_thread_is() {
        let mut told = RunEventTranslator::default();
        let mut tell = |body: Value| told.as_of_a_thread(&body).map(|event| (event.name, event.data));
        let proposed = json!({"type": "tool_proposed", "call": "1-1", "tool": "grep", "class": "search", "summary": "x"});
        assert_eq!(tell(proposed), None);
        let (name, start) =
            tell(json!({"type": "tool_decided", "call": "1-1", "verdict": "allow", "reason": "r"})).unwrap();
        assert_eq!(
            (name.as_str(), &start["tool"], &start["decision"]),
            ("tool_start", &json!("grep"), &json!("allow"))
        );
        let (name, end) = tell(json!({"type": "tool_finished", "call": "1-1", "ok": true})).unwrap();
        assert_eq!((name.as_str(), &end["ok"]), ("tool_end", &json!(true)));
        let (name, said) = tell(json!({"type": "message_delta", "text": "hello"})).unwrap();
        assert_eq!((name.as_str(), &said["text"]), ("message", &json!("hello")));
        let rejected =
            json!({"type": "artifact_rejected", "path": "plan.md", "problems": ["no goal", "no steps"]});
        assert_eq!(tell(rejected).unwrap().1["text"], "plan.md was not accepted: no goal; no steps");
        assert_eq!(tell(json!({"type": "unheard_of"})), None);
    }

    #[test]
    fn findings_have_their_places() {
        let review = json!({"verdict": "block", "findings": [
            {"path": "a.rs", "line": 3, "severity": "high", "title": "Wrong", "body": "It is.\nReally."},
            {"path": "b.rs", "line": null, "severity": "nit", "title": "Odd", "body": ""}]});
        let said = findings(&review);
        assert!(said.contains("- `a.rs:3` high: **Wrong**\n  It is.\n  Really.\n"), "{said}");
        assert!(said.contains("- `b.rs` nit: **Odd**\n"), "{said}");
    }
}
