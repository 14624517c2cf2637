//! A reader for git's configuration format, for the few keys that must be known without running git.
//!
//! Lenient and total: hostile text gives some list of settings, never an error or a panic. Includes are not
//! followed.

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSetting {
    /// Section name in lower case, e.g. `submodule`.
    pub section: String,
    /// The quoted part of `[section "subsection"]`.
    pub subsection: Option<Vec<u8>>,
    /// Key in lower case.
    pub key: String,
    /// Its value; a key without `=` means true and has none.
    pub value: Option<Vec<u8>>,
    /// The lines it spans in the text, first and one past the last.
    pub lines: (usize, usize),
}

/// All settings in the order they appear.
pub fn parse(text: &[u8]) -> Vec<GitSetting> {
    let lines: Vec<&[u8]> = text.split(|&b| b == b'\n').collect();
    let mut settings = Vec::new();
    let mut section = (String::new(), None);
    let mut at = 0;
    while at < lines.len() {
        let first = at;
        let mut logical = lines[at].to_vec();
        at += 1;
        while ends_in_continuation(&logical) && at < lines.len() {
            logical.pop();
            logical.extend_from_slice(lines[at]);
            at += 1;
        }
        let mut rest = logical.trim_ascii();
        if rest.first() == Some(&b'[') {
            let (header, after) = split_header(rest);
            section = header;
            rest = after.trim_ascii();
        }
        if rest.is_empty() || matches!(rest[0], b'#' | b';') {
            continue;
        }
        let (key, value) = match rest.iter().position(|&b| b == b'=') {
            Some(eq) => (&rest[..eq], Some(unquote(rest[eq + 1..].trim_ascii()))),
            None => (rest, None),
        };
        settings.push(GitSetting {
            section: section.0.clone(),
            subsection: section.1.clone(),
            key: String::from_utf8_lossy(key.trim_ascii()).to_ascii_lowercase(),
            value,
            lines: (first, at),
        });
    }
    settings
}

/// The last value of `section.key`, as git would use it.
pub fn get<'s>(settings: &'s [GitSetting], section: &str, key: &str) -> Option<&'s GitSetting> {
    settings.iter().rfind(|s| s.section == section && s.subsection.is_none() && s.key == key)
}

/// Whether `section.key` is set to something git reads as true.
pub fn is_true(settings: &[GitSetting], section: &str, key: &str) -> bool {
    get(settings, section, key).is_some_and(|s| match s.value.as_deref().map(<[u8]>::to_ascii_lowercase) {
        None => true,
        Some(value) => matches!(value.as_slice(), b"true" | b"yes" | b"on" | b"1"),
    })
}

/// The text without any line that sets `section.key`; everything else stays as it was.
pub fn without(text: &[u8], section: &str, key: &str) -> Vec<u8> {
    let found = parse(text);
    let drop: Vec<_> =
        found.iter().filter(|s| s.section == section && s.key == key).map(|s| s.lines).collect();
    let mut out = Vec::with_capacity(text.len());
    for (number, line) in text.split_inclusive(|&b| b == b'\n').enumerate() {
        if !drop.iter().any(|(first, end)| (*first..*end).contains(&number)) {
            out.extend_from_slice(line);
        } else if line.trim_ascii_start().first() == Some(&b'[') {
            // `[core] worktree = x` on one line: the section must go on.
            out.extend(line.iter().take_while(|&&b| b != b']'));
            out.extend(b"]\n");
        }
    }
    out
}

fn ends_in_continuation(line: &[u8]) -> bool {
    line.iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1
}

type SectionHeader = (String, Option<Vec<u8>>);

fn split_header(line: &[u8]) -> (SectionHeader, &[u8]) {
    let mut name = Vec::new();
    let mut sub: Option<Vec<u8>> = None;
    let mut quoted = false;
    let mut bytes = line.iter().enumerate().skip(1);
    while let Some((at, &byte)) = bytes.next() {
        match (byte, quoted) {
            (b'"', _) => {
                quoted = !quoted;
                sub.get_or_insert_default();
            }
            (b'\\', true) => {
                if let Some((_, &next)) = bytes.next() {
                    sub.get_or_insert_default().push(next);
                }
            }
            (b']', false) => return ((lower(&name), sub), &line[at + 1..]),
            (other, true) => sub.get_or_insert_default().push(other),
            (other, false) => name.push(other),
        }
    }
    ((lower(&name), sub), &[])
}

fn lower(name: &[u8]) -> String {
    String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase()
}

/// Quotes, escapes and a trailing comment, as git reads a value.
fn unquote(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut quoted = false;
    let mut kept = 0;
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' => match bytes.next() {
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(b'b') => out.push(8),
                Some(&other) => out.push(other),
                None => {}
            },
            b'#' | b';' if !quoted => break,
            b' ' | b'\t' | b'\r' if !quoted => {
                out.push(byte);
                continue;
            }
            other => out.push(other),
        }
        kept = out.len();
    }
    out.truncate(kept);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_read_as_git_reads_them() {
        let check = |text: &str, section: &str, key: &str, expect: Option<&str>| {
            let found = parse(text.as_bytes());
            let value = get(&found, section, key).and_then(|s| s.value.clone());
            assert_eq!(value.map(|v| String::from_utf8(v).unwrap()).as_deref(), expect, "{text}");
        };
        check("[core]\n\tbare = false\n", "core", "bare", Some("false"));
        check("[Core] Bare = true # yes\n", "core", "bare", Some("true"));
        check("[core]\n worktree = \"a # b\" ; c\n", "core", "worktree", Some("a # b"));
        check("[core]\n worktree = a\\\n b\n", "core", "worktree", Some("a b"));
        check("[core]\n x = 1\n[other]\n x = 2\n", "core", "x", Some("1"));
        check("[core \"sub\"]\n x = 1\n", "core", "x", None);
        check("[extensions]\nobjectFormat=sha256", "extensions", "objectformat", Some("sha256"));
        check("[core]\n w = \"q\\\"\\\\\"\n", "core", "w", Some("q\"\\"));
    }

    #[test]
    fn one_key_can_be_taken_out() {
        let check = |text: &str, expect: &str| {
            assert_eq!(String::from_utf8(without(text.as_bytes(), "core", "worktree")).unwrap(), expect);
        };
        check("[core]\n\tbare = false\n\tworktree = ../..\n\tx = y\n", "[core]\n\tbare = false\n\tx = y\n");
        check("[core] worktree = x\n y = z\n", "[core]\n y = z\n");
        check("[core]\n worktree = a\\\nb\n y = z\n", "[core]\n y = z\n");
        check("[a]\n worktree = x\n", "[a]\n worktree = x\n");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let found = parse(&text);
            prop_assert!(found.len() <= text.len());
            let left = without(&text, "core", "worktree");
            let again = parse(&left);
            prop_assert!(get(&again, "core", "worktree").is_none());
        }
    }
}
