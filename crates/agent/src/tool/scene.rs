//! Where a call takes place: the hands, the settings, who watches, what may be used.

use holon_core::artifact::{self, Problem};
use holon_core::event::Body;
use holon_core::ids::CallId;
use holon_hands::{Deed, Done, Expectation, Stored};

use super::{Outcome, Trouble, odd};
use crate::agent::Agent;
use crate::budget::Budget;
use crate::tool::Effect;

/// The surroundings of one call.
pub(crate) struct Scene<'a> {
    /// Who calls.
    pub(crate) agent: &'a Agent<'a>,
    /// What is left to use.
    pub(crate) budget: &'a Budget,
    /// The call, in events.
    pub(crate) call: CallId,
    /// Whether lines are numbered when files are read.
    pub(crate) numbered: bool,
}

impl Scene<'_> {
    /// Has a deed done, unless the turn is cancelled before it is.
    pub(crate) async fn carry_out(&self, deed: Deed) -> Result<Done, Trouble> {
        let doing = self.agent.hands.carry_out(deed, None);
        Ok(self.agent.cancel.race(doing).await.map_err(|_| Trouble::Cancelled)??)
    }

    /// The same with the output of a command told to the watcher as it comes.
    pub(crate) async fn carry_out_watched(&self, deed: Deed) -> Result<Done, Trouble> {
        let mut watch = |text: &str| {
            self.agent.watcher.tell(Body::ToolOutput { call: self.call.clone(), text: text.to_owned() });
        };
        let doing = self.agent.hands.carry_out(deed, Some(&mut watch));
        Ok(self.agent.cancel.race(doing).await.map_err(|_| Trouble::Cancelled)??)
    }

    /// Writes a whole file.
    pub(crate) async fn store(
        &self,
        path: &str,
        bytes: Vec<u8>,
        expect: Expectation,
    ) -> Result<Stored, Trouble> {
        let deed = Deed::Store { path: path.to_owned(), bytes, expect, executable: None };
        match self.carry_out(deed).await? {
            Done::Stored(stored) => Ok(stored),
            _ => Err(odd()),
        }
    }

    /// Hands artifacts over: all are checked first, and none is written while one is wrong.
    pub(crate) async fn hand_over(&self, files: Vec<(&str, String)>) -> Result<Outcome, Trouble> {
        let mut problems: Vec<String> = Vec::new();
        for (name, text) in &files {
            if let Err(found) = artifact::validate(name, text.as_bytes()) {
                problems.extend(found.iter().map(|problem: &Problem| problem.to_string()));
            }
        }
        if !problems.is_empty() {
            problems.dedup();
            return Err(Trouble::Said(format!(
                "not accepted:\n- {}\nCall again with all of it.",
                problems.join("\n- ")
            )));
        }
        let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        for (name, text) in files {
            self.store(&self.agent.output_path(name), text.into_bytes(), Expectation::Any).await?;
        }
        let text = format!("{} accepted", names.join(" and "));
        Ok(Outcome { effect: Effect::Handed(names), ..Outcome::said(text) })
    }
}
