//! The one kind of event: everything a run does is told as these, to files, terminals, pages and programs alike.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{CallId, RunId};
use crate::manifest::{DecidedBy, GateDecision, RunPhase, SandboxBreach, UsageTotals};
use crate::outcome::{RunOutcome, RunStatus};
use crate::policy::{ToolClass, ToolVerdict};

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEvent {
    /// Counts from 1 within a run, without gaps.
    pub seq: u64,
    /// RFC 3339 time, given by whoever owns the clock.
    pub at: String,
    /// The run it belongs to.
    pub run: RunId,
    /// The task whose run that is, where an orchestration passes it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened, told apart by `type`; new kinds may be added, so readers skip those they do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventBody {
    /// A run began.
    RunStarted {
        /// Canonical mode name.
        mode: String,
        /// What was asked.
        goal: String,
        /// The agent's name.
        agent: String,
    },
    /// A phase began.
    PhaseStarted {
        /// Which one.
        phase: RunPhase,
    },
    /// A phase ended.
    PhaseFinished {
        /// Which one.
        phase: RunPhase,
        /// Its wall time.
        duration_ms: u64,
        /// False when it failed.
        ok: bool,
    },
    /// The agent was started (again).
    AgentStarted {
        /// 1 for the first start, 2 for the repair round.
        attempt: u32,
    },
    /// The agent ended.
    AgentExited {
        /// Which start this was.
        attempt: u32,
        /// Its exit code, when it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
    /// A line the agent printed, redacted.
    Output {
        /// Where it printed it.
        stream: OutputStream,
        /// The line without its end.
        text: String,
    },
    /// The model wants a tool call.
    ToolProposed {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// What kind of tool it is.
        class: ToolClass,
        /// Digest of the arguments.
        arguments_sha256: String,
        /// The arguments in short, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// The policy decided about a call.
    ToolDecided {
        /// The call.
        call: CallId,
        /// The verdict.
        verdict: ToolVerdict,
        /// The rule behind it.
        rule: String,
        /// The reason given to the model.
        reason: String,
    },
    /// A call that was allowed came back.
    ToolFinished {
        /// The call.
        call: CallId,
        /// Whether it did what was asked.
        ok: bool,
        /// Its wall time.
        duration_ms: u64,
        /// Exit code of a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The result in short, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// The model is asked (again).
    RoundStarted {
        /// Counts from 1 within a run or thread.
        round: u64,
    },
    /// A piece of the model's text.
    MessageDelta {
        /// The piece, redacted.
        text: String,
    },
    /// A piece of the model's thoughts.
    ReasoningDelta {
        /// The piece, redacted.
        text: String,
    },
    /// All pieces since the round started are void: the request is sent again.
    MessageRestarted {},
    /// The model could not be reached and is asked again after a pause.
    ModelWaiting {
        /// The pause.
        wait_ms: u64,
        /// Why it is needed.
        reason: String,
    },
    /// A request to the model is over, repetitions included.
    ModelAnswered {
        /// Who was asked.
        provider: String,
        /// The model that was asked for.
        model: String,
        /// The model that answered, where it told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_model: Option<String>,
        /// Its wall time.
        duration_ms: u64,
        /// Tokens and money of this request, where they were told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageTotals>,
        /// Why the answer ended, e.g. `end_turn`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<String>,
        /// The sort of failure, e.g. `rate_limit`, when there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A piece of a running command's output.
    ToolOutput {
        /// The call.
        call: CallId,
        /// The piece, redacted.
        text: String,
    },
    /// The agent wrote down what it has to do.
    TodosChanged {
        /// The whole list.
        todos: Vec<Todo>,
    },
    /// Old parts of the conversation were shortened to make room.
    Compacted {
        /// Estimated tokens before.
        before: u64,
        /// Estimated tokens after.
        after: u64,
    },
    /// The agent waits for a person.
    Interrupted {
        /// Names the interruption; the answers refer to it.
        id: String,
        /// What is asked, one entry per call.
        asks: Vec<ApprovalRequest>,
    },
    /// Tokens and money so far.
    Usage {
        /// The totals of the run.
        total: UsageTotals,
    },
    /// The host ran a check on the result.
    CheckRan {
        /// The command.
        command: String,
        /// Its exit code, if it was not killed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Its wall time.
        duration_ms: u64,
    },
    /// An artifact passed its checks.
    ArtifactAccepted {
        /// Its path in the output folder.
        path: String,
        /// Its digest.
        sha256: String,
        /// Its size.
        bytes: u64,
    },
    /// An artifact is missing or wrong.
    ArtifactRejected {
        /// Its path in the output folder.
        path: String,
        /// What is wrong.
        problems: Vec<String>,
    },
    /// The agent is asked once more, with what was wrong.
    RepairRound {
        /// The artifacts concerned.
        paths: Vec<String>,
    },
    /// A limit ended the run or a part of it.
    LimitHit {
        /// Which one, e.g. `timeout`.
        limit: String,
        /// The value that was reached, as written in the profile.
        value: String,
    },
    /// The host opened a connection that the run's permits allow.
    #[serde(rename = "network.allowed")]
    NetworkAllowed {
        /// Host and port.
        target: String,
        /// The address it went to; absent behind a company's proxy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        /// How it is carried: `tunnel`, `opaque`, `raw`, `plain` or `read`.
        manner: String,
        /// The client whose set permits it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        set: Option<String>,
    },
    /// The host refused a connection or a request.
    #[serde(rename = "network.refused")]
    NetworkRefused {
        /// Host and port; empty when the request does not say.
        target: String,
        /// Why, to read.
        message: String,
        /// The flag that would allow it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<String>,
    },
    /// A wall did not hold.
    Breach {
        /// What was seen.
        breach: SandboxBreach,
    },
    /// Something worth knowing that does not change the outcome.
    Warning {
        /// The text.
        message: String,
    },
    /// The supervisor was told a fact and decided: replaying the facts gives the same decisions, byte for byte.
    Supervised {
        /// The fact, redacted before it was decided on; its form belongs to the supervisor.
        fact: serde_json::Value,
        /// Everything decided because of it, apart from the records that follow as events of their own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decisions: Vec<serde_json::Value>,
        /// The settings, with the first fact of a run or of a resumed one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<serde_json::Value>,
        /// Whether the facts go on from a stored state, which is then told with them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumed: Option<serde_json::Value>,
    },
    /// One line of the supervisor's timeline: a decision with its cause.
    Supervisor {
        /// `{ts, run, round, level, mode, phase, event, reason, payload}`.
        record: serde_json::Value,
    },
    /// A text of the supervisor was put at the end of a request of an agent that thinks inside.
    SupervisorInserted {
        /// Its number in the run, from 1.
        number: u32,
        /// The round of the agent's conversation.
        round: u64,
        /// Where on the wire.
        place: String,
        /// The text, with its mark.
        text: String,
    },
    /// What came after such a text.
    SupervisorFollowed {
        /// The text.
        number: u32,
        /// What came.
        what: AdviceOutcome,
        /// What broke; from there on nothing is said to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// A goal was split into tasks; each is told as a step from here on.
    TasksPlanned {
        /// The tasks, in the order of the plan.
        tasks: Vec<PlannedTask>,
    },
    /// A task could not be done, and the rest of the work was planned again.
    Replanned {
        /// Which time this is, from 1.
        number: u32,
        /// The task.
        after: String,
        /// Why it could not be done, redacted.
        reason: String,
        /// Tasks that are done and stay done.
        kept: Vec<String>,
        /// Tasks that the new ones take the place of.
        dropped: Vec<String>,
        /// The new tasks.
        added: Vec<String>,
        /// Why there are none, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        no_plan: Option<String>,
    },
    /// A step of a flow began; the events of its run follow under that run's own id.
    StepStarted {
        /// Its name in the flow.
        step: String,
        /// The mode it runs in; absent for a step that the host itself takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
        /// 1 for the first start.
        attempt: u32,
    },
    /// What the run of a task is doing, told by the orchestration: each time that something of it is new.
    TaskProgress {
        /// The task.
        step: String,
        /// Its run.
        step_run: RunId,
        /// Who does it.
        agent: String,
        /// The model that answered last, where one is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Money that all runs of the task spent so far, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// What is done now, redacted.
        action: String,
    },
    /// A step of a flow ended.
    StepFinished {
        /// Its name in the flow.
        step: String,
        /// Its run, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step_run: Option<RunId>,
        /// What its result is worth.
        outcome: RunOutcome,
        /// Its wall time.
        duration_ms: u64,
    },
    /// A step of a flow is not needed.
    StepSkipped {
        /// Its name in the flow.
        step: String,
        /// Why.
        reason: String,
    },
    /// A flow is at a gate: somebody or a rule decides whether the next step may start.
    GateReached {
        /// The step behind the gate.
        step: String,
        /// Digests of the files the decision is about, as `step/file`.
        files: BTreeMap<String, String>,
    },
    /// The decision at a gate.
    GateDecided {
        /// The step behind the gate.
        step: String,
        /// What was decided.
        decision: GateDecision,
        /// By whom.
        by: DecidedBy,
        /// What a person said, redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// The run is over; always the last event.
    RunFinished {
        /// What happened to the execution.
        status: RunStatus,
        /// What the result is worth.
        outcome: RunOutcome,
        /// Exit code of the process.
        exit_code: u8,
        /// Digest of the manifest as it was sealed; nothing when it could not be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manifest_sha256: Option<String>,
    },
}

/// One task of a plan, as far as it is worth showing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTask {
    /// Its name.
    pub id: String,
    /// The mode it runs in.
    pub mode: String,
    /// What is wanted of it, redacted.
    pub goal: String,
    /// Tasks that come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// Something the agent means to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// What it is.
    pub text: String,
    /// How far it is.
    #[serde(default)]
    pub status: TodoStatus,
}

/// What came after a text of the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceOutcome {
    /// The agent went on with its conversation.
    WentOn,
    /// It ended, or was ended.
    Ended,
    /// Something broke.
    Broke,
}

/// How far something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    #[serde(alias = "todo", alias = "open")]
    Pending,
    /// Under way.
    #[serde(alias = "in_progress", alias = "active")]
    Doing,
    /// Finished.
    #[serde(alias = "completed", alias = "complete")]
    Done,
}

/// What a person is asked about one call: to answer questions, or, without any, to approve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// Why a person is asked.
    pub reason: String,
    /// The arguments in short, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The questions; none when the call is to be approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<UserQuestion>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserQuestion {
    /// The question.
    #[serde(alias = "question")]
    pub text: String,
    /// Answers to choose from; others may be given too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Where a line was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl RunEvent {
    /// One line of JSON without the newline, as stored in `events.jsonl`.
    pub fn to_line(&self) -> String {
        // Plain data with string keys always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Receives events in order; the host decides where they go.
pub trait EventSink {
    /// Takes one event; a sink that cannot keep it must not stop the run.
    fn emit(&mut self, event: &RunEvent);
}

impl<F: FnMut(&RunEvent)> EventSink for F {
    fn emit(&mut self, event: &RunEvent) {
        self(event);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_flat_line_per_event() {
        let event = RunEvent {
            seq: 3,
            at: "2026-01-01T00:00:00Z".into(),
            run: RunId::from_parts(0, [0; 4]),
            task: None,
            body: EventBody::RunFinished {
                status: RunStatus::Completed,
                outcome: RunOutcome::NeedsHuman,
                exit_code: 2,
                manifest_sha256: None,
            },
        };
        assert_eq!(
            event.to_line(),
            r#"{"seq":3,"at":"2026-01-01T00:00:00Z","run":"19700101-000000-aaaaaa","type":"run_finished","status":"completed","outcome":"needs_human","exit_code":2}"#
        );
        assert_eq!(serde_json::from_str::<RunEvent>(&event.to_line()).unwrap(), event);
    }

    #[test]
    fn a_line_break_in_a_text_stays_inside_its_line() {
        let event = RunEvent {
            seq: 1,
            at: String::new(),
            run: RunId::from_parts(0, [0; 4]),
            task: None,
            body: EventBody::Output { stream: OutputStream::Stderr, text: "a\nb\u{2028}".into() },
        };
        assert!(!event.to_line().contains('\n'));
        assert_eq!(serde_json::from_str::<RunEvent>(&event.to_line()).unwrap(), event);
    }
}
