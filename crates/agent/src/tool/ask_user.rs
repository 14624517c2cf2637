//! Asks the person. The call itself never runs: the turn waits, and the answers become its result.

use holon_core::event::Question;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{Arguments, Described, Running, Scene, Settings, Tool, Trouble};

pub(super) struct AskUser;

#[derive(Deserialize)]
struct Wanted {
    questions: Vec<Posed>,
}

/// Some models send plain texts where objects are asked for.
#[derive(Deserialize)]
#[serde(untagged)]
enum Posed {
    Whole(Question),
    Plain(String),
}

impl Tool for AskUser {
    fn name(&self) -> &str {
        "ask_user"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {"questions": {"type": "array", "items": {"type": "object",
            "properties": {"question": {"type": "string"}, "options": {"type": "array", "items": {"type": "string"}}},
            "required": ["question"]}}}, "required": ["questions"]});
        Described::new("ask_user", "Ask what only the user can decide.", schema)
    }

    fn target<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, _arguments: Arguments, _scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async { Err(Trouble::Said("nobody answered; decide yourself".to_owned())) })
    }
}

/// The questions of a call.
pub(crate) fn questions(arguments: Arguments) -> Result<Vec<Question>, Trouble> {
    let Wanted { questions } = read(arguments)?;
    let questions: Vec<Question> = questions
        .into_iter()
        .map(|posed| match posed {
            Posed::Whole(question) => question,
            Posed::Plain(text) => Question { text, options: Vec::new() },
        })
        .collect();
    if questions.is_empty() || questions.iter().any(|question| question.text.trim().is_empty()) {
        return Err(Trouble::Arguments(
            "`questions` must have at least one question, none of them empty".to_owned(),
        ));
    }
    Ok(questions)
}

/// Questions with their answers, for the model.
pub(crate) fn answered(questions: &[Question], answers: &[String]) -> String {
    let none = String::new();
    let answers = answers.iter().chain(std::iter::repeat(&none));
    let lines = questions.iter().zip(answers).map(|(question, answer)| {
        let answer = if answer.trim().is_empty() { "[no answer]" } else { answer.trim() };
        format!("{}\n> {answer}", question.text)
    });
    lines.collect::<Vec<_>>().join("\n")
}
