//! Makes room in a conversation: old results are shortened first, then old rounds give way to a summary.
//!
//! Everything is done by rules, so that a replayed run shortens in the same places. A call is never parted from its
//! result, and what [`summary`](crate::summary) keeps is never lost.

use holon_model::{MessagePart, ModelMessage, Role, ToolCall};
use serde_json::Value;

use crate::context::{message_bytes, messages_bytes};
use crate::conversation::AgentConversation;
use crate::summary::summary;
use crate::text::shorten;

/// How many of the last rounds are shortened only when nothing else helps.
const FRESH: usize = 2;
/// What is left of an old result or argument.
const OLD: usize = 600;

/// Brings the messages down to `target` bytes, as far as possible; says whether anything was changed.
pub(crate) fn compact(conversation: &mut AgentConversation, mode: &str, target: u64) -> bool {
    let before = messages_bytes(&conversation.messages);
    if before <= target {
        return false;
    }
    thin_old(&mut conversation.messages, target);
    if messages_bytes(&conversation.messages) > target {
        cut(conversation, mode, target);
    }
    for most in [4_000, 1_500, 500, 150] {
        if messages_bytes(&conversation.messages) <= target {
            break;
        }
        // The first message holds the goal or the summary, which have been bounded already.
        conversation.messages.iter_mut().skip(1).for_each(|message| thin(message, most));
    }
    messages_bytes(&conversation.messages) < before
}

/// Shortens messages from the oldest on until the target is met; the last rounds stay as they are.
fn thin_old(messages: &mut [ModelMessage], target: u64) {
    let replies = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
    let fresh = replies.map(|(index, _)| index).rev().nth(FRESH - 1).unwrap_or(0);
    let mut total = messages_bytes(messages);
    for message in messages.iter_mut().take(fresh).skip(1) {
        if total <= target {
            return;
        }
        total -= message_bytes(message);
        thin(message, OLD);
        total += message_bytes(message);
    }
}

/// Shortens results, arguments and words; thoughts of the past go altogether.
fn thin(message: &mut ModelMessage, most: usize) {
    message.parts.retain(|part| !matches!(part, MessagePart::Reasoning(_)));
    for part in &mut message.parts {
        match part {
            MessagePart::Result(result) => result.text = shorten(&result.text, most),
            MessagePart::Call(call) => thin_arguments(call, most),
            MessagePart::Text(text) => *text = shorten(text, most.max(OLD)),
            MessagePart::Reasoning(_) => {}
        }
    }
}

/// Shortens the texts in a call's arguments, which stay what they were in form.
fn thin_arguments(call: &mut ToolCall, most: usize) {
    if call.arguments.len() <= most {
        return;
    }
    call.arguments = match call.object() {
        Ok(object) => shortened(Value::Object(object), most).to_string(),
        Err(_) => Value::Object(serde_json::Map::from_iter([(
            "unparsed".to_owned(),
            Value::String(shorten(&call.arguments, most)),
        )]))
        .to_string(),
    };
}

fn shortened(value: Value, most: usize) -> Value {
    match value {
        Value::String(text) => Value::String(shorten(&text, most)),
        Value::Array(items) => {
            let each = (most / items.len().max(1)).max(40);
            // A list of many short things is cut too, or it could not be made to fit.
            let kept = items.into_iter().take(most / 40 + 1);
            Value::Array(kept.map(|item| shortened(item, each)).collect())
        }
        Value::Object(map) => {
            let each = (most / map.len().max(1)).max(40);
            Value::Object(map.into_iter().map(|(key, item)| (key, shortened(item, each))).collect())
        }
        other => other,
    }
}

/// Replaces everything before a place between rounds by the summary; as much as fits stays.
fn cut(conversation: &mut AgentConversation, mode: &str, target: u64) {
    let told = summary(conversation, mode, target / 2);
    let room = target.saturating_sub(u64::try_from(told.len()).unwrap_or(u64::MAX)).saturating_sub(16);
    let messages = &conversation.messages;
    let places: Vec<usize> = (1..messages.len()).filter(|at| begins_round(&messages[*at])).collect();
    let fits = places.iter().copied().find(|at| messages_bytes(&messages[*at..]) <= room);
    let Some(at) = fits.or_else(|| places.last().copied()) else { return };
    let mut kept = conversation.messages.split_off(at);
    match kept.first_mut() {
        Some(first) if first.role == Role::User => first.parts.insert(0, MessagePart::Text(told)),
        _ => kept.insert(0, ModelMessage::user(told)),
    }
    conversation.messages = kept;
}

/// Whether nothing in this message or after it answers something before it.
fn begins_round(message: &ModelMessage) -> bool {
    !message.parts.iter().any(|part| matches!(part, MessagePart::Result(_)))
}

#[cfg(test)]
mod tests;
