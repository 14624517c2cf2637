//! Commands, in the foreground and in the background.

use holon_core::event::EventBody;
use holon_hands::ToolRequest;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, settings};

#[test]
fn a_command_tells_its_exit_code_and_its_output_as_it_comes() {
    let hands =
        InMemoryExecutor::default().knowing("make", 2, "cc a.c\nerror: boom\n").knowing("true", 0, "");
    let played = TurnStage::new(settings("execute"), &hands).play(
        "
- tools: [{ execute: { command: make, timeout: 5 } }, { execute: { command: 'true' } }]
- tool: finish
  args: { summary: Tried. }
",
    );
    assert_eq!(played.results()[0], "exit code 2\ncc a.c\nerror: boom");
    assert_eq!(played.results()[1], "exit code 0, no output");
    let told = played
        .events
        .iter()
        .any(|body| matches!(body, EventBody::ToolOutput { text, .. } if text.contains("boom")));
    assert!(told);
    let exits: Vec<_> = played
        .events
        .iter()
        .filter_map(|body| match body {
            EventBody::ToolFinished { ok, exit_code: Some(code), .. } => Some((*ok, *code)),
            _ => None,
        })
        .collect();
    assert_eq!(exits, [(false, 2), (true, 0)]);
    assert!(matches!(&hands.deeds()[0], ToolRequest::Run(run) if run.timeout_ms == 5_000));
    let facts = &played.conversation.facts;
    assert_eq!(facts.failures.len(), 1);
    assert_eq!((facts.failures[0].how.as_str(), facts.passed.as_deref()), ("exit code 2", Some("true")));
}

#[test]
fn a_background_job_is_started_looked_at_fed_and_ended() {
    let hands = InMemoryExecutor::default();
    let played = TurnStage::new(settings("execute"), &hands).play(
        "
- tool: execute
  args: { command: serve, background: true }
- expect: { last: job 1 started }
  tools: [{ job: { job: 1 } }, { job: { job: 1, input: hi } }, { job: { job: '1', end: true } }, { job: { job: x } }]
- expect: { last: ['still running', 'listening', 'ended by signal 15', 'job takes'] }
  tool: finish
  args: { summary: Served. }
",
    );
    let kinds: Vec<&str> = hands
        .deeds()
        .iter()
        .map(|deed| match deed {
            ToolRequest::Start(run) if run.timeout_ms == 0 => "start",
            ToolRequest::Look { .. } => "look",
            ToolRequest::Feed { .. } => "feed",
            ToolRequest::End { .. } => "end",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["start", "look", "feed", "look", "end", "other"]);
    assert_eq!(played.results()[1], "still running\nlistening\n[all output is in /tmp/jobs/1]");
}

#[test]
fn a_mode_without_background_commands_offers_none_and_starts_none() {
    let hands = InMemoryExecutor::default();
    let played = TurnStage::new(settings("review"), &hands).play(
        "
- expect:
    tools: [ls, read_file, grep, execute, delegate, report_findings, finish]
    lacks: background
  tool: execute
  args: { command: serve, background: true }
- expect: { last: 'denied: review mode does not allow `execute_background`' }
  tools:
    - report_findings: { verdict: approve, findings: [] }
    - finish: { summary: Fine. }
",
    );
    assert!(!hands.deeds().iter().any(|deed| matches!(deed, ToolRequest::Start(_))));
    assert_eq!(played.finished(), 2);
}
