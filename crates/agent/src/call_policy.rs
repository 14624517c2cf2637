//! Decides on one call: the mode's policy, then a person where it wants one, then the steward.

use holon_core::digest::sha256;
use holon_core::event::{EventBody, UserQuestion};
use holon_core::ids::CallId;
use holon_core::policy::{ProposedCall, ToolCallDecision, ToolClass, ToolVerdict, class_of};
use holon_model::{ToolCall, ToolResult};

use crate::calls::CallsAftermath;
use crate::conversation::AgentConversation;
use crate::ended::TurnEndReason;
use crate::person::PersonReply;
use crate::supervisor_hook::{SupervisorRuling, TurnFact};
use crate::text::one_line;
use crate::tool::{
    AgentTool, CallContext, ToolArguments, ToolTrouble, answered, questions, signature, target_of,
};
use crate::turn::AgentTurn;

/// A call after it was decided on.
pub(crate) enum CallVerdict {
    /// It is not made; this is its result.
    Answered(ToolResult),
    /// It is made.
    Go(AllowedCall),
}

/// A call that may be made.
pub(crate) struct AllowedCall {
    pub(crate) id: CallId,
    pub(crate) call: ToolCall,
    /// Its tool, by place.
    pub(crate) tool: usize,
    pub(crate) arguments: ToolArguments,
    /// What the steward wants the model to know.
    pub(crate) note: Option<String>,
}

impl AgentTurn<'_> {
    /// Decides on a call, tells the decision, and gives the result if it is not made.
    pub(crate) fn judge(
        &self,
        conversation: &mut AgentConversation,
        index: usize,
        call: &ToolCall,
        answer: Option<PersonReply>,
        cut: bool,
        after: &mut CallsAftermath,
    ) -> CallVerdict {
        let round = conversation.rounds;
        if answer.is_none() {
            self.propose(round, index, call);
        }
        let refuse = |text: String| CallVerdict::Answered(ToolResult::error(&call.id, text));
        let mut decision = self.decide(call);
        if let Some(answer) = answer {
            if let Some(result) = self.answered_questions(conversation, call, &answer) {
                decision.verdict = ToolVerdict::Allow;
                self.tell_decision(round, index, &decision);
                return CallVerdict::Answered(ToolResult::ok(&call.id, result));
            }
            decision = by_person(decision, answer);
            conversation.facts.decided(&format!(
                "{} {}: {}",
                call.name,
                self.summary(call).unwrap_or_default(),
                decision.reason
            ));
        }
        let found = self.tools.iter().position(|tool| tool.name() == call.name);
        if let (Some(tool), ToolVerdict::Ask) = (found, decision.verdict) {
            // Everything else was held until a person answered; these are questions that cannot be read.
            let trouble = call.object().map_err(ToolTrouble::Arguments).and_then(questions).err();
            let reason =
                trouble.map(|trouble| trouble.outcome(&self.described[tool]).text).unwrap_or_default();
            self.tell_decision(round, index, &deny("arguments", &reason));
            self.agent.steward.notice(TurnFact::Malformed { tool: &call.name, why: &reason });
            return refuse(reason);
        }
        let (Some(tool), ToolVerdict::Allow) = (found, decision.verdict) else {
            self.tell_decision(round, index, &decision);
            if found.is_none() {
                self.agent.steward.notice(TurnFact::Malformed { tool: &call.name, why: &decision.reason });
            }
            return refuse(self.denied(conversation, call, decision, after));
        };
        let arguments = match call.object() {
            Ok(arguments) => arguments,
            Err(problem) => {
                let reason = if cut {
                    "your answer was cut off at its length limit inside this call; send smaller pieces"
                        .to_owned()
                } else {
                    format!("{problem}. {} takes {}", call.name, signature(&self.described[tool].schema))
                };
                self.tell_decision(round, index, &deny("arguments", &reason));
                self.agent.steward.notice(TurnFact::Malformed { tool: &call.name, why: &reason });
                return refuse(reason);
            }
        };
        let id = self.call_id(round, index);
        let note = match self.ask_supervisor_hook(&id, call, tool, &arguments) {
            SupervisorRuling::Allow => None,
            SupervisorRuling::Warn(note) => Some(note),
            SupervisorRuling::Block(why) => {
                self.tell_decision(round, index, &deny("supervisor", &why));
                conversation.facts.decided(&format!("{} was blocked: {why}", call.name));
                return refuse(why);
            }
        };
        self.tell_decision(round, index, &decision);
        CallVerdict::Go(AllowedCall { id, call: call.clone(), tool, arguments, note })
    }

    /// What the mode's policy says; all names under which the gate knows the call must be allowed.
    pub(crate) fn decide(&self, call: &ToolCall) -> ToolCallDecision {
        let gate = self.agent.settings.gate(self.agent.person.is_some());
        let Some(tool) = self.find(&call.name) else {
            let decision = gate.decide(&ProposedCall { tool: &call.name, ..ProposedCall::default() });
            return match decision.verdict {
                ToolVerdict::Deny => decision,
                // The mode knows such a tool, and this agent does not have it.
                _ => deny("not offered", &format!("there is no tool `{}` here", call.name)),
            };
        };
        let arguments = call.object().unwrap_or_default();
        let line = tool.line(&arguments);
        let names = tool.gates(&arguments);
        let decisions = names.iter().map(|name| {
            let call = ProposedCall {
                tool: name,
                declared_read_only: tool.declared_read_only(),
                line,
                ..ProposedCall::default()
            };
            gate.decide(&call)
        });
        decisions
            .min_by_key(|decision| decision.verdict)
            .unwrap_or_else(|| deny("not offered", "unknown tool"))
    }

    fn ask_supervisor_hook(
        &self,
        id: &CallId,
        call: &ToolCall,
        tool: usize,
        arguments: &ToolArguments,
    ) -> SupervisorRuling {
        let tool = &self.tools[tool];
        let fact = TurnFact::Proposed {
            call: id.as_str(),
            tool: &call.name,
            class: class(tool.as_ref(), arguments),
            target: tool.target(arguments),
            targets: &tool.targets(arguments),
            command: tool.line(arguments),
            arguments_sha256: &sha256(call.arguments.as_bytes()),
        };
        self.agent.steward.notice(fact).gate
    }

    /// What the model is told about a call that is not made; in some settings the turn ends with it.
    fn denied(
        &self,
        conversation: &mut AgentConversation,
        call: &ToolCall,
        decision: ToolCallDecision,
        after: &mut CallsAftermath,
    ) -> String {
        conversation.facts.decided(&format!("{} was denied: {}", call.name, decision.reason));
        let mut text = format!("denied: {}", decision.reason);
        if let Some(remedy) = &decision.remedy {
            text.push_str(&format!(". {remedy}"));
        }
        if self.find(&call.name).is_none() {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
            text.push_str(&format!(". The tools here are: {}", known.join(", ")));
        }
        let matters =
            matches!(class_of(&call.name, false), ToolClass::Write | ToolClass::Exec | ToolClass::Delegate);
        if self.agent.settings.stop_on_denial && matters {
            after.denied.get_or_insert(TurnEndReason::Denied { tool: call.name.clone(), decision });
        }
        text
    }

    /// The result of questions that a person answered.
    fn answered_questions(
        &self,
        conversation: &mut AgentConversation,
        call: &ToolCall,
        answer: &PersonReply,
    ) -> Option<String> {
        if call.name != "ask_user" {
            return None;
        }
        let asked: Vec<UserQuestion> = questions(call.object().ok()?).ok()?;
        let answers = match answer {
            PersonReply::Given(answers) => answers.as_slice(),
            PersonReply::Approved => &[],
            PersonReply::Rejected(_) => return None,
        };
        let text = answered(&asked, answers);
        conversation.facts.decided(&format!("the user was asked: {}", one_line(&text, 250)));
        Some(text)
    }

    pub(crate) fn propose(&self, round: u64, index: usize, call: &ToolCall) {
        let class = match self.find(&call.name) {
            Some(tool) => class(tool, &call.object().unwrap_or_default()),
            None => class_of(&call.name, false),
        };
        self.agent.watcher.tell(EventBody::ToolProposed {
            call: self.call_id(round, index),
            tool: call.name.clone(),
            class,
            arguments_sha256: sha256(call.arguments.as_bytes()),
            summary: self.summary(call),
        });
    }

    pub(crate) fn tell_decision(&self, round: u64, index: usize, decision: &ToolCallDecision) {
        self.agent.watcher.tell(EventBody::ToolDecided {
            call: self.call_id(round, index),
            verdict: decision.verdict,
            rule: decision.rule.clone(),
            reason: decision.reason.clone(),
        });
    }

    /// The file or command of a call, in one line.
    pub(crate) fn summary(&self, call: &ToolCall) -> Option<String> {
        let arguments = call.object().ok()?;
        let target = match self.find(&call.name) {
            Some(tool) => tool.target(&arguments)?,
            None => target_of(&call.name, &arguments)?,
        };
        Some(one_line(target, 160)).filter(|line| !line.is_empty())
    }

    /// A call's id in events: round and place, so that a replayed run has the same ones.
    pub(crate) fn call_id(&self, round: u64, index: usize) -> CallId {
        let text = format!("{}{round}-{}", self.prefix, index + 1);
        #[expect(
            clippy::expect_used,
            reason = "digits, dots and dashes always make an id, and delegation is one deep"
        )]
        let id = text.parse().expect("a safe name");
        id
    }

    pub(crate) fn find(&self, name: &str) -> Option<&dyn AgentTool> {
        self.tools.iter().find(|tool| tool.name() == name).map(|tool| tool.as_ref())
    }

    pub(crate) fn scene(&self, ready: &AllowedCall) -> CallContext<'_> {
        let numbered = self.find("edit_file").is_none()
            && self.find("apply_patch").is_none()
            && self.find("write_file").is_none();
        CallContext { agent: self.agent, budget: self.budget, call: ready.id.clone(), numbered }
    }
}

pub(crate) fn class(tool: &dyn AgentTool, arguments: &ToolArguments) -> ToolClass {
    let names = tool.gates(arguments);
    class_of(names.first().map_or("", AsRef::as_ref), tool.declared_read_only())
}

fn deny(rule: &str, reason: &str) -> ToolCallDecision {
    ToolCallDecision {
        verdict: ToolVerdict::Deny,
        rule: rule.to_owned(),
        reason: reason.to_owned(),
        remedy: None,
    }
}

fn by_person(decision: ToolCallDecision, answer: PersonReply) -> ToolCallDecision {
    let (verdict, reason) = match answer {
        PersonReply::Approved => (ToolVerdict::Allow, "a person approved it".to_owned()),
        PersonReply::Rejected(why) if why.trim().is_empty() => {
            (ToolVerdict::Deny, "a person said no".to_owned())
        }
        PersonReply::Rejected(why) => (ToolVerdict::Deny, format!("a person said no: {why}")),
        PersonReply::Given(words) => {
            (ToolVerdict::Deny, format!("a person answered instead: {}", words.join("; ")))
        }
    };
    // What the policy denied stays denied, whoever was asked meanwhile.
    if decision.verdict == ToolVerdict::Deny {
        return decision;
    }
    ToolCallDecision { verdict, rule: "person".to_owned(), reason, remedy: None }
}
