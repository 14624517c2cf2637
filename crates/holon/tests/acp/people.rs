//! Permissions and questions reach the person in front of the editor.

use agent_client_protocol::v1::schema::StopReason;
use serde_json::json;

use crate::editor::{EditorStage, of, words};

#[test]
fn calls_that_need_a_word_get_it_from_the_editor() {
    let stage = EditorStage::new(
        "
- text: Hello.
- tools:
    - execute: { command: echo yes }
    - execute: { command: echo no > no.txt }
- tools:
    - execute: { command: echo always }
- tools:
    - execute: { command: echo again }
- text: Good.
",
    );
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        editor.say(&session, "hi").await?;
        let (_, updates) = editor.say(&session, "/tools execute ask").await?;
        assert!(words(&updates, "agent_message_chunk").contains("execute: ask"), "{updates:#?}");
        editor.choices.lock().unwrap().extend(["once", "reject", "always"]);
        let (reason, updates) = editor.say(&session, "run them").await?;
        assert_eq!(reason, StopReason::EndTurn);
        let asked = editor.permissions.lock().unwrap().clone();
        let titles: Vec<_> = asked.iter().map(|p| p["toolCall"]["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["execute: echo yes", "execute: echo no > no.txt", "execute: echo always"]);
        assert_eq!(asked[0]["toolCall"]["toolCallId"], of(&updates, "tool_call")[0]["toolCallId"]);
        // The library leaves `pending` out, which is what it takes for granted.
        assert_eq!(of(&updates, "tool_call")[0].get("status"), None);
        let done =
            of(&updates, "tool_call_update").into_iter().filter(|u| u["status"] == "completed").count();
        assert_eq!(done, 3, "{updates:#?}");
        Ok(())
    });
}

#[test]
fn a_question_with_options_is_a_choice() {
    let stage = EditorStage::new(
        "
- tools:
    - ask_user: { questions: [{ question: 'Tabs or spaces?', options: [tabs, spaces] }] }
- text: As you like it.
",
    );
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        editor.choices.lock().unwrap().push_back("1");
        let (reason, updates) = editor.say(&session, "choose").await?;
        assert_eq!(
            (reason, words(&updates, "agent_message_chunk").as_str()),
            (StopReason::EndTurn, "As you like it.")
        );
        let asked = editor.permissions.lock().unwrap()[0].clone();
        assert_eq!(asked["toolCall"]["title"], "Tabs or spaces?");
        assert_eq!(asked["options"][1]["name"], json!("spaces"));
        Ok(())
    });
    assert!(stage.asked()[1].contains("spaces"));
}

#[test]
fn an_open_question_is_answered_by_the_next_prompt() {
    let stage = EditorStage::new(
        "
- tools:
    - ask_user: { questions: [{ question: 'How many?' }, { question: 'Which colour?', options: [red] }] }
- text: Noted.
",
    );
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        let (reason, updates) = editor.say(&session, "ask me").await?;
        assert_eq!(reason, StopReason::EndTurn);
        assert!(words(&updates, "agent_message_chunk").contains("**How many?**"), "{updates:#?}");
        let (_, updates) = editor.say(&session, "forty-two\nblue").await?;
        assert_eq!(words(&updates, "agent_message_chunk"), "Noted.");
        Ok(())
    });
    let asked = &stage.asked()[1];
    assert!(asked.contains("forty-two") && asked.contains("blue"), "{asked}");
}

#[test]
fn a_person_who_walks_away_stops_the_turn() {
    let stage = EditorStage::new(
        "- tools:\n    - ask_user: { questions: [{ question: 'Well?', options: [a, b] }] }\n- text: Fine.\n",
    );
    stage.edit(async |editor| {
        let session = editor.open(&stage).await?;
        let (reason, _) = editor.say(&session, "choose").await?;
        assert_eq!(reason, StopReason::Cancelled);
        let (reason, updates) = editor.say(&session, "go on").await?;
        assert_eq!((reason, words(&updates, "agent_message_chunk").as_str()), (StopReason::EndTurn, "Fine."));
        Ok(())
    });
}
