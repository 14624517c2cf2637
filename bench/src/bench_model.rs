//! The model of the bench: a server on loopback that asks for so many calls and then says that it is done. Every agent
//! talks to the same one, whatever its wire.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ReceivedRequest, ScriptedResponse, StreamSplit};
use serde_json::Value;

use crate::family::{self, FamilyProcess};

/// What it says at the end; long enough to be a summary.
const LAST_WORDS: &str = "The bench was here, looked around and changed nothing.";

/// The arguments of each tool it may call, by the tool's name; `{n}` is the number of the call.
pub(crate) type CallTemplates = BTreeMap<String, String>;

/// What it is asked to play for one run of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelRole {
    /// How many calls it makes, one in each reply.
    pub(crate) calls: usize,
    /// Which tool it calls: the first of these that the agent offers.
    pub(crate) with: CallTemplates,
}

/// One request as an agent sent it.
#[derive(Debug, Clone)]
pub(crate) struct AgentRequest {
    pub(crate) path: String,
    pub(crate) body: String,
}

/// What it saw of one run.
#[derive(Debug, Default)]
pub(crate) struct RunObservation {
    /// Requests that offered tools; others (for a title, say) are not rounds.
    pub(crate) rounds: usize,
    /// Bytes of the first of them.
    pub(crate) first_bytes: usize,
    /// Calls it could make.
    pub(crate) made: usize,
    /// The agent's processes as they were when the last call had been answered.
    pub(crate) family: Vec<FamilyProcess>,
    /// The process whose family is looked at.
    watched: Option<u32>,
    /// The requests, if they are to be kept: keeping them takes time that is measured.
    pub(crate) requests: Vec<AgentRequest>,
    keeps: bool,
    /// The tools of the first request, for messages.
    offered: Vec<String>,
}

/// The server, between two runs or in one.
pub(crate) struct BenchModel {
    server: ModelServer,
    state: Arc<Mutex<(ModelRole, RunObservation)>>,
}

impl BenchModel {
    /// Listens on a free port.
    pub(crate) fn start() -> Self {
        let state = Arc::new(Mutex::new((ModelRole::default(), RunObservation::default())));
        let own = Arc::clone(&state);
        let server = ModelServer::improvise(move |_, seen| {
            let mut state = own.lock().unwrap_or_else(PoisonError::into_inner);
            let (part, sight) = &mut *state;
            answer(part, sight, seen)
        });
        Self { server, state }
    }

    /// Its base URL, with the version at the end.
    pub(crate) fn base(&self) -> String {
        self.server.base()
    }

    /// Gets ready for the next run.
    pub(crate) fn prepare(&self, part: &ModelRole) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) =
            (part.clone(), RunObservation::default());
    }

    /// Looks at this process and its descendants before it ends the conversation.
    pub(crate) fn watch(&self, process: u32) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.watched = Some(process);
    }

    /// Keeps the requests of the run it was prepared for.
    pub(crate) fn keep(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.keeps = true;
    }

    /// What it saw since it was prepared; an error unless it could make all its calls.
    pub(crate) fn sight(&self) -> Result<RunObservation, crate::BenchFailure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (part, sight) = &mut *state;
        if sight.rounds == 0 {
            return Err("it never asked the model".to_owned());
        }
        if sight.made < part.calls {
            let (made, wanted, offered) = (sight.made, part.calls, sight.offered.join(", "));
            return Err(format!("only {made} of {wanted} calls could be made; it offers {offered}"));
        }
        Ok(std::mem::take(sight))
    }
}

fn answer(part: &ModelRole, sight: &mut RunObservation, seen: &ReceivedRequest) -> ScriptedResponse {
    let offered = offered(&seen.body);
    if offered.is_empty() {
        return ScriptedResponse::from(CassetteTurn::text("Measure")).split(StreamSplit::Whole);
    }
    if sight.rounds == 0 {
        sight.first_bytes = seen.bytes;
        sight.offered = offered.iter().map(|name| (*name).to_owned()).collect();
    }
    sight.rounds += 1;
    if sight.keeps {
        sight.requests.push(AgentRequest { path: seen.path.clone(), body: seen.body.to_string() });
    }
    let call = part.with.iter().find(|(tool, _)| offered.contains(&tool.as_str()));
    let turn = match call {
        Some((tool, arguments)) if sight.made < part.calls => {
            sight.made += 1;
            let arguments = arguments.replace("{n}", &sight.made.to_string());
            let call = CassetteCall { name: tool.clone(), arguments, ..CassetteCall::default() };
            CassetteTurn { steps: vec![CassetteStep::Call(call)], ..CassetteTurn::default() }
        }
        _ => {
            if let Some(process) = sight.watched.take() {
                sight.family = family::of(process);
            }
            CassetteTurn::text(LAST_WORDS)
        }
    };
    ScriptedResponse::from(turn).split(StreamSplit::Whole)
}

/// The names of the tools in a request of any wire.
fn offered(body: &Value) -> Vec<&str> {
    let tools = body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool.get("function").unwrap_or(tool).get("name")?.as_str()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn request(body: Value) -> ReceivedRequest {
        let bytes = body.to_string().len();
        let (method, path) = ("POST".to_owned(), "/v1/messages".to_owned());
        ReceivedRequest { connection: 0, method, path, headers: Vec::new(), body, bytes }
    }

    #[test]
    fn tools_of_all_wires_are_seen() {
        for (body, expect) in [
            (json!({"tools": [{"type": "function", "function": {"name": "execute"}}]}), &["execute"][..]),
            (json!({"tools": [{"type": "function", "name": "shell"}, {"type": "web_search"}]}), &["shell"]),
            (json!({"tools": [{"name": "Bash", "input_schema": {}}]}), &["Bash"]),
            (json!({"tools": []}), &[]),
            (json!({"model": "x"}), &[]),
        ] {
            assert_eq!(offered(&body), expect, "{body}");
        }
    }

    #[test]
    fn it_makes_its_calls_and_then_ends() {
        let with = CallTemplates::from([("Bash".to_owned(), "{\"command\":\"true {n}\"}".to_owned())]);
        let (part, mut sight) = (ModelRole { calls: 2, with }, RunObservation::default());
        let asked = request(json!({"tools": [{"name": "Bash"}]}));
        let told = |scripted: &ScriptedResponse| format!("{scripted:?}");
        let title = told(&answer(&part, &mut sight, &request(json!({"model": "x"}))));
        assert!(title.contains("Measure") && sight.rounds == 0);
        assert!(told(&answer(&part, &mut sight, &asked)).contains("true 1"));
        assert!(told(&answer(&part, &mut sight, &asked)).contains("true 2"));
        assert!(told(&answer(&part, &mut sight, &asked)).contains(LAST_WORDS));
        assert_eq!((sight.rounds, sight.made, sight.first_bytes), (3, 2, asked.bytes));
    }

    #[test]
    fn an_agent_that_cannot_be_told_to_call_is_noticed() {
        let mind = BenchModel::start();
        assert!(mind.sight().unwrap_err().contains("never asked"));
        let with = CallTemplates::from([("Bash".to_owned(), "{}".to_owned())]);
        let part = ModelRole { calls: 1, with };
        mind.prepare(&part);
        {
            let mut state = mind.state.lock().unwrap();
            let (part, sight) = &mut *state;
            answer(part, sight, &request(json!({"tools": [{"name": "shell"}]})));
        }
        assert!(mind.sight().unwrap_err().ends_with("it offers shell"));
    }
}
