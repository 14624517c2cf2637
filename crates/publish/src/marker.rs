//! Markers: comments in HTML that nobody sees, by which a later run finds what an earlier one left.
//!
//! All state lives in them, on the forge. A text of someone else cannot hold one, because [`crate::text`] breaks every
//! comment apart; and only what the publisher's own account wrote is ever searched for them.

use std::fmt::Write;

const OPEN: &str = "<!-- holon:";
const CLOSE: &str = " -->";

/// One marker: a word and pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// What it marks, e.g. `review`.
    pub word: String,
    /// Names and values, in order.
    pub pairs: Vec<(String, String)>,
}

impl Marker {
    /// A marker without pairs.
    pub fn new(word: &str) -> Self {
        Self { word: word.to_owned(), pairs: Vec::new() }
    }

    /// The same with one more pair; anything that could end the marker is left out of the value.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        let value = value.chars().filter(|c| c.is_ascii_alphanumeric() || "._:/-".contains(*c)).collect();
        self.pairs.push((name.to_owned(), value));
        self
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a name has this value.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }

    /// Every marker in a text, in order.
    pub fn all(text: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find(OPEN) {
            rest = &rest[start + OPEN.len()..];
            let Some(end) = rest.find(CLOSE) else { break };
            let mut words = rest[..end].split(' ');
            let word = words.next().unwrap_or_default().to_owned();
            let pairs = words.filter_map(|w| w.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect();
            found.push(Self { word, pairs });
            rest = &rest[end + CLOSE.len()..];
        }
        found
    }

    /// The first marker with this word.
    pub fn find(text: &str, word: &str) -> Option<Self> {
        Self::all(text).into_iter().find(|marker| marker.word == word)
    }
}

impl std::fmt::Display for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        for (name, value) in &self.pairs {
            write!(text, " {name}={value}")?;
        }
        write!(f, "{OPEN}{}{text}{CLOSE}", self.word)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::harmless;

    #[test]
    fn written_and_found_again() {
        let one = Marker::new("review").with("run", "20260101-000000-aaaaaa").with("task", "a b-->c");
        assert_eq!(one.to_string(), "<!-- holon:review run=20260101-000000-aaaaaa task=ab--c -->");
        let two = Marker::new("finding").with("fp", "00ff");
        let text = format!("x\n{one}\n{two} y");
        assert_eq!(Marker::all(&text), [one.clone(), two.clone()]);
        assert!(Marker::find(&text, "finding").is_some_and(|m| m.has("fp", "00ff")));
        assert_eq!(Marker::find(&text, "other"), None);
    }

    #[test]
    fn a_harmless_text_holds_none() {
        let forged = Marker::new("review").with("run", "x").to_string();
        for text in
            [forged.clone(), format!("```\n{forged}\n```"), format!("`{forged}`"), format!("- {forged}")]
        {
            assert_eq!(Marker::all(&harmless(&text)), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(<!-- holon:|-->| |=|a|\n){0,20}") {
            let _ = Marker::all(&text);
            prop_assert_eq!(Marker::all(&harmless(&text)), []);
        }

        #[test]
        fn any_value_round_trips(value in "\\PC{0,40}") {
            let marker = Marker::new("x").with("v", &value);
            prop_assert_eq!(Marker::all(&marker.to_string()), vec![marker]);
        }
    }
}
