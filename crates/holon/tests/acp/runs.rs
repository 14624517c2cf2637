//! Modes that are no chat: a prompt is a run of its own, behind its own walls, and hands over what it came to.

use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, PromptRequest, SessionId, SetSessionModeRequest, StopReason,
    TextContent,
};
use holon_testkit::{assert_unchanged, tree_state};

use crate::editor::{EditorStage, SLOWLY, TestEditor, of, words};

const REVIEW: &str = "
- text: I look at it.
  tools:
    - read_file: { path: a.txt }
    - write_file: { path: a.txt, content: pwned }
- tool: report_findings
  args:
    verdict: comment
    findings:
      - { path: a.txt, line: 1, severity: high, category: style, title: Too short, body: It says one., confidence: 0.9, snippet: one }
- tool: finish
  args: { summary: One thing was found. }
- text: Back in the conversation.
";

async fn in_mode(editor: &TestEditor, session: &SessionId, mode: &'static str) {
    let request = SetSessionModeRequest::new(session.clone(), mode);
    editor.agent.send_request(request).block_task().await.unwrap();
}

#[test]
fn a_review_is_a_run_that_shows_its_findings() {
    let stage = EditorStage::new(REVIEW);
    let before = tree_state(stage.repo.path());
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        in_mode(editor, &session, "review").await;
        let (reason, updates) = editor.say(&session, "Look for mistakes").await?;
        assert_eq!(reason, StopReason::EndTurn);
        let said = words(&updates, "agent_message_chunk");
        for part in ["I look at it.", "One thing was found.", "`a.txt:1` high: **Too short**", "review.json"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        let calls = of(&updates, "tool_call");
        assert_eq!(calls[0]["title"], "read_file: a.txt", "{updates:#?}");
        let refused = calls.iter().find(|call| call["title"] == "write_file: a.txt").unwrap();
        assert_eq!(refused["status"], "failed", "{refused}");
        assert!(of(&updates, "tool_call_update").iter().any(|update| update["status"] == "completed"));
        // The conversation goes on as if nothing had been.
        in_mode(editor, &session, "plan").await;
        let (_, updates) = editor.say(&session, "hello").await?;
        assert_eq!(words(&updates, "agent_message_chunk"), "Back in the conversation.");
        Ok(())
    });
    assert_unchanged(&before, stage.repo.path());
    assert!(stage.env.holon(["runs", "list"]).cwd(stage.repo.path()).run().stdout.contains("review"));
}

#[test]
fn a_run_can_be_stopped() {
    let stage = EditorStage::new(SLOWLY);
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        in_mode(editor, &session, "ask").await;
        editor.so_far();
        let blocks = vec![ContentBlock::Text(TextContent::new("what is this?"))];
        let sent = editor.agent.send_request(PromptRequest::new(session.clone(), blocks));
        // The model has been asked, so the run is under way.
        while stage.asked().is_empty() {
            editor.initialize().await?;
        }
        editor.agent.send_notification(CancelNotification::new(session.clone()))?;
        assert_eq!(sent.block_task().await?.stop_reason, StopReason::Cancelled);
        Ok(())
    });
}

const FLOW: &str = "
- tool: report_plan
  args: { goal: Greet., context: There is a file., steps: [{ id: one, title: Add a file, detail: d }], risks: [none], verification: look }
- tool: finish
  args: { summary: Planned. }
- tools:
    - write_file: { path: new.txt, content: hello }
- tool: finish
  args: { summary: Carried out. }
";

#[test]
fn a_flow_shows_its_steps_and_asks_at_its_gate() {
    let stage = EditorStage::new(FLOW);
    let before = tree_state(stage.repo.path());
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        in_mode(editor, &session, "plan-then-execute").await;
        editor.choices.lock().unwrap().push_back("go");
        let (reason, updates) = editor.say(&session, "Add a greeting").await?;
        assert_eq!(reason, StopReason::EndTurn);
        let steps: Vec<_> = of(&updates, "tool_call").iter().map(|call| call["title"].clone()).collect();
        assert_eq!(steps[..2], ["Step plan (plan mode)", "Step execute (execute mode)"], "{updates:#?}");
        let asked = editor.permissions.lock().unwrap().clone();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0]["toolCall"]["title"], "Go on with the step `execute`");
        let said = words(&updates, "agent_message_chunk");
        for part in ["Add a file", "Carried out.", "diff.patch"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        Ok(())
    });
    assert_unchanged(&before, stage.repo.path());
}

#[test]
fn a_flow_stops_at_its_gate_without_a_word() {
    let stage = EditorStage::new(FLOW);
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        in_mode(editor, &session, "plan-then-execute").await;
        let (_, updates) = editor.say(&session, "Add a greeting").await?;
        let steps: Vec<_> = of(&updates, "tool_call").iter().map(|call| call["title"].clone()).collect();
        assert_eq!(steps, ["Step plan (plan mode)"], "{updates:#?}");
        assert_eq!(editor.permissions.lock().unwrap().len(), 1);
        assert!(words(&updates, "agent_message_chunk").contains("ended: needs_human"), "{updates:#?}");
        Ok(())
    });
}
