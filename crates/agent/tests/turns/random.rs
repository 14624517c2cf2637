//! Whatever a model does, every call gets its result and its decision, and a mode that only reads changes nothing.

use std::collections::BTreeMap;

use holon_agent::{Conversation, Later, Reason};
use holon_core::event::Body;
use holon_model::cassette::{Call, Step, Turn};
use holon_model::{Cassette, ErrorKind, ModelError, Normaliser, Replay, Stop};
use proptest::prelude::*;

use crate::memory::Memory;
use crate::stage::{Stage, chat, settings};

fn step() -> impl Strategy<Value = Step> {
    let names = prop::sample::select(vec![
        "ls",
        "read_file",
        "write_file",
        "edit_file",
        "delete_file",
        "apply_patch",
        "execute",
        "job",
        "ask_user",
        "write_todos",
        "delegate",
        "finish",
        "report_plan",
        "report",
        "nope",
        "mcp__x__y",
        "",
    ]);
    let arguments = prop::sample::select(vec![
        "{}",
        "",
        "[",
        "{\"path\":\"a.txt\"}",
        "{\"path\":\"a.txt\",\"content\":\"x\"}",
        "{\"path\":\"a.txt\",\"old\":\"one\",\"new\":\"two\"}",
        "{\"command\":\"true\",\"background\":\"yes\"}",
        "{\"command\":\"true\"}",
        "{\"job\":1,\"input\":\"x\"}",
        "{\"questions\":[\"Why?\"]}",
        "{\"todos\":[{\"text\":\"a\"}]}",
        "{\"task\":\"look\"}",
        "{\"summary\":\"done\"}",
        "{\"patch\":\"*** Begin Patch\\n*** Delete File: a.txt\\n*** End Patch\"}",
    ]);
    prop_oneof![
        2 => "[a-z ]{0,6}".prop_map(Step::Text),
        6 => (names, arguments).prop_map(|(name, arguments)| {
            Step::Call(Call { name: name.into(), arguments: arguments.into(), ..Call::default() })
        }),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let stop = prop_oneof![
        6 => Just(None),
        1 => prop::sample::select(vec![Stop::EndTurn, Stop::MaxTokens, Stop::Pause, Stop::ContextFull, Stop::Refusal])
            .prop_map(Some),
    ];
    let answer = (prop::collection::vec(step(), 0..5), stop).prop_map(|(steps, stop)| Turn {
        steps,
        stop,
        ..Turn::default()
    });
    let error = prop::sample::select(vec![ErrorKind::ContextOverflow, ErrorKind::Overloaded])
        .prop_map(|kind| Turn::error(ModelError::new(kind, "x")));
    prop_oneof![20 => answer, 1 => error]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn inv_10_no_turn_loses_a_result_or_does_what_was_denied(
        turns in prop::collection::vec(turn(), 1..12),
        mode in prop::sample::select(vec!["execute", "plan", "review"]),
        in_chat in any::<bool>(),
        person in any::<bool>(),
    ) {
        let hands = Memory::with(&[("a.txt", "one\n")]).knowing("true", 0, "");
        let settings = if in_chat { chat(mode) } else { settings(mode) };
        let mut stage = Stage::new(settings, &hands);
        if person {
            stage.person = Some(&Later);
        }
        let replay = Replay::new(Cassette { turns }, Normaliser::default());
        // Pairing of calls and results is checked by the stage itself.
        let played = stage.with(&replay, Conversation::default(), Some("Go."), vec![]);
        let mut last: BTreeMap<String, bool> = BTreeMap::new();
        for body in &played.events {
            match body {
                Body::ToolProposed { call, .. } => prop_assert!(last.insert(call.to_string(), false).is_none()),
                Body::ToolDecided { call, verdict, .. } => {
                    last.insert(call.to_string(), *verdict == holon_core::policy::Verdict::Allow);
                }
                Body::ToolFinished { call, .. } => prop_assert_eq!(last.get(&call.to_string()), Some(&true)),
                _ => {}
            }
        }
        if mode != "execute" {
            prop_assert_eq!(hands.file("a.txt"), Some("one\n".to_owned()));
        }
        // Whatever ended it, the conversation can go on.
        let interrupted = matches!(played.ended.reason, Reason::Interrupted(_));
        prop_assert_eq!(interrupted, played.conversation.pending.is_some());
        let end = Replay::new("- text: Bye.\n- text: Bye.".parse().unwrap(), Normaliser::default());
        let after = stage.with(&end, played.conversation, Some("And?"), vec![]);
        prop_assert_eq!(after.ended.reason, Reason::TextOnly);
    }
}
