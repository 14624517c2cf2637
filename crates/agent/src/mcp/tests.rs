//! Tool servers that behave and misbehave, as real programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use holon_hands::LocalExecutor;
use holon_model::ModelCancel;
use serde_json::{Map, Value, json};

use super::{McpError, McpServerConfig, McpServers, McpToolReply};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mcp/tests/server.py");

fn config(name: &str, how: &str) -> McpServerConfig {
    let argv = ["python3", "-S", SCRIPT, how].map(str::to_owned).to_vec();
    McpServerConfig { name: name.to_owned(), argv, env: [("GREETING".to_owned(), "hi".to_owned())].into() }
}

struct McpTestScene {
    servers: McpServers,
    folder: tempfile::TempDir,
}

impl McpTestScene {
    async fn start(configs: &[McpServerConfig]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hands = LocalExecutor::new(folder.path()).keep_output_in(folder.path().join("kept"));
        Self { servers: McpServers::start(Arc::new(hands), configs).await, folder }
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<McpToolReply, McpError> {
        self.call_within(name, arguments, Duration::from_secs(20)).await
    }

    async fn call_within(
        &self,
        name: &str,
        arguments: Value,
        limit: Duration,
    ) -> Result<McpToolReply, McpError> {
        let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
        self.servers.call(name, arguments, limit, &ModelCancel::default()).await
    }
}

fn said(text: &str) -> Result<McpToolReply, McpError> {
    Ok(McpToolReply { text: text.to_owned(), is_error: false })
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    let scene = McpTestScene::start(&[config("one", "well")]).await;
    assert_eq!(scene.servers.troubles(), []);
    let names: Vec<&str> = scene.servers.tools().map(|tool| tool.name.as_str()).collect();
    let expect = ["echo", "fail", "slow", "die", "huge", "flood", "more", "ask", "cwd", "odd.name"];
    assert_eq!(names, expect.map(|name| format!("mcp:one/{name}")));
    let echo = scene.servers.find("mcp__one__echo").unwrap();
    assert_eq!((echo.read_only, echo.description.as_str()), (true, "Does echo."));
    assert!(!scene.servers.find("mcp:one/fail").unwrap().read_only);

    assert_eq!(scene.call("mcp__one__echo", json!({ "text": "héllo\n" })).await, said("héllo\n"));
    assert_eq!(scene.call("mcp:one/echo", json!({ "text": "x" })).await, said("x"));
    let failed = scene.call("mcp:one/fail", json!({})).await.unwrap();
    assert_eq!(failed, McpToolReply { text: "it did not work".into(), is_error: true });
    let refused = scene.call("mcp:one/odd.name", json!({})).await.unwrap_err();
    assert_eq!(refused.to_string(), "mcp:one/odd.name: no tool odd.name");
    let missing = scene.call("mcp:one/nothing", json!({})).await.unwrap_err();
    assert_eq!(missing, McpError::NoSuchTool { tool: "mcp:one/nothing".into() });
    // It runs where the hands are, with the environment it was given.
    let folder = scene.folder.path().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(scene.call("mcp:one/cwd", json!({})).await, said(&format!("hi {folder}")));
    // Nothing is thought for a server.
    assert_eq!(scene.call("mcp:one/ask", json!({})).await, said("refused"));
    scene.servers.close().await;
}

#[tokio::test]
async fn servers_have_names_of_their_own() {
    let configs = [config("a", "well"), config("a", "well"), config("no/good", "well"), config("b", "well")];
    let scene = McpTestScene::start(&configs).await;
    assert_eq!(scene.servers.troubles().len(), 2);
    assert_eq!(scene.call("mcp:a/echo", json!({ "text": "x" })).await, said("x"));
    assert_eq!(scene.call("mcp:b/echo", json!({ "text": "y" })).await, said("y"));
    scene.servers.close().await;
}

#[tokio::test]
async fn changed_tools_are_listed_again() {
    let mut scene = McpTestScene::start(&[config("one", "well")]).await;
    assert!(!scene.servers.refresh().await);
    assert_eq!(scene.call("mcp:one/more", json!({})).await, said("there is more"));
    // The notification comes before the answer, but is noted by a task of its own.
    while !scene.servers.refresh().await {
        tokio::task::yield_now().await;
    }
    assert_eq!(scene.call("mcp:one/extra", json!({})).await, said("extra"));
    scene.servers.close().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let scene = McpTestScene::start(&[config("one", "well")]).await;
    let late = scene.call_within("mcp:one/slow", json!({}), Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(late, McpError::TimedOut { tool: "mcp:one/slow".into(), seconds: 0 });
    // The next call is not held up.
    assert_eq!(scene.call("mcp:one/echo", json!({ "text": "x" })).await, said("x"));
    let cancel = ModelCancel::default();
    cancel.cancel();
    let cancelled = scene.servers.call("mcp:one/slow", Map::new(), Duration::from_secs(60), &cancel).await;
    assert_eq!(cancelled, Err(McpError::Cancelled));
    scene.servers.close().await;
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_told() {
    let scene = McpTestScene::start(&[config("one", "well"), config("two", "well")]).await;
    let gone = scene.call("mcp:one/die", json!({})).await.unwrap_err();
    assert_eq!(gone.to_string(), "tool server one: it ended; it wrote: out of cheese");
    assert!(matches!(scene.call("mcp:one/echo", json!({})).await, Err(McpError::Gone { .. })));
    assert_eq!(scene.call("mcp:two/echo", json!({ "text": "x" })).await, said("x"));
    scene.servers.close().await;
}

#[tokio::test]
async fn huge_answers_are_bounded() {
    let scene = McpTestScene::start(&[config("one", "well")]).await;
    let cut = scene.call("mcp:one/huge", json!({ "bytes": 1_000_000 })).await.unwrap();
    assert!(cut.text.len() < 70_000 && cut.text.contains("bytes left out"), "{}", cut.text.len());
    let refused = scene.call("mcp:one/huge", json!({ "bytes": 9_000_000 })).await.unwrap_err();
    assert_eq!(refused.to_string(), "mcp:one/huge: the answer is longer than 4 MB: ask for less");
    assert_eq!(scene.call("mcp:one/echo", json!({ "text": "x" })).await, said("x"));
    scene.servers.close().await;
}

#[tokio::test]
async fn a_flood_ends_the_server() {
    let scene = McpTestScene::start(&[config("one", "well")]).await;
    let gone = scene.call("mcp:one/flood", json!({})).await.unwrap_err();
    assert_eq!(gone.to_string(), "tool server one: it floods its client with messages");
    scene.servers.close().await;
}

#[tokio::test]
async fn broken_servers_do_not_hold_up_the_others() {
    let mut missing = config("missing", "well");
    missing.argv = vec!["no-such-program-here".into()];
    let mut empty = config("empty", "well");
    empty.argv.clear();
    let broken = ["noise", "crash", "stray"].map(|how| config(how, how));
    let fine = ["garbage", "endless"].map(|how| config(how, how));
    let configs: Vec<McpServerConfig> = broken.into_iter().chain(fine).chain([missing, empty]).collect();
    let scene = McpTestScene::start(&configs).await;
    let troubles: Vec<String> = scene.servers.troubles().iter().map(McpError::to_string).collect();
    assert_eq!(troubles.len(), 5, "{troubles:?}");
    assert_eq!(
        troubles[0],
        "tool server noise: it writes something that is not the protocol to its standard output"
    );
    assert!(troubles[1].ends_with("it wrote: cannot find my configuration"), "{}", troubles[1]);
    assert!(troubles[2].starts_with("tool server stray: "), "{}", troubles[2]);
    assert!(troubles[3].starts_with("tool server missing: cannot be started"), "{}", troubles[3]);
    assert!(troubles[4].starts_with("tool server empty: cannot be started"), "{}", troubles[4]);
    assert_eq!(scene.call("mcp:endless/echo", json!({ "text": "x" })).await, said("x"));
    scene.servers.close().await;
}

/// Time is made up: it is over as soon as nobody has anything else to do.
#[tokio::test(start_paused = true)]
async fn silent_servers_are_given_up() {
    let scene = McpTestScene::start(&[config("silent", "silent"), config("deaf", "deaf")]).await;
    let troubles: Vec<String> = scene.servers.troubles().iter().map(McpError::to_string).collect();
    assert_eq!(
        troubles,
        ["tool server silent: not ready after 10 s", "tool server deaf: not ready after 10 s"]
    );
}
