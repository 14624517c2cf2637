//! Looks at, feeds or ends a background command.

use std::borrow::Cow;

use holon_hands::{Deed, Done, JobId, Look, State};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{flag, number, read};
use super::execute::{BYTES, how};
use super::{Arguments, Described, Outcome, Running, Scene, Settings, Tool, Trouble, odd};

/// Most seconds to wait for a job.
const MOST: u64 = 600;

pub(super) struct Job;

#[derive(Deserialize)]
struct Wanted {
    #[serde(deserialize_with = "number")]
    job: Option<u64>,
    #[serde(default)]
    input: Option<String>,
    #[serde(default, deserialize_with = "number")]
    wait: Option<u64>,
    #[serde(default, deserialize_with = "flag")]
    end: bool,
}

impl Tool for Job {
    fn name(&self) -> &str {
        "job"
    }

    fn describe(&self, _settings: &Settings) -> Described {
        let schema = json!({"type": "object", "properties": {
            "job": {"type": "integer"},
            "wait": {"type": "integer", "description": "seconds"},
            "input": {"type": "string"},
            "end": {"type": "boolean"}}, "required": ["job"]});
        Described::new("job", "New output of a background command; feed or end it.", schema)
    }

    fn gates(&self, arguments: &Arguments) -> Vec<Cow<'_, str>> {
        let feeds = arguments.get("input").is_some_and(|input| !input.is_null());
        vec![Cow::Borrowed(if feeds { "write_stdin" } else { "job" })]
    }

    fn target<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let wanted: Wanted = read(arguments)?;
            let number = wanted.job.and_then(|job| u32::try_from(job).ok());
            let Some(job) = number.map(JobId) else {
                return Err(Trouble::Arguments("`job` must be the number of a job".to_owned()));
            };
            if let Some(input) = wanted.input {
                scene.carry_out(Deed::Feed { job, bytes: input.into_bytes(), end: false }).await?;
            }
            let deed = if wanted.end {
                Deed::End { job }
            } else {
                Deed::Look { job, wait_ms: wanted.wait.unwrap_or(0).min(MOST) * 1_000, max_bytes: BYTES }
            };
            let Done::Look(look) = scene.carry_out(deed).await? else { return Err(odd()) };
            Ok(Outcome::said(told(&look)))
        })
    }
}

fn told(look: &Look) -> String {
    let state = match look.state {
        State::Running => "still running".to_owned(),
        State::Ended(exit) => how(exit),
    };
    if look.output.trim().is_empty() {
        return format!("{state}, no new output");
    }
    format!("{state}\n{}\n[all output is in {}]", look.output.trim_end(), look.kept)
}
