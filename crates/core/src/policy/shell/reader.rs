//! Lists, pipelines, compound commands and redirections: the recursive reader behind [`super::split`].

use super::{ShellWord, SimpleCommand, UnparsableLine};

pub(super) const MAX_DEPTH: usize = 24;

pub(super) type ShellResult<T> = Result<T, UnparsableLine>;

pub(super) fn read(line: &str) -> ShellResult<Vec<SimpleCommand>> {
    read_nested(line, 0)
}

pub(super) fn read_nested(line: &str, depth: usize) -> ShellResult<Vec<SimpleCommand>> {
    let mut reader =
        ShellReader { text: line.chars().collect(), at: 0, depth, found: Vec::new(), heredocs: Vec::new() };
    reader.list(None)?;
    Ok(reader.found)
}

pub(super) struct ShellReader {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) found: Vec<SimpleCommand>,
    /// Here-documents whose bodies start after the next line end.
    pub(super) heredocs: Vec<Heredoc>,
}

pub(super) struct Heredoc {
    end: String,
    quoted: bool,
    strip_tabs: bool,
}

/// A word with what the shell would still see of its quoting.
pub(super) struct ShellToken {
    pub(super) text: String,
    pub(super) dynamic: bool,
    /// No character was quoted, so it can be a reserved word.
    pub(super) bare: bool,
    /// Length of a leading `NAME=` that was not quoted.
    pub(super) assigns: Option<usize>,
}

/// The command being collected.
#[derive(Default)]
struct OpenCommand {
    command: SimpleCommand,
    /// A compound command just ended; only redirections may follow.
    closed: bool,
}

impl OpenCommand {
    fn is_empty(&self) -> bool {
        self.command.words.is_empty() && self.command.assignments.is_empty()
    }
}

impl ShellReader {
    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(super) fn ahead(&self, n: usize) -> Option<char> {
        self.text.get(self.at + n).copied()
    }

    fn eat(&mut self, c: char) -> bool {
        let hit = self.peek() == Some(c);
        self.at += usize::from(hit);
        hit
    }

    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> ShellResult<T>) -> ShellResult<T> {
        if self.depth >= MAX_DEPTH {
            return Err(UnparsableLine("the line is nested too deeply"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn flush(&mut self, current: &mut OpenCommand) {
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
    pub(super) fn list(&mut self, until: Option<char>) -> ShellResult<()> {
        let mut current = OpenCommand::default();
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                if until.is_some() {
                    return Err(UnparsableLine("a bracket is not closed"));
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
                ')' => return Err(UnparsableLine("a bracket closes nothing")),
                '\n' => {
                    self.at += 1;
                    self.flush(&mut current);
                    self.heredoc_bodies()?;
                }
                '&' if self.ahead(1) == Some('>') => self.redirection()?,
                ';' | '&' | '|' => {
                    self.at += 1;
                    if c == ';' && self.peek() == Some(';') {
                        return Err(UnparsableLine("`;;` is not understood"));
                    }
                    self.flush(&mut current);
                }
                '(' => self.subshell(&mut current)?,
                '<' | '>' if self.ahead(1) == Some('(') => {
                    self.at += 2;
                    self.deeper(|r| r.list(Some(')')))?;
                    current.command.words.push(ShellWord::Dynamic);
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

    fn subshell(&mut self, current: &mut OpenCommand) -> ShellResult<()> {
        if !current.is_empty() || current.closed {
            return Err(UnparsableLine("functions and arrays are not understood"));
        }
        self.at += 1;
        if self.peek() == Some('(') {
            return Err(UnparsableLine("`((` is not understood"));
        }
        self.deeper(|r| r.list(Some(')')))?;
        current.closed = true;
        Ok(())
    }

    /// Puts a word where it belongs: reserved, assignment, or argument.
    fn take(&mut self, token: ShellToken, current: &mut OpenCommand) -> ShellResult<()> {
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
                    return Err(UnparsableLine("this compound command is not understood"));
                }
                _ => {}
            }
        }
        if current.closed {
            return Err(UnparsableLine("a word follows a compound command"));
        }
        if let (true, Some(length)) = (current.command.words.is_empty(), token.assigns) {
            let name: String = token.text.chars().take(length).collect();
            current.command.assignments.push(name);
            return Ok(());
        }
        current.command.words.push(if token.dynamic {
            ShellWord::Dynamic
        } else {
            ShellWord::Literal(token.text)
        });
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
    fn for_header(&mut self) -> ShellResult<()> {
        self.blanks();
        if self.peek() == Some('(') {
            return Err(UnparsableLine("`for ((` is not understood"));
        }
        self.word()?;
        self.blanks();
        while !matches!(self.peek(), None | Some(';' | '\n')) {
            if matches!(self.peek(), Some('&' | '|' | '(' | ')' | '<' | '>')) {
                return Err(UnparsableLine("this `for` is not understood"));
            }
            self.word()?;
            self.blanks();
        }
        Ok(())
    }

    /// `[[ … ]]`: nothing runs but what is substituted inside.
    fn test_brackets(&mut self) -> ShellResult<()> {
        loop {
            self.blanks();
            match self.peek() {
                None => return Err(UnparsableLine("`[[` is not closed")),
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

    fn redirection(&mut self) -> ShellResult<()> {
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
            return Err(UnparsableLine("a redirection has no target"));
        }
        if matches!(self.peek(), Some('<' | '>')) && self.ahead(1) == Some('(') {
            self.at += 2;
            return self.deeper(|r| r.list(Some(')')));
        }
        match operator.as_str() {
            "<<" => {
                let token = self.word()?;
                if token.dynamic {
                    return Err(UnparsableLine("the end of a here-document is not plain text"));
                }
                self.heredocs.push(Heredoc { end: token.text, quoted: !token.bare, strip_tabs });
            }
            "<" | ">" | ">>" | ">|" | "<>" | "<&" | ">&" | "<<<" => {
                self.word()?;
            }
            _ => return Err(UnparsableLine("a redirection is not understood")),
        }
        Ok(())
    }

    fn heredoc_bodies(&mut self) -> ShellResult<()> {
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
}
