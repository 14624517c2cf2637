//! Texts inside of code: quotes, heredocs, and the values that are put into them.

use super::lang::{CodeLanguage, Interpolation};
use super::logical::{LONGEST, NestingMode, PUT_IN, PUT_OUT, QuotedText, StatementReader};

impl StatementReader<'_> {
    pub(super) fn begins_heredoc(&mut self) -> bool {
        if !matches!(self.lang, CodeLanguage::Sh | CodeLanguage::Php | CodeLanguage::Rb | CodeLanguage::Pl) {
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
            _ if quoted => Interpolation::None,
            CodeLanguage::Rb => Interpolation::Hash,
            CodeLanguage::Php => Interpolation::Dollar,
            _ => Interpolation::Shell,
        };
        let length =
            skipped + word.len() + usize::from(quoted || line.get(skipped..skipped + 1) == Some("\"")) * 2;
        self.take(length.min(line.len()), Some(b' '));
        self.heredocs.push((word.into_bytes(), interp));
        true
    }

    /// Reads the text of a heredoc, whose lines begin here.
    pub(super) fn heredoc(&mut self) {
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
        let mut part = StatementReader {
            lang: self.lang,
            bytes: inner,
            at: 0,
            number: self.number,
            stack: vec![NestingMode::Text(QuotedText { end: vec![0], escapes: true, spans: true, interp })],
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
            if matches!(part.stack.last(), Some(NestingMode::Text(_))) {
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

    pub(super) fn quoted(&mut self, byte: u8) {
        let Some(NestingMode::Text(text)) = self.stack.last() else { return };
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
        if byte == b'\\' && escapes && !(interp == Interpolation::Backslash && rest.get(1) == Some(&b'(')) {
            return self.take(2, Some(b' '));
        }
        if escapes && byte == b'`' && self.lang == CodeLanguage::Ps {
            return self.take(2, Some(b' '));
        }
        let next = rest.get(1).copied().unwrap_or(b' ');
        let word = next.is_ascii_alphabetic() || next == b'_';
        let opens: Option<usize> = match interp {
            Interpolation::Brace if byte == b'{' && next == b'{' => return self.take(2, Some(b' ')),
            Interpolation::Brace if byte == b'{' && (self.lang != CodeLanguage::Rs || word) => Some(1),
            Interpolation::Dollar | Interpolation::DollarBrace | Interpolation::Shell
                if byte == b'$' && next == b'{' =>
            {
                Some(2)
            }
            Interpolation::Shell if byte == b'$' && next == b'(' => Some(2),
            Interpolation::Dollar if byte == b'{' && next == b'$' && self.lang == CodeLanguage::Php => {
                Some(1)
            }
            Interpolation::Hash if byte == b'#' && next == b'{' => Some(2),
            Interpolation::Backslash if byte == b'\\' && next == b'(' => Some(2),
            _ => None,
        };
        if let Some(length) = opens {
            self.take(1, Some(PUT_IN));
            self.take(length - 1, Some(b' '));
            self.brackets.push((b'i', false));
            self.stack.push(NestingMode::Inside);
            return;
        }
        let named = matches!(interp, Interpolation::Dollar | Interpolation::Shell)
            && byte == b'$'
            && (word
                || (interp == Interpolation::Shell
                    && (next.is_ascii_digit() || next == b'@' || next == b'*')));
        if named {
            let keeps = matches!(
                self.lang,
                CodeLanguage::Php | CodeLanguage::Pl | CodeLanguage::Ps | CodeLanguage::Sh
            );
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
            } else if tail.starts_with(b"[") && matches!(self.lang, CodeLanguage::Php | CodeLanguage::Pl) {
                let Some(end) = tail.iter().take(80).position(|b| *b == b']') else { return length };
                length += end + 1;
            } else {
                return length;
            }
        }
    }
}
