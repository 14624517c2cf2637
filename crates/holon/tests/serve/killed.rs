//! Ends of the server: asked for, or not.

use rustix::process::Signal;
use serde_json::json;

use crate::http::of;
use crate::stage::ServeStage;

const WORKS: &str = "
- tool: execute
  args: { command: echo kept > kept.txt }
- reply: [{ text: half }, { delay: 30s }, { text: never }]
";

#[test]
fn a_killed_server_loses_nothing_that_was_stored() {
    let mut stage = ServeStage::playing(WORKS);
    let thread = stage.thread();
    let mut stream = stage.post(&format!("/api/chat/{thread}"), json!({"message": "go"}));
    let mut seen = Vec::new();
    while of(&seen, "message").is_empty() {
        seen.push(stream.next().unwrap());
    }
    stage.kill();
    stage.start();
    let shown = stage.show(&thread);
    assert_eq!((&shown["state"], &shown["turns"][0]["state"]), (&json!("idle"), &json!("interrupted")));
    assert_eq!(shown["turns"][0]["changed"], true, "what it did can be taken back");
    let all = stage.events(&thread, 0);
    assert_eq!(all[..seen.len()], seen[..], "whatever was seen is stored");
    assert_eq!(of(&all, "error").last().unwrap().data["code"], "interrupted");
    // What a finished call did is there, and the thread can be used.
    let diff = stage.get(&format!("/api/threads/{thread}/diff")).json();
    assert_eq!(diff["files"][0]["path"], "kept.txt", "{diff}");
    let mut stream = stage.post(&format!("/api/chat/{thread}"), json!({"message": "again"}));
    let ended = std::iter::from_fn(|| stream.next()).find(|event| event.name == "tool_end");
    assert_eq!(ended.unwrap().data["ok"], true);
    stage.post(&format!("/api/chat/{thread}/cancel"), json!({}));
    drop(stream);
    let audit = stage.get("/api/audit/verify").json();
    assert_eq!(audit["ok"], true);
}

#[test]
fn a_server_that_is_asked_to_end_ends_its_turns_first() {
    let mut stage = ServeStage::playing(WORKS);
    let thread = stage.thread();
    let mut stream = stage.post(&format!("/api/chat/{thread}"), json!({"message": "go"}));
    while stream.next().unwrap().name != "message" {}
    let server = stage.server.take().unwrap();
    server.signal(Signal::TERM);
    let rest = stream.events();
    assert_eq!(of(&rest, "error")[0].data["code"], "interrupted", "{rest:#?}");
    assert_eq!(rest.last().unwrap().name, "done");
    server.wait().assert_code(0);
    stage.start();
    let shown = stage.show(&thread);
    assert_eq!((&shown["state"], &shown["turns"][0]["state"]), (&json!("idle"), &json!("interrupted")));
    assert_eq!(shown["turns"][0]["changed"], true);
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let stage = ServeStage::playing("- text: hi\n");
    let second = stage.env.holon(["serve", "--listen", "127.0.0.1:0"]).cwd(stage.repo.path()).run();
    assert!(second.stderr.contains("another server is running"), "{}", second.stderr);
}

#[test]
fn idle_threads_cost_no_process() {
    let mut stage = ServeStage::playing(WORKS);
    let thread = stage.thread();
    let mut stream = stage.post(&format!("/api/chat/{thread}"), json!({"message": "go"}));
    while stream.next().unwrap().name != "message" {}
    stage.post(&format!("/api/chat/{thread}/cancel"), json!({}));
    stream.events();
    let pid = stage.server.as_ref().unwrap().pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    assert_eq!(children, "");
    stage.kill();
    stage.env.assert_nothing_left();
}

#[test]
fn a_damaged_database_is_said_with_what_to_do() {
    let stage = ServeStage::new();
    let garbage = "this was a database once ".repeat(400);
    stage.env.write(stage.env.state().join("holon/server/holon.db"), &garbage);
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["chat", "--list"]] {
        let output = stage.env.holon(command).cwd(stage.repo.path()).run();
        assert_ne!(output.code, 0);
        assert!(output.stderr.contains("error: the database failed"), "{}", output.stderr);
        assert!(output.stderr.contains("hint: put a copy of `server/holon.db`"), "{}", output.stderr);
    }
    let kept = std::fs::read_to_string(stage.env.state().join("holon/server/holon.db")).unwrap();
    assert_eq!(kept, garbage, "nothing is done to it");
}
