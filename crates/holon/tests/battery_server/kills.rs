//! kill -9 at points that are told by counting events, not by waiting.

use holon_testkit::{assert_unchanged, tree_state};
use serde_json::json;

use crate::http::{TestSseEvent, of};
use crate::stage::ServeStage;

/// A turn with reads, commands, words in pieces, and pauses in which the next event is still to come.
const TURN: &str = "
- text: 'I look first. '
  tools:
    - read_file: { path: a.txt }
    - execute: { command: 'echo 1 > one.txt; cat a.txt' }
- reply: [{ text: 'So far ' }, { delay: 30ms }, { text: 'so good. ' }, { delay: 30ms }, { text: 'Next. ' },
          { tool: execute, args: { command: 'echo 2 >> one.txt; mkdir -p d; echo x > d/x' } }]
- tools:
    - write_file: { path: two.txt, content: two }
    - edit_file: { path: a.txt, old: one, new: uno }
- reply: [{ text: 'Nearly ' }, { delay: 30ms }, { text: 'done ' }, { delay: 30ms }, { text: now. }]
- text: Again.
";

/// A small generator: the same points in every run.
struct KillDice(u64);

impl KillDice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn a_kill_at_any_point_loses_no_stored_event_and_leaves_the_thread_usable() {
    let mut stage = ServeStage::playing(TURN);
    let before = tree_state(stage.repo.path());
    let whole = stage.say(&stage.thread(), "go", "build");
    assert!(whole.len() > 20 && of(&whole, "error").is_empty(), "{whole:#?}");
    let mut dice = KillDice(20_261_115);
    let mut seen_at = Vec::new();
    for _ in 0..20 {
        let point = dice.below(whole.len() as u64 - 1) as usize + 1;
        let thread = stage.thread();
        let mut stream = stage.post(&format!("/api/chat/{thread}"), json!({"message": "go"}));
        let seen: Vec<TestSseEvent> = std::iter::from_fn(|| stream.next()).take(point).collect();
        stage.kill();
        stage.start();
        seen_at.push(seen.len());
        check(&stage, &thread, &seen);
    }
    seen_at.sort_unstable();
    seen_at.dedup();
    assert!(seen_at.len() >= 10, "the points differ: {seen_at:?}");
    assert_unchanged(&before, stage.repo.path());
    stage.kill();
    stage.env.assert_nothing_left();
}

fn check(stage: &ServeStage, thread: &str, seen: &[TestSseEvent]) {
    let stored = stage.events(thread, 0);
    let numbered: Vec<&TestSseEvent> = seen.iter().filter(|event| event.id.is_some()).collect();
    for (kept, event) in stored.iter().zip(&numbered) {
        assert_eq!(kept, *event, "whatever was seen is stored, in its place");
    }
    assert!(stored.len() > numbered.len(), "{} events were seen", numbered.len());
    let shown = stage.show(thread);
    assert_eq!(shown["state"], "idle", "{shown:#}");
    let state = shown["turns"][0]["state"].as_str().unwrap();
    let told = of(&stored, "error").iter().any(|event| event.data["code"] == "interrupted");
    assert_eq!(state == "interrupted", told, "{state}: {stored:#?}");
    assert!(told || state == "completed", "{state}");
    // What it did so far can be seen, gone on with, and taken back.
    assert_eq!(stage.get(&format!("/api/threads/{thread}/diff")).status, 200);
    let events = stage.say(thread, "go on", "build");
    assert!(of(&events, "error").is_empty(), "{events:#?}");
    assert_eq!(stage.post(&format!("/api/threads/{thread}/undo"), json!({"turn": 1})).status, 200);
    let diff = stage.get(&format!("/api/threads/{thread}/diff")).json();
    assert_eq!(diff["files"], json!([]), "{diff:#}");
    let audit = stage.get("/api/audit/verify").json();
    assert_eq!(audit["ok"], true, "{audit:#}");
}
