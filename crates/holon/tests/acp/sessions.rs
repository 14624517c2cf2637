//! Sessions: made, found again by another process, with everything that was said.

use agent_client_protocol::v1::schema::{
    ListSessionsRequest, LoadSessionRequest, McpServer, McpServerStdio, NewSessionRequest,
    ResumeSessionRequest, SessionId, SetSessionModeRequest, StopReason,
};
use serde_json::{Value, json};

use crate::editor::{EditorStage, SLOWLY, of, words};

#[test]
fn an_editor_learns_what_holon_can_do() {
    let stage = EditorStage::new("- text: never\n");
    stage.edit(async |editor| {
        let hello = editor.initialize().await?;
        let said = serde_json::to_value(&hello).unwrap();
        assert_eq!((&said["protocolVersion"], &said["agentInfo"]["name"]), (&json!(1), &json!("holon")));
        assert_eq!(said["agentCapabilities"]["loadSession"], true);
        assert_eq!(said["agentCapabilities"]["promptCapabilities"]["embeddedContext"], true);
        let made = editor.agent.send_request(NewSessionRequest::new(stage.repo.path())).block_task().await?;
        let modes = serde_json::to_value(made.modes.unwrap()).unwrap();
        assert_eq!(modes["currentModeId"], "build");
        let ids: Vec<_> =
            modes["availableModes"].as_array().unwrap().iter().map(|mode| &mode["id"]).collect();
        assert_eq!(
            ids,
            [
                "plan",
                "build",
                "architect",
                "review",
                "debug",
                "ethical",
                "ask",
                "plan-then-execute",
                "review-fix"
            ]
        );
        let commands = editor.until("available_commands_update").await;
        assert_eq!(commands["availableCommands"][0]["name"], "diff");
        Ok(())
    });
    assert!(stage.asked().is_empty());
}

#[test]
fn tool_servers_of_the_editor_are_not_used_and_that_is_said() {
    let stage = EditorStage::new("- text: never\n");
    let proof = stage.env.work().join("started");
    stage.edit(async |editor| {
        editor.initialize().await?;
        let script = format!("touch {}", proof.display());
        let server =
            McpServer::Stdio(McpServerStdio::new("notes", "/bin/sh").args(vec!["-c".into(), script]));
        let request = NewSessionRequest::new(stage.repo.path()).mcp_servers(vec![server]);
        editor.agent.send_request(request).block_task().await?;
        let said = editor.until("agent_thought_chunk").await;
        assert!(said["content"]["text"].as_str().unwrap().contains("are not used: notes"), "{said}");
        Ok(())
    });
    assert!(!proof.exists());
}

#[test]
fn another_editor_loads_the_session() {
    let stage = EditorStage::new(
        "
- text: I look.
  tools:
    - execute: { command: echo seen }
- text: Seen.
- text: Welcome back.
",
    );
    let mut session = None;
    stage.edit(async |editor| {
        let id = editor.open(&stage).await?;
        let mode = SetSessionModeRequest::new(id.clone(), "build");
        editor.agent.send_request(mode).block_task().await?;
        editor.say(&id, "look").await?;
        session = Some(id);
        Ok(())
    });
    let session: SessionId = session.unwrap();
    stage.edit(async |editor| {
        editor.initialize().await?;
        let listed = editor.agent.send_request(ListSessionsRequest::new()).block_task().await?;
        let listed: Value = serde_json::to_value(&listed).unwrap();
        assert_eq!(listed["sessions"][0]["sessionId"], session.to_string(), "{listed:#}");
        let load = LoadSessionRequest::new(session.clone(), stage.repo.path());
        editor.agent.send_request(load).block_task().await?;
        let past = editor.so_far();
        assert_eq!(words(&past, "user_message_chunk"), "look");
        assert_eq!(words(&past, "agent_message_chunk"), "I look.Seen.", "{past:#?}");
        assert_eq!(of(&past, "tool_call").len(), 1);
        assert_eq!(of(&past, "tool_call_update").last().unwrap()["status"], "completed");
        let (reason, updates) = editor.say(&session, "hello again").await?;
        assert_eq!(reason, StopReason::EndTurn);
        assert_eq!(words(&updates, "agent_message_chunk"), "Welcome back.");
        Ok(())
    });
    assert!(stage.asked()[2].contains("look"), "the conversation goes on");
    stage.edit(async |editor| {
        editor.initialize().await?;
        let resume = ResumeSessionRequest::new(session.clone(), stage.repo.path());
        editor.agent.send_request(resume).block_task().await?;
        let first = editor.next().await;
        assert_eq!(first["sessionUpdate"], "available_commands_update", "the past is not told again");
        Ok(())
    });
}

#[test]
fn an_editor_that_closes_its_end_ends_everything() {
    let stage = EditorStage::new(SLOWLY);
    let (mut there, back, running) = stage.start("");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(back));
    let mut say = |message: Value| {
        use std::io::Write;
        writeln!(there, "{message}").unwrap();
    };
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "session/new",
        "params": {"cwd": stage.repo.path(), "mcpServers": []}}));
    let made: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    say(json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {
        "sessionId": made["result"]["sessionId"], "prompt": [{"type": "text", "text": "go"}]}}));
    while !lines.next().unwrap().unwrap().contains("The beginning") {}
    drop(there);
    running.wait().assert_code(0);
    stage.env.assert_nothing_left();
}
