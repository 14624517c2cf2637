//! Where the editor's messages arrive: each method, and what it does.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ApplyTiming;
use super::modes::{self, SessionModes};
use super::prompt::{self, EditorPrompt};
use super::run;
use super::session::{EditorSession, EditorSessions, EditorTurnGuard};
use super::turn;
use super::updates::{self, SessionUpdates, text};
use super::wire::{EditorMessage, EditorWire, RpcRefusal, read};
use crate::threads::{ApiTrouble, ThreadsApi};

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;
/// A turn that only just begins cannot be stopped yet, so stopping is tried again.
const AGAIN: Duration = Duration::from_millis(20);
/// How long turns get to end when the editor has gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sessions in one page of a list.
const PAGE: usize = 50;

/// The agent as the editor sees it.
pub(super) struct AcpRequestHandler {
    pub(super) api: ThreadsApi,
    pub(super) wire: Arc<EditorWire>,
    pub(super) apply: ApplyTiming,
    model: Option<String>,
    modes: OnceLock<Arc<SessionModes>>,
    sessions: EditorSessions,
}

impl AcpRequestHandler {
    pub(super) fn new(
        api: ThreadsApi,
        wire: Arc<EditorWire>,
        model: Option<String>,
        apply: ApplyTiming,
    ) -> Self {
        Self { api, wire, apply, model, modes: OnceLock::new(), sessions: EditorSessions::default() }
    }

    /// The model of new sessions and of runs, if one is wanted.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn modes(&self) -> Arc<SessionModes> {
        Arc::clone(self.modes.get_or_init(|| Arc::new(SessionModes::of(&self.api))))
    }

    /// Takes a line of the editor.
    pub(super) fn take(desk: &Arc<Self>, line: &[u8]) {
        match read(line) {
            EditorMessage::Answer { id, result } => desk.wire.answered(id, result),
            EditorMessage::Wrong { id, refusal } => desk.wire.reply(&id, Err(refusal)),
            EditorMessage::Notice { method, params } if method == "session/cancel" => {
                if let Ok(open) = desk.sessions.named(&params) {
                    Self::stop(desk, &open);
                }
            }
            EditorMessage::Notice { .. } => {}
            EditorMessage::Request { id, method, params } if method == "session/prompt" => {
                // Begun before the next line is read, which may be the word to stop it.
                let (open, said, busy) = match desk.begin(&params) {
                    Ok(begun) => begun,
                    Err(refusal) => return desk.wire.reply(&id, Err(refusal)),
                };
                let desk = Arc::clone(desk);
                // A turn takes its time, in which the editor has other things to say.
                std::thread::spawn(move || {
                    let result = desk.prompt(&open, said);
                    drop(busy);
                    desk.wire.reply(&id, result);
                });
            }
            EditorMessage::Request { id, method, params } => {
                let result = desk.obey(&method, &params);
                let opened = result.is_ok()
                    && matches!(method.as_str(), "session/new" | "session/load" | "session/resume");
                let session = match &result {
                    Ok(result) => {
                        result["sessionId"].as_str().or(params["sessionId"].as_str()).map(str::to_owned)
                    }
                    Err(_) => None,
                };
                desk.wire.reply(&id, result);
                if let Some(session) = session.filter(|_| opened) {
                    desk.wire.update(&session, commands());
                    if let Some(words) = unused_servers(&params) {
                        desk.wire.update(&session, updates::words("agent_thought_chunk", &words));
                    }
                }
            }
        }
    }

    fn obey(&self, method: &str, params: &Value) -> Result<Value, RpcRefusal> {
        match method {
            "initialize" => Ok(introduction()),
            "authenticate" => Ok(json!({})),
            "session/new" => self.create(params),
            "session/load" => self.load(params),
            "session/resume" => {
                let open = self.reopen(params)?;
                Ok(json!({"modes": open.modes(), "configOptions": open.options()}))
            }
            "session/list" => self.list(params),
            "session/set_mode" => {
                let open = self.sessions.named(params)?;
                open.set_mode(text(&params["modeId"]))?;
                let update =
                    json!({"sessionUpdate": "config_option_update", "configOptions": open.options()});
                self.wire.update(&open.id, update);
                Ok(json!({}))
            }
            "session/set_config_option" => {
                let open = self.sessions.named(params)?;
                if text(&params["configId"]) != "mode" {
                    return Err(RpcRefusal::params("the only option is `mode`"));
                }
                open.set_mode(text(&params["value"]))?;
                let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": open.mode()});
                self.wire.update(&open.id, update);
                Ok(json!({"configOptions": open.options()}))
            }
            "session/close" => {
                let open = self.sessions.named(params)?;
                open.cancel();
                self.end_run(&open);
                self.api.cancel(&open.id)?;
                self.sessions.remove(&open.id);
                Ok(json!({}))
            }
            other => Err(RpcRefusal::unknown_method(other)),
        }
    }

    fn create(&self, params: &Value) -> Result<Value, RpcRefusal> {
        let folder = text(&params["cwd"]);
        if !Path::new(folder).is_absolute() {
            return Err(RpcRefusal::params("`cwd` must be an absolute path"));
        }
        if !Path::new(folder).is_dir() {
            return Err(RpcRefusal::params(format!("there is no folder `{folder}`")));
        }
        let made = self.api.create(folder, self.model.as_deref())?;
        let open =
            EditorSession::new(text(&made["id"]), text(&made["workspace"]), modes::FIRST, self.modes());
        let open = self.sessions.add(open);
        Ok(json!({"sessionId": open.id, "modes": open.modes(), "configOptions": open.options()}))
    }

    /// A thread of before.
    fn reopen(&self, params: &Value) -> Result<Arc<EditorSession>, RpcRefusal> {
        let id = text(&params["sessionId"]);
        let thread = self.api.head(id)?;
        let begun = thread["turns_count"].as_u64().unwrap_or(0) > 0;
        let mode = if begun { text(&thread["mode"]) } else { modes::FIRST };
        let open = EditorSession::new(text(&thread["id"]), text(&thread["workspace"]), mode, self.modes());
        Ok(self.sessions.add(open))
    }

    /// The same, and everything that was said.
    fn load(&self, params: &Value) -> Result<Value, RpcRefusal> {
        let open = self.reopen(params)?;
        let last = self.api.head(&open.id)?["last_seq"].as_u64().unwrap_or(0);
        let mut updates = SessionUpdates::new(&open.folder, true);
        if last > 0 {
            for event in self.api.follow(&open.id, 0)? {
                let event = event.map_err(|e| ApiTrouble::gone(&e))?;
                for update in updates.of(&event) {
                    self.wire.update(&open.id, update);
                }
                // What a turn under way adds is not the past.
                if event.id.is_none_or(|id| id >= last) {
                    break;
                }
            }
        }
        Ok(json!({"modes": open.modes(), "configOptions": open.options()}))
    }

    fn list(&self, params: &Value) -> Result<Value, RpcRefusal> {
        let (threads, next) = self.api.threads(PAGE, params["cursor"].as_str())?;
        let wanted = params["cwd"].as_str();
        let sessions: Vec<Value> = threads
            .iter()
            .filter(|thread| wanted.is_none_or(|cwd| text(&thread["workspace"]) == cwd))
            .map(|thread| {
                json!({"sessionId": thread["id"], "cwd": thread["workspace"], "title": thread["title"],
                    "updatedAt": thread["updated_at"]})
            })
            .collect();
        let mut page = json!({"sessions": sessions});
        if let Some(next) = next {
            page["nextCursor"] = next.into();
        }
        Ok(page)
    }

    /// What a prompt says, and to which session; nothing else is said there before its end.
    fn begin(
        &self,
        params: &Value,
    ) -> Result<(Arc<EditorSession>, EditorPrompt, EditorTurnGuard), RpcRefusal> {
        let open = self.sessions.named(params)?;
        let said = prompt::read(&params["prompt"], &open.folder)?;
        let busy = open.begin().ok_or_else(|| RpcRefusal::params("a turn is under way in this session"))?;
        Ok((open, said, busy))
    }

    fn prompt(&self, open: &EditorSession, said: EditorPrompt) -> Result<Value, RpcRefusal> {
        let reason = match (turn::command(self, open, &said.text)?, open.run_mode()) {
            (true, _) => Ok("end_turn"),
            (false, Some(mode)) => run::carry(self, open, &mode, &said),
            (false, None) => turn::carry(self, open, said),
        };
        // Whatever a turn came to after that: it was stopped.
        let reason = if open.is_cancelled() { "cancelled" } else { reason? };
        Ok(json!({"stopReason": reason}))
    }

    /// Stops the turn of a session, however young it is.
    fn stop(desk: &Arc<Self>, open: &Arc<EditorSession>) {
        open.cancel();
        let (desk, open) = (Arc::clone(desk), Arc::clone(open));
        std::thread::spawn(move || {
            while open.is_busy() && open.is_cancelled() {
                if desk.end_run(&open) {
                    return;
                }
                match desk.api.cancel(&open.id) {
                    // A turn that only just begins cannot be stopped yet, and the server tells nobody when it can.
                    Ok(done) if done["cancelled"] != true => std::thread::sleep(AGAIN),
                    _ => return,
                }
            }
        });
    }

    /// Ends the run of the prompt under way; `false` when there is none.
    fn end_run(&self, open: &EditorSession) -> bool {
        open.run().inspect(|run| drop(self.api.cancel_run(run))).is_some()
    }

    /// The editor has gone: nothing goes on behind its back, and what turns came to is kept.
    pub(super) fn leave(&self) {
        let began = Instant::now();
        loop {
            let busy: Vec<_> = self.sessions.all().into_iter().filter(|open| open.is_busy()).collect();
            if busy.is_empty() || began.elapsed() > PATIENCE {
                return;
            }
            for open in busy {
                open.cancel();
                self.end_run(&open);
                let _ = self.api.cancel(&open.id);
            }
            // The same again: one that was not there yet is stopped in the next round.
            std::thread::sleep(AGAIN);
        }
    }
}

/// Who this is, and what it can do.
fn introduction() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentInfo": {"name": "holon", "title": "Holon", "version": env!("CARGO_PKG_VERSION")},
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
        },
        "authMethods": [],
    })
}

/// What to say about servers for tools that the editor would have started: nothing is ignored without a word.
fn unused_servers(params: &Value) -> Option<String> {
    let names: Vec<&str> = params["mcpServers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|server| server["name"].as_str().unwrap_or("(no name)"))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Tool servers (MCP) of the editor are not used: {}. What may run beside the agent is said in your own \
             configuration of Holon, and `holon run` starts it inside the walls.\n",
            names.join(", ")
        )
    })
}

/// What can be typed after a slash.
fn commands() -> Value {
    let command = |name: &str, description: &str| json!({"name": name, "description": description});
    json!({"sessionUpdate": "available_commands_update", "availableCommands": [
        command("diff", "Show what the session changed and did not apply yet"),
        command("apply", "Bring those changes into the folder, all or nothing"),
        command("undo", "Take back the last turn"),
        json!({"name": "tools", "description": "Say what a tool may do in this session: allow, ask, deny, or - as the mode says",
            "input": {"hint": "NAME allow|ask|deny|-"}}),
    ]})
}

impl From<ApiTrouble> for RpcRefusal {
    fn from(trouble: ApiTrouble) -> Self {
        let hint = trouble.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        let message = format!("{}{hint}", trouble.message);
        match trouble.code.as_str() {
            "not_found" => Self::missing(message),
            "bad_request" | "invalid" | "forbidden" | "too_large" | "turn_running" => Self::params(message),
            _ => Self::internal(message),
        }
    }
}
