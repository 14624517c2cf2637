//! Questions to people: asked in both modes, answered later, also after a restart.

use serde_json::{Value, json};

use crate::http::of;
use crate::stage::{ServeStage, checked};

const ASKS: &str = "
- text: One thing.
  tools:
    - ask_user: { questions: [{ question: 'Tabs or spaces?', options: [tabs, spaces] }, { question: 'How many?' }] }
- expect: { last: [spaces, forty-two] }
  text: As you like it.
";

#[test]
fn questions_interrupt_in_both_modes() {
    for mode in ["plan", "build"] {
        let mut stage = ServeStage::playing(ASKS);
        let thread = stage.thread();
        let events = stage.say(&thread, "帮我选择一个方案", mode);
        let asked = of(&events, "interrupt");
        assert_eq!(asked.len(), 1, "{mode}: {events:#?}");
        let questions = asked[0].data["questions"].as_array().unwrap();
        assert_eq!(
            (&questions[0]["question"], &questions[0]["options"][1]),
            (&json!("Tabs or spaces?"), &json!("spaces"))
        );
        assert_eq!(questions.len(), 2);
        let shown = stage.show(&thread);
        assert_eq!((&shown["state"], &shown["turns"][0]["state"]), (&json!("waiting"), &json!("waiting")));
        assert_eq!(shown["interrupt"]["id"], asked[0].data["id"]);

        let wrong = stage
            .post(&format!("/api/chat/{thread}/resume"), json!({"interrupt_id": "other", "answers": []}));
        assert_eq!(wrong.status, 409);
        if mode == "build" {
            // A cassette begins anew with the server, so only what was asked can be seen to have stayed.
            stage.kill();
            stage.start();
            assert_eq!(stage.show(&thread)["state"], "waiting");
            continue;
        }
        let body = json!({"interrupt_id": asked[0].data["id"], "answers": ["spaces", "forty-two"]});
        let events = checked(stage.post(&format!("/api/chat/{thread}/resume"), body.clone()).events());
        assert_eq!(crate::http::words(&events), "As you like it.", "{events:#?}");
        assert_eq!(stage.show(&thread)["turns"][0]["state"], "completed");
        assert_eq!(stage.post(&format!("/api/chat/{thread}/resume"), body).status, 409, "answered once");
    }
}

#[test]
fn calls_that_need_a_word_wait_for_it() {
    let stage = ServeStage::playing(
        "
- tools:
    - execute: { command: echo yes > yes.txt }
    - execute: { command: echo no > no.txt }
- text: Good.
",
    );
    let thread = stage.thread();
    let headers = [("content-type", "application/json")];
    let path = format!("/api/threads/{thread}/tools");
    let body = json!({"tools": {"execute": "ask"}}).to_string();
    assert_eq!(crate::http::send(stage.port, "PUT", &path, &headers, body.as_bytes()).status, 200);
    let events = stage.say(&thread, "run", "build");
    let asked = &of(&events, "interrupt")[0].data;
    assert_eq!(asked["action_requests"].as_array().unwrap().len(), 2, "{events:#?}");
    assert!(of(&events, "tool_end").is_empty(), "nothing ran before the word");
    let decisions = json!([{"type": "approve"}, {"type": "reject", "message": "not that"}]);
    let body = json!({"interrupt_id": asked["id"], "decisions": decisions});
    let events = checked(stage.post(&format!("/api/chat/{thread}/resume"), body).events());
    let ended: Vec<bool> = of(&events, "tool_end").iter().map(|e| e.data["denied"] == true).collect();
    assert_eq!(ended.iter().filter(|denied| **denied).count(), 1, "{events:#?}");
    assert_eq!(ended.len(), 2, "{events:#?}");
    let diff = stage.get(&format!("/api/threads/{thread}/diff")).json();
    let files: Vec<_> = diff["files"].as_array().unwrap().iter().map(|f| f["path"].clone()).collect();
    assert_eq!(files, [json!("yes.txt")]);
}

#[test]
fn answers_that_nobody_asked_for_are_refused() {
    let stage = ServeStage::playing(ASKS);
    let thread = stage.thread();
    let events = stage.say(&thread, "choose", "build");
    let interrupt = of(&events, "interrupt")[0].data["id"].clone();
    let resume = |mut body: Value| {
        body["interrupt_id"] = interrupt.clone();
        stage.post(&format!("/api/chat/{thread}/resume"), body)
    };
    for wrong in [
        json!({"answers": ["spaces", "forty-two", "and one more"]}),
        json!({"decisions": [{"type": "approve"}]}),
        json!({"answers": ["spaces", "forty-two"], "decisions": [{"type": "approve"}]}),
        // Nothing is given: the question is still there afterwards.
        json!({}),
        json!({"answers": []}),
        json!({"answers": ["", " "]}),
    ] {
        let refused = resume(wrong.clone());
        assert_eq!(refused.status, 422, "{wrong}");
        let problem = refused.json();
        assert!(problem["message"].as_str().unwrap().contains("2 questions"), "{problem}");
    }
    assert_eq!(stage.show(&thread)["state"], "waiting");
    let events = checked(resume(json!({"answers": ["spaces", "forty-two"]})).events());
    assert_eq!(crate::http::words(&events), "As you like it.");
}

#[test]
fn a_turn_that_was_taken_back_waits_for_nobody() {
    let stage = ServeStage::playing(ASKS);
    let thread = stage.thread();
    let events = stage.say(&thread, "choose", "build");
    let interrupt = &of(&events, "interrupt")[0].data["id"];
    let undone = stage.post(&format!("/api/threads/{thread}/undo"), json!({}));
    assert_eq!(undone.json()["turns"], json!([1]));
    let shown = stage.show(&thread);
    assert_eq!((&shown["state"], &shown["turns"][0]["state"]), (&json!("idle"), &json!("undone")));
    assert_eq!(shown["interrupt"], Value::Null);
    let body = json!({"interrupt_id": interrupt, "answers": ["spaces", "forty-two"]});
    let late = stage.post(&format!("/api/chat/{thread}/resume"), body);
    assert_eq!((late.status, late.json()["code"].as_str()), (409, Some("not_waiting")));
    assert_eq!(stage.show(&thread)["turns"][0]["state"], "undone");
}

#[test]
fn the_story_says_when_nobody_waits_for_an_answer_any_more() {
    let stage = ServeStage::playing(ASKS);
    let thread = stage.thread();
    let asked = stage.say(&thread, "choose", "build");
    let last = asked.iter().filter_map(|event| event.id).max().unwrap();
    let cancel = || stage.post(&format!("/api/chat/{thread}/cancel"), json!({})).json()["cancelled"].clone();
    assert_eq!((cancel(), cancel()), (json!(true), json!(false)));
    let rest = stage.events(&thread, last);
    assert_eq!(of(&rest, "error")[0].data["code"], "cancelled", "{rest:#?}");
    let shown = stage.show(&thread);
    assert_eq!((&shown["state"], &shown["turns"][0]["state"]), (&json!("idle"), &json!("cancelled")));
}

#[test]
fn a_new_message_takes_the_place_of_an_answer() {
    let stage = ServeStage::playing(
        "
- tools:
    - ask_user: { questions: [{ question: Well? }] }
- text: Never mind then.
",
    );
    let thread = stage.thread();
    stage.say(&thread, "ask", "build");
    let events = stage.say(&thread, "forget it", "build");
    assert_eq!(crate::http::words(&events), "Never mind then.");
    let shown = stage.show(&thread);
    assert_eq!((&shown["state"], &shown["turns"][0]["code"]), (&json!("idle"), &json!("not_answered")));
}

#[test]
fn uploads_can_be_read_and_are_listed_to_the_model() {
    let stage = ServeStage::playing(
        "
- tool: execute
  args: { command: 'cat /holon/input/context/uploads/*' }
- text: Read.
",
    );
    let upload = |name: &str, bytes: &[u8]| {
        crate::http::send(stage.port, "POST", &format!("/api/files?name={name}"), &[], bytes)
    };
    assert_eq!(upload("../..", b"x").status, 422);
    let made = upload("..%2Fnotes.txt", b"the answer is 42");
    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!(made["name"], "notes.txt");
    let thread = stage.thread();
    let path = format!("/api/chat/{thread}");
    let events = stage.post(&path, json!({"message": "read", "files": [made["id"]]})).events();
    let output = of(&events, "tool_end")[0].data["output"].as_str().unwrap().to_owned();
    assert!(output.contains("the answer is 42"), "{events:#?}");
    assert_eq!(stage.post(&path, json!({"message": "x", "files": ["f-none"]})).status, 422);
}

#[test]
fn uploads_have_room_for_so_much_and_go_with_their_thread() {
    let stage = ServeStage::new();
    let tape = stage.env.write("work/chat.yaml", "- text: Seen.\n- text: Again.\n");
    let stage = stage.with(&["--replay", tape.to_str().unwrap(), "--uploads-mb", "1"], &[]);
    let send = |bytes: usize| {
        crate::http::send(stage.port, "POST", "/api/files?name=a.bin", &[], &vec![b'x'; bytes])
    };
    let upload = |bytes: usize| {
        let made = send(bytes);
        assert_eq!(made.status, 201);
        made.json()["id"].clone()
    };
    let (thread, other) = (stage.thread(), stage.thread());
    let say = |thread: &str, files: &[&Value]| {
        stage.post(&format!("/api/chat/{thread}"), json!({"message": "look", "files": files}))
    };
    // A thread has a quarter of the room.
    let (large, one, two) = (upload(300_000), upload(200_000), upload(200_000));
    let refused = say(&thread, &[&large]);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (413, Some("quota")));
    assert_eq!(of(&say(&thread, &[&one, &one]).events(), "error").len(), 0);
    let refused = say(&thread, &[&two]);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (413, Some("quota")));
    assert_eq!(of(&say(&thread, &[&one]).events(), "error").len(), 0, "what it has, it may name again");
    let refused = say(&other, &[&one]);
    assert_eq!(refused.status, 422);
    let refused = refused.json();
    assert!(refused["hint"].as_str().unwrap().contains("send it again"), "{refused}");
    // All of them together have all of it, and the thread's own goes with the thread.
    let refused = send(400_000);
    assert_eq!(refused.status, 413);
    let refused = refused.json();
    assert!(refused["code"] == "quota" && refused["hint"].as_str().unwrap().contains("delete a thread"));
    let deleted = crate::http::send(stage.port, "DELETE", &format!("/api/threads/{thread}"), &[], b"");
    assert_eq!(deleted.status, 204);
    upload(400_000);
    let files =
        stage.env.program("find").arg(stage.env.state()).args(["-size", "+150k", "-name", "f-*"]).run();
    assert_eq!(files.stdout.lines().count(), 3, "{}", files.stdout);
}
