//! What a turn amounts to.

use super::{Step, Turn};
use crate::error::ModelError;
use crate::message::{Part, ToolCall};
use crate::reply::{Reply, Stop};

impl Turn {
    /// The reply it gives, or its failure; `number` (from 1) makes ids for calls without one.
    pub fn outcome(&self, number: usize) -> Result<Reply, ModelError> {
        let mut parts = Vec::new();
        let mut calls = 0;
        for step in &self.steps {
            match step {
                // Neighbouring words are one part, as they are when they arrive over a wire.
                Step::Text(text) => match parts.last_mut() {
                    Some(Part::Text(all)) => all.push_str(text),
                    _ if text.is_empty() => {}
                    _ => parts.push(Part::Text(text.clone())),
                },
                Step::Reasoning(reasoning) => parts.push(Part::Reasoning(reasoning.clone())),
                Step::Call(call) => {
                    calls += 1;
                    let id = call.id.clone().unwrap_or_else(|| format!("call_{number}_{calls}"));
                    let (name, arguments) = (call.name.clone(), call.arguments.clone());
                    parts.push(Part::Call(ToolCall { id, name, arguments, custom: call.custom }));
                }
                Step::Delay(_) => {}
                Step::Error(error) => return Err(error.clone()),
                Step::Cut => return Err(ModelError::cut("its end, as the cassette says")),
            }
        }
        let stop = self.stop.unwrap_or(if calls > 0 { Stop::ToolUse } else { Stop::EndTurn });
        Ok(Reply { id: self.id.clone(), model: self.model.clone(), parts, stop, usage: self.usage })
    }

    /// The turn that gives this reply.
    pub fn from_reply(reply: &Reply) -> Self {
        let steps = reply.parts.iter().filter_map(|part| {
            Some(match part {
                Part::Text(text) => Step::Text(text.clone()),
                Part::Reasoning(reasoning) => Step::Reasoning(reasoning.clone()),
                Part::Call(call) => Step::Call(super::Call {
                    id: Some(call.id.clone()),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                    custom: call.custom,
                }),
                Part::Result(_) => return None,
            })
        });
        Self {
            steps: steps.collect(),
            stop: Some(reply.stop),
            usage: reply.usage,
            id: reply.id.clone(),
            model: reply.model.clone(),
            ..Self::default()
        }
    }
}
