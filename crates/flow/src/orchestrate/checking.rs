//! The host's checks on all changes together: patches that are each right alone can be wrong together.
//!
//! They are judged as those of a single run are: by what they say of the workspace without the changes, and by what they
//! say with everything that defines them as it was there.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use holon_core::event::{EventBody, RunEvent};
use holon_core::manifest::{CheckOrigin, CheckRecord, CheckVerdict};
use holon_core::mode_run::ModeDecision;
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::store::{RunFolder, write_atomic};
use holon_host::{Executor, FinishedRun, HostError, RunContext, RunPlan, TreeBefore};

use super::child_builder;
use super::children::{attempt, relative};
use super::drive::OrchestrationDriver;
use super::graph::CHECK;
use super::merge_tasks;
use super::planner::{OrchestrationEvent, apply};
use super::state::{AttemptEnd, AttemptPurpose, OrchestrationState};
use crate::dispatch::private_folder;
use crate::error::FlowError;
use crate::sealed;

/// What whoever mends is told, among what the host made.
pub(super) const FAILED_CHECKS: &str = "failed-checks.md";
/// How much of what a check printed is told.
const TOLD: usize = 16 << 10;

impl OrchestrationDriver<'_, '_> {
    /// Adds the task that stands for the checks, as soon as there is something to check and something to check it with.
    pub(super) fn ensure_checked(&mut self, state: &mut OrchestrationState) -> Result<(), FlowError> {
        if state.nodes.iter().any(|node| node.task.mode == CHECK) {
            return Ok(());
        }
        let base = self.trunk.base(&state.merges)?;
        let commands = commands(&self.check_plan(state, &base)?);
        if !commands.is_empty() {
            apply(state, OrchestrationEvent::ToCheck { commands });
            self.tell_plan(state);
        }
        Ok(())
    }

    /// Runs the checks on everything that was joined, and says what that means.
    pub(super) fn check(&mut self, state: &mut OrchestrationState, node: usize) -> Result<(), FlowError> {
        let base = self.trunk.base(&state.merges)?;
        let plan = self.check_plan(state, &base)?;
        let commands = commands(&plan);
        let step = state.nodes[node].task.id.clone();
        let number = state.nodes[node].attempts.len() as u32 + 1;
        self.journal.emit(EventBody::StepStarted { step, mode: Some(CHECK.into()), attempt: number });
        apply(state, OrchestrationEvent::Begun { node, attempt: attempt(AttemptPurpose::Task, CHECK) });
        self.save(state)?;
        let (host, cancel) = ((self.host)(self.inside()), self.cancel);
        let before = TreeBefore {
            workspace: self.workspace.clone(),
            touched: merge_tasks::paths(state).into_iter().collect(),
            always: false,
        };
        let mut pass = |event: &RunEvent| self.heard(state, node, event, &base);
        let plan = plan.only_checks(Some(before));
        let finished = match host.execute(plan, RunContext::new(&mut pass, cancel)) {
            Ok(finished) => finished,
            Err(error) => {
                self.tell_refused(state, node, &error.to_string());
                let (kind, reason) = (error.kind().to_owned(), error.to_string());
                apply(state, OrchestrationEvent::Refused { node, kind, reason });
                return Ok(());
            }
        };
        if let Some(last) = state.nodes[node].attempts.last_mut() {
            last.run = Some(finished.manifest.run_id.clone());
            last.folder = relative(self.held.path(), &finished.folder);
        }
        let run = RunFolder::open(finished.folder.clone());
        sealed::seal_and_tell(self.dispatcher.audit(), "orchestrate", &run, &finished.manifest);
        let end = self.checked(&finished, &commands)?;
        self.tell_end(state, node, &end);
        if let ModeDecision::Block { reason } = &end.decision {
            let message = format!("{}: {reason}", state.nodes[node].task.id);
            self.journal.emit(EventBody::Warning { message });
        }
        apply(state, OrchestrationEvent::Ended { node, end: Box::new(end) });
        Ok(())
    }

    /// What the checks came to.
    fn checked(&mut self, finished: &FinishedRun, commands: &[String]) -> Result<AttemptEnd, FlowError> {
        let manifest = &finished.manifest;
        let error = manifest.error.as_ref().map(|error| (error.kind.clone(), error.message.clone()));
        let mut end = AttemptEnd {
            status: manifest.status,
            outcome: RunOutcome::Success,
            decision: ModeDecision::Approve,
            error: None,
            manifest_sha256: None,
            artifacts: Default::default(),
            changed: false,
            cost_usd: 0.0,
            duration_ms: manifest.duration_ms,
        };
        if let Some((kind, message)) = error.filter(|(kind, _)| kind != "check_failed") {
            (end.outcome, end.decision) =
                (RunOutcome::Failure, ModeDecision::Escalate { reason: message.clone() });
            end.error = Some((kind, message));
            return Ok(end);
        }
        let ran = manifest.metadata.verification.clone().unwrap_or_default().checks;
        let failed = self.that_count(ran, manifest.error.is_some());
        if self.cancel.is_cancelled() {
            end.status = RunStatus::Cancelled;
        }
        if failed.is_empty() || end.status == RunStatus::Cancelled {
            return Ok(end);
        }
        let evidence = RunFolder::open(finished.folder.clone()).evidence();
        let text = self.journal.redact(&told(&failed, commands, &evidence));
        let folder = self.held.own("made");
        private_folder(&folder)?;
        write_atomic(&folder.join(FAILED_CHECKS), text.as_bytes())?;
        let names: Vec<String> = failed.iter().map(how).collect();
        let reason = format!("all changes together do not pass: {}", names.join(", "));
        end.outcome = RunOutcome::Failure;
        end.error = Some(("check_failed".to_owned(), reason.clone()));
        end.decision = ModeDecision::Block { reason };
        Ok(end)
    }

    /// Failed checks without those that fail without the changes, too, and that nobody holds against them.
    fn that_count(&mut self, ran: Vec<CheckRecord>, held: bool) -> Vec<CheckRecord> {
        let mut failed = Vec::new();
        for check in ran {
            let as_before = check.told() == CheckVerdict::FailingAsBefore;
            if as_before && !(held && check.origin == CheckOrigin::Asked) {
                let message = format!("`{}` fails with the changes, and without them", check.command);
                self.journal.emit(EventBody::Warning { message });
            } else if as_before || check.counts_as_failed() {
                failed.push(check);
            }
        }
        failed
    }

    /// The plan whose checks are meant; the walls are those in which code is written.
    fn check_plan(&self, state: &OrchestrationState, base: &Path) -> Result<RunPlan, FlowError> {
        let mut request = child_builder::checks(&self.child_builder(), base)?;
        let most = self.catalog.resolve("execute").map_err(HostError::from)?.limits.timeout;
        request.timeout = Some(most.min(self.time_left(state).into()));
        Ok((self.host)(self.inside()).plan(&request)?)
    }
}

fn commands(plan: &RunPlan) -> Vec<String> {
    plan.checking().into_iter().map(|(_, command)| command).collect()
}

fn how(check: &CheckRecord) -> String {
    match check.exit_code {
        Some(code) => format!("`{}` exited with {code}", check.command),
        None => format!("`{}` was ended", check.command),
    }
}

/// What failed, and the end of what it printed; logs are numbered as the commands are.
fn told(failed: &[CheckRecord], commands: &[String], evidence: &Path) -> String {
    let mut text = String::from("# Checks that fail on all changes together\n");
    for check in failed {
        let _ = write!(text, "\n## {}\n\n", how(check));
        let number = commands.iter().position(|command| *command == check.command).unwrap_or(0) + 1;
        let bytes = fs::read(evidence.join(format!("check-{number}.log"))).unwrap_or_default();
        let said = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TOLD)..]).into_owned();
        for line in said.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}
