//! Runs a shell line, to its end or in the background.

use std::borrow::Cow;

use holon_core::digest::sha256;
use holon_core::policy::{ProposedCall, ToolVerdict};
use holon_hands::{CommandOutcome as Exit, CommandRequest, CommandResult, ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{flag, number, read};
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, TurnSettings, odd,
};
use crate::supervisor_hook::ToolCallEvidence;

/// Seconds a command gets when none are asked for.
const USUAL: u64 = 120;
/// Most seconds a command gets.
const MOST: u64 = 3_600;
/// Most bytes of output given at once.
pub(super) const BYTES: u64 = 16_000;

pub(super) struct ExecuteTool;

#[derive(Deserialize)]
struct ExecuteArguments {
    #[serde(alias = "cmd")]
    command: String,
    #[serde(default, deserialize_with = "number")]
    timeout: Option<u64>,
    #[serde(default, deserialize_with = "flag")]
    background: bool,
}

/// Whether a mode lets commands run in the background.
pub(super) fn background_allowed(settings: &TurnSettings) -> bool {
    let call = ProposedCall { tool: "execute_background", line: Some(""), ..ProposedCall::default() };
    settings.gate(true).decide(&call).verdict != ToolVerdict::Deny
}

impl AgentTool for ExecuteTool {
    fn name(&self) -> &str {
        "execute"
    }

    fn describe(&self, settings: &TurnSettings) -> ToolSpec {
        let mut properties = json!({
            "command": {"type": "string"},
            "timeout": {"type": "integer", "description": "seconds, usually 120"}});
        if let Some(map) = properties.as_object_mut().filter(|_| background_allowed(settings)) {
            map.insert(
                "background".to_owned(),
                json!({"type": "boolean", "description": "gives a job number"}),
            );
        }
        let schema = json!({"type": "object", "properties": properties, "required": ["command"]});
        ToolSpec::new("execute", "Run a shell command in the workspace.", schema)
    }

    fn gates(&self, arguments: &ToolArguments) -> Vec<Cow<'_, str>> {
        let mut names = vec![Cow::Borrowed("execute")];
        let foreground = matches!(arguments.get("background"), None | Some(Value::Null | Value::Bool(false)));
        if !foreground {
            names.push(Cow::Borrowed("execute_background"));
        }
        names
    }

    fn line<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        let command = arguments.get("command").or_else(|| arguments.get("cmd"));
        command.and_then(Value::as_str)
    }

    fn target<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        self.line(arguments)
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let wanted: ExecuteArguments = read(arguments)?;
            let seconds = if wanted.background {
                wanted.timeout.unwrap_or(0)
            } else {
                wanted.timeout.unwrap_or(USUAL).max(1)
            };
            let run = CommandRequest {
                line: wanted.command.clone(),
                timeout_ms: seconds.min(MOST) * 1_000,
                max_bytes: BYTES,
                ..CommandRequest::default()
            };
            if wanted.background {
                let ToolResponse::Started(job) = scene.carry_out(ToolRequest::Start(run)).await? else {
                    return Err(odd());
                };
                return Ok(ToolOutcome::said(format!("job {} started; look at it with `job`", job.0)));
            }
            let ToolResponse::Ran(ran) = scene.carry_out_watched(ToolRequest::Run(run)).await? else {
                return Err(odd());
            };
            let exit = match ran.outcome {
                Exit::Exit(code) => Some(code),
                Exit::Signal(_) | Exit::TimedOut => None,
            };
            let cut_short = exit.is_none();
            let output_sha256 = sha256(ran.output.as_bytes());
            let proof = ToolCallEvidence::Ran { command: wanted.command, exit, output_sha256 };
            let said = ToolOutcome::said(told(&ran, seconds));
            Ok(ToolOutcome { exit, cut_short, heard: true, ..said }.proving(proof))
        })
    }
}

/// How it ended, then what it printed. No times: they would make every repetition of a run different.
fn told(ran: &CommandResult, seconds: u64) -> String {
    let mut text = how(ran.outcome);
    if ran.outcome == Exit::TimedOut {
        text.push_str(&format!(" after {seconds} seconds, with everything it started"));
    }
    if ran.output.trim().is_empty() {
        text.push_str(", no output");
        return text;
    }
    text.push('\n');
    text.push_str(ran.output.trim_end());
    if let Some(kept) = &ran.kept {
        text.push_str(&format!("\n[all {} bytes of output are in {kept}]", ran.total_bytes));
    }
    text
}

/// An end in words.
pub(super) fn how(exit: Exit) -> String {
    match exit {
        Exit::Exit(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::TimedOut => "stopped: its time was up".to_owned(),
    }
}
