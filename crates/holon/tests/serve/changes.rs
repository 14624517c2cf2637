//! A snapshot that lives: turns build on one another, undo goes back by turn, apply is the only way out.

use std::fs;

use holon_testkit::{assert_unchanged, tree_state};
use serde_json::{Value, json};

use crate::stage::ServeStage;

const THREE: &str = "
- tool: execute
  args: { command: 'echo 1 > one.txt; rm src/b.txt; mkdir d; echo x > d/x' }
- text: First.
- tool: execute
  args: { command: 'cat one.txt && echo 2 >> one.txt && rm -r d && mkdir d && echo y > d/y && echo uno > a.txt' }
- text: Second.
- tool: execute
  args: { command: 'rm one.txt; ls; ls d; cat a.txt' }
- text: Third.
";

fn paths(diff: &Value) -> Vec<String> {
    let one = |f: &Value| format!("{} {}", f["status"].as_str().unwrap(), f["path"].as_str().unwrap());
    let mut paths: Vec<String> = diff["files"].as_array().unwrap().iter().map(one).collect();
    paths.sort();
    paths
}

#[test]
fn inv_02_turns_build_on_one_another_and_only_apply_reaches_the_workspace() {
    let mut stage = ServeStage::playing(THREE);
    let before = tree_state(stage.repo.path());
    let thread = stage.thread();
    let diff = |stage: &ServeStage| stage.get(&format!("/api/threads/{thread}/diff")).json();
    let undo = |stage: &ServeStage| stage.post(&format!("/api/threads/{thread}/undo"), json!({}));
    assert_eq!(paths(&diff(&stage)), [""; 0]);
    stage.say(&thread, "one", "build");
    let first = ["added d/x", "added one.txt", "deleted src/b.txt"];
    assert_eq!(paths(&diff(&stage)), first);
    stage.say(&thread, "two", "build");
    let second = ["added d/y", "added one.txt", "deleted src/b.txt", "modified a.txt"];
    assert_eq!(paths(&diff(&stage)), second);
    let events = stage.say(&thread, "three", "build");
    let output = crate::http::of(&events, "tool_end")[0].data["output"].as_str().unwrap().to_owned();
    assert!(output.contains("a.txt") && output.contains("y") && output.contains("uno"), "{output}");
    assert!(!output.contains("one.txt"), "{output}");
    let third = ["added d/y", "deleted src/b.txt", "modified a.txt"];
    assert_eq!(paths(&diff(&stage)), third);
    assert_unchanged(&before, stage.repo.path());

    // Back by turn, also after a restart.
    stage.kill();
    stage.start();
    assert_eq!(paths(&diff(&stage)), third);
    assert_eq!(undo(&stage).json()["turns"], json!([3]));
    assert_eq!(paths(&diff(&stage)), second);
    assert_eq!(undo(&stage).json()["turns"], json!([2]));
    assert_eq!(paths(&diff(&stage)), first);
    assert_eq!(undo(&stage).json()["turns"], json!([1]));
    assert_eq!(paths(&diff(&stage)), [""; 0]);
    assert_eq!(undo(&stage).status, 409);
    assert_unchanged(&before, stage.repo.path());
}

#[test]
fn apply_brings_everything_and_then_there_is_nothing_left() {
    let stage = ServeStage::playing(THREE);
    let thread = stage.thread();
    let apply = || stage.post(&format!("/api/threads/{thread}/apply"), json!({}));
    assert_eq!(apply().json()["applied"], false);
    stage.say(&thread, "one", "build");
    let applied = apply().json();
    assert_eq!(applied["applied"], true, "{applied}");
    let read = |path: &str| fs::read_to_string(stage.repo.path().join(path)).ok();
    assert_eq!(
        (read("one.txt").as_deref(), read("d/x").as_deref(), read("src/b.txt")),
        (Some("1\n"), Some("x\n"), None)
    );
    let diff = stage.get(&format!("/api/threads/{thread}/diff")).json();
    assert_eq!(paths(&diff), [""; 0]);
    let undo = stage.post(&format!("/api/threads/{thread}/undo"), json!({}));
    assert_eq!((undo.status, undo.json()["code"].as_str()), (409, Some("applied")));
    stage.say(&thread, "two", "build");
    assert_eq!(apply().json()["applied"], true);
    assert_eq!(read("one.txt").as_deref(), Some("1\n2\n"));
    assert_eq!((read("d/x"), read("d/y").as_deref()), (None, Some("y\n")));
}

#[test]
fn an_original_that_changed_meanwhile_is_not_overwritten() {
    let stage = ServeStage::playing(THREE);
    let thread = stage.thread();
    stage.say(&thread, "one", "build");
    fs::write(stage.repo.path().join("one.txt"), "mine\n").unwrap();
    let before = tree_state(stage.repo.path());
    let refused = stage.post(&format!("/api/threads/{thread}/apply"), json!({}));
    assert_eq!(refused.status, 409);
    let problem = refused.json();
    assert_eq!((&problem["code"], &problem["paths"]), (&json!("conflict"), &json!(["one.txt"])));
    assert_unchanged(&before, stage.repo.path());
}

#[test]
fn credentials_and_sensitive_files_need_more_than_a_click() {
    let key = format!("ghp_{}", "Ab3Cd4".repeat(6));
    let stage = ServeStage::playing(&format!(
        "
- tool: execute
  args: {{ command: 'mkdir -p .github/workflows; echo on > .github/workflows/ci.yml' }}
- text: First.
- tool: execute
  args: {{ command: 'echo {key} > key.txt' }}
- text: Second.
"
    ));
    let thread = stage.thread();
    let before = tree_state(stage.repo.path());
    let apply = |body: Value| stage.post(&format!("/api/threads/{thread}/apply"), body);
    stage.say(&thread, "one", "build");
    assert_eq!(apply(json!({})).json()["code"], "sensitive");
    let events = stage.say(&thread, "two", "build");
    assert!(!format!("{events:?}").contains(&key), "credentials are in no event");
    let refused = apply(json!({"allow_sensitive": true})).json();
    assert_eq!(refused["code"], "secret", "{refused}");
    assert!(!stage.get(&format!("/api/threads/{thread}/diff")).text().contains(&key));
    assert_unchanged(&before, stage.repo.path());
}

#[test]
fn inv_17_a_second_word_in_a_chat_is_in_the_audit_log_before_anything_is_applied() {
    let stage = ServeStage::playing(
        "- tool: execute\n  args: { command: 'echo \"Say yes.\" > AGENTS.md' }\n- text: Done.\n",
    );
    let thread = stage.thread();
    let apply = |body: Value| stage.post(&format!("/api/threads/{thread}/apply"), body);
    let actions = |stage: &ServeStage| {
        let log = stage.get(&format!("/api/audit?thread={thread}")).json();
        let entries = log["entries"].as_array().unwrap().clone();
        entries.into_iter().filter(|e| matches!(e["action"].as_str(), Some("applied" | "release_overridden")))
    };
    stage.say(&thread, "one", "build");
    assert_eq!(apply(json!({})).json()["code"], "sensitive");
    assert_eq!(apply(json!({"allow_sensitive": true, "reason": "ok"})).status, 422);
    assert_eq!(actions(&stage).count(), 0);
    let reason = "It was read by two people";
    assert_eq!(apply(json!({"allow_sensitive": true, "reason": reason})).json()["applied"], true);
    let entries: Vec<Value> = actions(&stage).collect();
    let names: Vec<&str> = entries.iter().map(|e| e["action"].as_str().unwrap()).collect();
    assert_eq!(names, ["release_overridden", "applied"]);
    let detail = &entries[0]["detail"];
    assert_eq!((&detail["reason"], &detail["of"]), (&json!(reason), &json!(["sensitive"])));
    assert!(detail["what"].as_str().unwrap().contains("AGENTS.md"), "{detail}");
}

#[test]
fn the_audit_log_of_a_thread_outlives_it() {
    let stage = ServeStage::playing(
        "- tool: execute\n  args: { command: 'echo 1 > one.txt; exit 3' }\n- text: Done.\n",
    );
    let thread = stage.thread();
    stage.say(&thread, "one", "build");
    let path = format!("/api/audit?thread={thread}");
    let before = stage.get(&path).json()["entries"].as_array().unwrap().clone();
    let ended = before.iter().find(|e| e["action"] == "tool_ended").expect("what became of the call");
    let detail = &ended["detail"];
    assert_eq!((&detail["tool"], &detail["outcome"]), (&json!("execute"), &json!("failure")), "{detail}");
    assert!(detail["command"].as_str().unwrap().contains("echo 1 > one.txt"), "{detail}");
    let deleted = crate::http::send(stage.port, "DELETE", &format!("/api/threads/{thread}"), &[], b"");
    assert_eq!(deleted.status, 204);
    let answer = stage.get(&path);
    assert_eq!(answer.status, 200);
    let after = answer.json()["entries"].as_array().unwrap().clone();
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.last().unwrap()["action"], "thread_deleted");
    assert_eq!(stage.get("/api/audit?thread=th-00000000000000000000000000").status, 404);
}

#[test]
fn a_deleted_thread_leaves_nothing_on_disk() {
    let stage = ServeStage::playing(THREE);
    let thread = stage.thread();
    stage.say(&thread, "one", "build");
    let find = || {
        let output = stage.env.program("find").arg(stage.env.state()).args(["-name", &thread]).run();
        output.stdout.trim().to_owned()
    };
    assert!(!find().is_empty());
    let deleted = crate::http::send(stage.port, "DELETE", &format!("/api/threads/{thread}"), &[], b"");
    assert_eq!(deleted.status, 204);
    assert_eq!(find(), "");
    assert_eq!(stage.get(&format!("/api/threads/{thread}")).status, 404);
}

#[test]
fn logs_that_the_user_wants_in_the_workspace_are_not_part_of_a_thread() {
    let stage = ServeStage::new();
    stage.env.write(stage.env.config().join("holon/config.toml"), "[artifacts]\nlogs_dir = 'logs/holon'\n");
    fs::create_dir_all(stage.repo.path().join("logs/holon")).unwrap();
    fs::write(stage.repo.path().join("logs/holon/audit.jsonl"), "private\n").unwrap();
    let stage = stage.play(
        "
- tool: execute
  args: { command: 'cat logs/holon/audit.jsonl; ls -R logs; echo 1 > one.txt' }
- text: Looked.
",
    );
    let thread = stage.thread();
    let events = stage.say(&thread, "look", "build");
    let output = crate::http::of(&events, "tool_end")[0].data["output"].as_str().unwrap().to_owned();
    assert!(!output.contains("private"), "{output}");
    // They grow while the agent works, which is no change of anyone's.
    fs::write(stage.repo.path().join("logs/holon/audit.jsonl"), "private\nmore\n").unwrap();
    let diff = stage.get(&format!("/api/threads/{thread}/diff")).json();
    assert_eq!(paths(&diff), ["added one.txt"]);
    assert_eq!(stage.post(&format!("/api/threads/{thread}/apply"), json!({})).json()["applied"], true);
    let kept = fs::read_to_string(stage.repo.path().join("logs/holon/audit.jsonl")).unwrap();
    assert_eq!(kept, "private\nmore\n");
}
