//! Asks the person. The call itself never runs: the turn waits, and the answers become its result.

use holon_core::event::UserQuestion;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{AgentTool, CallContext, RunningToolCall, ToolArguments, ToolSpec, ToolTrouble, TurnSettings};

pub(super) struct AskUserTool;

#[derive(Deserialize)]
struct AskUserArguments {
    questions: Vec<QuestionForm>,
}

/// Some models send plain texts where objects are asked for.
#[derive(Deserialize)]
#[serde(untagged)]
enum QuestionForm {
    Whole(UserQuestion),
    Plain(String),
}

impl AgentTool for AskUserTool {
    fn name(&self) -> &str {
        "ask_user"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"questions": {"type": "array", "items": {"type": "object",
            "properties": {"question": {"type": "string"}, "options": {"type": "array", "items": {"type": "string"}}},
            "required": ["question"]}}}, "required": ["questions"]});
        ToolSpec::new("ask_user", "Ask what only the user can decide.", schema)
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, _arguments: ToolArguments, _scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async { Err(ToolTrouble::Said("nobody answered; decide yourself".to_owned())) })
    }
}

/// The questions of a call.
pub(crate) fn questions(arguments: ToolArguments) -> Result<Vec<UserQuestion>, ToolTrouble> {
    let AskUserArguments { questions } = read(arguments)?;
    let questions: Vec<UserQuestion> = questions
        .into_iter()
        .map(|posed| match posed {
            QuestionForm::Whole(question) => question,
            QuestionForm::Plain(text) => UserQuestion { text, options: Vec::new() },
        })
        .collect();
    if questions.is_empty() || questions.iter().any(|question| question.text.trim().is_empty()) {
        return Err(ToolTrouble::Arguments(
            "`questions` must have at least one question, none of them empty".to_owned(),
        ));
    }
    Ok(questions)
}

/// Questions with their answers, for the model.
pub(crate) fn answered(questions: &[UserQuestion], answers: &[String]) -> String {
    let none = String::new();
    let answers = answers.iter().chain(std::iter::repeat(&none));
    let lines = questions.iter().zip(answers).map(|(question, answer)| {
        let answer = if answer.trim().is_empty() { "[no answer]" } else { answer.trim() };
        format!("{}\n> {answer}", question.text)
    });
    lines.collect::<Vec<_>>().join("\n")
}
