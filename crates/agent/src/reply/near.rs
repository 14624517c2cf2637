//! Names and arguments that are not quite those of a tool, and what they stand for.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use holon_model::Tool as Described;
use holon_model::fallback::parse_lenient;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The arguments of a call.
pub(super) type Arguments = Map<String, Value>;

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    toml::from_str::<Table>(include_str!("../../../../rules/tool_names.toml")).unwrap_or_default().into()
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    tool: Vec<Spelled>,
    several: Vec<Several>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spelled {
    name: String,
    also: Vec<String>,
    arguments: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    names: Vec<String>,
    argument: String,
    tools: BTreeMap<String, String>,
}

/// The table, by plain spelling.
#[derive(Debug)]
struct Names {
    tools: HashMap<String, String>,
    arguments: HashMap<String, BTreeMap<String, Vec<String>>>,
    several: Vec<Several>,
}

impl From<Table> for Names {
    fn from(table: Table) -> Self {
        let mut tools = HashMap::new();
        let mut arguments = HashMap::new();
        for Spelled { name, also, arguments: its } in table.tool {
            tools.extend(also.iter().chain([&name]).map(|word| (plain(word), name.clone())));
            arguments.insert(name, its);
        }
        Self { tools, arguments, several: table.several }
    }
}

/// A name without what models vary: case, `_`, `-`, spaces and what stands before the last point.
fn plain(name: &str) -> String {
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let last = last.strip_prefix("mcp__").map_or(last, |rest| rest.rsplit("__").next().unwrap_or(rest));
    last.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether some tool that is offered may be meant by a name.
pub(super) fn is_known(name: &str, offered: &[Described]) -> bool {
    let name = name.trim();
    let several =
        || NAMES.several.iter().any(|several| several.names.iter().any(|own| plain(own) == plain(name)));
    offered.iter().any(|tool| tool.name == name) || meant(name, offered).is_some() || several()
}

/// The tool that a name stands for.
fn meant<'a>(name: &str, offered: &'a [Described]) -> Option<&'a Described> {
    let exact = offered.iter().find(|tool| tool.name == name.trim());
    let spelled = || offered.iter().find(|tool| plain(&tool.name) == plain(name));
    let listed = || {
        let listed = NAMES.tools.get(&plain(name))?;
        offered.iter().find(|tool| tool.name == *listed)
    };
    exact.or_else(spelled).or_else(listed)
}

/// A call as its tool wants it, if it can be told which one is meant and nothing that it needs is missing.
pub(super) fn call(name: &str, arguments: &Value, offered: &[Described]) -> Option<(String, Arguments)> {
    let mut arguments = object(name, arguments, offered)?;
    let several =
        NAMES.several.iter().find(|several| several.names.iter().any(|own| plain(own) == plain(name)));
    let tool = match several {
        Some(several) => {
            let which = arguments.remove(&several.argument)?;
            let listed = several.tools.get(which.as_str()?)?;
            offered.iter().find(|tool| tool.name == *listed)?
        }
        None => meant(name, offered)?,
    };
    let arguments = fitted(tool, arguments);
    is_whole(tool, &arguments).then(|| (tool.name.clone(), arguments))
}

/// Arguments as an object, however they came.
fn object(name: &str, arguments: &Value, offered: &[Described]) -> Option<Arguments> {
    let only = |value: Value| {
        let tool = meant(name, offered)?;
        let [only] = required(tool).try_into().ok()?;
        Some(Arguments::from_iter([(only, value)]))
    };
    match arguments {
        Value::Object(object) => Some(object.clone()),
        Value::Null => Some(Arguments::new()),
        Value::String(text) if text.trim().is_empty() => Some(Arguments::new()),
        Value::String(text) => match parse_lenient(text.trim()) {
            Some((value @ Value::Object(_), end)) if end == text.trim().len() => {
                object(name, &value, offered)
            }
            Some((Value::String(inner), end)) if end == text.trim().len() => match parse_lenient(&inner) {
                Some((value @ Value::Object(_), _)) => object(name, &value, offered),
                _ => only(Value::String(inner)),
            },
            // Half an object is nothing; a plain text is the one thing the tool needs.
            _ if text.trim_start().starts_with(['{', '[']) => None,
            _ => only(Value::String(text.clone())),
        },
        Value::Array(list) => match list.as_slice() {
            [single @ Value::Object(_)] => object(name, single, offered),
            _ => {
                let tool = meant(name, offered)?;
                let names = required(tool);
                (names.len() == list.len()).then(|| names.into_iter().zip(list.iter().cloned()).collect())
            }
        },
        _ => None,
    }
}

fn required(tool: &Described) -> Vec<String> {
    let names = tool.schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn properties(tool: &Described) -> Option<&Map<String, Value>> {
    tool.schema.get("properties").and_then(Value::as_object)
}

/// Whether everything is there that the tool needs, in its kind.
pub(super) fn is_whole(tool: &Described, arguments: &Arguments) -> bool {
    let fits = |name: &String| {
        let kind = properties(tool).and_then(|all| all.get(name)).and_then(|one| one.get("type"));
        match (arguments.get(name), kind.and_then(Value::as_str)) {
            (None | Some(Value::Null), _) => false,
            (Some(value), Some("string")) => value.is_string(),
            (Some(value), Some("array")) => value.is_array(),
            _ => true,
        }
    };
    required(tool).iter().all(fits)
}

/// Arguments under the names and in the kinds of the tool's own.
fn fitted(tool: &Described, mut arguments: Arguments) -> Arguments {
    let Some(known) = properties(tool) else { return arguments };
    for wrapper in ["properties", "arguments", "parameters", "args", "input", "kwargs"] {
        let inner = arguments.get(wrapper).filter(|_| !known.contains_key(wrapper) && arguments.len() == 1);
        if let Some(inner) = inner.and_then(Value::as_object) {
            arguments = inner.clone();
        }
    }
    let mut names: Vec<(String, String)> = Vec::new();
    let table = NAMES.arguments.get(&tool.name);
    for key in arguments.keys().filter(|key| !known.contains_key(*key)) {
        let same = known.keys().find(|own| plain(own) == plain(key));
        let listed = || {
            let mut all = table?.iter();
            all.find(|(_, others)| others.iter().any(|other| plain(other) == plain(key))).map(|(own, _)| own)
        };
        if let Some(own) = same.or_else(listed).filter(|own| !arguments.contains_key(*own)) {
            names.push((key.clone(), own.clone()));
        }
    }
    for (from, to) in names {
        if let Some(value) = arguments.remove(&from) {
            arguments.entry(to).or_insert(value);
        }
    }
    for (name, schema) in known {
        if let (Some(value), Some(kind)) =
            (arguments.get_mut(name), schema.get("type").and_then(Value::as_str))
        {
            fit(value, kind, name);
        }
    }
    arguments
}

/// One value in the kind that its property has.
fn fit(value: &mut Value, kind: &str, name: &str) {
    let new = match (kind, &*value) {
        ("string", Value::Array(lines)) if lines.iter().all(Value::is_string) => {
            let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
            let joint = if name == "command" { " && " } else { "\n" };
            Value::String(lines.join(joint))
        }
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("integer", Value::String(text)) => match text.trim().parse::<i64>() {
            Ok(number) => json!(number),
            Err(_) => return,
        },
        ("integer", Value::Number(number)) => match number.as_f64() {
            Some(float) if !number.is_i64() && float.fract() == 0.0 => json!(float as i64),
            _ => return,
        },
        ("boolean", Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" => Value::Bool(true),
            "false" | "no" | "" => Value::Bool(false),
            _ => return,
        },
        ("array", Value::String(text)) if name == "questions" => json!([{ "question": text }]),
        ("array", Value::String(text)) => match parse_lenient(text.trim()) {
            Some((list @ Value::Array(_), _)) => list,
            _ => return,
        },
        ("array", Value::Array(list)) if name == "questions" || name == "todos" => {
            let wrap = |one: &Value| match (one, name) {
                (Value::String(text), "questions") => json!({ "question": text }),
                (Value::String(text), _) => json!({ "text": text, "status": "pending" }),
                (other, _) => other.clone(),
            };
            Value::Array(
                list.iter().map(wrap).map(|one| if name == "todos" { todo(one) } else { one }).collect(),
            )
        }
        _ => return,
    };
    *value = new;
}

/// One entry of a to-do list, under its own names.
fn todo(entry: Value) -> Value {
    let Value::Object(mut entry) = entry else { return entry };
    for other in ["content", "task", "title", "step", "description", "todo"] {
        if !entry.contains_key("text")
            && let Some(text) = entry.remove(other)
        {
            entry.insert("text".to_owned(), text);
        }
    }
    let status = match entry.get("status").and_then(Value::as_str) {
        Some("in_progress" | "in-progress" | "active" | "doing") => "doing",
        Some("completed" | "complete" | "done" | "finished") => "done",
        _ => "pending",
    };
    entry.insert("status".to_owned(), json!(status));
    entry.retain(|key, _| key == "text" || key == "status");
    Value::Object(entry)
}
