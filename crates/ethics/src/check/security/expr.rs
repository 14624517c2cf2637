//! What a piece of code may hold: how far its values come from, and what was done to them.

use std::collections::{BTreeMap, BTreeSet};

use super::lang::CodeLanguage;
use super::logical::{CodeStatement, PUT_IN, PUT_OUT};
use super::table::{ALL, PARAMETER, TaintTable};
pub(super) use super::taint::Taint;

/// How deep calls are looked into.
const DEEPEST: usize = 12;

/// What is known at one place in a file.
#[derive(Debug, Clone, Default)]
pub(super) struct ValueScope {
    pub(super) vars: BTreeMap<String, Taint>,
    /// What a variable was made from.
    pub(super) from: BTreeMap<String, Vec<String>>,
    /// Expressions from outside that were checked.
    pub(super) checked: BTreeSet<String>,
    pub(super) indent: usize,
    pub(super) function: String,
    /// Nothing outside of the added lines is known.
    pub(super) partial: bool,
}

/// What functions of the file give back and are given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FunctionFlows {
    pub(super) returns: BTreeMap<String, Taint>,
    pub(super) given: BTreeMap<(String, usize), u8>,
}

/// A name with everything that hangs on it: `a.b(c)[d].e`.
#[derive(Debug)]
pub(super) struct NameChain {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) links: Vec<ChainLink>,
}

#[derive(Debug)]
pub(super) enum ChainLink {
    /// The name so far ends here.
    Name(usize),
    /// The inside of parentheses.
    Call(usize, usize),
    /// The inside of brackets.
    Index(usize, usize),
}

pub(super) struct ExpressionReader<'a> {
    pub(super) table: &'a TaintTable,
    pub(super) lang: CodeLanguage,
    pub(super) statement: &'a CodeStatement,
    pub(super) sources: Vec<(usize, usize, u8)>,
    pub(super) scope: &'a ValueScope,
    pub(super) known: &'a FunctionFlows,
}

impl<'a> ExpressionReader<'a> {
    pub(super) fn new(
        table: &'a TaintTable,
        lang: CodeLanguage,
        statement: &'a CodeStatement,
        scope: &'a ValueScope,
        known: &'a FunctionFlows,
    ) -> Self {
        let mut sources = Vec::new();
        for number in table.source_set.matches(&statement.text) {
            let Some((pattern, level)) = table.sources.get(number) else { continue };
            sources.extend(pattern.find_iter(&statement.text).map(|hit| (hit.start(), hit.end(), *level)));
        }
        sources.sort_unstable();
        Self { table, lang, statement, sources, scope, known }
    }

    fn code(&self, from: usize, to: usize) -> &'a str {
        self.statement.code.get(from..to).unwrap_or_default()
    }

    pub(super) fn text(&self, from: usize, to: usize) -> &'a str {
        self.statement.text.get(from..to).unwrap_or_default()
    }

    fn byte(&self, at: usize) -> u8 {
        self.statement.code.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// The end of the brackets that open at a place, which is the place of the closing one.
    pub(super) fn closing(&self, open: usize, to: usize) -> usize {
        let mut depth = 0usize;
        for at in open..to {
            match self.byte(at) {
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
        to
    }

    /// The parts between commas.
    pub(super) fn arguments(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut start, mut depth, mut put) = (Vec::new(), from, 0usize, 0usize);
        for at in from..to {
            match self.byte(at) {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                PUT_IN => put += 1,
                PUT_OUT => put = put.saturating_sub(1),
                b',' if depth == 0 && put == 0 => {
                    parts.push((start, at));
                    start = at + 1;
                }
                _ => {}
            }
        }
        if start < to {
            parts.push((start, to));
        }
        parts
    }

    /// The chain that begins at a name.
    pub(super) fn chain(&self, start: usize, to: usize) -> NameChain {
        let mut links = Vec::new();
        let mut at = self.word(start, to);
        links.push(ChainLink::Name(at));
        while at < to {
            let rest = self.code(at, to);
            let marks = [".", "->", "::", "?.", "?->", "!!.", "!.", ":", "?:"];
            let usual = if self.lang == CodeLanguage::Lua { 8 } else { 7 };
            let mark = marks.iter().take(usual).rev().find(|mark| rest.starts_with(**mark));
            let next = mark.map(|mark| at + mark.len());
            match (next, self.byte(at)) {
                (Some(next), _) if is_start(self.byte(next)) => {
                    at = self.word(next, to);
                    links.push(ChainLink::Name(at));
                }
                (Some(next), _) if matches!(self.byte(next), b'<' | b'(' | b'[' | b'{') => at = next,
                (_, b'(') => {
                    let end = self.closing(at, to);
                    links.push(ChainLink::Call(at + 1, end));
                    at = (end + 1).min(to);
                }
                (_, b'[') => {
                    let end = self.closing(at, to);
                    links.push(ChainLink::Index(at + 1, end));
                    at = (end + 1).min(to);
                }
                (_, b'{')
                    if self.lang == CodeLanguage::Pl
                        || (self.lang == CodeLanguage::Sh && at == start + 1) =>
                {
                    let end = self.closing(at, to);
                    links.push(ChainLink::Index(at + 1, end));
                    at = (end + 1).min(to);
                }
                (_, b'!') if matches!(self.byte(at + 1), b'(' | b'[' | b'.' | b')' | b',') => at += 1,
                (_, b'?')
                    if matches!(self.byte(at + 1), b'.' | b';' | b')' | b',' | b'[')
                        || self.lang == CodeLanguage::Rs =>
                {
                    at += 1
                }
                (_, b'<') => match self.generics(at, to) {
                    Some(end) => at = end,
                    None => break,
                },
                (_, b' ') => {
                    // A chain may go on on the next line.
                    let ahead = rest.len() - rest.trim_start().len();
                    let next = rest.trim_start();
                    if ahead > 1
                        && (next.starts_with('.') || next.starts_with("?.") || next.starts_with("->"))
                    {
                        at += ahead;
                    } else {
                        break;
                    }
                }
                _ => break,
            }
        }
        NameChain { start, end: at, links }
    }

    /// The end of type arguments that a call follows.
    fn generics(&self, at: usize, to: usize) -> Option<usize> {
        let rest = self.code(at, to.min(at + 120));
        let mut depth = 0usize;
        for (offset, byte) in rest.bytes().enumerate() {
            match byte {
                b'<' => depth += 1,
                b'>' => {
                    depth -= 1;
                    if depth == 0 {
                        return (self.byte(at + offset + 1) == b'(').then_some(at + offset + 1);
                    }
                }
                b' ' | b',' | b'_' | b'.' | b'?' | b'[' | b']' | b':' | b'&' => {}
                byte if byte.is_ascii_alphanumeric() => {}
                _ => return None,
            }
        }
        None
    }

    fn word(&self, from: usize, to: usize) -> usize {
        let mut at = from;
        while at < to && (is_start(self.byte(at)) && at == from || is_inner(self.byte(at))) {
            at += 1;
        }
        at.max(from + 1).min(to.max(from))
    }

    /// What a piece of code may hold.
    pub(super) fn taint(&self, from: usize, to: usize) -> Taint {
        self.within(from, to, 0)
    }

    fn within(&self, from: usize, to: usize, depth: usize) -> Taint {
        let mut all = Taint::default();
        if depth > DEEPEST || from >= to {
            return all;
        }
        let (from, skip) = self.conditions(from, to);
        if self.table.constant.is_match(self.text(from, to)) {
            return all;
        }
        let (mut at, mut put, mut first) = (from, false, None);
        let (mut pieces, mut joined, mut literal) = (0usize, false, false);
        while at < to {
            if skip.is_some_and(|(start, end)| at >= start && at < end) {
                at = skip.map_or(to, |(_, end)| end);
                continue;
            }
            let byte = self.byte(at);
            match byte {
                PUT_IN => put = true,
                PUT_OUT => put = false,
                b'"' => {
                    let end = self.end_of_text(at, to);
                    let words = self.text(at + 1, end);
                    if end > at + 1 {
                        literal = true;
                        pieces += usize::from(!put);
                    }
                    if first.is_none() {
                        first = self.begins_fixed(words, self.byte(end) == PUT_IN);
                    }
                    if all.words.len() < 2000 {
                        all.words.push_str(words);
                    }
                    at = if self.byte(end) == PUT_IN { end } else { end + 1 };
                    continue;
                }
                b'+' if self.byte(at + 1) != b'+' => joined = true,
                b'.' if matches!(self.lang, CodeLanguage::Php | CodeLanguage::Pl)
                    && !self.byte(at + 1).is_ascii_digit() =>
                {
                    joined = true
                }
                b'.' if self.lang == CodeLanguage::Lua && self.byte(at + 1) == b'.' => joined = true,
                b'<' if self.byte(at + 1) == b'>'
                    || (self.byte(at + 1) == b'<' && self.lang == CodeLanguage::C) =>
                {
                    joined = true
                }
                b'|' if self.lang == CodeLanguage::Sql && self.byte(at + 1) == b'|' => joined = true,
                b'&' if self.lang == CodeLanguage::Cs
                    && self.byte(at + 1) == b' '
                    && self.byte(at.wrapping_sub(1)) == b' ' =>
                {
                    joined = true
                }
                b'%' if literal && matches!(self.lang, CodeLanguage::Py | CodeLanguage::Rb) => joined = true,
                b'/' if self.lang == CodeLanguage::Py && self.byte(at + 1) == b' ' => joined = true,
                _ if is_start(byte) && !is_inner(self.byte(at.wrapping_sub(1))) => {
                    let chain = self.chain(at, to);
                    if let Some(end) = self.bound_text(&chain, to) {
                        at = end;
                        continue;
                    }
                    let one = self.of_chain(&chain, depth);
                    if one.level > 0 {
                        let mut one = one;
                        one.built |= put;
                        let plain = first.is_none();
                        if plain && !one.fixed {
                            first = Some(false);
                        } else if plain {
                            first = Some(true);
                        }
                        all.join(&one);
                    } else if !one.words.is_empty() {
                        all.words.push_str(&one.words);
                        first = first.or(Some(one.fixed));
                    } else if first.is_none() && !is_keyword(self.code(chain.start, chain.end)) {
                        first = Some(true);
                    }
                    pieces += 1;
                    at = chain.end.max(at + 1);
                    // What is inside of a text goes on with it.
                    if put && self.byte(at) == PUT_OUT {
                        at += 1;
                        put = false;
                        let end = self.end_of_text(at.saturating_sub(1), to);
                        if all.words.len() < 2000 {
                            all.words.push('\u{1}');
                            all.words.push_str(self.text(at, end));
                        }
                        at = if self.byte(end) == PUT_IN { end } else { end + 1 };
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        all.built |= all.level > 0 && joined && pieces > 1;
        all.fixed = first == Some(true);
        all
    }

    /// The end of a text whose values are bound by what stands ahead of it: `sql"…"`.
    pub(super) fn bound_text(&self, chain: &NameChain, to: usize) -> Option<usize> {
        let name = self.code(chain.start, chain.end);
        let tag = matches!(self.lang, CodeLanguage::Js | CodeLanguage::Scala)
            && (matches!(
                name,
                "sql" | "fr" | "fr0" | "SQL" | "Prisma.sql" | "sqlu" | "cql" | "html" | "gql"
            ) || name.ends_with(".sql")
                || name.ends_with("queryRaw")
                || name.ends_with("executeRaw"));
        if !tag || self.byte(chain.end) != b'"' {
            return None;
        }
        let mut put = 0usize;
        for at in chain.end + 1..to {
            match self.byte(at) {
                PUT_IN => put += 1,
                PUT_OUT => put = put.saturating_sub(1),
                // `#$x` is put in as it is.
                b'"' if put == 0 => return (!self.text(chain.end, at).contains("#$")).then_some(at + 1),
                _ => {}
            }
        }
        Some(to)
    }

    /// Where a text ends, or a value is put into it.
    fn end_of_text(&self, open: usize, to: usize) -> usize {
        (open + 1..to).find(|at| matches!(self.byte(*at), b'"' | PUT_IN)).unwrap_or(to)
    }

    /// Whether a text's beginning says where it leads; nothing when that is up to what follows.
    fn begins_fixed(&self, words: &str, put: bool) -> Option<bool> {
        let words = words.trim_start();
        let header = ["Location:", "location:", "Refresh:"].iter().find_map(|name| words.strip_prefix(name));
        let words = header.unwrap_or(words).trim_start();
        if words.is_empty() || words.starts_with(['%', '{']) {
            return None;
        }
        let rest = words.split_once("://").map(|(_, rest)| rest);
        match rest {
            Some(host) => Some(
                host.contains('/') && !host.starts_with(['/', '%', '{'])
                    || (!put
                        && !host.is_empty()
                        && !host.ends_with("%s")
                        && !host.starts_with(['%', '{'])
                        && !host.contains("{}")),
            ),
            None => Some(
                words.len() > 1
                    && !words.starts_with("//")
                    && !words.starts_with("/%")
                    && !words.starts_with("/{"),
            ),
        }
    }

    /// A piece without the condition that chooses between its values.
    fn conditions(&self, from: usize, to: usize) -> (usize, Option<(usize, usize)>) {
        let code = self.code(from, to);
        if self.lang == CodeLanguage::Py {
            let range = code.find(" if ").and_then(|start| {
                code.get(start..)?.find(" else ").map(|end| (from + start, from + start + end + 6))
            });
            return (from, range);
        }
        let mut depth = 0usize;
        let mut condition = None;
        let bytes = code.as_bytes();
        for (offset, byte) in bytes.iter().enumerate() {
            match byte {
                b'(' | b'[' | b'{' | &PUT_IN => depth += 1,
                b')' | b']' | b'}' | &PUT_OUT => depth = depth.saturating_sub(1),
                b'?' if depth == 0 && bytes.get(offset + 1) == Some(&b' ') && condition.is_none() => {
                    condition = Some(offset)
                }
                b':' if depth == 0 && condition.is_some() => return (from + condition.unwrap_or(0), None),
                _ => {}
            }
        }
        if code.trim_start().starts_with("if")
            && matches!(self.lang, CodeLanguage::Kt | CodeLanguage::Scala | CodeLanguage::Rs)
        {
            let open = code.find(['(', '{']).map_or(to, |at| from + at);
            return (self.closing(open, to).min(to), None);
        }
        (from, None)
    }

    /// What a chain may hold.
    pub(super) fn of_chain(&self, chain: &NameChain, depth: usize) -> Taint {
        let mut current = Taint::default();
        let mut looked = false;
        let head_end = chain.links.iter().take_while(|link| matches!(link, ChainLink::Name(_))).count();
        let names_end = chain.links.get(head_end.saturating_sub(1)).map_or(chain.end, |link| match link {
            ChainLink::Name(end) => *end,
            _ => chain.end,
        });
        let source = self
            .sources
            .iter()
            .find(|(start, _, _)| {
                (chain.start..chain.end.min(names_end.max(chain.start + 1))).contains(start)
            })
            .or_else(|| {
                self.sources.iter().find(|(start, end, _)| *start < chain.start && *end > chain.start)
            });
        let until = source.map_or(0, |(_, end, _)| *end);
        if let Some((start, _, level)) = source {
            let text = self.text(*start, chain.end).trim();
            if !self.scope.checked.iter().any(|one| text.starts_with(one.as_str())) {
                current.level = *level;
            }
            looked = true;
        }
        let mut name_end = chain.start;
        for link in &chain.links {
            match link {
                ChainLink::Name(end) => {
                    name_end = *end;
                    let path = self.code(chain.start, *end);
                    if let Some(one) = self.scope.vars.get(path.trim_start_matches('&')) {
                        if *end > until || (*end == until && self.lang == CodeLanguage::Sql) {
                            current = one.clone();
                            looked = true;
                        }
                    } else if !looked && self.scope.partial && chain.links.len() == 1 && is_plain_name(path) {
                        current = Taint::of(PARAMETER);
                    }
                    if *end > until
                        && self.table.forgets.is_match(self.code(chain.start, *end))
                        && !matches!(self.byte(*end), b'(')
                    {
                        current = Taint::default();
                    }
                }
                ChainLink::Index(..) => looked = true,
                ChainLink::Call(from, to) => {
                    looked = true;
                    if *to < until && *from < until {
                        continue;
                    }
                    let name = self.code(chain.start, name_end);
                    let with_types = self.code(chain.start, from.saturating_sub(1));
                    current = self.of_call(name, with_types, *from, *to, current, depth);
                }
            }
        }
        current
    }

    fn of_call(
        &self,
        name: &str,
        with_types: &str,
        from: usize,
        to: usize,
        base: Taint,
        depth: usize,
    ) -> Taint {
        let mut given = Taint::default();
        for (number, (start, end)) in self.arguments(from, to).into_iter().enumerate() {
            let one = self.within(start, end, depth + 1);
            if number == 0 {
                given.fixed = one.fixed;
            }
            given.join(&one);
        }
        if base.level == 0 && given.level == 0 {
            let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
            if let Some(known) = self.known.returns.get(last) {
                return known.clone();
            }
            return given;
        }
        if self.table.forgets.is_match(name) {
            return Taint::default();
        }
        let mut safe = 0;
        for (pattern, bits) in &self.table.cleaners {
            if pattern.is_match(with_types)
                || pattern.is_match(self.text(from.saturating_sub(1 + with_types.len()), to))
            {
                safe |= bits;
            }
        }
        if safe == ALL {
            return Taint::default();
        }
        let formats = self.table.formats.is_match(name);
        let hands_on = base.level > 0 || formats || self.table.hands_on.is_match(name);
        let mut out = base.clone();
        if !hands_on {
            // Who knows what an unknown function makes of it.
            given.level = given.level.min(PARAMETER);
            given.built = false;
        }
        let fixed = if base.level > 0 { base.fixed } else { given.fixed };
        out.join(&given);
        out.built |= formats && out.level > 0;
        out.fixed = fixed;
        out.safe |= safe;
        out
    }

    /// The names in a piece that are not written out.
    pub(super) fn names(&self, from: usize, to: usize) -> Vec<(String, NameChain)> {
        let mut names = Vec::new();
        let mut at = from;
        while at < to {
            if is_start(self.byte(at)) && !is_inner(self.byte(at.wrapping_sub(1))) {
                let chain = self.chain(at, to);
                let end =
                    chain.links.iter().take_while(|link| matches!(link, ChainLink::Name(_))).filter_map(
                        |link| match link {
                            ChainLink::Name(end) => Some(*end),
                            _ => None,
                        },
                    );
                let path = self.code(at, end.last().unwrap_or(at + 1)).to_owned();
                at = self.word(at, to);
                names.push((path, chain));
            } else {
                at += 1;
            }
        }
        names
    }
}

pub(super) fn is_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'@')
}

fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn is_plain_name(path: &str) -> bool {
    path.len() > 1 && !path.chars().any(|c| c.is_ascii_uppercase()) && !is_keyword(path)
}

/// Words that are no names.
pub(super) fn is_keyword(word: &str) -> bool {
    const WORDS: [&str; 58] = [
        "if", "else", "for", "while", "return", "new", "await", "async", "const", "let", "var", "val", "in",
        "of", "not", "and", "or", "is", "as", "from", "import", "true", "false", "null", "nil", "None",
        "True", "False", "this", "self", "try", "catch", "throw", "raise", "with", "def", "fn", "func",
        "function", "lambda", "do", "end", "then", "switch", "case", "match", "yield", "mut", "ref", "out",
        "final", "static", "public", "private", "my", "local", "echo", "print",
    ];
    WORDS.contains(&word)
}
