//! The native agent's part of a run: what it is given, and what its end means.

use std::sync::Arc;

use holon_agent::supervise::TakeoverRequests;
use holon_agent::{FinishStatus, StopKind, StopOrder, TurnEndReason, TurnLimit, TurnResult, TurnSettings};
use holon_core::manifest::{ErrorInfo, ModelInfo, ModelReplacement};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_model::Prices;
use holon_model::catalogue::OPENROUTER;
use holon_sandbox::backend::RunningPayload;

use super::ActiveRun;
use super::first_evidence::FirstEvidence;
use super::native_run::{NativeRunChecks, NativeRunHandle, NativeRunInput};
use super::probe::NativeProbe;
use super::replay::RecordedModel;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use crate::error::HostError;
use crate::model;

/// The conversation with the model, among the evidence.
pub(super) const TAPE: &str = "model.yaml";

impl ActiveRun<'_> {
    /// Opens the model before anything is started: without one there is nothing to start.
    pub(super) fn open_model_session(&mut self) -> Result<(), HostError> {
        if !self.is_native() {
            return Ok(());
        }
        let layers = self.folder.layers();
        let normaliser = model::normaliser(
            self.events.redactor(),
            &[(&layers, "LAYERS"), (&self.plan.workspace, "WORKSPACE")],
        );
        let tape = self.folder.evidence().join(TAPE);
        let mut mind = match (&self.plan.replay, &self.cassette) {
            (Some(planned), Some(cassette)) => model::from_cassette(
                &planned.path,
                cassette.clone(),
                self.plan.model.as_deref(),
                &tape,
                normaliser,
            )?,
            _ => {
                let env = &*self.host.env;
                let patience = model::patience(env)?;
                let chosen = model::choose(&self.plan, &self.host.places, env)?;
                model::over_network(&chosen, &self.plan.profile, patience, &tape, normaliser)?
            }
        };
        if let Some(figures) = self.plan.figures {
            (mind.window, mind.prices) = (figures.window, figures.prices);
        }
        RecordedModel::new(&mind.info, mind.window, mind.prices).save(&self.folder)?;
        self.manifest.metadata.model = Some(mind.info.clone());
        for warning in std::mem::take(&mut mind.warnings) {
            self.warn(warning);
        }
        self.warn_unpriced(&mind.info, mind.prices);
        self.mind = Some(mind);
        Ok(())
    }

    /// Says that a limit of money holds nothing, where somebody set one and nobody says what the model costs.
    pub(super) fn warn_unpriced(&mut self, model: &ModelInfo, prices: Option<Prices>) {
        // OpenRouter says with each answer what it cost, and a recording what it had cost.
        let told = prices.is_some() || matches!(model.provider.as_str(), OPENROUTER | "replay" | "script");
        if told {
            return;
        }
        // What was set for a whole is said once, by the first of its parts.
        let limit = match &self.shared {
            Some(shared) if self.plan.part => shared.cannot_hold(&model.id),
            _ => self.plan.money_limit.filter(|_| !self.plan.part),
        };
        let Some(limit) = limit else { return };
        self.warn(format!(
            "a limit of {limit} dollars cannot hold this run: nobody says what {} at {} costs; --max-rounds limits how often it is asked",
            model.id, model.provider
        ));
    }

    /// The recording goes where it was asked for; a cassette that was not played to its end is told.
    pub(super) fn settle_tape(&mut self) {
        if let Some(switched) = self.mind.as_ref().and_then(|mind| mind.switch.now()) {
            let was = self.manifest.metadata.model.as_ref().map(|model| model.id.clone()).unwrap_or_default();
            self.warn(format!("{} answered in place of {was}: {}", switched.model, switched.why));
            if let Some(model) = &mut self.manifest.metadata.model {
                model.replaced_by = Some(ModelReplacement { id: switched.model, why: switched.why });
            }
        }
        if let Some(left) =
            self.mind.as_ref().and_then(|m| m.replay.as_ref()).map(|r| r.left()).filter(|n| *n > 0)
        {
            self.warn(format!("{left} turns of the cassette were not asked for"));
        }
        let left = self.door_left();
        if left > 0 {
            self.warn(format!("{left} turns of the cassette were not asked for"));
        }
        let Some(target) = self.plan.record.clone() else { return };
        let tape = self.folder.evidence().join(TAPE);
        if let Err(e) = std::fs::copy(&tape, &target) {
            self.warn(format!(
                "the recording could not be written to {}: {e}; it is in {}",
                target.display(),
                tape.display()
            ));
        }
    }

    /// Lets the native agent think with its hands in `payload`; nothing for an agent that thinks inside.
    pub(super) fn think(
        &mut self,
        stage: &mut RunStage,
        payload: &mut dyn RunningPayload,
        repair: Option<String>,
    ) -> Result<Option<NativeRunHandle>, HostError> {
        let Some(window) = self.mind.as_ref().map(|mind| mind.window) else { return Ok(None) };
        let delivers = self.plan.profile.access.delivers();
        let FirstEvidence { text, quick } =
            if delivers { self.first_evidence(stage, window) } else { FirstEvidence::default() };
        let evidence = text.filter(|_| repair.is_none() && self.resumed.is_none());
        let checks = NativeRunChecks::default();
        let probe = self.probe(stage, !quick.is_empty(), &checks.abort);
        let probe = probe.map(|probe| NativeProbe::new(probe, Arc::clone(&checks.busy)));
        let Some(mind) = &self.mind else { return Ok(None) };
        let read = |name: &str| {
            let path = self.folder.input().join("prompts").join(name);
            std::fs::read_to_string(&path).map_err(HostError::io("read", &path))
        };
        let mut settings =
            TurnSettings::for_run(self.plan.profile.clone(), read("system.md")?, mind.info.id.clone());
        settings.window = mind.window;
        settings.max_output = mind.max_output;
        settings.prices = mind.prices;
        settings.shared.clone_from(&self.shared);
        settings.output = self.output_as_seen(stage);
        settings.quick_checks = quick;
        let before = stage.last.take().and_then(|last| last.thought);
        if let Some((_, ended)) = &before {
            settings.limits.rounds = settings.limits.rounds.saturating_sub(ended.rounds);
            settings.limits.cost_usd -= ended.usage.cost_usd.unwrap_or_default();
        }
        let mut conversation = before.map(|(conversation, _)| conversation).unwrap_or_default();
        let mut message = match repair {
            Some(text) => text,
            None => read("user.md")?,
        };
        if evidence.is_some() {
            conversation.evidence = evidence;
        }
        let provider = mind.provider.clone();
        let mut carry = None;
        if let Some(resumed) = self.resumed.take() {
            self.supervision = Some(self.go_on(resumed.checkpoint, &mut conversation));
            (message, carry) = (resumed.message, Some(resumed.carry));
        }
        let takeovers = TakeoverRequests::default();
        let thought = NativeRunInput {
            carry,
            supervision: self.supervision(&settings)?,
            around: self.surroundings(stage, takeovers.clone()),
            takeovers,
            settings,
            provider,
            servers: self.servers.clone(),
            person: self.person.clone(),
            words: self.words.clone().map(|hear| (hear, self.events.redactor().stream())),
            conversation,
            message,
            probe,
            checks,
        };
        NativeRunHandle::start(payload, thought).map(Some)
    }
}

/// From how the agent's turn ended to status and outcome; `true` when what it left is worth judging.
pub(super) fn judge(ended: &TurnResult, verdict: &mut RunVerdict) -> bool {
    let said =
        |text: &str| if text.trim().is_empty() { String::new() } else { format!(": {}", first_line(text)) };
    match &ended.reason {
        TurnEndReason::Finished(FinishStatus::Done) | TurnEndReason::TextOnly => true,
        TurnEndReason::Finished(FinishStatus::NeedsPerson) => {
            let message = format!("the agent asks for a person{}", said(&ended.text));
            verdict.worsen(RunOutcome::NeedsHuman, ErrorInfo::new("needs_human", message));
            verdict.asks_person = true;
            true
        }
        TurnEndReason::Finished(FinishStatus::Failed) => {
            let message = format!("the agent says that it failed{}", said(&ended.text));
            verdict.worsen(RunOutcome::Failure, ErrorInfo::new("agent_failed", message));
            false
        }
        TurnEndReason::Interrupted(_) => {
            let error = ErrorInfo::new("needs_human", "the agent waits for an answer");
            verdict.worsen(RunOutcome::NeedsHuman, error);
            false
        }
        TurnEndReason::Stopped(stop) => {
            judge_stop(stop, "look at summary.md, then go on with `holon run --resume`", verdict)
        }
        TurnEndReason::Limit(limit) => {
            let (flag, unit) = match limit {
                TurnLimit::Rounds => ("--max-rounds", "rounds"),
                TurnLimit::Tokens => ("--max-cost", "tokens"),
                TurnLimit::Cost => ("--max-cost", "money"),
            };
            let message = format!("the agent used up its {unit} ({} rounds were made)", ended.rounds);
            let error = ErrorInfo::new(limit.name(), message);
            verdict.ended(
                RunStatus::Timeout,
                error.with_hint(format!("allow more with {flag}, or give a smaller goal")),
            );
            false
        }
        TurnEndReason::Denied { tool, decision } => {
            let message = format!("`{tool}` was denied: {}", decision.reason);
            verdict.worsen(RunOutcome::Failure, ErrorInfo::new("denied", message));
            false
        }
        TurnEndReason::Refused(words) => {
            let error = ErrorInfo::new("refused", format!("the model declines{}", said(words)));
            verdict
                .worsen(RunOutcome::Failure, error.with_hint("rephrase the goal, or choose another --model"));
            false
        }
        TurnEndReason::ModelFailed(error) => {
            let kind = if error.kind == holon_model::ModelErrorKind::Auth { "credentials" } else { "model" };
            let mut info = ErrorInfo::new(kind, error.to_string());
            info.hint = model::hint(error);
            verdict.ended(RunStatus::Failed, info);
            false
        }
        TurnEndReason::HandsGone(words) => hands_gone(&said(words), verdict),
        // Whoever asked for an end was answered before this; here the hands were gone while the model was asked.
        TurnEndReason::Cancelled => hands_gone("", verdict),
    }
}

/// The same for a run that the supervisor ended.
pub(super) fn judge_stop(stop: &StopOrder, hint: &str, verdict: &mut RunVerdict) -> bool {
    let (kind, words) = match stop.kind {
        StopKind::UserCheckpoint => ("checkpoint", "the supervisor stopped to ask a person"),
        StopKind::Unverified => ("unverified", "the agent is done, and nothing vouches for it"),
        StopKind::CheckFailed => ("check_failed", "the agent is done, and a check does not pass"),
    };
    let error = ErrorInfo::new(kind, format!("{words}: {}", stop.reason));
    if stop.kind == StopKind::UserCheckpoint {
        verdict.worsen(stop.outcome, error.with_hint(hint));
        return false;
    }
    verdict.doubt = Some((stop.outcome, error));
    verdict.as_before = stop.as_before;
    true
}

fn hands_gone(said: &str, verdict: &mut RunVerdict) -> bool {
    let error = ErrorInfo::new("hands_gone", format!("the hands inside the walls were ended{said}"));
    verdict.ended(
        RunStatus::Failed,
        error.with_hint("a command of the agent may have killed them; see events.jsonl"),
    );
    false
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
