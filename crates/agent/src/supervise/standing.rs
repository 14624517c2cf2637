//! What stands at the end of every request: one text, replaced and taken away, never piled up.

use holon_supervisor::{Correction, CorrectionKind, Phase, State, Tier};
use serde::{Deserialize, Serialize};

/// The texts of the one port that still hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Standing {
    /// Of a takeover or a recovery.
    lead: Option<String>,
    /// The current step.
    hint: Option<String>,
    /// Said since the last request, so not yet due to go.
    fresh_lead: bool,
    fresh_hint: bool,
}

impl Standing {
    /// Takes a text of the port in.
    pub(super) fn take(&mut self, correction: &Correction) {
        let text = Some(correction.text().to_owned());
        match correction.kind() {
            CorrectionKind::Takeover | CorrectionKind::Recovery => {
                (self.lead, self.fresh_lead) = (text, true);
            }
            CorrectionKind::GraphHint => (self.hint, self.fresh_hint) = (text, true),
        }
    }

    /// A request is about to be made: what no longer holds and was seen once goes.
    pub(super) fn before_request(&mut self, state: &State) {
        let recovering = matches!(state.phase(), Phase::Takeover | Phase::HandoffPending);
        if !recovering && state.tier() == Tier::Graph && !self.fresh_lead {
            self.lead = None;
        }
        // A contract that binds must be known for as long as it does.
        let bound = state.mode() == holon_supervisor::Mode::Forced && state.graph_active();
        if recovering || (!bound && !self.fresh_hint) {
            self.hint = None;
        }
        (self.fresh_lead, self.fresh_hint) = (false, false);
    }

    /// The supervisor no longer leads.
    pub(super) fn handed_back(&mut self) {
        (self.lead, self.fresh_lead) = (None, false);
    }

    /// The whole text; empty for none.
    pub(super) fn text(&self) -> String {
        let parts: Vec<&str> = self.lead.iter().chain(&self.hint).map(String::as_str).collect();
        parts.join("\n\n")
    }
}
