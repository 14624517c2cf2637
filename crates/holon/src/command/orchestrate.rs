//! `holon "goal"`: the shortest way to say what is wanted.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};

use crate::session::Session;
use crate::terminal::TextStyle;

/// What a goal alone stands for.
const GOAL: [&str; 5] = ["run", "--mode", "orchestrate", "--goal-alone", "--goal"];

/// A goal in place of a command becomes the run it stands for. Words with a space between them are a goal, and what is
/// written in a script that puts none there; a single word is far more often a command that was mistyped.
pub(crate) fn spelled_out(mut args: Vec<OsString>) -> Vec<OsString> {
    let is_flag = |arg: &OsString| arg.to_string_lossy().starts_with('-');
    let is_word = |at: &usize| !is_flag(&args[*at]) && args[at - 1] != "--log-format";
    let Some(at) = (1..args.len()).find(is_word) else { return args };
    // What people type who come from other programs.
    if args[at] == "help" {
        args.remove(at);
        args.push("--help".into());
        return args;
    }
    if args[at] == "version" && args.len() == at + 1 {
        args[at] = "--version".into();
        return args;
    }
    if is_goal(&args[at]) {
        args.splice(at..at, GOAL.map(OsString::from));
    }
    args
}

fn is_goal(arg: &OsString) -> bool {
    arg.to_str().is_some_and(|text| text.trim().contains(|c: char| c.is_whitespace() || needs_no_spaces(c)))
}

/// Whether a letter is of a script that is written without spaces between words: Thai, Lao, Burmese, Khmer, Chinese,
/// Japanese; and Korean, in which a single word can be a sentence.
fn needs_no_spaces(letter: char) -> bool {
    matches!(
        letter,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{2e80}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Asks the person at the terminal what is wanted; nothing typed means nothing wanted.
pub(crate) fn ask(session: &Session) -> Option<Vec<OsString>> {
    let there = session.terminal.stdout.tty && session.terminal.stderr.tty && std::io::stdin().is_terminal();
    if !there {
        return None;
    }
    let prompt = session.terminal.stderr.paint(TextStyle::Bold, "What shall be done?");
    let _ = write!(std::io::stderr().lock(), "{prompt} ");
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
    let goal = line.trim();
    if read == 0 || goal.is_empty() {
        return None;
    }
    Some(["holon"].into_iter().chain(GOAL).chain([goal]).map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(args: &[&str]) -> Vec<String> {
        let args = args.iter().map(OsString::from).collect();
        spelled_out(args).into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_sentence_is_a_goal_and_a_word_is_a_command() {
        let check = |args: &[&str], expected: &[&str]| assert_eq!(spelled(args), expected, "{args:?}");
        check(
            &["holon", "Mend the parser", "--json"],
            &["holon", "run", "--mode", "orchestrate", "--goal-alone", "--goal", "Mend the parser", "--json"],
        );
        for goal in ["日付の解析を直す", "修复日期解析器", "แก้ไขตัวแยกวันที่", "고쳐주세요"]
        {
            check(
                &["holon", goal],
                &["holon", "run", "--mode", "orchestrate", "--goal-alone", "--goal", goal],
            );
        }
        check(&["holon", "réparer"], &["holon", "réparer"]);
        check(
            &["holon", "--no-color", "a b"],
            &["holon", "--no-color", "run", "--mode", "orchestrate", "--goal-alone", "--goal", "a b"],
        );
        check(
            &["holon", "--log-format", "json", "a b"],
            &[
                "holon",
                "--log-format",
                "json",
                "run",
                "--mode",
                "orchestrate",
                "--goal-alone",
                "--goal",
                "a b",
            ],
        );
        check(&["holon", "rnu"], &["holon", "rnu"]);
        check(&["holon", "help"], &["holon", "--help"]);
        check(&["holon", "help", "runs", "apply"], &["holon", "runs", "apply", "--help"]);
        check(&["holon", "version"], &["holon", "--version"]);
        check(&["holon", "schema", "version"], &["holon", "schema", "version"]);
        check(&["holon", "run", "--goal", "a b"], &["holon", "run", "--goal", "a b"]);
        check(&["holon"], &["holon"]);
        check(&["holon", "ask", "a b"], &["holon", "ask", "a b"]);
    }
}
