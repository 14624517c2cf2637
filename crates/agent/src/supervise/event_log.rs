//! From the loop's facts to the supervisor's, and from its effects to advice.

use holon_core::event::EventBody;
use holon_core::ids::CallId;
use holon_core::policy::ToolClass;
use holon_model::cassette::folded;
use holon_supervisor::effect::GateRuling;
use holon_supervisor::event::{
    CallProposal, CheckOutcome, FileHash, FinishedCall, HashedFileChange, ProvenEffects as Proof, RoundEnd,
    SupervisorEvent,
};
use holon_supervisor::{GateVerdict, SupervisorEffect, SupervisorFact, result_digest, telling_line};
use serde_json::Value;

use super::check::{FinishedCommand, check_of};
use super::correction_note::CorrectionNote;
use super::workspace_path::inside;
use super::{PendingIntervention, SupervisedTurnInner};
use crate::supervisor_hook::{SupervisorAdvice, SupervisorRuling, ToolCallEvidence, TurnFact};
use crate::text::head;
use crate::watcher::AgentEventSink;

/// Most bytes of what went wrong that are told.
const ERROR: usize = 1_200;
/// Most bytes of a command that are told.
const COMMAND: usize = 400;

impl SupervisedTurnInner<'_> {
    pub(super) fn notice(&mut self, fact: &TurnFact<'_>) -> SupervisorAdvice {
        for first in std::mem::take(&mut self.supervision.first) {
            self.tell(first);
        }
        match fact {
            TurnFact::RoundStarted { round } => {
                self.hear_persons();
                self.tell(SupervisorFact::RoundStarted { round: u32::try_from(*round).unwrap_or(u32::MAX) });
            }
            TurnFact::Proposed { .. } => self.proposed(fact),
            TurnFact::Malformed { tool, why } => {
                self.tell(SupervisorFact::CallMalformed { tool: head(tool, COMMAND), why: head(why, ERROR) });
            }
            TurnFact::Finished { .. } => self.finished(fact),
            TurnFact::RoundEnded { calls, words, usage, .. } => {
                let changed = self.look_if_needed();
                let files = &self.supervision.memory.files;
                let end = RoundEnd {
                    tokens: usage.total_input().saturating_add(usage.total_output()),
                    text: *words,
                    text_only: *calls == 0,
                    diff_lines: files.lines(),
                    gone_lines: files.gone(),
                    changed,
                    workspace: files.workspace(),
                };
                self.tell(SupervisorFact::RoundEnded(end));
                self.hear_persons();
            }
            TurnFact::Done { gave_up: false, .. } => self.tell(SupervisorFact::ModelDone),
            TurnFact::Done { gave_up: true, .. } => self.tell(SupervisorFact::ModelGaveUp),
            TurnFact::Checked { .. } => self.checked(fact),
        }
        self.advice(fact)
    }

    /// What the loop is to do; a stop waits for a fact where it can be heeded.
    fn advice(&mut self, fact: &TurnFact<'_>) -> SupervisorAdvice {
        let gate = std::mem::take(&mut self.wanted.gate);
        let heeds_stop = !matches!(fact, TurnFact::Proposed { .. });
        let stop = if heeds_stop { self.wanted.stop.take() } else { None };
        let waits = self.supervision.supervisor.state().waits_for_check();
        let between = match fact {
            TurnFact::RoundStarted { .. } | TurnFact::RoundEnded { .. } => true,
            TurnFact::Done { .. } => waits,
            _ => false,
        };
        let check = if between { self.wanted.check.take() } else { None };
        let text = self.supervision.memory.standing.text();
        // A check is run between a round's start and its request.
        let asks = matches!(fact, TurnFact::RoundStarted { .. })
            || (matches!(fact, TurnFact::Checked { .. }) && !waits);
        SupervisorAdvice { gate, correction: asks.then(|| text.to_owned()), stop, check }
    }

    fn hear_persons(&mut self) {
        for by in self.around.takeovers.heard() {
            self.tell(SupervisorFact::UserForceTakeover { by });
        }
    }

    fn proposed(&mut self, fact: &TurnFact<'_>) {
        let TurnFact::Proposed { call, tool, class, targets, command, arguments_sha256, .. } = fact else {
            return;
        };
        let Some(call) = self.id(call) else { return };
        let root = &self.around.workspace;
        // What goes elsewhere, such as to the output folder, is none of the workspace's files.
        let targets = targets.iter().filter_map(|path| inside(root, path)).filter(|path| !path.is_empty());
        let proposal = CallProposal {
            call,
            tool: (*tool).to_owned(),
            class: *class,
            targets: targets.take(64).collect(),
            arguments: arguments_sha256.get(..16).unwrap_or(arguments_sha256).to_owned(),
            command: command.map(|line| head(line.trim(), COMMAND)),
        };
        self.tell(SupervisorFact::ToolProposed(proposal));
    }

    fn finished(&mut self, fact: &TurnFact<'_>) {
        let TurnFact::Finished { call, class, ok, exit, duration_ms, evidence, text, .. } = fact else {
            return;
        };
        let Some(call) = self.id(call) else { return };
        let mut proof = self.proof(evidence);
        for change in &proof.changed {
            self.supervision.memory.files.told(change);
        }
        let may_do_anything = matches!(class, ToolClass::Exec | ToolClass::Unknown);
        // Whoever is watched from outside does not tell what a call wrote.
        let untold = self.supervision.supervisor.state().is_foreign()
            && matches!(class, ToolClass::Write | ToolClass::Delegate);
        if may_do_anything || untold {
            self.supervision.memory.files.something_ran();
            proof.changed.extend(self.look());
        }
        if may_do_anything && exit.is_none() {
            // Nobody knows when it ends.
            self.supervision.memory.files.job_started();
        }
        let check = evidence.iter().find_map(|evidence| self.check(evidence, text, *duration_ms));
        let output = text.split_once('\n').map_or(*text, |(_, output)| output);
        let error = (!ok).then(|| head(if exit.is_some() { output } else { text }, ERROR));
        // That something worked and said nothing is no answer.
        let printed = if *ok { text.split_once('\n').map_or("", |(_, output)| output) } else { output };
        let varies = exit.is_some() && self.supervision.memory.printed.is_new(output);
        self.tell(SupervisorFact::ToolFinished(FinishedCall {
            call: call.clone(),
            ok: *ok,
            exit: *exit,
            check: check.is_some(),
            error: error.filter(|text| !text.trim().is_empty()),
            result: Some(digest(if exit.is_some() { printed } else { text }, !ok)),
            varies,
            duration_ms: *duration_ms,
            evidence: proof,
        }));
        if let Some(check) = check {
            self.tell(SupervisorFact::CheckRan(CheckOutcome { call: Some(call), ..check }));
        }
    }

    /// A check that was asked for, told with what it changed.
    fn checked(&mut self, fact: &TurnFact<'_>) {
        let TurnFact::Checked { command, exit, output, duration_ms } = fact else { return };
        self.supervision.memory.files.something_ran();
        let changed = self.look();
        let ran = FinishedCommand {
            root: &self.around.workspace,
            command,
            exit: *exit,
            output,
            duration_ms: *duration_ms,
        };
        if let Some(check) = check_of(&ran, self.supervision.supervisor.state().checks()) {
            let command = head(&check.command, COMMAND);
            let (result, says) = (Some(told_by(&check, output)), says(&check, output));
            self.tell(SupervisorFact::CheckRan(CheckOutcome { command, changed, result, says, ..check }));
        }
    }

    fn proof(&self, evidence: &[ToolCallEvidence]) -> Proof {
        let root = &self.around.workspace;
        let mut proof = Proof::default();
        for one in evidence {
            match one {
                ToolCallEvidence::Read { path, sha256 } => {
                    let path = inside(root, path).unwrap_or_else(|| path.clone());
                    let hash = sha256.clone().unwrap_or_else(|| "unknown".to_owned());
                    proof.read.push(FileHash { path, hash });
                }
                ToolCallEvidence::Changed { path, before, after } => {
                    let hash = |sha256: &Option<String>| sha256.clone().unwrap_or_default();
                    let (before, after) = (hash(before), hash(after));
                    proof.changed.extend(inside(root, path).map(|path| HashedFileChange {
                        path,
                        before,
                        after,
                    }));
                }
                ToolCallEvidence::Found { results } => {
                    proof.results = proof.results.saturating_add(u32::try_from(*results).unwrap_or(u32::MAX));
                }
                ToolCallEvidence::Helped => proof.child = true,
                ToolCallEvidence::Ran { .. } => {}
            }
        }
        proof
    }

    fn check(&self, evidence: &ToolCallEvidence, text: &str, duration_ms: u64) -> Option<CheckOutcome> {
        let ToolCallEvidence::Ran { command, exit, .. } = evidence else { return None };
        let output = text.split_once('\n').map_or("", |(_, output)| output);
        let ran = FinishedCommand { root: &self.around.workspace, command, exit: *exit, output, duration_ms };
        let mut check = check_of(&ran, self.supervision.supervisor.state().checks())?;
        check.command = head(&check.command, COMMAND);
        check.result = Some(told_by(&check, output));
        check.says = says(&check, output);
        Some(check)
    }

    /// What changed since the last look.
    fn look(&mut self) -> Vec<HashedFileChange> {
        let Some(look) = &mut self.around.look else { return Vec::new() };
        self.supervision.memory.files.take(look.look())
    }

    /// What a background job did, or a call that told nothing, is found here.
    fn look_if_needed(&mut self) -> Vec<HashedFileChange> {
        if self.supervision.memory.files.wants_look() { self.look() } else { Vec::new() }
    }

    fn id(&mut self, call: &str) -> Option<CallId> {
        let id = call.parse().ok();
        if id.is_none() {
            self.tell(SupervisorFact::EngineError { what: format!("`{call}` is no name of a call") });
        }
        id
    }
}

/// A failing check that names no case is told by its own line.
fn says(check: &CheckOutcome, output: &str) -> Option<String> {
    let nameless = check.failing.is_empty() && !check.passed_whole() && check.could_run();
    let line = telling_line(output);
    (nameless && !line.is_empty()).then(|| head(line, COMMAND))
}

/// Notes what an effect asks for.
pub(super) fn apply(
    effect: SupervisorEffect,
    standing: &mut CorrectionNote,
    wanted: &mut PendingIntervention,
) {
    match effect {
        SupervisorEffect::Gate(GateRuling { verdict, why, .. }) => {
            wanted.gate = match verdict {
                GateVerdict::Allow => SupervisorRuling::Allow,
                GateVerdict::Warn => SupervisorRuling::Warn(why),
                GateVerdict::Block => SupervisorRuling::Block(why),
            };
        }
        SupervisorEffect::Correct(correction) => standing.take(&correction),
        SupervisorEffect::Stop(why) => wanted.stop = Some(why),
        SupervisorEffect::Check { command } => wanted.check = Some(command),
        SupervisorEffect::Phase(_) | SupervisorEffect::Graph(_) | SupervisorEffect::Log(_) => {}
    }
}

/// Tells a fact with what was decided, and every record of the timeline after it.
pub(super) fn tell(
    watcher: &dyn AgentEventSink,
    event: &SupervisorEvent,
    effects: &[SupervisorEffect],
    settings: Option<Value>,
    resumed: Option<Value>,
) {
    let (records, decisions): (Vec<&SupervisorEffect>, Vec<&SupervisorEffect>) =
        effects.iter().partition(|effect| matches!(effect, SupervisorEffect::Log(_)));
    let value = |effect: &&SupervisorEffect| serde_json::to_value(effect).unwrap_or_default();
    let fact = serde_json::to_value(event).unwrap_or_default();
    let decisions = decisions.iter().map(value).collect();
    watcher.tell(EventBody::Supervised { fact, decisions, settings, resumed });
    for record in records {
        if let SupervisorEffect::Log(record) = record {
            watcher.tell(EventBody::Supervisor { record: serde_json::to_value(record).unwrap_or_default() });
        }
    }
}

/// Digest of what a check printed. Where no cases are known, another number is another result.
fn told_by(check: &CheckOutcome, output: &str) -> String {
    digest(output, check.exit != Some(0) && !check.failing.is_empty())
}

/// Digest of what was printed, without what differs from run to run.
fn digest(output: &str, failed: bool) -> String {
    result_digest(&folded(output.to_owned()), failed)
}
