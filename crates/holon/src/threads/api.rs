//! The calls of the API that the terminal and editors make.

use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use super::carrier::Carrier;
use super::http::{EventStream, RequestBody, send};
use super::language;
use crate::failure::CliFailure;
use crate::session;

/// The API of whoever carries the threads.
pub(crate) struct ThreadsApi {
    carrier: Carrier,
    language: &'static str,
}

/// Why a call came to nothing.
#[derive(Debug)]
pub(crate) struct ApiTrouble {
    /// What to act on; `gone` when nobody answered.
    pub(crate) code: String,
    /// What to read.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// The paths it is about.
    pub(crate) paths: Vec<String>,
}

/// What a call gives back.
type ThreadsApiResult<T> = Result<T, ApiTrouble>;

impl ThreadsApi {
    pub(crate) fn new(carrier: Carrier) -> Self {
        Self { carrier, language: language::wanted(&session::variable) }
    }

    /// Who carries the threads.
    pub(crate) fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    /// Makes a thread about a folder.
    pub(crate) fn create(&self, workspace: &str, model: Option<&str>) -> ThreadsApiResult<Value> {
        let mut body = json!({"workspace": workspace});
        if let Some(model) = model {
            body["model"] = model.into();
        }
        self.call("POST", "/api/threads", &RequestBody::Json(&body))
    }

    /// A page of threads, the latest first, and where the next one begins.
    pub(crate) fn threads(
        &self,
        limit: usize,
        before: Option<&str>,
    ) -> ThreadsApiResult<(Vec<Value>, Option<String>)> {
        let before = before.map(|cursor| format!("&before={}", escaped(cursor))).unwrap_or_default();
        let page = self.call("GET", &format!("/api/threads?limit={limit}{before}"), &RequestBody::None)?;
        let next = page["next"].as_str().map(str::to_owned);
        Ok((page["threads"].as_array().cloned().unwrap_or_default(), next))
    }

    /// A thread with its turns.
    pub(crate) fn thread(&self, id: &str) -> ThreadsApiResult<Value> {
        self.call("GET", &format!("/api/threads/{}", escaped(id)), &RequestBody::None)
    }

    /// A thread without them, however many there are.
    pub(crate) fn head(&self, id: &str) -> ThreadsApiResult<Value> {
        self.since(id, u64::from(u32::MAX))
    }

    /// The last turn of a thread; nothing before the first.
    pub(crate) fn last_turn(&self, id: &str) -> ThreadsApiResult<Value> {
        let count = self.head(id)?["turns_count"].as_u64().unwrap_or(0);
        let thread = self.since(id, count)?;
        Ok(thread["turns"].as_array().and_then(|turns| turns.last().cloned()).unwrap_or_default())
    }

    fn since(&self, id: &str, turn: u64) -> ThreadsApiResult<Value> {
        self.call("GET", &format!("/api/threads/{}?since={turn}", escaped(id)), &RequestBody::None)
    }

    /// The modes there are.
    pub(crate) fn modes(&self) -> ThreadsApiResult<Vec<Value>> {
        let modes = self.call("GET", "/api/modes", &RequestBody::None)?;
        Ok(modes["modes"].as_array().cloned().unwrap_or_default())
    }

    /// Starts a run of the native agent on a folder; gives its name.
    pub(crate) fn start_run(
        &self,
        workspace: &str,
        goal: &str,
        mode: &str,
        model: Option<&str>,
    ) -> ThreadsApiResult<String> {
        let mut body = json!({"workspace": workspace, "goal": goal, "mode": mode, "agent": "native"});
        if let Some(model) = model {
            body["model"] = model.into();
        }
        let started = self.call("POST", "/api/runs", &RequestBody::Json(&body))?;
        Ok(started["id"].as_str().unwrap_or_default().to_owned())
    }

    /// Follows a run from its beginning to its end.
    pub(crate) fn follow_run(&self, id: &str) -> ThreadsApiResult<EventStream<UnixStream>> {
        self.stream("GET", &format!("/api/runs/{}/events", escaped(id)), &RequestBody::None)
    }

    /// Where a run stands, with its manifest and the names of its artifacts.
    pub(crate) fn run(&self, id: &str) -> ThreadsApiResult<Value> {
        self.call("GET", &format!("/api/runs/{}", escaped(id)), &RequestBody::None)
    }

    /// An artifact of a run.
    pub(crate) fn run_file(&self, id: &str, path: &str) -> ThreadsApiResult<String> {
        let path = format!("/api/runs/{}/files/{}", escaped(id), escaped(path));
        let answer =
            self.carrier.connect().and_then(|s| send(s, "GET", &path, self.language, &RequestBody::None));
        let answer = answer.map_err(|e| ApiTrouble::gone(&e))?;
        if answer.status < 400 {
            return answer.text().map_err(|e| ApiTrouble::gone(&e));
        }
        Err(ApiTrouble::told(&answer.json().map_err(|e| ApiTrouble::gone(&e))?))
    }

    /// Says at the gate of a run whether it may go on.
    pub(crate) fn answer_gate(&self, id: &str, go: bool) -> ThreadsApiResult<Value> {
        let body = json!({"decision": if go { "approve" } else { "reject" }});
        self.call("POST", &format!("/api/runs/{}/gate", escaped(id)), &RequestBody::Json(&body))
    }

    /// Stops a run.
    pub(crate) fn cancel_run(&self, id: &str) -> ThreadsApiResult<Value> {
        self.call("POST", &format!("/api/runs/{}/cancel", escaped(id)), &RequestBody::Json(&json!({})))
    }

    /// Says something.
    pub(crate) fn say(
        &self,
        id: &str,
        message: &str,
        mode: &str,
        files: &[String],
    ) -> ThreadsApiResult<EventStream<UnixStream>> {
        let mut body = json!({"message": message, "mode": mode});
        if !files.is_empty() {
            body["files"] = json!(files);
        }
        self.stream("POST", &format!("/api/chat/{}", escaped(id)), &RequestBody::Json(&body))
    }

    /// Answers what a turn waits for.
    pub(crate) fn resume(
        &self,
        id: &str,
        interrupt: &str,
        answers: &[String],
        decisions: &[Value],
    ) -> ThreadsApiResult<EventStream<UnixStream>> {
        let body = json!({"interrupt_id": interrupt, "answers": answers, "decisions": decisions});
        self.stream("POST", &format!("/api/chat/{}/resume", escaped(id)), &RequestBody::Json(&body))
    }

    /// Follows a thread from an event on.
    pub(crate) fn follow(&self, id: &str, after: u64) -> ThreadsApiResult<EventStream<UnixStream>> {
        self.stream("GET", &format!("/api/chat/{}/events?after={after}", escaped(id)), &RequestBody::None)
    }

    /// Stops a turn, or stops waiting for a person.
    pub(crate) fn cancel(&self, id: &str) -> ThreadsApiResult<Value> {
        self.call("POST", &format!("/api/chat/{}/cancel", escaped(id)), &RequestBody::Json(&json!({})))
    }

    /// What a thread changed.
    pub(crate) fn diff(&self, id: &str) -> ThreadsApiResult<Value> {
        self.call("GET", &format!("/api/threads/{}/diff", escaped(id)), &RequestBody::None)
    }

    /// Brings it into the workspace.
    pub(crate) fn apply(&self, id: &str, allow_sensitive: bool) -> ThreadsApiResult<Value> {
        let body = json!({"allow_sensitive": allow_sensitive});
        self.call("POST", &format!("/api/threads/{}/apply", escaped(id)), &RequestBody::Json(&body))
    }

    /// Takes turns back.
    pub(crate) fn undo(&self, id: &str, turn: Option<u64>) -> ThreadsApiResult<Value> {
        let body = turn.map_or_else(|| json!({}), |turn| json!({"turn": turn}));
        self.call("POST", &format!("/api/threads/{}/undo", escaped(id)), &RequestBody::Json(&body))
    }

    /// Replaces the verdicts for single tools.
    pub(crate) fn set_tools(&self, id: &str, tools: &Value) -> ThreadsApiResult<Value> {
        let body = json!({"tools": tools});
        self.call("PUT", &format!("/api/threads/{}/tools", escaped(id)), &RequestBody::Json(&body))
    }

    /// Hands a file over, to be named with a message.
    pub(crate) fn upload(&self, name: &str, bytes: &[u8]) -> ThreadsApiResult<String> {
        let made =
            self.call("POST", &format!("/api/files?name={}", escaped(name)), &RequestBody::Bytes(bytes))?;
        Ok(made["id"].as_str().unwrap_or_default().to_owned())
    }

    fn call(&self, method: &str, path: &str, body: &RequestBody<'_>) -> ThreadsApiResult<Value> {
        let answer = self.carrier.connect().and_then(|s| send(s, method, path, self.language, body));
        let answer = answer.map_err(|e| ApiTrouble::gone(&e))?;
        let status = answer.status;
        let value = answer.json().map_err(|e| ApiTrouble::gone(&e))?;
        if status < 400 { Ok(value) } else { Err(ApiTrouble::told(&value)) }
    }

    fn stream(
        &self,
        method: &str,
        path: &str,
        body: &RequestBody<'_>,
    ) -> ThreadsApiResult<EventStream<UnixStream>> {
        let answer = self.carrier.connect().and_then(|s| send(s, method, path, self.language, body));
        let answer = answer.map_err(|e| ApiTrouble::gone(&e))?;
        if answer.status < 400 {
            return Ok(answer.events());
        }
        Err(ApiTrouble::told(&answer.json().map_err(|e| ApiTrouble::gone(&e))?))
    }
}

impl ApiTrouble {
    /// Nobody answered, or not to the end.
    pub(crate) fn gone(e: &std::io::Error) -> Self {
        Self {
            code: "gone".to_owned(),
            message: format!("the Holon that carried this thread has gone ({e})"),
            hint: Some("nothing that was stored is lost: say something, and this one goes on".to_owned()),
            paths: Vec::new(),
        }
    }

    fn told(problem: &Value) -> Self {
        let text = |name: &str| problem[name].as_str().map(str::to_owned);
        let paths = problem["paths"].as_array().into_iter().flatten();
        let code = text("code").unwrap_or_default();
        let hint = match code.as_str() {
            // The server speaks of its own paths, which nobody types here.
            "turn_running" => {
                Some("wait for its end; `holon chat --thread ID` follows it, and Ctrl-C stops it")
            }
            _ => None,
        };
        Self {
            message: text("message").unwrap_or_else(|| "it was refused".to_owned()),
            hint: hint.map(str::to_owned).or_else(|| text("hint")),
            code,
            paths: paths.filter_map(|path| path.as_str().map(str::to_owned)).collect(),
        }
    }
}

impl From<ApiTrouble> for CliFailure {
    fn from(trouble: ApiTrouble) -> Self {
        let usage =
            ["bad_request", "not_found", "forbidden", "invalid", "invalid_mode", "wider", "too_large"];
        if usage.contains(&trouble.code.as_str()) {
            let known = match trouble.code.as_str() {
                "not_found" => "`holon chat --list` names the threads",
                "too_large" => "put it into a file in the folder, and say which one it is",
                _ => "`holon chat --help` tells more",
            };
            return Self::user(trouble.message, trouble.hint.unwrap_or_else(|| known.to_owned()));
        }
        let failure = Self::config(trouble.message);
        match trouble.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Text as part of a path.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_part_of_a_path() {
        assert_eq!(escaped("t-0a_b.c"), "t-0a_b.c");
        assert_eq!(escaped("../x?y=é"), "..%2Fx%3Fy%3D%C3%A9");
    }
}
