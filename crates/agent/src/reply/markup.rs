//! Calls in the forms that templates of models have for them, where the server did not read them.

use holon_model::ToolSpec;
use holon_model::fallback::parse_lenient;
use serde_json::{Map, Value};

use super::UnfittedCall;
use super::near;

/// The calls in marks of any kind, and the words around them.
pub(super) fn marked(text: &str, offered: &[ToolSpec], cut: bool) -> Option<(Vec<UnfittedCall>, String)> {
    let ways: [MarkupReader; 8] = [
        functions,
        invoked,
        arguments_in_tags,
        named_with_object,
        elements,
        thought_and_acted,
        name_above,
        spoken,
    ];
    // A bracket that is missing at the very end was forgotten.
    let closed = format!("{})", text.trim_end());
    let forgotten = || spoken(&closed, offered).filter(|_| !cut && text.trim_end().ends_with(['"', '\'']));
    ways.iter()
        .filter_map(|way| way(text, offered))
        .find(|found| !found.calls.is_empty())
        .or_else(forgotten)
        .and_then(|found| (!found.calls.is_empty()).then(|| (found.calls, found.words.trim().to_owned())))
}

/// One form of calls: what is found of it in a text.
type MarkupReader = fn(&str, &[ToolSpec]) -> Option<MarkupCalls>;

#[derive(Default)]
struct MarkupCalls {
    calls: Vec<UnfittedCall>,
    words: String,
}

/// Goes through a text: what `one` reads at a mark becomes a call, everything else stays words.
fn each(
    text: &str,
    mark: &str,
    mut one: impl FnMut(&str) -> Option<(UnfittedCall, usize)>,
) -> Option<MarkupCalls> {
    let mut found = MarkupCalls::default();
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        found.words.push_str(&rest[..at]);
        rest = &rest[at..];
        // A mark that is none, or half a call: nothing of the reply is certain then.
        let (call, length) = one(rest)?;
        found.calls.push(call);
        rest = &rest[length..];
    }
    found.words.push_str(rest);
    for tag in [
        "<tool_call>",
        "</tool_call>",
        "<tool_calls>",
        "</tool_calls>",
        "<function_calls>",
        "</function_calls>",
    ] {
        found.words = found.words.replace(tag, "");
    }
    Some(found)
}

/// `<function=read_file><parameter=path>a</parameter></function>`
fn functions(text: &str, _: &[ToolSpec]) -> Option<MarkupCalls> {
    each(text, "<function=", |rest| {
        let inside = &rest["<function=".len()..];
        let (name, body) = inside.split_once('>')?;
        let end = body.find("</function>").or_else(|| body.find("</tool_call>"))?;
        let name = name.trim().trim_matches('"').to_owned();
        let arguments = match body[..end].trim() {
            object if object.starts_with('{') => parse_lenient(object)?.0,
            pairs => Value::Object(parameters(pairs, "<parameter=", "</parameter>")?),
        };
        let length = rest.len() - body.len() + end + "</function>".len();
        Some((UnfittedCall { name, arguments }, length))
    })
}

/// `<invoke name="read_file"><parameter name="path">a</parameter></invoke>`
fn invoked(text: &str, _: &[ToolSpec]) -> Option<MarkupCalls> {
    each(text, "<invoke name=", |rest| {
        let inside = &rest["<invoke name=".len()..];
        let (name, body) = inside.split_once('>')?;
        let end = body.find("</invoke>")?;
        let arguments = parameters(&body[..end], "<parameter name=", "</parameter>")?;
        let length = rest.len() - body.len() + end + "</invoke>".len();
        Some((UnfittedCall::new(name.trim().trim_matches(['"', '\'']), arguments), length))
    })
}

fn parameters(body: &str, open: &str, close: &str) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    let mut rest = body;
    while let Some(at) = rest.find(open) {
        let (name, value) = rest[at + open.len()..].split_once('>')?;
        // Some forget to close one before they open the next.
        let end = value.find(close).into_iter().chain(value.find(open)).min().unwrap_or(value.len());
        arguments.insert(name.trim().trim_matches(['"', '\'']).to_owned(), text_value(&value[..end]));
        rest = value[end..].strip_prefix(close).unwrap_or(&value[end..]);
    }
    Some(arguments)
}

/// What stands between two tags: a text of one line as it is, a longer one without the line breaks around it.
fn text_value(text: &str) -> Value {
    if let Some(data) = text.trim().strip_prefix("<![CDATA[").and_then(|data| data.strip_suffix("]]>")) {
        return data.into();
    }
    let inner = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    let inner = match inner.len() < text.len() {
        true => inner.strip_suffix("\r\n").or_else(|| inner.strip_suffix('\n')).unwrap_or(inner),
        false => inner,
    };
    match inner.trim() {
        list if list.starts_with('[') => serde_json::from_str(list).unwrap_or_else(|_| inner.into()),
        // On lines of its own its indentation is part of it.
        _ if inner.len() < text.len() => inner.into(),
        short if !short.contains('\n') => unescaped(short).into(),
        _ => inner.into(),
    }
}

/// The signs that must be written otherwise between tags.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

/// `<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>`
fn arguments_in_tags(text: &str, offered: &[ToolSpec]) -> Option<MarkupCalls> {
    if !text.contains("<arg_key>") {
        return None;
    }
    each(text, "<tool_call>", |rest| {
        let body = &rest["<tool_call>".len()..];
        let end = body.find("</tool_call>").unwrap_or(body.len());
        let inside = &body[..end];
        let (name, pairs) = inside.split_at(inside.find("<arg_key>")?);
        let mut arguments = Map::new();
        let mut left = pairs;
        while let Some((_, more)) = left.split_once("<arg_key>") {
            let (key, more) = more.split_once("</arg_key>")?;
            let (_, more) = more.split_once("<arg_value>")?;
            let (value, more) = more.split_once("</arg_value>")?;
            arguments.insert(key.trim().to_owned(), text_value(value));
            left = more;
        }
        let known = near::is_known(name.trim(), offered);
        let length = rest.len() - body.len() + (end + "</tool_call>".len()).min(body.len());
        known.then(|| (UnfittedCall::new(name.trim(), arguments), length))
    })
}

/// A name and an object behind a mark: `[TOOL_CALLS]read_file{…}`, `to=functions.read_file…{…}`, and the like.
fn named_with_object(text: &str, offered: &[ToolSpec]) -> Option<MarkupCalls> {
    const MARKS: [&str; 11] = [
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<|tool_sep|>",
        "<|tool_call_start|>",
        "to=functions.",
        "to=tool.",
        "[TOOL_CALLS]",
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "<|python_tag|>",
        "<|action_start|>",
    ];
    MARKS.into_iter().filter(|mark| text.contains(mark)).find_map(|mark| behind_each(text, mark, offered))
}

fn behind_each(text: &str, mark: &str, offered: &[ToolSpec]) -> Option<MarkupCalls> {
    let mut found = MarkupCalls::default();
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        found.words.push_str(&rest[..at]);
        let body = rest[at + mark.len()..].trim_start();
        let (calls, length) = behind_a_mark(body, offered)?;
        found.calls.extend(calls);
        rest = &body[length..];
    }
    found.words.push_str(rest);
    found.words = without_marks(&found.words);
    Some(found)
}

fn behind_a_mark(body: &str, offered: &[ToolSpec]) -> Option<(Vec<UnfittedCall>, usize)> {
    if body.starts_with(['[', '{']) {
        let Some((value, length)) = parse_lenient(body) else { return wrapped(body, offered) };
        let list = if let Value::Array(list) = value { list } else { vec![value] };
        let calls: Option<Vec<UnfittedCall>> =
            list.into_iter().map(|one| from_object(&one, offered)).collect();
        return Some((calls?, length));
    }
    let name: String = body.chars().take_while(|c| c.is_alphanumeric() || "_-.".contains(*c)).collect();
    let after = &body[name.len()..];
    if !near::is_known(name.trim_end_matches(".call"), offered) {
        return None;
    }
    if after.trim_start().starts_with('(') {
        let (call, length) = python_call(body)?;
        return Some((vec![call], length));
    }
    let open = after.find('{')?;
    // Marks and a fence may stand between; words may not.
    let between = without_marks(&after[..open]).replace("```json", "").replace("```", "").replace("json", "");
    let between = between.replace(":0", "").replace("[ARGS]", "").replace("[CALL_ID]", "");
    if between.chars().filter(|c| c.is_alphabetic()).count() > 24 {
        return None;
    }
    let (value, length) = parse_lenient(&after[open..])?;
    let Value::Object(arguments) = value else { return None };
    Some((vec![UnfittedCall::new(&name, arguments)], name.len() + open + length))
}

fn from_object(value: &Value, offered: &[ToolSpec]) -> Option<UnfittedCall> {
    let object = value.as_object()?;
    let inner = object.get("function").filter(|inner| inner.is_object());
    let object = inner.and_then(Value::as_object).unwrap_or(object);
    let name = ["name", "tool", "tool_name", "function"].iter().find_map(|key| object.get(*key)?.as_str())?;
    let arguments = ["arguments", "parameters", "args", "input"].iter().find_map(|key| object.get(*key));
    let arguments = arguments.cloned().unwrap_or(Value::Null);
    near::is_known(name, offered).then(|| UnfittedCall { name: name.to_owned(), arguments })
}

/// A text without the marks of templates in it.
fn without_marks(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '[']) {
        out.push_str(&rest[..at]);
        let close = if rest[at..].starts_with('<') { ["|>", "｜>"].as_slice() } else { ["]"].as_slice() };
        let marked = rest[at..].starts_with("<|")
            || rest[at..].starts_with("<｜")
            || rest[at..].starts_with("[TOOL_CALLS]");
        let end = close.iter().filter_map(|close| Some(rest[at..].find(close)? + close.len())).min();
        match end.filter(|_| marked) {
            Some(end) => rest = &rest[at + end..],
            None => {
                let sign = rest[at..].chars().next().map_or(1, char::len_utf8);
                out.push_str(&rest[at..at + sign]);
                rest = &rest[at + sign..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// `<read_file><path>a</path></read_file>`
fn elements(text: &str, offered: &[ToolSpec]) -> Option<MarkupCalls> {
    let mut found = MarkupCalls::default();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        if let Some((call, length)) = with_attributes(&rest[at..], offered) {
            found.words.push_str(&rest[..at]);
            found.calls.push(call);
            rest = &rest[at + length..];
            continue;
        }
        let name: String =
            rest[at + 1..].chars().take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
        let open = format!("<{name}>");
        let close = format!("</{name}>");
        let begins = rest[at..].starts_with(&open) && name.len() > 1 && near::is_known(&name, offered);
        // In the middle of a line it is part of what is said.
        let alone = rest[..at].rsplit('\n').next().unwrap_or_default().trim().is_empty();
        if !begins || !alone {
            found.words.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        }
        let body = &rest[at + open.len()..];
        let end = body.find(&close)?;
        let arguments = children(&body[..end])?;
        found.words.push_str(&rest[..at]);
        found.calls.push(UnfittedCall { name, arguments });
        rest = &body[end + close.len()..];
    }
    found.words.push_str(rest);
    Some(found)
}

/// `<ls path="src"/>`, `<tool_call name="ls" path="src" />`
fn with_attributes(text: &str, offered: &[ToolSpec]) -> Option<(UnfittedCall, usize)> {
    let end = text.find("/>")?;
    let inside = text[1..end].trim();
    let (element, mut rest) = inside.split_once(' ')?;
    if inside.contains(['<', '>', '\n']) {
        return None;
    }
    let mut arguments = Map::new();
    while !rest.trim().is_empty() {
        let (key, value) = rest.split_once('=')?;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|quote| "\"'".contains(*quote))?;
        let (value, after) = value[1..].split_once(quote)?;
        arguments.insert(key.trim().to_owned(), unescaped(value).into());
        rest = after;
    }
    let name = match element {
        "tool_call" | "tool" | "invoke" | "function_call" => arguments.remove("name")?.as_str()?.to_owned(),
        own => own.to_owned(),
    };
    near::is_known(&name, offered).then(|| (UnfittedCall::new(&name, arguments), end + 2))
}

/// `Action: read_file` and `Action Input: {…}` on the next line.
fn thought_and_acted(text: &str, offered: &[ToolSpec]) -> Option<MarkupCalls> {
    let (before, rest) = text.split_once("Action:")?;
    let (name, rest) = rest.split_once('\n')?;
    let name = name.trim().trim_matches(['`', '*', '"']);
    let input = rest.trim_start().strip_prefix("Action Input:")?.trim_start();
    let arguments = match input.starts_with(['{', '[']) {
        true => parse_lenient(input)?.0,
        false => Value::String(input.lines().next()?.trim().trim_matches(['"', '`']).to_owned()),
    };
    let known = near::is_known(name, offered);
    known.then(|| MarkupCalls {
        calls: vec![UnfittedCall { name: name.to_owned(), arguments }],
        words: before.to_owned(),
    })
}

/// The name on a line of its own, the object on the next.
fn name_above(text: &str, offered: &[ToolSpec]) -> Option<MarkupCalls> {
    let (before, rest) = match text.trim_start().split_once('\n')? {
        (name, rest) if offered.iter().any(|tool| tool.name == name.trim()) => (name, rest),
        _ => return None,
    };
    let (value, length) = parse_lenient(rest.trim_start()).filter(|(value, _)| value.is_object())?;
    let words = rest.trim_start()[length..].to_owned();
    Some(MarkupCalls {
        calls: vec![UnfittedCall { name: before.trim().to_owned(), arguments: value }],
        words,
    })
}

/// The elements within one, or the object or text that is all of it.
fn children(body: &str) -> Option<Value> {
    let inside = body.trim();
    if inside.is_empty() {
        return Some(Value::Object(Map::new()));
    }
    if inside.starts_with('{') {
        return parse_lenient(inside).map(|(value, _)| value);
    }
    if !inside.starts_with('<') {
        return Some(Value::String(inside.to_owned()));
    }
    let mut arguments = Map::new();
    let mut rest = inside;
    while !rest.trim().is_empty() {
        rest = rest.trim_start();
        let (name, after) = rest.strip_prefix('<')?.split_once('>')?;
        let close = format!("</{name}>");
        let end = after.find(&close)?;
        arguments.insert(name.trim().to_owned(), text_value(&after[..end]));
        rest = &after[end + close.len()..];
    }
    Some(Value::Object(arguments))
}

/// `read_file("a.py")` on lines of their own, or in a block of such calls.
fn spoken(text: &str, offered: &[ToolSpec]) -> Option<MarkupCalls> {
    let mut found = MarkupCalls::default();
    let mut rest = text;
    let mut fenced = false;
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let here = line.trim_start();
        if here.starts_with("```") {
            let label = here.trim_start_matches('`').trim();
            let inside = &rest[line.len()..];
            let first = inside.trim_start().lines().next().unwrap_or_default();
            if !fenced && CODE.contains(&label) && starts(first, offered) {
                fenced = true;
                rest = inside;
                continue;
            }
            if fenced {
                fenced = false;
                rest = inside;
                continue;
            }
            // Another block: nothing in it is a call.
            let end = inside.find("\n```").map_or(inside.len(), |end| end + 4);
            found.words.push_str(&rest[..line.len() + end]);
            rest = &inside[end..];
            continue;
        }
        if starts(here, offered) {
            let start = rest.len() - rest.trim_start().len();
            let (calls, length) = wrapped(&rest[start..], offered)?;
            let after = &rest[start + length..];
            // Whoever goes on behind the call speaks of it.
            if after.lines().next().unwrap_or_default().trim().trim_matches(['`', ';', ')', ']']).is_empty() {
                found.calls.extend(calls);
                rest = after.split_once('\n').map_or("", |(_, after)| after);
                continue;
            }
        }
        if fenced && !line.trim().is_empty() && !here.starts_with('#') && !here.starts_with("print(") {
            // Code that does more than call.
            return None;
        }
        found.words.push_str(line);
        rest = &rest[line.len()..];
    }
    Some(found)
}

/// The languages in which calls are written like this.
const CODE: [&str; 9] =
    ["", "python", "tool_code", "py", "tool", "tool_call", "javascript", "js", "typescript"];

/// What may stand before a call on its line.
const BEFORE: [&str; 7] = ["print(", "[", "`", "Tool:", "Call:", "->", "Action:"];

fn unprefixed(line: &str) -> &str {
    let mut line = line.trim_start();
    while let Some(rest) = BEFORE.iter().find_map(|before| line.strip_prefix(before)) {
        line = rest.trim_start();
    }
    line
}

fn starts(line: &str, offered: &[ToolSpec]) -> bool {
    let line = unprefixed(line);
    let line = line
        .split_once(" = ")
        .filter(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .map_or(line, |(_, call)| call);
    let line = line.strip_prefix("await ").unwrap_or(line);
    let name: String = line.chars().take_while(|c| c.is_alphanumeric() || "_.".contains(*c)).collect();
    let known = name.contains('_') || name.contains('.') || offered.iter().any(|tool| tool.name == name);
    line[name.len()..].starts_with('(') && known && !name.starts_with('.') && near::is_known(&name, offered)
}

/// One call or a list of them, perhaps printed or assigned.
fn wrapped(text: &str, offered: &[ToolSpec]) -> Option<(Vec<UnfittedCall>, usize)> {
    let inner = unprefixed(text);
    let assigned =
        inner.split_once(" = ").filter(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let inner = assigned.map_or(inner, |(_, call)| call);
    let inner = inner.strip_prefix("await ").unwrap_or(inner);
    let mut calls = Vec::new();
    let mut rest = inner;
    loop {
        let (call, length) = python_call(rest)?;
        calls.push(call);
        rest = &rest[length..];
        match rest.trim_start().strip_prefix(',') {
            Some(more) if starts(more.trim_start(), offered) => rest = more.trim_start(),
            _ => break,
        }
    }
    Some((calls, text.len() - rest.len()))
}

/// `name(key="value", …)`, or with values alone, which then are a list.
fn python_call(text: &str) -> Option<(UnfittedCall, usize)> {
    let open = text.find('(')?;
    let name = text[..open].trim().trim_end_matches(".call").to_owned();
    let mut arguments = Map::new();
    let mut list = Vec::new();
    let mut at = open + 1;
    loop {
        let rest = &text[at..];
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        at = text.len() - rest.len();
        if rest.starts_with(')') {
            at += 1;
            break;
        }
        let key: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let after = rest[key.len()..].trim_start();
        let keyed = !key.is_empty() && after.starts_with('=') && !after.starts_with("==");
        let value_text = if keyed { after[1..].trim_start() } else { rest };
        let (value, length) = literal(value_text)?;
        match keyed {
            true => drop(arguments.insert(key, value)),
            false => list.push(value),
        }
        at = text.len() - value_text.len() + length;
    }
    let arguments = match (arguments.is_empty(), list.as_slice()) {
        (false, []) => Value::Object(arguments),
        (true, []) => Value::Object(Map::new()),
        (true, [single]) => single.clone(),
        (true, _) => Value::Array(list),
        (false, _) => return None,
    };
    Some((UnfittedCall { name, arguments }, at))
}

fn literal(text: &str) -> Option<(Value, usize)> {
    let raw = text.strip_prefix('r').filter(|rest| rest.starts_with(['"', '\''])).unwrap_or(text);
    parse_lenient(raw).map(|(value, length)| (value, text.len() - raw.len() + length))
}
