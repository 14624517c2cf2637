//! What an agent without events printed, taken for its last words.
//!
//! Some programs print nothing but what they were asked for, others a protocol of their work before it. What is handed over
//! is looked for in the text; what is not found is not made up.

use serde_json::Value;

use super::final_message::json_block;

/// How much of what is printed is kept, from its end; more than any artifact needs.
pub(super) const MOST_KEPT: usize = 4 << 20;
/// The longest summary that is made of a protocol.
const LONGEST_SUMMARY: usize = 16 * 1024;
/// How many beginnings of a JSON value are tried.
const MOST_TRIED: usize = 500;

/// What an agent printed on its standard output, as far as it is kept.
#[derive(Debug, Default)]
pub(super) struct PrintedWords {
    bytes: Vec<u8>,
}

impl PrintedWords {
    /// The next piece; of more than twice the bound the beginning is let go.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * MOST_KEPT {
            self.bytes.drain(..self.bytes.len() - MOST_KEPT);
        }
    }

    /// The text as a terminal would show it in the end.
    pub(super) fn text(&self) -> String {
        let from = self.bytes.len().saturating_sub(MOST_KEPT);
        plain(&String::from_utf8_lossy(&self.bytes[from..]))
    }
}

/// Without colours and other orders to a terminal, and of lines that were written anew only the last form.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let last = line.rsplit('\r').next().unwrap_or_default();
        without_escapes(last, &mut out);
        out.push('\n');
    }
    out.trim_matches('\n').to_owned()
}

fn without_escapes(line: &str, out: &mut String) {
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\u{1b}', Some('[')) => {
                chars.next();
                for c in chars.by_ref() {
                    if ('\u{40}'..='\u{7e}').contains(&c) {
                        break;
                    }
                }
            }
            ('\u{1b}', Some(']')) => {
                // An order with a text ends with a bell or with an escape and a backslash.
                while let Some(c) = chars.next() {
                    if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            ('\u{1b}', Some(next)) => {
                // Which characters there are is chosen by two.
                let two = "()*+-./#%".contains(*next);
                chars.next();
                if two {
                    chars.next();
                }
            }
            (c, _) if c.is_control() && c != '\t' => {}
            (c, _) => out.push(c),
        }
    }
}

/// The plan in a text: from the heading above the last section called Goal; the whole text where there is none.
pub(super) fn plan(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_goal = |line: &&str| heading(line).is_some_and(|(_, title)| first_word(title) == "goal");
    let Some(goal) = lines.iter().rposition(is_goal) else { return text.to_owned() };
    let level = heading(lines[goal]).map_or(1, |(level, _)| level);
    let above = lines[..goal].iter().rposition(|line| !line.trim().is_empty());
    let title = above.filter(|at| heading(lines[*at]).is_some_and(|(own, _)| own < level));
    let start = title.unwrap_or(goal);
    let fenced = start > 0 && lines[start - 1].trim_start().starts_with("```");
    let end = lines[goal..].iter().position(|line| fenced && line.trim() == "```").map(|at| goal + at);
    lines[start..end.unwrap_or(lines.len())].join("\n")
}

/// A heading's level and title.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line[level..].strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| (level, title.trim()))
}

fn first_word(title: &str) -> String {
    let mut words = title.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.next().unwrap_or_default().to_lowercase()
}

/// The JSON in a text, and the text without it: a marked block, else the last value that begins a line.
pub(super) fn json(text: &str) -> Option<(String, String)> {
    json_block(text).or_else(|| bare_json(text))
}

fn bare_json(text: &str) -> Option<(String, String)> {
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at);
    let begins_line = |at: &usize| text[..*at].rsplit('\n').next().is_some_and(|head| head.trim().is_empty());
    let starts: Vec<usize> = starts.filter(begins_line).collect();
    let mut found = None;
    let mut after = 0;
    for start in starts.iter().skip(starts.len().saturating_sub(MOST_TRIED)).copied() {
        if start < after {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { continue };
        if value.is_object() || is_list_of_objects(&value) {
            after = start + values.byte_offset();
            found = Some((start, after));
        }
    }
    let (start, end) = found?;
    let rest = format!("{}\n{}", text[..start].trim_end(), text[end..].trim_start());
    Some((text[start..end].to_owned(), rest.trim().to_owned()))
}

fn is_list_of_objects(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_object))
}

/// A text that can stand as a summary: the end of one that is too long.
pub(super) fn summary(text: &str) -> String {
    let text = text.trim();
    if text.len() <= LONGEST_SUMMARY {
        return text.to_owned();
    }
    let from = (text.len() - LONGEST_SUMMARY..).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let whole_lines = text[from..].split_once('\n').map_or(&text[from..], |(_, rest)| rest);
    format!(
        "The end of what the agent printed; all of it is in evidence/agent.log.\n\n{}",
        whole_lines.trim()
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAN: &str = "# Plan\n\n## Goal\nG.\n\n## Context\nC.";

    #[test]
    fn what_a_terminal_would_show_is_what_counts() {
        let mut words = PrintedWords::default();
        words.push(b"\x1b[1;32m# Plan\x1b[0m\r\n 10%\r100%\nd\x1b]0;title\x07one\x1b]8;;x\x1b\\!\x1b(B\n");
        assert_eq!(words.text(), "# Plan\n100%\ndone!");
    }

    #[test]
    fn the_end_of_a_flood_is_kept() {
        let mut words = PrintedWords::default();
        for _ in 0..300 {
            words.push(&[b'x'; 64 * 1024]);
        }
        words.push(b"\nthe end");
        let text = words.text();
        assert!(text.ends_with("\nthe end") && text.len() <= MOST_KEPT, "{}", text.len());
    }

    #[test]
    fn a_plan_is_found_below_a_protocol() {
        for text in [
            PLAN.to_owned(),
            format!("reading a.txt\n\n{PLAN}"),
            format!("Here it is:\n```markdown\n{PLAN}\n```\nGood luck."),
            format!("# Template\n## Goal\n...\n\nNow mine:\n\n{PLAN}"),
        ] {
            assert_eq!(plan(&text), PLAN, "{text}");
        }
        assert_eq!(plan("no heading"), "no heading");
        assert_eq!(plan("# Goal\nx\n# Steps\n1."), "# Goal\nx\n# Steps\n1.");
        assert_eq!(plan("x\n## 1. **Goal**\ny"), "## 1. **Goal**\ny");
    }

    #[test]
    fn json_is_found_with_or_without_a_mark() {
        for (text, found, rest) in [
            ("I looked.\n{\"findings\": []}\n", Some("{\"findings\": []}"), "I looked."),
            (
                "{\"step\": 1}\n{\"findings\": [\n{\"a\": 1}]}\nBye",
                Some("{\"findings\": [\n{\"a\": 1}]}"),
                "{\"step\": 1}\nBye",
            ),
            ("[{\"path\": \"a\"}]", Some("[{\"path\": \"a\"}]"), ""),
            ("[info] begins\n{not json}\n{\"a\": 1}", Some("{\"a\": 1}"), "[info] begins\n{not json}"),
            ("use {\"a\": 1} there\n[1, 2]", None, ""),
        ] {
            let read = json(text);
            assert_eq!(read.as_ref().map(|(json, _)| json.as_str()), found, "{text}");
            assert_eq!(read.map(|(_, rest)| rest).unwrap_or_default(), rest, "{text}");
        }
    }

    #[test]
    fn a_long_protocol_becomes_a_summary_of_its_end() {
        let text = "line\n".repeat(10_000) + "done";
        let short = summary(&text);
        assert!(short.len() < LONGEST_SUMMARY + 100 && short.ends_with("line\ndone"), "{}", short.len());
        assert!(short.starts_with("The end of what the agent printed"), "{short}");
        assert_eq!(summary(" one \n"), "one");
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "(?s).{0,200}") {
            let mut words = PrintedWords::default();
            words.push(text.as_bytes());
            let shown = words.text();
            prop_assert!(!shown.contains('\u{1b}'), "an order is left");
            let _ = (plan(&shown), json(&shown), summary(&shown));
        }
    }
}
