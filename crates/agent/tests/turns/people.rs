//! Questions and approvals: answered at once, later, or not at all.

use holon_agent::{
    AgentConversation, DeferToPerson, Interrupt, PendingPersonReplies, PersonPrompt, PersonReply,
    TurnEndReason,
};
use holon_core::event::EventBody;
use holon_core::policy::ToolVerdict;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, chat, own_profile, settings};

const ASK: &str = "
- text: One thing.
  tools:
    - read_file: { path: a.txt }
    - ask_user: { questions: [{ question: Which colour?, options: [red, blue] }, How many?] }
    - write_file: { path: colour.txt, content: blue }
";

/// Answers at once.
struct ReadyPerson(Vec<PersonReply>);

impl PersonPrompt for ReadyPerson {
    fn ask<'a>(&'a self, _interrupt: &'a Interrupt) -> PendingPersonReplies<'a> {
        Box::pin(std::future::ready(Some(self.0.clone())))
    }
}

#[test]
fn inv_08_without_a_person_questions_are_denied_and_not_even_offered() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let played = TurnStage::new(settings("execute"), &hands).play(&format!(
        "{ASK}- expect: {{ last: nobody can be asked in this run, lacks: 'Ask what only' }}\n  tool: finish\n  args: {{ summary: x }}"
    ));
    assert_eq!(
        played.verdicts(),
        [ToolVerdict::Allow, ToolVerdict::Deny, ToolVerdict::Allow, ToolVerdict::Allow]
    );
    assert_eq!(hands.file("colour.txt").as_deref(), Some("blue"));
}

#[test]
fn a_person_who_is_there_answers_in_the_turn() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let person = ReadyPerson(vec![PersonReply::Given(vec!["blue".into(), "3".into()])]);
    let stage = TurnStage { person: Some(&person), ..TurnStage::new(settings("execute"), &hands) };
    let played = stage.play(&format!(
        "{ASK}- expect: {{ last: \"Which colour?\\n> blue\\nHow many?\\n> 3\" }}\n  tool: finish\n  args: {{ summary: x }}"
    ));
    assert_eq!(played.results()[1], "Which colour?\n> blue\nHow many?\n> 3");
    assert!(played.conversation.facts.decisions[0].contains("blue"));
}

#[test]
fn a_chat_is_interrupted_and_resumed_where_it_was() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let stage = TurnStage { person: Some(&DeferToPerson), ..TurnStage::new(chat("build"), &hands) };
    let played = stage.play(ASK);
    let TurnEndReason::Interrupted(interrupt) = &played.ended.reason else { panic!("{:?}", played.ended) };
    assert_eq!((interrupt.id.as_str(), interrupt.asks.len()), ("ask-1-2", 1));
    assert_eq!(interrupt.asks[0].questions[0].options, ["red", "blue"]);
    assert!(
        played
            .events
            .iter()
            .any(|body| matches!(body, EventBody::Interrupted { asks, .. } if asks.len() == 1))
    );
    // What comes before the question is done, what comes after it is not.
    assert_eq!((played.finished(), hands.file("colour.txt")), (1, None));
    let stored = serde_json::to_string(&played.conversation).unwrap();
    let conversation: AgentConversation = serde_json::from_str(&stored).unwrap();
    let answers = vec![PersonReply::Given(vec!["red".into()])];
    let resumed = stage.go_on(
        "- expect: { last: [\"Which colour?\\n> red\\nHow many?\\n> [no answer]\", 'colour.txt: new'] }\n  text: Thanks.",
        conversation,
        None,
        answers,
    );
    assert_eq!(resumed.ended.reason, TurnEndReason::TextOnly);
    assert_eq!(resumed.results().len(), 3);
}

#[test]
fn a_message_instead_of_answers_goes_on_without_them() {
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let stage = TurnStage { person: Some(&DeferToPerson), ..TurnStage::new(chat("build"), &hands) };
    let played = stage.play(ASK);
    let second = stage.go_on(
        "- expect: { last: ['the person did not answer', 'Never mind.'] }\n  text: Fine.",
        played.conversation,
        Some("Never mind."),
        vec![],
    );
    assert_eq!((second.ended.reason, hands.file("colour.txt")), (TurnEndReason::TextOnly, None));
}

#[test]
fn calls_that_need_approval_are_asked_about_together() {
    let careful = own_profile("name = 'own'\nextends = 'execute'\n[tools]\nexecute = 'ask'\n");
    let cassette =
        "- tools: [{ execute: { command: make } }, { ls: {} }, { execute: { command: make clean } }]\n";
    let hands = InMemoryExecutor::default().knowing("make", 0, "made").knowing("make clean", 0, "clean");
    let mut settings = chat("build");
    settings.profile = careful;
    let stage = TurnStage { person: Some(&DeferToPerson), ..TurnStage::new(settings, &hands) };
    let played = stage.play(cassette);
    let TurnEndReason::Interrupted(interrupt) = &played.ended.reason else { panic!("{:?}", played.ended) };
    let asked: Vec<_> =
        interrupt.asks.iter().map(|ask| (ask.call.as_str(), ask.summary.as_deref().unwrap())).collect();
    assert_eq!(asked, [("1-1", "make"), ("1-3", "make clean")]);
    assert!(hands.deeds().is_empty());
    let answers = vec![PersonReply::Approved, PersonReply::Rejected("keep it".into())];
    let resumed = stage.go_on(
        "- expect: { last: [made, 'denied: a person said no: keep it'] }\n  text: Ok.",
        played.conversation.clone(),
        None,
        answers,
    );
    assert_eq!(resumed.results()[0], "exit code 0\nmade");
    assert_eq!(resumed.verdicts(), [ToolVerdict::Allow, ToolVerdict::Allow, ToolVerdict::Deny]);
    // Where nobody can be asked any more, nothing that needs a person is done.
    let alone = TurnStage::new(stage.settings.clone(), &hands);
    let resumed = alone.go_on(
        "- text: Ok.",
        played.conversation.clone(),
        None,
        vec![PersonReply::Approved, PersonReply::Approved],
    );
    assert_eq!(resumed.verdicts(), [ToolVerdict::Deny, ToolVerdict::Allow, ToolVerdict::Deny]);
    // No answer is a no.
    let resumed = stage.go_on("- text: Ok.", played.conversation, None, vec![]);
    assert_eq!(resumed.verdicts(), [ToolVerdict::Deny, ToolVerdict::Allow, ToolVerdict::Deny]);
}

#[test]
fn questions_that_make_no_sense_reach_nobody() {
    let hands = InMemoryExecutor::default();
    let stage = TurnStage { person: Some(&DeferToPerson), ..TurnStage::new(chat("build"), &hands) };
    let played = stage.play("- tools: [{ ask_user: { questions: [] } }]\n- text: Oh.");
    assert_eq!(played.ended.reason, TurnEndReason::TextOnly);
}

#[test]
fn a_cancelled_turn_does_not_wait_for_a_person() {
    struct SilentPerson(holon_model::ModelCancel);
    impl PersonPrompt for SilentPerson {
        fn ask<'a>(&'a self, _interrupt: &'a Interrupt) -> PendingPersonReplies<'a> {
            self.0.cancel();
            Box::pin(std::future::pending())
        }
    }
    let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]);
    let mut stage = TurnStage::new(chat("build"), &hands);
    let silent = SilentPerson(stage.cancel.clone());
    stage.person = Some(&silent);
    let played = stage.play(ASK);
    assert_eq!(played.ended.reason, TurnEndReason::Cancelled);
    assert!(played.conversation.pending.is_some());
}
