//! Children that only look.

use holon_agent::{TurnEndReason, TurnLimit, TurnSettings};
use holon_core::event::EventBody;
use holon_hands::ToolRequest;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, own_profile};

fn settings() -> TurnSettings {
    let profile =
        own_profile("name = 'own'\nextends = 'execute'\nwiden = true\n[tools]\ndelegate = 'allow'\n");
    TurnSettings::for_run(profile, "Work.", "some-model")
}

#[test]
fn a_child_looks_in_its_own_conversation_and_answers() {
    let hands = InMemoryExecutor::with(&[("a.rs", "fn lexer() {}\n")]);
    let played = TurnStage::new(settings(), &hands).play(
        "
- tool: delegate
  args: { task: Where is the lexer? }
  usage: { input: 1 }
- expect: { tools: [ls, read_file, glob, grep], contains: Where is the lexer?, lacks: Do the work. }
  text: Searching.
  tools: [{ grep: { pattern: lexer } }, { write_file: { path: a.rs, content: gone } }, { delegate: { task: x } }]
  usage: { input: 10 }
- expect: { last: ['1:fn lexer', 'The tools here are: ls, read_file, glob, grep'] }
  text: It is in a.rs:1.
  usage: { input: 100 }
- expect: { last: 'It is in a.rs:1.' }
  tool: finish
  args: { summary: Found. }
  usage: { input: 1000 }
",
    );
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
    assert_eq!((played.ended.rounds, played.ended.usage.input), (4, 1_111));
    assert_eq!(hands.file("a.rs").unwrap(), "fn lexer() {}\n");
    assert!(
        !hands.deeds().iter().any(|deed| matches!(deed, ToolRequest::Store { path, .. } if path == "a.rs"))
    );
    let ids: Vec<String> = played
        .events
        .iter()
        .filter_map(|body| match body {
            EventBody::ToolDecided { call, .. } => Some(call.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["1-1", "1-1.1-1", "1-1.1-2", "1-1.1-3", "2-1"]);
    let words = played
        .events
        .iter()
        .any(|body| matches!(body, EventBody::MessageDelta { text } if text == "Searching."));
    assert!(!words, "a child talks to its parent alone");
}

#[test]
fn several_children_and_reads_run_at_the_same_time() {
    let hands = InMemoryExecutor::with(&[("a.rs", "one\n"), ("b.rs", "two\n")]);
    let played = TurnStage::new(settings(), &hands).play(
        "
- tools: [{ delegate: { task: first } }, { delegate: { task: second } }]
- { tool: read_file, args: { path: a.rs } }
- { tool: read_file, args: { path: b.rs } }
- { text: done }
- { text: done }
- { tool: finish, args: { summary: Both. } }
",
    );
    assert_eq!(hands.most_running(), 2);
    assert_eq!(played.results()[..2], ["done", "done"]);
}

#[test]
fn children_share_the_budget_and_have_rounds_of_their_own() {
    let hands = InMemoryExecutor::default();
    let mut tight = settings();
    tight.limits.rounds = 3;
    let played =
        TurnStage::new(tight, &hands).play("- tool: delegate\n  args: { task: x }\n- tool: ls\n- tool: ls\n");
    assert_eq!((&played.ended.reason, played.ended.rounds), (&TurnEndReason::Limit(TurnLimit::Rounds), 3));
    assert_eq!(played.results()[0], "[stopped: rounds used up]\nit found nothing yet");
    let endless = "- tool: ls\n".repeat(15);
    let played = TurnStage::new(settings(), &hands).play(&format!(
        "- tool: delegate\n  args: {{ task: x }}\n{endless}- expect: {{ last: 'stopped: rounds' }}\n  tool: finish\n  args: {{ summary: x }}"
    ));
    assert_eq!(played.ended.rounds, 17);
}

#[test]
fn a_child_that_fails_is_no_end() {
    let hands = InMemoryExecutor::default();
    let played = TurnStage::new(settings(), &hands).play(
        "
- { tool: delegate, args: { task: x } }
- error: overloaded
- { expect: { last: the helper failed }, tool: finish, args: { summary: x } }
",
    );
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
}
