//! Asking the person in front of the editor.

use serde_json::{Value, json};

use super::session::EditorSession;
use super::updates::{kind, text};
use super::wire::EditorWire;

/// Everything an interrupt asked for.
#[derive(Debug, Default)]
pub(super) struct EditorAnswers {
    pub(super) answers: Vec<String>,
    pub(super) decisions: Vec<Value>,
}

/// What came of asking.
pub(super) enum EditorReply {
    /// Everything was answered, or deliberately not.
    Answered(EditorAnswers),
    /// The editor has no way to type an answer here: the next prompt is it.
    Later(String),
    /// The person would rather stop.
    Stop,
}

/// One choice of a person.
enum EditorChoice {
    Option(String),
    Nothing,
}

/// Asks for everything an interrupt wants; `call` names calls in the session.
pub(super) fn ask(
    wire: &EditorWire,
    open: &EditorSession,
    interrupt: &Value,
    call: &dyn Fn(&str) -> String,
) -> EditorReply {
    let questions = interrupt["questions"].as_array().cloned().unwrap_or_default();
    let open_ended = |question: &Value| question["options"].as_array().is_none_or(Vec::is_empty);
    if questions.iter().any(open_ended) {
        return EditorReply::Later(as_words(&questions));
    }
    let mut given = EditorAnswers::default();
    for question in &questions {
        let options = question["options"].as_array().cloned().unwrap_or_default();
        let mut choices: Vec<Value> = (options.iter().enumerate())
            .map(|(number, option)| choice(&number.to_string(), text(option), "allow_once"))
            .collect();
        choices.push(choice("none", "None of these", "reject_once"));
        let title = text(&question["question"]);
        let about = json!({"toolCallId": call(text(&question["call"])), "title": title, "kind": "other",
            "status": "pending", "content": [{"type": "content", "content": {"type": "text", "text": title}}]});
        match choose(wire, open, about, choices) {
            Some(EditorChoice::Option(id)) => {
                let picked = id.parse::<usize>().ok().and_then(|number| options.get(number));
                given.answers.push(picked.map(text).unwrap_or("none of these").to_owned());
            }
            Some(EditorChoice::Nothing) | None => return EditorReply::Stop,
        }
    }
    for action in interrupt["action_requests"].as_array().into_iter().flatten() {
        let Some(decision) = decide(wire, open, action, call) else { return EditorReply::Stop };
        given.decisions.push(decision);
    }
    EditorReply::Answered(given)
}

fn decide(
    wire: &EditorWire,
    open: &EditorSession,
    action: &Value,
    call: &dyn Fn(&str) -> String,
) -> Option<Value> {
    let tool = text(&action["name"]);
    let approved = json!({"type": "approve"});
    if open.kept().allowed.contains(tool) {
        return Some(approved);
    }
    let class = holon_core::policy::class_of(tool, false).to_string();
    let title = format!("{tool}: {}", text(&action["summary"]));
    let about = json!({"toolCallId": call(text(&action["call"])), "title": title, "kind": kind(tool, &class),
        "status": "pending"});
    let always = format!("Allow {tool} in this session");
    let choices = vec![
        choice("once", "Allow", "allow_once"),
        choice("always", &always, "allow_always"),
        choice("reject", "Reject", "reject_once"),
    ];
    match choose(wire, open, about, choices)? {
        EditorChoice::Option(id) if id == "once" => Some(approved),
        EditorChoice::Option(id) if id == "always" => {
            open.kept().allowed.insert(tool.to_owned());
            Some(approved)
        }
        EditorChoice::Option(_) => Some(json!({"type": "reject", "message": "the person said no"})),
        EditorChoice::Nothing => None,
    }
}

/// Whether changes may reach the folder.
pub(super) fn may_apply(wire: &EditorWire, open: &EditorSession, id: &str, files: &[String]) -> bool {
    if open.kept().apply {
        return true;
    }
    let title = match files {
        [one] => format!("Apply the change of {one} to the folder"),
        _ => format!("Apply the changes of {} files to the folder", files.len()),
    };
    let about = json!({"toolCallId": id, "title": title, "kind": "edit", "status": "pending"});
    let choices = vec![
        choice("once", "Apply", "allow_once"),
        choice("always", "Always apply in this session", "allow_always"),
        choice("later", "Not yet", "reject_once"),
    ];
    match choose(wire, open, about, choices) {
        Some(EditorChoice::Option(id)) if id == "once" => true,
        Some(EditorChoice::Option(id)) if id == "always" => {
            open.kept().apply = true;
            true
        }
        _ => false,
    }
}

/// Whether a flow may begin the step behind its gate; without a word it may not.
pub(super) fn may_go_on(wire: &EditorWire, open: &EditorSession, id: &str, step: &str) -> bool {
    let title = format!("Go on with the step `{step}`");
    let about = json!({"toolCallId": id, "title": title, "kind": "other", "status": "pending"});
    let choices = vec![choice("go", "Go on", "allow_once"), choice("stop", "Stop here", "reject_once")];
    matches!(choose(wire, open, about, choices), Some(EditorChoice::Option(id)) if id == "go")
}

/// Lets the person choose; nothing at all when the editor is gone or does not know how.
fn choose(
    wire: &EditorWire,
    open: &EditorSession,
    about: Value,
    options: Vec<Value>,
) -> Option<EditorChoice> {
    let params = json!({"sessionId": open.id, "toolCall": about, "options": options});
    let answer = wire.ask("session/request_permission", &params)?;
    let outcome = &answer["outcome"];
    Some(match text(&outcome["outcome"]) {
        "selected" => EditorChoice::Option(text(&outcome["optionId"]).to_owned()),
        _ => EditorChoice::Nothing,
    })
}

fn choice(id: &str, name: &str, kind: &str) -> Value {
    json!({"optionId": id, "name": name, "kind": kind})
}

/// Questions as a part of the conversation.
fn as_words(questions: &[Value]) -> String {
    let mut words = String::from("\n\n");
    for question in questions {
        words.push_str(&format!("**{}**\n", text(&question["question"])));
        for option in question["options"].as_array().into_iter().flatten() {
            words.push_str(&format!("- {}\n", text(option)));
        }
    }
    if questions.len() > 1 {
        words.push_str("\n(Answer with your next message, one line for each question.)\n");
    } else {
        words.push_str("\n(Answer with your next message.)\n");
    }
    words
}

/// The next message as answers to what was asked in words.
pub(super) fn from_words(message: &str, questions: usize) -> Vec<String> {
    if questions <= 1 {
        return vec![message.trim().to_owned()];
    }
    message.trim().splitn(questions, '\n').map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_answers_line_by_line() {
        assert_eq!(from_words(" one\ntwo \n", 1), ["one\ntwo"]);
        assert_eq!(from_words("one\ntwo\nthree", 2), ["one", "two\nthree"]);
        assert_eq!(from_words("one", 2), ["one"]);
    }
}
