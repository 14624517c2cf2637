//! People's data, told by the names it goes under, on its way to where it does not belong.

use std::cell::Cell;
use std::collections::BTreeMap;

use holon_core::artifact::ethics::RiskLevel;

use super::expr::{ChainLink, ExpressionReader, FunctionFlows, ValueScope, is_keyword};
use super::lang::CodeLanguage;
use super::logical::{CodeStatement, PUT_IN, PUT_OUT};
use super::personal_words::{PersonalFlowTable, TABLE};
use super::plain::RuleHit;
use super::scope::{assigned, bound};
use super::table;

/// How many statements around a file's opening may write people's data into it.
const REACH: usize = 14;

/// How deep calls are looked into.
const DEEPEST: usize = 2;

/// How personal something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PersonalDegree {
    /// A person or a request as a whole.
    Whole,
    Ordinary,
    Special,
}

/// The statements that hand people's data on.
pub(super) fn find(
    lang: CodeLanguage,
    statements: &[CodeStatement],
    functions: &[String],
) -> Result<Vec<RuleHit<'static>>, String> {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let flow = table::of(lang)?;
    let (scope, known) = (ValueScope::default(), FunctionFlows::default());
    let mut hits = Vec::new();
    let mut carries: BTreeMap<String, PersonalDegree> = BTreeMap::new();
    let mut urls: BTreeMap<String, String> = BTreeMap::new();
    let mut block: Option<usize> = None;
    let mut filling: Option<(usize, Vec<String>)> = None;
    let mut public_paths: BTreeMap<String, u64> = BTreeMap::new();
    for (at, statement) in statements.iter().enumerate() {
        let reading = ExpressionReader {
            table: flow,
            lang,
            statement,
            sources: Vec::new(),
            scope: &scope,
            known: &known,
        };
        let see = PersonalDataView { table, reading: &reading, carries: &carries, depth: Cell::new(0) };
        let mut told = |rule: &'static str, what: &'static str, at: usize| {
            hits.push((rule, what, RiskLevel::High, statement.line(at)));
        };
        let code = statement.code.as_str();
        for (pattern, rule, what) in [
            (&table.telemetry, "personal-data-in-telemetry", "sends people's data to telemetry"),
            (&table.logs, "personal-data-in-logs", "writes people's data into logs"),
        ] {
            for hit in pattern.find_iter(code) {
                let open = hit.end().saturating_sub(1);
                let to = reading.closing(open, code.len());
                let whole = rule == "personal-data-in-logs"
                    && matches!(
                        lang,
                        CodeLanguage::Js
                            | CodeLanguage::Py
                            | CodeLanguage::Go
                            | CodeLanguage::Rb
                            | CodeLanguage::Php
                            | CodeLanguage::Rs
                    );
                if rule == "personal-data-in-telemetry" && see.columns() {
                    told(rule, what, hit.start());
                }
                if let Some((place, kind)) = see.personal(open + 1, to) {
                    let plain = lang == CodeLanguage::Py && hit.as_str().contains("print");
                    if kind > PersonalDegree::Whole || (whole && !plain) || see.spread(open + 1, to) {
                        told(rule, what, place.max(hit.start()));
                    }
                }
            }
        }
        // What stands in the block of such a call is handed on as well.
        block = block.filter(|indent| statement.indent > *indent);
        if block.is_some()
            && let Some((place, _)) =
                see.personal(0, code.len()).filter(|(_, kind)| *kind > PersonalDegree::Whole)
        {
            told("personal-data-in-telemetry", "sends people's data to telemetry", place);
        }
        if table.telemetry.is_match(code) && code.trim_end().ends_with('{') && !code.contains("=>") {
            block = Some(statement.indent);
        }
        if table.logs_bare.is_match(code)
            && !matches!(lang, CodeLanguage::Py | CodeLanguage::Go | CodeLanguage::Java)
        {
            let redirected = matches!(lang, CodeLanguage::Sh | CodeLanguage::Ps)
                && code.contains(['|', '>'])
                && !code.contains("logger")
                && !code.contains(".log");
            if let Some((place, kind)) = see.personal(0, code.len()).filter(|_| !redirected)
                && kind > PersonalDegree::Whole
            {
                told("personal-data-in-logs", "writes people's data into logs", place);
            }
        }
        for hit in table.sends.find_iter(code) {
            let open = hit.end().saturating_sub(1);
            let to = if code.as_bytes().get(open) == Some(&b'(') {
                reading.closing(open, code.len())
            } else {
                code.len()
            };
            let text = reading.text(hit.start(), to);
            let named = reading
                .names(hit.start(), to)
                .into_iter()
                .filter_map(|(name, _)| {
                    let head = name.split('.').next().unwrap_or_default();
                    urls.get(&name).or_else(|| urls.get(head)).cloned()
                })
                .collect::<Vec<_>>()
                .join(" ");
            let broker = table.vendors.is_match(text)
                || table.brokers.is_match(text)
                || table.brokers.is_match(&named)
                || table.brokers.is_match(&hit.as_str().replace(['.', '_'], "://."));
            let outside = text.contains("://") || named.contains("://");
            let listed = see.columns().then_some((hit.start(), PersonalDegree::Ordinary));
            let Some((place, kind)) = see.personal(hit.end(), to).or(listed) else { continue };
            if (broker || (outside && kind == PersonalDegree::Special)) && !text.contains("mailto:") {
                told("personal-data-to-third-party", "sends people's data to somebody else", place);
            }
        }
        if let Some(place) = see.in_address() {
            told("personal-data-in-address", "puts people's data into an address", place);
        }
        let public = table.public_files.find_iter(&statement.text).next().map(|hit| hit.start());
        let named =
            reading.names(0, code.len()).into_iter().find_map(|(name, _)| public_paths.get(&name).copied());
        if table.writes.is_match(&statement.text) && (public.is_some() || named.is_some()) {
            let from = at.saturating_sub(REACH);
            let around = statements.get(from..statements.len().min(at + REACH)).unwrap_or_default();
            let same = |offset: usize| functions.get(from + offset) == functions.get(at);
            let personal = around.iter().enumerate().filter(|(offset, _)| same(*offset)).any(|(_, one)| {
                let reading = ExpressionReader {
                    table: flow,
                    lang,
                    statement: one,
                    sources: Vec::new(),
                    scope: &scope,
                    known: &known,
                };
                let see =
                    PersonalDataView { table, reading: &reading, carries: &carries, depth: Cell::new(0) };
                see.personal(0, one.code.len()).is_some_and(|(_, kind)| kind > PersonalDegree::Whole)
                    || see.columns()
            });
            if personal {
                let what = "writes people's data where everybody can read it";
                told("personal-data-in-public-file", what, public.unwrap_or(0));
                if let Some(line) = named {
                    hits.push(("personal-data-in-public-file", what, RiskLevel::High, line));
                }
            }
        }
        let mut new = Vec::new();
        for (targets, from, to, _) in assigned(lang, code) {
            let whole = table.bulk.is_match(bulky(code.get(from..to).unwrap_or_default()));
            let kind =
                see.personal(from, to).map(|(_, kind)| kind).filter(|kind| *kind > PersonalDegree::Whole);
            let selects = reading.text(from, to).to_ascii_lowercase().contains("select ") && see.columns();
            let kind = kind.or(selects.then_some(PersonalDegree::Ordinary));
            if let Some(kind) = kind.or(whole.then_some(PersonalDegree::Whole)) {
                new.extend(targets.iter().map(|target| (target.clone(), Some(kind))));
            } else {
                new.extend(targets.iter().map(|target| (target.clone(), None)));
            }
            let text = reading.text(from, to);
            if table.public_files.is_match(text) && text.contains(['"', '\'']) && text.contains('/') {
                public_paths.extend(targets.iter().map(|target| (target.clone(), statement.line(from))));
            }
            if let Some(url) =
                text.find("http").and_then(|at| text.get(at..)).filter(|url| url.starts_with("http"))
            {
                let url: String = url.chars().take_while(|c| !matches!(c, '"' | '\'' | '`' | ' ')).collect();
                urls.extend(targets.iter().map(|target| (target.clone(), url.clone())));
            }
        }
        for hit in flow.appends.captures_iter(code) {
            let (Some(target), Some(call)) = (hit.name("target"), hit.get(0)) else { continue };
            let to = reading.closing(call.end().saturating_sub(1), code.len());
            let kind = see
                .personal(call.end(), to)
                .map(|(_, kind)| kind)
                .filter(|kind| *kind > PersonalDegree::Whole);
            if let Some(kind) = kind {
                new.push((target.as_str().to_owned(), Some(kind)));
            }
        }
        filling = filling.filter(|(indent, _)| statement.indent > *indent);
        if let (Some((_, targets)), Some((_, kind))) = (&filling, see.personal(0, code.len())) {
            new.extend(targets.iter().map(|target| (target.clone(), Some(kind))));
        }
        let fills = ["apply {", "also {", "buildJsonObject {", "buildMap {", "tap do", "{"];
        if code.contains('=') && fills.iter().take(5).any(|end| code.trim_end().ends_with(end)) {
            let targets = assigned(lang, code).into_iter().flat_map(|(targets, ..)| targets).collect();
            filling = Some((statement.indent, targets));
        }
        for (targets, from, to) in bound(lang, code) {
            let owner = code
                .get(from..to)
                .unwrap_or_default()
                .trim()
                .trim_end_matches(['.', ' ', ':', '{', '(', ')']);
            let owner = owner.rsplit(['.', ' ', '>', '(']).next().unwrap_or_default();
            if table.person.is_match(&spelled(owner)) {
                new.extend(targets.into_iter().map(|target| (target, Some(PersonalDegree::Whole))));
            }
        }
        for (name, kind) in new {
            match kind {
                Some(kind) => carries.insert(name, kind),
                None => carries.remove(&name),
            };
        }
    }
    Ok(hits)
}

struct PersonalDataView<'a> {
    table: &'a PersonalFlowTable,
    reading: &'a ExpressionReader<'a>,
    carries: &'a BTreeMap<String, PersonalDegree>,
    depth: Cell<usize>,
}

impl PersonalDataView<'_> {
    /// The most personal thing in a piece of code, and where it stands.
    fn personal(&self, from: usize, to: usize) -> Option<(usize, PersonalDegree)> {
        if self.depth.get() > DEEPEST {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let found = self.within(from, to);
        self.depth.set(self.depth.get() - 1);
        found
    }

    fn within(&self, from: usize, to: usize) -> Option<(usize, PersonalDegree)> {
        let mut best: Option<(usize, PersonalDegree)> = None;
        let mut until = from;
        for (_, chain) in self.reading.names(from, to) {
            if chain.start < until {
                continue;
            }
            let text = self.reading.text(chain.start, chain.end);
            let calls = chain.links.iter().any(|link| matches!(link, ChainLink::Call(..)));
            // A key is only a name: `email: x`, `email = x`.
            let after = self.reading.statement.code.get(chain.end..to).unwrap_or_default().trim_start();
            let key = (after.starts_with(':') && !after.starts_with("::"))
                || after.starts_with("=>")
                || (after.starts_with('=') && !after.starts_with("=="));
            if key && !matches!(self.reading.lang, CodeLanguage::Rb) {
                continue;
            }
            let rest = self.reading.text(chain.end, to);
            let rest = rest.get(..rest.len().min(60)).unwrap_or_default();
            let hidden = rest.trim_start().starts_with(", privacy: .private")
                || rest.trim_start().starts_with(", privacy: .sensitive");
            if hidden || self.table.harmless.is_match(text) {
                until = chain.end;
                continue;
            }
            let Some(kind) = self.kind(&chain, text, calls) else { continue };
            if best.is_none_or(|(_, other)| kind > other) {
                best = Some((chain.start, kind));
            }
        }
        best
    }

    fn kind(&self, chain: &super::expr::NameChain, text: &str, calls: bool) -> Option<PersonalDegree> {
        let code = self.reading.statement.code.as_str();
        let head = code.get(chain.start..chain.end).unwrap_or_default();
        let plain: String = head
            .chars()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '>' | '-'))
            .collect();
        if let Some(kind) = self.carries.get(plain.trim_end_matches(['.', '-'])) {
            return Some(*kind);
        }
        if let Some((owner, method)) = plain.rsplit_once('.') {
            let same = [
                "to_string",
                "tostring",
                "toString",
                "to_s",
                "encode",
                "Encode",
                "dumps",
                "toJSON",
                "to_json",
                "join",
            ]
            .contains(&method);
            if let Some(kind) = self.carries.get(owner).filter(|_| same) {
                return Some(*kind);
            }
        }
        // The last name, or the text of the last index.
        let mut last = String::new();
        let mut before = chain.start;
        for link in &chain.links {
            match link {
                ChainLink::Name(end) => {
                    let name = code.get(before..*end).unwrap_or_default();
                    last = name.trim_start_matches(|c: char| !(c.is_alphanumeric() || c == '_')).to_owned();
                    before = *end;
                }
                ChainLink::Index(from, to) => {
                    let inner = self.reading.text(*from, *to).trim().trim_matches(['"', '\'', ':', '`']);
                    if inner.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
                        && inner.chars().any(char::is_alphabetic)
                    {
                        last = inner.to_owned();
                    }
                    before = *to + 1;
                }
                ChainLink::Call(from, to) => {
                    before = *to + 1;
                    let inner = self.reading.text(*from, *to).trim();
                    let getter = last.starts_with("get") && last.len() > 3;
                    if getter && inner.is_empty() {
                        last = last.trim_start_matches("get_").trim_start_matches("get").to_owned();
                    } else if matches!(
                        last.as_str(),
                        "get"
                            | "fetch"
                            | "getString"
                            | "get_string"
                            | "input"
                            | "getParameter"
                            | "dig"
                            | "post"
                    ) && inner.starts_with(['"', '\'', ':'])
                    {
                        last = inner
                            .trim_matches(['"', '\'', ':', ' '])
                            .split(['"', '\''])
                            .next()
                            .unwrap_or_default()
                            .to_owned();
                    } else if !inner.is_empty() {
                        // What a function makes of what it is given is told by its arguments.
                        let (from, to) = (*from, *to);
                        if let Some((_, kind)) = self.personal(from, to) {
                            let makes = [
                                "str",
                                "String",
                                "JSON.stringify",
                                "json.dumps",
                                "Sprintf",
                                "Some",
                                "repr",
                                "vars",
                                "asdict",
                                "to_json",
                                "toJson",
                                "print_r",
                                "json_encode",
                                "Any",
                                "zap.String",
                                "slog.String",
                                "attribute.String",
                                "Str",
                                "String.valueOf",
                                "Objects.toString",
                                "dict",
                                "dumps",
                                "inspect",
                                "encodeURIComponent",
                                "format",
                                "encode",
                                "kv",
                                "KeyValue::new",
                                "field",
                                "Reflect",
                                "hash_never",
                                "map",
                                "JSON.generate",
                                "var_export",
                                "any",
                                "string",
                                "Value",
                                "Marshal",
                                "Jason.encode!",
                                "urlencode",
                                "concat",
                                "join",
                                "f",
                            ];
                            let turns = ["json", "encode", "string", "dump", "serialize", "format", "render"];
                            let named = head.split('(').next().unwrap_or_default().to_ascii_lowercase();
                            let known = turns.iter().any(|word| named.contains(word))
                                || makes.iter().any(|make| head.starts_with(make))
                                || head.starts_with(|c: char| c.is_uppercase());
                            return known.then_some(kind);
                        }
                        last.clear();
                    }
                }
            }
        }
        let name = spelled(&last);
        if name.is_empty() || is_keyword(&name) {
            return None;
        }
        if self.table.special.is_match(&name) {
            let vague = [
                "lat",
                "lon",
                "lng",
                "pan",
                "race",
                "tin",
                "tel",
                "sin",
                "coordinates",
                "coordinate",
                "treatment",
                "income",
                "latitude",
                "longitude",
                "account_number",
            ];
            let alone = chain.links.len() == 1;
            return (!(alone && vague.contains(&name.as_str()) && name.len() < 5))
                .then_some(PersonalDegree::Special);
        }
        if self.table.ordinary.is_match(&name) {
            return Some(PersonalDegree::Ordinary);
        }
        if self.table.bulk.is_match(&plain) && !calls {
            return Some(PersonalDegree::Whole);
        }
        let owner = self.table.person.is_match(&spelled(
            plain.rsplit_once('.').map_or("", |(left, _)| left.rsplit('.').next().unwrap_or_default()),
        ));
        if owner
            && matches!(
                name.as_str(),
                "name" | "address" | "location" | "age" | "gender" | "notes" | "addresses"
            )
        {
            return Some(PersonalDegree::Ordinary);
        }
        if self.table.person.is_match(&name) && !calls && !text.contains('(') {
            return Some(PersonalDegree::Whole);
        }
        None
    }

    /// Whether a person is written out with every field.
    fn spread(&self, from: usize, to: usize) -> bool {
        let text = self.reading.text(from, to);
        [
            "JSON.stringify(",
            "json.dumps(",
            "__dict__",
            "vars(",
            "asdict(",
            "model_dump",
            "to_json",
            "toJson",
            ".to_dict",
            "...",
            "%+v",
            "print_r",
            "json_encode",
            "serialize",
            "inspect",
            "{:?}",
            "{:#?}",
            "**",
        ]
        .iter()
        .any(|word| text.contains(word))
    }

    /// Where a person's data is put behind a question mark.
    fn in_address(&self) -> Option<usize> {
        let statement = self.reading.statement;
        if let Some(hit) = self.table.query_calls.find_iter(&statement.text).next() {
            return Some(hit.start());
        }
        if !statement.text.contains(['?', '&']) || !statement.text.contains('=') {
            return None;
        }
        let code = statement.code.as_bytes();
        let mut start = 0;
        for (at, byte) in code.iter().enumerate() {
            match *byte {
                b'"' | PUT_OUT => {
                    let words = statement.text.get(start..at).unwrap_or_default();
                    let rest = statement.code.get(at + 1..).unwrap_or_default().trim_start();
                    let joined = *byte == b'"'
                        && ["+", ".", "<<", "||", "&", "..", "<>"].iter().any(|sign| rest.starts_with(sign));
                    if joined && self.table.query.is_match(words) {
                        return Some(at);
                    }
                    let filled = words
                        .replace("%s", "\u{1}")
                        .replace("{}", "\u{1}")
                        .replace("%v", "\u{1}")
                        .replace("%@", "\u{1}")
                        .replace("{0}", "\u{1}");
                    let placed =
                        filled.split('\u{1}').rev().skip(1).any(|part| self.table.query.is_match(part));
                    if *byte == b'"' && placed {
                        return Some(at);
                    }
                    start = at + 1;
                }
                PUT_IN => {
                    let words = statement.text.get(start..at).unwrap_or_default();
                    if self.table.query.is_match(words) {
                        return Some(at);
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        None
    }

    /// Whether columns of people are named in a text.
    fn columns(&self) -> bool {
        let text = &self.reading.statement.text;
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 2);
        words
            .filter(|word| {
                let word = spelled(word);
                self.table.ordinary.is_match(&word) || self.table.special.is_match(&word)
            })
            .count()
            >= 2
    }
}

/// A piece of code without what only copies it.
fn bulky(code: &str) -> &str {
    let code = code.trim().trim_start_matches("await ").trim_end_matches(';');
    let code = code.trim_start_matches("dict(").trim_start_matches("{ ...").trim_start_matches("{...");
    let end = [".to_dict", ".copy", ".dict", "()", ".to_unsafe_h", ".toJSON", " }", ")"];
    let once = |code| end.iter().fold(code, |code: &str, end| code.strip_suffix(end).unwrap_or(code));
    once(once(code))
}

/// `phoneNumber` and `phone-number` as `phone_number`.
fn spelled(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for c in name.trim_matches(['$', '@', '_']).chars() {
        if c.is_ascii_uppercase() && lower {
            out.push('_');
        }
        lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    for end in ["_value", "_raw", "_plain", "_text", "_str", "_string"] {
        if let Some(short) = out.strip_suffix(end) {
            return short.to_owned();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert!(TABLE.is_ok(), "{:?}", TABLE.as_ref().err());
        assert_eq!(spelled("phoneNumber"), "phone_number");
        assert_eq!(spelled("$emailRaw"), "email");
    }
}
