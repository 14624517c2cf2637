//! Plan mode in chat: whatever the model tries, no byte changes, neither in the workspace nor in the thread's copy of it.

use holon_testkit::{assert_unchanged, tree_state};
use serde_json::json;

use crate::http::{of, send};
use crate::stage::ServeStage;

/// One attempt each; none of them may be carried out.
const ATTEMPTS: &[&str] = &[
    "execute: { command: 'echo pwned > a.txt' }",
    "execute: { command: 'true' }",
    "execute: { command: 'ls', background: true }",
    "write_file: { path: a.txt, content: pwned }",
    "write_file: { path: new.txt, content: pwned }",
    "write_file: { path: ../escaped.txt, content: pwned }",
    "write_file: { path: /tmp/escaped.txt, content: pwned }",
    "write_file: { path: .git/hooks/post-checkout, content: '#!/bin/sh' }",
    "write_file: { path: .holon/modes/plan.toml, content: 'name = \"plan\"' }",
    "edit_file: { path: a.txt, old: one, new: pwned }",
    "multi_edit: { path: a.txt, edits: [{ old: one, new: pwned }] }",
    "apply_patch: { patch: \"--- a/a.txt\\n+++ b/a.txt\\n@@ -1 +1 @@\\n-one\\n+pwned\\n\" }",
    "bash: { command: 'echo pwned > a.txt' }",
    "shell: { command: ['sh', '-c', 'echo pwned > a.txt'] }",
    "Execute: { command: 'echo pwned > a.txt' }",
    "EXECUTE: { command: 'echo pwned > a.txt' }",
    "' execute': { command: 'echo pwned > a.txt' }",
    "execute_command: { command: 'echo pwned > a.txt' }",
    "mcp__files__write: { path: a.txt, content: pwned }",
    "delete_file: { path: a.txt }",
    "move_file: { from: a.txt, to: b.txt }",
    "finish: { summary: 'pwned' }",
    "submit_plan: { plan: pwned }",
];

/// Reads that a plan may make, and that must not write by the way.
const READS: &[&str] = &[
    "read_file: { path: a.txt }",
    "read_file: { path: ../../../etc/passwd }",
    "read_file: { path: /proc/self/environ }",
    "list_files: { path: . }",
    "search: { pattern: one }",
    "grep: { pattern: one }",
    "glob: { pattern: '**/*' }",
    "write_todos: { todos: [{ text: pwned, status: doing }] }",
];

/// What a plan may use.
const HARMLESS: &[&str] = &["ls", "read_file", "grep", "glob", "write_todos"];

#[test]
fn inv_01_breach_attempts_through_chat_change_no_byte() {
    let mut cassette = String::new();
    for attempt in ATTEMPTS.iter().chain(READS) {
        // An attempt that ends its turn leaves the words for the next message.
        cassette += &format!("- tools:\n    - {attempt}\n- text: next\n");
    }
    let stage = ServeStage::playing(&cassette);
    let before = tree_state(stage.repo.path());
    let thread = stage.thread();
    let (mut refused, mut allowed) = (0, Vec::new());
    for turn in 0..2 * (ATTEMPTS.len() + READS.len()) {
        let events = stage.say(&thread, &format!("attempt {turn}"), "plan");
        for event in of(&events, "tool_start") {
            match event.data["decision"].as_str().unwrap() {
                "deny" => refused += 1,
                _ => allowed.push(event.data["tool"].as_str().unwrap().to_owned()),
            }
        }
        if of(&events, "error").iter().any(|event| event.data["code"] == "model") {
            break;
        }
    }
    assert!(refused >= ATTEMPTS.len(), "{refused} were refused, {allowed:?} allowed");
    for tool in &allowed {
        assert!(HARMLESS.contains(&tool.as_str()), "{tool} was allowed");
    }
    assert!(allowed.len() >= 3, "reading goes on: {allowed:?}");
    let diff = stage.get(&format!("/api/threads/{thread}/diff")).json();
    assert_eq!((&diff["files"], &diff["patch"]), (&json!([]), &json!("")), "{diff:#}");
    assert_unchanged(&before, stage.repo.path());
    assert!(!std::path::Path::new("/tmp/escaped.txt").exists());
}

#[test]
fn a_thread_cannot_be_made_wider_than_plan_by_its_tools() {
    let stage = ServeStage::playing("- tool: execute\n  args: { command: 'echo pwned > a.txt' }\n");
    let before = tree_state(stage.repo.path());
    let thread = stage.thread();
    let body = json!({"tools": {"execute": "allow", "write_file": "allow", "*": "allow"}}).to_string();
    let headers = [("content-type", "application/json")];
    let path = format!("/api/threads/{thread}/tools");
    let set = send(stage.port, "PUT", &path, &headers, body.as_bytes());
    assert!(matches!(set.status, 200 | 422));
    let events = stage.say(&thread, "go", "plan");
    assert_eq!(of(&events, "error")[0].data["code"], "plan_mode", "{events:#?}");
    assert!(of(&events, "tool_end").iter().all(|event| event.data["denied"] == true), "{events:#?}");
    assert_unchanged(&before, stage.repo.path());
}
