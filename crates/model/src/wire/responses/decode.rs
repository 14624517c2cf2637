//! The stream of a Responses request.

use serde_json::{Value, json};

use crate::classify;
use crate::error::{ModelError, ModelErrorKind};
use crate::message::{MessagePart, Reasoning, Seal, ToolCall};
use crate::reply::{ModelReply, ReplyDelta, ReplyStop};
use crate::sse::SseEvent;
use crate::usage::TokenUsage;
use crate::wire::assembly::Assembly;
use crate::wire::json::{count, count_at, data, kind, list, text};
use crate::wire::{StreamDecoder, WireFormat};

/// State of one stream.
#[derive(Debug, Default)]
pub(crate) struct ResponsesDecoder {
    reply: Assembly,
    items: Vec<ResponsesItem>,
    refused: bool,
    over: bool,
}

/// An output item and the part it became.
#[derive(Debug)]
struct ResponsesItem {
    index: Option<u64>,
    id: String,
    at: usize,
    kind: ResponsesItemKind,
    /// Which of several texts of the item is being read; a new one begins a paragraph.
    section: u64,
    done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponsesItemKind {
    Message,
    Reasoning,
    Call,
    Custom,
}

impl StreamDecoder for ResponsesDecoder {
    fn push(&mut self, event: &SseEvent) -> Vec<ReplyDelta> {
        let mut out = Vec::new();
        // A router adds the end marker of the other wire.
        if self.is_over() || event.data.trim().is_empty() || event.data.trim() == "[DONE]" {
            return out;
        }
        match data(event) {
            Ok(json) => self.event(kind(event, &json), &json, &mut out),
            Err(error) => self.reply.fail(error),
        }
        out
    }

    fn is_over(&self) -> bool {
        self.over || self.reply.failed()
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, ModelError> {
        self.reply.finish("response.completed")
    }
}

impl ResponsesDecoder {
    fn event(&mut self, kind: &str, json: &Value, out: &mut Vec<ReplyDelta>) {
        match kind {
            "response.created" => {
                let response = json.get("response").unwrap_or(&Value::Null);
                self.reply.id = text(response, "id").map(str::to_owned);
                self.reply.model = text(response, "model").map(str::to_owned);
            }
            "response.output_item.added" => {
                self.open(count(json, "output_index"), json.get("item").unwrap_or(&Value::Null), out);
            }
            "response.output_item.done" => {
                let item = json.get("item").unwrap_or(&Value::Null);
                self.settle(count(json, "output_index"), item, out);
            }
            "response.output_text.delta" => self.grow(json, ResponsesItemKind::Message, "content_index", out),
            "response.refusal.delta" => {
                self.refused = true;
                self.grow(json, ResponsesItemKind::Message, "content_index", out);
            }
            "response.function_call_arguments.delta" => self.grow(json, ResponsesItemKind::Call, "", out),
            "response.reasoning_summary_text.delta" => {
                self.grow(json, ResponsesItemKind::Reasoning, "summary_index", out);
            }
            "response.reasoning_text.delta" => {
                self.grow(json, ResponsesItemKind::Reasoning, "content_index", out)
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(kind, json.get("response").unwrap_or(&Value::Null), out);
            }
            "error" => self.reply.fail(classify::from_event(json)),
            // The remaining `…done` events repeat what is settled with their item; others are not known.
            _ => {}
        }
    }

    /// The item of an event: by its id, else by its place.
    fn find(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let by_id = id.and_then(|id| self.items.iter().rposition(|item| item.id == id));
        by_id.or_else(|| {
            let index = index?;
            self.items.iter().rposition(|item| item.index == Some(index))
        })
    }

    fn open(&mut self, index: Option<u64>, item: &Value, out: &mut Vec<ReplyDelta>) -> Option<usize> {
        let id = text(item, "id").unwrap_or_default().to_owned();
        let (kind, at) = match text(item, "type").unwrap_or_default() {
            "message" => (ResponsesItemKind::Message, self.reply.open(MessagePart::Text(String::new()))),
            "reasoning" => {
                (ResponsesItemKind::Reasoning, self.reply.open(MessagePart::Reasoning(Reasoning::default())))
            }
            named @ ("function_call" | "custom_tool_call") => {
                let call_id = text(item, "call_id").unwrap_or(&id);
                let mut call = ToolCall::new(call_id, text(item, "name").unwrap_or_default(), "");
                call.custom = named == "custom_tool_call";
                let kind = if call.custom { ResponsesItemKind::Custom } else { ResponsesItemKind::Call };
                (kind, self.reply.open_call(call, out))
            }
            // Items of tools that run at the provider, which are never asked for.
            _ => return None,
        };
        if self.reply.failed() {
            return None;
        }
        self.items.push(ResponsesItem { index, id, at, kind, section: 0, done: false });
        Some(self.items.len() - 1)
    }

    fn grow(&mut self, json: &Value, kind: ResponsesItemKind, section_key: &str, out: &mut Vec<ReplyDelta>) {
        let section = count(json, section_key).unwrap_or(0);
        let index = count(json, "output_index");
        let Some(found) = self.find(index, text(json, "item_id")) else { return };
        let item = &mut self.items[found];
        if item.kind != kind || item.done {
            return;
        }
        let at = item.at;
        let breaks = section > item.section;
        item.section = item.section.max(section);
        if breaks {
            self.reply.append(at, "\n\n", out);
        }
        self.reply.append(at, text(json, "delta").unwrap_or_default(), out);
    }

    /// A finished item is whole: what was not streamed is taken from it.
    fn settle(&mut self, index: Option<u64>, item: &Value, out: &mut Vec<ReplyDelta>) {
        let found = self.find(index, text(item, "id")).or_else(|| self.open(index, item, out));
        let Some(known) = found.and_then(|at| self.items.get_mut(at)) else { return };
        if std::mem::replace(&mut known.done, true) {
            return;
        }
        let (at, kind) = (known.at, known.kind);
        match kind {
            ResponsesItemKind::Message => {
                let parts = list(item, "content");
                self.refused |= parts.iter().any(|part| text(part, "type") == Some("refusal"));
                let texts =
                    parts.iter().filter_map(|part| text(part, "text").or_else(|| text(part, "refusal")));
                self.reply.settle(at, &texts.collect::<Vec<_>>().join("\n\n"), out);
            }
            ResponsesItemKind::Reasoning => {
                let summary = if list(item, "summary").is_empty() { "content" } else { "summary" };
                let texts = list(item, summary).iter().filter_map(|part| text(part, "text"));
                self.reply.settle(at, &texts.collect::<Vec<_>>().join("\n\n"), out);
                // Only an encrypted thought can be sent back to a provider that keeps nothing.
                if text(item, "encrypted_content").is_some() {
                    self.reply.seal(at, Seal { wire: WireFormat::Responses, value: item.clone() });
                }
            }
            ResponsesItemKind::Call => {
                self.reply.settle(at, text(item, "arguments").unwrap_or_default(), out)
            }
            ResponsesItemKind::Custom => {
                let input = json!({"input": text(item, "input").unwrap_or_default()});
                self.reply.settle(at, &input.to_string(), out);
            }
        }
    }

    fn end(&mut self, kind: &str, response: &Value, out: &mut Vec<ReplyDelta>) {
        self.reply.id = self.reply.id.take().or_else(|| text(response, "id").map(str::to_owned));
        self.reply.model = self.reply.model.take().or_else(|| text(response, "model").map(str::to_owned));
        if let Some(found) = response.get("usage").filter(|usage| usage.is_object()) {
            self.reply.usage = Some(usage(found));
        }
        // The end repeats all items; it is needed only when none was streamed.
        if self.items.is_empty() {
            for (index, item) in list(response, "output").iter().enumerate() {
                self.settle(Some(index as u64), item, out);
            }
        }
        let stop = match kind {
            "response.completed" if self.refused => ReplyStop::Refusal,
            "response.completed" => ReplyStop::EndTurn,
            "response.incomplete" => {
                match response.get("incomplete_details").and_then(|details| text(details, "reason")) {
                    Some("content_filter") => ReplyStop::Refusal,
                    _ => ReplyStop::MaxTokens,
                }
            }
            _ => {
                let told = response.get("error").is_some_and(|error| !error.is_null());
                self.reply.fail(if told {
                    classify::from_event(response)
                } else {
                    ModelError::new(ModelErrorKind::Overloaded, "the response failed without a reason")
                });
                return;
            }
        };
        self.reply.stop = Some(stop);
        self.over = true;
    }
}

fn usage(json: &Value) -> TokenUsage {
    let read = count_at(json, ["input_tokens_details", "cached_tokens"]);
    let reasoning = count_at(json, ["output_tokens_details", "reasoning_tokens"]);
    let input = count(json, "input_tokens").unwrap_or(0);
    let output = count(json, "output_tokens").unwrap_or(0);
    let cost = json.get("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0);
    TokenUsage { cost_usd: cost, ..TokenUsage::from_inclusive(input, read, 0, output, reasoning) }
}

/// A body that was not streamed.
pub(crate) fn whole(body: &Value) -> Result<ModelReply, ModelError> {
    let mut decoder = Box::<ResponsesDecoder>::default();
    let kind = match text(body, "status") {
        Some("completed") => "response.completed",
        Some("incomplete") => "response.incomplete",
        Some("failed") => "response.failed",
        _ if body.get("error").is_some_and(|error| !error.is_null()) => {
            return Err(classify::from_event(body));
        }
        _ => return decoder.finish(),
    };
    decoder.end(kind, body, &mut Vec::new());
    decoder.finish()
}
