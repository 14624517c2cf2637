//! A provider's form of a thought, carried through a client that speaks another wire.
//!
//! Clients send back what they were given as a signature or as encrypted content without looking inside. So a seal of
//! one wire travels there through a client of another, and the provider sees its own thought again. A seal that is known
//! only after its thought was told follows on its own, with the words, as some clients drop thoughts without one.

use holon_model::{MessagePart, ModelMessage, Reasoning, Seal};

const MARK: &str = "holon.";

/// A sealed thought as text for a client.
pub(super) fn pack(text: &str, seal: &Seal) -> String {
    let thought = Reasoning { text: text.to_owned(), seal: Some(seal.clone()) };
    let json = serde_json::to_string(&thought).unwrap_or_default();
    format!("{MARK}{json}")
}

/// The thought in a text, if [`pack`] made it.
pub(super) fn unpack(text: &str) -> Option<Reasoning> {
    serde_json::from_str(text.strip_prefix(MARK)?).ok()
}

/// The thoughts in a text of several that [`pack`] made, one in each line.
pub(super) fn unpack_all(text: &str) -> Vec<Reasoning> {
    text.lines().filter_map(unpack).collect()
}

/// Puts a thought that came after its words where it belongs: in place of the words, else at the beginning.
pub(super) fn attach(message: &mut ModelMessage, thought: Reasoning) {
    let told = message.parts.iter_mut().find_map(|part| match part {
        MessagePart::Reasoning(told) if told.seal.is_none() && told.text == thought.text => Some(told),
        _ => None,
    });
    match told {
        Some(told) => *told = thought,
        None => message.parts.insert(0, MessagePart::Reasoning(thought)),
    }
}
