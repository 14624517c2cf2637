//! A small scanner of languages with braces: what is text, comment or code, and where a block ends.

/// Where scanning stands after something was read.
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    rust: bool,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, at: usize, rust: bool) -> Self {
        Self { text: text.as_bytes(), at, rust }
    }

    fn starts(&self, with: &[u8]) -> bool {
        self.text[self.at..].starts_with(with)
    }

    /// The next byte of code with its place; texts, comments and characters are passed over.
    pub(super) fn next_code(&mut self) -> Option<(usize, u8)> {
        loop {
            let byte = *self.text.get(self.at)?;
            if self.starts(b"//") {
                self.until(b"\n");
            } else if self.starts(b"/*") {
                self.at += 2;
                self.until(b"*/");
            } else if byte == b'"' {
                self.quoted(b'"');
            } else if !self.rust && (byte == b'\'' || byte == b'`') {
                self.quoted(byte);
            } else if self.rust && byte == b'\'' && self.is_character() {
                self.quoted(b'\'');
            } else if self.rust && byte == b'r' && self.raw() {
            } else {
                self.at += 1;
                return Some((self.at - 1, byte));
            }
        }
    }

    fn until(&mut self, end: &[u8]) {
        let rest = &self.text[self.at..];
        let found = rest.windows(end.len()).position(|window| window == end);
        self.at = found.map_or(self.text.len(), |at| self.at + at + end.len());
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == quote {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
    }

    /// `'a'` and `'\n'`, but no `'a` of a lifetime.
    fn is_character(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        match rest.first() {
            Some(b'\\') => true,
            Some(_) => rest
                .iter()
                .take(6)
                .skip(1)
                .position(|b| *b == b'\'')
                .is_some_and(|at| at == 0 || rest[0] >= 0x80),
            None => false,
        }
    }

    /// `r"…"`, `r#"…"#`
    fn raw(&mut self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at));
        if before.is_some_and(|b| b.is_ascii_alphanumeric() && *b != b'b' || *b == b'_') {
            return false;
        }
        let hashes = self.text[self.at + 1..].iter().take_while(|b| **b == b'#').count();
        if self.text.get(self.at + 1 + hashes) != Some(&b'"') {
            return false;
        }
        self.at += hashes + 2;
        let end: Vec<u8> = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        self.until(&end);
        true
    }
}

/// The end of what begins at `from`: behind its first block, or behind a semicolon before that.
pub(crate) fn end_of_item(text: &str, from: usize, rust: bool) -> usize {
    let mut scanner = Scanner::new(text, from, rust);
    let (mut depth, mut round) = (0usize, 0usize);
    while let Some((at, byte)) = scanner.next_code() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b'(' | b'[' => round += 1,
            b')' | b']' => round = round.saturating_sub(1),
            b';' if depth == 0 && round == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The end of a statement: behind the semicolon that is inside of nothing.
pub(crate) fn end_of_statement(text: &str, from: usize) -> usize {
    let mut scanner = Scanner::new(text, from, false);
    let mut depth = 0usize;
    while let Some((at, byte)) = scanner.next_code() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// How many blocks are open at `to`.
pub(crate) fn depth_at(text: &str, to: usize, rust: bool) -> usize {
    let mut scanner = Scanner::new(text, 0, rust);
    let mut depth = 0usize;
    while let Some((at, byte)) = scanner.next_code() {
        if at >= to {
            break;
        }
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_where_they_end() {
        let check =
            |text: &str, expect: &str| assert_eq!(&text[..end_of_item(text, 0, true)], expect, "{text}");
        check("mod t { fn a() { let x = \"}\"; } } rest", "mod t { fn a() { let x = \"}\"; } }");
        check("mod t; rest", "mod t;");
        check(
            "fn a<'a>(x: &'a str) { let c = '}'; /* } */ } x",
            "fn a<'a>(x: &'a str) { let c = '}'; /* } */ }",
        );
        check("fn a() { r#\"}\"# } x", "fn a() { r#\"}\"# }");
        check("const X: [u8; 2] = [1, 2]; x", "const X: [u8; 2] = [1, 2];");
        check("fn a() { // }\n } x", "fn a() { // }\n }");
        check("never {", "never {");
        assert_eq!(depth_at("mod a { mod b { x", 17, true), 2);
    }
}
