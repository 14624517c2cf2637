//! A provider's form of a thought, carried through a client that speaks another wire.
//!
//! Clients send back what they were given as a signature or as encrypted content without looking inside. So a seal of
//! one wire travels there through a client of another, and the provider sees its own thought again.

use holon_model::{Message, Part, Seal};

const MARK: &str = "holon.";

/// The seal as text for a client.
pub(super) fn pack(seal: &Seal) -> String {
    let json = serde_json::to_string(seal).unwrap_or_default();
    format!("{MARK}{json}")
}

/// The seal in a text, if [`pack`] made it.
pub(super) fn unpack(text: &str) -> Option<Seal> {
    serde_json::from_str(text.strip_prefix(MARK)?).ok()
}

/// Puts a seal that came after its thought where it belongs: on the first thought without one.
pub(super) fn attach(message: &mut Message, seal: Seal) {
    let bare = message.parts.iter_mut().find_map(|part| match part {
        Part::Reasoning(reasoning) if reasoning.seal.is_none() => Some(reasoning),
        _ => None,
    });
    match bare {
        Some(reasoning) => reasoning.seal = Some(seal),
        None => {
            let reasoning = holon_model::Reasoning { text: String::new(), seal: Some(seal) };
            message.parts.insert(0, Part::Reasoning(reasoning));
        }
    }
}
