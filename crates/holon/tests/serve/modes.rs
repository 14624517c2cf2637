//! Plan and build: what is approved, what is refused, and what ends a turn.

use holon_testkit::{assert_unchanged, tree_state};
use serde_json::json;

use crate::http::of;
use crate::stage::ServeStage;

#[test]
fn build_approves_by_itself_and_nothing_reaches_the_workspace() {
    let stage = ServeStage::playing(
        "
- tool: execute
  args: { command: echo made > made.txt && ls }
- text: Done.
",
    );
    let before = tree_state(stage.repo.path());
    let events = stage.say(&stage.thread(), "执行 ls 命令", "build");
    assert!(of(&events, "interrupt").is_empty());
    let ended = of(&events, "tool_end");
    assert_eq!((ended.len(), &ended[0].data["exit_code"]), (1, &json!(0)), "{events:#?}");
    assert!(ended[0].data["output"].as_str().unwrap().contains("made.txt"), "{ended:#?}");
    assert_eq!(of(&events, "tool_start")[0].data["decision"], "allow");
    assert_eq!(crate::http::words(&events), "Done.");
    assert_unchanged(&before, stage.repo.path());
}

#[test]
fn plan_refuses_with_the_words_people_expect() {
    let cassette = "
- tool: execute
  args: { command: touch made.txt }
- text: never asked for
";
    let stage = ServeStage::playing(cassette);
    let before = tree_state(stage.repo.path());
    let thread = stage.thread();
    let events = stage.say(&thread, "执行 ls 命令", "plan");
    let errors = of(&events, "error");
    let expect = json!({"message": "当前为思考模式，请切换到 build 模式执行操作", "code": "plan_mode"});
    assert_eq!(errors.iter().map(|e| &e.data).collect::<Vec<_>>(), [&expect], "{events:#?}");
    let ended = of(&events, "tool_end");
    assert!(
        ended.len() == 1 && ended[0].data["denied"] == true && ended[0].data["ok"] == false,
        "{events:#?}"
    );
    assert!(of(&events, "interrupt").is_empty());
    assert_eq!(stage.show(&thread)["turns"][0]["state"], "denied");
    assert_unchanged(&before, stage.repo.path());
}

#[test]
fn the_refusal_is_english_for_those_who_ask_for_it() {
    let stage = ServeStage::playing("\n- tool: write_file\n  args: { path: x, content: y }\n");
    let thread = stage.thread();
    let headers = [("content-type", "application/json"), ("accept-language", "en-GB,en;q=0.9")];
    let body = json!({"message": "x", "mode": "plan"}).to_string();
    let path = format!("/api/chat/{thread}");
    let events = crate::http::send(stage.port, "POST", &path, &headers, body.as_bytes()).events();
    let message = of(&events, "error")[0].data["message"].as_str().unwrap().to_owned();
    assert!(message.contains("plan mode") && message.contains("build"), "{message}");
}

#[test]
fn a_refused_turn_leaves_a_conversation_that_goes_on_in_build() {
    let stage = ServeStage::playing(
        "
- tool: edit_file
  args: { path: a.txt, old: one, new: uno }
- expect: { last: [go on] }
  tool: edit_file
  args: { path: a.txt, old: one, new: uno }
- text: Changed.
",
    );
    let thread = stage.thread();
    stage.say(&thread, "change it", "plan");
    let events = stage.say(&thread, "go on", "build");
    assert!(of(&events, "error").is_empty(), "{events:#?}");
    assert_eq!(of(&events, "tool_end")[0].data["ok"], true);
    let history = stage.get(&format!("/api/threads/{thread}/modes")).json();
    let switches: Vec<_> =
        history["history"].as_array().unwrap().iter().map(|s| (&s["from"], &s["to"])).collect();
    assert_eq!(switches, [(&json!(null), &json!("plan")), (&json!("plan"), &json!("build"))]);
}

#[test]
fn three_commands_in_a_row() {
    let stage = ServeStage::playing(
        "
- tool: execute
  args: { command: pwd }
- tool: execute
  args: { command: ls }
- tool: write_file
  args: { path: test.txt, content: hello }
- text: All done.
",
    );
    let events = stage.say(&stage.thread(), "先执行 pwd，再执行 ls，最后创建 test.txt 文件", "build");
    let ended = of(&events, "tool_end");
    assert_eq!(ended.iter().filter(|e| e.data["ok"] == true).count(), 3, "{events:#?}");
    assert!(ended[0].data["output"].as_str().unwrap().contains("/holon/workspace"));
}

#[test]
fn every_call_of_a_reply_gets_its_own_decision() {
    let stage = ServeStage::playing(
        "
- tools:
    - read_file: { path: a.txt }
    - execute: { command: touch made.txt }
    - brand_new_tool: { x: 1 }
    - read_file: { path: src/b.txt }
",
    );
    let before = tree_state(stage.repo.path());
    let events = stage.say(&stage.thread(), "look", "plan");
    let decisions: Vec<_> = of(&events, "tool_start")
        .iter()
        .map(|e| (e.data["call"].clone(), e.data["decision"].clone()))
        .collect();
    let expect = [("1-1", "allow"), ("1-2", "deny"), ("1-3", "deny"), ("1-4", "allow")];
    assert_eq!(decisions.len(), 4, "{events:#?}");
    for (call, decision) in expect {
        assert!(decisions.contains(&(json!(call), json!(decision))), "{call} {decisions:?}");
    }
    let tried = of(&events, "tool_start").into_iter().find(|e| e.data["call"] == "1-2").unwrap();
    assert_eq!(tried.data["summary"], "touch made.txt", "a refused call says what was tried");
    let ended = of(&events, "tool_end");
    let calls = |ok: bool| {
        ended.iter().filter(|e| e.data["ok"] == ok).map(|e| e.data["call"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        calls(true),
        [json!("1-1"), json!("1-4")],
        "one refused call does not stop the reads beside it"
    );
    assert_eq!(calls(false), [json!("1-2"), json!("1-3")], "and a refused one has its end, too");
    assert_unchanged(&before, stage.repo.path());
}

#[test]
fn a_turn_that_does_not_end_is_ended() {
    let mut cassette = String::new();
    for n in 0..60 {
        cassette += &format!("- tool: read_file\n  args: {{ path: a.txt, from_line: {} }}\n", n % 3 + 1);
    }
    // The supervisor would have stopped this long before.
    let stage = ServeStage::unsupervised(&cassette);
    let events = stage.say(&stage.thread(), "read", "build");
    assert_eq!(of(&events, "error")[0].data["code"], "max_iterations");
    assert_eq!(of(&events, "round").len(), 50);
}

#[test]
fn an_invalid_mode_names_the_valid_ones() {
    let stage = ServeStage::playing("- text: hi\n");
    let answer =
        stage.post(&format!("/api/chat/{}", stage.thread()), json!({"message": "x", "mode": "yolo"}));
    assert_eq!((answer.status, answer.header("content-type")), (422, Some("application/problem+json")));
    let problem = answer.json();
    assert_eq!((&problem["code"], &problem["modes"]), (&json!("invalid_mode"), &json!(["build", "plan"])));
}

#[test]
fn a_thread_can_be_stricter_than_its_mode_and_never_wider() {
    let stage = ServeStage::playing(
        "
- tool: execute
  args: { command: touch made.txt }
- text: Then not.
",
    );
    let thread = stage.thread();
    let put = |tools: serde_json::Value| {
        let headers = [("content-type", "application/json")];
        let path = format!("/api/threads/{thread}/tools");
        crate::http::send(stage.port, "PUT", &path, &headers, json!({"tools": tools}).to_string().as_bytes())
    };
    let wider = put(json!({"brand_new_tool": "allow"}));
    assert_eq!(wider.status, 422);
    assert_eq!(wider.json()["code"], "wider");
    assert_eq!(put(json!({"execute": "sometimes"})).status, 422);
    assert_eq!(put(json!({"execute": "deny"})).status, 200);
    let events = stage.say(&thread, "run it", "build");
    assert_eq!(of(&events, "tool_start")[0].data["decision"], "deny");
    assert!(of(&events, "tool_end").iter().all(|e| e.data["denied"] == true), "{events:#?}");
    assert_eq!(crate::http::words(&events), "Then not.");
}

#[test]
fn the_supervisors_report_asks_no_model() {
    let stage = ServeStage::playing("- text: I was asked.\n");
    let thread = stage.thread();
    let events = stage.say(&thread, "~supervisor", "build");
    assert!(of(&events, "round").is_empty(), "{events:#?}");
    assert_eq!(of(&events, "message").len(), 1);
    let events = stage.say(&thread, "hello", "build");
    assert_eq!(crate::http::words(&events), "I was asked.");
}
