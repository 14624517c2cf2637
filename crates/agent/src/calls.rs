//! Answers the calls of a reply: each is decided on by itself, and a call that is not allowed never reaches the hands.

use std::collections::BTreeMap;
use std::ops::ControlFlow::{Break, Continue};
use std::time::Instant;

use futures_util::future::join_all;
use holon_core::event::{ApprovalRequest, EventBody};
use holon_core::policy::{ToolClass, ToolVerdict};
use holon_model::{ModelMessage, ToolCall, ToolResult};

use crate::call_policy::{AllowedCall, CallVerdict, class};
use crate::conversation::{AgentConversation, PendingApproval};
use crate::ended::TurnEndReason;
use crate::person::{Interrupt, PersonReply};
use crate::supervisor_hook::{ToolCallEvidence, TurnFact};
use crate::text::one_line;
use crate::tool::{CallContext, ToolEffect, ToolOutcome, ToolTrouble, questions};
use crate::turn::{AgentTurn, TurnFlow};

/// Most calls that run at the same time.
const AT_ONCE: usize = 16;

/// What calls of one reply left behind, beside their results.
#[derive(Default)]
pub(crate) struct CallsAftermath {
    /// Ends the turn at once; calls that were not made yet are not.
    pub(crate) stop: Option<TurnEndReason>,
    /// Ends the turn after all calls are answered.
    pub(crate) denied: Option<TurnEndReason>,
    /// The place of a call that says the work is done.
    pub(crate) finish: Option<usize>,
}

impl AgentTurn<'_> {
    /// Answers all calls of the last reply; `cut` says that it was cut off at its length limit.
    pub(crate) async fn answer_calls(&mut self, conversation: &mut AgentConversation, cut: bool) -> TurnFlow {
        self.answer_from(conversation, Vec::new(), BTreeMap::new(), cut).await
    }

    /// Answers the calls that waited for a person, and those after them.
    pub(crate) async fn resume_calls(
        &mut self,
        conversation: &mut AgentConversation,
        pending: PendingApproval,
        answers: Vec<PersonReply>,
    ) -> TurnFlow {
        let answers = assigned(&pending.about, answers);
        self.answer_from(conversation, pending.results, answers, false).await
    }

    async fn answer_from(
        &mut self,
        conversation: &mut AgentConversation,
        mut results: Vec<ToolResult>,
        mut answers: BTreeMap<usize, PersonReply>,
        cut: bool,
    ) -> TurnFlow {
        let calls = conversation.last_calls();
        let mut after = CallsAftermath::default();
        while results.len() < calls.len() && after.stop.is_none() {
            let at = results.len();
            if self.needs_person(&calls[at]) && !answers.contains_key(&at) {
                let pending = self.interrupt(conversation.rounds, &calls, results);
                let given = match self.ask_person(&pending.interrupt).await {
                    Ok(given) => given,
                    Err(reason) => {
                        conversation.pending = Some(pending);
                        return Break(reason);
                    }
                };
                results = pending.results;
                answers.extend(assigned(&pending.about, given));
                continue;
            }
            let end = self.group_end(&calls, at);
            let judged = (at..end).map(|index| {
                self.judge(conversation, index, &calls[index], answers.remove(&index), cut, &mut after)
            });
            let judged: Vec<CallVerdict> = judged.collect();
            self.carry_out(conversation, judged, &mut results, &mut after).await;
        }
        for call in calls.iter().skip(results.len()) {
            results.push(ToolResult::error(&call.id, "not done: the turn was stopped"));
        }
        let ended = self.settle_finish(conversation, &mut results, &after).await;
        conversation.messages.push(ModelMessage::results(results));
        match after.stop.or(after.denied) {
            Some(reason) => Break(reason),
            None => ended,
        }
    }

    /// Asks whoever is there, or says how the turn ends without an answer.
    async fn ask_person(&self, interrupt: &Interrupt) -> Result<Vec<PersonReply>, TurnEndReason> {
        let later = || TurnEndReason::Interrupted(interrupt.clone());
        let person = self.agent.person.ok_or_else(later)?;
        // Someone who is waited for must not keep a cancelled turn from ending.
        let given =
            self.agent.cancel.race(person.ask(interrupt)).await.map_err(|_| TurnEndReason::Cancelled)?;
        given.ok_or_else(later)
    }

    /// Everything in the reply, from the first unanswered call on, that a person must be asked about.
    fn interrupt(&self, round: u64, calls: &[ToolCall], results: Vec<ToolResult>) -> PendingApproval {
        let mut asks = Vec::new();
        let mut about = Vec::new();
        for (index, call) in
            calls.iter().enumerate().skip(results.len()).filter(|(_, call)| self.needs_person(call))
        {
            let decision = self.decide(call);
            self.propose(round, index, call);
            self.tell_decision(round, index, &decision);
            let arguments = call.object().unwrap_or_default();
            asks.push(ApprovalRequest {
                call: self.call_id(round, index),
                tool: call.name.clone(),
                reason: decision.reason,
                summary: self.summary(call),
                questions: if call.name == "ask_user" {
                    questions(arguments).unwrap_or_default()
                } else {
                    Vec::new()
                },
            });
            about.push(index);
        }
        let id = format!("ask-{}{round}-{}", self.prefix, results.len() + 1);
        let interrupt = Interrupt { id, asks };
        self.agent
            .watcher
            .tell(EventBody::Interrupted { id: interrupt.id.clone(), asks: interrupt.asks.clone() });
        PendingApproval { interrupt, results, about }
    }

    /// Where the calls end that may run at the same time as the one at `at`.
    fn group_end(&self, calls: &[ToolCall], at: usize) -> usize {
        let parallel = |call: &ToolCall| {
            self.find(&call.name).is_some_and(|tool| tool.side_by_side()) && !self.needs_person(call)
        };
        let together = calls[at..].iter().take(AT_ONCE).take_while(|call| parallel(call)).count();
        at + together.max(1)
    }

    /// Runs what was allowed, side by side, and adds all results in the order of the calls.
    async fn carry_out(
        &mut self,
        conversation: &mut AgentConversation,
        judged: Vec<CallVerdict>,
        results: &mut Vec<ToolResult>,
        after: &mut CallsAftermath,
    ) {
        let scenes: Vec<Option<CallContext<'_>>> = judged
            .iter()
            .map(|judged| match judged {
                CallVerdict::Go(ready) => Some(self.scene(ready)),
                CallVerdict::Answered(_) => None,
            })
            .collect();
        let mut futures = Vec::new();
        for (judged, scene) in judged.iter().zip(&scenes) {
            if let (CallVerdict::Go(ready), Some(scene)) = (judged, scene) {
                let tool = &self.tools[ready.tool];
                let arguments = ready.arguments.clone();
                futures.push(async move {
                    let begun = Instant::now();
                    (tool.run(arguments, scene).await, begun)
                });
            }
        }
        let mut outcomes = join_all(futures).await.into_iter();
        drop(scenes);
        for judged in judged {
            let result = match judged {
                CallVerdict::Answered(result) => Some(result),
                CallVerdict::Go(ready) => outcomes.next().map(|(outcome, begun)| {
                    self.take_in(conversation, ready, outcome, begun, results.len(), after)
                }),
            };
            results.extend(result);
        }
    }

    /// What an outcome means for the conversation, and what the model is told of it.
    fn take_in(
        &mut self,
        conversation: &mut AgentConversation,
        ready: AllowedCall,
        outcome: Result<ToolOutcome, ToolTrouble>,
        begun: Instant,
        place: usize,
        after: &mut CallsAftermath,
    ) -> ToolResult {
        let mut outcome = outcome.unwrap_or_else(|trouble| {
            if let Some(words) = trouble.hands_gone() {
                after.stop = Some(TurnEndReason::HandsGone(words.to_owned()));
            } else if matches!(trouble, ToolTrouble::Cancelled) {
                after.stop = Some(TurnEndReason::Cancelled);
            }
            trouble.outcome(&self.described[ready.tool])
        });
        let ok = !outcome.is_error && !outcome.cut_short && outcome.exit.is_none_or(|code| code == 0);
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if !outcome.heard && outcome.text.contains('\n') {
            let text = outcome.text.clone();
            self.agent.watcher.tell(EventBody::ToolOutput { call: ready.id.clone(), text });
        }
        self.agent.watcher.tell(EventBody::ToolFinished {
            call: ready.id.clone(),
            ok,
            duration_ms,
            exit_code: outcome.exit,
            summary: Some(one_line(&outcome.text, 120)).filter(|line| !line.is_empty()),
        });
        self.after_edit.hear(&outcome.evidence);
        for evidence in &outcome.evidence {
            conversation.facts.learn(evidence);
            if let ToolCallEvidence::Ran { command, exit, .. } = evidence {
                match exit {
                    Some(0) => conversation.facts.passed(command),
                    _ => {
                        let (how, output) = outcome.text.split_once('\n').unwrap_or((&outcome.text, ""));
                        conversation.facts.failed(command, how, output);
                    }
                }
            }
        }
        let class = class(self.tools[ready.tool].as_ref(), &ready.arguments);
        let looks = matches!(
            class,
            ToolClass::Read | ToolClass::Search | ToolClass::Exec | ToolClass::Delegate | ToolClass::Unknown
        );
        conversation.facts.looked |= looks && !outcome.is_error;
        let fact = TurnFact::Finished {
            call: ready.id.as_str(),
            tool: ready.call.name.as_str(),
            class,
            ok,
            exit: outcome.exit,
            duration_ms,
            evidence: &outcome.evidence,
            text: &outcome.text,
        };
        let advice = self.agent.steward.notice(fact);
        if let Break(reason) = self.heed(conversation, advice) {
            after.stop.get_or_insert(reason);
        }
        match std::mem::take(&mut outcome.effect) {
            ToolEffect::None => {}
            ToolEffect::Todos(todos) => {
                conversation.todos.clone_from(&todos);
                self.agent.watcher.tell(EventBody::TodosChanged { todos });
            }
            ToolEffect::Handed(names) => conversation.facts.handed.extend(names),
            ToolEffect::Finish(how, text) => {
                conversation.facts.handed.insert("summary.md".to_owned());
                after.finish = Some(place);
                self.finish = Some((how, text));
            }
        }
        let mut text = outcome.text;
        if let Some(note) = ready.note {
            text.push_str(&format!("\n[note: {note}]"));
        }
        ToolResult { call_id: ready.call.id, text, is_error: outcome.is_error }
    }

    /// A model that says it is done is believed, or its call is answered with what is missing.
    async fn settle_finish(
        &mut self,
        conversation: &AgentConversation,
        results: &mut [ToolResult],
        after: &CallsAftermath,
    ) -> TurnFlow {
        let (Some((how, text)), Some(place)) = (self.finish.take(), after.finish) else {
            return Continue(());
        };
        match self.believe(conversation, how, &text).await {
            Ok(reason) => {
                self.text = text;
                Break(reason)
            }
            Err(why) => {
                if let Some(result) = results.get_mut(place) {
                    (result.text, result.is_error) = (why, true);
                }
                Continue(())
            }
        }
    }

    /// Whether a call is held until a person has answered.
    fn needs_person(&self, call: &ToolCall) -> bool {
        if self.agent.person.is_none() {
            return false;
        }
        let verdict = self.decide(call).verdict;
        match call.name.as_str() {
            // Questions that cannot be read are answered with what is wrong with them.
            "ask_user" => {
                verdict != ToolVerdict::Deny
                    && call.object().is_ok_and(|arguments| questions(arguments).is_ok())
            }
            _ => verdict == ToolVerdict::Ask,
        }
    }
}

/// Answers by the calls they are about; what is not answered is a no.
fn assigned(about: &[usize], answers: Vec<PersonReply>) -> BTreeMap<usize, PersonReply> {
    let missing = std::iter::repeat_with(|| PersonReply::Rejected("nobody answered".to_owned()));
    about.iter().copied().zip(answers.into_iter().chain(missing)).collect()
}
