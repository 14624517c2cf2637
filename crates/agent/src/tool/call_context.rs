//! Where a call takes place: the hands, the settings, who watches, what may be used.

use holon_core::artifact::{self, ArtifactProblem};
use holon_core::event::EventBody;
use holon_core::ids::CallId;
use holon_hands::{FileExpectation, StoredFile, ToolRequest, ToolResponse};

use super::{ToolOutcome, ToolTrouble, odd};
use crate::agent::NativeAgent;
use crate::budget::TurnBudget;
use crate::edit::file_diff;
use crate::tool::ToolEffect;

/// The surroundings of one call.
pub(crate) struct CallContext<'a> {
    /// Who calls.
    pub(crate) agent: &'a NativeAgent<'a>,
    /// What is left to use.
    pub(crate) budget: &'a TurnBudget,
    /// The call, in events.
    pub(crate) call: CallId,
    /// Whether lines are numbered when files are read.
    pub(crate) numbered: bool,
}

impl CallContext<'_> {
    /// Has a deed done, unless the turn is cancelled before it is.
    pub(crate) async fn carry_out(&self, deed: ToolRequest) -> Result<ToolResponse, ToolTrouble> {
        let doing = self.agent.hands.carry_out(deed, None);
        Ok(self.agent.cancel.race(doing).await.map_err(|_| ToolTrouble::Cancelled)??)
    }

    /// The same with the output of a command told to the watcher as it comes.
    pub(crate) async fn carry_out_watched(&self, deed: ToolRequest) -> Result<ToolResponse, ToolTrouble> {
        let mut watch = |text: &str| {
            self.agent.watcher.tell(EventBody::ToolOutput { call: self.call.clone(), text: text.to_owned() });
        };
        let doing = self.agent.hands.carry_out(deed, Some(&mut watch));
        Ok(self.agent.cancel.race(doing).await.map_err(|_| ToolTrouble::Cancelled)??)
    }

    /// Shows whoever watches what became of a file.
    pub(crate) fn tell_edit(&self, path: &str, before: Option<&str>, after: Option<&str>) {
        if let Some(diff) = file_diff(path, before, after) {
            self.agent.watcher.edited(&self.call, diff);
        }
    }

    /// Writes a whole file.
    pub(crate) async fn store(
        &self,
        path: &str,
        bytes: Vec<u8>,
        expect: FileExpectation,
    ) -> Result<StoredFile, ToolTrouble> {
        let deed = ToolRequest::Store { path: path.to_owned(), bytes, expect, executable: None };
        match self.carry_out(deed).await? {
            ToolResponse::Stored(stored) => Ok(stored),
            _ => Err(odd()),
        }
    }

    /// Hands artifacts over: all are checked first, and none is written while one is wrong.
    pub(crate) async fn hand_over(&self, files: Vec<(&str, String)>) -> Result<ToolOutcome, ToolTrouble> {
        let mut problems: Vec<String> = Vec::new();
        for (name, text) in &files {
            if let Err(found) = artifact::validate(name, text.as_bytes()) {
                problems.extend(found.iter().map(|problem: &ArtifactProblem| problem.to_string()));
            }
        }
        if !problems.is_empty() {
            problems.dedup();
            return Err(ToolTrouble::Said(format!(
                "not accepted:\n- {}\nCall again with all of it.",
                problems.join("\n- ")
            )));
        }
        let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        for (name, text) in files {
            self.store(&self.agent.output_path(name), text.into_bytes(), FileExpectation::Any).await?;
        }
        let text = format!("{} accepted", names.join(" and "));
        Ok(ToolOutcome { effect: ToolEffect::Handed(names), ..ToolOutcome::said(text) })
    }
}
