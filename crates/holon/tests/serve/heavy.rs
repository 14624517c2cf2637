//! More than a patch can hold: nothing is applied, and the thread goes on.

use holon_testkit::{assert_unchanged, tree_state};
use serde_json::{Value, json};

use crate::http::of;
use crate::stage::ServeStage;

const HEAVY: &str = "
- tool: execute
  args: { command: 'echo 1 > one.txt' }
- text: First.
- tool: execute
  args: { command: 'truncate -s 300M big.bin' }
- text: Second.
- tool: execute
  args: { command: 'truncate -s 300M big.bin' }
- text: Third.
- tool: execute
  args: { command: 'rm big.bin && echo gone' }
- text: Fourth.
";

#[test]
fn a_thread_outlives_changes_that_fit_no_patch() {
    let stage = ServeStage::unsupervised(HEAVY);
    let before = tree_state(stage.repo.path());
    let thread = stage.thread();
    let turn = || {
        let events = stage.say(&thread, "go", "build");
        assert!(of(&events, "error").is_empty(), "{events:#?}");
        of(&events, "tool_end")[0].data["output"].as_str().unwrap().to_owned()
    };
    let too_much = |status: u16, problem: Value| {
        assert_eq!(status, 422, "{problem}");
        assert!(problem["message"].as_str().unwrap().contains("big.bin"), "{problem}");
        assert!(problem["hint"].as_str().unwrap().contains("undo"), "{problem}");
    };
    turn();
    turn();
    let diff = stage.get(&format!("/api/threads/{thread}/diff"));
    too_much(diff.status, diff.json());
    let apply = || stage.post(&format!("/api/threads/{thread}/apply"), json!({}));
    let refused = apply();
    too_much(refused.status, refused.json());
    assert_unchanged(&before, stage.repo.path());
    // Both ways out: taking the turn back, and asking for the file to be removed.
    let undone = stage.post(&format!("/api/threads/{thread}/undo"), json!({})).json();
    assert_eq!(undone["turns"], json!([2]));
    let files = || stage.get(&format!("/api/threads/{thread}/diff")).json()["files"].clone();
    assert_eq!(files(), json!([{"path": "one.txt", "status": "added"}]));
    turn();
    assert_eq!(turn(), "gone\n");
    assert_eq!(apply().json()["files"], json!(["one.txt"]));
}
