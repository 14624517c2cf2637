//! Text that was escaped once too often on its way through JSON.

/// A passage and its successor with one layer of escapes removed, if both look as if they had one too many.
pub(super) fn unescape(old: &str, new: &str) -> Option<(String, String)> {
    if looks_escaped(old) && (looks_escaped(new) || !new.contains(['\\', '\n', '"'])) {
        return Some((without_escapes(old), without_escapes(new)));
    }
    if only_quotes_escaped(old) && (only_quotes_escaped(new) || !new.contains('"')) {
        return Some((old.replace("\\\"", "\""), new.replace("\\\"", "\"")));
    }
    None
}

/// Nothing in it needs escaping any more, and something in it is escaped.
fn looks_escaped(text: &str) -> bool {
    (text.contains("\\n") || text.contains("\\\"") || text.contains("\\t"))
        && !text.contains(['\n', '\t'])
        && !has_bare_quote(text)
}

fn only_quotes_escaped(text: &str) -> bool {
    text.contains("\\\"") && !has_bare_quote(text)
}

fn has_bare_quote(text: &str) -> bool {
    text.match_indices('"').any(|(at, _)| !text[..at].ends_with('\\'))
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let next = if c == '\\' { rest.as_str().chars().next() } else { None };
        let meant = match next {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some(same @ ('"' | '\'' | '\\')) => same,
            _ => {
                plain.push(c);
                continue;
            }
        };
        plain.push(meant);
        rest.next();
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn one_layer_is_removed_when_all_of_it_is_escaped() {
        let check = |old: &str, new: &str, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(old, new)| (old.to_owned(), new.to_owned()));
            assert_eq!(unescape(old, new), expect, "{old} → {new}");
        };
        check("a\\nb", "a\\nc", Some(("a\nb", "a\nc")));
        check("a\\nb", "gone", Some(("a\nb", "gone")));
        check("p(\\\"x\\\\n\\\");", "p(\\\"y\\\\n\\\");", Some(("p(\"x\\n\");", "p(\"y\\n\");")));
        check("a = \\\"x\\\"\nb", "a = \\\"y\\\"\nb", Some(("a = \"x\"\nb", "a = \"y\"\nb")));
        // The successor is not escaped: removing a layer from it would break its strings.
        check("p(\\\"x\\\")", "p(\"x\\n\")", None);
        check("plain", "other", None);
        check("p(\"x\\n\")", "p(\"y\\n\")", None);
    }
}
