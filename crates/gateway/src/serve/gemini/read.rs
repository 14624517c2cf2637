//! The body of a `generateContent` request.

use std::collections::{HashMap, HashSet, VecDeque};

use holon_model::{
    Effort, MessagePart, ModelMessage, ModelRequest, Reasoning, ReplyFormat, Role, ToolCall, ToolChoice,
    ToolResult, ToolSpec,
};
use serde_json::{Value, json};

use super::schema::plain;
use crate::serve::ClientRequest;
use crate::serve::carrier;
use crate::serve::fields::{
    add_system, effort, flag, join, limit, list, owned, pieces, schema, temperature, text,
};

pub(crate) fn read(body: &Value) -> Result<ClientRequest, String> {
    if body.get("cachedContent").is_some_and(|kept| !kept.is_null()) {
        let why = "`cachedContent` is not served here: nothing is kept, send the whole conversation";
        return Err(why.to_owned());
    }
    if list(body, "contents").is_empty() {
        return Err("`contents` must be a list with at least one content".to_owned());
    }
    let mut request = ModelRequest { model: owned(body, "model"), ..ModelRequest::default() };
    let system = body.get("systemInstruction").or_else(|| body.get("system_instruction"));
    for words in system.map(words_of).unwrap_or_default() {
        add_system(&mut request.system, &words);
    }
    let mut calls = GeminiCallIds::default();
    for content in list(body, "contents") {
        take(content, &mut calls, &mut request);
    }
    request.tools = list(body, "tools")
        .iter()
        .flat_map(|group| list(group, "functionDeclarations"))
        .filter_map(tool)
        .collect();
    request.choice = choice(body);
    if let Some(config) = body.get("generationConfig") {
        request.max_output = limit(config, &["maxOutputTokens"]);
        request.temperature = temperature(config);
        request.effort = thinking(config);
        request.format = format(config);
    }
    Ok(ClientRequest { request, ..ClientRequest::default() })
}

/// The words of a content that is a text or has parts.
fn words_of(content: &Value) -> Vec<String> {
    if content.is_string() { pieces(Some(content)) } else { pieces(content.get("parts")) }
}

fn take(content: &Value, calls: &mut GeminiCallIds, request: &mut ModelRequest) {
    let role = match text(content, "role") {
        Some("model") => Role::Assistant,
        Some("system") => {
            return words_of(content).iter().for_each(|words| add_system(&mut request.system, words));
        }
        _ => Role::User,
    };
    let mut message = ModelMessage { role, parts: Vec::new() };
    list(content, "parts").iter().for_each(|given| part(given, calls, &mut message));
    join(&mut request.messages, role, message.parts);
}

fn part(given: &Value, calls: &mut GeminiCallIds, message: &mut ModelMessage) {
    let object = |key: &str| given.get(key).filter(|value| value.is_object());
    if let Some(call) = object("functionCall") {
        carried(given, message);
        message.parts.push(MessagePart::Call(calls.made(call)));
    } else if let Some(answer) = object("functionResponse") {
        message.parts.push(MessagePart::Result(calls.answered(answer)));
    } else if let Some(words) = text(given, "text") {
        let words = words.to_owned();
        message.parts.push(if flag(given, "thought") {
            MessagePart::Reasoning(Reasoning { text: words, seal: None })
        } else {
            MessagePart::Text(words)
        });
    } else if let Some(note) = note(given) {
        message.parts.push(MessagePart::Text(note));
    }
}

/// Thoughts that travelled with a call. Clients drop thoughts, but keep what is written on calls.
fn carried(given: &Value, message: &mut ModelMessage) {
    let thoughts = text(given, "thoughtSignature").map(carrier::unpack_all).unwrap_or_default();
    if message.calls().next().is_none() {
        thoughts.into_iter().rev().for_each(|thought| carrier::attach(message, thought));
    } else {
        message.parts.extend(thoughts.into_iter().map(MessagePart::Reasoning));
    }
}

/// What is said instead of data that cannot be carried over.
fn note(given: &Value) -> Option<String> {
    let data = given.get("inlineData").or_else(|| given.get("fileData"))?;
    let kind = text(data, "mimeType").unwrap_or("file");
    Some(format!("[{kind}: left out, the model cannot be shown it]"))
}

/// The calls of a conversation. Their ids may be missing; then a result belongs to the first call of its name that has none.
#[derive(Default)]
struct GeminiCallIds {
    count: usize,
    open: HashMap<String, VecDeque<String>>,
    answered: HashSet<String>,
}

impl GeminiCallIds {
    fn made(&mut self, call: &Value) -> ToolCall {
        self.count += 1;
        let name = owned(call, "name");
        let id = text(call, "id").map_or_else(|| format!("call_{}", self.count), str::to_owned);
        self.open.entry(name.clone()).or_default().push_back(id.clone());
        let arguments = call.get("args").filter(|args| args.is_object()).cloned().unwrap_or(json!({}));
        ToolCall::new(id, name, arguments.to_string())
    }

    fn answered(&mut self, answer: &Value) -> ToolResult {
        let call_id = text(answer, "id").map(str::to_owned).or_else(|| self.first_open(answer));
        let call_id = call_id.unwrap_or_default();
        self.answered.insert(call_id.clone());
        let (mut text, is_error) = outcome(answer.get("response"));
        for note in list(answer, "parts").iter().filter_map(note) {
            text.push('\n');
            text.push_str(&note);
        }
        ToolResult { call_id, text, is_error }
    }

    fn first_open(&mut self, answer: &Value) -> Option<String> {
        let open = self.open.get_mut(text(answer, "name")?)?;
        while let Some(id) = open.pop_front() {
            if !self.answered.contains(&id) {
                return Some(id);
            }
        }
        None
    }
}

/// The text of a result, and whether it is a failure.
fn outcome(response: Option<&Value>) -> (String, bool) {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let Some(response) = response.filter(|response| !response.is_null()) else {
        return (String::new(), false);
    };
    let Some(fields) = response.as_object() else { return (plain(response), false) };
    if let Some(error) = fields.get("error").filter(|error| !error.is_null()) {
        return (plain(error), true);
    }
    let only = fields.get("output").or_else(|| fields.get("result")).filter(|_| fields.len() == 1);
    (plain(only.unwrap_or(response)), false)
}

/// Tools with a schema; those that Google runs itself cannot be carried over.
fn tool(declared: &Value) -> Option<ToolSpec> {
    let name = text(declared, "name")?;
    let schema = match declared.get("parameters").filter(|schema| schema.is_object()) {
        Some(own) => plain(own),
        None => schema(declared, "parametersJsonSchema"),
    };
    Some(ToolSpec::new(name, owned(declared, "description"), schema))
}

fn choice(body: &Value) -> ToolChoice {
    let config = body.get("toolConfig").and_then(|config| config.get("functionCallingConfig"));
    let Some(config) = config else { return ToolChoice::Auto };
    match (text(config, "mode"), list(config, "allowedFunctionNames")) {
        (Some("NONE"), _) => ToolChoice::None,
        (Some("ANY"), [Value::String(name)]) => ToolChoice::Named(name.clone()),
        (Some("ANY"), _) => ToolChoice::Required,
        _ => ToolChoice::Auto,
    }
}

fn thinking(config: &Value) -> Option<Effort> {
    let thinking = config.get("thinkingConfig")?;
    if let Some(level) = text(thinking, "thinkingLevel") {
        return effort(&level.to_ascii_lowercase());
    }
    match thinking.get("thinkingBudget")?.as_i64()? {
        ..=0 => None,
        1..5_000 => Some(Effort::Low),
        5_000..16_000 => Some(Effort::Medium),
        _ => Some(Effort::High),
    }
}

fn format(config: &Value) -> Option<ReplyFormat> {
    let json = text(config, "responseMimeType") == Some("application/json");
    let schema = ["responseJsonSchema", "_responseJsonSchema", "responseSchema"]
        .iter()
        .find_map(|key| config.get(key).filter(|schema| schema.is_object()));
    match schema {
        _ if !json => None,
        Some(schema) => Some(ReplyFormat { name: "answer".to_owned(), schema: plain(schema) }),
        None => Some(ReplyFormat { name: "object".to_owned(), schema: json!({"type": "object"}) }),
    }
}
