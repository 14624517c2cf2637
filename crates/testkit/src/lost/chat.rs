//! The same scripts as turns of a chat: one message, the work in the thread's snapshot, and then it is applied.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::cast::Cast;
use super::play::{PATIENCE, PlayLevel, PlayOutcome, proven, serve, settled};
use super::script::AgentScript;
use super::scripted_agent::{HearingMode, ScriptedAgent};
use super::truth::TruthReport;
use crate::model::ModelServer;
use crate::{TestEnv, TestWorkspace};

/// What is said when a turn has asked the model as often as it may.
const GO_ON: &str = "Go on.";
/// More turns than any script needs.
const TURNS: usize = 8;

/// Plays a script with this binary as a chat in a world of its own. Where it needs more rounds than a turn has, the
/// person says to go on, as people do.
pub fn play_chat(bin: &Path, script: &AgentScript, level: PlayLevel, hearing: HearingMode) -> PlayOutcome {
    let env = TestEnv::new(bin);
    let repo = settled(&env, script);
    env.write(
        env.config().join("holon/config.toml"),
        format!("[supervisor]\nlevel = \"{}\"\n", level.name()),
    );
    let mind = Arc::new(Mutex::new(ScriptedAgent::new(script, hearing, &Cast::Chat)));
    let server = serve(&mind);
    let mut events: Vec<Value> = Vec::new();
    let (mut code, mut said) = (0, String::new());
    for turn in 0..TURNS {
        let message = if turn == 0 { script.goal.as_str() } else { GO_ON };
        let mut call = env.holon(["chat", "--json", "-m", message]).cwd(repo.path()).timeout(PATIENCE);
        if turn > 0 {
            call = call.args(["--thread", "last"]);
        }
        let output = Cast::Chat.dressed(call, &server.base()).run();
        let new: Vec<Value> =
            output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let cut = new.iter().any(|event| event["data"]["code"] == "max_iterations");
        events.extend(new);
        code = output.code;
        said += &output.stderr;
        if !cut {
            break;
        }
    }
    let thread = events.first().and_then(|event| event["thread"].as_str()).unwrap_or_default();
    let applied = apply(&env, &repo, thread, &server);
    let good = proven(&repo, script);
    let records: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "supervisor")
        .map(|event| &event["data"]["record"])
        .collect();
    let count = |begins: &[&str]| {
        let holds = |record: &&&Value| {
            let reason = record["reason"].as_str().unwrap_or_default();
            begins.iter().any(|begin| reason.starts_with(begin))
        };
        records.iter().filter(holds).count() as u64
    };
    let report = records.iter().map(|record| format!("{record}\n")).collect();
    let tally = mind.lock().unwrap_or_else(PoisonError::into_inner).tally.clone();
    PlayOutcome {
        code,
        good,
        rounds: tally.rounds,
        heeded: tally.heeded,
        calls: tally.calls,
        wasted: tally.wasted,
        tokens: tally.tokens,
        takeovers: count(&["takeover"]),
        denied: count(&["gate:block", "verification:not_yet"]),
        told: TruthReport::default(),
        report,
        manifest: Value::Null,
        said: format!("{said}\n{applied}"),
        seen: Vec::new(),
        events: events.iter().map(|event| format!("{event}\n")).collect(),
    }
}

/// Brings what the thread changed into the folder, with the second word for files that steer tools.
fn apply(env: &TestEnv, repo: &TestWorkspace, thread: &str, model: &ModelServer) -> String {
    let root = repo.path().to_string_lossy().into_owned();
    let call = env.holon(["serve", "--listen", "127.0.0.1:0", "--root", &root]);
    let mut server = Cast::Chat.dressed(call, &model.base()).spawn();
    server.wait_for_text("holon is at ");
    let told = server.stdout_so_far();
    let (address, token) =
        told.split("http://").nth(1).and_then(|rest| rest.split_once("/?token=")).unwrap_or_default();
    let body = r#"{"allow_sensitive": true, "reason": "played"}"#;
    let answer = post(address, token.trim(), &format!("/api/threads/{thread}/apply"), body);
    server.kill();
    answer.unwrap_or_else(|error| error.to_string())
}

fn post(address: &str, token: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\naccept-language: en\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
