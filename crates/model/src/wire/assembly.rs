//! A reply that is being put together from pieces.

use crate::error::{ModelError, ModelErrorKind};
use crate::message::{MessagePart, Reasoning, Seal, ToolCall};
use crate::reply::{ModelReply, ReplyDelta, ReplyStop};
use crate::usage::TokenUsage;

/// The most bytes of text, thoughts and arguments together.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The most parts.
const MAX_PARTS: usize = 4096;

/// Collects parts in order; keeps the first failure.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) stop: Option<ReplyStop>,
    pub(super) usage: Option<TokenUsage>,
    parts: Vec<MessagePart>,
    /// Positions of the calls among the parts.
    calls: Vec<usize>,
    bytes: usize,
    error: Option<ModelError>,
}

impl Assembly {
    /// Keeps the first failure; everything after it is ignored.
    pub(super) fn fail(&mut self, error: ModelError) {
        self.error.get_or_insert(error);
    }

    pub(super) fn failed(&self) -> bool {
        self.error.is_some()
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Begins a part and gives its position.
    pub(super) fn open(&mut self, part: MessagePart) -> usize {
        if self.parts.len() >= MAX_PARTS {
            self.fail(ModelError::new(ModelErrorKind::Malformed, format!("more than {MAX_PARTS} parts")));
            return self.parts.len().saturating_sub(1);
        }
        if matches!(part, MessagePart::Call(_)) {
            self.calls.push(self.parts.len());
        }
        self.parts.push(part);
        self.parts.len() - 1
    }

    /// Begins a call and says so.
    pub(super) fn open_call(&mut self, call: ToolCall, out: &mut Vec<ReplyDelta>) -> usize {
        let name = call.name.clone();
        let at = self.open(MessagePart::Call(call));
        if !name.is_empty() && !self.failed() {
            out.push(ReplyDelta::CallStarted { index: self.calls.len() - 1, name });
        }
        at
    }

    /// Adds words to the last part, or begins one.
    pub(super) fn add_text(&mut self, text: &str, out: &mut Vec<ReplyDelta>) {
        if text.is_empty() {
            return;
        }
        let at = match self.parts.last() {
            Some(MessagePart::Text(_)) => self.parts.len() - 1,
            _ => self.open(MessagePart::Text(String::new())),
        };
        self.append(at, text, out);
    }

    /// Adds thoughts to the last part, or begins one.
    pub(super) fn add_reasoning(&mut self, text: &str, out: &mut Vec<ReplyDelta>) {
        if text.is_empty() {
            return;
        }
        let at = match self.parts.last() {
            Some(MessagePart::Reasoning(_)) => self.parts.len() - 1,
            _ => self.open(MessagePart::Reasoning(Reasoning::default())),
        };
        self.append(at, text, out);
    }

    /// Adds a piece to the part at a position and tells it in the way of that part.
    pub(super) fn append(&mut self, at: usize, text: &str, out: &mut Vec<ReplyDelta>) {
        if text.is_empty() || self.failed() {
            return;
        }
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            self.fail(ModelError::new(ModelErrorKind::Malformed, format!("more than {MAX_BYTES} bytes")));
            return;
        }
        let call = self.calls.iter().position(|call| *call == at);
        let text_owned = text.to_owned();
        match self.parts.get_mut(at) {
            Some(MessagePart::Text(all)) => {
                all.push_str(text);
                out.push(ReplyDelta::Text(text_owned));
            }
            Some(MessagePart::Reasoning(reasoning)) => {
                reasoning.text.push_str(text);
                out.push(ReplyDelta::Reasoning(text_owned));
            }
            Some(MessagePart::Call(all)) => {
                all.arguments.push_str(text);
                out.extend(call.map(|index| ReplyDelta::CallArguments { index, text: text_owned }));
            }
            Some(MessagePart::Result(_)) | None => {}
        }
    }

    /// Brings the part at a position to its final text: what was not streamed yet is told. Arguments that differ from what was
    /// streamed are replaced, as nothing has been done with them yet.
    pub(super) fn settle(&mut self, at: usize, whole: &str, out: &mut Vec<ReplyDelta>) {
        let so_far = match self.parts.get(at) {
            Some(MessagePart::Text(text)) => text,
            Some(MessagePart::Reasoning(reasoning)) => &reasoning.text,
            Some(MessagePart::Call(call)) => &call.arguments,
            Some(MessagePart::Result(_)) | None => return,
        };
        if let Some(rest) = whole.strip_prefix(so_far.as_str()) {
            let rest = rest.to_owned();
            self.append(at, &rest, out);
        } else if let Some(MessagePart::Call(call)) = self.parts.get_mut(at) {
            whole.clone_into(&mut call.arguments);
        }
    }

    pub(super) fn call_mut(&mut self, at: usize) -> Option<&mut ToolCall> {
        match self.parts.get_mut(at) {
            Some(MessagePart::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Names a call whose name came late.
    pub(super) fn name_call(&mut self, at: usize, name: &str, out: &mut Vec<ReplyDelta>) {
        let index = self.calls.iter().position(|call| *call == at);
        if let (Some(call), Some(index)) = (self.call_mut(at), index)
            && call.name.is_empty()
        {
            name.clone_into(&mut call.name);
            out.push(ReplyDelta::CallStarted { index, name: name.to_owned() });
        }
    }

    /// Puts a seal on the thought at a position.
    pub(super) fn seal(&mut self, at: usize, seal: Seal) {
        if let Some(MessagePart::Reasoning(reasoning)) = self.parts.get_mut(at) {
            reasoning.seal = Some(seal);
        }
    }

    pub(super) fn reasoning_at(&self, at: usize) -> Option<&Reasoning> {
        match self.parts.get(at) {
            Some(MessagePart::Reasoning(reasoning)) => Some(reasoning),
            _ => None,
        }
    }

    /// The position of the first thought, made at the beginning when there is none.
    pub(super) fn first_reasoning(&mut self) -> usize {
        let found = self.parts.iter().position(|part| matches!(part, MessagePart::Reasoning(_)));
        found.unwrap_or_else(|| {
            self.parts.insert(0, MessagePart::Reasoning(Reasoning::default()));
            for call in &mut self.calls {
                *call += 1;
            }
            0
        })
    }

    /// The whole reply; `missing` names the terminal event, for the error when it did not come.
    pub(super) fn finish(mut self, missing: &str) -> Result<ModelReply, ModelError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut stop = self.stop.ok_or_else(|| ModelError::cut(missing))?;
        let mut used = Vec::new();
        let positions = std::mem::take(&mut self.calls);
        for (number, at) in positions.iter().enumerate() {
            let Some(MessagePart::Call(call)) = self.parts.get_mut(*at) else { continue };
            if call.name.is_empty() {
                return Err(ModelError::malformed("a tool call has no name", &call.arguments));
            }
            if call.arguments.trim().is_empty() {
                "{}".clone_into(&mut call.arguments);
            }
            // Results name their call, so every call needs an id of its own.
            if call.id.is_empty() || used.contains(&call.id) {
                call.id = format!("call_{}_{number}", call.id).replace("call__", "call_");
            }
            used.push(call.id.clone());
        }
        if !positions.is_empty() && stop == ReplyStop::EndTurn {
            stop = ReplyStop::ToolUse;
        } else if positions.is_empty() && stop == ReplyStop::ToolUse {
            stop = ReplyStop::EndTurn;
        }
        self.parts.retain(|part| match part {
            MessagePart::Text(text) => !text.is_empty(),
            MessagePart::Reasoning(reasoning) => !reasoning.text.is_empty() || reasoning.seal.is_some(),
            MessagePart::Call(_) => true,
            MessagePart::Result(_) => false,
        });
        Ok(ModelReply { id: self.id, model: self.model, parts: self.parts, stop, usage: self.usage })
    }
}
