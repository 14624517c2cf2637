//! Hands over an artifact that has no tool of its own.

use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::{Arguments, Described, Running, Scene, Settings, Tool, Trouble};

/// Artifacts that other tools or the host hand over.
const ELSEWHERE: [&str; 8] = [
    "diff.patch",
    "summary.md",
    "plan.md",
    "plan.json",
    "review.json",
    "debug.json",
    "ethics.json",
    "ethics.md",
];

pub(super) struct Report;

#[derive(Deserialize)]
struct Wanted {
    name: String,
    content: Value,
}

/// The artifacts of a run that this tool is for.
pub(super) fn names(settings: &Settings) -> Vec<&str> {
    let all = settings.required.iter().chain(&settings.optional).map(String::as_str);
    all.filter(|name| !ELSEWHERE.contains(name)).collect()
}

impl Tool for Report {
    fn name(&self) -> &str {
        "report"
    }

    fn describe(&self, settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {
            "name": {"type": "string", "enum": names(settings)}, "content": {"type": "string"}}, "required": ["name", "content"]});
        Described::new("report", "Hand over a file.", schema)
    }

    fn target<'a>(&self, arguments: &'a Arguments) -> Option<&'a str> {
        arguments.get("name").and_then(Value::as_str)
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { name, content } = read(arguments)?;
            let known = names(scene.agent.settings);
            if !known.contains(&name.as_str()) {
                return Err(Trouble::Arguments(format!(
                    "`{name}` is not asked for, only {}",
                    known.join(", ")
                )));
            }
            // Models like to send the object itself where the text of one is asked for.
            let text = match content {
                Value::String(text) => text,
                other => format!("{other:#}\n"),
            };
            scene.hand_over(vec![(&name, text)]).await
        })
    }
}
