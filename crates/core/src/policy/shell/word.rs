//! Words: quoting and expansions, with what they would run collected on the way.

use super::UnparsableLine;
use super::reader::{MAX_DEPTH, ShellReader, ShellResult, ShellToken, read_nested};

impl ShellReader {
    /// Collects what expansions inside a here-document would run.
    pub(super) fn expansions_of(&mut self, body: &str) -> ShellResult<()> {
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
    pub(super) fn word(&mut self) -> ShellResult<ShellToken> {
        let mut token = ShellToken { text: String::new(), dynamic: false, bare: true, assigns: None };
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
                        None => return Err(UnparsableLine("the line ends in a backslash")),
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
            return Err(UnparsableLine("a word is missing"));
        }
        Ok(token)
    }

    fn single_quotes(&mut self, into: &mut String) -> ShellResult<()> {
        self.at += 1;
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == '\'' {
                return Ok(());
            }
            into.push(c);
        }
        Err(UnparsableLine("a quote is not closed"))
    }

    /// Returns whether anything inside is only known at run time.
    fn double_quotes(&mut self, into: &mut String) -> ShellResult<bool> {
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
        Err(UnparsableLine("a quote is not closed"))
    }

    /// Reads an expansion; false when the dollar sign stands for itself.
    fn dollar(&mut self) -> ShellResult<bool> {
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
    fn arithmetic(&mut self) -> ShellResult<()> {
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
        Err(UnparsableLine("this arithmetic is not understood"))
    }

    /// `${ … }`
    fn parameter(&mut self) -> ShellResult<()> {
        if self.peek().is_none_or(|c| c.is_whitespace() || c == '|') {
            return Err(UnparsableLine("this expansion is not understood"));
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
        Err(UnparsableLine("an expansion is not closed"))
    }

    fn ansi_quotes(&mut self) -> ShellResult<()> {
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
        Err(UnparsableLine("a quote is not closed"))
    }

    fn backtick(&mut self) -> ShellResult<()> {
        self.at += 1;
        let mut inner = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '`' => {
                    let depth = self.depth + 1;
                    if depth > MAX_DEPTH {
                        return Err(UnparsableLine("the line is nested too deeply"));
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
        Err(UnparsableLine("a backtick is not closed"))
    }
}

/// Length of the variable name in `NAME`, `NAME+` or `NAME[…]`, when that is what stands before a `=`.
fn assigned_name(before: &str) -> Option<usize> {
    let name = before.strip_suffix('+').unwrap_or(before);
    let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.starts_with(|c: char| !c.is_ascii_digit());
    (valid && !name.is_empty()).then(|| name.chars().count())
}
