//! Every call is decided on by itself, and what is not allowed never reaches the hands.

use holon_agent::TurnEndReason;
use holon_core::event::EventBody;
use holon_core::policy::ToolVerdict;
use holon_hands::ToolRequest;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, chat, own_profile, settings};

#[test]
fn inv_10_a_blocked_call_is_never_executed() {
    let attempts = "
- tools:
    - write_file: { path: a.txt, content: pwned }
    - edit_file: { path: a.txt, old: one, new: pwned }
    - delete_file: { path: a.txt }
    - apply_patch: { patch: \"*** Begin Patch\\n*** Delete File: a.txt\\n*** End Patch\" }
    - execute: { command: rm a.txt }
    - execute: { command: rm a.txt, background: true }
    - job: { job: 1, input: rm }
    - delegate: { task: delete a.txt }
    - brand_new_tool: { path: a.txt }
    - move_file: { path: a.txt }
    - mcp_forge: {}
";
    let quiet = own_profile("name = 'own'\nextends = 'plan'\n[tools]\nexecute = 'deny'\ndelegate = 'deny'\n");
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let mut settings = settings("plan");
    settings.profile = quiet;
    let end = "- tool: finish\n  args: { summary: Nothing., status: failed }\n";
    let played = TurnStage::new(settings, &hands).play(&format!("{attempts}{end}"));
    assert_eq!(hands.file("a.txt").unwrap(), "one\n");
    let deeds = hands.deeds();
    assert!(
        matches!(deeds.as_slice(), [ToolRequest::Store { path, .. }, ..] if path == "/holon/output/summary.md"),
        "{deeds:?}"
    );
    assert_eq!(played.verdicts()[..11], [ToolVerdict::Deny; 11]);
    assert_eq!(played.finished(), 1);
    assert!(played.results()[..11].iter().all(|text| text.starts_with("denied: ")), "{:?}", played.results());
}

#[test]
fn inv_10_a_blocked_call_of_an_allowed_tool_is_never_executed() {
    let careful = "name = 'own'\nextends = 'execute'\n[tools]\nexecute_background = 'deny'\nedit_file = 'ask'\n\
                   [commands]\ndeny = ['rm *', 'git push *']\n";
    let mut settings = settings("execute");
    settings.profile = own_profile(careful);
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]).knowing("true", 0, "");
    let played = TurnStage::new(settings, &hands).play(
        "
- tools:
    - execute: { command: rm a.txt }
    - execute: { command: 'true; sh -c \"rm a.txt\"' }
    - execute: { command: env git push origin }
    - execute: { command: 'true', background: true }
    - edit_file: { path: a.txt, old: one, new: pwned }
    - execute: { command: 'true' }
- { tool: finish, args: { summary: x } }
",
    );
    assert_eq!(played.verdicts()[..5], [ToolVerdict::Deny; 5]);
    assert_eq!(hands.file("a.txt").unwrap(), "one\n");
    let ran: Vec<String> = hands
        .deeds()
        .into_iter()
        .filter_map(|deed| match deed {
            ToolRequest::Run(run) | ToolRequest::Start(run) => Some(run.line),
            _ => None,
        })
        .collect();
    assert_eq!((ran.as_slice(), played.finished()), (["true".to_owned()].as_slice(), 2));
}

#[test]
fn a_refused_call_of_a_tool_that_is_not_offered_says_what_was_tried() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let played = TurnStage::new(chat("plan"), &hands).play(
        "- tools:\n    - write_file: { path: a.txt, content: x }\n    - brand_new: { command: rm a.txt }\n",
    );
    let summaries: Vec<Option<String>> = played
        .events
        .iter()
        .filter_map(|event| match event {
            EventBody::ToolProposed { summary, .. } => Some(summary.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(summaries, [Some("a.txt".to_owned()), Some("rm a.txt".to_owned())]);
    assert!(matches!(played.ended.reason, TurnEndReason::Denied { .. }), "{:?}", played.ended.reason);
}

#[test]
fn as_many_decisions_as_calls_each_before_its_execution() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let played = TurnStage::new(settings("plan"), &hands).play(
        "
- tools:
    - read_file: { path: a.txt }
    - write_file: { path: a.txt, content: x }
    - grep: { pattern: one }
- expect: { last: ['one', 'plan mode does not let `write_file` change files'] }
  tool: finish
  args: { summary: x, status: failed }
",
    );
    assert_eq!(
        played.verdicts(),
        [ToolVerdict::Allow, ToolVerdict::Deny, ToolVerdict::Allow, ToolVerdict::Allow]
    );
    let mut decided = std::collections::BTreeSet::new();
    for body in &played.events {
        match body {
            EventBody::ToolDecided { call, .. } => {
                assert!(decided.insert(call.clone()), "{call} was decided on twice")
            }
            EventBody::ToolFinished { call, .. } => assert!(decided.contains(call)),
            _ => {}
        }
    }
    let ids: Vec<&str> = decided.iter().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["1-1", "1-2", "1-3", "2-1"]);
}

#[test]
fn an_unknown_tool_is_denied_with_the_list_of_known_ones() {
    let hands = InMemoryExecutor::default();
    let played = TurnStage::new(settings("ethical"), &hands).play(
        "
- tools: [{ teleport: { command: ls } }, { move_file: { from: a, to: b } }]
- tool: finish
  args: { summary: x, status: failed }
",
    );
    let results = played.results();
    assert!(results[0].contains("`teleport` is not a tool Holon knows"), "{}", results[0]);
    assert!(results[0].ends_with(
        "The tools here are: ls, read_file, glob, grep, execute, delegate, write_todos, report_ethics, finish"
    ));
    assert!(results[1].contains("The tools here are"), "{}", results[1]);
}

#[test]
fn command_rules_hold_for_every_command_of_a_line() {
    let hands = InMemoryExecutor::default().knowing("cargo test", 0, "ok");
    let mut settings = settings("execute");
    settings.profile =
        own_profile("name = 'own'\nextends = 'execute'\n[commands]\nallow = ['cargo test *']\n");
    let played = TurnStage::new(settings, &hands).play(
        "
- tools: [{ execute: { command: cargo test } }, { execute: { command: cargo test && rm -rf . } }]
- tool: finish
  args: { summary: x }
",
    );
    assert_eq!(played.verdicts(), [ToolVerdict::Allow, ToolVerdict::Deny, ToolVerdict::Allow]);
    let lines = hands.deeds().into_iter().filter(|deed| matches!(deed, ToolRequest::Run(_))).count();
    assert_eq!(lines, 1);
}

#[test]
fn in_a_thinking_chat_the_first_change_ends_the_turn_and_reads_beside_it_are_answered() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let stage = TurnStage::new(chat("plan"), &hands);
    let played = stage.play(
        "
- expect: { tools: [ls, read_file, glob, grep, write_todos] }
  tools: [{ read_file: { path: a.txt } }, { execute: { command: touch b } }, { grep: { pattern: one } }]
",
    );
    match &played.ended.reason {
        TurnEndReason::Denied { tool, decision } => {
            assert_eq!((tool.as_str(), decision.rule.as_str()), ("execute", "chat read list"));
            assert_eq!(decision.remedy.as_deref(), Some("plan mode: switch to build to run this"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(played.verdicts(), [ToolVerdict::Allow, ToolVerdict::Deny, ToolVerdict::Allow]);
    // A later turn in build starts clean.
    let hands = InMemoryExecutor::default().knowing("touch b", 0, "");
    let stage = TurnStage::new(chat("build"), &hands);
    let played = stage.go_on(
        "- tools: [{ execute: { command: touch b } }]\n- text: Touched.",
        played.conversation,
        Some("Now do it."),
        vec![],
    );
    assert_eq!(played.ended.reason, TurnEndReason::TextOnly);
    assert_eq!(hands.deeds().len(), 1);
}
