//! Whether the work is done, when the model stops calling tools or says so.

use std::ops::ControlFlow::{Break, Continue};

use holon_model::ReplyStop;

use crate::artifacts::{missing, store_summary};
use crate::conversation::AgentConversation;
use crate::ended::{FinishStatus, TurnEndReason};
use crate::supervisor_hook::{SupervisorAdvice, SupervisorRuling, TurnFact};
use crate::turn::{AgentTurn, TurnFlow};

impl AgentTurn<'_> {
    /// A reply without calls: cut off, too early, or the end.
    pub(crate) async fn words_only(
        &mut self,
        conversation: &mut AgentConversation,
        stop: ReplyStop,
    ) -> TurnFlow {
        match stop {
            ReplyStop::Pause => return Continue(()),
            ReplyStop::MaxTokens => {
                conversation.tell("[Your answer was cut off at its length limit. Go on, in smaller pieces.]");
                return Continue(());
            }
            _ => {}
        }
        let missing = missing(self.agent, conversation).await;
        if !self.nudged && (!missing.is_empty() || self.text.trim().is_empty()) {
            self.nudged = true;
            let what = if missing.is_empty() { "an answer".to_owned() } else { missing.join("; ") };
            conversation.tell(format!(
                "[You called no tool. Still missing: {what}. Go on with the work, then hand it over.]"
            ));
            return Continue(());
        }
        let advice = self.ask_whether_done(&self.text, false).await;
        if let Some(stop) = advice.stop {
            store_summary(self.agent, conversation, &self.text).await;
            return Break(TurnEndReason::Stopped(stop));
        }
        if let SupervisorRuling::Block(why) = advice.gate {
            conversation.tell(why);
            return Continue(());
        }
        // Models without much practice say their summary instead of handing it over.
        store_summary(self.agent, conversation, &self.text).await;
        Break(TurnEndReason::TextOnly)
    }

    /// Whether the model may be done; else why not. Who asks for a person is believed at once.
    pub(crate) async fn believe(
        &mut self,
        conversation: &AgentConversation,
        how: FinishStatus,
        text: &str,
    ) -> Result<TurnEndReason, String> {
        let missing = missing(self.agent, conversation).await;
        if how == FinishStatus::Done && !missing.is_empty() && !self.nudged {
            self.nudged = true;
            return Err(format!("not finished yet: {}", missing.join("; ")));
        }
        if how == FinishStatus::NeedsPerson {
            return Ok(TurnEndReason::Finished(how));
        }
        let advice = self.ask_whether_done(text, how == FinishStatus::Failed).await;
        match (advice.stop, advice.gate) {
            (Some(stop), _) => Ok(TurnEndReason::Stopped(stop)),
            (None, SupervisorRuling::Block(why)) => Err(why),
            (None, SupervisorRuling::Allow | SupervisorRuling::Warn(_)) => Ok(TurnEndReason::Finished(how)),
        }
    }

    /// What the steward says to being done, after a check where it wants to see one first.
    async fn ask_whether_done(&self, text: &str, gave_up: bool) -> SupervisorAdvice {
        let advice = self.agent.steward.notice(TurnFact::Done { text, gave_up });
        let Some(command) = &advice.check else { return advice };
        self.check(command).await;
        self.agent.steward.notice(TurnFact::Done { text, gave_up })
    }
}
