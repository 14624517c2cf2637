//! The supervisor's part of a run: what it is told before the first round, what it looks at, what it leaves.

use std::fs;
use std::path::{Path, PathBuf};

use holon_agent::supervise::{ChangeWatch, RunCheckpoint, SupervisionContext, TakeoverRequests};
use holon_agent::{AgentConversation, SupervisionSession, TurnLimits, TurnSettings};
use holon_core::artifact::plan::PlanDocument as PlanFile;
use holon_core::outcome::RunOutcome;
use holon_core::policy::{CallSurface, ProposedCall, ToolCallGate, ToolVerdict as Allowed};
use holon_model::{Prices, TokenUsage};
use holon_supervisor::event::{CheckCommand, SupervisorSetup};
use holon_supervisor::{SupervisorConfig, SupervisorState};

use serde_json::json;

use super::change_watch::SnapshotWatch;
use super::checkpoints::{CHECKPOINT, CheckpointWriter};
use super::collect::CollectedResult;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use super::{ActiveRun, carried_changes};
use crate::error::HostError;
use crate::shape;

/// A model's window where nobody knows it, in tokens.
const USUAL_WINDOW: u64 = 128_000;
/// A person's wish that the supervisor take over, in the folder of a running run.
pub(crate) const TAKEOVER: &str = "takeover";

impl ActiveRun<'_> {
    /// The supervisor of this run, as it was before a repair round or at a checkpoint, or a new one.
    pub(super) fn supervision(&mut self, settings: &TurnSettings) -> Result<SupervisionSession, HostError> {
        if let Some(supervision) = self.supervision.take() {
            return Ok(supervision);
        }
        let limit = token_limit(&settings.limits, settings.prices, settings.window);
        self.new_supervision(self.plan.supervisor.clone(), limit)
    }

    /// The same for an agent that thinks inside. Where nobody knows what its calls are about, it is only watched.
    pub(super) fn foreign_supervision(&mut self) -> Result<SupervisionSession, HostError> {
        if let Some(supervision) = self.supervision.take() {
            return Ok(supervision);
        }
        let mut config = self.plan.supervisor.clone();
        let known = self.plan.agent.adapter.calls.is_some();
        config.shadow |= !known && config.level.can_shadow();
        let limits = &self.plan.profile.limits;
        let limits = TurnLimits { rounds: limits.rounds, tokens: u64::MAX, cost_usd: limits.cost_usd };
        let door = self.foreign.door.as_ref().map(|door| (door.prices, door.window));
        let (prices, window) = door.unwrap_or_default();
        let window = if window == 0 { USUAL_WINDOW } else { window };
        self.new_supervision(config, token_limit(&limits, prices, window))
    }

    fn new_supervision(
        &self,
        config: SupervisorConfig,
        token_limit: u64,
    ) -> Result<SupervisionSession, HostError> {
        SupervisionSession::new(config, self.setup(token_limit))
            .map_err(|e| HostError::usage(e.to_string(), "correct the supervisor's settings"))
    }

    fn setup(&self, token_limit: u64) -> SupervisorSetup {
        let shape = if self.plan.auto_checks { shape::of(&self.plan.workspace) } else { Default::default() };
        let known = |command: String, asked: bool| CheckCommand { command, asked };
        let asked = self.plan.checks.iter().map(|check| known(check.clone(), true));
        let found = shape.checks().into_iter().map(|check| known(check, false));
        let mut checks: Vec<CheckCommand> = asked.collect();
        if checks.is_empty() {
            checks.extend(found);
        }
        // What the mode does not let the agent run cannot be asked of it.
        checks.retain(|check| self.may_run(&check.command));
        let (plan_files, plan_steps) = self.planned();
        SupervisorSetup {
            run: self.record.id.clone(),
            mode: self.plan.profile.name.clone(),
            goal: self.plan.spec.goal.description.clone(),
            plan_files,
            plan_steps,
            checks,
            monorepo: shape.is_monorepo(),
            token_limit,
            round_limit: u32::try_from(self.plan.profile.limits.rounds).unwrap_or(0),
            foreign: !self.is_native(),
        }
    }

    fn may_run(&self, command: &str) -> bool {
        let gate = ToolCallGate::new(&self.plan.profile, CallSurface::Run, self.person.is_some());
        let call = ProposedCall { tool: "execute", line: Some(command), ..ProposedCall::default() };
        gate.decide(&call).verdict != Allowed::Deny
    }

    /// Files and steps of a plan among the context.
    fn planned(&self) -> (Vec<String>, u32) {
        let file = self.folder.input().join("context/plan.json");
        let plan = fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<PlanFile>(&bytes).ok());
        let Some(plan) = plan else { return (Vec::new(), 0) };
        let mut files: Vec<String> = plan.steps.iter().flat_map(|step| step.files.clone()).collect();
        files.dedup();
        (files, u32::try_from(plan.steps.len()).unwrap_or(u32::MAX))
    }

    /// The supervisor and the conversation as they were at a checkpoint.
    pub(super) fn go_on(
        &self,
        checkpoint: RunCheckpoint,
        conversation: &mut AgentConversation,
    ) -> SupervisionSession {
        let (supervision, before) = checkpoint.resume();
        // What the run before used is in its own manifest.
        *conversation = AgentConversation { usage: TokenUsage::default(), ..before };
        supervision
    }

    /// Puts the changes so far aside when somebody may want to go on with them.
    pub(super) fn put_aside(&mut self, found: &CollectedResult, verdict: &RunVerdict) {
        // What must not leave is not kept either.
        let doubtful = verdict.outcome != RunOutcome::Success || verdict.doubt.is_some();
        let wanted = doubtful && !verdict.withhold_patch;
        let resumable = wanted && self.folder.path().join(CHECKPOINT).exists();
        if resumable && let Err(e) = carried_changes::save(self.folder.path(), found.changes.as_ref()) {
            self.warn(format!("this run cannot be resumed: its changes could not be put aside: {e}"));
        }
    }

    /// What the steward needs of this run.
    pub(super) fn surroundings(&self, stage: &RunStage, takeovers: TakeoverRequests) -> SupervisionContext {
        let look = stage
            .git
            .as_ref()
            .and_then(|git| SnapshotWatch::of(&stage.snapshot, git, stage.already.files))
            .map(|outside| Box::new(outside) as Box<dyn ChangeWatch>);
        let redactor = self.events.redactor().clone();
        let keeper = CheckpointWriter::new(self.folder.path(), redactor.clone());
        SupervisionContext {
            clock: Box::new(|| u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)),
            redactor,
            workspace: self
                .folders(stage, stage.backend.private_root())
                .workspace
                .to_string_lossy()
                .into_owned(),
            look,
            takeovers,
            keeper: Some(Box::new(move |checkpoint| keeper.keep(checkpoint))),
        }
    }

    /// Sums up what the supervisor did.
    pub(super) fn note_supervision(&mut self) {
        // An agent that asked no model was not supervised.
        let native = self.is_native();
        let silent = |state: &SupervisorState| !native && state.round() == 0;
        if let Some(supervision) = self.supervision.as_ref().filter(|own| !silent(own.state())) {
            let mut summary = supervision.summary();
            if supervision.state().is_foreign() {
                summary["foreign"] = json!(self.foreign.insertions);
            }
            self.manifest.metadata.supervisor = Some(summary);
        }
    }
}

/// The tokens a run may use at most: its own limit, what its money buys, and all its rounds with a full window.
fn token_limit(limits: &TurnLimits, prices: Option<Prices>, window: u64) -> u64 {
    let price = prices.map(|prices| prices.input).filter(|price| *price > 0.0);
    let bought = price.map_or(u64::MAX, |price| (limits.cost_usd / price) as u64);
    limits.tokens.min(bought).min(window.saturating_mul(limits.rounds))
}

/// Takes a person's wish out of the folder of a running run.
pub(super) fn wish(folder: &Path) -> Option<String> {
    let file: PathBuf = folder.join(TAKEOVER);
    // Looked for many times a second: a missing file must cost next to nothing.
    fs::symlink_metadata(&file).ok()?;
    let by = fs::read_to_string(&file).ok().filter(|by| !by.trim().is_empty());
    fs::remove_file(&file).ok()?;
    Some(by.unwrap_or_else(|| "a person".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_token_limit_whatever_it_is_limited_by() {
        let limits = TurnLimits { rounds: 50, tokens: u64::MAX, cost_usd: 3.0 };
        assert_eq!(token_limit(&limits, None, 1_000), 50_000, "every round with a full window");
        let prices = Some(Prices { input: 1e-4, ..Prices::default() });
        assert_eq!(token_limit(&limits, prices, 1_000), 30_000, "what the money buys");
        assert_eq!(token_limit(&TurnLimits { tokens: 700, ..limits }, prices, 1_000), 700, "what was said");
    }
}
