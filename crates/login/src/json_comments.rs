//! JSON with comments, as some agents write their settings.

/// The same text with spaces in place of comments, so that lines stay where they are.
pub(crate) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let (mut inside, mut escaped) = (false, false);
    while let Some(c) = rest.next() {
        if inside {
            inside = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
            continue;
        }
        match (c, rest.peek()) {
            ('/', Some('/')) => {
                out.push(' ');
                while rest.peek().is_some_and(|next| *next != '\n') {
                    rest.next();
                }
            }
            ('/', Some('*')) => {
                out.push(' ');
                rest.next();
                let mut star = false;
                for c in rest.by_ref() {
                    if c == '\n' {
                        out.push(c);
                    }
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            _ => {
                inside = c == '"';
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::without_comments;

    #[test]
    fn only_comments_go() {
        for (text, expect) in [
            ("{} // x", "{}  "),
            ("// x\n{}", " \n{}"),
            ("{/* a\nb */}", "{ \n}"),
            (r#"{"u": "https://x/*y*/"}"#, r#"{"u": "https://x/*y*/"}"#),
            (r#"{"a": "\"//"} // "b""#, r#"{"a": "\"//"}  "#),
            ("/**/1", " 1"),
            ("/* open", " "),
        ] {
            assert_eq!(without_comments(text), expect);
        }
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_lines(text in "[a\"/*\\\\\n é]{0,40}") {
            let lines = |text: &str| text.matches('\n').count();
            prop_assert_eq!(lines(&without_comments(&text)), lines(&text));
        }
    }
}
