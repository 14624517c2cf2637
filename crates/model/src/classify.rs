//! Tells what a provider's error means, from its status, headers and body.

use serde_json::Value;

use crate::error::{ModelError, ModelErrorKind, excerpt};
use crate::retry::{ResponseHeaders, wait_asked_for};

/// Words in which servers say that the conversation does not fit.
const OVERFLOW: [&str; 12] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "maximum number of tokens",
    "exceeds the maximum number of",
    "exceed context limit",
    "reduce the length",
    "request_too_large",
];

/// Words in which they decline content.
const REFUSED: [&str; 5] =
    ["moderation", "flagged", "content_policy", "content_filter", "content management policy"];

/// Words in which they say that the money is gone, though the status says "too many requests".
const BROKE: [&str; 4] = ["insufficient_quota", "billing", "credit balance", "insufficient credits"];

/// Words in which they say that they take no tools, or not without a flag.
const NO_TOOLS: [&str; 9] = [
    "does not support tools",
    "not support tool",
    "tools are not supported",
    "tools param requires",
    "tool choice requires",
    "support tool use",
    "tool_choice",
    "tool-call-parser",
    "function calling",
];

/// Words in which they say that they cannot hold an answer to a schema, or not to this one.
const NO_SCHEMA: [&str; 5] =
    ["grammar", "response_format", "json_schema", "guided_json", "structured output"];

/// Words in which they say that there is no such model, or none any more.
const GONE: [&str; 9] = [
    "model_not_found",
    "model not found",
    "not a valid model",
    "no such model",
    "unknown model",
    "no endpoints found",
    "model does not exist",
    "has been deprecated",
    "model is not available",
];

/// Whether a provider does not have the model that was asked for.
pub(crate) fn model_is_gone(error: &ModelError) -> bool {
    let words = error.message.to_lowercase();
    error.kind == ModelErrorKind::BadRequest && (error.status == Some(404) || says(&words, &GONE))
}

/// Whether a server refused a request for the tools in it: without them it may be answered.
pub(crate) fn refuses_tools(error: &ModelError) -> bool {
    let words = error.message.to_lowercase();
    error.kind == ModelErrorKind::BadRequest && error.status.is_some() && says(&words, &NO_TOOLS)
}

/// What an HTTP answer that is no success means; `now` is needed when it asks to wait until a date.
pub fn from_response(
    status: u16,
    headers: &ResponseHeaders,
    body: &[u8],
    now: jiff::Timestamp,
) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let json: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let mut error = match error_object(&json) {
        Some(object) => from_object(object, Some(status)),
        None => ModelError::new(kind_of(Some(status), "", &text), plain(&text, status)),
    };
    if let (300..=399, Some(target)) = (status, headers.get("location")) {
        error.message = format!("it redirects to {}; use the base URL of that", excerpt(target));
    }
    error.status = Some(status);
    error.retry_after = wait_asked_for(headers, now);
    error.request_id = headers
        .get("request-id")
        .or_else(|| headers.get("x-request-id"))
        .or_else(|| json.get("request_id").and_then(Value::as_str))
        .map(str::to_owned);
    error
}

/// What an error inside a stream that began well means.
pub fn from_event(json: &Value) -> ModelError {
    match error_object(json) {
        Some(object) => from_object(object, None),
        None => ModelError::new(ModelErrorKind::Overloaded, excerpt(&json.to_string())),
    }
}

/// The object (or text) that describes the error.
fn error_object(json: &Value) -> Option<&Value> {
    // One compatible server wraps its error in a list.
    let json = json.as_array().and_then(|list| list.first()).unwrap_or(json);
    match json.get("error") {
        Some(error) if !error.is_null() => Some(error),
        _ => ["message", "detail", "code"].iter().any(|key| json.get(key).is_some()).then_some(json),
    }
}

fn from_object(object: &Value, status: Option<u16>) -> ModelError {
    let message = object
        .as_str()
        .or_else(|| ["message", "detail"].iter().find_map(|key| object.get(key)?.as_str()))
        .map_or_else(|| excerpt(&object.to_string()), str::to_owned);
    let words = ["type", "code"].iter().filter_map(|key| object.get(key)?.as_str()).collect::<Vec<_>>();
    // At OpenRouter the code is the status, as a number or a numeric text.
    let code = object.get("code").and_then(|code| match code {
        Value::Number(number) => number.as_u64().and_then(|n| u16::try_from(n).ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    });
    let status = status.or(code.filter(|code| (400..600).contains(code)));
    let metadata = object.get("metadata").filter(|m| m.get("reasons").is_some());
    let mut kind = kind_of(status, &words.join(" "), &message);
    if metadata.is_some() {
        kind = ModelErrorKind::Refused;
    }
    // The router's message is often "Provider returned error"; what the provider said is below.
    let raw = object.get("metadata").and_then(|m| m.get("raw")).and_then(Value::as_str);
    let message = match raw {
        Some(raw) if !raw.is_empty() && !message.contains(raw) => format!("{message}: {}", excerpt(raw)),
        _ => message,
    };
    if kind == ModelErrorKind::BadRequest && says(&message, &OVERFLOW) {
        kind = ModelErrorKind::ContextOverflow;
    }
    let mut error = ModelError::new(kind, message);
    error.status = status;
    error
}

fn kind_of(status: Option<u16>, words: &str, message: &str) -> ModelErrorKind {
    use ModelErrorKind as K;
    let both = format!("{words} {message}").to_lowercase();
    match status {
        // Following it would carry the key to another host.
        Some(300..=399) => K::BadRequest,
        Some(401) => K::Auth,
        Some(402) => K::Billing,
        Some(403) if says(&both, &REFUSED) => K::Refused,
        Some(403) => K::Auth,
        Some(408 | 504) => K::Timeout,
        Some(413) => K::ContextOverflow,
        Some(429) if says(&both, &BROKE) => K::Billing,
        Some(429) => K::RateLimit,
        // Sending the same again would be refused again.
        Some(500 | 501) if says(&both, &NO_TOOLS) || says(&both, &NO_SCHEMA) => K::BadRequest,
        Some(500..) => K::Overloaded,
        Some(400..) if says(&both, &OVERFLOW) => K::ContextOverflow,
        Some(400..) if says(&both, &REFUSED) => K::Refused,
        Some(400..) if says(&both, &BROKE) => K::Billing,
        Some(400..) => K::BadRequest,
        _ => kind_by_words(words, &both),
    }
}

/// Inside a stream there is no status; the words decide.
fn kind_by_words(words: &str, both: &str) -> ModelErrorKind {
    use ModelErrorKind as K;
    let named = words.split(' ').find_map(|word| {
        Some(match word {
            "authentication_error" | "permission_error" | "invalid_api_key" => K::Auth,
            "billing_error" | "insufficient_quota" => K::Billing,
            "rate_limit_error" | "rate_limit_exceeded" => K::RateLimit,
            "overloaded_error" | "api_error" | "server_error" => K::Overloaded,
            "timeout_error" => K::Timeout,
            "request_too_large" | "context_length_exceeded" => K::ContextOverflow,
            "invalid_request_error" | "not_found_error" | "invalid_prompt" => K::BadRequest,
            _ => return None,
        })
    });
    match named {
        None | Some(K::BadRequest) if says(both, &OVERFLOW) => K::ContextOverflow,
        None | Some(K::BadRequest) if says(both, &REFUSED) => K::Refused,
        Some(kind) => kind,
        None if both.contains("rate limit") => K::RateLimit,
        // An unexplained stop in the middle is the provider's problem.
        None => K::Overloaded,
    }
}

fn says(text: &str, any: &[&str]) -> bool {
    let text = text.to_lowercase();
    any.iter().any(|words| text.contains(words))
}

/// A body that is no JSON, such as a proxy's page.
fn plain(text: &str, status: u16) -> String {
    if text.trim().is_empty() { format!("an empty answer with status {status}") } else { excerpt(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, body: &str, kind: ModelErrorKind, words: &str) {
        let error =
            from_response(status, &ResponseHeaders::default(), body.as_bytes(), jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(error.kind, kind, "{status} {body}");
        assert!(error.message.contains(words), "{error}");
        assert_eq!(error.status, Some(status));
    }

    #[test]
    fn anthropic_errors() {
        for (status, word, kind) in [
            (400, "invalid_request_error", ModelErrorKind::BadRequest),
            (401, "authentication_error", ModelErrorKind::Auth),
            (402, "billing_error", ModelErrorKind::Billing),
            (403, "permission_error", ModelErrorKind::Auth),
            (404, "not_found_error", ModelErrorKind::BadRequest),
            (413, "request_too_large", ModelErrorKind::ContextOverflow),
            (429, "rate_limit_error", ModelErrorKind::RateLimit),
            (500, "api_error", ModelErrorKind::Overloaded),
            (504, "timeout_error", ModelErrorKind::Timeout),
            (529, "overloaded_error", ModelErrorKind::Overloaded),
        ] {
            let body = format!(
                r#"{{"type":"error","error":{{"type":"{word}","message":"told"}},"request_id":"r1"}}"#
            );
            check(status, &body, kind, "told");
            // The same inside a stream, where there is no status.
            let expect = if status == 413 { ModelErrorKind::ContextOverflow } else { kind };
            let event = serde_json::json!({"type": "error", "error": {"type": word, "message": "told"}});
            assert_eq!(from_event(&event).kind, expect, "{word}");
        }
        let too_long = r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#;
        check(400, too_long, ModelErrorKind::ContextOverflow, "too long");
        let broke =
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#;
        check(400, broke, ModelErrorKind::Billing, "credit");
    }

    #[test]
    fn openai_errors() {
        let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
        check(429, quota, ModelErrorKind::Billing, "quota");
        let rate =
            r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
        check(429, rate, ModelErrorKind::RateLimit, "Rate");
        let long = r#"{"error":{"message":"too big","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
        check(400, long, ModelErrorKind::ContextOverflow, "too big");
        check(500, "", ModelErrorKind::Overloaded, "empty answer");
        check(400, r#"{"error":"plain words"}"#, ModelErrorKind::BadRequest, "plain words");
    }

    #[test]
    fn openrouter_errors() {
        let told =
            |code: u16, message: &str| format!(r#"{{"error":{{"code":{code},"message":"{message}"}}}}"#);
        check(402, &told(402, "Insufficient credits"), ModelErrorKind::Billing, "credits");
        check(408, &told(408, "timed out"), ModelErrorKind::Timeout, "timed");
        check(502, &told(502, "model down"), ModelErrorKind::Overloaded, "down");
        check(503, &told(503, "no provider"), ModelErrorKind::Overloaded, "no provider");
        let moderated = r#"{"error":{"code":403,"message":"Input was declined","metadata":{"reasons":["violence"],"flagged_input":"x"}}}"#;
        check(403, moderated, ModelErrorKind::Refused, "declined");
        let wrapped = r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"maximum context length is 8192","provider_name":"P"}}}"#;
        check(400, wrapped, ModelErrorKind::ContextOverflow, "8192");
    }

    #[test]
    fn local_servers_and_proxies() {
        let llama = r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#;
        check(400, llama, ModelErrorKind::ContextOverflow, "context size");
        check(502, "<html>Bad Gateway</html>", ModelErrorKind::Overloaded, "Bad Gateway");
        let grammar = r#"{"error":{"code":500,"message":"Failed to parse grammar","type":"server_error"}}"#;
        check(500, grammar, ModelErrorKind::BadRequest, "grammar");
        let flag =
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#;
        check(500, flag, ModelErrorKind::BadRequest, "--jinja");
        check(500, r#"{"error":{"message":"out of memory"}}"#, ModelErrorKind::Overloaded, "memory");
        check(422, r#"{"detail":"field required"}"#, ModelErrorKind::BadRequest, "field required");
    }

    #[test]
    fn a_code_inside_a_stream_may_be_a_number_or_a_text() {
        for code in
            [serde_json::json!(429), serde_json::json!("429"), serde_json::json!("rate_limit_exceeded")]
        {
            let event = serde_json::json!({"error": {"code": code, "message": "slow down"}});
            assert_eq!(from_event(&event).kind, ModelErrorKind::RateLimit, "{code}");
        }
        let odd = serde_json::json!({"error": {"code": "whatever", "message": "oops"}});
        assert_eq!(from_event(&odd).kind, ModelErrorKind::Overloaded);
    }
}
