//! Whatever a model does, every call gets its result and its decision, and a mode that only reads changes nothing.

use std::collections::BTreeMap;

use holon_agent::{AgentConversation, DeferToPerson, TurnEndReason};
use holon_core::event::EventBody;
use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_model::{Cassette, ModelError, ModelErrorKind, Normaliser, ReplayProvider, ReplyStop};
use proptest::prelude::*;

use crate::memory::InMemoryExecutor;
use crate::stage::{TurnStage, chat, settings};

fn step() -> impl Strategy<Value = CassetteStep> {
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
        2 => "[a-z ]{0,6}".prop_map(CassetteStep::Text),
        6 => (names, arguments).prop_map(|(name, arguments)| {
            CassetteStep::Call(CassetteCall { name: name.into(), arguments: arguments.into(), ..CassetteCall::default() })
        }),
    ]
}

fn turn() -> impl Strategy<Value = CassetteTurn> {
    let stop = prop_oneof![
        6 => Just(None),
        1 => prop::sample::select(vec![ReplyStop::EndTurn, ReplyStop::MaxTokens, ReplyStop::Pause, ReplyStop::ContextFull, ReplyStop::Refusal])
            .prop_map(Some),
    ];
    let answer = (prop::collection::vec(step(), 0..5), stop).prop_map(|(steps, stop)| CassetteTurn {
        steps,
        stop,
        ..CassetteTurn::default()
    });
    let error = prop::sample::select(vec![ModelErrorKind::ContextOverflow, ModelErrorKind::Overloaded])
        .prop_map(|kind| CassetteTurn::error(ModelError::new(kind, "x")));
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
        let hands = InMemoryExecutor::with(&[("a.txt", "one\n")]).knowing("true", 0, "");
        let settings = if in_chat { chat(mode) } else { settings(mode) };
        let mut stage = TurnStage::new(settings, &hands);
        if person {
            stage.person = Some(&DeferToPerson);
        }
        let replay = ReplayProvider::new(Cassette { turns }, Normaliser::default());
        // Pairing of calls and results is checked by the stage itself.
        let played = stage.with(&replay, AgentConversation::default(), Some("Go."), vec![]);
        let mut last: BTreeMap<String, bool> = BTreeMap::new();
        for body in &played.events {
            match body {
                EventBody::ToolProposed { call, .. } => prop_assert!(last.insert(call.to_string(), false).is_none()),
                EventBody::ToolDecided { call, verdict, .. } => {
                    last.insert(call.to_string(), *verdict == holon_core::policy::ToolVerdict::Allow);
                }
                EventBody::ToolFinished { call, .. } => prop_assert_eq!(last.get(&call.to_string()), Some(&true)),
                _ => {}
            }
        }
        if mode != "execute" {
            prop_assert_eq!(hands.file("a.txt"), Some("one\n".to_owned()));
        }
        // Whatever ended it, the conversation can go on.
        let interrupted = matches!(played.ended.reason, TurnEndReason::Interrupted(_));
        prop_assert_eq!(interrupted, played.conversation.pending.is_some());
        let end = ReplayProvider::new("- text: Bye.\n- text: Bye.".parse().unwrap(), Normaliser::default());
        let after = stage.with(&end, played.conversation, Some("And?"), vec![]);
        prop_assert_eq!(after.ended.reason, TurnEndReason::TextOnly);
    }
}
