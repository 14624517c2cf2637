//! Long conversations are shortened before they overflow, and once when they do.

use holon_agent::{AgentConversation, TurnEndReason};
use holon_core::event::EventBody;
use holon_model::ModelErrorKind;

use crate::memory::InMemoryExecutor;
use crate::stage::{PlayedTurn, TurnStage, settings};

/// A turn in which a long file is read again and again; the usage says a token is four bytes.
fn long(rounds: usize, window: u64) -> (String, TurnStage<'static>) {
    let hands: &'static InMemoryExecutor = Box::leak(Box::new(
        InMemoryExecutor::with(&[("long.txt", &"all work and no play\n".repeat(400))]).knowing(
            "make",
            2,
            "error: boom",
        ),
    ));
    let mut cassette = String::from(
        "
- tools:
    - write_todos: { todos: [{ text: find the bug, status: doing }] }
    - execute: { command: make }
",
    );
    cassette.push_str(&"- { tool: read_file, args: { path: long.txt } }\n".repeat(rounds));
    let mut settings = settings("execute");
    settings.window = window;
    (cassette, TurnStage::new(settings, hands))
}

fn compactions(played: &PlayedTurn) -> Vec<(u64, u64)> {
    let told = played.events.iter().filter_map(|body| match body {
        EventBody::Compacted { before, after } => Some((*before, *after)),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_long_turn_stays_within_the_window_and_keeps_what_matters() {
    let window = 12_000;
    let (cassette, stage) = long(30, window);
    let played = stage.play(&format!(
        "{cassette}- expect: {{ contains: [Do the work., find the bug, 'error: boom', '## Mode'] }}\n  tool: finish\n  args: {{ summary: x }}"
    ));
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
    let told = compactions(&played);
    assert!(told.len() > 2, "{told:?}");
    for (before, after) in told {
        assert!(before > window * 3 / 4 && after <= window / 2 + 100, "{before} → {after}");
    }
    // The same run again is shortened in the same places.
    let (cassette, stage) = long(30, window);
    let again = stage.play(&format!("{cassette}- tool: finish\n  args: {{ summary: x }}"));
    assert_eq!(again.conversation, played.conversation);
}

#[test]
fn an_overflow_is_mended_once_and_only_once_in_a_row() {
    let (cassette, stage) = long(8, 1_000_000);
    let end = "- tool: finish\n  args: { summary: x }\n";
    for overflow in ["- error: context_overflow\n", "- { text: half, stop: context_full }\n"] {
        let played = stage.play(&format!("{cassette}{overflow}{end}"));
        assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)), "{:?}", played.ended);
        assert_eq!(compactions(&played).len(), 1);
        let played = stage.play(&format!("{cassette}{overflow}- tool: ls\n{overflow}{end}"));
        assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)), "{:?}", played.ended);
        let played = stage.play(&format!("{cassette}{overflow}{overflow}"));
        assert!(
            matches!(&played.ended.reason, TurnEndReason::ModelFailed(error) if error.kind == ModelErrorKind::ContextOverflow)
        );
    }
}

#[test]
fn a_conversation_that_cannot_be_shortened_fails_at_once() {
    let hands = InMemoryExecutor::default();
    let stage = TurnStage::new(settings("execute"), &hands);
    let played = stage.go_on("- error: context_overflow", AgentConversation::default(), Some("Hi."), vec![]);
    assert!(matches!(played.ended.reason, TurnEndReason::ModelFailed(_)));
}

#[test]
fn estimates_follow_what_the_provider_counts() {
    let (_, stage) = long(0, 100_000);
    let played = stage.play(
        "
- { tool: read_file, args: { path: long.txt }, usage: { input: 10000 } }
- { tool: read_file, args: { path: long.txt }, usage: { input: 5000 } }
- { tool: finish, args: { summary: x } }
",
    );
    assert_ne!(played.conversation.gauge, holon_agent::TokenEstimator::default());
}
