//! Execute: the agent behind the walls.

use std::ffi::OsString;
use std::time::Instant;

use holon_core::event::EventBody;
use holon_core::manifest::SandboxInfo;
use holon_sandbox::backend::{RunningPayload, SandboxBackend};
use holon_sandbox::disk::DiskLimits;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::isolation::{self, LaunchRefusal, LaunchStep, PayloadEnding};
use holon_sandbox::snapshot::SnapshotStrategyChoice;

use super::ActiveRun;
use super::isolation_levels;
use super::output::{Allowance, AttendedOutput, not_started};
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use crate::adapter::AdapterKind;
use crate::error::HostError;
use crate::store::write_atomic;

impl ActiveRun<'_> {
    /// First start of the agent.
    pub(super) fn execute(&mut self, stage: &mut RunStage) -> Result<(), HostError> {
        self.start_agent(stage, None)
    }

    /// Second and last start, with what was wrong as additional context.
    pub(super) fn repair(&mut self, stage: &mut RunStage, verdict: &RunVerdict) -> Result<(), HostError> {
        let mut text =
            String::from("# Repair\n\nThe result was checked and is not complete. Mend exactly this:\n");
        for (artifact, problems) in &verdict.repairs {
            text += &format!("\n## {artifact}\n");
            for problem in problems {
                text += &format!("- {problem}\n");
            }
        }
        let context = self.folder.input().join("context");
        std::fs::create_dir_all(&context).map_err(HostError::io("create", &context))?;
        write_atomic(&context.join("repair.md"), text.as_bytes())?;
        self.events
            .emit(EventBody::RepairRound { paths: verdict.repairs.iter().map(|(a, _)| a.clone()).collect() });
        stage.snapshot.renew()?;
        stage.renew_caches()?;
        self.start_agent(stage, Some(text))
    }

    fn start_agent(&mut self, stage: &mut RunStage, repair: Option<String>) -> Result<(), HostError> {
        self.furnish(stage, repair.as_deref())?;
        let mut payload = self.build_walls(stage, self.agent_argv())?;
        self.watch(stage)?;
        self.answer_door(payload.as_mut())?;
        self.answer_network(payload.as_mut())?;
        stage.attempts += 1;
        self.note_walls(stage.backend.as_ref(), payload.held(), stage);
        let attempt = stage.attempts;
        self.events.emit(EventBody::AgentStarted { attempt });
        let log = self.folder.evidence().join("agent.log");
        let watched = vec![self.folder.layers()];
        let allowance = self.allowance(stage, stage.deadline);
        if attempt == 1 {
            self.begin_baselines(stage);
        }
        let thinking = self.think(stage, payload.as_mut(), repair)?;
        let attended = self.attend(payload, thinking, &allowance, &watched, &log, true);
        self.close_door(attended.as_ref().is_ok_and(|attended| attended.stopped.is_none()));
        self.close_network();
        self.end_watch(attended.as_ref().is_ok_and(AttendedOutput::is_done));
        let attended = attended.map_err(|error| self.explained(stage, error))?;
        let (code, signal) = match attended.finished.ending {
            PayloadEnding::Code(code) => (Some(code), None),
            PayloadEnding::Signal(signal) => (None, Some(signal)),
            PayloadEnding::Killed => (None, Some(9)),
        };
        tracing::info!(attempt, ?code, ?signal, "the agent has ended");
        self.events.emit(EventBody::AgentExited { attempt, code, signal });
        stage.last = Some(attended);
        Ok(())
    }

    pub(super) fn allowance(&self, stage: &RunStage, deadline: Instant) -> Allowance {
        let limits = &self.plan.profile.limits;
        Allowance {
            deadline,
            timeout: limits.timeout.get(),
            idle: limits.idle_timeout.get(),
            output_bytes: limits.output_mb << 20,
            disk: DiskLimits { bytes: (limits.disk_mb + limits.output_mb) << 20, files: limits.files },
            already: stage.already,
        }
    }

    /// Builds the walls; where the machine refuses a step, goes one rung down the ladder, never below the mode's
    /// minimum, and never silently.
    pub(super) fn build_walls(
        &mut self,
        stage: &mut RunStage,
        argv: Vec<OsString>,
    ) -> Result<Box<dyn RunningPayload>, HostError> {
        let job = self.job(stage, argv.clone());
        let refusal = match stage.backend.start(&job) {
            Ok(payload) => return Ok(payload),
            Err(refusal) => refusal,
        };
        tracing::info!(backend = stage.backend.name(), %refusal, "has no walls of this kind");
        let no_overlay = matches!(refusal.step, LaunchStep::Overlay | LaunchStep::IdmappedMount);
        if no_overlay && self.plan.snapshot == SnapshotStrategyChoice::Auto {
            self.warn(format!("no overlay here ({refusal}); the workspace is copied instead"));
            self.retake(stage, SnapshotStrategyChoice::Reflink)?;
            self.refurnish(stage)?;
            let job = self.job(stage, argv);
            return stage.backend.start(&job).map_err(|r| not_started(&r));
        }
        if refusal.step == LaunchStep::Exec {
            return Err(self.explained(stage, not_started(&refusal)));
        }
        if self.plan.sandbox != SandboxChoice::Auto || no_overlay {
            return Err(not_started(&refusal));
        }
        self.step_down(stage, argv, &refusal)
    }

    fn step_down(
        &mut self,
        stage: &mut RunStage,
        argv: Vec<OsString>,
        refused: &LaunchRefusal,
    ) -> Result<Box<dyn RunningPayload>, HostError> {
        self.refuse_weaker(refused)?;
        stage.backend = isolation_levels::next(self.host, &self.plan, refused)?;
        let name = stage.backend.name();
        self.warn(format!("native walls are refused here ({refused}); using {name} instead"));
        self.retake(stage, self.plan.snapshot)?;
        let overlays = stage.backend.overlays();
        stage.exposed = self.expose(&stage.snapshot, &stage.identity, overlays)?;
        let job = self.job(stage, argv);
        stage.backend.start(&job).map_err(|r| not_started(&r))
    }

    fn retake(&mut self, stage: &mut RunStage, choice: SnapshotStrategyChoice) -> Result<(), HostError> {
        stage.snapshot.discard()?;
        stage.snapshot = self.snapshot_for(stage.backend.as_ref(), &stage.identity, choice)?;
        self.note_snapshot(stage);
        Ok(())
    }

    /// Records which walls really stood.
    pub(super) fn note_walls(
        &mut self,
        backend: &dyn SandboxBackend,
        held: &isolation::SandboxEnforcement,
        stage: &RunStage,
    ) {
        let workspace = match (stage.snapshot.access().writable(), stage.snapshot.strategy().label()) {
            (false, _) if backend.private_root() => "read-only mount".to_owned(),
            (_, strategy) => strategy.to_owned(),
        };
        let mut enforced = held.enforced();
        enforced.workspace = Some(workspace);
        enforced.limits.disk = Some("watched".into());
        // A foreign agent decides about its own tools; the walls are what counts.
        enforced.tools = self.plan.agent.adapter.kind == AdapterKind::Native;
        let (name, level) = (backend.name().to_owned(), backend.level());
        tracing::info!(backend = name, %level, "walls stand");
        self.manifest.metadata.sandbox = SandboxInfo { backend: name, level, enforced };
    }
}
