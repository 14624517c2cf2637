//! What a turn amounts to.

use super::{CassetteStep, CassetteTurn};
use crate::error::ModelError;
use crate::message::{MessagePart, ToolCall};
use crate::reply::{ModelReply, ReplyStop};

impl CassetteTurn {
    /// The reply it gives, or its failure; `number` (from 1) makes ids for calls without one.
    pub fn outcome(&self, number: usize) -> Result<ModelReply, ModelError> {
        let mut parts = Vec::new();
        let mut calls = 0;
        for step in &self.steps {
            match step {
                // Neighbouring words are one part, as they are when they arrive over a wire.
                CassetteStep::Text(text) => match parts.last_mut() {
                    Some(MessagePart::Text(all)) => all.push_str(text),
                    _ if text.is_empty() => {}
                    _ => parts.push(MessagePart::Text(text.clone())),
                },
                CassetteStep::Reasoning(reasoning) => parts.push(MessagePart::Reasoning(reasoning.clone())),
                CassetteStep::Call(call) => {
                    calls += 1;
                    let id = call.id.clone().unwrap_or_else(|| format!("call_{number}_{calls}"));
                    let (name, arguments) = (call.name.clone(), call.arguments.clone());
                    parts.push(MessagePart::Call(ToolCall { id, name, arguments, custom: call.custom }));
                }
                CassetteStep::Delay(_) => {}
                CassetteStep::Error(error) => return Err(error.clone()),
                CassetteStep::Cut => return Err(ModelError::cut("its end, as the cassette says")),
            }
        }
        let stop = self.stop.unwrap_or(if calls > 0 { ReplyStop::ToolUse } else { ReplyStop::EndTurn });
        Ok(ModelReply { id: self.id.clone(), model: self.model.clone(), parts, stop, usage: self.usage })
    }

    /// The turn that gives this reply.
    pub fn from_reply(reply: &ModelReply) -> Self {
        let steps = reply.parts.iter().filter_map(|part| {
            Some(match part {
                MessagePart::Text(text) => CassetteStep::Text(text.clone()),
                MessagePart::Reasoning(reasoning) => CassetteStep::Reasoning(reasoning.clone()),
                MessagePart::Call(call) => CassetteStep::Call(super::CassetteCall {
                    id: Some(call.id.clone()),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                    custom: call.custom,
                }),
                MessagePart::Result(_) => return None,
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
