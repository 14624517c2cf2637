//! Tools of tool servers, under the mode's policy.

use std::sync::{Arc, Mutex};

use holon_agent::mcp::{McpServerConfig, McpServers};
use holon_agent::{AgentConversation, NativeAgent, TurnEndReason};
use holon_core::event::EventBody;
use holon_core::policy::ToolClass;
use holon_hands::LocalExecutor;
use holon_model::{Cassette, MessagePart, ModelCancel, Normaliser, ReplayProvider};

use crate::stage::settings;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mcp/tests/server.py");

/// Plays a turn with a server that has a tool `echo`, declared read-only, and a tool `fail`, which is not.
async fn play(mode: &str, cassette: &str) -> (Vec<String>, Vec<EventBody>) {
    let folder = tempfile::tempdir().unwrap();
    let hands = Arc::new(LocalExecutor::new(folder.path()).keep_output_in(folder.path().join("kept")));
    let argv = ["python3", "-S", SCRIPT, "well"].map(str::to_owned).to_vec();
    let config = McpServerConfig { name: "one".into(), argv, ..McpServerConfig::default() };
    let servers = McpServers::start(hands.clone(), &[config]).await;
    assert_eq!(servers.troubles(), []);
    let mut settings = settings(mode);
    settings.output = folder.path().join("out").display().to_string();
    let replay = ReplayProvider::new(cassette.parse::<Cassette>().unwrap(), Normaliser::default());
    let events = Mutex::new(Vec::new());
    let watcher = |body: EventBody| events.lock().unwrap().push(body);
    let cancel = ModelCancel::default();
    let agent = NativeAgent::new(&replay, hands.as_ref(), &settings, &cancel)
        .watched_by(&watcher)
        .served_by(&servers);
    let mut conversation = AgentConversation::default();
    let ended = agent.turn(&mut conversation, "Use the server.").await;
    assert!(matches!(ended.reason, TurnEndReason::Finished(_)), "{ended:?}");
    servers.close().await;
    let parts = conversation.messages.into_iter().flat_map(|message| message.parts);
    let results = parts.filter_map(|part| match part {
        MessagePart::Result(result) => Some(result.text),
        _ => None,
    });
    (results.collect(), events.into_inner().unwrap())
}

const CALLS: &str = "
- tools: [{ mcp__one__echo: { text: hello } }, { mcp__one__fail: {} }]
- tool: finish
  args: { summary: x, status: failed }
";

#[tokio::test]
async fn a_mode_that_allows_them_has_all_tools() {
    let (results, events) = play("execute", CALLS).await;
    assert_eq!(results[..2], ["hello", "it did not work"]);
    let classes: Vec<ToolClass> = events
        .iter()
        .filter_map(|body| match body {
            EventBody::ToolProposed { class, .. } => Some(*class),
            _ => None,
        })
        .collect();
    assert_eq!(classes, [ToolClass::Read, ToolClass::Exec, ToolClass::Control]);
}

#[tokio::test]
async fn inv_15_a_mode_that_only_reads_has_only_what_is_declared_read_only() {
    let (results, _) = play("plan", CALLS).await;
    assert_eq!(results[0], "hello");
    assert!(results[1].starts_with("denied: "), "{}", results[1]);
    assert!(results[1].contains("mcp__one__echo") && !results[1].contains("tools here are: mcp__one__fail"));
}
