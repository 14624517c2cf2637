//! Reads cassettes.

use holon_core::HumanDuration;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Cassette, CassetteCall, CassetteStep, CassetteTurn, RecordedRequest, TurnExpectation};
use crate::error::{ModelError, ModelErrorKind};
use crate::message::{Reasoning, Seal};
use crate::reply::ReplyStop;
use crate::usage::TokenUsage;

/// The largest cassette that is read.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Why a text is not a cassette.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    /// It is not YAML of the right form.
    #[error("the cassette cannot be read: {0}")]
    Form(String),
    /// A turn makes no sense.
    #[error("turn {turn} of the cassette: {problem}")]
    Turn {
        /// Its number, from 1.
        turn: usize,
        /// What is wrong, and how to write it.
        problem: String,
    },
}

impl std::str::FromStr for Cassette {
    type Err = CassetteError;

    fn from_str(text: &str) -> Result<Self, CassetteError> {
        if text.len() > MAX_BYTES {
            return Err(CassetteError::Form(format!("it is larger than {MAX_BYTES} bytes")));
        }
        let is_content =
            |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#') && *line != "---";
        if text.lines().find(is_content).is_none() {
            return Ok(Self::default());
        }
        let turns: Vec<RawTurn> = serde_saphyr::from_str_with_options(text, options())
            .map_err(|error| CassetteError::Form(error.to_string()))?;
        let turns = turns.into_iter().enumerate().map(|(index, turn)| {
            turn.understand().map_err(|problem| CassetteError::Turn { turn: index + 1, problem })
        });
        Ok(Self { turns: turns.collect::<Result<_, _>>()? })
    }
}

fn options() -> serde_saphyr::Options {
    let mut budget = serde_saphyr::Budget::default();
    // A recording is large and plain; aliases have no place in one.
    budget.max_events = 4_000_000;
    budget.max_nodes = 2_000_000;
    budget.max_total_scalar_bytes = MAX_BYTES;
    budget.max_aliases = 100;
    budget.max_anchors = 100;
    budget.max_depth = 64;
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    // Only `true` and `false` are booleans: an argument `y` or `no` is a text.
    options.strict_booleans = true;
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::Error;
    options
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    #[serde(default)]
    expect: RawExpect,
    request: Option<RawRecordedRequest>,
    reply: Option<Vec<RawStep>>,
    stop: Option<ReplyStop>,
    usage: Option<TokenUsage>,
    id: Option<String>,
    model: Option<String>,
    window: Option<u64>,
    // The short form: one of each.
    delay: Option<HumanDuration>,
    reasoning: Option<String>,
    text: Option<String>,
    tool: Option<Value>,
    args: Option<Map<String, Value>>,
    tools: Option<Vec<Value>>,
    error: Option<RawError>,
    #[serde(default)]
    cut: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    delay: Option<HumanDuration>,
    reasoning: Option<String>,
    seal: Option<Seal>,
    text: Option<String>,
    tool: Option<Value>,
    id: Option<String>,
    args: Option<Map<String, Value>>,
    raw: Option<String>,
    #[serde(default)]
    custom: bool,
    error: Option<RawError>,
    #[serde(default)]
    cut: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRecordedRequest {
    digest: String,
    #[serde(default)]
    keeps: usize,
    #[serde(default)]
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawExpect {
    contains: OneOrMany,
    last: OneOrMany,
    lacks: OneOrMany,
    tools: Option<Vec<String>>,
    model: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl From<OneOrMany> for Vec<String> {
    fn from(texts: OneOrMany) -> Self {
        match texts {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawError {
    Kind(ModelErrorKind),
    Told(RawErrorDetail),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawErrorDetail {
    kind: ModelErrorKind,
    #[serde(default)]
    message: String,
    status: Option<u16>,
    retry_after: Option<HumanDuration>,
    request_id: Option<String>,
}

impl RawTurn {
    fn understand(self) -> Result<CassetteTurn, String> {
        let asked = self.request.map(|r| RecordedRequest { digest: r.digest, keeps: r.keeps, text: r.text });
        let expect = TurnExpectation {
            contains: self.expect.contains.into(),
            last: self.expect.last.into(),
            lacks: self.expect.lacks.into(),
            tools: self.expect.tools,
            model: self.expect.model,
        };
        let mut steps = Vec::new();
        steps.extend(self.delay.map(|span| CassetteStep::Delay(span.get())));
        steps.extend(self.reasoning.map(|text| CassetteStep::Reasoning(Reasoning { text, seal: None })));
        steps.extend(self.text.map(CassetteStep::Text));
        match (self.tool, self.args) {
            (Some(tool), args) => steps.push(CassetteStep::Call(call(tool, args)?)),
            (None, Some(_)) => return Err("`args` without `tool`".to_owned()),
            (None, None) => {}
        }
        for tool in self.tools.into_iter().flatten() {
            steps.push(CassetteStep::Call(call(tool, None)?));
        }
        steps.extend(self.error.map(|error| CassetteStep::Error(error.understand())));
        steps.extend(self.cut.then_some(CassetteStep::Cut));
        if let Some(reply) = self.reply {
            if !steps.is_empty() {
                return Err("write either `reply` or the short keys, not both".to_owned());
            }
            for step in reply {
                steps.extend(step.understand()?);
            }
        }
        let end = steps.iter().position(|step| matches!(step, CassetteStep::Error(_) | CassetteStep::Cut));
        if end.is_some_and(|end| end + 1 < steps.len()) {
            return Err("nothing can follow `error` or `cut`".to_owned());
        }
        let Self { stop, usage, id, model, window, .. } = self;
        Ok(CassetteTurn { expect, asked, steps, stop, usage, id, model, window })
    }
}

impl RawStep {
    fn understand(self) -> Result<Option<CassetteStep>, String> {
        let mut found = Vec::new();
        found.extend(self.delay.map(|span| CassetteStep::Delay(span.get())));
        if self.reasoning.is_some() || self.seal.is_some() {
            let text = self.reasoning.unwrap_or_default();
            found.push(CassetteStep::Reasoning(Reasoning { text, seal: self.seal }));
        }
        found.extend(self.text.map(CassetteStep::Text));
        if let Some(tool) = self.tool {
            let mut call = call(tool, self.args)?;
            call.id = self.id;
            call.custom = self.custom;
            call.arguments = self.raw.unwrap_or(call.arguments);
            found.push(CassetteStep::Call(call));
        }
        found.extend(self.error.map(|error| CassetteStep::Error(error.understand())));
        found.extend(self.cut.then_some(CassetteStep::Cut));
        if found.len() > 1 {
            return Err(
                "each entry of `reply` is one thing: text, reasoning, tool, delay, error or cut".to_owned()
            );
        }
        Ok(found.pop())
    }
}

impl RawError {
    fn understand(self) -> ModelError {
        match self {
            Self::Kind(kind) => ModelError::new(kind, "as the cassette says"),
            Self::Told(told) => ModelError {
                kind: told.kind,
                message: told.message,
                status: told.status,
                retry_after: told.retry_after.map(HumanDuration::get),
                request_id: told.request_id,
            },
        }
    }
}

/// `read_file` with arguments beside it, or `{read_file: {path: a}}`.
fn call(tool: Value, args: Option<Map<String, Value>>) -> Result<CassetteCall, String> {
    let (name, args) = match (tool, args) {
        (Value::String(name), args) => (name, args.unwrap_or_default()),
        (Value::Object(object), None) if object.len() == 1 => match object.into_iter().next() {
            Some((name, Value::Object(args))) => (name, args),
            Some((name, Value::Null)) => (name, Map::new()),
            _ => return Err("the arguments of a tool are a mapping".to_owned()),
        },
        _ => return Err("write `tool: NAME` with `args: {…}`, or `tool: {NAME: {…}}`".to_owned()),
    };
    Ok(CassetteCall { name, arguments: Value::Object(args).to_string(), ..CassetteCall::default() })
}
