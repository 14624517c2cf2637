//! Prompts: edits and their differences, refusals of plan mode, plans, context, stopping.

use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, EmbeddedResource, EmbeddedResourceResource, PromptRequest,
    ResourceLink, SetSessionModeRequest, StopReason, TextContent, TextResourceContents,
};
use holon_testkit::{assert_unchanged, tree_state};
use serde_json::json;

use crate::editor::{EditorStage, SLOWLY, of, words};

const EDIT: &str = "
- reply: [{ reasoning: hm }, { text: I change it. }, { tool: edit_file, args: { path: a.txt, old: one, new: two } }]
";

#[test]
fn build_edits_and_applies_when_the_person_agrees() {
    let stage = EditorStage::new(&format!("{EDIT}- text: Done.\n- text: Nothing to do.\n"));
    let before = tree_state(stage.repo.path());
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        let (reason, updates) = editor.say(&session, "change it").await?;
        assert_eq!(reason, StopReason::EndTurn);
        assert_eq!(words(&updates, "agent_thought_chunk"), "hm");
        assert!(words(&updates, "agent_message_chunk").starts_with("I change it.Done."), "{updates:#?}");
        let call = of(&updates, "tool_call")[0];
        let path = stage.repo.path().join("a.txt");
        assert_eq!((&call["kind"], &call["status"]), (&json!("edit"), &json!("in_progress")));
        assert_eq!(call["locations"], json!([{"path": path}]));
        let changes = of(&updates, "tool_call_update");
        assert!(changes.iter().any(|u| u["status"] == "completed" && u["toolCallId"] == call["toolCallId"]));
        let diff = changes.iter().find(|u| u["content"][0]["type"] == "diff").expect("a difference");
        let expect = json!([{"type": "diff", "path": path, "oldText": "one\n", "newText": "two\n"}]);
        assert_eq!((&diff["content"], &diff["toolCallId"]), (&expect, &call["toolCallId"]));
        // The person was asked and did not agree.
        assert_eq!(editor.permissions.lock().unwrap().len(), 1);
        assert_unchanged(&before, stage.repo.path());
        editor.choices.lock().unwrap().push_back("once");
        let (_, updates) = editor.say(&session, "/diff").await?;
        assert!(words(&updates, "agent_message_chunk").contains("+two"), "{updates:#?}");
        let (_, updates) = editor.say(&session, "/apply").await?;
        assert!(words(&updates, "agent_message_chunk").contains("Applied: a.txt"), "{updates:#?}");
        assert_eq!(stage.file("a.txt"), "two\n");
        // A turn that changes nothing asks nothing.
        let (_, updates) = editor.say(&session, "more?").await?;
        assert_eq!(words(&updates, "agent_message_chunk"), "Nothing to do.");
        assert_eq!(editor.permissions.lock().unwrap().len(), 1);
        Ok(())
    });
    assert_eq!(stage.asked().len(), 3);
}

#[test]
fn what_is_always_applied_is_not_asked_again() {
    let second = "- tool: execute\n  args: { command: echo new > made.txt }\n- text: Made.\n";
    let stage = EditorStage::new(&format!("{EDIT}- text: Done.\n{second}"));
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        editor.choices.lock().unwrap().push_back("always");
        editor.say(&session, "change it").await?;
        assert_eq!(stage.file("a.txt"), "two\n");
        let (_, updates) = editor.say(&session, "make one").await?;
        assert_eq!(stage.file("made.txt"), "new\n");
        let shown = of(&updates, "tool_call").into_iter().find(|u| u["content"][0]["type"] == "diff");
        let shown = &shown.expect("a file a command made is shown, too")["content"][0];
        assert_eq!((&shown["oldText"], &shown["newText"]), (&json!(null), &json!("new\n")));
        assert_eq!(editor.permissions.lock().unwrap().len(), 1);
        Ok(())
    });
}

#[test]
fn plan_mode_refuses_and_says_so() {
    let stage = EditorStage::new(&format!("{EDIT}{EDIT}- text: Done.\n"));
    let before = tree_state(stage.repo.path());
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        let mode = SetSessionModeRequest::new(session.clone(), "plan");
        editor.agent.send_request(mode).block_task().await?;
        let (reason, updates) = editor.say(&session, "change it").await?;
        assert_eq!(reason, StopReason::EndTurn);
        assert!(words(&updates, "agent_message_chunk").contains("plan mode"), "{updates:#?}");
        assert_eq!(of(&updates, "tool_call")[0]["status"], "failed", "{updates:#?}");
        assert_unchanged(&before, stage.repo.path());
        let unknown = SetSessionModeRequest::new(session.clone(), "everything");
        assert!(editor.agent.send_request(unknown).block_task().await.is_err());
        let mode = SetSessionModeRequest::new(session.clone(), "build");
        editor.agent.send_request(mode).block_task().await?;
        editor.choices.lock().unwrap().push_back("once");
        editor.say(&session, "now").await?;
        assert_eq!(stage.file("a.txt"), "two\n");
        Ok(())
    });
}

#[test]
fn todos_are_the_plan() {
    let stage = EditorStage::new(
        "
- tools:
    - write_todos: { todos: [{ text: Look, status: done }, { text: Act, status: doing }, { text: Rest, status: pending }] }
- text: So it is.
",
    );
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        let (_, updates) = editor.say(&session, "plan it").await?;
        let plan = of(&updates, "plan")[0];
        let entries: Vec<_> =
            plan["entries"].as_array().unwrap().iter().map(|e| (&e["content"], &e["status"])).collect();
        assert_eq!(
            entries,
            [
                (&json!("Look"), &json!("completed")),
                (&json!("Act"), &json!("in_progress")),
                (&json!("Rest"), &json!("pending"))
            ]
        );
        Ok(())
    });
}

#[test]
fn context_goes_along() {
    let stage = EditorStage::new(
        "- tool: execute\n  args: { command: 'wc -c /holon/input/context/uploads/*' }\n- text: Read.\n",
    );
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        let uri = |name: &str| format!("file://{}/{name}", stage.repo.path().display());
        let resource = |name: &str, text: &str| {
            let contents = TextResourceContents::new(text, uri(name));
            ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(
                contents,
            )))
        };
        let blocks = vec![
            ContentBlock::Text(TextContent::new("Compare ")),
            ContentBlock::ResourceLink(ResourceLink::new("a.txt", uri("a.txt"))),
            resource("unsaved.rs", "fn unsaved() {}"),
            resource("long.log", &"line\n".repeat(20_000)),
        ];
        let (_, updates) = editor.send(&session, blocks).await?;
        let shown = serde_json::to_string(&updates).unwrap();
        assert!(shown.contains("100000"), "the long one was handed over: {shown}");
        Ok(())
    });
    let asked = &stage.asked()[0];
    assert!(asked.contains("Compare `a.txt`") && asked.contains("fn unsaved() {}"), "{asked}");
}

#[test]
fn a_turn_can_be_stopped() {
    let stage = EditorStage::new(&format!("{SLOWLY}- text: Again.\n"));
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        let blocks = vec![ContentBlock::Text(TextContent::new("go"))];
        let sent = editor.agent.send_request(PromptRequest::new(session.clone(), blocks));
        editor.until("agent_message_chunk").await;
        editor.agent.send_notification(CancelNotification::new(session.clone()))?;
        assert_eq!(sent.block_task().await?.stop_reason, StopReason::Cancelled);
        let (reason, updates) = editor.say(&session, "again").await?;
        assert_eq!(
            (reason, words(&updates, "agent_message_chunk").as_str()),
            (StopReason::EndTurn, "Again.")
        );
        Ok(())
    });
}

#[test]
fn a_prompt_can_be_stopped_in_the_same_breath() {
    let stage = EditorStage::new(&SLOWLY.repeat(12));
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        for _ in 0..12 {
            let blocks = vec![ContentBlock::Text(TextContent::new("go"))];
            let sent = editor.agent.send_request(PromptRequest::new(session.clone(), blocks));
            editor.agent.send_notification(CancelNotification::new(session.clone()))?;
            assert_eq!(sent.block_task().await?.stop_reason, StopReason::Cancelled);
        }
        Ok(())
    });
}
