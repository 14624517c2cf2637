//! The recursive reader behind [`super::split`].

use super::{SimpleCommand, Unparsable, Word};

const MAX_DEPTH: usize = 24;

type Read<T> = Result<T, Unparsable>;

pub(super) fn read(line: &str) -> Read<Vec<SimpleCommand>> {
    read_nested(line, 0)
}

fn read_nested(line: &str, depth: usize) -> Read<Vec<SimpleCommand>> {
    let mut reader =
        Reader { text: line.chars().collect(), at: 0, depth, found: Vec::new(), heredocs: Vec::new() };
    reader.list(None)?;
    Ok(reader.found)
}

struct Reader {
    text: Vec<char>,
    at: usize,
    depth: usize,
    found: Vec<SimpleCommand>,
    /// Here-documents whose bodies start after the next line end.
    heredocs: Vec<Heredoc>,
}

struct Heredoc {
    end: String,
    quoted: bool,
    strip_tabs: bool,
}

/// A word with what the shell would still see of its quoting.
struct Token {
    text: String,
    dynamic: bool,
    /// No character was quoted, so it can be a reserved word.
    bare: bool,
    /// Length of a leading `NAME=` that was not quoted.
    assigns: Option<usize>,
}

/// The command being collected.
#[derive(Default)]
struct Current {
    command: SimpleCommand,
    /// A compound command just ended; only redirections may follow.
    closed: bool,
}

impl Current {
    fn is_empty(&self) -> bool {
        self.command.words.is_empty() && self.command.assignments.is_empty()
    }
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn ahead(&self, n: usize) -> Option<char> {
        self.text.get(self.at + n).copied()
    }

    fn eat(&mut self, c: char) -> bool {
        let hit = self.peek() == Some(c);
        self.at += usize::from(hit);
        hit
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Unparsable("the line is nested too deeply"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn flush(&mut self, current: &mut Current) {
        let done = std::mem::take(current);
        if !done.is_empty() {
            self.found.push(done.command);
        }
    }

    fn blanks(&mut self) {
        loop {
            match (self.peek(), self.ahead(1)) {
                (Some(' ' | '\t'), _) => self.at += 1,
                (Some('\\'), Some('\n')) => self.at += 2,
                (Some('#'), _) => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Reads commands up to the end, or up to `until`.
    fn list(&mut self, until: Option<char>) -> Read<()> {
        let mut current = Current::default();
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                if until.is_some() {
                    return Err(Unparsable("a bracket is not closed"));
                }
                self.flush(&mut current);
                return Ok(());
            };
            match c {
                ')' if until == Some(')') => {
                    self.at += 1;
                    self.flush(&mut current);
                    return Ok(());
                }
                ')' => return Err(Unparsable("a bracket closes nothing")),
                '\n' => {
                    self.at += 1;
                    self.flush(&mut current);
                    self.heredoc_bodies()?;
                }
                '&' if self.ahead(1) == Some('>') => self.redirection()?,
                ';' | '&' | '|' => {
                    self.at += 1;
                    if c == ';' && self.peek() == Some(';') {
                        return Err(Unparsable("`;;` is not understood"));
                    }
                    self.flush(&mut current);
                }
                '(' => self.subshell(&mut current)?,
                '<' | '>' if self.ahead(1) == Some('(') => {
                    self.at += 2;
                    self.deeper(|r| r.list(Some(')')))?;
                    current.command.words.push(Word::Dynamic);
                }
                '<' | '>' => self.redirection()?,
                _ if self.at_descriptor() => self.redirection()?,
                _ => {
                    let token = self.word()?;
                    self.take(token, &mut current)?;
                }
            }
        }
    }

    fn subshell(&mut self, current: &mut Current) -> Read<()> {
        if !current.is_empty() || current.closed {
            return Err(Unparsable("functions and arrays are not understood"));
        }
        self.at += 1;
        if self.peek() == Some('(') {
            return Err(Unparsable("`((` is not understood"));
        }
        self.deeper(|r| r.list(Some(')')))?;
        current.closed = true;
        Ok(())
    }

    /// Puts a word where it belongs: reserved, assignment, or argument.
    fn take(&mut self, token: Token, current: &mut Current) -> Read<()> {
        if current.is_empty() && token.bare && !token.dynamic {
            match token.text.as_str() {
                "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "{" | "!" => {
                    current.closed = false;
                    return Ok(());
                }
                "time" => {
                    self.skip_time_options();
                    return Ok(());
                }
                "fi" | "done" | "}" => {
                    current.closed = true;
                    return Ok(());
                }
                "for" => return self.for_header(),
                "[[" => {
                    current.closed = true;
                    return self.test_brackets();
                }
                "case" | "esac" | "select" | "function" | "coproc" => {
                    return Err(Unparsable("this compound command is not understood"));
                }
                _ => {}
            }
        }
        if current.closed {
            return Err(Unparsable("a word follows a compound command"));
        }
        if let (true, Some(length)) = (current.command.words.is_empty(), token.assigns) {
            let name: String = token.text.chars().take(length).collect();
            current.command.assignments.push(name);
            return Ok(());
        }
        current.command.words.push(if token.dynamic { Word::Dynamic } else { Word::Literal(token.text) });
        Ok(())
    }

    fn skip_time_options(&mut self) {
        self.blanks();
        while self.peek() == Some('-')
            && matches!(self.ahead(1), Some('p' | '-'))
            && matches!(self.ahead(2), Some(' ' | '\t'))
        {
            self.at += 2;
            self.blanks();
        }
    }

    /// `for NAME [in WORD…]`, up to the separator before `do`.
    fn for_header(&mut self) -> Read<()> {
        self.blanks();
        if self.peek() == Some('(') {
            return Err(Unparsable("`for ((` is not understood"));
        }
        self.word()?;
        self.blanks();
        while !matches!(self.peek(), None | Some(';' | '\n')) {
            if matches!(self.peek(), Some('&' | '|' | '(' | ')' | '<' | '>')) {
                return Err(Unparsable("this `for` is not understood"));
            }
            self.word()?;
            self.blanks();
        }
        Ok(())
    }

    /// `[[ … ]]`: nothing runs but what is substituted inside.
    fn test_brackets(&mut self) -> Read<()> {
        loop {
            self.blanks();
            match self.peek() {
                None => return Err(Unparsable("`[[` is not closed")),
                Some('\n' | '&' | '|' | '<' | '>' | '(' | ')' | ';') => self.at += 1,
                Some(_) => {
                    let token = self.word()?;
                    if token.bare && token.text == "]]" {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Whether digits directly in front of `<` or `>` stand here.
    fn at_descriptor(&self) -> bool {
        let digits = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        digits > 0 && matches!(self.ahead(digits), Some('<' | '>'))
    }

    fn redirection(&mut self) -> Read<()> {
        while self.peek().is_some_and(|c| c.is_ascii_digit() || c == '&') {
            self.at += 1;
        }
        let mut operator = String::new();
        while let Some(c @ ('<' | '>' | '&' | '|')) = self.peek() {
            if operator.len() >= 3 || (self.ahead(1) == Some('(') && !operator.is_empty() && c != '&') {
                break;
            }
            operator.push(c);
            self.at += 1;
        }
        let strip_tabs = operator == "<<" && self.eat('-');
        self.blanks();
        if matches!(self.peek(), None | Some('\n' | ';' | ')')) {
            return Err(Unparsable("a redirection has no target"));
        }
        if matches!(self.peek(), Some('<' | '>')) && self.ahead(1) == Some('(') {
            self.at += 2;
            return self.deeper(|r| r.list(Some(')')));
        }
        match operator.as_str() {
            "<<" => {
                let token = self.word()?;
                if token.dynamic {
                    return Err(Unparsable("the end of a here-document is not plain text"));
                }
                self.heredocs.push(Heredoc { end: token.text, quoted: !token.bare, strip_tabs });
            }
            "<" | ">" | ">>" | ">|" | "<>" | "<&" | ">&" | "<<<" => {
                self.word()?;
            }
            _ => return Err(Unparsable("a redirection is not understood")),
        }
        Ok(())
    }

    fn heredoc_bodies(&mut self) -> Read<()> {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            loop {
                let line: String = self.text[self.at..].iter().take_while(|c| **c != '\n').collect();
                let last = self.at + line.chars().count() >= self.text.len();
                self.at = (self.at + line.chars().count() + 1).min(self.text.len());
                let bare = if heredoc.strip_tabs { line.trim_start_matches('\t') } else { &line };
                if bare == heredoc.end || last {
                    if bare != heredoc.end {
                        body.push_str(bare);
                    }
                    break;
                }
                body.push_str(bare);
                body.push('\n');
            }
            if !heredoc.quoted {
                self.deeper(|r| r.expansions_of(&body))?;
            }
        }
        Ok(())
    }

    /// Collects what expansions inside a here-document would run.
    fn expansions_of(&mut self, body: &str) -> Read<()> {
        let mut inner = Self {
            text: body.chars().collect(),
            at: 0,
            depth: self.depth,
            found: Vec::new(),
            heredocs: Vec::new(),
        };
        while let Some(c) = inner.peek() {
            match c {
                '\\' => inner.at += 2,
                '$' => {
                    inner.dollar()?;
                }
                '`' => inner.backtick()?,
                _ => inner.at += 1,
            }
        }
        self.found.append(&mut inner.found);
        Ok(())
    }

    /// Reads one word; what it substitutes is collected on the way.
    fn word(&mut self) -> Read<Token> {
        let mut token = Token { text: String::new(), dynamic: false, bare: true, assigns: None };
        let start = self.at;
        let mut braces = false;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    token.bare = false;
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => {}
                        Some(next) => token.text.push(next),
                        None => return Err(Unparsable("the line ends in a backslash")),
                    }
                    self.at += 1;
                }
                '\'' => {
                    token.bare = false;
                    self.single_quotes(&mut token.text)?;
                }
                '"' => {
                    token.bare = false;
                    token.dynamic |= self.double_quotes(&mut token.text)?;
                }
                '$' => {
                    if self.dollar()? {
                        token.dynamic = true;
                    } else {
                        token.text.push('$');
                    }
                }
                '`' => {
                    token.dynamic = true;
                    self.backtick()?;
                }
                _ => {
                    let lone_test = c == '['
                        && self.at == start
                        && !self.ahead(1).is_some_and(|n| !n.is_whitespace() && n != '[');
                    let double_test = c == '['
                        && token.text.is_empty()
                        && self.ahead(1) == Some('[')
                        && self.ahead(2).is_none_or(char::is_whitespace);
                    let second_bracket =
                        c == '[' && token.text == "[" && self.ahead(1).is_none_or(char::is_whitespace);
                    match c {
                        '*' | '?' => token.dynamic = true,
                        '[' if !lone_test && !double_test && !second_bracket => token.dynamic = true,
                        '~' if token.text.is_empty() => token.dynamic = true,
                        '{' => braces = true,
                        ',' | '.' if braces => token.dynamic = true,
                        '=' if token.assigns.is_none() && token.bare && !token.dynamic => {
                            token.assigns = assigned_name(&token.text);
                        }
                        _ => {}
                    }
                    token.text.push(c);
                    self.at += 1;
                }
            }
        }
        if self.at == start {
            return Err(Unparsable("a word is missing"));
        }
        Ok(token)
    }

    fn single_quotes(&mut self, into: &mut String) -> Read<()> {
        self.at += 1;
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == '\'' {
                return Ok(());
            }
            into.push(c);
        }
        Err(Unparsable("a quote is not closed"))
    }

    /// Returns whether anything inside is only known at run time.
    fn double_quotes(&mut self, into: &mut String) -> Read<bool> {
        self.at += 1;
        let mut dynamic = false;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(dynamic);
                }
                '\\' => {
                    match self.ahead(1) {
                        Some('\n') => {}
                        Some(next @ ('$' | '`' | '"' | '\\')) => into.push(next),
                        Some(next) => into.extend(['\\', next]),
                        None => break,
                    }
                    self.at += 2;
                }
                '$' if matches!(self.ahead(1), Some('\'' | '"')) => {
                    into.push('$');
                    self.at += 1;
                }
                '$' => {
                    if self.dollar()? {
                        dynamic = true;
                    } else {
                        into.push('$');
                    }
                }
                '`' => {
                    dynamic = true;
                    self.backtick()?;
                }
                _ => {
                    into.push(c);
                    self.at += 1;
                }
            }
        }
        Err(Unparsable("a quote is not closed"))
    }

    /// Reads an expansion; false when the dollar sign stands for itself.
    fn dollar(&mut self) -> Read<bool> {
        self.at += 1;
        match self.peek() {
            Some('(') if self.ahead(1) == Some('(') => {
                self.at += 2;
                self.deeper(Self::arithmetic)?;
            }
            Some('(') => {
                self.at += 1;
                self.deeper(|r| r.list(Some(')')))?;
            }
            Some('{') => {
                self.at += 1;
                self.deeper(Self::parameter)?;
            }
            Some('\'') => self.ansi_quotes()?,
            Some('"') => {
                self.double_quotes(&mut String::new())?;
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.at += 1;
                }
            }
            Some(c) if c.is_ascii_digit() || "?$!#@*-".contains(c) => self.at += 1,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `$(( … ))`, which runs nothing but what is substituted inside.
    fn arithmetic(&mut self) -> Read<()> {
        let mut open = 0;
        while let Some(c) = self.peek() {
            match c {
                ')' if open == 0 && self.ahead(1) == Some(')') => {
                    self.at += 2;
                    return Ok(());
                }
                ')' if open == 0 => break,
                ')' => open -= 1,
                '(' => open += 1,
                '$' => {
                    self.dollar()?;
                    continue;
                }
                '`' => {
                    self.backtick()?;
                    continue;
                }
                c if c.is_ascii_alphanumeric() || " \t_+-*/%<>=!&|^~?:,".contains(c) => {}
                _ => break,
            }
            self.at += 1;
        }
        Err(Unparsable("this arithmetic is not understood"))
    }

    /// `${ … }`
    fn parameter(&mut self) -> Read<()> {
        if self.peek().is_none_or(|c| c.is_whitespace() || c == '|') {
            return Err(Unparsable("this expansion is not understood"));
        }
        while let Some(c) = self.peek() {
            match c {
                '}' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => self.at += 2,
                '\'' => self.single_quotes(&mut String::new())?,
                '"' => {
                    self.double_quotes(&mut String::new())?;
                }
                '$' => {
                    self.dollar()?;
                }
                '`' => self.backtick()?,
                _ => self.at += 1,
            }
        }
        Err(Unparsable("an expansion is not closed"))
    }

    fn ansi_quotes(&mut self) -> Read<()> {
        self.at += 1;
        while let Some(c) = self.peek() {
            match c {
                '\'' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        Err(Unparsable("a quote is not closed"))
    }

    fn backtick(&mut self) -> Read<()> {
        self.at += 1;
        let mut inner = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '`' => {
                    let depth = self.depth + 1;
                    if depth > MAX_DEPTH {
                        return Err(Unparsable("the line is nested too deeply"));
                    }
                    let mut commands = read_nested(&inner, depth)?;
                    self.found.append(&mut commands);
                    return Ok(());
                }
                '\\' => {
                    match self.peek() {
                        Some(next @ ('`' | '\\' | '$')) => inner.push(next),
                        Some(next) => inner.extend(['\\', next]),
                        None => break,
                    }
                    self.at += 1;
                }
                _ => inner.push(c),
            }
        }
        Err(Unparsable("a backtick is not closed"))
    }
}

/// Length of the variable name in `NAME`, `NAME+` or `NAME[…]`, when that is what stands before a `=`.
fn assigned_name(before: &str) -> Option<usize> {
    let name = before.strip_suffix('+').unwrap_or(before);
    let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| !c.is_ascii_digit());
    (valid && !name.is_empty()).then(|| name.chars().count())
}
