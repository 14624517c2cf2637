//! Whether the work is done, when the model stops calling tools or says so.

use std::ops::ControlFlow::{Break, Continue};

use holon_model::Stop;

use crate::artifacts::{missing, store_summary};
use crate::conversation::Conversation;
use crate::ended::{Finish, Reason};
use crate::steward::{Fact, Ruling};
use crate::turn::{Flow, Turn};

impl Turn<'_> {
    /// A reply without calls: cut off, too early, or the end.
    pub(crate) async fn words_only(&mut self, conversation: &mut Conversation, stop: Stop) -> Flow {
        match stop {
            Stop::Pause => return Continue(()),
            Stop::MaxTokens => {
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
        if let Ruling::Block(why) = self.agent.steward.notice(Fact::Done { text: &self.text }).gate {
            conversation.tell(why);
            return Continue(());
        }
        // Models without much practice say their summary instead of handing it over.
        store_summary(self.agent, conversation, &self.text).await;
        Break(Reason::TextOnly)
    }

    /// Whether the model may be done; else why not.
    pub(crate) async fn believe(
        &mut self,
        conversation: &Conversation,
        how: Finish,
        text: &str,
    ) -> Result<(), String> {
        let missing = missing(self.agent, conversation).await;
        if how == Finish::Done && !missing.is_empty() && !self.nudged {
            self.nudged = true;
            return Err(format!("not finished yet: {}", missing.join("; ")));
        }
        match self.agent.steward.notice(Fact::Done { text }).gate {
            Ruling::Block(why) => Err(why),
            Ruling::Allow | Ruling::Warn(_) => Ok(()),
        }
    }
}
