//! Physical lines as statements: comments are gone, what belongs together is one text, and what stands in quotes is known.

use super::lang::{CodeLanguage, Interpolation};
use crate::change::FileChangeLines;

/// The longest statement, in bytes; what is longer is cut.
pub(super) const LONGEST: usize = 6000;

/// Marks, in [`CodeStatement::code`], where a value is put into a text.
pub(crate) const PUT_IN: u8 = 1;

/// Marks where that value ends.
pub(crate) const PUT_OUT: u8 = 2;

/// One statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeStatement {
    /// Without comments, on one line.
    pub(crate) text: String,
    /// The same with the contents of texts as spaces; every byte is where it is in `text`.
    pub(crate) code: String,
    /// How far it is indented.
    pub(crate) indent: usize,
    /// Where each physical line begins, with its number.
    lines: Vec<(usize, u64)>,
}

impl CodeStatement {
    /// The number of the physical line at a place in the text.
    pub(crate) fn line(&self, at: usize) -> u64 {
        let after = self.lines.partition_point(|(start, _)| *start <= at);
        self.lines.get(after.saturating_sub(1)).map_or(0, |(_, number)| *number)
    }
}

/// The statements of the added lines; lines that do not follow each other are read apart.
pub(crate) fn statements(file: &FileChangeLines, lang: CodeLanguage) -> Vec<CodeStatement> {
    let mut all = Vec::new();
    let mut from = 0;
    while from < file.added.len() {
        let count = file.run(from, usize::MAX).count().max(1);
        let lines = file.added.get(from..from + count).unwrap_or_default();
        let first = lines.first().map_or(0, |line| line.number);
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        all.extend(split(&texts.join("\n"), first, lang));
        from += count;
    }
    all
}

/// The statements of a text whose first line has a number.
pub(crate) fn split(text: &str, first: u64, lang: CodeLanguage) -> Vec<CodeStatement> {
    let reader = StatementReader {
        lang,
        bytes: text.as_bytes(),
        at: 0,
        number: first,
        stack: Vec::new(),
        brackets: Vec::new(),
        text: Vec::new(),
        code: Vec::new(),
        lines: Vec::new(),
        indent: 0,
        opened: 0,
        out: Vec::new(),
        heredocs: Vec::new(),
    };
    reader.read()
}

/// A text that is being read.
pub(super) struct QuotedText {
    pub(super) end: Vec<u8>,
    pub(super) escapes: bool,
    pub(super) spans: bool,
    pub(super) interp: Interpolation,
}

pub(super) enum NestingMode {
    Text(QuotedText),
    /// Code inside of a text; its bracket is in `brackets`.
    Inside,
}

pub(super) struct StatementReader<'a> {
    pub(super) lang: CodeLanguage,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) number: u64,
    pub(super) stack: Vec<NestingMode>,
    /// Open brackets, and whether each begins a block.
    pub(super) brackets: Vec<(u8, bool)>,
    pub(super) text: Vec<u8>,
    pub(super) code: Vec<u8>,
    pub(super) lines: Vec<(usize, u64)>,
    pub(super) indent: usize,
    /// Blocks opened on this physical line.
    pub(super) opened: usize,
    pub(super) out: Vec<CodeStatement>,
    pub(super) heredocs: Vec<(Vec<u8>, Interpolation)>,
}

impl<'a> StatementReader<'a> {
    fn read(mut self) -> Vec<CodeStatement> {
        self.indent = self.leading();
        while let Some(&byte) = self.bytes.get(self.at) {
            if matches!(self.stack.last(), Some(NestingMode::Text(_))) {
                self.quoted(byte);
            } else {
                self.plain(byte);
            }
            if self.text.len() > LONGEST {
                self.cut();
                self.stack.clear();
                self.brackets.clear();
            }
        }
        self.cut();
        self.out
    }

    /// The spaces ahead of this line.
    fn leading(&self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let ahead = rest.iter().take_while(|b| matches!(b, b' ' | b'\t'));
        ahead.map(|b| if *b == b'\t' { 4 } else { 1 }).sum()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn push(&mut self, text: u8, code: u8) {
        if self.text.is_empty() {
            if text == b' ' || text == b'\t' {
                return;
            }
            self.lines.push((0, self.number));
        }
        self.text.push(text);
        self.code.push(code);
    }

    pub(super) fn take(&mut self, count: usize, code: Option<u8>) {
        for _ in 0..count {
            let Some(&byte) = self.bytes.get(self.at) else { return };
            self.at += 1;
            if byte == b'\n' {
                self.newline();
                self.push(b' ', b' ');
            } else {
                self.push(byte, code.unwrap_or(byte));
            }
        }
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            if self.bytes.get(self.at) == Some(&b'\n') {
                self.newline();
            }
            self.at += 1;
        }
    }

    /// Counts a line that begins now.
    pub(super) fn newline(&mut self) {
        self.number += 1;
        self.opened = 0;
        if !self.text.is_empty() {
            self.lines.push((self.text.len() + 1, self.number));
        }
    }

    /// Ends the statement.
    fn cut(&mut self) {
        let text = std::mem::take(&mut self.text);
        let code = std::mem::take(&mut self.code);
        let lines = std::mem::take(&mut self.lines);
        if text.iter().all(|b| b.is_ascii_whitespace()) {
            return;
        }
        if let (Ok(text), Ok(code)) = (String::from_utf8(text), String::from_utf8(code)) {
            self.out.push(CodeStatement { text, code, indent: self.indent + self.opened, lines });
        }
    }

    fn last(&self) -> u8 {
        self.code.iter().rev().find(|b| !b.is_ascii_whitespace()).copied().unwrap_or(0)
    }

    fn last_word(&self) -> String {
        let code = self.code.trim_ascii_end();
        let word = code.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_');
        let mut word: Vec<u8> = word.copied().collect();
        word.reverse();
        String::from_utf8(word).unwrap_or_default()
    }

    pub(super) fn plain(&mut self, byte: u8) {
        let rest = self.rest();
        if let Some((open, close)) =
            self.lang.block_comment().filter(|(open, _)| rest.starts_with(open.as_bytes()))
        {
            let inner = rest.get(open.len()..).unwrap_or_default();
            let end = inner.windows(close.len()).position(|w| w == close.as_bytes());
            let length = end.map_or(rest.len(), |end| open.len() + end + close.len());
            return self.skip(length);
        }
        if self.is_comment(rest) {
            let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            return self.skip(length);
        }
        if byte == b'\n' {
            return self.end_of_line();
        }
        if self.regex(byte) || self.opens(byte) {
            return;
        }
        match byte {
            b'{' | b'(' | b'[' => {
                let group = byte == b'('
                    && self.lang == CodeLanguage::Go
                    && matches!(self.code.trim_ascii(), b"const" | b"var" | b"import" | b"type");
                let block = group || (byte == b'{' && self.is_block());
                self.take(1, None);
                self.brackets.push((byte, block));
                if block {
                    self.cut();
                    self.opened += 1;
                }
            }
            b'}' | b')' | b']' => {
                let top = self.brackets.last().copied();
                if top.is_some_and(|(open, _)| open == b'i') {
                    self.brackets.pop();
                    self.stack.pop();
                    return self.take(1, Some(PUT_OUT));
                }
                if let Some((_, true)) = top {
                    self.cut();
                    self.opened = self.opened.saturating_sub(1);
                }
                self.brackets.pop();
                self.take(1, None);
            }
            b';' if self.brackets.last().is_none_or(|(_, block)| *block) && self.stack.is_empty() => {
                self.take(1, None);
                self.cut();
                self.indent = self.indent_of_line();
            }
            _ => self.take(1, None),
        }
    }

    fn indent_of_line(&self) -> usize {
        let before = self.bytes.get(..self.at).unwrap_or_default();
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let ahead = self.bytes.get(start..).unwrap_or_default().iter();
        ahead.take_while(|b| matches!(b, b' ' | b'\t')).map(|b| if *b == b'\t' { 4 } else { 1 }).sum()
    }

    fn is_comment(&self, rest: &[u8]) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at)).copied().unwrap_or(b'\n');
        self.lang.line_comments().iter().any(|mark| {
            rest.starts_with(mark.as_bytes())
                && match *mark {
                    // A hash within a word, `$#` and an attribute are none.
                    "#" => {
                        matches!(before, b' ' | b'\t' | b'\n' | b';' | b')' | b',' | b'{' | b'[' | b'(')
                            && !(self.lang == CodeLanguage::Php && rest.get(1) == Some(&b'['))
                            && !(self.lang == CodeLanguage::Rb && rest.get(1) == Some(&b'{'))
                    }
                    "--" => self.lang == CodeLanguage::Sql || before != b'-',
                    _ => before != b':' || self.lang == CodeLanguage::Go,
                }
        })
    }

    /// Whether a brace begins a block instead of a value.
    fn is_block(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at)).copied().unwrap_or(b' ');
        let code = self.code.trim_ascii_end();
        let last = self.last();
        match self.lang {
            CodeLanguage::Py
            | CodeLanguage::Ex
            | CodeLanguage::Lua
            | CodeLanguage::Sql
            | CodeLanguage::Html => return false,
            CodeLanguage::Sh
                if matches!(before, b'$' | b',' | b'/' | b'.') || before.is_ascii_alphanumeric() =>
            {
                return false;
            }
            CodeLanguage::Sh => return true,
            CodeLanguage::Go
                if before.is_ascii_alphanumeric() || matches!(before, b']' | b'}' | b'{' | b'_') =>
            {
                return false;
            }
            CodeLanguage::Pl | CodeLanguage::Php | CodeLanguage::Ps
                if before.is_ascii_alphanumeric()
                    || matches!(before, b'>' | b'$' | b'@' | b'%' | b'_' | b'}') =>
            {
                return false;
            }
            _ => {}
        }
        let nested = self.brackets.last().is_some_and(|(open, block)| *open == b'(' && !block);
        let type_name = self.last_word().starts_with(|c: char| c.is_ascii_uppercase());
        if nested && self.lang == CodeLanguage::Rs && type_name {
            return false;
        }
        if nested && self.lang == CodeLanguage::Js && last == b'>' && !code.ends_with(b"=>") {
            return false;
        }
        if code.ends_with(b"=>") || code.ends_with(b"->") || code.is_empty() {
            return true;
        }
        let body = matches!(
            self.lang,
            CodeLanguage::Kt | CodeLanguage::Scala | CodeLanguage::Swift | CodeLanguage::Rs
        );
        if matches!(last, b'(' | b',' | b'=' | b':' | b'[' | b'?' | b'&' | b'|') {
            return body && matches!(last, b'=' | b'(' | b',' | b'|');
        }
        if matches!(
            self.last_word().as_str(),
            "return" | "yield" | "default" | "await" | "const" | "let" | "var" | "import" | "export"
        ) {
            return false;
        }
        // An object that is made and filled at once.
        let made = code.rsplit(|b| *b == b';').next().unwrap_or_default();
        let made = String::from_utf8_lossy(made);
        let fresh = made.rsplit("new ").next().filter(|_| made.contains("new ")).is_some_and(|name| {
            name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.<>[]()?, ".contains(&b))
        });
        !(fresh && matches!(self.lang, CodeLanguage::Cs | CodeLanguage::Java))
    }

    pub(super) fn end_of_line(&mut self) {
        if !self.heredocs.is_empty() {
            self.at += 1;
            self.newline();
            return self.heredoc();
        }
        let inner = self.brackets.last().is_some_and(|(_, block)| !block);
        let goes_on = !self.text.is_empty() && (inner || self.ends_open() || self.next_continues());
        self.at += 1;
        self.newline();
        if goes_on {
            if matches!(self.text.last(), Some(b'\\')) {
                self.text.pop();
                self.code.pop();
            }
            return self.push(b' ', b' ');
        }
        self.cut();
        self.indent = self.leading();
    }

    /// Whether the line ends with something that needs more.
    fn ends_open(&self) -> bool {
        let code = self.code.trim_ascii_end();
        let ends = |marks: &[&str]| marks.iter().any(|mark| code.ends_with(mark.as_bytes()));
        match self.lang {
            CodeLanguage::Sql => true,
            CodeLanguage::Py => ends(&["\\"]),
            CodeLanguage::Sh => ends(&["\\", "|", "&&", "||"]) && !ends(&[";;"]),
            CodeLanguage::Ps => ends(&["`", "|", ",", "+"]),
            CodeLanguage::Html => false,
            _ => {
                ends(&[
                    "+", "=", "&&", "||", "|>", "\\", "??", "<<", "<>", " .", " %", "->", "=>", "..", " ?",
                    " or", " and",
                ]) || (ends(&[","])
                    && matches!(
                        self.lang,
                        CodeLanguage::Rb | CodeLanguage::Ex | CodeLanguage::Pl | CodeLanguage::Kt
                    ))
                    || (ends(&["."])
                        && matches!(
                            self.lang,
                            CodeLanguage::Go
                                | CodeLanguage::Php
                                | CodeLanguage::Rb
                                | CodeLanguage::Js
                                | CodeLanguage::Java
                        ))
            }
        }
    }

    /// Whether the next line of code goes on with this one.
    fn next_continues(&self) -> bool {
        if self.lang.by_indent() || matches!(self.lang, CodeLanguage::Html | CodeLanguage::Sql) {
            return false;
        }
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        for line in rest.split(|b| *b == b'\n').take(4) {
            let line = line.trim_ascii_start();
            if line.is_empty() {
                return false;
            }
            if self.lang.line_comments().iter().any(|mark| line.starts_with(mark.as_bytes())) {
                continue;
            }
            let next = line.get(1).copied().unwrap_or(b' ');
            let header = self.code.trim_ascii_end().ends_with(b")") || !self.code.contains(&b'=');
            let opens = line.starts_with(b"{")
                && header
                && matches!(self.last(), b')' | b'>' | b']' | b'?' | b'a'..=b'z' | b'A'..=b'Z');
            if opens
                || line.starts_with(b"throws ")
                || (line.starts_with(b"where ") && self.lang == CodeLanguage::Cs)
            {
                return true;
            }
            let starts = |marks: &[&str]| marks.iter().any(|mark| line.starts_with(mark.as_bytes()));
            return (line.starts_with(b".") && (next.is_ascii_alphabetic() || next == b'_'))
                || starts(&[
                    "?.", "->", "|>", "+ ", ". ", "|| ", "&& ", "<< ", "? ", "?? ", ".. ", "<> ", "!!.",
                ])
                || (starts(&[": "]) && self.code.contains(&b'?'));
        }
        false
    }

    /// Reads a regular expression as a text, where one can stand.
    fn regex(&mut self, byte: u8) -> bool {
        if byte != b'/' || !matches!(self.lang, CodeLanguage::Js | CodeLanguage::Rb | CodeLanguage::Pl) {
            return false;
        }
        let place = matches!(
            self.last(),
            b'(' | b',' | b'=' | b':' | b'[' | b'!' | b'&' | b'|' | b'?' | b'{' | b';' | 0 | b'~'
        ) || matches!(
            self.last_word().as_str(),
            "return" | "if" | "unless" | "when" | "and" | "or" | "split"
        );
        let rest = self.rest();
        let line = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let (mut at, mut class) = (1, false);
        while place && at < line {
            match rest.get(at) {
                Some(b'\\') => at += 1,
                Some(b'[') => class = true,
                Some(b']') => class = false,
                Some(b'/') if !class => {
                    self.take(1, Some(b'"'));
                    self.take(at - 1, Some(b' '));
                    self.take(1, Some(b'"'));
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// Begins a text, when one begins here.
    fn opens(&mut self, byte: u8) -> bool {
        let rest = self.rest();
        if byte == b'<' && rest.starts_with(b"<<") && self.begins_heredoc() {
            return true;
        }
        if self.lang == CodeLanguage::Lua && rest.starts_with(b"[[") {
            self.begin(2, b"]]".to_vec(), false, true, Interpolation::None);
            return true;
        }
        if !self.lang.quotes().contains(&byte) {
            return false;
        }
        let before = self.code.iter().rev();
        let prefix: Vec<u8> = before
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'$' | b'@' | b'#'))
            .copied()
            .collect();
        let prefix = if prefix.len() <= 4 { prefix } else { Vec::new() };
        let has = |letter: u8| prefix.contains(&letter);
        if byte == b'\'' {
            match self.lang {
                // A lifetime, a label, a digit separator.
                CodeLanguage::Rs | CodeLanguage::Scala
                    if rest.get(2) != Some(&b'\'') && rest.get(1) != Some(&b'\\') =>
                {
                    self.take(1, Some(b' '));
                    return true;
                }
                CodeLanguage::C if prefix.first().is_some_and(u8::is_ascii_digit) => {
                    self.take(1, Some(b' '));
                    return true;
                }
                _ => {}
            }
        }
        let interp = self.lang.interp(byte, &prefix);
        if self.lang == CodeLanguage::Rs && has(b'r') {
            let hashes = prefix.iter().filter(|b| **b == b'#').count();
            let end = [vec![b'"'], vec![b'#'; hashes]].concat();
            self.begin(1, end, false, true, interp);
            return true;
        }
        let three = [byte; 3];
        if self.lang.triple()
            && rest.starts_with(&three)
            && (byte == b'"' || matches!(self.lang, CodeLanguage::Py | CodeLanguage::Dart))
        {
            let interp = if self.lang == CodeLanguage::Java { Interpolation::None } else { interp };
            self.begin(3, three.to_vec(), true, true, interp);
            return true;
        }
        let raw = (byte == b'\''
            && matches!(self.lang, CodeLanguage::Sh | CodeLanguage::Ps | CodeLanguage::Sql))
            || (byte == b'`' && self.lang == CodeLanguage::Go)
            || (self.lang == CodeLanguage::Cs && has(b'@'))
            || (matches!(self.lang, CodeLanguage::Dart | CodeLanguage::Py)
                && has(b'r')
                && interp == Interpolation::None);
        let spans = self.lang.spans(byte) || (self.lang == CodeLanguage::Cs && has(b'@'));
        self.begin(1, vec![byte], !raw, spans, interp);
        true
    }

    fn begin(&mut self, open: usize, end: Vec<u8>, escapes: bool, spans: bool, interp: Interpolation) {
        self.take(open, Some(b'"'));
        self.stack.push(NestingMode::Text(QuotedText { end, escapes, spans, interp }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, lang: CodeLanguage) -> Vec<String> {
        split(text, 1, lang).into_iter().map(|one| one.text.trim().to_owned()).collect()
    }

    #[test]
    fn what_belongs_together_is_one_statement() {
        assert_eq!(of("a = f(\n  1,  # one\n  2)\nb = 3", CodeLanguage::Py), ["a = f(   1,     2)", "b = 3"]);
        assert_eq!(
            of("db\n  // all\n  .find(x)\n  .sort()\nnext()", CodeLanguage::Js),
            ["db      .find(x)   .sort()", "next()"]
        );
        assert_eq!(
            of("app.get('/', (req, res) => {\n  run(req);\n});", CodeLanguage::Js),
            ["app.get('/', (req, res) => {", "run(req);", "});"]
        );
        assert_eq!(of("f({\n  a: 1,\n  b: 2\n});", CodeLanguage::Js), ["f({   a: 1,   b: 2 });"]);
        assert_eq!(of("SELECT 1\nFROM t;\nSELECT 2;", CodeLanguage::Sql), ["SELECT 1 FROM t;", "SELECT 2;"]);
    }

    #[test]
    fn texts_are_blank_and_values_in_them_are_not() {
        let check = |text: &str, lang: CodeLanguage, expect: &str| {
            let code: String = split(text, 1, lang).into_iter().map(|one| one.code).collect();
            assert_eq!(code.replace('\u{1}', "«").replace('\u{2}', "»"), expect, "{text}");
        };
        check("x = f\"a {b['c']} d\"", CodeLanguage::Py, "x = f\"  «b[\" \"]»  \"");
        check("x = `a ${b} # c`", CodeLanguage::Js, "x = \"  « b»    \"");
        check("x = 'it''s' // no", CodeLanguage::Js, "x = \"  \"\" \" ");
        check("q = \"a #{b}\"", CodeLanguage::Rb, "q = \"  « b»\"");
        check("let x: &'a str = \"{y}\";", CodeLanguage::Rs, "let x: & a str = \"«y»\";");
    }

    #[test]
    fn lines_are_known_and_heredocs_are_texts() {
        let all = split("x = <<~SQL\n  select '#{a}'\nSQL\ny = 1", 7, CodeLanguage::Rb);
        assert_eq!(all.len(), 2);
        assert!(all[0].code.contains("\u{1} a"), "{:?}", all[0].code);
        assert_eq!(all[0].line(all[0].code.find('\u{1}').unwrap_or(0)), 8);
        assert_eq!(all[1].line(0), 10);
    }
}
