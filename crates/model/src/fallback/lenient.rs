//! JSON as small models write it.

use serde_json::{Map, Number, Value};

/// How deep values may be nested.
const MAX_DEPTH: usize = 64;

/// Reads one value at the beginning of a text and says where it ends; `None` when there is none or it is unfinished.
///
/// Beyond JSON it takes commas too many or too few, comments, line breaks inside texts, Python's `True`/`False`/`None`, bare
/// keys, doubled braces, other quotes, and quotes inside a text where it is clear which one closes it. An unfinished value
/// is never completed: half a file must not be written.
pub fn parse(text: &str) -> Option<(Value, usize)> {
    let mut strict = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = strict.next() {
        return Some((value, strict.byte_offset()));
    }
    let mut reader = LenientJsonReader { text, at: 0 };
    let value = reader.value(0)?;
    Some((value, reader.at))
}

/// Where a text stands, which decides what can follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonPosition {
    /// It is all there is, or stands between the brackets of a call.
    Nothing,
    Key,
    Value,
    List,
}

/// The sign that closes what this one opens, if it is a quote.
fn closing(quote: char) -> Option<char> {
    match quote {
        '"' | '\'' | '`' => Some(quote),
        '“' | '”' => Some('”'),
        '„' => Some('“'),
        '‘' | '’' => Some('’'),
        _ => None,
    }
}

struct LenientJsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl LenientJsonReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if self.rest().starts_with("//") || self.rest().starts_with('#') {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if self.rest().starts_with("/*") {
                let rest = self.rest();
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                return;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip();
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            quote if closing(quote).is_some() => {
                let within = if depth == 0 { JsonPosition::Nothing } else { JsonPosition::Value };
                self.string(quote, within).map(Value::String)
            }
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.eat("{");
        self.skip();
        if self.rest().starts_with('{') {
            // A template whose braces were doubled.
            let inner = self.value(depth + 1)?;
            self.skip();
            return self.eat("}").then_some(inner);
        }
        let mut map = Map::new();
        loop {
            self.skip();
            if self.eat("}") {
                return Some(Value::Object(map));
            }
            let key = match self.peek()? {
                quote if closing(quote).is_some() => self.string(quote, JsonPosition::Key)?,
                _ => self.bare_key()?,
            };
            self.skip();
            if !(self.eat(":") || self.eat("：") || self.eat("=")) {
                return None;
            }
            let value = self.value(depth + 1)?;
            map.insert(key, value);
            self.skip();
            // A comma that was left out is clear before a quoted key.
            if !(self.eat(",") || self.eat("，")) && self.peek()? != '}' && !self.key_follows() {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.eat("[");
        let mut list = Vec::new();
        loop {
            self.skip();
            if self.eat("]") {
                return Some(Value::Array(list));
            }
            let text = self.peek().is_some_and(|c| closing(c).is_some());
            let value = match text {
                true => {
                    self.peek().and_then(|quote| self.string(quote, JsonPosition::List)).map(Value::String)?
                }
                false => self.value(depth + 1)?,
            };
            list.push(value);
            self.skip();
            if !self.eat(",") && !matches!(self.peek()?, ']' | '{') {
                return None;
            }
        }
    }

    fn bare_key(&mut self) -> Option<String> {
        let length = self.rest().find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))?;
        if length == 0 {
            return None;
        }
        let key = self.rest()[..length].to_owned();
        self.at += length;
        Some(key)
    }

    fn word(&mut self) -> Option<Value> {
        for (word, value) in [
            ("true", Value::Bool(true)),
            ("True", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("False", Value::Bool(false)),
            ("null", Value::Null),
            ("None", Value::Null),
        ] {
            if self.eat(word) {
                return Some(value);
            }
        }
        let rest = self.rest();
        let length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let number: Number = serde_json::from_str(&rest[..length]).ok()?;
        self.at += length;
        Some(Value::Number(number))
    }

    fn string(&mut self, quote: char, within: JsonPosition) -> Option<String> {
        let threefold: String = std::iter::repeat_n(quote, 3).collect();
        if quote != '`' && self.rest().starts_with(&threefold) {
            // Python's own, in which line breaks and quotes are as they are.
            self.at += threefold.len();
            let end = self.rest().find(&threefold)?;
            let text = self.rest()[..end].to_owned();
            self.at += end + threefold.len();
            return Some(text.strip_prefix('\n').map_or(text.clone(), str::to_owned));
        }
        let close = closing(quote)?;
        self.at += quote.len_utf8();
        let mut out = String::new();
        loop {
            let c = self.peek()?;
            self.at += c.len_utf8();
            match c {
                '\\' => self.escape(&mut out)?,
                c if c == close && self.closes(within) => {
                    let more = self.joined().map(|next| self.string(next, within));
                    return Some(out + &more.unwrap_or_else(|| Some(String::new()))?);
                }
                c => out.push(c),
            }
        }
    }

    /// The quote that opens a text which is joined to this one by a plus.
    fn joined(&mut self) -> Option<char> {
        let rest = self.rest().trim_start().strip_prefix('+')?.trim_start();
        let quote = rest.chars().next().filter(|c| closing(*c).is_some())?;
        self.at = self.text.len() - rest.len();
        Some(quote)
    }

    /// A quote may be one of the text; it closes the text only before what can follow one here.
    fn closes(&self, within: JsonPosition) -> bool {
        let rest = self.rest().trim_start();
        let mut next = rest.chars();
        match (next.next(), within) {
            (None, _) | (Some(_), JsonPosition::Nothing) => true,
            (Some(':' | '：' | '='), JsonPosition::Key) => true,
            (Some(_), JsonPosition::Key) => false,
            (Some('}'), JsonPosition::Value) | (Some(']'), JsonPosition::List) => true,
            (Some(',' | '，'), JsonPosition::List) => true,
            // Joined to the next.
            (Some('+'), _) => next.as_str().trim_start().starts_with(['"', '\'']),
            (Some('#' | '/'), JsonPosition::Value) => false,
            (Some(',' | '，'), JsonPosition::Value) => {
                let reader = LenientJsonReader { text: next.as_str().trim_start(), at: 0 };
                let mut reader = reader;
                reader.skip();
                reader.rest().starts_with(['}', ']']) || reader.key_follows() || reader.bare_key_follows()
            }
            // One before a key whose comma is missing.
            (Some(c), JsonPosition::Value) if closing(c).is_some() => {
                LenientJsonReader { text: rest, at: 0 }.key_follows()
            }
            (Some(_), _) => false,
        }
    }

    /// Whether a key in quotes stands here.
    fn key_follows(&self) -> bool {
        let mut rest = self.rest().chars();
        let Some(close) = rest.next().and_then(closing) else { return false };
        let Some((key, after)) = rest.as_str().split_once(close) else { return false };
        let plain = key.len() < 40 && key.chars().all(|c| c.is_alphanumeric() || "_- $".contains(c));
        plain && after.trim_start().starts_with([':', '：', '='])
    }

    /// Whether a key without quotes stands here.
    fn bare_key_follows(&self) -> bool {
        let rest = self.rest().trim_start_matches(|c: char| c.is_alphanumeric() || "_-".contains(c));
        let key = self.rest().len() - rest.len();
        // In Python's calls a name and `=`.
        (1..40).contains(&key) && rest.trim_start().starts_with([':', '='])
    }

    fn escape(&mut self, out: &mut String) -> Option<()> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'u' => match self.unicode() {
                Some(c) => out.push(c),
                // A path of Windows'.
                None => out.push_str("\\u"),
            },
            '"' | '\'' | '\\' | '/' | '`' => out.push(c),
            // A backslash before a line break joins lines; any other was meant to stay, as in a regular expression, and
            // nobody who writes like this means the signs for a bell's or a printer's use.
            '\n' => {}
            other => out.extend(['\\', other]),
        }
        Some(())
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        if self.eat("\\u")
            && let Some(second) = self.hex()
            && (0xdc00..0xe000).contains(&second)
        {
            return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        }
        self.at = before;
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        let value = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_ways_small_models_write() {
        for (text, expect) in [
            (r#"{"a": 1, "b": [1, 2,],}"#, json!({"a": 1, "b": [1, 2]})),
            ("{'a': 'it', 'b': 'x'}", json!({"a": "it", "b": "x"})),
            ("{'a': 'it's fine', 'b': 'x'}", json!({"a": "it's fine", "b": "x"})),
            ("{path: \"x\", deep-key: True, n: None}", json!({"path": "x", "deep-key": true, "n": null})),
            ("{\"a\": \"one\ntwo\"}", json!({"a": "one\ntwo"})),
            ("{\"re\": \"\\d+\\\\.\"}", json!({"re": "\\d+\\."})),
            ("{// why\n\"a\": 1 /* so */}", json!({"a": 1})),
            (r#"{"e": "\u00e9\ud83d\ude00\ud83d", x: 1}"#, json!({"e": "é😀\u{fffd}", "x": 1})),
            ("[{'a': -1.5e3,}]", json!([{"a": -1.5e3}])),
            ("'s'", json!("s")),
            (r#"{"a": 1 "b": "x" "c": 2}"#, json!({"a": 1, "b": "x", "c": 2})),
            ("{\"a\": \"say \"hi\" now\", \"b\": 1}", json!({"a": "say \"hi\" now", "b": 1})),
            ("{\"a\": \"\"\"\nx = \"1\"\n\"\"\", b: 1}", json!({"a": "x = \"1\"\n", "b": 1})),
            ("{{\"a\": {{\"b\": 1}}}}", json!({"a": {"b": 1}})),
            ("{“a”: “x”}", json!({"a": "x"})),
            ("{\"a\"：\"x\"，\"b\" = 1}", json!({"a": "x", "b": 1})),
            ("{\"a\": \"one\\n\" +\n  \"two\\n\"\n}", json!({"a": "one\ntwo\n"})),
            ("{\"a\": `x\ny`}", json!({"a": "x\ny"})),
        ] {
            let (value, end) = parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(value, expect, "{text}");
            assert_eq!(end, text.len(), "{text}");
        }
    }

    #[test]
    fn what_is_unfinished_or_unclear_is_refused() {
        for text in
            ["{\"a\": \"half", "{\"a\": [1, 2", "{'a' 1}", "{a", "{\"a\": }", "{,}", "", "{\"a\": 1 b: 2}"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
        assert_eq!(parse(&"{a:".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r#"[{}\[\]:,'"\\a1 \nuédTN/*-]{0,40}"#) {
            if let Some((_, end)) = parse(&text) {
                prop_assert!(text.is_char_boundary(end));
            }
        }
    }
}
