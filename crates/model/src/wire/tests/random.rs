//! Whatever arrives, however it is cut, nothing panics and the result is the same.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::decode_chunks;
use crate::sse::SseEvent;
use crate::wire::WireFormat;

/// Words that mean something on one of the wires, so that random events get far.
const WORDS: [&str; 44] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "text",
    "tool_use",
    "thinking",
    "text_delta",
    "input_json_delta",
    "signature_delta",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "message",
    "function_call",
    "custom_tool_call",
    "reasoning",
    "stop",
    "length",
    "tool_calls",
    "end_turn",
    "",
    "{",
    "}",
    "x",
    "refusal",
    "summary",
    "reasoning.text",
    "thinking_delta",
    "response.reasoning_text.delta",
    "response.refusal.delta",
    "redacted_thinking",
    "overloaded_error",
    "429",
    "é",
    "[DONE]",
];

const KEYS: [&str; 40] = [
    "type",
    "index",
    "delta",
    "choices",
    "message",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "finish_reason",
    "usage",
    "prompt_tokens",
    "error",
    "code",
    "content_block",
    "text",
    "partial_json",
    "thinking",
    "signature",
    "stop_reason",
    "item",
    "output_index",
    "item_id",
    "response",
    "output",
    "summary",
    "call_id",
    "input",
    "encrypted_content",
    "status",
    "reasoning_details",
    "reasoning",
    "summary_index",
    "content_index",
    "input_tokens",
    "output_tokens",
    "cost",
    "data",
];

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0u64..3).prop_map(Value::from),
        any::<f64>().prop_map(|f| json!(f)),
        any::<u64>().prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(&KEYS[..]), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

fn wire() -> impl Strategy<Value = WireFormat> {
    prop::sample::select(&[WireFormat::Chat, WireFormat::Responses, WireFormat::Messages][..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_event_is_survived(
        wire in wire(),
        events in prop::collection::vec((prop::option::of(prop::sample::select(&WORDS[..])), json_value()), 0..8),
    ) {
        let mut decoder = wire.decoder();
        for (name, data) in &events {
            decoder.push(&SseEvent { name: name.map(str::to_owned), data: data.to_string() });
        }
        let _ = decoder.finish();
        for (_, data) in &events {
            let _ = wire.decode_whole(data.to_string().as_bytes());
        }
    }

    #[test]
    fn any_text_is_survived(wire in wire(), data in ".{0,60}") {
        let mut decoder = wire.decoder();
        decoder.push(&SseEvent { name: None, data });
        let _ = decoder.finish();
    }

    #[test]
    fn any_chunking_gives_the_same_reply(
        wire in wire(),
        types in prop::collection::vec((prop::sample::select(&WORDS[..]), json_value()), 0..6),
        cuts in prop::collection::vec(0usize..2000, 0..12),
    ) {
        let stream: String = types.iter().map(|(name, data)| format!("event: {name}\r\ndata: {data}\r\n\r\n")).collect();
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(decode_chunks(wire, &chunks), decode_chunks(wire, &[bytes]));
    }
}
