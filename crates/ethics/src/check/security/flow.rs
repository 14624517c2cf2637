//! Where values come from and where they go, statement by statement, within one file.

use std::collections::BTreeSet;

use super::expr::{ChainLink, ExpressionReader, FunctionFlows, NameChain, Taint, ValueScope, is_keyword};
use super::lang::CodeLanguage;
use super::logical::CodeStatement;
use super::scope::{assigned, bound, parameters};
use super::table::{LOCAL, PARAMETER, REMOTE, SinkNeed, TaintSink, TaintTable};
use super::walk::{filled, made, read_into};
use holon_core::artifact::ethics::RiskLevel;

/// How often a file is read, so that what functions give back is known where they are called.
const PASSES: usize = 3;

/// The most variables without a value from outside that are remembered at once.
const MOST_KNOWN: usize = 300;

/// A hole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecurityHole {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) severity: RiskLevel,
    pub(super) line: u64,
}

/// The holes in the statements of a file; `partial` when the file has more lines than these.
pub(super) fn holes(
    table: &TaintTable,
    lang: CodeLanguage,
    statements: &[CodeStatement],
    whole: &str,
    partial: bool,
) -> Vec<SecurityHole> {
    let mut known = FunctionFlows::default();
    let mut found = Vec::new();
    let own = declared(whole, &["fn ", "def ", "func ", "function ", "sub ", "fun "]);
    let enums = declared(whole, &["enum ", "enum class ", "enum struct "]);
    for _ in 0..PASSES {
        let mut walk = TaintWalk {
            table,
            lang,
            whole,
            scopes: vec![ValueScope { partial, ..ValueScope::default() }],
            known: known.clone(),
            next: FunctionFlows::default(),
            found: Vec::new(),
            inside: Vec::new(),
            own: &own,
            enums: &enums,
        };
        for at in 0..statements.len() {
            walk.statement(statements, at);
        }
        found = walk.found;
        if walk.next == known {
            break;
        }
        known = walk.next;
    }
    found.sort_by_key(|hole: &SecurityHole| (hole.line, hole.id.clone()));
    found.dedup_by(|a, b| a.line == b.line && a.id == b.id);
    found
}

pub(super) struct TaintWalk<'a> {
    pub(super) table: &'a TaintTable,
    lang: CodeLanguage,
    whole: &'a str,
    scopes: Vec<ValueScope>,
    known: FunctionFlows,
    next: FunctionFlows,
    found: Vec<SecurityHole>,
    /// Functions and enumerations that this file itself defines.
    own: &'a BTreeSet<String>,
    enums: &'a BTreeSet<String>,
    /// What was checked for the block that begins at an indentation.
    inside: Vec<(usize, Vec<(String, Taint)>)>,
}

impl<'a> TaintWalk<'a> {
    fn statement(&mut self, all: &[CodeStatement], at: usize) {
        let Some(statement) = all.get(at) else { return };
        self.leave(statement);
        self.enter(all, at);
        let Some(scope) = self.scopes.last().cloned() else { return };
        let known = std::mem::take(&mut self.known);
        let reading = ExpressionReader::new(self.table, self.lang, statement, &scope, &known);
        let changes = self.changes(&reading);
        // What a statement is given first is known to the rest of it.
        let mut later = scope.clone();
        apply(&mut later, &changes);
        let after = ExpressionReader {
            scope: &later,
            sources: reading.sources.clone(),
            table: self.table,
            lang: self.lang,
            statement,
            known: &known,
        };
        self.sinks(&after);
        self.built(&after);
        self.calls(&reading);
        self.gives(&after);
        let guard = self.guard(&after, all, at);
        self.known = known;
        if let Some(scope) = self.scopes.last_mut() {
            apply(scope, &changes);
        }
        if let Some((names, checked, nested)) = guard {
            self.clear(statement, names, checked, nested);
        }
    }

    /// Ends the functions and blocks that a statement is no longer in.
    fn leave(&mut self, statement: &CodeStatement) {
        let closes = statement.code.starts_with(['}', ')', ']']) || statement.code.trim() == "end";
        while self.scopes.len() > 1
            && self.scopes.last().is_some_and(|scope| statement.indent <= scope.indent)
        {
            let Some(old) = self.scopes.pop() else { break };
            // What belongs to the object stays.
            if let Some(outer) = self.scopes.last_mut() {
                let own = old.vars.into_iter().filter(|(name, taint)| {
                    let of_object =
                        ["self.", "this.", "$this->", "@"].iter().any(|start| name.starts_with(start));
                    of_object && taint.level >= LOCAL
                });
                outer.vars.extend(own);
            }
        }
        while self
            .inside
            .last()
            .is_some_and(|(indent, _)| statement.indent <= *indent && !closes || statement.indent < *indent)
        {
            if let (Some((_, back)), Some(scope)) = (self.inside.pop(), self.scopes.last_mut()) {
                scope.vars.extend(back);
            }
        }
    }

    /// Begins the functions that a statement begins.
    fn enter(&mut self, all: &[CodeStatement], at: usize) {
        let Some(statement) = all.get(at) else { return };
        let marked = |one: &CodeStatement| {
            one.code.starts_with("[BindProperty")
                || one.code.contains("FromQuery]")
                || one.code.starts_with("[SupplyParameter")
        };
        if self.lang == CodeLanguage::Cs
            && at > 0
            && all.get(at - 1).is_some_and(marked)
            && !statement.code.contains('(')
        {
            let name =
                statement.code.trim_end_matches(['{', ' ']).rsplit(' ').next().unwrap_or_default().to_owned();
            self.scopes.iter_mut().for_each(|scope| {
                scope.vars.insert(name.clone(), Taint::of(REMOTE));
            });
        }
        let Some((name, parameters)) = parameters(self.table, self.lang, statement) else { return };
        let mut scope = self.scopes.last().cloned().unwrap_or_default();
        scope.indent = statement.indent;
        if !name.is_empty() {
            scope.function.clone_from(&name);
        }
        // Attributes stand directly above.
        let marks = all.get(at.saturating_sub(6)..at).unwrap_or_default().iter().rev();
        let marks =
            marks.take_while(|one| one.code.starts_with(['@', '[', '#']) || one.code.starts_with("test "));
        let handles = marks.chain([statement]).any(|one| self.table.handler.is_match(&one.text))
            || self.table.handler_name.is_match(&name);
        for (number, (param, kind)) in parameters.into_iter().enumerate() {
            let own = format!("{param} {kind}");
            let level = if self.table.number.is_match(&kind) || self.is_enum(&kind) {
                0
            } else if self.table.handler_param.is_match(&own) || handles {
                REMOTE
            } else {
                let offset = usize::from(
                    matches!(self.lang, CodeLanguage::Py | CodeLanguage::Rs)
                        && scope.vars.contains_key("self"),
                );
                let _ = offset;
                self.known.given.get(&(name.clone(), number)).copied().unwrap_or(0).max(PARAMETER)
            };
            if matches!(
                param.as_str(),
                "self"
                    | "this"
                    | "cls"
                    | "res"
                    | "w"
                    | "next"
                    | "response"
                    | "resp"
                    | "db"
                    | "conn"
                    | "cursor"
            ) {
                scope.vars.remove(&param);
                continue;
            }
            scope.from.remove(&param);
            scope.vars.insert(param, Taint::of(level));
        }
        self.scopes.push(scope);
    }

    /// Whether a type has only a few values, by its name or because this file says so.
    fn is_enum(&self, kind: &str) -> bool {
        let named = kind
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .rfind(|word| word.starts_with(char::is_uppercase));
        let Some(name) = named else { return false };
        let ends = ["Enum", "Sort", "Order", "Status", "Kind", "Mode", "Level", "Direction"]
            .iter()
            .any(|end| name.ends_with(end));
        ends || self.enums.contains(name)
    }

    /// The variables a statement changes.
    fn changes(&mut self, reading: &ExpressionReader<'_>) -> Vec<(String, Taint, Vec<String>)> {
        let mut changes = Vec::new();
        let code = reading.statement.code.as_str();
        let origin = |from: usize, to: usize| -> Vec<String> {
            let names = reading.names(from, to).into_iter().map(|(name, _)| name);
            names
                .filter(|name| {
                    reading.scope.vars.contains_key(name)
                        || reading.scope.vars.contains_key(name.split(['.', '-']).next().unwrap_or(""))
                })
                .take(8)
                .collect()
        };
        for (targets, from, to, adds) in assigned(self.lang, code) {
            let value = reading.text(from, to);
            let mut taint = reading.taint(from, to);
            if compares(code.get(from..to).unwrap_or_default()) && !value.contains('?') {
                taint = Taint::default();
            }
            for target in &targets {
                let mut taint = taint.clone();
                if adds {
                    if let Some(old) = reading.scope.vars.get(target) {
                        let fixed = old.fixed;
                        let mut both = old.clone();
                        both.join(&taint);
                        both.fixed = fixed;
                        both.built = both.level > 0;
                        taint = both;
                    } else {
                        taint.built = taint.level > 0;
                    }
                }
                changes.push((target.clone(), taint, origin(from, to)));
            }
        }
        if self.lang == CodeLanguage::Sql {
            let words: Vec<&str> = code
                .split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')'))
                .filter(|word| !word.is_empty())
                .collect();
            let numbers = [
                "INT",
                "BIGINT",
                "BIT",
                "SMALLINT",
                "TINYINT",
                "DATE",
                "DATETIME",
                "DATETIME2",
                "DECIMAL",
                "MONEY",
                "UNIQUEIDENTIFIER",
                "FLOAT",
            ];
            for pair in words.windows(2) {
                if let [name, kind] = pair {
                    let number =
                        name.starts_with('@') && numbers.iter().any(|one| kind.eq_ignore_ascii_case(one));
                    if number {
                        changes.push(((*name).to_owned(), Taint::default(), Vec::new()));
                    }
                }
            }
        }
        if self.lang == CodeLanguage::Sh {
            for name in read_into(code) {
                changes.push((format!("${name}"), Taint::of(LOCAL), Vec::new()));
                changes.push((name, Taint::of(LOCAL), Vec::new()));
            }
        }
        if let Some((name, from, to)) = (self.lang == CodeLanguage::C).then(|| made(code)).flatten() {
            changes.push((name, reading.taint(from, to), origin(from, to)));
        }
        for (targets, from, to) in bound(self.lang, code) {
            let mut taint = reading.taint(from, to);
            taint.built = false;
            if taint.level > 0 {
                if self.lang == CodeLanguage::Sh {
                    changes.extend(
                        targets.iter().map(|target| (format!("${target}"), taint.clone(), Vec::new())),
                    );
                }
                changes.extend(targets.into_iter().map(|target| (target, taint.clone(), origin(from, to))));
            }
        }
        for hit in self.table.appends.captures_iter(code) {
            let target = hit.name("target").or_else(|| hit.name("target2"));
            let (Some(target), Some(call)) = (target, hit.get(0)) else { continue };
            let open = code.get(..call.end()).and_then(|ahead| ahead.rfind('(')).unwrap_or(0);
            let taint = reading.taint(open + 1, reading.closing(open, code.len()));
            let mut both = reading.scope.vars.get(target.as_str()).cloned().unwrap_or_default();
            let fixed = both.fixed || (both.words.is_empty() && both.level == 0 && taint.fixed);
            both.join(&taint);
            both.built = both.level > 0;
            both.fixed = fixed;
            changes.push((target.as_str().to_owned(), both, Vec::new()));
        }
        // A function of C that is given a source and a place for what it finds.
        if self.lang == CodeLanguage::C && !reading.sources.is_empty() {
            for (from, to) in filled(reading) {
                let name = code.get(from..to).unwrap_or_default().trim();
                let level = reading.sources.iter().map(|(_, _, level)| *level).max().unwrap_or(LOCAL);
                changes.push((name.to_owned(), Taint::of(level), Vec::new()));
            }
        }
        // A source that fills what it is given.
        if let Some((start, _, level)) = reading.sources.first() {
            for (name, chain) in reading.names(0, code.len()) {
                let before = chain.start.checked_sub(1).and_then(|at| code.as_bytes().get(at));
                if before == Some(&b'&') && chain.start > *start {
                    changes.push((name, Taint::of(*level), Vec::new()));
                }
            }
        }
        changes
    }

    fn sinks(&mut self, reading: &ExpressionReader<'_>) {
        let code = reading.statement.code.as_str();
        for number in self.table.sink_set.matches(code) {
            let Some(sink) = self.table.sinks.get(number) else { continue };
            let text = reading.statement.text.as_str();
            if sink.also.as_ref().is_some_and(|also| !also.is_match(text))
                || sink.unless.as_ref().is_some_and(|unless| unless.is_match(text))
                || sink.file.as_ref().is_some_and(|file| !file.is_match(self.whole))
                || sink.absent.as_ref().is_some_and(|absent| absent.is_match(self.whole))
            {
                continue;
            }
            for hit in sink.calls.find_iter(code) {
                if self.is_own(code, hit.end()) {
                    continue;
                }
                let Some((at, _)) = self.reaches(reading, sink, hit.start(), hit.end()) else { continue };
                self.tell(sink, reading.statement.line(at.max(hit.start())));
            }
        }
    }

    /// Whether a call is to a function that this file itself defines.
    fn is_own(&self, code: &str, end: usize) -> bool {
        let Some(ahead) = code.get(..end).and_then(|ahead| ahead.strip_suffix('(')) else { return false };
        let name: String = ahead.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let name: String = name.chars().rev().collect();
        let before = ahead.get(..ahead.len() - name.len()).unwrap_or_default();
        if name.is_empty() || before.ends_with(['.', ':', '>']) || before.trim_end().ends_with("new") {
            return false;
        }
        self.own.contains(&name)
    }

    fn tell(&mut self, sink: &TaintSink, line: u64) {
        self.found.push(SecurityHole {
            id: sink.id.clone(),
            what: sink.what.clone(),
            severity: sink.severity,
            line,
        });
    }

    /// The place of a value that makes a call a hole.
    fn reaches(
        &self,
        reading: &ExpressionReader<'_>,
        sink: &TaintSink,
        start: usize,
        end: usize,
    ) -> Option<(usize, Taint)> {
        let code = reading.statement.code.as_str();
        let open = end.saturating_sub(1);
        let parts = if matches!(code.as_bytes().get(open), Some(b'(' | b'[' | b'{')) {
            reading.arguments(end, reading.closing(open, code.len()))
        } else {
            reading.arguments(end, code.len())
        };
        for (number, (from, to)) in parts.into_iter().enumerate() {
            let text = reading.text(from, to);
            let name = sink.named.as_ref().is_some_and(|named| named.is_match(text.trim_start()));
            let wanted =
                (sink.args.is_empty() && sink.named.is_none()) || sink.args.contains(&number) || name;
            if !wanted {
                continue;
            }
            // `name = value` as an argument.
            let taint = reading.taint(from, to);
            if sink.least == SinkNeed::Any && taint.level == 0 && taint.safe == 0 {
                let code = code.get(from..to).unwrap_or_default();
                let names = reading.names(from, to);
                let open = names.iter().any(|(name, _)| {
                    !is_keyword(name) && !is_constant(name) && !reading.scope.vars.contains_key(name.as_str())
                });
                if open && !code.trim_start().starts_with('"') {
                    return Some((start, taint));
                }
            }
            if taint.level == 0 || taint.safe & sink.class != 0 || (sink.fixed && taint.fixed) {
                continue;
            }
            let enough = match sink.least {
                SinkNeed::Any | SinkNeed::Parameter => true,
                SinkNeed::Built => taint.built || taint.level >= LOCAL,
                SinkNeed::Joined => taint.built,
                SinkNeed::Local => taint.level >= LOCAL,
                SinkNeed::Remote => taint.level >= REMOTE,
            };
            let shaped = sink.shape.as_ref().is_none_or(|shape| shape.is_match(&taint.words));
            if enough && shaped {
                return Some((start, taint));
            }
        }
        None
    }

    /// Texts that are holes in themselves, whoever uses them.
    fn built(&mut self, reading: &ExpressionReader<'_>) {
        let statement = reading.statement;
        if self.table.says.is_match(&statement.text) {
            return;
        }
        for rule in &self.table.built {
            if !rule.shape.is_match(&statement.text) {
                continue;
            }
            for (at, ahead, taint) in self.puts(reading) {
                // A name in the place of a table is usual; a value in the place of data is not.
                let enough = taint.level >= LOCAL || rule.ahead.is_match(&ahead);
                if taint.level > 0 && taint.safe & rule.class == 0 && enough {
                    let line = statement.line(at);
                    let (id, what) = (rule.id.clone(), rule.what.clone());
                    self.found.push(SecurityHole { id, what, severity: RiskLevel::High, line });
                    break;
                }
            }
        }
    }

    /// Notes what functions of this file are given.
    fn calls(&mut self, reading: &ExpressionReader<'_>) {
        let code = reading.statement.code.len();
        let foreign = reading.scope.vars.values().any(|taint| taint.level >= LOCAL);
        if reading.sources.is_empty() && !foreign && reading.known.returns.is_empty() {
            return;
        }
        for (_, chain) in reading.names(0, code) {
            let NameChain { links, start, .. } = &chain;
            let mut end = *start;
            for link in links {
                match link {
                    ChainLink::Name(at) => end = *at,
                    ChainLink::Call(from, to) => {
                        let name = reading.statement.code.get(*start..end).unwrap_or_default();
                        let name = name.rsplit(['.', ':', '>']).next().unwrap_or(name).to_owned();
                        for (number, (from, to)) in reading.arguments(*from, *to).into_iter().enumerate() {
                            let level = reading.taint(from, to).level;
                            if level >= LOCAL && !name.is_empty() {
                                let entry = self.next.given.entry((name.clone(), number)).or_default();
                                *entry = (*entry).max(level);
                            }
                        }
                    }
                    ChainLink::Index(..) => {}
                }
            }
        }
    }

    /// Notes what a function gives back.
    fn gives(&mut self, reading: &ExpressionReader<'_>) {
        let code = reading.statement.code.as_str();
        let Some(rest) = code.strip_prefix("return ") else { return };
        let from = code.len() - rest.len();
        let taint = reading.taint(from, code.len());
        let function = reading.scope.function.clone();
        if taint.level >= LOCAL && !function.is_empty() {
            self.next.returns.entry(function).or_default().join(&Taint { words: String::new(), ..taint });
        }
    }

    fn clear(&mut self, statement: &CodeStatement, names: Vec<String>, checked: Vec<String>, nested: bool) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let mut queue = names;
        let mut before = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some(name) = queue.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            queue.extend(scope.from.get(&name).cloned().unwrap_or_default());
            if let Some(old) = scope.vars.insert(name.clone(), Taint::default()) {
                before.push((name, old));
            }
        }
        scope.checked.extend(checked);
        if nested {
            self.inside.push((statement.indent, before));
        }
    }
}

/// The names that stand behind these words.
fn declared(whole: &str, words: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in whole.lines() {
        for word in words {
            let after = line.match_indices(word).map(|(at, word)| at + word.len());
            names.extend(after.filter_map(|at| {
                let rest = line.get(at..)?;
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                (!name.is_empty()).then_some(name)
            }));
        }
        // `class RefusalKind(Enum):`
        if let Some((name, _)) =
            line.trim_start().strip_prefix("class ").and_then(|rest| rest.split_once('('))
            && line.contains("Enum")
        {
            names.insert(name.to_owned());
        }
    }
    names
}

fn apply(scope: &mut ValueScope, changes: &[(String, Taint, Vec<String>)]) {
    for (name, taint, from) in changes {
        // A long list of constants is no news.
        if taint.level == 0 && scope.vars.len() > MOST_KNOWN {
            scope.vars.remove(name);
            continue;
        }
        scope.vars.insert(name.clone(), taint.clone());
        scope.from.insert(name.clone(), from.iter().filter(|one| *one != name).cloned().collect());
    }
}

/// Whether a piece of code only says yes or no.
fn compares(code: &str) -> bool {
    let marks = ["==", "!=", " > ", " < ", ">=", "<=", " is not ", " in "];
    marks.iter().any(|mark| code.contains(mark))
        && !code.contains(" for ")
        && !code.contains(" if ")
        && !code.contains(" || ")
        && !code.contains(" ?? ")
}

fn is_constant(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::security::{logical, table};

    fn of(text: &str, lang: CodeLanguage) -> Vec<(u64, String)> {
        let statements = logical::split(text, 1, lang);
        let Ok(table) = table::of(lang) else { return Vec::new() };
        holes(table, lang, &statements, text, false).into_iter().map(|hole| (hole.line, hole.id)).collect()
    }

    fn check(text: &str, lang: CodeLanguage, expect: &[(u64, &str)]) {
        let expect: Vec<(u64, String)> = expect.iter().map(|(line, id)| (*line, (*id).to_owned())).collect();
        assert_eq!(of(text, lang), expect, "{text}");
    }

    #[test]
    fn values_are_followed_to_where_they_do_harm() {
        check(
            "def f():\n    n = request.args['n']\n    q = 'ping ' + n\n    os.system(q)",
            CodeLanguage::Py,
            &[(4, "command-injection")],
        );
        check("const { a } = req.body;\neval(a);", CodeLanguage::Js, &[(2, "code-injection")]);
        check(
            "def run(c):\n    subprocess.run(c, shell=True)\ndef g():\n    run(request.form['c'])",
            CodeLanguage::Py,
            &[(2, "command-injection")],
        );
        check("fn f() {}", CodeLanguage::Rs, &[]);
    }

    #[test]
    fn what_is_checked_or_made_harmless_is_let_through() {
        check("n = int(request.args['n'])\nos.system('ping ' + n)", CodeLanguage::Py, &[]);
        check(
            "u = request.args['u']\nif u not in ALLOWED:\n    abort(400)\nrequests.get(u)",
            CodeLanguage::Py,
            &[],
        );
        check("os.system('ping localhost')", CodeLanguage::Py, &[]);
        check("db.query('SELECT * FROM t WHERE a = ?', [req.query.a]);", CodeLanguage::Js, &[]);
    }
}
