//! Every way a turn can end.

use holon_agent::{AgentConversation, FinishStatus, TurnEndReason};
use holon_core::event::EventBody;
use holon_model::retry::Backoff;
use holon_model::{Cassette, ModelErrorKind, Normaliser, ReplayProvider, RetryingProvider};

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, chat, settings};

fn play(cassette: &str) -> (crate::stage::PlayedTurn, InMemoryExecutor) {
    let hands = InMemoryExecutor::default();
    let played = TurnStage::new(settings("execute"), &hands).play(cassette);
    (played, hands)
}

#[test]
fn finished_with_a_summary() {
    for (status, expect) in [
        ("done", FinishStatus::Done),
        ("failed", FinishStatus::Failed),
        ("needs_person", FinishStatus::NeedsPerson),
    ] {
        let (played, hands) = play(&format!(
            "
- text: All is well.
  tool: finish
  args: {{ summary: ' Did it. ', status: {status} }}
  usage: {{ input: 10, output: 5 }}
"
        ));
        assert_eq!(played.ended.reason, TurnEndReason::Finished(expect));
        assert_eq!((played.ended.text.as_str(), played.ended.rounds), ("Did it.", 1));
        assert_eq!((played.ended.usage.input, played.ended.usage.output), (10, 5));
        assert_eq!(hands.file("/holon/output/summary.md").unwrap(), "Did it.\n");
    }
}

#[test]
fn words_alone_are_sent_back_once_and_then_end_the_turn() {
    let (played, hands) = play(
        "
- text: I will look around.
- expect: { last: 'Still missing: summary.md (call finish)' }
  text: I looked around.
",
    );
    assert_eq!(played.ended.reason, TurnEndReason::TextOnly);
    assert_eq!(hands.file("/holon/output/summary.md").unwrap(), "I looked around.\n");
    // Work after the reminder does not earn another one.
    let (played, _) = play(
        "
- text: Hm.
- tool: ls
- text: Done.
",
    );
    assert_eq!((played.ended.reason, played.ended.rounds), (TurnEndReason::TextOnly, 3));
}

#[test]
fn a_summary_written_by_a_command_counts() {
    let hands = InMemoryExecutor::with(&[("/holon/output/summary.md", "By hand.\n")]);
    let played = TurnStage::new(settings("execute"), &hands).play("- text: Done.");
    assert_eq!(played.ended.reason, TurnEndReason::TextOnly);
    assert_eq!(hands.file("/holon/output/summary.md").unwrap(), "By hand.\n");
}

#[test]
fn in_a_chat_words_end_the_turn() {
    let hands = InMemoryExecutor::default();
    let stage = TurnStage::new(chat("build"), &hands);
    let first = stage.play("- text: Hello.");
    assert_eq!((first.ended.reason, first.ended.text.as_str()), (TurnEndReason::TextOnly, "Hello."));
    let second = stage.go_on(
        "- expect: { contains: [Hello., Really?] }\n  text: Yes.",
        first.conversation,
        Some("Really?"),
        vec![],
    );
    assert_eq!((second.ended.reason, second.conversation.rounds), (TurnEndReason::TextOnly, 2));
    assert!(hands.deeds().is_empty());
}

#[test]
fn a_model_that_declines() {
    let (played, _) = play("- { text: I cannot help with that., tool: ls, stop: refusal }");
    assert_eq!(played.ended.reason, TurnEndReason::Refused("I cannot help with that.".into()));
    let (played, _) = play("- error: { kind: refused, message: no }");
    assert_eq!(played.ended.reason, TurnEndReason::Refused("no".into()));
}

#[test]
fn a_model_that_fails() {
    let (played, _) = play("- tool: ls\n- { text: half an ans, cut: true }");
    assert!(
        matches!(&played.ended.reason, TurnEndReason::ModelFailed(error) if error.kind == ModelErrorKind::Cut)
    );
    assert_eq!(played.conversation.messages.len(), 3);
    // The conversation can go on where it was.
    let hands = InMemoryExecutor::default();
    let stage = TurnStage::new(settings("execute"), &hands);
    let played =
        stage.go_on("- { tool: finish, args: { summary: Late. } }", played.conversation, None, vec![]);
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
}

#[test]
fn a_passing_failure_is_waited_for_and_told() {
    let cassette = "
- error: rate_limit
- { tool: finish, args: { summary: Patient. } }
";
    let hands = InMemoryExecutor::default();
    let replay = ReplayProvider::new(cassette.parse::<Cassette>().unwrap(), Normaliser::default());
    let quick = Backoff { base: std::time::Duration::from_millis(1), ..Backoff::default() };
    let model = RetryingProvider::with(replay, quick, || 0.0);
    let played = TurnStage::new(settings("execute"), &hands).with(
        &model,
        AgentConversation::default(),
        Some("Go."),
        vec![],
    );
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
    assert!(played.events.iter().any(|body| matches!(body, EventBody::ModelWaiting { .. })));
}

#[test]
fn hands_that_are_gone_end_the_turn_with_every_call_answered() {
    let hands = InMemoryExecutor { gone_after: Some(1), ..InMemoryExecutor::default() };
    let played = TurnStage::new(settings("execute"), &hands)
        .play("- tools: [{ write_file: { path: a, content: a } }, { delete_file: { path: a } }, { ls: {} }]");
    assert_eq!(played.ended.reason, TurnEndReason::HandsGone("the hands are gone".into()));
    assert_eq!(played.results().len(), 3);
    assert!(played.results()[2].starts_with("not done"));
}

#[test]
fn a_cancelled_turn_asks_nothing_more() {
    let hands = InMemoryExecutor::default();
    let stage = TurnStage::new(settings("execute"), &hands);
    stage.cancel.cancel();
    let played = stage.play("");
    assert_eq!((played.ended.reason, played.ended.rounds), (TurnEndReason::Cancelled, 0));
}

#[test]
fn an_answer_that_was_cut_off_is_asked_for_in_smaller_pieces() {
    let (played, _) = play(
        "
- text: A very long
  stop: max_tokens
- expect: { last: cut off at its length limit }
  reply: [{ tool: write_file, raw: '{\"path\": \"a\", \"content\": \"half' }]
  stop: max_tokens
- expect: { last: send smaller pieces }
  reply: [{ tool: write_file, args: { path: a, content: whole } }]
  stop: max_tokens
- expect: { last: 'a: new, 1 lines' }
  tool: finish
  args: { summary: Written. }
",
    );
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
}

#[test]
fn a_paused_answer_is_sent_back_and_goes_on() {
    let (played, _) = play(
        "
- { text: Thinking., stop: pause }
- { tool: finish, args: { summary: Thought. } }
",
    );
    assert_eq!(played.ended.rounds, 2);
}

#[test]
fn an_empty_answer_is_asked_for_again() {
    let hands = InMemoryExecutor::default();
    let played = TurnStage::new(chat("build"), &hands).play("- text: ''\n- text: Here.");
    assert_eq!((played.ended.reason, played.ended.text.as_str()), (TurnEndReason::TextOnly, "Here."));
}

#[test]
fn malformed_arguments_are_explained_as_often_as_needed() {
    let bad = "- reply: [{ tool: read_file, raw: '{\"path\": ' }]\n";
    let (played, hands) = play(&format!(
        "{bad}{bad}{bad}- expect: {{ last: ['not valid JSON', 'read_file takes {{path: string'] }}\n  tool: finish\n  args: {{ summary: x }}"
    ));
    assert!(matches!(played.ended.reason, TurnEndReason::Finished(_)));
    assert_eq!(hands.deeds().len(), 1);
    assert_eq!((played.verdicts().len(), played.finished()), (4, 1));
}
