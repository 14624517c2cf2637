//! Tools that look: ls, read_file, glob, grep.

use holon_hands::ToolRequest;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, settings};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "two\n")];

#[test]
fn each_tool_says_what_it_saw() {
    let hands = InMemoryExecutor::with(FILES);
    let played = TurnStage::new(settings("execute"), &hands).play(
        "
- tools:
    - ls: {}
    - read_file: { path: a.txt, offset: '2', limit: 1 }
    - glob: { pattern: '*.txt' }
    - grep: { pattern: two }
    - grep: { pattern: absent }
    - read_file: { path: nope }
    - read_file: { offset: 3 }
    - read_file: { path: a.txt, limit: many }
- tool: finish
  args: { summary: Looked. }
",
    );
    let results = played.results();
    assert_eq!(results[0], "a.txt\nb.txt");
    assert_eq!(results[1], "[lines 2-2 of 3; go on with offset 3]\ntwo\n");
    assert_eq!(results[2], "a.txt\nb.txt");
    assert_eq!(results[3], "a.txt\n2:two\nb.txt\n1:two");
    assert_eq!(results[4], "[nothing in 2 files]");
    assert_eq!(results[5], "nope: there is no such file");
    assert_eq!(
        results[6],
        "missing field `path`. read_file takes {path: string, offset?: integer, limit?: integer}"
    );
    assert!(results[7].starts_with("expected a whole number, found `\"many\"`"), "{}", results[7]);
}

#[test]
fn neighbouring_reads_run_at_the_same_time_and_nothing_else_does() {
    let hands = InMemoryExecutor::with(FILES);
    TurnStage::new(settings("execute"), &hands).play(
        "
- tools:
    - read_file: { path: a.txt }
    - read_file: { path: b.txt }
    - grep: { pattern: x }
    - write_file: { path: c.txt, content: c }
    - read_file: { path: c.txt }
- tool: finish
  args: { summary: Read. }
",
    );
    assert_eq!(hands.most_running(), 3);
    // The read after the write saw it, so it waited for it.
    let deeds = hands.deeds();
    let at = |wanted: &dyn Fn(&ToolRequest) -> bool| deeds.iter().position(wanted).unwrap();
    let written = at(&|deed| matches!(deed, ToolRequest::Store { path, .. } if path == "c.txt"));
    let read = at(&|deed| matches!(deed, ToolRequest::Read { path, .. } if path == "c.txt"));
    assert!(written < read);
    let hands = InMemoryExecutor::with(FILES).knowing("true", 0, "");
    TurnStage::new(settings("execute"), &hands).play(
        "
- tools: [{ execute: { command: 'true' } }, { execute: { command: 'true' } }]
- tool: finish
  args: { summary: Ran. }
",
    );
    assert_eq!(hands.most_running(), 1);
}

#[test]
fn lines_are_numbered_where_nothing_can_be_edited() {
    let hands = InMemoryExecutor::with(FILES);
    let played = TurnStage::new(settings("review"), &hands).play(
        "
- tools: [{ read_file: { path: b.txt } }]
- tools:
    - report_findings: { verdict: approve, findings: [] }
    - finish: { summary: Fine. }
",
    );
    assert_eq!(played.results()[0], "[lines 1-1 of 1]\n1\ttwo\n");
}
