//! What a walk over statements looks at: values in texts, checks of values, and what calls fill.

use super::expr::{ChainLink, ExpressionReader, Taint, is_keyword, is_start};
use super::flow::TaintWalk;
use super::lang::CodeLanguage;
use super::logical::{CodeStatement, PUT_IN, PUT_OUT};

impl TaintWalk<'_> {
    /// Values that are put into texts: where, what stands ahead in the text, and what they may be.
    pub(super) fn puts(&self, reading: &ExpressionReader<'_>) -> Vec<(usize, String, Taint)> {
        let code = reading.statement.code.as_bytes();
        let mut all = Vec::new();
        let mut at = 0;
        while at < code.len() {
            let byte = code.get(at).copied().unwrap_or(0);
            let begins = at == 0 || !code.get(at - 1).is_some_and(u8::is_ascii_alphanumeric);
            if is_start(byte) && begins {
                let chain = reading.chain(at, code.len());
                if let Some(end) = reading.bound_text(&chain, code.len()) {
                    at = end;
                    continue;
                }
            }
            if byte == PUT_IN {
                let end = code
                    .get(at + 1..)
                    .unwrap_or_default()
                    .iter()
                    .position(|b| *b == PUT_OUT)
                    .map_or(code.len(), |end| at + 1 + end);
                let start = code
                    .get(..at)
                    .unwrap_or_default()
                    .iter()
                    .rposition(|b| matches!(*b, b'"' | PUT_OUT))
                    .map_or(0, |start| start + 1);
                all.push((at, reading.text(start, at).to_owned(), reading.taint(at + 1, end)));
                at = end;
            } else if byte == b'"' {
                let end = code
                    .get(at + 1..)
                    .unwrap_or_default()
                    .iter()
                    .position(|b| matches!(*b, b'"' | PUT_IN))
                    .map_or(code.len(), |end| at + 1 + end);
                if code.get(end) != Some(&b'"') {
                    at = end;
                    continue;
                }
                let words = reading.text(at + 1, end);
                self.after_text(reading, words, at, end + 1, &mut all);
                at = end;
            }
            at += 1;
        }
        all
    }

    /// What is added behind a text, or put into its placeholders.
    fn after_text(
        &self,
        reading: &ExpressionReader<'_>,
        words: &str,
        open: usize,
        end: usize,
        all: &mut Vec<(usize, String, Taint)>,
    ) {
        let code = reading.statement.code.as_str();
        let rest = code.get(end..).unwrap_or_default();
        let next = rest.trim_start().trim_start_matches("->").trim_start();
        let from = code.len() - next.len();
        let sign =
            ["+", ". ", ".", "..", "||", "<>", "<<", "&", "%"].iter().find(|sign| next.starts_with(**sign));
        let placed =
            words.find(['%', '{']).map_or(words, |at| words.get(..at).unwrap_or_default()).to_owned();
        let to_end = |from: usize| {
            let mut depth = 0i32;
            let mut to = code.len();
            for (offset, byte) in code.get(from..).unwrap_or_default().bytes().enumerate() {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' if depth == 0 => {
                        to = from + offset;
                        break;
                    }
                    b')' | b']' | b'}' => depth -= 1,
                    b',' | b';' if depth == 0 => {
                        to = from + offset;
                        break;
                    }
                    _ => {}
                }
            }
            to
        };
        if let Some(sign) = sign {
            let after = from + sign.len();
            if next.starts_with(".format(")
                || next.starts_with(".formatted(")
                || next.starts_with(".replace(")
                || next.starts_with(".concat(")
            {
                let open = from + next.find('(').unwrap_or(0);
                all.push((from, placed, reading.taint(open + 1, reading.closing(open, code.len()))));
            } else if *sign == "." && !matches!(reading.lang, CodeLanguage::Php | CodeLanguage::Pl) {
            } else if *sign == "%" {
                let to = if next.get(1..).is_some_and(|n| n.trim_start().starts_with('(')) {
                    let open = after + code.get(after..).and_then(|c| c.find('(')).unwrap_or(0);
                    reading.closing(open, code.len())
                } else {
                    to_end(after)
                };
                all.push((from, placed, reading.taint(after, to)));
            } else if let Some(start) = (after..code.len())
                .find(|at| code.as_bytes().get(*at).is_some_and(|b| *b != b' ' && *b != b'('))
                && code.as_bytes().get(start).is_some_and(|b| is_start(*b))
            {
                let chain = reading.chain(start, code.len());
                all.push((start, words.to_owned(), reading.of_chain(&chain, 0)));
            }
            return;
        }
        // Placeholders of a function that formats.
        if next.starts_with(',') && words.contains(['%', '{']) && !words.contains("%d") {
            let before = code.get(..open).unwrap_or_default();
            let Some(call) = before.rfind('(') else { return };
            let name: String = before
                .get(..call)
                .unwrap_or_default()
                .chars()
                .rev()
                .take_while(|c| c.is_alphanumeric() || "._:!".contains(*c))
                .collect();
            let name: String = name.chars().rev().collect();
            if self.table.formats.is_match(name.trim_end_matches('!')) {
                all.push((open, placed, reading.taint(from + 1, reading.closing(call, code.len()))));
            }
        }
    }

    /// What a statement checks: names, expressions, and whether only its own block is meant.
    #[allow(clippy::type_complexity)]
    pub(super) fn guard(
        &self,
        reading: &ExpressionReader<'_>,
        all: &[CodeStatement],
        at: usize,
    ) -> Option<(Vec<String>, Vec<String>, bool)> {
        let statement = reading.statement;
        let code = statement.code.trim_start_matches(['}', ' ']);
        let asks = [
            "if",
            "elif",
            "elsif",
            "unless",
            "guard",
            "else if",
            "elseif",
            "while",
            "switch",
            "case",
            "match",
            "when",
            "assert",
            "[[",
            "[ ",
            "test ",
            "return unless",
            "raise",
            "abort",
            "return if",
            "throw",
            "cond",
        ];
        let asks = asks.iter().any(|word| code.starts_with(word))
            || code.contains(" unless ")
            || code.contains(" if ")
            || code.contains("|| die")
            || code.contains("|| exit")
            || code.contains("or die")
            || code.contains("|| return");
        let asserts = self.table.asserts.is_match(&statement.code);
        let checks = asks && self.table.checks.is_match(&statement.text);
        if !asserts && !checks {
            return None;
        }
        let names = reading.names(0, statement.code.len());
        let tainted: Vec<String> = names
            .iter()
            .map(|(name, _)| name.clone())
            .flat_map(|name| {
                let head = name.split(['.', '-']).next().unwrap_or_default().to_owned();
                [name, head]
            })
            .filter(|name| reading.scope.vars.contains_key(name))
            .collect();
        let checked = reading.sources.iter().map(|(start, _, _)| {
            let chain = reading.chain(*start, statement.code.len());
            reading.text(*start, chain.end).trim().to_owned()
        });
        let checked: Vec<String> = checked.collect();
        let block = all
            .get(at + 1..)
            .unwrap_or_default()
            .iter()
            .take_while(|one| one.indent > statement.indent)
            .take(6);
        let leaves = asserts
            || self.table.leaves.is_match(&statement.code)
            || block.clone().any(|one| self.table.leaves.is_match(&one.code));
        let first_leaves = block.take(4).any(|one| self.table.leaves.is_match(&one.code));
        let negative = [
            "not ",
            "!",
            "unless",
            "guard",
            "-not",
            "== -1",
            "< 0",
            "=== false",
            "== false",
            "|| ",
            "or die",
        ]
        .iter()
        .any(|word| statement.text.contains(word));
        Some((
            tainted,
            checked,
            !(leaves && (negative || asserts || first_leaves && statement.code.contains(".."))),
        ))
    }
}

/// The plain names among the arguments of a call that a source stands in, or is.
pub(super) fn filled(reading: &ExpressionReader<'_>) -> Vec<(usize, usize)> {
    let code = reading.statement.code.as_str();
    let mut all = Vec::new();
    for (_, chain) in reading.names(0, code.len()) {
        for link in &chain.links {
            let ChainLink::Call(from, to) = link else { continue };
            let own = |(start, _, _): &(usize, usize, u8)| (chain.start..*to).contains(start);
            if !reading.sources.iter().any(own) {
                continue;
            }
            all.extend(reading.arguments(*from, *to).into_iter().filter(|(from, to)| {
                let name = code.get(*from..*to).unwrap_or_default().trim();
                let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                plain
                    && name.starts_with(|c: char| c.is_ascii_lowercase())
                    && !name.starts_with("std")
                    && !is_keyword(name)
            }));
        }
    }
    all
}

/// The variables that `read` of a shell fills.
pub(super) fn read_into(code: &str) -> Vec<String> {
    let Some(at) = code.find("read ").filter(|at| *at == 0 || code.get(at - 1..*at) == Some(" ")) else {
        return Vec::new();
    };
    let words = code.get(at + 5..).unwrap_or_default().split([';', '<', '|']).next().unwrap_or_default();
    let mut names = words.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains('"'));
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    names.by_ref().take_while(plain).map(str::to_owned).collect()
}

/// `std::string text(…);`: the name, and where what it is made from stands.
pub(super) fn made(code: &str) -> Option<(String, usize, usize)> {
    let code = code.trim_end().strip_suffix(';')?;
    let open = code.find(['(', '{'])?;
    let ahead = code.get(..open)?;
    let (kind, name) = ahead.trim_end().rsplit_once([' ', '&', '*'])?;
    let plain = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '<' | '>' | ' ' | ','))
    };
    let known = !kind.trim().is_empty() && plain(kind) && plain(name) && !name.is_empty();
    let word = kind.split_whitespace().next().unwrap_or_default();
    (known && !matches!(word, "return" | "else" | "new" | "delete" | "throw"))
        .then(|| (name.to_owned(), open + 1, code.len()))
}
