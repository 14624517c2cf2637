//! A recorded turn plays again to the same events and the same conversation.

use std::sync::{Arc, Mutex};

use holon_agent::AgentConversation;
use holon_core::event::EventBody;
use holon_model::{Cassette, Normaliser, RecordingProvider, ReplayProvider};

use crate::memory::InMemoryExecutor;
use crate::stage::{PlayedTurn, TurnStage, settings};

const STORY: &str = "
- text: Looking.
  reasoning: Where is it?
  tools: [{ grep: { pattern: one } }, { read_file: { path: a.txt } }, { execute: { command: make } }]
  usage: { input: 500, output: 20 }
- tools: [{ edit_file: { path: a.txt, old: one, new: two } }, { nope: {} }, { execute: { command: make } }]
  usage: { input: 900, output: 20 }
- tool: finish
  args: { summary: Done. }
";

fn hands() -> InMemoryExecutor {
    InMemoryExecutor::with(&[("a.txt", "one\n"), ("b.txt", &"b\n".repeat(3_000))]).knowing(
        "make",
        2,
        "took 3.2s\n",
    )
}

/// Everything but how long it took.
fn timeless(played: &PlayedTurn) -> Vec<EventBody> {
    let mut events = played.events.clone();
    for body in &mut events {
        if let EventBody::ToolFinished { duration_ms, .. } | EventBody::ModelAnswered { duration_ms, .. } =
            body
        {
            *duration_ms = 0;
        }
    }
    events
}

#[test]
fn a_recording_gives_the_same_events_again() {
    let tape = Arc::new(Mutex::new(String::new()));
    let writes = Arc::clone(&tape);
    let source = ReplayProvider::new(STORY.parse::<Cassette>().unwrap(), Normaliser::default());
    let recorder = RecordingProvider::new(source, Normaliser::default(), move |text| {
        writes.lock().unwrap().push_str(text);
        Ok(())
    });
    let first_hands = hands();
    let first = TurnStage::new(settings("execute"), &first_hands).with(
        &recorder,
        AgentConversation::default(),
        Some("Go."),
        vec![],
    );
    let recorded: Cassette = tape.lock().unwrap().parse().unwrap();
    assert!(recorded.turns.iter().all(|turn| turn.asked.is_some()));
    let replay = ReplayProvider::new(recorded, Normaliser::default());
    let second_hands = hands();
    let second = TurnStage::new(settings("execute"), &second_hands).with(
        &replay,
        AgentConversation::default(),
        Some("Go."),
        vec![],
    );
    assert_eq!(replay.left(), 0);
    assert_eq!(timeless(&first), timeless(&second));
    assert_eq!(first.conversation, second.conversation);
    assert_eq!(first.ended, second.ended);
}
