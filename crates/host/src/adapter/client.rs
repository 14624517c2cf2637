//! This binary as the client of an agent that speaks the Agent Client Protocol, beside the agent and behind the same walls.
//!
//! It starts the agent, asks it one thing, says yes to whatever it wants to be allowed (the walls decide), and passes what
//! it tells on to standard output, line by line, for [`super::events`] to read. Nothing here is trusted by the host.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The name this binary is started under to become the client.
pub const CLIENT_NAME: &str = "holon-acp";
/// Longer lines end the conversation.
const MAX_LINE: u64 = 16 << 20;
/// The version of the protocol that is spoken.
const PROTOCOL: u64 = 1;

/// Becomes the client if this process was started under its name, and then never returns: the arguments are what to ask,
/// then the agent's program and its own arguments. Call it early in `main`.
pub fn become_client_if_asked() {
    let mut args = std::env::args_os();
    let named = |name: OsString| Path::new(&name).file_name().is_some_and(|name| name == CLIENT_NAME);
    if !args.next().is_some_and(named) {
        return;
    }
    let outcome = match (args.next(), args.next()) {
        (Some(prompt), Some(program)) => {
            converse(&prompt.to_string_lossy(), &program, &args.collect::<Vec<_>>())
        }
        _ => Err(AcpBreak::Talk("it needs what to ask, and a program".to_owned())),
    };
    let (line, code) = match outcome {
        Ok(reason) => (json!({"holon": "end", "stopReason": reason}), 0),
        Err(AcpBreak::Start(message)) => (json!({"holon": "unstarted", "message": message}), 1),
        Err(AcpBreak::Talk(message)) => (json!({"holon": "error", "message": message}), 1),
    };
    let _ = tell(&line.to_string());
    std::process::exit(code);
}

/// Why a conversation did not come to its end.
enum AcpBreak {
    /// The agent was never there.
    Start(String),
    /// It broke off.
    Talk(String),
}

impl From<String> for AcpBreak {
    fn from(message: String) -> Self {
        Self::Talk(message)
    }
}

/// One turn: the reason why the agent stopped.
fn converse(prompt: &str, program: &OsString, args: &[OsString]) -> Result<String, AcpBreak> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let started = command.spawn();
    let child = started
        .map_err(|e| AcpBreak::Start(format!("{} cannot be started: {e}", program.to_string_lossy())))?;
    let mut line = AcpConnection::to(child)?;
    let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    let hello = json!({"protocolVersion": PROTOCOL, "clientCapabilities": capabilities,
        "clientInfo": {"name": "holon", "title": "Holon", "version": env!("CARGO_PKG_VERSION")}});
    let answer = line.ask("initialize", &hello)?;
    if answer["protocolVersion"] != PROTOCOL {
        let version = &answer["protocolVersion"];
        return Err(format!("it speaks version {version} of the protocol, not {PROTOCOL}").into());
    }
    tell(&json!({"holon": "agent", "agentInfo": answer["agentInfo"]}).to_string())
        .map_err(|e| e.to_string())?;
    let here = std::env::current_dir().map_err(|e| format!("no current folder: {e}"))?;
    let session = line.ask("session/new", &json!({"cwd": here.to_string_lossy(), "mcpServers": []}))?;
    let id = session["sessionId"].as_str().ok_or_else(|| "it gave no session".to_owned())?.to_owned();
    let asked = json!({"sessionId": id, "prompt": [{"type": "text", "text": prompt}]});
    let ended = line.ask("session/prompt", &asked)?;
    line.hang_up();
    Ok(ended["stopReason"].as_str().unwrap_or("unknown").to_owned())
}

fn tell(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The line to an agent.
struct AcpConnection {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl AcpConnection {
    fn to(mut child: Child) -> Result<Self, String> {
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let (Some(to), Some(from)) = (to, from) else { return Err("it has no input or output".into()) };
        Ok(Self { child, to, from: BufReader::new(from), asked: 0 })
    }

    /// Asks and waits for the answer; everything else it says meanwhile is passed on or answered.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let id = self.asked;
        self.asked += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let text = self.hear()?;
            let Ok(message) = serde_json::from_str::<Value>(&text) else {
                // Some agents print notes among their messages.
                tell(&text).map_err(|e| e.to_string())?;
                continue;
            };
            if message["method"].is_string() {
                tell(text.trim_end()).map_err(|e| e.to_string())?;
                if !message["id"].is_null() {
                    self.send(&reply_to(&message))?;
                }
            } else if message["id"] == id {
                if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
                    let words = error["message"].as_str().unwrap_or("it gave no reason");
                    let detail =
                        error["data"]["details"].as_str().or(error["data"].as_str()).unwrap_or_default();
                    return Err(format!("{method}: {words} {detail}").trim_end().to_owned());
                }
                return Ok(message["result"].clone());
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let sent = self.to.write_all(format!("{message}\n").as_bytes()).and_then(|()| self.to.flush());
        sent.map_err(|e| format!("it does not listen any more: {e}"))
    }

    fn hear(&mut self) -> Result<String, String> {
        let mut text = Vec::new();
        let read = (&mut self.from).take(MAX_LINE).read_until(b'\n', &mut text);
        match read {
            Ok(0) => Err("it ended in the middle of the conversation".into()),
            Ok(_) if text.last() != Some(&b'\n') && text.len() as u64 >= MAX_LINE => {
                Err(format!("it said more than {MAX_LINE} bytes in one line"))
            }
            Ok(_) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(e) => Err(format!("it cannot be heard: {e}")),
        }
    }

    fn hang_up(mut self) {
        drop(self.to);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is said to what an agent asks: yes to a wish, no to everything this client does not offer.
fn reply_to(request: &Value) -> Value {
    let id = &request["id"];
    if request["method"] != "session/request_permission" {
        let error = json!({"code": -32601, "message": "not offered here"});
        return json!({"jsonrpc": "2.0", "id": id, "error": error});
    }
    let options = request["params"]["options"].as_array().map_or(&[][..], Vec::as_slice);
    let of_kind = |wanted: &str| options.iter().find(|option| option["kind"] == wanted);
    // A yes for good is one that agents write down, some of them into the workspace.
    let outcome = match of_kind("allow_once").or_else(|| of_kind("allow_always")) {
        Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
        None => json!({"outcome": "cancelled"}),
    };
    json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_granted_and_nothing_else() {
        let wish = json!({"id": 7, "method": "session/request_permission", "params": {"options": [
            {"optionId": "no", "kind": "reject_once"}, {"optionId": "yes", "kind": "allow_once"}]}});
        assert_eq!(reply_to(&wish)["result"]["outcome"], json!({"outcome": "selected", "optionId": "yes"}));
        let both = json!({"id": 8, "method": "session/request_permission", "params": {"options": [
            {"optionId": "ever", "kind": "allow_always"}, {"optionId": "now", "kind": "allow_once"}]}});
        assert_eq!(reply_to(&both)["result"]["outcome"]["optionId"], "now", "a yes for good leaves a trace");
        let only = json!({"id": 9, "method": "session/request_permission", "params": {"options": [
            {"optionId": "no", "kind": "reject_always"}, {"optionId": "ever", "kind": "allow_always"}]}});
        assert_eq!(reply_to(&only)["result"]["outcome"]["optionId"], "ever");
        let other = json!({"id": "x", "method": "fs/write_text_file", "params": {"path": "/etc/passwd"}});
        assert_eq!(reply_to(&other)["error"]["code"], -32601);
        let none = json!({"id": 1, "method": "session/request_permission", "params": {}});
        assert_eq!(reply_to(&none)["result"]["outcome"]["outcome"], "cancelled");
    }
}
