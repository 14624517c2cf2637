//! Finds tool calls in a model's text.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::lenient;

/// The words around a call that tell what it is for; they are data.
static WORDS: LazyLock<FallbackCallWords> = LazyLock::new(|| {
    let table: Result<FallbackReplyWords, _> = toml::from_str(include_str!("../../../../rules/replies.toml"));
    table.unwrap_or_default().calls
});

#[derive(Debug, Default, Deserialize)]
struct FallbackReplyWords {
    calls: FallbackCallWords,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FallbackCallWords {
    supposed: Vec<String>,
    wished: Vec<String>,
    withdrawn: Vec<String>,
}

fn says(text: &str, words: &[String]) -> bool {
    words.iter().any(|word| text.contains(word.as_str()))
}

/// What a text held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundToolCalls {
    /// The words around the calls.
    pub text: String,
    /// The calls, in order: name and arguments.
    pub calls: Vec<(String, Map<String, Value>)>,
}

/// Tags that models were trained to put around calls.
pub(super) const TAGS: [(&str, &str); 7] = [
    ("<tool_call>", "</tool_call>"),
    ("<function_call>", "</function_call>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<|tool_call_start|>", "<|tool_call_end|>"),
    ("<tool_use>", "</tool_use>"),
    ("<tool>", "</tool>"),
    ("<TOOLCALL>", "</TOOLCALL>"),
];

/// What may stand after the three back-ticks of a block with a call.
pub(super) const FENCES: [&str; 16] = [
    "",
    "json",
    "json5",
    "jsonc",
    "tool_call",
    "tool",
    "tool_code",
    "tool_use",
    "tools",
    "function",
    "function_call",
    "action",
    "javascript",
    "js",
    "python",
    "text",
];

/// The calls in a text: in tags, in fenced blocks, or as objects on lines of their own.
///
/// Outside tags only what `is_call` knows makes a call, so that JSON shown as an example stays text.
pub fn find_calls(text: &str, is_call: CallPredicate<'_>) -> FoundToolCalls {
    let mut found = FoundToolCalls::default();
    let mut rest = text;
    while !rest.is_empty() {
        let line_end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        match candidate(rest, is_call) {
            Some((calls, length)) if !is_supposed(&found.text) || starts_with_tag(rest) => {
                found.calls.extend(calls);
                rest = &rest[length..];
            }
            _ => {
                // Tags also count in the middle of a line.
                let tag = TAGS.iter().filter_map(|(open, _)| rest[..line_end].find(open)).min();
                let length = tag.filter(|at| *at > 0).or_else(|| other_block(rest)).unwrap_or(line_end);
                found.text.push_str(&rest[..length]);
                rest = &rest[length..];
            }
        }
    }
    found.text = found.text.trim().to_owned();
    if !found.calls.is_empty() && is_withdrawn(&found.text) {
        return FoundToolCalls { text: text.trim().to_owned(), calls: Vec::new() };
    }
    found
}

/// Whether the words around calls say that they shall not be made.
fn is_withdrawn(words: &str) -> bool {
    says(&words.to_lowercase(), &WORDS.withdrawn)
}

/// Says whether a name and arguments are a call; the last one tells whether they stood beside the name instead of under a
/// key of their own.
pub type CallPredicate<'a> = &'a dyn Fn(&str, &Map<String, Value>, bool) -> bool;

fn starts_with_tag(text: &str) -> bool {
    TAGS.iter().any(|(open, _)| text.trim_start().starts_with(open))
}

/// Whether the words before something say that it is an example, or what might be done.
fn is_supposed(words: &str) -> bool {
    let line = words.trim_end().rsplit('\n').next().unwrap_or_default().to_lowercase();
    let line = WORDS.wished.iter().fold(line, |line, wish| line.replace(wish.as_str(), ""));
    says(&line, &WORDS.supposed)
}

/// The length of a fenced block at the beginning of a text that is closed; it holds no call, so nothing inside is one.
fn other_block(text: &str) -> Option<usize> {
    let inside = text.trim_start_matches([' ', '\t']).strip_prefix("```")?;
    let close = inside.find("\n```")?;
    Some(text.len() - inside.len() + close + 4)
}

/// Whether the text of a block is a value that is complete and no call, whatever follows; names of tools do not matter.
pub(super) fn is_no_call(body: &str) -> bool {
    let body = body.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    let mut strict = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    matches!(strict.next(), Some(Ok(_))) && leading_calls(body, &|_, _, _| true).is_none()
}

/// A call as this module asks models to write it; [`find_calls`] reads it back.
pub fn write_call(name: &str, arguments: &Map<String, Value>) -> String {
    let call = serde_json::json!({"tool": name, "arguments": arguments});
    format!("```json\n{call}\n```")
}

type NamedCalls = Vec<(String, Map<String, Value>)>;

/// The calls that stand at the beginning of a text, and its length.
fn candidate(text: &str, known: CallPredicate<'_>) -> Option<(NamedCalls, usize)> {
    let start = text.len() - text.trim_start_matches([' ', '\t']).len();
    let here = &text[start..];
    for (open, close) in TAGS {
        if let Some(inside) = here.strip_prefix(open) {
            let end = inside.find(close).unwrap_or(inside.len());
            let length = start + open.len() + (end + close.len()).min(inside.len());
            return Some((all_calls(&inside[..end], &|_, _, _| true)?, length));
        }
    }
    if let Some(inside) = here.strip_prefix("```") {
        let (label, mut body) = inside.split_once('\n')?;
        let label = label.split_once(" {").map_or(label, |(label, _)| label);
        if !FENCES.contains(&label.trim()) {
            return None;
        }
        while body.trim_start().starts_with("//") {
            body = body.split_once('\n')?.1;
        }
        let before = text.len() - body.len();
        // The value itself tells where it ends: texts in it may hold fences.
        let (calls, used) = leading_calls(body, known)?;
        let after = &body[used..];
        let close = after.trim_start_matches(|c: char| c.is_whitespace() || "};".contains(c));
        let close = close.strip_prefix("```")?;
        return Some((calls, before + body.len() - close.len()));
    }
    if here.starts_with(['{', '[']) {
        let (calls, used) = leading_calls(here, known)?;
        return Some((calls, start + used));
    }
    None
}

/// Calls that fill a whole text.
fn all_calls(text: &str, known: CallPredicate<'_>) -> Option<NamedCalls> {
    // Some models fence inside the tag.
    let text = text.trim();
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text);
    let text = text.strip_suffix("```").unwrap_or(text).trim();
    let (calls, used) = leading_calls(text, known)?;
    text[used..].trim().is_empty().then_some(calls)
}

/// One call, a list of calls, or several one after another.
fn leading_calls(text: &str, known: CallPredicate<'_>) -> Option<(NamedCalls, usize)> {
    let mut calls = NamedCalls::new();
    let mut used = 0;
    loop {
        let rest = &text[used..];
        let start =
            rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || ",;".contains(c)).len();
        if !rest[start..].starts_with(['{', '[']) {
            break;
        }
        let Some((value, length)) = lenient::parse(&rest[start..]) else { break };
        let values = match value {
            Value::Array(list) => list,
            Value::Object(mut object) => match object.remove("tool_calls") {
                Some(Value::Array(list)) => list,
                _ => vec![Value::Object(object)],
            },
            other => vec![other],
        };
        let more: Option<NamedCalls> = values.into_iter().map(|value| call(value, known)).collect();
        match more {
            Some(more) if !more.is_empty() => calls.extend(more),
            _ => break,
        }
        used += start + length;
    }
    (!calls.is_empty()).then_some((calls, used))
}

/// A call out of an object, in the shapes models know.
fn call(value: Value, known: CallPredicate<'_>) -> Option<(String, Map<String, Value>)> {
    let Value::Object(mut object) = value else { return None };
    for key in ["function", "tool_call", "function_call"] {
        if object.get(key).is_some_and(Value::is_object)
            && let Some(inner) = object.remove(key)
        {
            return call(inner, known);
        }
    }
    let key = NAMED.into_iter().find(|key| object.get(*key).is_some_and(Value::is_string));
    let Some(key) = key else {
        // `{"read_file": {"path": "x"}}`
        let (name, arguments) = object.into_iter().next()?;
        return match arguments {
            Value::Object(arguments) if !GENERIC.contains(&name.as_str()) => {
                known(&name, &arguments, false).then_some((name, arguments))
            }
            _ => None,
        };
    };
    let Some(Value::String(name)) = object.remove(key) else { return None };
    let is_placeholder = |value: &Value| {
        value.as_str().is_some_and(|text| {
            (text.starts_with('<') && text.ends_with('>') && text.contains(' ')) || text == "…"
        })
    };
    for key in GENERIC {
        let arguments = match object.get(key) {
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(Value::String(text)) => match lenient::parse(text) {
                Some((Value::Object(arguments), _)) => arguments,
                // Whoever knows the tool knows what this is.
                _ => Map::from_iter([(key.to_owned(), Value::String(text.clone()))]),
            },
            Some(Value::Array(list)) => Map::from_iter([(key.to_owned(), Value::Array(list.clone()))]),
            _ => continue,
        };
        let supposed = arguments.values().any(is_placeholder);
        return (!supposed && known(&name, &arguments, false)).then_some((name, arguments));
    }
    // Arguments beside the name.
    for key in ["type", "id"] {
        object.remove(key);
    }
    known(&name, &object, true).then_some((name, object))
}

/// Keys under which the name of a tool stands.
const NAMED: [&str; 6] = ["tool", "name", "function", "tool_name", "action", "工具"];

/// Keys that describe a call and never name one, whatever stands in a tag.
const GENERIC: [&str; 9] =
    ["arguments", "argument", "parameters", "args", "input", "params", "action_input", "tool_input", "参数"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(text: &str, calls: &[(&str, Value)], words: &str) {
        let found = find_calls(text, &|name, _, _| ["read_file", "ls"].contains(&name));
        let got: Vec<(String, Value)> = found.calls.into_iter().map(|(n, a)| (n, Value::Object(a))).collect();
        let expect: Vec<(String, Value)> = calls.iter().map(|(n, a)| ((*n).to_owned(), a.clone())).collect();
        assert_eq!(got, expect, "{text}");
        assert_eq!(found.text, words, "{text}");
    }

    #[test]
    fn fences_tags_and_bare_objects() {
        let a = [("read_file", json!({"path": "a"}))];
        check(
            "Reading.\n```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```\nThen more.",
            &a,
            "Reading.\n\nThen more.",
        );
        check("```\n{\"name\": \"read_file\", \"parameters\": {\"path\": \"a\",}}\n```", &a, "");
        check(
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
            &a,
            "",
        );
        check("Sure: <tool_call>{'name': 'read_file', 'arguments': {'path': 'a'}}</tool_call>", &a, "Sure:");
        check("<tool_call>{\"name\": \"read_file\", \"arguments\": \"{\\\"path\\\": \\\"a\\\"}\"}", &a, "");
        check(
            "I will.\n{\"function\": {\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}}",
            &a,
            "I will.",
        );
        check("{\"read_file\": {\"path\": \"a\"}}", &a, "");
        check("{\"tool\": \"read_file\", \"path\": \"a\"}", &a, "");
    }

    #[test]
    fn what_is_supposed_or_withdrawn_stays_text_and_what_is_wished_does_not() {
        let call = "```json\n{\"tool\": \"ls\", \"arguments\": {}}\n```";
        for text in [
            format!("I would run\n\n{call}\n\nbut not now."),
            format!("A block, for example:\n\n{call}"),
            format!("{call}\n\nNo: please ignore the call above."),
        ] {
            check(&text, &[], &text);
        }
        check(&format!("I would like to see:\n{call}"), &[("ls", json!({}))], "I would like to see:");
    }

    #[test]
    fn several_calls() {
        let two = [("ls", json!({})), ("read_file", json!({"path": "a"}))];
        check(
            "[{\"tool\": \"ls\", \"args\": {}}, {\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}]",
            &two,
            "",
        );
        check("{\"tool\": \"ls\"}\n{\"tool\": \"read_file\", \"path\": \"a\"}", &two, "");
        check(
            "```json\n{\"tool\": \"ls\"}\n```\nand\n```json\n{\"tool\": \"read_file\", \"path\": \"a\"}\n```",
            &two,
            "and",
        );
    }

    #[test]
    fn a_fence_inside_an_argument_does_not_end_the_call() {
        let text = "```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"x\n```\ny\"}}\n```";
        check(text, &[("read_file", json!({"path": "x\n```\ny"}))], "");
    }

    #[test]
    fn examples_unknown_names_and_unfinished_calls_stay_text() {
        for text in [
            "```json\n{\"name\": \"package\", \"version\": \"1\"}\n```",
            "```rust\n{\"tool\": \"ls\"}\n```",
            "Use {\"tool\": \"ls\"} for that.",
            "```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"half",
            "{\"tool\": \"rm\", \"arguments\": {}}",
            "{\"name\": 5}",
            "[]",
        ] {
            check(text, &[], text);
        }
        // In a tag it was meant as a call, so that the model can be told that there is no such tool.
        check("<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>", &[("rm", json!({}))], "");
    }

    fn arguments() -> impl Strategy<Value = Map<String, Value>> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            r#"[a-z'"`{}\\\n<>/é ]{0,12}"#.prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,5}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[a-z]{1,6}", value, 0..4).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn written_calls_are_read_back(all in prop::collection::vec(arguments(), 1..4), words in "[a-z ]{0,10}") {
            let calls: Vec<_> = all.into_iter().map(|arguments| ("read_file".to_owned(), arguments)).collect();
            let blocks: Vec<String> = calls.iter().map(|(name, arguments)| write_call(name, arguments)).collect();
            let found = find_calls(&format!("{words}\n{}", blocks.join("\n")), &|name, _, _| name == "read_file");
            prop_assert_eq!(found.calls, calls);
            prop_assert_eq!(found.text, words.trim());
        }

        #[test]
        fn any_text_is_survived(text in r#"(<tool_call>|</tool_call>|```json\n|```|\{"tool": "ls"|[{}\[\]:,'"a \né]){0,20}"#) {
            find_calls(&text, &|name, _, _| name == "ls");
        }
    }
}
