//! The one port to the model. Nothing else can make a [`Correction`].

use serde::{Deserialize, Serialize};

use crate::config::Hints;
use crate::key::key;
use crate::phase::Phase;

/// What a correction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrectionKind {
    /// The supervisor leads, and says where to.
    Takeover,
    /// One strong hint: no plan could be built, or less of it is left.
    Recovery,
    /// The current step.
    GraphHint,
}

/// A text for the model. It takes the place of the last one of its kind instead of piling up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    kind: CorrectionKind,
    text: String,
}

impl Correction {
    /// What it is; a later one of the same kind replaces it.
    pub const fn kind(&self) -> CorrectionKind {
        self.kind
    }

    /// What the model reads.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Remembers what was said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    said: [u64; 3],
    free_hints: u32,
}

/// When something is to be said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub phase: Phase,
    /// Whether a contract binds the model, so that it has to know the step.
    pub bound: bool,
}

impl Port {
    /// Says something, unless it may not be said now, was said already, or enough was said.
    pub(crate) fn say(
        &mut self,
        kind: CorrectionKind,
        text: String,
        now: Moment,
        hints: &Hints,
    ) -> Option<Correction> {
        let supervised = matches!(now.phase, Phase::Takeover | Phase::HandoffPending);
        let allowed = match kind {
            CorrectionKind::Takeover => supervised,
            CorrectionKind::Recovery => true,
            CorrectionKind::GraphHint => !supervised,
        };
        let content = key([text.as_str()]);
        if !allowed || text.is_empty() || self.said[kind as usize] == content {
            return None;
        }
        if kind == CorrectionKind::GraphHint && !now.bound {
            if self.free_hints >= hints.free_max_per_run {
                return None;
            }
            self.free_hints += 1;
        }
        self.said[kind as usize] = content;
        Some(Correction { kind, text })
    }

    /// A new takeover begins: what was said in an earlier one may be said again.
    pub(crate) fn renew(&mut self) {
        self.said = [0; 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINTS: Hints = Hints { free_max_per_run: 3 };

    fn say(port: &mut Port, kind: CorrectionKind, text: &str, phase: Phase, bound: bool) -> bool {
        let said = port.say(kind, text.to_owned(), Moment { phase, bound }, &HINTS);
        said.is_some_and(|said| said.kind() == kind && said.text() == text)
    }

    #[test]
    fn who_may_speak_depends_on_the_phase() {
        use CorrectionKind::{GraphHint, Recovery, Takeover};
        for (phase, takeover, hint) in [
            (Phase::Free, false, true),
            (Phase::Takeover, true, false),
            (Phase::HandoffPending, true, false),
            (Phase::Cooldown, false, true),
        ] {
            assert_eq!(say(&mut Port::default(), Takeover, "x", phase, true), takeover, "{phase:?}");
            assert_eq!(say(&mut Port::default(), GraphHint, "x", phase, true), hint, "{phase:?}");
            assert!(say(&mut Port::default(), Recovery, "x", phase, true), "{phase:?}");
        }
    }

    #[test]
    fn the_same_is_said_once() {
        let mut port = Port::default();
        let mut hint = |text: &str| say(&mut port, CorrectionKind::GraphHint, text, Phase::Free, true);
        assert!(hint("a") && !hint("a") && hint("b") && hint("a") && !hint(""));
        let mut port = Port::default();
        let takeover = |port: &mut Port| say(port, CorrectionKind::Takeover, "a", Phase::Takeover, true);
        assert!(takeover(&mut port) && !takeover(&mut port));
        port.renew();
        assert!(takeover(&mut port));
    }

    #[test]
    fn unbound_hints_are_few() {
        let mut port = Port::default();
        for (i, expect) in [true, true, true, false].into_iter().enumerate() {
            assert_eq!(say(&mut port, CorrectionKind::GraphHint, &i.to_string(), Phase::Free, false), expect);
        }
        assert!(say(&mut port, CorrectionKind::GraphHint, "bound", Phase::Free, true));
        assert!(say(&mut port, CorrectionKind::Recovery, "r", Phase::Free, false));
    }
}
