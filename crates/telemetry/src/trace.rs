//! From the events of a run to spans, by the conventions for generative AI.

use std::collections::HashMap;

use holon_core::event::EventBody;
use holon_core::ids::CallId;
use holon_core::policy::ToolVerdict;

use crate::span::{SpanAttribute, SpanKind, SpanParent, TraceSpan};

/// The most spans of one run; a run that never ends must not fill the memory.
const MOST: usize = 4096;
/// Calls that are proposed and not over.
const MOST_OPEN: usize = 256;

/// Makes spans of what happens in one run: one for each request to a model, one for each call of a tool.
#[derive(Debug)]
pub struct RunTrace {
    place: SpanParent,
    /// Where the model is, as `host:port`.
    server: Option<String>,
    spans: Vec<TraceSpan>,
    open: HashMap<CallId, String>,
    left_out: u64,
}

impl RunTrace {
    /// Spans that belong below `place`.
    pub fn new(place: SpanParent) -> Self {
        Self { place, server: None, spans: Vec::new(), open: HashMap::new(), left_out: 0 }
    }

    /// Says where the model is, as `host:port`; it counts for all spans.
    pub fn at_server(&mut self, server: Option<&str>) {
        self.server = server.map(str::to_owned);
    }

    /// Takes in what happened, and when.
    pub fn hear(&mut self, at_ns: u64, body: &EventBody) {
        match body {
            EventBody::ToolProposed { call, tool, .. } if self.open.len() < MOST_OPEN => {
                self.open.insert(call.clone(), named(tool));
            }
            EventBody::ToolDecided { call, verdict: ToolVerdict::Deny, .. } => {
                if let Some(tool) = self.open.remove(call) {
                    let span = self.called(&tool, call, at_ns, at_ns).failed(Some("denied"));
                    self.keep(span);
                }
            }
            EventBody::ToolFinished { call, ok, duration_ms, exit_code, .. } => {
                let Some(tool) = self.open.remove(call) else { return };
                let code = exit_code.and_then(|code| u64::try_from(code).ok());
                let span = self
                    .called(&tool, call, before(at_ns, *duration_ms), at_ns)
                    .with_some("process.exit.code", code)
                    .failed((!ok).then_some("failed"));
                self.keep(span);
            }
            EventBody::ModelAnswered {
                provider,
                model,
                response_model,
                duration_ms,
                usage,
                finish,
                error,
            } => {
                let span = TraceSpan::new(
                    self.place,
                    format!("chat {}", named(model)),
                    SpanKind::Client,
                    before(at_ns, *duration_ms),
                    at_ns,
                )
                .with("gen_ai.operation.name", "chat")
                .with("gen_ai.provider.name", named(provider))
                .with("gen_ai.request.model", named(model))
                .with_some("gen_ai.response.model", response_model.as_deref().map(named))
                .with_some(
                    "gen_ai.usage.input_tokens",
                    usage.as_ref().map(|usage| usage.input + usage.cached),
                )
                .with_some(
                    "gen_ai.usage.output_tokens",
                    usage.as_ref().map(|usage| usage.output + usage.reasoning),
                )
                .with_some("gen_ai.response.finish_reasons", finish.as_deref().map(finished))
                .failed(error.as_deref().map(named));
                self.keep(span);
            }
            _ => {}
        }
    }

    /// All spans, and how many there were too many.
    pub fn end(mut self) -> (Vec<TraceSpan>, u64) {
        let place = self.server.as_deref().and_then(|server| server.rsplit_once(':'));
        if let Some((host, port)) = place {
            for span in self.spans.iter_mut().filter(|span| span.kind == SpanKind::Client) {
                span.attributes.push(("server.address", host.into()));
                if let Ok(port) = port.parse::<u64>() {
                    span.attributes.push(("server.port", port.into()));
                }
            }
        }
        (self.spans, self.left_out)
    }

    fn called(&self, tool: &str, call: &CallId, start_ns: u64, end_ns: u64) -> TraceSpan {
        TraceSpan::new(self.place, format!("execute_tool {tool}"), SpanKind::Internal, start_ns, end_ns)
            .with("gen_ai.operation.name", "execute_tool")
            .with("gen_ai.tool.name", tool)
            .with("gen_ai.tool.call.id", call.as_str())
            .with("gen_ai.tool.type", "function")
    }

    fn keep(&mut self, span: TraceSpan) {
        if self.spans.len() < MOST {
            self.spans.push(span);
        } else {
            self.left_out += 1;
        }
    }
}

/// This moment in nanoseconds since 1970.
pub fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0)
}

/// The moment of an event in nanoseconds since 1970; this one where the text is no time.
pub fn moment(at: &str) -> u64 {
    let parsed = at.parse::<jiff::Timestamp>().ok().and_then(|at| u64::try_from(at.as_nanosecond()).ok());
    parsed.unwrap_or_else(now)
}

fn before(at_ns: u64, ms: u64) -> u64 {
    at_ns.saturating_sub(ms.saturating_mul(1_000_000))
}

/// A name as it may go out. Names of tools and models come from models and providers; whatever is no name could be
/// anything, a part of the conversation included.
fn named(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c);
    if text.is_empty() || text.len() > 128 || !text.chars().all(plain) {
        return "unnamed".to_owned();
    }
    text.to_owned()
}

/// Why an answer ended, in the words most backends know.
fn finished(stop: &str) -> SpanAttribute {
    let word = match stop {
        "end_turn" | "stop_sequence" => "stop",
        "tool_use" => "tool_calls",
        "max_tokens" | "context_full" => "length",
        "refusal" => "content_filter",
        other => other,
    };
    SpanAttribute::List(vec![word.to_owned()])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_core::manifest::UsageTotals;
    use holon_core::policy::ToolClass;

    use super::*;
    use crate::span::TraceId;

    fn told(bodies: &[(u64, EventBody)]) -> Vec<TraceSpan> {
        let mut trace = RunTrace::new(SpanParent { trace: TraceId::random(), parent: None });
        trace.at_server(Some("api.example.com:443"));
        bodies.iter().for_each(|(at, body)| trace.hear(*at, body));
        trace.end().0
    }

    fn proposed(call: &str, tool: &str) -> EventBody {
        EventBody::ToolProposed {
            call: call.parse().unwrap(),
            tool: tool.into(),
            class: ToolClass::Read,
            arguments_sha256: String::new(),
            summary: Some("a part of the conversation".into()),
        }
    }

    fn answered(error: Option<&str>) -> EventBody {
        EventBody::ModelAnswered {
            provider: "openrouter".into(),
            model: "anthropic/claude-sonnet-5.5".into(),
            response_model: error.is_none().then(|| "claude-sonnet-5.5".into()),
            duration_ms: 1500,
            usage: error.is_none().then(|| UsageTotals {
                input: 90,
                cached: 10,
                output: 5,
                reasoning: 2,
                ..UsageTotals::default()
            }),
            finish: error.is_none().then(|| "tool_use".into()),
            error: error.map(Into::into),
        }
    }

    fn attribute<'a>(span: &'a TraceSpan, key: &str) -> Option<&'a SpanAttribute> {
        span.attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    #[test]
    fn a_request_to_a_model_follows_the_conventions() {
        let spans = told(&[(5_000_000_000, answered(None))]);
        let span = &spans[0];
        assert_eq!((span.name.as_str(), span.kind), ("chat anthropic/claude-sonnet-5.5", SpanKind::Client));
        assert_eq!((span.start_ns, span.end_ns), (3_500_000_000, 5_000_000_000));
        for (key, value) in [
            ("gen_ai.operation.name", "chat".into()),
            ("gen_ai.provider.name", "openrouter".into()),
            ("gen_ai.request.model", "anthropic/claude-sonnet-5.5".into()),
            ("gen_ai.response.model", "claude-sonnet-5.5".into()),
            ("gen_ai.usage.input_tokens", SpanAttribute::Number(100)),
            ("gen_ai.usage.output_tokens", SpanAttribute::Number(7)),
            ("gen_ai.response.finish_reasons", SpanAttribute::List(vec!["tool_calls".into()])),
            ("server.address", "api.example.com".into()),
            ("server.port", SpanAttribute::Number(443)),
        ] {
            assert_eq!(attribute(span, key), Some(&value), "{key}");
        }
        assert_eq!(span.error, None);
        let failed = &told(&[(5_000_000_000, answered(Some("rate_limit")))])[0];
        assert_eq!(attribute(failed, "error.type"), Some(&"rate_limit".into()));
        assert_eq!(attribute(failed, "gen_ai.usage.input_tokens"), None, "what nobody told is not made up");
        assert_eq!(failed.error.as_deref(), Some("rate_limit"));
    }

    #[test]
    fn a_call_of_a_tool_is_a_span_when_it_is_over() {
        let done = |ok| EventBody::ToolFinished {
            call: "c1".parse().unwrap(),
            ok,
            duration_ms: 20,
            exit_code: Some(3),
            summary: None,
        };
        let spans = told(&[(1, proposed("c1", "execute")), (90_000_000, done(false))]);
        assert_eq!(
            (spans[0].name.as_str(), spans[0].error.as_deref()),
            ("execute_tool execute", Some("failed"))
        );
        assert_eq!((spans[0].start_ns, spans[0].end_ns), (70_000_000, 90_000_000));
        assert_eq!(attribute(&spans[0], "process.exit.code"), Some(&SpanAttribute::Number(3)));
        assert_eq!(told(&[(9, done(true))]), [], "nobody proposed it");
        let denied = EventBody::ToolDecided {
            call: "c1".parse().unwrap(),
            verdict: ToolVerdict::Deny,
            rule: "r".into(),
            reason: "because of a part of the conversation".into(),
        };
        let spans = told(&[(1, proposed("c1", "execute")), (2, denied), (3, done(true))]);
        assert_eq!((spans.len(), spans[0].error.as_deref()), (1, Some("denied")));
        assert!(!format!("{spans:?}").contains("part of the conversation"));
    }

    #[test]
    fn what_is_no_name_does_not_go_out() {
        for (text, name) in [
            ("read_file", "read_file"),
            ("mcp/server.tool", "mcp/server.tool"),
            ("qwen3-coder:30b", "qwen3-coder:30b"),
            ("", "unnamed"),
            ("[redacted:key]", "unnamed"),
            ("a long sentence that somebody said", "unnamed"),
            ("two\nlines", "unnamed"),
            ("{\"path\":1}", "unnamed"),
        ] {
            assert_eq!(named(text), name, "{text}");
        }
        assert_eq!(named(&"x".repeat(129)), "unnamed");
    }

    #[test]
    fn a_run_that_never_ends_does_not_fill_the_memory() {
        let mut trace = RunTrace::new(SpanParent { trace: TraceId::random(), parent: None });
        (0..MOST as u64 + 5).for_each(|at| trace.hear(at, &answered(None)));
        let (spans, left_out) = trace.end();
        assert_eq!((spans.len(), left_out), (MOST, 5));
    }

    #[test]
    fn moments_are_nanoseconds() {
        assert_eq!(moment("1970-01-01T00:00:01.250Z"), 1_250_000_000);
        assert!(moment("not a time") > 1_600_000_000_000_000_000);
    }
}
