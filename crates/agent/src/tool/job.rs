//! Looks at, feeds or ends a background command.

use std::borrow::Cow;

use holon_hands::{JobId, JobReport, JobState, ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{flag, number, read};
use super::execute::{BYTES, how};
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, ToolTrouble, TurnSettings,
    odd,
};

/// Most seconds to wait for a job.
const MOST: u64 = 600;

pub(super) struct JobTool;

#[derive(Deserialize)]
struct JobArguments {
    #[serde(deserialize_with = "number")]
    job: Option<u64>,
    #[serde(default)]
    input: Option<String>,
    #[serde(default, deserialize_with = "number")]
    wait: Option<u64>,
    #[serde(default, deserialize_with = "flag")]
    end: bool,
}

impl AgentTool for JobTool {
    fn name(&self) -> &str {
        "job"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "job": {"type": "integer"},
            "wait": {"type": "integer", "description": "seconds"},
            "input": {"type": "string"},
            "end": {"type": "boolean"}}, "required": ["job"]});
        ToolSpec::new("job", "New output of a background command; feed or end it.", schema)
    }

    fn gates(&self, arguments: &ToolArguments) -> Vec<Cow<'_, str>> {
        let feeds = arguments.get("input").is_some_and(|input| !input.is_null());
        vec![Cow::Borrowed(if feeds { "write_stdin" } else { "job" })]
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let wanted: JobArguments = read(arguments)?;
            let number = wanted.job.and_then(|job| u32::try_from(job).ok());
            let Some(job) = number.map(JobId) else {
                return Err(ToolTrouble::Arguments("`job` must be the number of a job".to_owned()));
            };
            if let Some(input) = wanted.input {
                scene.carry_out(ToolRequest::Feed { job, bytes: input.into_bytes(), end: false }).await?;
            }
            let deed = if wanted.end {
                ToolRequest::End { job }
            } else {
                ToolRequest::Look {
                    job,
                    wait_ms: wanted.wait.unwrap_or(0).min(MOST) * 1_000,
                    max_bytes: BYTES,
                }
            };
            let ToolResponse::Look(look) = scene.carry_out(deed).await? else { return Err(odd()) };
            Ok(ToolOutcome::said(told(&look)))
        })
    }
}

fn told(look: &JobReport) -> String {
    let state = match look.state {
        JobState::Running => "still running".to_owned(),
        JobState::Ended(exit) => how(exit),
    };
    if look.output.trim().is_empty() {
        return format!("{state}, no new output");
    }
    format!("{state}\n{}\n[all output is in {}]", look.output.trim_end(), look.kept)
}
