//! Functions with their parameters, and assignments, in the forms of many languages.

use super::expr::{is_keyword, is_start};
use super::lang::CodeLanguage;
use super::logical::CodeStatement;
use super::table::TaintTable;

/// The name of the function that a statement begins, and its parameters with their types.
pub(super) fn parameters(
    table: &TaintTable,
    lang: CodeLanguage,
    statement: &CodeStatement,
) -> Option<(String, Vec<(String, String)>)> {
    let code = statement.code.as_str();
    if matches!(lang, CodeLanguage::Js | CodeLanguage::Cs | CodeLanguage::Dart | CodeLanguage::Scala)
        && let Some(found) = arrow(lang, statement)
    {
        return Some(found);
    }
    let hit = table.function.captures(code);
    if let Some(hit) = hit {
        let name = ["name", "name2", "name3"]
            .iter()
            .find_map(|group| hit.name(group))
            .map_or("", |hit| hit.as_str());
        let control = [
            "if",
            "for",
            "while",
            "switch",
            "catch",
            "return",
            "else",
            "new",
            "synchronized",
            "using",
            "lock",
            "foreach",
            "match",
            "with",
            "await",
            "do",
            "try",
        ];
        if control.contains(&name) {
            return None;
        }
        let end = hit.get(0).map_or(0, |hit| hit.end());
        let open = end.saturating_sub(1);
        if code.as_bytes().get(open) != Some(&b'(') {
            // `x => …`, `sub name {`, `def name a, b`.
            let alone = ["alone", "alone2"]
                .iter()
                .find_map(|group| hit.name(group))
                .map(|hit| vec![(hit.as_str().to_owned(), String::new())]);
            return Some((name.to_owned(), alone.unwrap_or_default()));
        }
        let close = closing(code, open);
        if matches!(
            lang,
            CodeLanguage::Java | CodeLanguage::Cs | CodeLanguage::C | CodeLanguage::Dart | CodeLanguage::Js
        ) {
            let after = code.get(close + 1..).unwrap_or_default().trim();
            let body = after.ends_with('{')
                || after.contains("=>")
                || after.is_empty() && lang == CodeLanguage::C
                || after.ends_with("throws");
            if !body {
                return None;
            }
        }
        let inner = code.get(open + 1..close).unwrap_or_default();
        let words = statement.text.get(open + 1..close).unwrap_or_default();
        return Some((name.to_owned(), list(lang, inner, words)));
    }
    None
}

/// `(a, b) => …` and `a => …`, with the name it is given.
fn arrow(lang: CodeLanguage, statement: &CodeStatement) -> Option<(String, Vec<(String, String)>)> {
    let code = statement.code.as_str();
    let at = code.rfind("=>")?;
    let mut before = code.get(..at)?.trim_end();
    // A type may stand between the parentheses and the arrow.
    if !before.ends_with(')')
        && lang == CodeLanguage::Js
        && let Some(close) = before.rfind("):")
    {
        before = before.get(..=close)?;
    }
    let (open, inner, words) = if before.ends_with(')') {
        let mut depth = 0usize;
        let open = before.bytes().enumerate().rev().find_map(|(at, byte)| {
            match byte {
                b')' => depth += 1,
                b'(' => depth -= 1,
                _ => {}
            }
            (byte == b'(' && depth == 0).then_some(at)
        })?;
        let end = before.len() - 1;
        (open, before.get(open + 1..end)?, statement.text.get(open + 1..end)?)
    } else {
        let start =
            before.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).map_or(0, |at| at + 1);
        (start, before.get(start..)?, before.get(start..)?)
    };
    let ahead = code.get(..open)?.trim_end().trim_end_matches("async").trim_end();
    let named = ahead.ends_with('=') || ahead.ends_with(':');
    let ahead = ahead.trim_end_matches(['=', ':', ' ']);
    let name: String = ahead.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let name: String = if named { name.chars().rev().collect() } else { String::new() };
    let own = list(
        if lang == CodeLanguage::Cs && !inner.contains(' ') { CodeLanguage::Js } else { lang },
        inner,
        words,
    );
    Some((name, own))
}

fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// Parameters between commas, each as its name and the rest.
fn list(lang: CodeLanguage, inner: &str, words: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    let bytes = inner.as_bytes();
    for at in 0..=bytes.len() {
        match bytes.get(at) {
            Some(b'(' | b'[' | b'{' | b'<') => depth += 1,
            Some(b')' | b']' | b'}') => depth -= 1,
            Some(b'>') if at > 0 && !matches!(bytes.get(at - 1), Some(b'-' | b'=')) => depth -= 1,
            Some(b',') | None if depth <= 0 => {
                let part = inner.get(start..at).unwrap_or_default();
                let text = words.get(start..at).unwrap_or(part);
                start = at + 1;
                one(lang, part, text, &mut all);
            }
            _ => {}
        }
    }
    // `a, b string`: the type stands behind the last.
    if lang == CodeLanguage::Go {
        let mut kind = String::new();
        for (_, own) in all.iter_mut().rev() {
            if own.trim().is_empty() {
                own.clone_from(&kind);
            } else {
                kind.clone_from(own);
            }
        }
    }
    all
}

fn one(lang: CodeLanguage, part: &str, text: &str, all: &mut Vec<(String, String)>) {
    let part = part.trim();
    if part.is_empty() {
        return;
    }
    let named = |name: &str| {
        let name = name.trim().trim_start_matches(['*', '&', '.', '\\']);
        (!name.is_empty()).then(|| name.to_owned())
    };
    match lang {
        CodeLanguage::Py
        | CodeLanguage::Js
        | CodeLanguage::Kt
        | CodeLanguage::Scala
        | CodeLanguage::Rs
        | CodeLanguage::Swift => {
            let colon = part.find(':').filter(|at| part.get(at + 1..at + 2) != Some(":"));
            let (name, _) = colon.map_or((part, ""), |at| part.split_at(at));
            let kind = text.trim();
            let kind = kind.find(':').and_then(|at| kind.get(at..)).unwrap_or(kind);
            if name.contains(['{', '[', '(']) {
                for word in name
                    .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .filter(|w| w.starts_with(|c: char| c.is_lowercase()))
                {
                    if !is_keyword(word) {
                        all.push((word.to_owned(), format!("{} {kind}", text.trim())));
                    }
                }
                return;
            }
            let name = name.split('=').next().unwrap_or_default().trim();
            if let Some(name) = name.split_whitespace().last().and_then(named) {
                let annotated = if colon.is_some() { text.trim().to_owned() } else { kind.to_owned() };
                all.push((name, annotated));
            }
        }
        CodeLanguage::Go => {
            let mut words = part.split_whitespace();
            let name = words.next().unwrap_or_default().to_owned();
            all.push((name, words.collect::<Vec<_>>().join(" ")));
        }
        CodeLanguage::Php | CodeLanguage::Ps => {
            if let Some(at) = part.rfind('$') {
                let name: String = part
                    .get(at + 1..)
                    .unwrap_or_default()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                all.push((format!("${name}"), text.get(..at).unwrap_or_default().to_owned()));
            }
        }
        CodeLanguage::Java | CodeLanguage::Cs | CodeLanguage::C | CodeLanguage::Dart => {
            let own = part.rfind(')').map_or(part, |at| part.get(at..).unwrap_or_default());
            let own =
                own.find('=').map_or(part, |at| part.get(..part.len() - own.len() + at).unwrap_or(part));
            let plain = own.trim().trim_end_matches("[]");
            let name: String = plain.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let name: String = name.chars().rev().collect();
            if !name.is_empty() {
                let kind = text.trim().strip_suffix(&name).unwrap_or(text.trim());
                all.push((name, kind.to_owned()));
            }
        }
        CodeLanguage::Ex
        | CodeLanguage::Rb
        | CodeLanguage::Lua
        | CodeLanguage::Sql
        | CodeLanguage::Pl
        | CodeLanguage::Sh
        | CodeLanguage::Html => {
            for word in
                part.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '@')).filter(|w| !w.is_empty())
            {
                if word.starts_with(|c: char| c.is_lowercase() || c == '_' || c == '@') && !is_keyword(word) {
                    all.push((word.to_owned(), text.to_owned()));
                    if lang != CodeLanguage::Ex {
                        break;
                    }
                }
            }
        }
    }
}

/// The assignments in a statement: targets, where the value stands, and whether it is added to what was there.
pub(super) fn assigned(lang: CodeLanguage, code: &str) -> Vec<(Vec<String>, usize, usize, bool)> {
    let mut all = Vec::new();
    let bytes = code.as_bytes();
    let (mut depth, mut at) = (0i32, 0);
    if lang == CodeLanguage::Sql {
        return sql(code);
    }
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'=' if depth == 0 || at_condition(code, at) => {
                let next = bytes.get(at + 1).copied().unwrap_or(0);
                let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied().unwrap_or(0);
                if matches!(next, b'=' | b'~')
                    || matches!(before, b'!' | b'<' | b'>' | b'=' | b'~')
                    || (next == b'>' && lang != CodeLanguage::Sh)
                {
                    at += 2;
                    continue;
                }
                let part = code.get(..at).unwrap_or_default().trim_end();
                let part = part.ends_with(']') && !part.trim_start().starts_with('[') && !part.contains(" [");
                let adds = part || matches!(before, b'+' | b'.' | b'|' | b'?' | b'*');
                let left = code
                    .get(..at)
                    .unwrap_or_default()
                    .trim_end_matches(['+', '.', '|', '?', ':', '*', '-', '/', '%', ' ']);
                let targets = targets(lang, left);
                let to = value_end(code, at + 1);
                if !targets.is_empty() {
                    all.push((targets, at + 1, to, adds));
                }
                if lang != CodeLanguage::Sh {
                    return all;
                }
            }
            b'<' if lang == CodeLanguage::Ex && bytes.get(at + 1) == Some(&b'-') => {
                let targets = targets(lang, code.get(..at).unwrap_or_default());
                all.push((targets, at + 2, code.len(), false));
                return all;
            }
            _ => {}
        }
        at += 1;
    }
    all
}

/// `if (x := f())`, `if let Some(x) = f()`, `while ((line = read()))`.
fn at_condition(code: &str, at: usize) -> bool {
    let start = code.trim_start_matches(['}', ' ']);
    (start.starts_with("if") || start.starts_with("while") || start.starts_with("} else if"))
        && code.get(at + 1..at + 2).is_some_and(|next| next == " ")
        && code.get(..at).is_some_and(|left| !left.trim_end().ends_with(['=', '!', '<', '>']))
}

fn value_end(code: &str, from: usize) -> usize {
    let mut depth = 0i32;
    for (offset, byte) in code.get(from..).unwrap_or_default().bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth < 0 {
                    return from + offset;
                }
            }
            b';' if depth == 0 => return from + offset,
            _ => {}
        }
    }
    code.len()
}

/// The names on the left of an assignment.
fn targets(lang: CodeLanguage, left: &str) -> Vec<String> {
    let left = left.trim();
    let after = [
        "if let ",
        "while let ",
        "const ",
        "let ",
        "var ",
        "val ",
        "final ",
        "my ",
        "our ",
        "local ",
        "mut ",
        "auto ",
        "export ",
        "readonly ",
        "declare ",
    ];
    let mut rest = left.trim_start_matches(['}', ' ', '(']);
    let mut told = false;
    while let Some(word) = after.iter().find(|word| rest.starts_with(**word)) {
        rest = rest.get(word.len()..).unwrap_or_default().trim_start();
        told = true;
    }
    for start in ["if (", "while (", "if ", "while ", "else if ("] {
        rest = rest.strip_prefix(start).unwrap_or(rest).trim_start_matches('(');
    }
    let several = rest.contains(['{', '('])
        || (rest.contains(',') && !rest.contains('<'))
        || rest.starts_with('[')
        || (lang == CodeLanguage::Rs && told && rest.contains('('));
    if several {
        let words = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '%')));
        let words = words.filter(|word| {
            word.starts_with(|c: char| c.is_lowercase() || matches!(c, '_' | '$' | '@')) && !is_keyword(word)
        });
        // A call on the left is no list of names.
        let path = rest
            .find('(')
            .is_some_and(|at| at > 0 && rest.as_bytes().get(at - 1).is_some_and(|b| b.is_ascii_lowercase()));
        return if path && lang != CodeLanguage::Pl && lang != CodeLanguage::Php {
            Vec::new()
        } else {
            words.map(str::to_owned).collect()
        };
    }
    // The type behind a colon goes; the one in front is another word.
    let rest = match rest.find(':') {
        Some(at)
            if rest.get(at + 1..at + 2) != Some(":")
                && !(at > 0 && rest.get(at - 1..at) == Some(":"))
                && lang != CodeLanguage::Lua =>
        {
            rest.get(..at).unwrap_or_default()
        }
        _ => rest,
    };
    let rest = rest.trim_end();
    let rest = match rest.rfind('[') {
        Some(at) if rest.ends_with(']') && at > 0 && rest.as_bytes().get(at - 1) != Some(&b' ') => {
            rest.get(..at).unwrap_or_default()
        }
        _ => rest,
    };
    let name: String = rest
        .chars()
        .rev()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '-' | '>' | '%' | '?'))
        .collect();
    let name: String = name.chars().rev().collect();
    let name = name.trim_start_matches(['>', '-', '.', '*', '%']).replace('?', "");
    if name.is_empty() || !name.bytes().next().is_some_and(is_start) || is_keyword(&name) {
        return Vec::new();
    }
    // In a shell a variable is read with a sign that it is not written with.
    match lang {
        CodeLanguage::Sh => vec![format!("${name}"), name],
        _ => vec![name],
    }
}

/// `SET @x = …`, `x := …`.
fn sql(code: &str) -> Vec<(Vec<String>, usize, usize, bool)> {
    let Some(at) = code.find('=') else { return Vec::new() };
    let left = code.get(..at).unwrap_or_default().trim_end_matches([':', '+', ' ']);
    let name: String =
        left.chars().rev().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '@')).collect();
    let name: String = name.chars().rev().collect();
    let upper = left.to_ascii_uppercase();
    let sets = upper.contains("SET ") && name.starts_with('@')
        || code.get(at.saturating_sub(1)..at) == Some(":")
        || upper.contains("DECLARE");
    if !sets || name.is_empty() { Vec::new() } else { vec![(vec![name], at + 1, code.len(), false)] }
}

/// Names that loops and blocks give to what they go through.
pub(super) fn bound(lang: CodeLanguage, code: &str) -> Vec<(Vec<String>, usize, usize)> {
    let mut all = Vec::new();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '@')));
        words
            .filter(|word| word.bytes().next().is_some_and(is_start) && !is_keyword(word))
            .map(str::to_owned)
            .collect()
    };
    let last = |text: &str| words(text).into_iter().next_back().into_iter().collect::<Vec<String>>();
    if let Some(start) = code
        .find("for")
        .filter(|at| *at == 0 || code.as_bytes().get(at - 1).is_some_and(|b| !b.is_ascii_alphanumeric()))
    {
        let rest = code.get(start..).unwrap_or_default();
        for (mark, typed) in [
            (" in ", false),
            (" of ", false),
            (" : ", true),
            (" range ", false),
            (" <- ", false),
            (" as ", false),
        ] {
            let Some(at) = rest.find(mark) else { continue };
            let (left, right) = (rest.get(..at).unwrap_or_default(), start + at + mark.len());
            if mark == " as " {
                let from = start + rest.find('(').map_or(0, |at| at + 1);
                all.push((words(code.get(right..).unwrap_or_default()), from, start + at));
                break;
            }
            let left =
                left.trim_start_matches("foreach").trim_start_matches("for").trim_start_matches(" await");
            let names = if typed { last(left) } else { words(left) };
            let names = names.into_iter().filter(|name| name != "range").collect();
            all.push((names, right, code.len()));
            break;
        }
    }
    if lang == CodeLanguage::Py
        && let Some(at) =
            code.find(" as ").filter(|_| code.starts_with("with") || code.starts_with("async with"))
    {
        all.push((words(code.get(at + 4..).unwrap_or_default()), 4, at));
    }
    // What is handed to a block or a small function: `xs.each do |x|`, `xs.map(x => …)`, `xs.forEach { x -> …`.
    let arrow = code
        .find("=>")
        .or_else(|| code.find("->").filter(|_| matches!(lang, CodeLanguage::Kt | CodeLanguage::Java)));
    if let Some(at) = arrow {
        let before = code.get(..at).unwrap_or_default().trim_end();
        let open = if before.ends_with(')') { before.rfind('(') } else { before.rfind(['(', '{', ' ']) };
        if let Some(open) = open.filter(|open| *open > 0) {
            let names = words(before.get(open..).unwrap_or_default());
            let receiver = before
                .get(..open)
                .unwrap_or_default()
                .trim_end()
                .trim_end_matches(['(', '{', ' '])
                .trim_end_matches("async")
                .trim_end_matches(['(', ' ']);
            if receiver.contains('.') && !receiver.ends_with('=') {
                all.push((names, 0, receiver.rfind('.').unwrap_or(0)));
            }
        }
    }
    if matches!(lang, CodeLanguage::Rb | CodeLanguage::Rs) {
        let mut bars = code.match_indices('|').map(|(at, _)| at);
        if let (Some(open), Some(close)) = (bars.next(), bars.next()) {
            let names = words(code.get(open + 1..close).unwrap_or_default());
            let receiver = code.get(..open).unwrap_or_default();
            let end = receiver.rfind('.').unwrap_or(0);
            if end > 0 && close > open + 1 {
                all.push((names, 0, end));
            }
        }
    }
    all
}
