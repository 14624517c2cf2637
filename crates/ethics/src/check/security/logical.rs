//! Physical lines as statements: comments are gone, what belongs together is one text, and what stands in quotes is known.

use super::lang::{Interp, Lang};
use crate::change::FileChange;

/// The longest statement, in bytes; what is longer is cut.
const LONGEST: usize = 6000;

/// Marks, in [`Statement::code`], where a value is put into a text.
pub(crate) const PUT_IN: u8 = 1;

/// Marks where that value ends.
pub(crate) const PUT_OUT: u8 = 2;

/// One statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Statement {
    /// Without comments, on one line.
    pub(crate) text: String,
    /// The same with the contents of texts as spaces; every byte is where it is in `text`.
    pub(crate) code: String,
    /// How far it is indented.
    pub(crate) indent: usize,
    /// Where each physical line begins, with its number.
    lines: Vec<(usize, u64)>,
}

impl Statement {
    /// The number of the physical line at a place in the text.
    pub(crate) fn line(&self, at: usize) -> u64 {
        let after = self.lines.partition_point(|(start, _)| *start <= at);
        self.lines.get(after.saturating_sub(1)).map_or(0, |(_, number)| *number)
    }
}

/// The statements of the added lines; lines that do not follow each other are read apart.
pub(crate) fn statements(file: &FileChange, lang: Lang) -> Vec<Statement> {
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
pub(crate) fn split(text: &str, first: u64, lang: Lang) -> Vec<Statement> {
    let reader = Reader {
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
struct Quoted {
    end: Vec<u8>,
    escapes: bool,
    spans: bool,
    interp: Interp,
}

enum Mode {
    Text(Quoted),
    /// Code inside of a text; its bracket is in `brackets`.
    Inside,
}

struct Reader<'a> {
    lang: Lang,
    bytes: &'a [u8],
    at: usize,
    number: u64,
    stack: Vec<Mode>,
    /// Open brackets, and whether each begins a block.
    brackets: Vec<(u8, bool)>,
    text: Vec<u8>,
    code: Vec<u8>,
    lines: Vec<(usize, u64)>,
    indent: usize,
    /// Blocks opened on this physical line.
    opened: usize,
    out: Vec<Statement>,
    heredocs: Vec<(Vec<u8>, Interp)>,
}

impl<'a> Reader<'a> {
    fn read(mut self) -> Vec<Statement> {
        self.indent = self.leading();
        while let Some(&byte) = self.bytes.get(self.at) {
            if matches!(self.stack.last(), Some(Mode::Text(_))) {
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

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, text: u8, code: u8) {
        if self.text.is_empty() {
            if text == b' ' || text == b'\t' {
                return;
            }
            self.lines.push((0, self.number));
        }
        self.text.push(text);
        self.code.push(code);
    }

    fn take(&mut self, count: usize, code: Option<u8>) {
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
    fn newline(&mut self) {
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
            self.out.push(Statement { text, code, indent: self.indent + self.opened, lines });
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

    fn plain(&mut self, byte: u8) {
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
                    && self.lang == Lang::Go
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
                            && !(self.lang == Lang::Php && rest.get(1) == Some(&b'['))
                            && !(self.lang == Lang::Rb && rest.get(1) == Some(&b'{'))
                    }
                    "--" => self.lang == Lang::Sql || before != b'-',
                    _ => before != b':' || self.lang == Lang::Go,
                }
        })
    }

    /// Whether a brace begins a block instead of a value.
    fn is_block(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at)).copied().unwrap_or(b' ');
        let code = self.code.trim_ascii_end();
        let last = self.last();
        match self.lang {
            Lang::Py | Lang::Ex | Lang::Lua | Lang::Sql | Lang::Html => return false,
            Lang::Sh if matches!(before, b'$' | b',' | b'/' | b'.') || before.is_ascii_alphanumeric() => {
                return false;
            }
            Lang::Sh => return true,
            Lang::Go if before.is_ascii_alphanumeric() || matches!(before, b']' | b'}' | b'{' | b'_') => {
                return false;
            }
            Lang::Pl | Lang::Php | Lang::Ps
                if before.is_ascii_alphanumeric()
                    || matches!(before, b'>' | b'$' | b'@' | b'%' | b'_' | b'}') =>
            {
                return false;
            }
            _ => {}
        }
        let nested = self.brackets.last().is_some_and(|(open, block)| *open == b'(' && !block);
        let type_name = self.last_word().starts_with(|c: char| c.is_ascii_uppercase());
        if nested && self.lang == Lang::Rs && type_name {
            return false;
        }
        if nested && self.lang == Lang::Js && last == b'>' && !code.ends_with(b"=>") {
            return false;
        }
        if code.ends_with(b"=>") || code.ends_with(b"->") || code.is_empty() {
            return true;
        }
        let body = matches!(self.lang, Lang::Kt | Lang::Scala | Lang::Swift | Lang::Rs);
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
        !(fresh && matches!(self.lang, Lang::Cs | Lang::Java))
    }

    fn end_of_line(&mut self) {
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
            Lang::Sql => true,
            Lang::Py => ends(&["\\"]),
            Lang::Sh => ends(&["\\", "|", "&&", "||"]) && !ends(&[";;"]),
            Lang::Ps => ends(&["`", "|", ",", "+"]),
            Lang::Html => false,
            _ => {
                ends(&[
                    "+", "=", "&&", "||", "|>", "\\", "??", "<<", "<>", " .", " %", "->", "=>", "..", " ?",
                    " or", " and",
                ]) || (ends(&[","]) && matches!(self.lang, Lang::Rb | Lang::Ex | Lang::Pl | Lang::Kt))
                    || (ends(&["."])
                        && matches!(self.lang, Lang::Go | Lang::Php | Lang::Rb | Lang::Js | Lang::Java))
            }
        }
    }

    /// Whether the next line of code goes on with this one.
    fn next_continues(&self) -> bool {
        if self.lang.by_indent() || matches!(self.lang, Lang::Html | Lang::Sql) {
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
            if opens || line.starts_with(b"throws ") || (line.starts_with(b"where ") && self.lang == Lang::Cs)
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
        if byte != b'/' || !matches!(self.lang, Lang::Js | Lang::Rb | Lang::Pl) {
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
        if self.lang == Lang::Lua && rest.starts_with(b"[[") {
            self.begin(2, b"]]".to_vec(), false, true, Interp::None);
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
                Lang::Rs | Lang::Scala if rest.get(2) != Some(&b'\'') && rest.get(1) != Some(&b'\\') => {
                    self.take(1, Some(b' '));
                    return true;
                }
                Lang::C if prefix.first().is_some_and(u8::is_ascii_digit) => {
                    self.take(1, Some(b' '));
                    return true;
                }
                _ => {}
            }
        }
        let interp = self.lang.interp(byte, &prefix);
        if self.lang == Lang::Rs && has(b'r') {
            let hashes = prefix.iter().filter(|b| **b == b'#').count();
            let end = [vec![b'"'], vec![b'#'; hashes]].concat();
            self.begin(1, end, false, true, interp);
            return true;
        }
        let three = [byte; 3];
        if self.lang.triple()
            && rest.starts_with(&three)
            && (byte == b'"' || matches!(self.lang, Lang::Py | Lang::Dart))
        {
            let interp = if self.lang == Lang::Java { Interp::None } else { interp };
            self.begin(3, three.to_vec(), true, true, interp);
            return true;
        }
        let raw = (byte == b'\'' && matches!(self.lang, Lang::Sh | Lang::Ps | Lang::Sql))
            || (byte == b'`' && self.lang == Lang::Go)
            || (self.lang == Lang::Cs && has(b'@'))
            || (matches!(self.lang, Lang::Dart | Lang::Py) && has(b'r') && interp == Interp::None);
        let spans = self.lang.spans(byte) || (self.lang == Lang::Cs && has(b'@'));
        self.begin(1, vec![byte], !raw, spans, interp);
        true
    }

    fn begin(&mut self, open: usize, end: Vec<u8>, escapes: bool, spans: bool, interp: Interp) {
        self.take(open, Some(b'"'));
        self.stack.push(Mode::Text(Quoted { end, escapes, spans, interp }));
    }

    fn begins_heredoc(&mut self) -> bool {
        if !matches!(self.lang, Lang::Sh | Lang::Php | Lang::Rb | Lang::Pl) {
            return false;
        }
        let line = self.rest().split(|b| *b == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let mark = line.trim_start_matches('<').trim_start_matches(['-', '~']).trim_start();
        let skipped = line.len() - mark.len();
        let quoted = mark.starts_with('\'');
        let mark = mark.trim_start_matches(['\'', '"']);
        let word: String = mark.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let named =
            word.len() >= 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit());
        if !named && !line.starts_with("<<<")
            || word.is_empty()
            || word.starts_with(|c: char| c.is_ascii_digit())
        {
            return false;
        }
        let interp = match self.lang {
            _ if quoted => Interp::None,
            Lang::Rb => Interp::Hash,
            Lang::Php => Interp::Dollar,
            _ => Interp::Shell,
        };
        let length =
            skipped + word.len() + usize::from(quoted || line.get(skipped..skipped + 1) == Some("\"")) * 2;
        self.take(length.min(line.len()), Some(b' '));
        self.heredocs.push((word.into_bytes(), interp));
        true
    }

    /// Reads the text of a heredoc, whose lines begin here.
    fn heredoc(&mut self) {
        let (word, interp) = self.heredocs.remove(0);
        self.push(b'"', b'"');
        let mut end = self.at;
        let mut found = self.bytes.len();
        for line in self.rest().split(|b| *b == b'\n') {
            let bare = line.trim_ascii();
            let bare = bare.strip_suffix(b";").unwrap_or(bare);
            let bare = bare.strip_suffix(b")").unwrap_or(bare);
            if bare == word.as_slice() {
                found = end;
                break;
            }
            end += line.len() + 1;
        }
        let inner = self.bytes.get(self.at..found).unwrap_or_default();
        // The lines are read on their own, as one text that ends with them.
        let mut part = Reader {
            lang: self.lang,
            bytes: inner,
            at: 0,
            number: self.number,
            stack: vec![Mode::Text(Quoted { end: vec![0], escapes: true, spans: true, interp })],
            brackets: Vec::new(),
            text: vec![b' '],
            code: vec![b' '],
            lines: vec![(0, self.number)],
            indent: 0,
            opened: 0,
            out: Vec::new(),
            heredocs: Vec::new(),
        };
        while let Some(&byte) = part.bytes.get(part.at) {
            if part.text.len() > LONGEST {
                break;
            }
            if matches!(part.stack.last(), Some(Mode::Text(_))) {
                part.quoted(byte);
            } else {
                part.plain(byte);
            }
        }
        let offset = self.text.len();
        self.text.extend(part.text);
        self.code.extend(part.code);
        self.lines.extend(part.lines.into_iter().map(|(at, number)| (at + offset, number)));
        self.number += inner.iter().filter(|b| **b == b'\n').count() as u64;
        self.at = found;
        self.push(b'"', b'"');
        // What follows the last word belongs to the statement.
        let rest = self.rest();
        let ahead = rest.iter().take_while(|b| b.is_ascii_whitespace() && **b != b'\n').count();
        if rest.get(ahead..).is_some_and(|rest| rest.starts_with(&word)) {
            self.at += ahead + word.len();
        }
    }

    fn quoted(&mut self, byte: u8) {
        let Some(Mode::Text(text)) = self.stack.last() else { return };
        let (interp, escapes, spans) = (text.interp, text.escapes, text.spans);
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.starts_with(&text.end) {
            let length = text.end.len();
            self.stack.pop();
            return self.take(length, Some(b'"'));
        }
        if byte == b'\n' && !spans {
            self.stack.pop();
            return self.end_of_line();
        }
        if byte == b'\\' && escapes && !(interp == Interp::Backslash && rest.get(1) == Some(&b'(')) {
            return self.take(2, Some(b' '));
        }
        if escapes && byte == b'`' && self.lang == Lang::Ps {
            return self.take(2, Some(b' '));
        }
        let next = rest.get(1).copied().unwrap_or(b' ');
        let word = next.is_ascii_alphabetic() || next == b'_';
        let opens: Option<usize> = match interp {
            Interp::Brace if byte == b'{' && next == b'{' => return self.take(2, Some(b' ')),
            Interp::Brace if byte == b'{' && (self.lang != Lang::Rs || word) => Some(1),
            Interp::Dollar | Interp::DollarBrace | Interp::Shell if byte == b'$' && next == b'{' => Some(2),
            Interp::Shell if byte == b'$' && next == b'(' => Some(2),
            Interp::Dollar if byte == b'{' && next == b'$' && self.lang == Lang::Php => Some(1),
            Interp::Hash if byte == b'#' && next == b'{' => Some(2),
            Interp::Backslash if byte == b'\\' && next == b'(' => Some(2),
            _ => None,
        };
        if let Some(length) = opens {
            self.take(1, Some(PUT_IN));
            self.take(length - 1, Some(b' '));
            self.brackets.push((b'i', false));
            self.stack.push(Mode::Inside);
            return;
        }
        let named = matches!(interp, Interp::Dollar | Interp::Shell)
            && byte == b'$'
            && (word || (interp == Interp::Shell && (next.is_ascii_digit() || next == b'@' || next == b'*')));
        if named {
            let keeps = matches!(self.lang, Lang::Php | Lang::Pl | Lang::Ps | Lang::Sh);
            if keeps && self.code.last() == Some(&b' ') {
                // The sign belongs to the name; the mark goes ahead of it.
                if let Some(last) = self.code.last_mut() {
                    *last = PUT_IN;
                }
                self.take(1, None);
            } else if keeps {
                self.push(b' ', PUT_IN);
                self.take(1, None);
            } else {
                self.take(1, Some(PUT_IN));
            }
            let length = self.name_length();
            self.take(length, None);
            return self.push(b' ', PUT_OUT);
        }
        let length = match byte {
            _ if byte.is_ascii() => 1,
            0xf0.. => 4,
            0xe0.. => 3,
            _ => 2,
        };
        self.take(length, Some(b' '));
    }

    /// How long the name is that stands here, with fields and indices as texts allow them.
    fn name_length(&self) -> usize {
        let rest = self.rest();
        let word = |from: usize| {
            rest.get(from..)
                .unwrap_or_default()
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
                .count()
        };
        let mut length = word(0).max(1);
        loop {
            let tail = rest.get(length..).unwrap_or_default();
            if tail.starts_with(b"->") && tail.get(2).is_some_and(u8::is_ascii_alphabetic) {
                length += 2 + word(length + 2);
            } else if tail.starts_with(b"[") && matches!(self.lang, Lang::Php | Lang::Pl) {
                let Some(end) = tail.iter().take(80).position(|b| *b == b']') else { return length };
                length += end + 1;
            } else {
                return length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, lang: Lang) -> Vec<String> {
        split(text, 1, lang).into_iter().map(|one| one.text.trim().to_owned()).collect()
    }

    #[test]
    fn what_belongs_together_is_one_statement() {
        assert_eq!(of("a = f(\n  1,  # one\n  2)\nb = 3", Lang::Py), ["a = f(   1,     2)", "b = 3"]);
        assert_eq!(
            of("db\n  // all\n  .find(x)\n  .sort()\nnext()", Lang::Js),
            ["db      .find(x)   .sort()", "next()"]
        );
        assert_eq!(
            of("app.get('/', (req, res) => {\n  run(req);\n});", Lang::Js),
            ["app.get('/', (req, res) => {", "run(req);", "});"]
        );
        assert_eq!(of("f({\n  a: 1,\n  b: 2\n});", Lang::Js), ["f({   a: 1,   b: 2 });"]);
        assert_eq!(of("SELECT 1\nFROM t;\nSELECT 2;", Lang::Sql), ["SELECT 1 FROM t;", "SELECT 2;"]);
    }

    #[test]
    fn texts_are_blank_and_values_in_them_are_not() {
        let check = |text: &str, lang: Lang, expect: &str| {
            let code: String = split(text, 1, lang).into_iter().map(|one| one.code).collect();
            assert_eq!(code.replace('\u{1}', "«").replace('\u{2}', "»"), expect, "{text}");
        };
        check("x = f\"a {b['c']} d\"", Lang::Py, "x = f\"  «b[\" \"]»  \"");
        check("x = `a ${b} # c`", Lang::Js, "x = \"  « b»    \"");
        check("x = 'it''s' // no", Lang::Js, "x = \"  \"\" \" ");
        check("q = \"a #{b}\"", Lang::Rb, "q = \"  « b»\"");
        check("let x: &'a str = \"{y}\";", Lang::Rs, "let x: & a str = \"«y»\";");
    }

    #[test]
    fn lines_are_known_and_heredocs_are_texts() {
        let all = split("x = <<~SQL\n  select '#{a}'\nSQL\ny = 1", 7, Lang::Rb);
        assert_eq!(all.len(), 2);
        assert!(all[0].code.contains("\u{1} a"), "{:?}", all[0].code);
        assert_eq!(all[0].line(all[0].code.find('\u{1}').unwrap_or(0)), 8);
        assert_eq!(all[1].line(0), 10);
    }
}
