//! Where in a file something happens: as soon as the file is loaded, or only when a function of it is called.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::definition::MarkScope;
use crate::restore::inline::end_of_indented;

/// Ends of scripts for a shell.
const SHELL: [&str; 4] = [".sh", ".bash", ".zsh", ".ksh"];

/// A text with blanks in place of everything outside of a scope: every line keeps its number.
pub(crate) fn within<'t>(scope: MarkScope, path: &str, text: &'t str) -> Cow<'t, str> {
    let shell = SHELL.iter().any(|end| path.ends_with(end));
    match scope {
        MarkScope::Anywhere => Cow::Borrowed(text),
        MarkScope::OwnShell if shell => Cow::Owned(blanked(text, &shell_parts(text, false))),
        MarkScope::TopLevel if shell => Cow::Owned(blanked(text, &shell_parts(text, true))),
        MarkScope::TopLevel if path.ends_with(".py") => Cow::Owned(blanked(text, &python_functions(text))),
        // Whatever is indented is taken for the inside of a function.
        MarkScope::TopLevel => Cow::Owned(blanked(text, &indented_lines(text))),
        MarkScope::OwnShell => Cow::Borrowed(text),
    }
}

fn blanked(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        if range.start < at {
            continue;
        }
        out.push_str(&text[at..range.start]);
        out.extend(text[range.clone()].chars().filter(|c| *c == '\n'));
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn python_functions(text: &str) -> Vec<Range<usize>> {
    static STARTS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^[ \t]*((async[ \t]+)?def[ \t]|if[ \t]+__name__[ \t]*==)").ok());
    let Some(starts) = STARTS.as_ref() else { return Vec::new() };
    let body = |found: regex::Match<'_>| {
        let first = text[found.start()..].find('\n').map_or(text.len(), |at| found.start() + at);
        first..end_of_indented(text, found.start()).max(first)
    };
    starts.find_iter(text).map(body).collect()
}

fn indented_lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with([' ', '\t']) {
            found.push(at..at + line.len());
        }
        at += line.len();
    }
    found
}

/// The insides of subshells, and with `functions` those of functions.
fn shell_parts(text: &str, functions: bool) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((place, byte)) = next_of_shell(bytes, &mut at) {
        if byte != b'(' && byte != b'{' {
            continue;
        }
        let is_head = byte == b'(' && text[place + 1..].trim_start_matches([' ', '\t']).starts_with(')');
        let named =
            text[..place].trim_end_matches([' ', '\t']).ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (open, close) = if is_head && named {
            let head = place + 1 + text[place + 1..].find(')').map_or(0, |to| to + 1);
            let body = head + (text[head..].len() - text[head..].trim_start().len());
            match bytes.get(body) {
                Some(b'{') if functions => (body, (b'{', b'}')),
                Some(b'(') => (body, (b'(', b')')),
                _ => {
                    at = head;
                    continue;
                }
            }
        } else if byte == b'(' {
            (place, (b'(', b')'))
        } else if byte == b'{' && functions && is_function_word(&text[..place]) {
            (place, (b'{', b'}'))
        } else {
            continue;
        };
        if let Some(end) = closing(bytes, open, close) {
            found.push(open + 1..end);
            at = end + 1;
        }
    }
    found
}

/// Whether a brace follows `function name`.
fn is_function_word(before: &str) -> bool {
    let line = before.rsplit(['\n', ';']).next().unwrap_or_default();
    let mut words = line.split_whitespace();
    words.next() == Some("function") && words.next().is_some() && words.next().is_none()
}

fn closing(bytes: &[u8], open: usize, (opens, closes): (u8, u8)) -> Option<usize> {
    let mut at = open + 1;
    let mut depth = 1usize;
    while let Some((place, byte)) = next_of_shell(bytes, &mut at) {
        if byte == opens {
            depth += 1;
        } else if byte == closes {
            depth -= 1;
            if depth == 0 {
                return Some(place);
            }
        }
    }
    None
}

/// The next byte that is neither quoted nor in a remark, with its place.
fn next_of_shell(bytes: &[u8], at: &mut usize) -> Option<(usize, u8)> {
    loop {
        let byte = *bytes.get(*at)?;
        let begins_word = at
            .checked_sub(1)
            .and_then(|before| bytes.get(before))
            .is_none_or(|b| b.is_ascii_whitespace() || *b == b';');
        match byte {
            b'\\' => *at += 2,
            b'#' if begins_word => {
                *at += bytes[*at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - *at);
            }
            b'\'' => {
                *at += 2 + bytes[*at + 1..].iter().position(|b| *b == b'\'').unwrap_or(bytes.len() - *at)
            }
            b'"' => {
                *at += 1;
                while let Some(inside) = bytes.get(*at) {
                    *at += if *inside == b'\\' { 2 } else { 1 };
                    if *inside == b'"' {
                        break;
                    }
                }
            }
            other => {
                *at += 1;
                return Some((*at - 1, other));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_only_when_called_is_left_out() {
        let seen = |scope, path: &str, text: &str| {
            within(scope, path, text).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = "f() {\n  set +e\n  (cd x || exit 1)\n}\nset -f\nx=$(cd y; pwd)\nfunction g { cd z; }\n";
        assert_eq!(seen(MarkScope::TopLevel, "a.sh", text), "f() { } set -f x=$() function g {}");
        let own = seen(MarkScope::OwnShell, "a.sh", text);
        assert!(own.contains("set +e") && own.contains("cd z") && !own.contains("exit"), "{own}");
        assert_eq!(
            seen(MarkScope::OwnShell, "a.sh", "echo '(' exit ')'\ncase x in a) exit ;; esac\n"),
            "echo '(' exit ')' case x in a) exit ;; esac"
        );
        let text = "os.chdir('a')\ndef f():\n    os.chdir('b')\nclass C:\n    os.chdir('c')\n";
        assert_eq!(seen(MarkScope::TopLevel, "a.py", text), "os.chdir('a') def f(): class C: os.chdir('c')");
        assert_eq!(seen(MarkScope::TopLevel, "a.js", "a()\n  b()\n"), "a()");
        assert_eq!(within(MarkScope::TopLevel, "a.sh", "f() {\n a\n}\n(b\n").matches('\n').count(), 4);
        assert_eq!(within(MarkScope::TopLevel, "a.sh", "a \\").as_ref(), "a \\");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[(){}'\"\\\\#$a-z\u{e4} \t\n;:]{0,60}") {
            for path in ["a.sh", "a.py", "a.js"] {
                for scope in [MarkScope::Anywhere, MarkScope::OwnShell, MarkScope::TopLevel] {
                    let lines = within(scope, path, &text).matches('\n').count();
                    proptest::prop_assert_eq!(lines, text.matches('\n').count());
                }
            }
        }
    }
}
