//! The part of what a failing check printed that says why.

use crate::likely_sources::SOURCES;
use crate::runner::plain;

/// Lines before the first that tells.
const BEFORE: usize = 2;
/// Lines from the end, where none tells.
const LAST: usize = 40;

/// What a failing check printed, from the first line that tells what failed, in at most about `most` bytes.
pub fn failing_part(output: &str, most: usize) -> String {
    let lines: Vec<String> = output.lines().map(plain).collect();
    let first = lines.iter().position(|line| tells(line));
    let from = first.map_or(lines.len().saturating_sub(LAST), |at| at.saturating_sub(BEFORE));
    let text = lines[from..].join("\n");
    shorten(text.trim(), most)
}

fn tells(line: &str) -> bool {
    let any = |words: &[String]| words.iter().any(|word| line.contains(word.as_str()));
    any(&SOURCES.failing) && !any(&SOURCES.passing)
}

/// Beginning and end: runners say first what failed and last how much.
fn shorten(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let whole_lines = |text: &str, room: usize| {
        let mut used = 0;
        let fits = |line: &&str| {
            used += line.len() + 1;
            used <= room
        };
        text.lines().take_while(fits).count()
    };
    let lines: Vec<&str> = text.lines().collect();
    let begin = whole_lines(text, most / 3 * 2);
    let reversed: Vec<&str> = lines.iter().rev().copied().collect();
    let end = whole_lines(&reversed.join("\n"), most / 3).min(lines.len() - begin);
    if begin + end == 0 {
        // One endless line.
        return text.chars().take(most / 4).chain(['…']).collect();
    }
    let left = lines.len() - begin - end;
    let mut kept: Vec<String> = lines[..begin].iter().map(ToString::to_string).collect();
    kept.push(format!("[… {left} lines left out]"));
    kept.extend(lines[lines.len() - end..].iter().map(ToString::to_string));
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_begins_where_something_failed() {
        let passing: String = (0..200).map(|i| format!("test error_{i} ... ok\n")).collect();
        let text =
            format!("{passing}test b ... FAILED\n\nfailures:\n---- b stdout ----\nleft: 1\n right: 2\n");
        let part = failing_part(&text, 2_000);
        assert!(
            part.starts_with("test error_198 ... ok\ntest error_199 ... ok\ntest b ... FAILED"),
            "{part}"
        );
        assert!(part.ends_with("right: 2"));
        assert_eq!(failing_part("\u{1b}[31mnothing known\u{1b}[0m\n", 100), "nothing known");
        let long: String = (0..500).map(|i| format!("AssertionError {i}\n")).collect();
        let part = failing_part(&long, 400);
        assert!(part.contains("AssertionError 0\n") && part.contains("lines left out]\n"), "{part}");
        assert!(part.ends_with("AssertionError 499") && part.len() <= 440, "{part}");
    }

    proptest! {
        #[test]
        fn any_output_is_cut(output in "(\\PC|\n){0,400}", most in 0usize..200) {
            prop_assert!(failing_part(&output, most).len() <= most.max(4) + 60);
        }
    }
}
