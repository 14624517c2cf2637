//! Tries a model out with three small requests: how quick it is, whether it calls a tool, whether a schema holds it.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ServerKind, TestedAbilities};
use crate::cancel::ModelCancel;
use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelErrorKind};
use crate::http::{HttpProvider, HttpTimeouts};
use crate::provider::BlockingProvider;
use crate::reply::{ModelReply, ReplyDelta, ReplyStop};
use crate::request::{ModelRequest, ReplyFormat, ToolSpec};
use crate::wire::WireFormat;

/// What was found, and what a person can do about what was not.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTrial {
    /// For the cache.
    pub tested: TestedAbilities,
    /// What was refused and how that can be changed, each in a sentence.
    pub notes: Vec<String>,
}

/// Tries it out within about `limit`. A model that does not answer at all is an error that says what to change.
pub fn try_out(
    endpoint: &Endpoint,
    model: &str,
    kind: Option<ServerKind>,
    limit: Duration,
    now: Timestamp,
) -> Result<ModelTrial, ModelError> {
    let deadline = Instant::now() + limit;
    let trier = TrialRunner { endpoint, model, deadline };
    let (reads_per_second, writes_per_second) = trier.speed(now)?;
    let mut notes = Vec::new();
    let tools = match trier.ask(&calling(model)) {
        Ok((reply, _)) => called(&reply),
        Err(error) => refused(&error).then(|| {
            notes.push(format!("tools are refused ({}): {}", error.message, native_tools(kind)));
            false
        }),
    };
    // The third wire has no schemas; there the wish is put into words.
    let schema = match endpoint.wire {
        WireFormat::Messages => None,
        WireFormat::Chat | WireFormat::Responses => match trier.ask(&held(model)) {
            Ok((reply, _)) => kept_to_it(&reply),
            Err(error) => refused(&error).then(|| {
                notes
                    .push(format!("schemas are refused ({}): answers are asked for in words", error.message));
                false
            }),
        },
    };
    let tested =
        TestedAbilities { at: now, tools, schema, reads_per_second, writes_per_second, window: None };
    Ok(ModelTrial { tested, notes })
}

/// How native calls are switched on.
fn native_tools(kind: Option<ServerKind>) -> &'static str {
    match kind {
        Some(ServerKind::LlamaCpp) => {
            "start llama-server with `--jinja`; until then they are called in words"
        }
        Some(ServerKind::Vllm) => {
            "start vLLM with `--enable-auto-tool-choice --tool-call-parser NAME`; until then they are called in words"
        }
        _ => "they are called in words",
    }
}

struct TrialRunner<'a> {
    endpoint: &'a Endpoint,
    model: &'a str,
    deadline: Instant,
}

/// When the first piece of an answer came and when the last did.
struct ReplyPace {
    first: Duration,
    whole: Duration,
}

impl TrialRunner<'_> {
    fn ask(&self, request: &ModelRequest) -> Result<(ModelReply, ReplyPace), ModelError> {
        let left = self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        let timeouts = HttpTimeouts { connect: left.min(Duration::from_secs(10)), head: left, idle: left };
        let provider = BlockingProvider::new(HttpProvider::new(self.endpoint.clone(), timeouts)?)?;
        let begun = Instant::now();
        let mut first = None;
        let mut sink = |_: ReplyDelta| {
            first.get_or_insert_with(|| begun.elapsed());
        };
        let reply = provider.stream(request, &mut sink, &ModelCancel::default())?;
        let whole = begun.elapsed();
        Ok((reply, ReplyPace { first: first.unwrap_or(whole), whole }))
    }

    /// Tokens in a second, read and written; nothing where there were too few to tell.
    fn speed(&self, now: Timestamp) -> Result<(Option<f64>, Option<f64>), ModelError> {
        // A beginning that was never sent before is not in a cache.
        let list = (1..=150).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        let text = format!("{now} {list}\nWrite the numbers from one to thirty as words.");
        let bytes = text.len();
        let request = ModelRequest { max_output: Some(64), ..ModelRequest::new(self.model, text) };
        let (reply, pace) = self.ask(&request)?;
        let usage = reply.usage.unwrap_or_default();
        let read = usage.input.max(if reply.usage.is_none() { bytes as u64 / 4 } else { 0 });
        let said = if reply.usage.is_none() { reply.text().len() as u64 / 4 } else { usage.total_output() };
        let reads = per_second(read, pace.first);
        let writes = per_second(said, pace.whole.saturating_sub(pace.first));
        Ok((reads, writes))
    }
}

fn per_second(tokens: u64, time: Duration) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "few tokens")]
    let rate = tokens as f64 / time.as_secs_f64().max(1e-4);
    (tokens >= 8).then_some((rate * 10.0).round() / 10.0)
}

const TOOL: &str = "look_up";

fn calling(model: &str) -> ModelRequest {
    let schema = json!({
        "type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"],
    });
    ModelRequest {
        max_output: Some(512),
        tools: vec![ToolSpec::new(TOOL, "Looks a word up in the dictionary.", schema)],
        ..ModelRequest::new(model, "What does the dictionary say about the word `holon`? Call the tool.")
    }
}

/// Whether the tool was called; one that was cut off before has not shown anything.
fn called(reply: &ModelReply) -> Option<bool> {
    let called = reply.calls().any(|call| call.name == TOOL);
    (called || reply.stop != ReplyStop::MaxTokens).then_some(called)
}

/// A word that nobody says unless held to it.
const COLOUR: &str = "vermilion";

fn held(model: &str) -> ModelRequest {
    let schema = json!({
        "type": "object", "properties": {"colour": {"type": "string", "enum": [COLOUR]}},
        "required": ["colour"], "additionalProperties": false,
    });
    ModelRequest {
        max_output: Some(512),
        format: Some(ReplyFormat { name: "colour".to_owned(), schema }),
        ..ModelRequest::new(model, "Tell me in one sentence how you are.")
    }
}

fn kept_to_it(reply: &ModelReply) -> Option<bool> {
    let value: Option<Value> = serde_json::from_str(reply.text().trim()).ok();
    let kept = value.is_some_and(|value| value == json!({ "colour": COLOUR }));
    (kept || reply.stop != ReplyStop::MaxTokens).then_some(kept)
}

fn refused(error: &ModelError) -> bool {
    error.kind == ModelErrorKind::BadRequest && error.status.is_some()
}
