//! One prompt of the editor, to its stop reason.

use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use super::ApplyTiming;
use super::changes;
use super::person::{self, EditorReply};
use super::prompt::EditorPrompt;
use super::request_handler::AcpRequestHandler;
use super::session::EditorSession;
use super::updates::{SessionUpdates, text, words};
use super::wire::RpcRefusal;
use crate::threads::{ApiTrouble, EventStream};

/// Says it and follows the turn through all its questions; gives the stop reason.
pub(super) fn carry(
    desk: &AcpRequestHandler,
    open: &EditorSession,
    said: EditorPrompt,
) -> Result<&'static str, RpcRefusal> {
    let mut files = Vec::new();
    for (name, bytes) in &said.files {
        files.push(desk.api.upload(name, bytes)?);
    }
    let mut updates = SessionUpdates::new(&open.folder, false);
    let mut events = match waiting(desk, open)? {
        Some((interrupt, questions)) => {
            let answers = person::from_words(&said.text, questions);
            desk.api.resume(&open.id, &interrupt, &answers, &[])?
        }
        None => desk.api.say(&open.id, &said.text, &open.mode(), &files)?,
    };
    loop {
        follow(desk, open, events, &mut updates)?;
        let Some(interrupt) = updates.interrupt.take().filter(|_| updates.error.is_none()) else { break };
        let asked = match open.is_cancelled() {
            true => EditorReply::Stop,
            false => person::ask(&desk.wire, open, &interrupt, &|call| updates.call(call)),
        };
        match asked {
            EditorReply::Answered(given) => {
                let id = text(&interrupt["id"]);
                events = desk.api.resume(&open.id, id, &given.answers, &given.decisions)?;
            }
            EditorReply::Later(question) => {
                desk.wire.update(&open.id, words("agent_message_chunk", &question));
                return Ok("end_turn");
            }
            EditorReply::Stop => {
                desk.api.cancel(&open.id)?;
                return Ok("cancelled");
            }
        }
    }
    show_changes(desk, open, &updates);
    ended(&updates)
}

/// A question that waits for words, and how many it is made of.
fn waiting(desk: &AcpRequestHandler, open: &EditorSession) -> Result<Option<(String, usize)>, ApiTrouble> {
    let thread = desk.api.head(&open.id)?;
    let interrupt = &thread["interrupt"];
    let questions = interrupt["questions"].as_array().map_or(0, Vec::len);
    if text(&thread["state"]) != "waiting" || questions == 0 {
        return Ok(None);
    }
    Ok(Some((text(&interrupt["id"]).to_owned(), questions)))
}

fn follow(
    desk: &AcpRequestHandler,
    open: &EditorSession,
    events: EventStream<UnixStream>,
    updates: &mut SessionUpdates,
) -> Result<(), ApiTrouble> {
    for event in events {
        let event = event.map_err(|e| ApiTrouble::gone(&e))?;
        for update in updates.of(&event) {
            desk.wire.update(&open.id, update);
        }
    }
    Ok(())
}

fn ended(updates: &SessionUpdates) -> Result<&'static str, RpcRefusal> {
    let Some((code, message)) = &updates.error else { return Ok("end_turn") };
    match code.as_str() {
        "cancelled" => Ok("cancelled"),
        "plan_mode" | "stopped" => Ok("end_turn"),
        "max_iterations" | "limit" => Ok("max_turn_requests"),
        "refused" => Ok("refusal"),
        _ => Err(RpcRefusal::internal(message.clone())),
    }
}

/// Shows what the turn changed beside the calls that did it, and asks whether it shall be applied.
fn show_changes(desk: &AcpRequestHandler, open: &EditorSession, updates: &SessionUpdates) {
    let Ok(diff) = desk.api.diff(&open.id) else { return };
    let now = changes::of(text(&diff["patch"]), Path::new(&open.folder));
    let fresh: Vec<_> = {
        let mut kept = open.kept();
        let new = now.iter().filter(|(path, change)| kept.shown.get(*path) != Some(*change));
        let fresh = new.map(|(path, change)| (path.clone(), change.clone())).collect();
        kept.shown = now;
        fresh
    };
    let files: Vec<String> =
        diff["files"].as_array().into_iter().flatten().map(|file| text(&file["path"]).to_owned()).collect();
    for (path, change) in &fresh {
        let update = match updates.writers.get(path) {
            Some(call) => {
                let content = changes::content(&Path::new(&open.folder).join(path), change);
                json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "content": content})
            }
            None => changes::shown(&updates.call(&format!("changed-{path}")), path, change, &open.folder),
        };
        desk.wire.update(&open.id, update);
    }
    let changed = !fresh.is_empty() || (!files.is_empty() && !updates.writers.is_empty());
    let asks = desk.apply == ApplyTiming::Ask && changed && !open.is_cancelled() && updates.error.is_none();
    if !asks {
        return;
    }
    let id = updates.call("apply");
    if person::may_apply(&desk.wire, open, &id, &files) {
        apply(desk, open, false);
    } else {
        let later = "\n\nNothing of it is in the folder yet: /apply brings it there.\n";
        desk.wire.update(&open.id, words("agent_message_chunk", later));
    }
}

/// Applies, and says what came of it.
pub(super) fn apply(desk: &AcpRequestHandler, open: &EditorSession, allow_sensitive: bool) {
    let said = match desk.api.apply(&open.id, allow_sensitive) {
        Ok(applied) => {
            open.kept().shown.clear();
            let files: Vec<&str> = applied["files"].as_array().into_iter().flatten().map(text).collect();
            if files.is_empty() {
                "There is nothing to apply.".to_owned()
            } else {
                format!("Applied: {}", files.join(", "))
            }
        }
        Err(trouble) => {
            let hint = match trouble.code.as_str() {
                "sensitive" => "\n`/apply --allow-sensitive` applies them, too.".to_owned(),
                _ => trouble.hint.map(|hint| format!("\n{hint}")).unwrap_or_default(),
            };
            let paths: String = trouble.paths.iter().map(|path| format!("\n- {path}")).collect();
            format!("{}{paths}{hint}", trouble.message)
        }
    };
    desk.wire.update(&open.id, words("agent_message_chunk", &format!("\n\n{said}\n")));
}

/// A command of the prompt; `false` when it is none.
pub(super) fn command(
    desk: &AcpRequestHandler,
    open: &EditorSession,
    text_said: &str,
) -> Result<bool, RpcRefusal> {
    let say = |words_said: &str| desk.wire.update(&open.id, words("agent_message_chunk", words_said));
    match text_said.split_whitespace().collect::<Vec<_>>()[..] {
        ["/apply"] => apply(desk, open, false),
        ["/apply", "--allow-sensitive"] => apply(desk, open, true),
        ["/diff"] => {
            let diff = desk.api.diff(&open.id)?;
            match text(&diff["patch"]) {
                "" => say("Nothing is changed."),
                patch => say(&format!("~~~~diff\n{}\n~~~~\n", patch.trim_end())),
            }
        }
        ["/undo"] => {
            let undone: Value = desk.api.undo(&open.id, None)?;
            let turns: Vec<String> =
                undone["turns"].as_array().into_iter().flatten().map(Value::to_string).collect();
            open.kept().shown.clear();
            say(&format!("Taken back: turn {}", turns.join(", ")));
        }
        ["/tools", name, verdict @ ("allow" | "ask" | "deny" | "-")] => {
            say(&tools(desk, open, name, verdict)?)
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Changes what a tool may do in this session, and says what holds now.
fn tools(
    desk: &AcpRequestHandler,
    open: &EditorSession,
    name: &str,
    verdict: &str,
) -> Result<String, RpcRefusal> {
    let thread = desk.api.head(&open.id)?;
    let mut table = thread["tools"].as_object().cloned().unwrap_or_default();
    match verdict {
        "-" => {
            table.remove(name);
        }
        verdict => {
            table.insert(name.to_owned(), verdict.into());
        }
    }
    open.kept().allowed.remove(name);
    let set = desk.api.set_tools(&open.id, &Value::Object(table))?;
    let rows: Vec<String> = (set["tools"].as_object().into_iter().flatten())
        .map(|(name, verdict)| format!("{name}: {}", text(verdict)))
        .collect();
    Ok(if rows.is_empty() { "Every tool as the mode says.".to_owned() } else { rows.join("\n") })
}
