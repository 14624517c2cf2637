//! What calls print and change: its end is never lost, all of it can be read, and it is seen while it comes.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::http::of;
use crate::stage::ServeStage;

#[test]
fn a_long_output_has_its_end_and_the_middle_can_be_read() {
    let stage = ServeStage::unsupervised(
        "
- tool: execute
  args: { command: 'seq 1 40000; echo error: the last line' }
- text: Done.
",
    );
    let thread = stage.thread();
    let events = stage.say(&thread, "count", "build");
    let ended = &of(&events, "tool_end")[0].data;
    let mut whole: String = (1..=40_000).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "{n}");
        text
    });
    whole.push_str("error: the last line\n");
    let (head, end) = (ended["output"].as_str().unwrap(), ended["output_end"].as_str().unwrap());
    assert!(whole.starts_with(head) && !head.is_empty(), "{head}");
    assert!(end.ends_with("error: the last line\n") && whole.ends_with(end), "{end}");
    let left_out = ended["output_left_out"].as_u64().unwrap();
    assert_eq!(head.len() as u64 + end.len() as u64 + left_out, whole.len() as u64);
    let path = format!("/api/threads/{thread}/turns/1/calls/{}/output", ended["call"].as_str().unwrap());
    let (mut read, mut from) = (String::new(), 0);
    while from < whole.len() as u64 {
        let part = stage.get(&format!("{path}?from={from}&bytes=50000")).json();
        assert_eq!((part["from"].as_u64(), part["kept"].as_u64()), (Some(from), Some(whole.len() as u64)));
        read.push_str(part["text"].as_str().unwrap());
        from = part["next"].as_u64().unwrap();
    }
    assert!(read == whole, "every byte, once");
    let middle = stage.get(&format!("{path}?from={}&bytes=10", head.len())).json();
    assert_eq!(middle["text"], whole[head.len()..head.len() + 10]);
    assert_eq!(stage.get(&path.replace("turns/1", "turns/2")).status, 404);
}

#[test]
fn a_command_that_its_limit_ended_is_not_ok() {
    let stage = ServeStage::unsupervised(
        "
- tool: execute
  args: { command: 'echo begun; sleep 600', timeout: 1 }
- tool: execute
  args: { command: 'kill -9 $$' }
- text: Done.
",
    );
    let events = stage.say(&stage.thread(), "wait", "build");
    let ended = of(&events, "tool_end");
    for (at, words) in [(0, "its time was up"), (1, "signal 9")] {
        let data = &ended[at].data;
        assert_eq!((&data["ok"], &data["exit_code"]), (&json!(false), &Value::Null), "{data}");
        assert!(data["summary"].as_str().unwrap().contains(words), "{data}");
    }
    assert_eq!(ended[0].data["output"], "begun\n");
}

#[test]
fn edits_show_what_they_change_and_reads_what_they_read() {
    let stage = ServeStage::unsupervised(
        "
- tool: read_file
  args: { path: src/b.txt }
- tool: edit_file
  args: { path: a.txt, old: one, new: 'eins' }
- tool: write_file
  args: { path: new.txt, content: \"first\\nsecond\\n\" }
- tool: delete_file
  args: { path: src/b.txt }
- text: Done.
",
    );
    let events = stage.say(&stage.thread(), "change", "build");
    let ended: Vec<&Value> = of(&events, "tool_end").iter().map(|event| &event.data).collect();
    assert_eq!(ended[0]["output"], "[lines 1-1 of 1]\ntwo\n");
    let diff = |at: usize| ended[at]["diff"].as_str().unwrap_or_default().to_owned();
    assert!(diff(1).contains("--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one\n+eins\n"), "{}", diff(1));
    assert!(diff(2).contains("new file mode") && diff(2).contains("+first\n+second\n"), "{}", diff(2));
    assert!(diff(3).contains("deleted file mode") && diff(3).contains("-two\n"), "{}", diff(3));
}

#[test]
fn a_running_command_is_seen_by_those_who_ask_for_it() {
    let stage = ServeStage::unsupervised(
        "
- tool: execute
  args: { command: 'echo begun; sleep 600' }
- text: Done.
",
    );
    let thread = stage.thread();
    let body = json!({"message": "run", "mode": "build"});
    let mut stream = stage.post(&format!("/api/chat/{thread}?live=true"), body);
    let seen = std::iter::from_fn(|| stream.next()).find(|event| event.name == "tool_output");
    let seen = seen.expect("what it printed, while it runs");
    assert_eq!((seen.id, &seen.data["end"], &seen.data["bytes"]), (None, &json!("begun\n"), &json!(6)));
    stage.post(&format!("/api/chat/{thread}/cancel"), json!({}));
    let rest = stream.events();
    assert_eq!(of(&rest, "tool_end")[0].data["output"], "begun\n", "{rest:#?}");
    // It is no part of the story, and nobody is told who does not ask.
    assert!(of(&stage.events(&thread, 0), "tool_output").is_empty());
}
