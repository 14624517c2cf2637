//! Going on with a run that ended before its work was done: stopped for a person, cut short, or killed.

use holon_agent::supervise::RunCheckpoint;
use holon_core::event::EventSink;
use holon_core::ids::RunId;
use holon_core::manifest::AuditHead;
use holon_core::outcome::RunOutcome;

use super::carried_changes::CarriedChanges;
use super::checkpoints;
use super::replay::ReplayInputs;
use super::{FinishedRun, Host};
use crate::cancel::RunCancel;
use crate::error::HostError;
use crate::request::RunRequest;
use crate::store::RunFolder;

/// What a run goes on from.
pub(super) struct ResumedRun {
    /// The run before.
    pub from: RunId,
    pub checkpoint: RunCheckpoint,
    pub carry: CarriedChanges,
    /// What the agent is told first.
    pub message: String,
}

impl Host {
    /// Goes on with a stored run in a new one: its conversation, its supervisor's state and its changes so far. `audit` is
    /// where the audit log ends now, `apply` whether its patch is applied when it succeeds, if that was not asked before.
    pub fn resume(
        &self,
        folder: &RunFolder,
        message: Option<&str>,
        (audit, apply): (Option<AuditHead>, bool),
        sink: &mut dyn EventSink,
        cancel: &RunCancel,
    ) -> Result<FinishedRun, HostError> {
        let record = folder.record()?;
        if folder.is_alive() {
            let hint =
                format!("wait for it, or let the supervisor lead with `holon runs takeover {}`", record.id);
            return Err(HostError::run(format!("run {} is still going on", record.id), hint));
        }
        folder.mark_interrupted()?;
        let manifest = folder.manifest();
        if manifest.as_ref().is_some_and(|manifest| manifest.outcome == RunOutcome::Success) {
            return Err(HostError::run(
                format!("run {} has done its work", record.id),
                "start a new one with --goal; `holon runs apply` brings its patch in",
            ));
        }
        // Gone on with alone, it would leave as if it were work of its own. The whole itself goes on with its parts from a
        // state of theirs, which lies in its own folder.
        let own = self.places.runs_of(&record.workspace);
        let alone = folder.path().parent() != Some(own.as_path());
        let whole = manifest.as_ref().and_then(|manifest| manifest.metadata.part_of.as_ref());
        if let Some(whole) = whole.filter(|_| alone) {
            return Err(HostError::run(
                format!("run {} is a part of {whole}", record.id),
                format!("go on with the whole: holon run --resume {whole}"),
            ));
        }
        let asked = ReplayInputs::load(folder)?;
        let name = folder.record().map(|record| record.id.to_string()).unwrap_or_default();
        let checkpoint = checkpoints::load(folder.path(), &name)?;
        let Some(carry) = CarriedChanges::of(folder.path()) else { return Err(nothing_kept(&record.id)) };
        let outdated = carry.outdated(&record.workspace);
        if !outdated.is_empty() {
            return Err(HostError::run(
                format!("run {} cannot go on: these files changed since: {}", record.id, outdated.join(", ")),
                "put them back, or take its patch with `holon runs diff` and start anew",
            ));
        }
        let why = manifest.and_then(|manifest| manifest.error).map(|error| error.message);
        let resumed = ResumedRun {
            message: opening(why.as_deref(), message),
            from: record.id.clone(),
            checkpoint,
            carry,
        };
        let request = asked.request_again(folder)?;
        let apply = apply || request.apply;
        let request = RunRequest { replay: asked.request.replay.clone(), audit, apply, ..request };
        self.run_as(&request, Some(&asked), Some(resumed), sink, cancel)
    }
}

fn nothing_kept(id: &RunId) -> HostError {
    HostError::run(
        format!("run {id} cannot go on: its changes were not kept"),
        "take its patch with `holon runs diff`, and start anew",
    )
}

/// What the agent hears first.
fn opening(why: Option<&str>, message: Option<&str>) -> String {
    let mut text = String::from("[The run goes on where it ended");
    if let Some(why) = why {
        text.push_str(&format!(" ({why})"));
    }
    text.push_str(
        ". The workspace holds the changes so far; look before you rely on calls whose results you did not see.]",
    );
    if let Some(message) = message.map(str::trim).filter(|message| !message.is_empty()) {
        text.push_str(&format!("\n\nA person has looked and says:\n{message}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_hears_why_and_what_a_person_says() {
        let text = opening(Some("the budget is spent"), Some(" use the other parser\n"));
        assert!(text.contains("(the budget is spent)") && text.ends_with("says:\nuse the other parser"));
        assert!(!opening(None, Some(" ")).contains("person"));
    }
}
