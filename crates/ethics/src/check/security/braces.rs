//! JSON, HCL, nginx and their like as settings: keys, values, and braces around them.

use super::settings::{DEEPEST, EntryCollector, join};

/// JSON, HCL, nginx and their like.
pub(super) fn braces(lines: &[(u64, &str)], out: &mut EntryCollector) {
    let root = out.open();
    let mut parser =
        BraceReader::new(lines.iter().map(|(number, text)| (*number, (*text).to_owned())).collect());
    while parser.at < parser.text.len() {
        parser.body("", &[root], out, 0);
        parser.at += 1;
    }
}

pub(super) struct BraceReader {
    text: Vec<char>,
    starts: Vec<(usize, u64)>,
    at: usize,
    /// Only a semicolon ends a directive.
    semicolons: bool,
}

impl BraceReader {
    pub(super) fn new(lines: Vec<(u64, String)>) -> Self {
        let semicolons = lines.iter().any(|(_, line)| line.trim_end().ends_with(';'));
        let (mut text, mut starts) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            starts.push((text.len(), number));
            text.extend(line.chars());
            text.push('\n');
        }
        Self { text, starts, at: 0, semicolons }
    }

    fn line(&self, at: usize) -> u64 {
        let after = self.starts.partition_point(|(start, _)| *start <= at);
        self.starts.get(after.saturating_sub(1)).map_or(0, |(_, number)| *number)
    }

    fn peek(&self) -> char {
        self.text.get(self.at).copied().unwrap_or('\0')
    }

    fn ahead(&self, mark: &str) -> bool {
        mark.chars().enumerate().all(|(offset, c)| self.text.get(self.at + offset) == Some(&c))
    }

    /// Skips blanks and comments, and line ends when told to.
    fn blanks(&mut self, ends: bool) {
        loop {
            let c = self.peek();
            if c == ' ' || c == '\t' || c == '\r' || (ends && (c == '\n' || c == ',')) {
                self.at += 1;
            } else if c == '#' || self.ahead("//") {
                while self.at < self.text.len() && self.peek() != '\n' {
                    self.at += 1;
                }
            } else if self.ahead("/*") {
                while self.at < self.text.len() && !self.ahead("*/") {
                    self.at += 1;
                }
                self.at += 2;
            } else {
                return;
            }
        }
    }

    fn string(&mut self) -> String {
        let quote = self.peek();
        let mut out = String::new();
        self.at += 1;
        while self.at < self.text.len() {
            let c = self.peek();
            self.at += 1;
            if c == '\\' {
                out.push(self.peek());
                self.at += 1;
            } else if c == quote || c == '\n' {
                break;
            } else {
                out.push(c);
            }
        }
        out
    }

    fn word(&mut self) -> String {
        let mut out = String::new();
        while self.at < self.text.len() {
            let c = self.peek();
            if c.is_whitespace()
                || matches!(c, '{' | '}' | '[' | ']' | ';' | ',' | '"' | '=')
                || (c == ':' && matches!(self.text.get(self.at + 1), Some(' ' | '\n' | '"' | '[' | '{')))
            {
                if c == '{' && out.ends_with('$') {
                    while self.at < self.text.len() && self.peek() != '}' && self.peek() != '\n' {
                        out.push(self.peek());
                        self.at += 1;
                    }
                    out.push('}');
                    self.at += 1;
                    continue;
                }
                break;
            }
            out.push(c);
            self.at += 1;
        }
        out
    }

    /// Keys and values until the closing brace, which is taken.
    fn body(&mut self, path: &str, within: &[usize], out: &mut EntryCollector, depth: usize) {
        if depth > DEEPEST {
            self.at = self.text.len();
            return;
        }
        let mut words: Vec<String> = Vec::new();
        let mut start = self.at;
        loop {
            self.blanks(words.is_empty());
            if words.is_empty() {
                start = self.at;
            }
            match self.peek() {
                '\0' if self.at >= self.text.len() => break,
                '}' => {
                    self.at += 1;
                    break;
                }
                '{' => {
                    let key = words.join(".");
                    words.clear();
                    self.at += 1;
                    let mut inner = within.to_vec();
                    inner.push(out.open());
                    let path = if key.is_empty() { path.to_owned() } else { join(path, &key) };
                    self.body(&path, &inner, out, depth + 1);
                }
                '=' | ':' if !words.is_empty() => {
                    while matches!(self.peek(), '=' | ':' | '>') {
                        self.at += 1;
                    }
                    let key = words.join(".");
                    words.clear();
                    self.blanks(false);
                    self.value(&join(path, &key), within, out, depth + 1);
                }
                '\n' if self.semicolons => self.at += 1,
                ';' | '\n' | ',' => {
                    self.at += 1;
                    if let Some((key, rest)) = words.split_first() {
                        let line = self.line(start);
                        out.push(&join(path, key), &rest.join(" "), line, within);
                    }
                    words.clear();
                }
                '[' if words.is_empty() => self.value(path, within, out, depth + 1),
                '"' | '\'' => words.push(self.string()),
                '[' | ']' => self.at += 1,
                _ => {
                    let word = self.word();
                    if word.is_empty() {
                        self.at += 1;
                    } else {
                        words.push(word);
                    }
                }
            }
            if words.len() > 200 {
                words.clear();
            }
        }
        if let Some((key, rest)) = words.split_first() {
            out.push(&join(path, key), &rest.join(" "), self.line(start), within);
        }
    }

    pub(super) fn value(&mut self, path: &str, within: &[usize], out: &mut EntryCollector, depth: usize) {
        if depth > DEEPEST {
            self.at = self.text.len();
            return;
        }
        let start = self.at;
        match self.peek() {
            '{' => {
                self.at += 1;
                let mut inner = within.to_vec();
                inner.push(out.open());
                self.body(path, &inner, out, depth + 1);
            }
            '[' => {
                self.at += 1;
                let path = format!("{path}[]");
                loop {
                    self.blanks(true);
                    match self.peek() {
                        ']' => {
                            self.at += 1;
                            return;
                        }
                        '\0' if self.at >= self.text.len() => return,
                        '}' => return,
                        _ => {
                            let before = self.at;
                            self.value(&path, within, out, depth + 1);
                            if self.at == before {
                                self.at += 1;
                            }
                        }
                    }
                }
            }
            '<' if self.ahead("<<") => self.heredoc(path, within, out, depth),
            '"' | '\'' => {
                let line = self.line(start);
                let text = self.string();
                self.blanks(false);
                // An expression goes on behind the text.
                let tail = self.tail();
                out.push(path, &format!("{text}{tail}"), line, within);
            }
            _ => {
                let line = self.line(start);
                let mut text = String::new();
                while self.at < self.text.len() && !matches!(self.peek(), '\n' | ';' | ',' | '}' | ']') {
                    let c = self.peek();
                    if c == '"' {
                        text.push('"');
                        text.push_str(&self.string());
                        text.push('"');
                        continue;
                    }
                    if c == '{' && text.trim_end().ends_with(['(', '=']) {
                        let mut inner = within.to_vec();
                        inner.push(out.open());
                        self.at += 1;
                        self.body(path, &inner, out, depth + 1);
                        text.push_str("{}");
                        continue;
                    }
                    if c == '#' || (self.ahead("//") && !text.ends_with(':')) {
                        break;
                    }
                    if c == '[' {
                        text.push('[');
                        self.at += 1;
                        while self.at < self.text.len() && !matches!(self.peek(), ']' | '\n') {
                            text.push(self.peek());
                            self.at += 1;
                        }
                        continue;
                    }
                    text.push(c);
                    self.at += 1;
                    if text.len() > 2000 {
                        break;
                    }
                }
                if !text.trim().is_empty() {
                    out.push(path, &text, line, within);
                }
            }
        }
    }

    fn tail(&mut self) -> String {
        let mut out = String::new();
        while self.at < self.text.len() && !matches!(self.peek(), '\n' | ',' | ';' | '}' | ']' | '#') {
            out.push(self.peek());
            self.at += 1;
        }
        let out = out.trim_end();
        if out.is_empty() { String::new() } else { format!(" {out}") }
    }

    fn heredoc(&mut self, path: &str, within: &[usize], out: &mut EntryCollector, depth: usize) {
        while matches!(self.peek(), '<' | '-' | '~') {
            self.at += 1;
        }
        let mark = self.word();
        while self.at < self.text.len() && self.peek() != '\n' {
            self.at += 1;
        }
        self.at += 1;
        let mut inner: Vec<(u64, String)> = Vec::new();
        while self.at < self.text.len() {
            let number = self.line(self.at);
            let rest = self.text.get(self.at..).unwrap_or_default();
            let line: String = rest.iter().take_while(|c| **c != '\n').collect();
            self.at += line.chars().count() + 1;
            if line.trim() == mark {
                break;
            }
            inner.push((number, line));
        }
        let first = inner.iter().map(|(_, line)| line.trim()).find(|line| !line.is_empty());
        if first.is_some_and(|line| line.starts_with(['{', '['])) {
            let mut parser = Self::new(inner);
            parser.blanks(true);
            parser.value(path, within, out, depth + 1);
        } else {
            for (number, line) in inner {
                out.push(path, &line, number, within);
            }
        }
    }
}
