//! What was put into the conversation of an agent that thinks inside, where, and what came after it; from its events.

use holon_core::event::{AdviceOutcome, EventBody};
use serde::Serialize;

/// Bytes of a text that are kept of it; the events have all of it.
const SAYS: usize = 200;
/// Texts that are listed; all are counted.
const LISTED: usize = 64;

/// Everything that was put in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Insertions {
    /// How many.
    pub count: u32,
    /// The first of them.
    pub inserted: Vec<Insertion>,
    /// Why nothing is said any more: the agent is left in shadow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_in_shadow: Option<String>,
}

/// One text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Insertion {
    /// Its number, from 1.
    pub number: u32,
    /// The round of the agent's conversation.
    pub round: u64,
    /// Where on the wire.
    pub place: String,
    /// How it begins.
    pub says: String,
    /// What came after it; nothing while that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<AdviceOutcome>,
}

impl Insertions {
    /// Takes an event in; `true` when it was about this.
    pub fn hear(&mut self, body: &EventBody) -> bool {
        match body {
            EventBody::SupervisorInserted { number, round, place, text } => {
                self.count = self.count.saturating_add(1);
                if self.inserted.len() < LISTED {
                    let (number, round, place) = (*number, *round, place.clone());
                    self.inserted.push(Insertion {
                        number,
                        round,
                        place,
                        says: beginning(text),
                        after: None,
                    });
                }
                true
            }
            EventBody::SupervisorFollowed { number, what, why } => {
                // A second start of the agent counts anew.
                let known = self.inserted.iter_mut().rev().find(|one| one.number == *number);
                if let Some(one) = known {
                    one.after = Some(*what);
                }
                if *what == AdviceOutcome::Broke {
                    self.left_in_shadow.get_or_insert(why.clone().unwrap_or_default());
                }
                true
            }
            _ => false,
        }
    }
}

fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = (0..=line.len().min(SAYS)).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_after_is_laid_to_its_text() {
        let mut all = Insertions::default();
        let put = |number, text: &str| EventBody::SupervisorInserted {
            number,
            round: 5,
            place: "chat: a final user message".into(),
            text: text.into(),
        };
        let after = |number, what, why: Option<&str>| EventBody::SupervisorFollowed {
            number,
            what,
            why: why.map(str::to_owned),
        };
        assert!(all.hear(&put(1, "a\n b")) && all.hear(&after(1, AdviceOutcome::WentOn, None)));
        assert!(
            all.hear(&put(2, &"ü".repeat(300)))
                && all.hear(&after(2, AdviceOutcome::Broke, Some("it ended")))
        );
        assert!(!all.hear(&EventBody::Warning { message: "x".into() }));
        assert_eq!((all.count, all.left_in_shadow.as_deref()), (2, Some("it ended")));
        let says: Vec<usize> = all.inserted.iter().map(|one| one.says.len()).collect();
        assert_eq!(says, [3, 200]);
        let came: Vec<Option<AdviceOutcome>> = all.inserted.iter().map(|one| one.after).collect();
        assert_eq!(came, [Some(AdviceOutcome::WentOn), Some(AdviceOutcome::Broke)]);
    }
}
