//! Verify: believe nothing that was not looked at.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use holon_agent::TurnEndReason;
use holon_core::event::EventBody;
use holon_core::manifest::{AdapterClaim, ErrorInfo, SandboxBreach};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::{Access, secrets};
use holon_gateway::BudgetLimit;
use holon_model::ModelErrorKind;
use holon_model::cassette::CassetteStep;
use holon_sandbox::diff::CollectedChanges;
use holon_sandbox::isolation::PayloadEnding;

use super::ActiveRun;
use super::collect::CollectedResult;
use super::final_message::LastWords;
use super::native_run_result;
use super::output::PayloadStopCause;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use crate::error::HostError;
use crate::steering::sensitive_paths;
use crate::store::write_atomic;

/// The most that is read of a manifest or patch the agent wrote.
const CLAIM_LIMIT: u64 = 64 << 20;

/// Somebody ended the run.
fn cancelled() -> ErrorInfo {
    ErrorInfo::new("cancelled", "cancelled by request")
        .with_hint("run it again when you are ready; nothing was applied")
}

impl ActiveRun<'_> {
    pub(super) fn verify(
        &mut self,
        stage: &mut RunStage,
        found: &mut CollectedResult,
    ) -> Result<RunVerdict, HostError> {
        let mut verdict = RunVerdict::good();
        self.manifest.artifacts.clear();
        self.manifest.breaches.clear();
        self.folder.clear_output()?;
        let claim = self.take_adapter_files(found)?;
        let ended_well = self.judge_ending(stage, claim.as_ref(), &mut verdict);
        if ended_well {
            self.judge_looked(stage, &mut verdict);
        }
        self.note_question(stage, claim.as_ref(), &mut verdict);
        self.judge_changes(found, &mut verdict);
        let last = stage.last.as_ref().filter(|_| ended_well);
        if let Some(words) = last.and_then(|last| LastWords::of(last, verdict.asks_person)) {
            self.lend_words(&words, stage)?;
        }
        if let Some(report) = self.foreign.over.report.clone() {
            self.lend("summary.md", report.into_bytes(), stage)?;
        }
        // A script would only say the same again.
        let again = ended_well && stage.attempts < 2 && self.host.script.is_none() && !self.plan.interactive;
        self.judge_artifacts(&mut verdict, again)?;
        if let Some(why) = self.foreign.over.not_yet.clone().filter(|_| ended_well) {
            verdict.repairs.push(("the work".to_owned(), vec![why]));
        }
        // Nobody sits down a second time for what was not handed over.
        let once = self.plan.interactive;
        verdict.asks_for_repair = ended_well && stage.attempts < 2 && !verdict.repairs.is_empty() && !once;
        Ok(verdict)
    }

    /// A manifest or patch the agent wrote is a claim: kept as evidence, never delivered as ours.
    fn take_adapter_files(&mut self, found: &CollectedResult) -> Result<Option<AdapterClaim>, HostError> {
        let mut claim = None;
        for (name, kept) in [("manifest.json", "adapter-manifest.json"), ("diff.patch", "adapter-diff.patch")]
        {
            let Ok(bytes) = self.read_left(name, CLAIM_LIMIT) else { continue };
            if name == "manifest.json" {
                claim = AdapterClaim::parse(&bytes);
                if claim.is_none() {
                    self.warn_once(format!(
                        "the manifest.json the agent left is no JSON object, so nothing it says counts; it is in evidence/{kept}"
                    ));
                }
            } else if self.plan.profile.access.delivers() && bytes != found.patch.bytes {
                self.warn_once(format!(
                    "the diff.patch the agent left differs from the one the host made; it is in evidence/{kept}"
                ));
            }
            let clean = self.events.redactor().redact(&bytes);
            write_atomic(&self.folder.evidence().join(kept), &clean)?;
        }
        Ok(claim)
    }

    /// From how the agent ended to status and outcome; `true` when it ended by itself and in peace.
    fn judge_ending(
        &mut self,
        stage: &RunStage,
        claim: Option<&AdapterClaim>,
        verdict: &mut RunVerdict,
    ) -> bool {
        let Some(last) = &stage.last else { return false };
        if let Some((conversation, _)) = &last.thought {
            self.manifest.metadata.usage = conversation.usage.into();
        }
        let cancelled_by_person = last.stopped == Some(PayloadStopCause::Cancelled);
        if let Some(stop) = self.foreign.over.stop.as_ref().filter(|_| !cancelled_by_person) {
            // However the client took the refusal, this is why it ended.
            let hint = "look at summary.md, then run it again with what it has to know in the goal";
            return native_run_result::judge_stop(stop, hint, verdict);
        }
        if let Some(stopped) = last.stopped {
            let (limit, value) = stopped.limit();
            let (status, hint) = match stopped {
                PayloadStopCause::Cancelled => {
                    verdict.ended(RunStatus::Cancelled, cancelled());
                    return false;
                }
                PayloadStopCause::Timeout(_) => {
                    (RunStatus::Timeout, "give it more time with --timeout, or a smaller goal")
                }
                PayloadStopCause::Idle(_) => (
                    RunStatus::Timeout,
                    "it printed nothing for that long; raise --idle-timeout if that is normal",
                ),
                PayloadStopCause::Spent(limit) => (
                    RunStatus::Timeout,
                    match limit {
                        BudgetLimit::Requests => "allow more with --max-rounds, or give a smaller goal",
                        BudgetLimit::Tokens | BudgetLimit::Cost => {
                            "allow more with --max-cost, or give a smaller goal"
                        }
                    },
                ),
                // Told above, with the reason.
                PayloadStopCause::Supervised => (RunStatus::Failed, "see `holon runs show --supervisor`"),
                PayloadStopCause::Output(_) => {
                    (RunStatus::Failed, "raise --max-output if that much output is expected")
                }
                PayloadStopCause::Disk(_) => (
                    RunStatus::Failed,
                    "raise disk_mb or files in the mode's [limits] if that much is expected",
                ),
            };
            let mut message = format!("the agent reached its limit {limit}: {value}");
            let timed = matches!(stopped, PayloadStopCause::Timeout(_) | PayloadStopCause::Idle(_));
            let hint = match last.waits.as_ref().filter(|_| timed) {
                Some(why) => {
                    message.push_str(&format!(", waiting for the model: {why}"));
                    "see to what keeps the model from answering, or choose another --model or --provider"
                }
                None => hint,
            };
            verdict.ended(status, ErrorInfo::new(limit, message).with_hint(hint));
            return false;
        }
        if last.finished.out_of_memory {
            let message =
                format!("the agent used up its memory ({} MiB)", self.plan.profile.limits.memory_mb);
            verdict.ended(
                RunStatus::Failed,
                ErrorInfo::new("memory", message).with_hint("raise memory_mb in the mode's [limits]"),
            );
            return false;
        }
        if let Some(heard) = &last.heard {
            let version = &mut self.manifest.metadata.agent.version;
            *version = version.take().or_else(|| heard.version.clone());
            return self.judge_heard(heard, last.finished.ending, stage, claim, verdict);
        }
        if let Some((_, ended)) = &last.thought {
            if ended.reason == TurnEndReason::Cancelled && self.cut_on_tape() {
                let again = || (RunStatus::Cancelled, cancelled());
                let (status, error) = self.plan.cut.clone().map_or_else(again, |cut| (cut.status, cut.error));
                verdict.ended(status, error);
                return false;
            }
            return native_run_result::judge(ended, verdict);
        }
        if let (true, PayloadEnding::Code(_)) = (self.plan.interactive, last.finished.ending) {
            // Whatever the code: a person saw the end, and decides.
            return true;
        }
        let asks_human = claim.is_some_and(AdapterClaim::needs_human);
        let said = || claim.and_then(|c| c.error.clone()).map(|e| format!(": {e}")).unwrap_or_default();
        match last.finished.ending {
            PayloadEnding::Code(code) if code == 2 || asks_human => {
                let message = format!("the agent asks for a person{}", said());
                verdict.worsen(RunOutcome::NeedsHuman, ErrorInfo::new("needs_human", message));
                verdict.asks_person = true;
                true
            }
            PayloadEnding::Code(0) if claim.is_some_and(AdapterClaim::failed) => {
                verdict.worsen(
                    RunOutcome::Failure,
                    ErrorInfo::new("agent_failed", format!("the agent says that it failed{}", said())),
                );
                false
            }
            PayloadEnding::Code(0) => true,
            PayloadEnding::Code(code) => {
                let error = match self.end_trouble(stage, code) {
                    Some(trouble) => ErrorInfo::new("agent_failed", trouble.message).with_hint(trouble.hint),
                    None => {
                        ErrorInfo::new("agent_failed", format!("the agent exited with code {code}{}", said()))
                            .with_hint("its output is in evidence/agent.log")
                    }
                };
                verdict.worsen(RunOutcome::Failure, error);
                false
            }
            PayloadEnding::Signal(signal) => {
                verdict.ended(
                    RunStatus::Failed,
                    ErrorInfo::new("agent_killed", format!("the agent was ended by signal {signal}")),
                );
                false
            }
            PayloadEnding::Killed => {
                verdict.ended(
                    RunStatus::Failed,
                    ErrorInfo::new("agent_killed", "the agent and its init were killed"),
                );
                false
            }
        }
    }

    /// Whoever reviews has looked at something; an answer that rests on nothing here is marked. Of agents that think inside
    /// nobody knows what they read.
    fn judge_looked(&mut self, stage: &RunStage, verdict: &mut RunVerdict) {
        let thought = stage.last.as_ref().and_then(|last| last.thought.as_ref());
        if thought.is_none_or(|(conversation, _)| conversation.facts.looked) {
            return;
        }
        if self.plan.profile.artifacts.required.iter().any(|name| name == "review.json") {
            let error = ErrorInfo::new("nothing_read", "the agent reviews without having read anything");
            verdict.worsen(
                RunOutcome::Failure,
                error.with_hint("say in the goal what is to be reviewed, or choose another --model"),
            );
            let told = "nothing was read before it was written; read what you review, then report again";
            verdict.repairs.push(("review.json".to_owned(), vec![told.to_owned()]));
        } else if self.plan.profile.name == "ask" {
            self.warn_once("the agent answers without having read anything here".to_owned());
        }
    }

    /// Whether a recording answers that ends where somebody ended the run.
    fn cut_on_tape(&self) -> bool {
        let turns = self.cassette.as_ref().map(|cassette| cassette.turns.as_slice());
        let steps = turns.and_then(<[_]>::last).map(|turn| turn.steps.as_slice()).unwrap_or_default();
        steps
            .iter()
            .any(|step| matches!(step, CassetteStep::Error(error) if error.kind == ModelErrorKind::Cancelled))
    }

    /// Scope, hidden paths, moved base, secrets and sensitive files.
    fn judge_changes(&mut self, found: &CollectedResult, verdict: &mut RunVerdict) {
        let Some(changes) = &found.changes else { return };
        let names = |paths: &[std::path::PathBuf]| {
            paths.iter().map(|p| p.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        if matches!(self.plan.profile.access, Access::ReadOnly) && !changes.is_empty() {
            let paths = changes.entries.iter().map(|c| c.path.to_string_lossy().into_owned()).collect();
            self.breach(verdict, "read_only_written", "a read-only snapshot was written to", paths);
            return;
        }
        if !self.plan.profile.access.delivers() {
            return;
        }
        if !changes.out_of_scope.is_empty() {
            self.breach(
                verdict,
                "out_of_scope",
                "files outside the mode's write scope were changed",
                names(&changes.out_of_scope),
            );
        }
        let out = self.plan.out.as_deref().and_then(|o| o.strip_prefix(&self.plan.workspace).ok());
        let hidden: Vec<_> = changes.hidden.iter().filter(|p| Some(p.as_path()) != out).cloned().collect();
        if !hidden.is_empty() {
            let list = names(&hidden).join(", ");
            let error = ErrorInfo::new(
                "hidden_written",
                format!("the agent put something where hidden files are: {list}"),
            );
            verdict.worsen(RunOutcome::NeedsHuman, error.with_hint("the patch leaves those paths out"));
        }
        self.judge_moved(changes, verdict);
        if let Some(message) = self.secret_in(changes, &found.patch.bytes) {
            verdict.worsen(
                RunOutcome::NeedsHuman,
                ErrorInfo::new("secret", message)
                    .with_hint("look at evidence/withheld.patch; remove the secret and run again"),
            );
            verdict.withhold_patch = true;
        }
        let paths: Vec<&Path> = changes.entries.iter().map(|c| c.path.as_path()).collect();
        let touched: Vec<_> =
            sensitive_paths(&self.plan.workspace, &paths).iter().map(|p| p.to_string_lossy()).collect();
        if !touched.is_empty() && !self.plan.allow_sensitive {
            let error = ErrorInfo::new(
                "sensitive",
                format!(
                    "the patch changes files that steer agents, CI, git or Holon itself: {}",
                    touched.join(", ")
                ),
            );
            verdict
                .worsen(RunOutcome::NeedsHuman, error.with_hint("review it, or run with --allow-sensitive"));
        }
    }

    /// Files a person changed while the agent worked: with their original known the patch is right, and applying it merges;
    /// without it they are not part of the patch.
    fn judge_moved(&mut self, changes: &CollectedChanges, verdict: &mut RunVerdict) {
        let names = |paths: &mut dyn Iterator<Item = &std::path::PathBuf>| {
            paths.map(|p| p.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ")
        };
        let unknown: Vec<_> = changes.unknown.iter().map(|change| &change.path).collect();
        let mut merged = changes.moved.iter().filter(|path| !unknown.contains(path));
        let merged = names(&mut merged);
        if !merged.is_empty() {
            let message = format!(
                "these files changed in the workspace while the agent worked: {merged}; the patch is made from what they \
                 were before, and applying it merges both"
            );
            if !self.manifest.metadata.warnings.contains(&message) {
                self.warn(message);
            }
        }
        if unknown.is_empty() {
            return;
        }
        let list = names(&mut unknown.iter().copied());
        let error = ErrorInfo::new(
            "base_moved",
            format!(
                "these files changed in the workspace while the agent worked, and what they were before is not known, so \
                 the patch leaves them out: {list}"
            ),
        );
        let hint = "your files are as you left them; the agent's versions are in evidence/conflicts";
        verdict.worsen(RunOutcome::NeedsHuman, error.with_hint(hint));
    }

    /// A credential in what the patch would add: the lines of files, and their names.
    fn secret_in(&self, changes: &CollectedChanges, patch: &[u8]) -> Option<String> {
        let redactor = self.events.redactor();
        if let [first, ..] = secrets::scan_added_lines_with(redactor, patch).as_slice() {
            let (rule, path, line) = (&first.rule, &first.path, first.line);
            return Some(format!("the patch adds what looks like a secret ({rule}) in {path}:{line}"));
        }
        let mut added = changes.entries.iter().filter(|change| change.base.is_none());
        let rule = added.find_map(|change| redactor.first_hit(change.path.as_os_str().as_bytes()))?;
        Some(format!("the patch adds a file whose name holds what looks like a secret ({rule})"))
    }

    /// A wall that did not hold, or a limit of the mode that was overstepped: always a failure.
    pub(super) fn breach(&mut self, verdict: &mut RunVerdict, kind: &str, detail: &str, paths: Vec<String>) {
        let breach = SandboxBreach { kind: kind.into(), detail: detail.into(), paths: paths.clone() };
        self.events.emit(EventBody::Breach { breach: breach.clone() });
        self.manifest.breaches.push(breach);
        let list = if paths.is_empty() { String::new() } else { format!(": {}", paths.join(", ")) };
        verdict.worsen(
            RunOutcome::Failure,
            ErrorInfo::new("breach", format!("{detail}{list}")).with_hint("the patch was not delivered"),
        );
        verdict.withhold_patch = true;
    }
}
