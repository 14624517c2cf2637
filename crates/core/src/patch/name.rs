//! Names as git writes them in a patch: prefixed, quoted where they are odd.

/// A name as git writes it, quoted where it has to be, as people read it.
pub fn plain_name(name: &str) -> String {
    plain(name.as_bytes())
}

/// A name as git writes it: in quotes where it could not be told or could do something to a terminal.
pub fn quoted_name(name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        return name.to_owned();
    }
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    text.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Both names of a `diff --git` line, where they can be told apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NamedSides {
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
}

impl NamedSides {
    /// Reads `a/NAME b/NAME`. Names with spaces can only be told apart where both are the same; a rename names them again.
    pub(super) fn read(names: &[u8]) -> Self {
        let names = names.strip_suffix(b"\r").unwrap_or(names);
        let at = if names.first() == Some(&b'"') {
            end_of_quotes(names)
        } else if names.last() == Some(&b'"') {
            names.windows(2).position(|pair| pair == b" \"")
        } else {
            Some(names.len() / 2)
        };
        let Some((old, rest)) = at.and_then(|at| names.split_at_checked(at)) else { return Self::default() };
        let Some(new) = rest.strip_prefix(b" ") else { return Self::default() };
        let (old, new) = (plain(old), plain(new));
        let (Some(old_name), Some(new_name)) = (old.strip_prefix("a/"), new.strip_prefix("b/")) else {
            return Self::default();
        };
        let quoted = names.contains(&b'"');
        if !quoted && old_name != new_name {
            return Self::default();
        }
        Self { old: Some(old_name.to_owned()), new: Some(new_name.to_owned()) }
    }

    pub(super) fn all(self) -> impl Iterator<Item = String> {
        self.old.into_iter().chain(self.new)
    }
}

/// Where the quotes end that a text begins with.
fn end_of_quotes(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The name behind `--- ` or `+++ `, without prefix, quotes and trailing tab; `None` for /dev/null.
pub(super) fn sided(field: &[u8], side: &str) -> Option<String> {
    let field = field.strip_suffix(b"\r").unwrap_or(field);
    let name = plain(field.strip_suffix(b"\t").unwrap_or(field));
    (name != "/dev/null").then(|| name.strip_prefix(side).map(str::to_owned).unwrap_or(name))
}

/// A name without git's quotes.
pub(super) fn plain(name: &[u8]) -> String {
    match name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) {
        Some(quoted) => String::from_utf8_lossy(&unquoted(quoted)).into_owned(),
        None => String::from_utf8_lossy(name).into_owned(),
    }
}

/// Undoes git's C-style quoting.
fn unquoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let octal = tail.get(..3).filter(|digits| digits.iter().all(|b| (b'0'..=b'7').contains(b)));
        if let Some(digits) = octal {
            out.push(digits.iter().fold(0u8, |value, d| value.wrapping_mul(8).wrapping_add(d - b'0')));
            rest = &tail[3..];
        } else if let Some((escaped, tail)) = tail.split_first() {
            out.push(match escaped {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                other => *other,
            });
            rest = tail;
        }
    }
    out
}
