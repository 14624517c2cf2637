#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::collections::BTreeSet;

use holon_core::event::{Todo, TodoStatus};
use holon_model::{Reasoning, ToolResult};
use proptest::prelude::*;

use super::*;

/// A conversation of rounds, each with the sizes of its calls' arguments and results.
fn conversation(rounds: &[Vec<(usize, usize)>], texts: bool) -> AgentConversation {
    let mut conversation = AgentConversation::default();
    conversation.ask("Make the parser accept tabs.");
    for (number, calls) in rounds.iter().enumerate() {
        let mut parts = vec![MessagePart::Reasoning(Reasoning { text: "hm ".repeat(50), seal: None })];
        if texts || calls.is_empty() {
            parts.push(MessagePart::Text(format!("Round {number}.")));
        }
        let mut results = Vec::new();
        for (place, (arguments, result)) in calls.iter().enumerate() {
            let id = format!("c{number}_{place}");
            let arguments = format!("{{\"path\":\"a\",\"content\":\"{}\"}}", "x".repeat(*arguments));
            parts.push(MessagePart::Call(ToolCall::new(&id, "write_file", arguments)));
            results.push(ToolResult::ok(&id, "é".repeat(result / 2)));
        }
        conversation.keep(&parts);
        if results.is_empty() {
            conversation.tell("Go on.");
        } else {
            conversation.messages.push(ModelMessage::results(results));
        }
    }
    conversation.todos = vec![
        Todo { text: "find the lexer".into(), status: TodoStatus::Done },
        Todo { text: "teach it tabs".into(), status: TodoStatus::Doing },
    ];
    conversation.facts.failed("cargo test lexer", "exit code 101", "tabs are not spaces");
    conversation
}

/// Every call is answered in the message right after it, and nothing is answered that was not asked.
fn assert_paired(messages: &[ModelMessage]) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages {
        let results = message.parts.iter().filter_map(|part| match part {
            MessagePart::Result(result) => Some(result.call_id.clone()),
            _ => None,
        });
        assert_eq!(results.collect::<BTreeSet<_>>(), open);
        open = message.calls().map(|call| call.id.clone()).collect();
        assert!(message.calls().all(|call| call.object().is_ok()));
        assert!(!message.parts.is_empty());
    }
    assert!(open.is_empty());
}

fn all_text(messages: &[ModelMessage]) -> String {
    messages.iter().map(ModelMessage::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_fits_is_left_alone() {
    let mut full = conversation(&[vec![(10, 100)]], true);
    let copy = full.clone();
    assert!(!compact(&mut full, "execute", 100_000));
    assert_eq!(full, copy);
}

#[test]
fn old_results_go_before_old_rounds() {
    let mut long = conversation(&vec![vec![(10, 8_000)]; 6], true);
    let fresh = long.messages[long.messages.len() - 4..].to_vec();
    assert!(compact(&mut long, "execute", 30_000));
    assert_eq!(long.messages.len(), 13);
    assert_eq!(long.messages[9..], fresh);
    let old = &long.messages[2].parts[0];
    assert!(matches!(old, MessagePart::Result(result) if result.text.contains("bytes left out]")), "{old:?}");
}

#[test]
fn old_rounds_become_a_summary_and_shortening_again_keeps_it() {
    let mut long = conversation(&vec![vec![(10, 8_000)]; 40], true);
    long.facts.decided("denied: git push");
    for _ in 0..3 {
        compact(&mut long, "execute", 12_000);
        let more = conversation(&vec![vec![(10, 8_000)]; 10], true);
        long.messages.extend(more.messages.into_iter().skip(1));
    }
    compact(&mut long, "execute", 12_000);
    let told = long.messages[0].text();
    for part in [
        "Make the parser accept tabs.",
        "[x] find the lexer",
        "[~] teach it tabs",
        "cargo test lexer",
        "tabs are not spaces",
        "## Mode\nexecute",
        "denied: git push",
    ] {
        assert!(told.contains(part), "{part} is not in:\n{told}");
    }
    assert_eq!(told.matches("Earlier rounds were left out").count(), 1);
}

#[test]
fn the_same_conversation_is_shortened_the_same_way() {
    let make = || conversation(&vec![vec![(900, 3_000), (10, 10)]; 30], false);
    let (mut one, mut two) = (make(), make());
    compact(&mut one, "plan", 9_000);
    compact(&mut two, "plan", 9_000);
    assert_eq!(one, two);
}

proptest! {
    #[test]
    fn nothing_that_matters_is_lost(
        rounds in prop::collection::vec(prop::collection::vec((0usize..3_000, 0usize..12_000), 0..4), 1..25),
        texts in any::<bool>(),
        target in 6_000u64..40_000,
        again in 4_000u64..12_000,
    ) {
        let mut long = conversation(&rounds, texts);
        for target in [target, again] {
            compact(&mut long, "execute", target);
            assert_paired(&long.messages);
            prop_assert!(messages_bytes(&long.messages) <= target);
            prop_assert_eq!(long.messages[0].role, Role::User);
        }
        let told = all_text(&long.messages);
        let cut = told.contains("Earlier rounds were left out");
        prop_assert!(told.contains("Make the parser accept tabs."));
        prop_assert!(!cut || (told.contains("teach it tabs") && told.contains("tabs are not spaces")));
    }
}
