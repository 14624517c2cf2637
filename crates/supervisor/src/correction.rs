//! The one port to the model. Nothing else can make a [`Correction`].

use serde::{Deserialize, Serialize};

use crate::key::key;

/// What a correction is, the strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrectionKind {
    /// Nothing is to be said any more.
    Silence,
    /// The current step.
    GraphHint,
    /// One line of facts.
    Notice,
    /// What is known, what was tried, and the next cheapest experiment.
    Advice,
    /// Work that was said to be done is not.
    NotDone,
    /// The supervisor leads, and says where to.
    Takeover,
}

/// The text for the model. There is one at a time: each takes the place of the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    kind: CorrectionKind,
    text: String,
}

impl Correction {
    /// What it is.
    pub const fn kind(&self) -> CorrectionKind {
        self.kind
    }

    /// What the model reads; empty when the last one is to be taken away.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Remembers what stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorrectionPort {
    stands: Option<u64>,
}

impl CorrectionPort {
    /// Says what is to be said now, unless it stands already.
    pub(crate) fn say(&mut self, now: Option<(CorrectionKind, String)>) -> Option<Correction> {
        let now = now.filter(|(_, text)| !text.is_empty());
        let content = now.as_ref().map(|(_, text)| key([text.as_str()]));
        if content == self.stands {
            return None;
        }
        self.stands = content;
        let (kind, text) = now.unwrap_or((CorrectionKind::Silence, String::new()));
        Some(Correction { kind, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_stands_and_is_said_once() {
        let mut port = CorrectionPort::default();
        let mut say = |text: &str| {
            let said = port.say((text != "-").then(|| (CorrectionKind::Notice, text.to_owned())));
            said.map(|said| (said.kind(), said.text().to_owned()))
        };
        let notice = |text: &str| Some((CorrectionKind::Notice, text.to_owned()));
        assert_eq!(say("-"), None, "there is nothing to take away");
        assert_eq!((say("a"), say("a"), say("b")), (notice("a"), None, notice("b")));
        assert_eq!(say("-"), Some((CorrectionKind::Silence, String::new())));
        assert_eq!((say(""), say("a")), (None, notice("a")));
    }
}
