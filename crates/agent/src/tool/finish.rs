//! Says that the work is over.

use holon_hands::Expectation;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{Arguments, Described, Effect, Outcome, Running, Scene, Settings, Tool, Trouble};
use crate::ended::Finish as Status;

pub(super) struct Finish;

#[derive(Deserialize)]
struct Wanted {
    #[serde(alias = "text")]
    summary: String,
    #[serde(default)]
    status: Status,
}

impl Tool for Finish {
    fn name(&self) -> &str {
        "finish"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {
            "summary": {"type": "string", "description": "Markdown"},
            "status": {"type": "string", "enum": ["done", "failed", "needs_person"]}}, "required": ["summary"]});
        Described::new("finish", "End the run. Call it last, and alone.", schema)
    }

    fn target<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let Wanted { summary, status } = read(arguments)?;
            let summary = summary.trim().to_owned();
            if !summary.chars().any(char::is_alphanumeric) {
                return Err(Trouble::Arguments("`summary` says nothing".to_owned()));
            }
            let path = scene.agent.output_path("summary.md");
            scene.store(&path, format!("{summary}\n").into_bytes(), Expectation::Any).await?;
            Ok(Outcome { effect: Effect::Finish(status, summary), ..Outcome::said("finished") })
        })
    }
}
