//! What a person answers: questions of the agent, and calls that need a word.

use std::io;

use serde_json::{Value, json};

use super::line::{Keyboard, LineEditor, LinePrompt, TypedLine};
use super::screen::ChatScreen;
use super::view::text;
use crate::terminal::{TextStyle, visible};

/// Everything an interrupt asks for.
pub(super) struct TerminalAnswers {
    pub(super) answers: Vec<String>,
    pub(super) decisions: Vec<Value>,
}

/// Asks the person; nothing when the person would rather stop the turn.
pub(super) fn ask(
    interrupt: &Value,
    keyboard: &mut Keyboard,
    screen: &mut ChatScreen,
) -> io::Result<Option<TerminalAnswers>> {
    let mut given = TerminalAnswers { answers: Vec::new(), decisions: Vec::new() };
    for question in interrupt["questions"].as_array().into_iter().flatten() {
        let options: Vec<String> = strings(&question["options"]);
        screen.styled(TextStyle::Bold, &format!("? {}", visible(text(&question["question"]))));
        for (number, option) in options.iter().enumerate() {
            screen.line(&format!("  {}. {}", number + 1, visible(option)));
        }
        let how = if options.is_empty() { "answer> " } else { "number or own answer> " };
        match read(keyboard, how)? {
            Some(line) => given.answers.push(choice(line.trim(), &options)),
            None => return Ok(None),
        }
    }
    for action in interrupt["action_requests"].as_array().into_iter().flatten() {
        let what = format!("{} {}", text(&action["name"]), text(&action["summary"]));
        let reason = visible(text(&action["reason"]));
        screen.styled(TextStyle::Bold, &format!("? {}", visible(what.trim())));
        if !reason.is_empty() {
            screen.styled(TextStyle::Dim, &format!("  {reason}"));
        }
        match read(keyboard, "y allows it, anything else is a no with that reason> ")? {
            Some(line) => given.decisions.push(decision(line.trim())),
            None => return Ok(None),
        }
    }
    Ok(Some(given))
}

fn read(keyboard: &mut Keyboard, prompt: &str) -> io::Result<Option<String>> {
    let prompt = || LinePrompt { shown: prompt.to_owned(), plain: prompt.to_owned() };
    keyboard.forget_typed();
    match keyboard.line(&mut LineEditor::default(), &prompt, &|| {})? {
        TypedLine::Line(line) => Ok(Some(line)),
        TypedLine::Interrupt | TypedLine::End => Ok(None),
    }
}

/// A number stands for the option it names.
fn choice(answer: &str, options: &[String]) -> String {
    let chosen = answer.parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?));
    chosen.cloned().unwrap_or_else(|| answer.to_owned())
}

fn decision(answer: &str) -> Value {
    match answer {
        "y" | "Y" | "yes" => json!({"type": "approve"}),
        "" | "n" | "N" | "no" => json!({"type": "reject"}),
        reason => json!({"type": "reject", "message": reason}),
    }
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|option| text(option).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_and_only_yes_is_yes() {
        let options = ["left".to_owned(), "right".to_owned()];
        for (answer, expect) in [("2", "right"), ("0", "0"), ("3", "3"), ("neither", "neither"), ("", "")] {
            assert_eq!(choice(answer, &options), expect, "{answer}");
        }
        assert_eq!(decision("y"), json!({"type": "approve"}));
        assert_eq!(decision("yes please"), json!({"type": "reject", "message": "yes please"}));
        assert_eq!(decision(""), json!({"type": "reject"}));
    }
}
