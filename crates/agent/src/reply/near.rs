//! Names and arguments that are not quite those of a tool, and what they stand for.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use holon_model::ToolSpec;
use holon_model::fallback::parse_lenient;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The arguments of a call.
pub(super) type FittedArguments = Map<String, Value>;

static NAMES: LazyLock<ToolAliasIndex> = LazyLock::new(|| {
    toml::from_str::<ToolAliasTable>(include_str!("../../../../rules/tool_names.toml"))
        .unwrap_or_default()
        .into()
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolAliasTable {
    tool: Vec<ToolSpelling>,
    several: Vec<MultiToolSpelling>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolSpelling {
    name: String,
    also: Vec<String>,
    arguments: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MultiToolSpelling {
    names: Vec<String>,
    argument: String,
    tools: BTreeMap<String, String>,
}

/// The table, by plain spelling.
#[derive(Debug)]
struct ToolAliasIndex {
    tools: HashMap<String, String>,
    arguments: HashMap<String, BTreeMap<String, Vec<String>>>,
    several: Vec<MultiToolSpelling>,
}

impl From<ToolAliasTable> for ToolAliasIndex {
    fn from(table: ToolAliasTable) -> Self {
        let mut tools = HashMap::new();
        let mut arguments = HashMap::new();
        for ToolSpelling { name, also, arguments: its } in table.tool {
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
pub(super) fn is_known(name: &str, offered: &[ToolSpec]) -> bool {
    let name = name.trim();
    let several =
        || NAMES.several.iter().any(|several| several.names.iter().any(|own| plain(own) == plain(name)));
    offered.iter().any(|tool| tool.name == name) || meant(name, offered).is_some() || several()
}

/// Whether a name stands for this tool.
pub(super) fn is_named(name: &str, tool: &str, offered: &[ToolSpec]) -> bool {
    meant(name, offered).is_some_and(|meant| meant.name == tool)
}

/// The tool that a name stands for.
fn meant<'a>(name: &str, offered: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    let exact = offered.iter().find(|tool| tool.name == name.trim());
    let spelled = || offered.iter().find(|tool| plain(&tool.name) == plain(name));
    let listed = || {
        let listed = NAMES.tools.get(&plain(name))?;
        offered.iter().find(|tool| tool.name == *listed)
    };
    exact.or_else(spelled).or_else(listed)
}

/// Calls as their tools want them, if it can be told which are meant and nothing that they need is missing.
pub(super) fn calls(
    name: &str,
    arguments: &Value,
    offered: &[ToolSpec],
) -> Option<Vec<(String, FittedArguments)>> {
    // Marks of the template behind the name.
    let name = name.split(['<', '{', '(']).next().unwrap_or_default().trim();
    let objects = objects(name, arguments, offered)?;
    let calls: Option<Vec<Vec<(String, FittedArguments)>>> =
        objects.into_iter().map(|arguments| with_object(name, arguments, offered)).collect();
    Some(calls?.concat())
}

fn with_object(
    name: &str,
    mut arguments: FittedArguments,
    offered: &[ToolSpec],
) -> Option<Vec<(String, FittedArguments)>> {
    if !is_known(name, offered) {
        // The whole call among the arguments of one that is none.
        let inner =
            ["tool", "name", "function"].iter().find_map(|key| arguments.get(*key)?.as_str())?.to_owned();
        let rest = ["arguments", "parameters", "args"].iter().find_map(|key| arguments.get(*key))?.clone();
        return is_known(&inner, offered).then(|| calls(&inner, &rest, offered))?;
    }
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
    if tool.name == "edit_file"
        && let Some(calls) = edits(tool, &arguments, offered)
    {
        return Some(calls);
    }
    let split = arguments.get("path").or_else(|| arguments.get("paths")).and_then(Value::as_array).cloned();
    if let Some(paths) = split.filter(|_| tool.name == "read_file") {
        arguments.remove("paths");
        let one = |path: Value| {
            let mut arguments = arguments.clone();
            arguments.insert("path".to_owned(), path);
            (tool.name.clone(), fitted(tool, arguments))
        };
        return Some(paths.into_iter().map(one).collect());
    }
    let arguments = fitted(tool, arguments);
    is_whole(tool, &arguments).then(|| vec![(tool.name.clone(), arguments)])
}

/// Several edits of one file in one call, or a patch of it.
fn edits(
    tool: &ToolSpec,
    arguments: &FittedArguments,
    offered: &[ToolSpec],
) -> Option<Vec<(String, FittedArguments)>> {
    let list = ["edits", "changes", "replacements"].iter().find_map(|key| arguments.get(*key)?.as_array());
    if let Some(list) = list {
        let one = |edit: &Value| {
            let mut whole = arguments.clone();
            whole.retain(|_, value| !value.is_array());
            whole.extend(edit.as_object()?.clone());
            let whole = fitted(tool, whole);
            is_whole(tool, &whole).then(|| (tool.name.clone(), whole))
        };
        return list.iter().map(one).collect();
    }
    let patch = ["diff", "patch"].iter().find_map(|key| arguments.get(*key)?.as_str())?;
    let path = fitted(tool, arguments.clone()).get("path").and_then(Value::as_str).map(str::to_owned);
    let calls = super::edits::in_argument(patch, path.as_deref(), offered)?;
    let object = |call: super::UnfittedCall| Some((call.name, call.arguments.as_object()?.clone()));
    calls.into_iter().map(object).collect()
}

/// Arguments as objects, however they came; more than one where a server joined several calls.
fn objects(name: &str, arguments: &Value, offered: &[ToolSpec]) -> Option<Vec<FittedArguments>> {
    let only = |value: Value| {
        let tool = meant(name, offered)?;
        let [only] = required(tool).try_into().ok()?;
        Some(vec![FittedArguments::from_iter([(only, value)])])
    };
    match arguments {
        Value::Object(object) => {
            let wrapped =
                WRAPPERS.iter().find_map(|key| Some(object.get(*key)?).filter(|_| object.len() == 1));
            let known = meant(name, offered).and_then(properties);
            match wrapped.filter(|_| !known.is_some_and(|own| object.keys().any(|key| own.contains_key(key))))
            {
                Some(inner) => objects(name, inner, offered),
                None => Some(vec![object.clone()]),
            }
        }
        Value::Null => Some(vec![FittedArguments::new()]),
        Value::String(text) => {
            let text = bare(text);
            if text.is_empty() {
                return Some(vec![FittedArguments::new()]);
            }
            if !text.starts_with(['{', '[', '"']) {
                return only(Value::String(text.to_owned()));
            }
            let mut all = Vec::new();
            let mut rest = text;
            while !rest.is_empty() {
                // Only braces may be missing at the end: what is in quotes is whole then.
                let closed = || parse_lenient(&format!("{rest}}}")).map(|(value, _)| (value, rest.len()));
                let ends = rest.ends_with(['"', '}', ']']);
                let (value, end) = parse_lenient(rest).or_else(|| if ends { closed() } else { None })?;
                all.extend(objects(name, &value, offered)?);
                rest = bare(&rest[end..]);
            }
            Some(all)
        }
        Value::Array(list) => match list.as_slice() {
            [single @ Value::Object(_)] => objects(name, single, offered),
            pairs
                if !pairs.is_empty()
                    && pairs.iter().all(|pair| pair.get("name").is_some() && pair.get("value").is_some()) =>
            {
                let pair =
                    |pair: &Value| Some((pair.get("name")?.as_str()?.to_owned(), pair.get("value")?.clone()));
                Some(vec![pairs.iter().map(pair).collect::<Option<FittedArguments>>()?])
            }
            _ => {
                let tool = meant(name, offered)?;
                let names = required(tool);
                (names.len() == list.len() && list.iter().all(Value::is_string))
                    .then(|| vec![names.into_iter().zip(list.iter().cloned()).collect()])
            }
        },
        _ => None,
    }
}

/// Keys under which all arguments stand once more.
const WRAPPERS: [&str; 8] =
    ["properties", "arguments", "parameters", "args", "input", "kwargs", "action_input", "tool_input"];

/// A text without a fence or marks of a template around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text);
    let text = text.strip_suffix("```").unwrap_or(text).trim();
    match text.rfind("<|").filter(|_| text.ends_with("|>")) {
        Some(at) => text[..at].trim(),
        None => text,
    }
}

fn required(tool: &ToolSpec) -> Vec<String> {
    let names = tool.schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn properties(tool: &ToolSpec) -> Option<&Map<String, Value>> {
    tool.schema.get("properties").and_then(Value::as_object)
}

/// Arguments that say nothing when they are empty.
const MUST_SAY: [&str; 4] = ["path", "command", "pattern", "task"];

/// Whether everything is there that the tool needs, in its kind.
pub(super) fn is_whole(tool: &ToolSpec, arguments: &FittedArguments) -> bool {
    let fits = |name: &String| {
        let kind = properties(tool).and_then(|all| all.get(name)).and_then(|one| one.get("type"));
        match (arguments.get(name), kind.and_then(Value::as_str)) {
            (None | Some(Value::Null), _) => false,
            (Some(Value::String(text)), _) if MUST_SAY.contains(&name.as_str()) => !text.trim().is_empty(),
            (Some(value), Some("string")) => value.is_string(),
            (Some(value), Some("array")) => value.is_array(),
            _ => true,
        }
    };
    required(tool).iter().all(fits)
}

/// Arguments under the names and in the kinds of the tool's own. What it does not know stays: the gate may.
fn fitted(tool: &ToolSpec, mut arguments: FittedArguments) -> FittedArguments {
    let Some(known) = properties(tool) else { return arguments };
    let table = NAMES.arguments.get(&tool.name);
    if let Some(inner) = WRAPPERS.iter().find_map(|key| arguments.get(*key)?.as_object()).cloned()
        && arguments.get("name").and_then(Value::as_str) == Some(tool.name.as_str())
    {
        arguments = inner;
    }
    for own in known.keys() {
        if arguments.contains_key(own) {
            continue;
        }
        let same = arguments.keys().find(|key| plain(key) == plain(own) && !known.contains_key(*key));
        let others = table.and_then(|table| table.get(own)).into_iter().flatten();
        let listed = || {
            others
                .filter_map(|other| {
                    arguments.keys().find(|key| plain(key) == plain(other) && !known.contains_key(*key))
                })
                .next()
        };
        let found = same.or_else(listed).cloned();
        if let Some(value) = found.and_then(|key| arguments.remove(&key)) {
            arguments.insert(own.clone(), value);
        }
    }
    if tool.name == "read_file" {
        let end = ["end_line", "end", "line_end", "to"].iter().find_map(|key| arguments.get(*key)?.as_u64());
        if let (Some(end), Some(first)) = (end, arguments.get("offset").and_then(Value::as_u64))
            && end >= first
        {
            arguments.entry("limit").or_insert(json!(end - first + 1));
        }
    }
    if let (Some(Value::String(question)), Some(Value::Array(options))) =
        (arguments.get("questions").cloned(), arguments.get("options").cloned())
    {
        arguments.remove("options");
        arguments.insert("questions".to_owned(), json!([{ "question": question, "options": options }]));
    }
    for (name, schema) in known {
        if let (Some(value), Some(kind)) =
            (arguments.get_mut(name), schema.get("type").and_then(Value::as_str))
        {
            fit(value, kind, name);
        }
    }
    if let Some(Value::String(path)) = arguments.get_mut("path") {
        *path = path.trim().trim_matches(['`', '"', '\'']).trim().to_owned();
    }
    unfenced(&mut arguments);
    arguments
}

/// A file's content without the fence that is around all of it.
fn unfenced(arguments: &mut FittedArguments) {
    let is_markdown = arguments.get("path").and_then(Value::as_str).is_some_and(|path| path.ends_with(".md"));
    let Some(Value::String(content)) = arguments.get_mut("content").filter(|_| !is_markdown) else { return };
    let trimmed = content.trim();
    if let Some(inside) = trimmed.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"))
        && let Some((label, body)) = inside.split_once('\n')
        && label.chars().all(char::is_alphanumeric)
        && !body.contains("```")
    {
        *content = body.to_owned();
    }
}

/// One value in the kind that its property has.
fn fit(value: &mut Value, kind: &str, name: &str) {
    let new = match (kind, &*value) {
        ("string", Value::Array(lines)) if lines.iter().all(Value::is_string) => {
            let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
            Value::String(if name == "command" { command(&lines) } else { lines.join("\n") })
        }
        ("string", Value::Object(object)) if object.contains_key("value") => object["value"].clone(),
        ("string", Value::Object(_) | Value::Array(_)) if name == "content" => {
            match serde_json::to_string_pretty(value) {
                Ok(text) => Value::String(format!("{text}\n")),
                Err(_) => return,
            }
        }
        ("string", Value::String(text)) if name == "status" => match text.to_ascii_lowercase().as_str() {
            "success" | "successful" | "complete" | "completed" | "ok" | "finished" => json!("done"),
            "failure" | "error" | "unsuccessful" => json!("failed"),
            _ => return,
        },
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("integer", Value::String(text)) => {
            let text = text.trim();
            let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let number = text[..text.len() - unit.len()].parse::<i64>();
            match (number, unit.trim()) {
                (Ok(number), "" | "s" | "sec" | "seconds") => json!(number),
                (Ok(number), "m" | "min" | "minutes") => json!(number * 60),
                _ => return,
            }
        }
        ("integer", Value::Number(number)) => match number.as_f64() {
            Some(float) if !number.is_i64() && float.fract() == 0.0 => json!(float as i64),
            _ => return,
        },
        ("boolean", Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" => Value::Bool(true),
            "false" | "no" | "" => Value::Bool(false),
            _ => return,
        },
        ("array", Value::String(text)) => match parse_lenient(text.trim()) {
            Some((mut list @ Value::Array(_), _)) => {
                fit(&mut list, kind, name);
                list
            }
            _ if name == "questions" => json!([{ "question": text }]),
            _ => return,
        },
        ("array", Value::Array(list)) if name == "questions" || name == "todos" => {
            let wrap = |one: &Value| match (one, name) {
                (Value::String(text), "questions") => json!({ "question": text }),
                (Value::String(text), _) => json!({ "text": text, "status": "pending" }),
                (other, _) => other.clone(),
            };
            let one = |one: Value| if name == "todos" { todo(one) } else { question(one) };
            Value::Array(list.iter().map(wrap).map(one).collect())
        }
        _ => return,
    };
    *value = new;
}

/// A command given as a list: its words, or several commands.
fn command(words: &[&str]) -> String {
    match words {
        [shell, flag, line]
            if ["bash", "sh", "zsh"].contains(shell) && flag.starts_with('-') && flag.contains('c') =>
        {
            (*line).to_owned()
        }
        [first, ..] if first.contains(' ') => words.join(" && "),
        _ => {
            let quoted = |word: &&str| match word.contains([' ', '"', '$', '*', ';', '|', '&']) {
                true => format!("'{}'", word.replace('\'', r"'\''")),
                false => (*word).to_owned(),
            };
            words.iter().map(quoted).collect::<Vec<_>>().join(" ")
        }
    }
}

/// One question, its options as texts.
fn question(entry: Value) -> Value {
    let Value::Object(mut entry) = entry else { return entry };
    if let Some(Value::Array(options)) = entry.get_mut("options") {
        for option in options {
            let label = ["label", "text", "value", "title"].iter().find_map(|key| option.get(*key)?.as_str());
            if let Some(label) = label.map(str::to_owned) {
                *option = Value::String(label);
            }
        }
    }
    Value::Object(entry)
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
