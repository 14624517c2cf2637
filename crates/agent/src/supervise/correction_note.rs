//! What stands at the end of every request: one text, replaced and taken away, never piled up.

use holon_supervisor::Correction;
use serde::{Deserialize, Serialize};

/// The text of the one port that holds; empty for none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CorrectionNote {
    text: String,
}

impl CorrectionNote {
    /// Takes a text of the port in; an empty one takes the last away.
    pub(super) fn take(&mut self, correction: &Correction) {
        correction.text().clone_into(&mut self.text);
    }

    /// The whole text; empty for none.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}
