//! A turn of a cassette as the events of a wire.

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_model::{ModelError, ModelErrorKind, Reasoning, ReplyStop, TokenUsage, WireFormat};
use serde_json::{Value, json};

use super::script::BodyPiece;

/// The stream that tells a turn.
pub(super) fn stream(wire: WireFormat, turn: &CassetteTurn, number: usize) -> Vec<BodyPiece> {
    let mut teller = TurnFrameEncoder { wire, number, pieces: Vec::new(), index: 0, calls: 0 };
    teller.begin(turn);
    for step in &turn.steps {
        match step {
            CassetteStep::Text(text) => teller.text(text),
            CassetteStep::Reasoning(reasoning) => teller.reasoning(reasoning),
            CassetteStep::Call(call) => teller.call(call),
            CassetteStep::Delay(pause) => teller.pieces.push(BodyPiece::Pause(*pause)),
            CassetteStep::Error(error) => {
                teller.error(error);
                return teller.pieces;
            }
            CassetteStep::Cut => return teller.pieces,
        }
    }
    teller.end(turn);
    teller.pieces
}

/// The body of an HTTP error.
pub(super) fn error_body(wire: WireFormat, error: &ModelError) -> Value {
    let word = error_word(error.kind);
    match wire {
        WireFormat::Messages => json!({"type": "error", "error": {"type": word, "message": error.message}}),
        WireFormat::Chat | WireFormat::Responses => {
            json!({"error": {"message": error.message, "type": word, "param": null, "code": word}})
        }
    }
}

fn error_word(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth => "authentication_error",
        ModelErrorKind::Billing => "billing_error",
        ModelErrorKind::RateLimit => "rate_limit_error",
        ModelErrorKind::ContextOverflow => "context_length_exceeded",
        ModelErrorKind::Refused => "content_policy_violation",
        ModelErrorKind::BadRequest => "invalid_request_error",
        ModelErrorKind::Timeout => "timeout_error",
        _ => "overloaded_error",
    }
}

struct TurnFrameEncoder {
    wire: WireFormat,
    number: usize,
    pieces: Vec<BodyPiece>,
    /// The next block or item.
    index: usize,
    calls: usize,
}

impl TurnFrameEncoder {
    fn event(&mut self, event: &Value) {
        let name = event.get("type").and_then(Value::as_str).filter(|_| self.wire != WireFormat::Chat);
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        self.pieces.push(BodyPiece::Bytes(format!("{name}data: {event}\n\n").into_bytes()));
    }

    /// A chat chunk with a delta.
    fn delta(&mut self, delta: Value) {
        self.event(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}));
    }

    fn begin(&mut self, turn: &CassetteTurn) {
        let id = turn.id.clone().unwrap_or_default();
        let model = turn.model.clone().unwrap_or_default();
        match self.wire {
            WireFormat::Chat => {
                let delta = json!({"role": "assistant", "content": ""});
                self.event(&json!({"id": id, "model": model, "choices": [{"index": 0, "delta": delta}]}));
            }
            WireFormat::Messages => {
                let usage = turn.usage.unwrap_or_default();
                let usage = turn.usage.map(|_| {
                    json!({
                        "input_tokens": usage.input, "cache_read_input_tokens": usage.cache_read,
                        "cache_creation_input_tokens": usage.cache_write, "output_tokens": 1,
                    })
                });
                let message =
                    json!({"id": id, "model": model, "role": "assistant", "content": [], "usage": usage});
                self.event(&json!({"type": "message_start", "message": message}));
                self.event(&json!({"type": "ping"}));
            }
            WireFormat::Responses => {
                self.event(&json!({"type": "response.created", "response": {"id": id, "model": model}}));
            }
        }
    }

    fn text(&mut self, text: &str) {
        let index = self.index;
        match self.wire {
            WireFormat::Chat => self.delta(json!({"content": text})),
            WireFormat::Messages => {
                self.block(
                    json!({"type": "text", "text": ""}),
                    &[json!({"type": "text_delta", "text": text})],
                );
            }
            WireFormat::Responses => {
                let part = json!({"type": "output_text", "text": text, "annotations": []});
                let delta = json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text});
                let item = |content: Value| json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant", "content": content});
                self.item(&item(json!([])), &[delta], &item(json!([part])));
            }
        }
    }

    fn reasoning(&mut self, reasoning: &Reasoning) {
        let seal =
            reasoning.seal.as_ref().filter(|seal| seal.wire == self.wire).map(|seal| seal.value.clone());
        let index = self.index;
        match self.wire {
            WireFormat::Chat => {
                let mut delta = json!({"reasoning": reasoning.text});
                if let Some(details) = seal {
                    delta["reasoning_details"] = details;
                }
                self.delta(delta);
            }
            WireFormat::Messages => match seal {
                Some(seal) if seal.get("data").is_some() => {
                    self.block(json!({"type": "redacted_thinking", "data": seal["data"]}), &[]);
                }
                seal => {
                    let mut deltas = vec![json!({"type": "thinking_delta", "thinking": reasoning.text})];
                    deltas.extend(
                        seal.map(|seal| json!({"type": "signature_delta", "signature": seal["signature"]})),
                    );
                    self.block(json!({"type": "thinking", "thinking": ""}), &deltas);
                }
            },
            WireFormat::Responses => {
                let id = format!("rs_{index}");
                let summary = json!([{"type": "summary_text", "text": reasoning.text}]);
                let whole = seal.unwrap_or(json!({"type": "reasoning", "id": id, "summary": summary}));
                let delta = json!({"type": "response.reasoning_summary_text.delta", "output_index": index, "summary_index": 0, "delta": reasoning.text});
                self.item(&json!({"type": "reasoning", "id": id, "summary": []}), &[delta], &whole);
            }
        }
    }

    fn call(&mut self, call: &CassetteCall) {
        self.calls += 1;
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{}", self.number, self.calls));
        let place = self.calls - 1;
        // In two fragments, as models send them.
        let middle = (call.arguments.len() / 2..=call.arguments.len())
            .find(|at| call.arguments.is_char_boundary(*at))
            .unwrap_or(0);
        let (first, second) = call.arguments.split_at(middle);
        let index = self.index;
        match self.wire {
            WireFormat::Chat => {
                let function = json!({"name": call.name, "arguments": ""});
                self.delta(json!({"tool_calls": [{"index": place, "id": id, "type": "function", "function": function}]}));
                for part in [first, second] {
                    self.delta(json!({"tool_calls": [{"index": place, "function": {"arguments": part}}]}));
                }
            }
            WireFormat::Messages => {
                let deltas =
                    [first, second].map(|part| json!({"type": "input_json_delta", "partial_json": part}));
                self.block(json!({"type": "tool_use", "id": id, "name": call.name, "input": {}}), &deltas);
            }
            WireFormat::Responses => {
                let deltas = [first, second].map(|part| {
                    json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": part})
                });
                let item = |arguments: &str| json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id, "name": call.name, "arguments": arguments});
                self.item(&item(""), &deltas, &item(&call.arguments));
            }
        }
    }

    fn block(&mut self, start: Value, deltas: &[Value]) {
        let index = self.index;
        self.index += 1;
        self.event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            self.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.event(&json!({"type": "content_block_stop", "index": index}));
    }

    fn item(&mut self, start: &Value, deltas: &[Value], whole: &Value) {
        let index = self.index;
        self.index += 1;
        self.event(&json!({"type": "response.output_item.added", "output_index": index, "item": start}));
        for delta in deltas {
            self.event(delta);
        }
        self.event(&json!({"type": "response.output_item.done", "output_index": index, "item": whole}));
    }

    fn error(&mut self, error: &ModelError) {
        let word = error_word(error.kind);
        match self.wire {
            WireFormat::Chat => {
                let status = error.status.unwrap_or_else(|| error.kind.status());
                self.event(&json!({
                    "error": {"code": status, "message": error.message, "type": word},
                    "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
                }));
            }
            WireFormat::Messages => self.event(&error_body(self.wire, error)),
            WireFormat::Responses => self.event(&json!({"type": "response.failed", "response": {
                "error": {"code": word, "message": error.message},
            }})),
        }
    }

    fn end(&mut self, turn: &CassetteTurn) {
        let stop = turn.stop.unwrap_or(if self.calls > 0 { ReplyStop::ToolUse } else { ReplyStop::EndTurn });
        match self.wire {
            WireFormat::Chat => {
                let reason = match stop {
                    ReplyStop::ToolUse => "tool_calls",
                    ReplyStop::MaxTokens => "length",
                    ReplyStop::Refusal => "content_filter",
                    _ => "stop",
                };
                self.event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
                if let Some(usage) = turn.usage {
                    self.event(&json!({"choices": [], "usage": chat_usage(&usage)}));
                }
                self.pieces.push(BodyPiece::Bytes(b"data: [DONE]\n\n".to_vec()));
            }
            WireFormat::Messages => {
                let reason = match stop {
                    ReplyStop::EndTurn => "end_turn",
                    ReplyStop::ToolUse => "tool_use",
                    ReplyStop::MaxTokens => "max_tokens",
                    ReplyStop::ContextFull => "model_context_window_exceeded",
                    ReplyStop::StopSequence => "stop_sequence",
                    ReplyStop::Pause => "pause_turn",
                    ReplyStop::Refusal => "refusal",
                };
                let usage = turn.usage.map(|usage| json!({"output_tokens": usage.total_output()}));
                let delta = json!({"stop_reason": reason, "stop_sequence": null});
                self.event(&json!({"type": "message_delta", "delta": delta, "usage": usage}));
                self.event(&json!({"type": "message_stop"}));
            }
            WireFormat::Responses => {
                let (kind, details) = match stop {
                    ReplyStop::MaxTokens => ("response.incomplete", json!({"reason": "max_output_tokens"})),
                    ReplyStop::Refusal => ("response.incomplete", json!({"reason": "content_filter"})),
                    _ => ("response.completed", Value::Null),
                };
                let usage = turn.usage.map(|usage| json!({
                    "input_tokens": usage.total_input(), "input_tokens_details": {"cached_tokens": usage.cache_read},
                    "output_tokens": usage.total_output(), "output_tokens_details": {"reasoning_tokens": usage.reasoning},
                }));
                let id = turn.id.clone().unwrap_or_default();
                self.event(&json!({"type": kind, "response": {"id": id, "incomplete_details": details, "usage": usage}}));
            }
        }
    }
}

fn chat_usage(usage: &TokenUsage) -> Value {
    json!({
        "prompt_tokens": usage.total_input(), "completion_tokens": usage.total_output(), "cost": usage.cost_usd,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}
