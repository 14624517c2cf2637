//! Markdown that shows and does not act.
//!
//! A zero-width space goes where a forge would otherwise see a mention, a reference, a closing word, raw HTML, an image or a
//! command to a bot. What is read stays the same; taking the spaces out gives the text back.

use super::lines::{FenceLine, Fences};

/// Breaks a pattern apart without being seen.
const BREAK: char = '\u{200b}';

/// The words with which GitHub closes an issue when a pull request is merged.
const CLOSING: [&str; 9] =
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// The same text without effects; line ends become `\n`.
pub fn harmless(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}");
    let mut fences = Fences::default();
    let mut out = String::with_capacity(text.len() + 64);
    let mut chunk: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        let part = fences.step(line);
        if part == FenceLine::Text && !line.trim().is_empty() {
            chunk.push(line);
            continue;
        }
        flush(&mut chunk, &mut out);
        if part == FenceLine::Text {
            out.push_str(line);
        } else {
            verbatim(line, &mut out);
        }
        out.push('\n');
    }
    flush(&mut chunk, &mut out);
    out.pop();
    out
}

/// Whether a text can stay as it is even where nothing inside is Markdown, such as a suggested change.
pub fn is_harmless(text: &str) -> bool {
    let mut out = String::new();
    for line in text.split('\n') {
        verbatim(line, &mut out);
        out.push('\n');
    }
    out.pop();
    out == text
}

/// Lines of code: no Markdown acts in them, but programs that read raw text look for comments and commands.
fn verbatim(line: &str, out: &mut String) {
    if is_command(line) {
        out.push(BREAK);
    }
    out.push_str(&line.replace("<!--", &format!("<!{BREAK}--")));
}

/// A line that bots take for an order, such as `/approve`.
fn is_command(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix('/') else { return false };
    let word = rest.split([' ', '\t']).next().unwrap_or_default();
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.contains(['/', '.'])
}

/// Consecutive lines that may be one paragraph.
fn flush(chunk: &mut Vec<&str>, out: &mut String) {
    // Code spans are told apart only where that is certain; elsewhere everything counts as text.
    let spans: Option<Vec<Vec<(usize, usize)>>> = chunk.iter().map(|line| code_spans(line)).collect();
    for (number, line) in chunk.iter().enumerate() {
        if is_command(line) {
            out.push(BREAK);
        }
        let none = Vec::new();
        let spans = spans.as_ref().map_or(&none, |spans| &spans[number]);
        let mut at = 0;
        for (start, end) in spans {
            plain(&line[at..*start], out);
            out.push_str(&line[*start..*end].replace("<!--", &format!("<!{BREAK}--")));
            at = *end;
        }
        plain(&line[at..], out);
        out.push('\n');
    }
    chunk.clear();
}

/// Where a line's code spans are, or nothing when that depends on more than the line.
fn code_spans(line: &str) -> Option<Vec<(usize, usize)>> {
    let bytes = line.as_bytes();
    let run = |at: usize| bytes[at..].iter().take_while(|b| **b == b'`').count();
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(found) = line[at..].find('`') {
        let start = at + found;
        if start > 0 && bytes[start - 1] == b'\\' {
            return None;
        }
        let length = run(start);
        let mut next = start + length;
        loop {
            next += line[next..].find('`')?;
            let closing = run(next);
            if closing == length {
                break;
            }
            next += closing;
        }
        let end = next + length;
        // A pipe would end a table's cell, and with it the span.
        if line[start..end].contains('|') {
            return None;
        }
        spans.push((start, end));
        at = end;
    }
    Some(spans)
}

/// Text in which Markdown acts.
fn plain(text: &str, out: &mut String) {
    let mut before = out.chars().next_back();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let next = after.chars().next();
        out.push(c);
        let split = match c {
            '@' => next.is_some_and(|n| n.is_alphanumeric()),
            '#' => next.is_some_and(|n| n.is_ascii_digit()),
            '<' => next.is_some_and(|n| n.is_ascii_alphabetic() || matches!(n, '/' | '!' | '?')),
            '!' => next == Some('['),
            '-' => before.is_some_and(|b| b.eq_ignore_ascii_case(&'h')) && follows_gh(out) && digit(next),
            _ => closes(before, rest),
        };
        if split {
            out.push(BREAK);
        }
        before = Some(c);
        rest = after;
    }
}

fn digit(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit())
}

/// Whether what was written ends in `GH-`, which starts a reference.
fn follows_gh(out: &str) -> bool {
    out.get(out.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("gh-"))
}

/// Whether a closing word and the address of an issue start here.
fn closes(before: Option<char>, rest: &str) -> bool {
    if before.is_some_and(|b| b.is_alphanumeric()) {
        return false;
    }
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    if !CLOSING.contains(&word.to_ascii_lowercase().as_str()) {
        return false;
    }
    let after = rest[word.len()..].trim_start_matches(':').trim_start();
    let address = after.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    address.trim_start_matches(['<', '(', '[']).starts_with("http")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `|` stands for the break.
    fn check(text: &str, expect: &str) {
        assert_eq!(harmless(text), expect.replace('¦', "\u{200b}"), "{text}");
    }

    #[test]
    fn nobody_is_notified() {
        check("hi @octocat, cc @org/team", "hi @¦octocat, cc @¦org/team");
        check("(@a)\n**@b**", "(@¦a)\n**@¦b**");
        check("`@dataclass` and @b", "`@dataclass` and @¦b");
        check("```py\n@dataclass\n```\n@b", "```py\n@dataclass\n```\n@¦b");
        // Fences and spans that only look like ones.
        check("``` `\n@a", "``` `\n@¦a");
        check("`@a\n@b`", "`@¦a\n@¦b`");
        check("\\`@a`", "\\`@¦a`");
        check("| `x | @a` |", "| `x | @¦a` |");
        check("    ```\n@a", "    ```\n@¦a");
        check("> ```\n> @a", "> ```\n> @¦a");
        check("```\r@a\r```\r@b", "```\n@a\n```\n@¦b");
    }

    #[test]
    fn nothing_is_closed_or_referred_to() {
        check("Fixes #12", "Fixes #¦12");
        check("closes o/r#3, GH-4", "closes o/r#¦3, GH-¦4");
        check("Resolves: https://github.com/o/r/issues/1", "R¦esolves: https://github.com/o/r/issues/1");
        check("prefixes http://x", "prefixes http://x");
        check("C# and #anchor", "C# and #anchor");
    }

    #[test]
    fn html_images_and_commands_do_nothing() {
        check("<!-- holon:x --><img src=a>", "<¦!-- holon:x --><¦img src=a>");
        check("a < b, 1<2", "a < b, 1<2");
        check("![x](https://e.com/?q=secret)", "!¦[x](https://e.com/?q=secret)");
        check("`Vec<u8>` <b>", "`Vec<u8>` <¦b>");
        check("`<!-- holon:x -->`", "`<!¦-- holon:x -->`");
        check(
            "```\n<!-- holon:x -->\n/approve now\n/usr/bin/x\n```",
            "```\n<!¦-- holon:x -->\n¦/approve now\n/usr/bin/x\n```",
        );
        check("/holon execute", "¦/holon execute");
        check("  /lgtm", "¦  /lgtm");
        check("/etc/passwd", "/etc/passwd");
    }

    #[test]
    fn exact_text_is_recognised() {
        assert!(is_harmless("@decorator\nfn x<T>() {}\n"));
        assert!(!is_harmless("<!-- holon:x -->"));
        assert!(!is_harmless("/approve\n"));
    }

    proptest! {
        #[test]
        fn taking_the_breaks_out_gives_the_text_back(text in "[a-c@#<>!`~|\\\\/\\[\\]() \n-]{0,80}") {
            prop_assert_eq!(harmless(&text).replace(BREAK, ""), text);
        }

        #[test]
        fn nothing_acts_in_any_text(text in "(?s).{0,200}") {
            let out = harmless(&text);
            prop_assert!(!out.contains("<!--"), "{out}");
            prop_assert_eq!(harmless(&out), out.clone());
            let mut fences = Fences::default();
            for line in out.split('\n') {
                if fences.step(line) == FenceLine::Text && !line.contains('`') {
                    let bytes = line.as_bytes();
                    let acts = bytes.windows(2).any(|w| w[0] == b'@' && w[1].is_ascii_alphanumeric());
                    prop_assert!(!acts && !line.contains("!["), "{line}");
                }
            }
        }

        #[test]
        fn hostile_markdown_never_mentions(text in "([`~]{1,4}|\n|@a| |\\\\|[|]|    |> |- |<div>|<!--|x){0,30}") {
            let out = harmless(&text);
            // Outside of code nothing may be left, whichever way spans are read: a line without backticks has none.
            let mut fences = Fences::default();
            for line in out.split('\n') {
                if fences.step(line) == FenceLine::Text && !line.contains('`') {
                    prop_assert!(!line.contains("@a"), "{out}");
                }
            }
        }
    }
}
