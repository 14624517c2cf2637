//! What the model can ask for, one file per tool.
//!
//! A tool says how it is described, as what the gate knows it, and what it does. It sees the [`CallContext`] of its call and
//! changes nothing of the conversation itself: that is left to the [`ToolEffect`] it gives back. Here each is registered;
//! `rules/tools.toml` says what class it is of.

mod absent;
mod arguments;
mod call_context;
mod offered;

mod apply_patch;
mod ask_user;
mod delegate;
mod delete_file;
mod edit_file;
mod execute;
mod finish;
mod glob;
mod grep;
mod job;
mod load;
mod ls;
mod mcp_tool;
mod read_file;
mod report;
mod report_debug;
mod report_ethics;
mod report_findings;
mod report_plan;
mod write_file;
mod write_todos;

pub(crate) use absent::target_of;
pub(crate) use arguments::signature;
pub(crate) use ask_user::{answered, questions};
pub(crate) use call_context::CallContext;
pub(crate) use offered::{is_told, offered};

use std::borrow::Cow;

use futures_util::future::BoxFuture;
use holon_core::event::Todo;
use holon_hands::{ExecutorError, ExecutorErrorKind as HandsTrouble};
use holon_model::ToolSpec;
use serde_json::{Map, Value};

use crate::edit::EditFormat;
use crate::ended::FinishStatus;
use crate::mcp::McpServers;
use crate::settings::TurnSettings;
use crate::supervisor_hook::ToolCallEvidence;

/// The arguments of a call.
pub(crate) type ToolArguments = Map<String, Value>;

/// A call under way.
pub(crate) type RunningToolCall<'a> = BoxFuture<'a, Result<ToolOutcome, ToolTrouble>>;

/// Something the model can ask for.
pub(crate) trait AgentTool: Send + Sync {
    /// Its name, as the model writes it.
    fn name(&self) -> &str;

    /// Name, description and schema for the model; every byte is paid for in every request.
    fn describe(&self, settings: &TurnSettings) -> ToolSpec;

    /// The names under which the gate knows such a call; all must be allowed, and the first gives the class.
    fn gates(&self, _arguments: &ToolArguments) -> Vec<Cow<'_, str>> {
        vec![Cow::Borrowed(self.name())]
    }

    /// Whether a tool server says that it changes nothing.
    fn declared_read_only(&self) -> bool {
        false
    }

    /// The shell line it would run.
    fn line<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    /// The file or command it is about, for people and for the steward.
    fn target<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        arguments.get("path").and_then(Value::as_str)
    }

    /// All files it names, for the steward.
    fn targets(&self, arguments: &ToolArguments) -> Vec<String> {
        let named = ["path", "file_path", "file"].iter().find_map(|key| arguments.get(*key)?.as_str());
        named.filter(|path| !path.is_empty()).map(str::to_owned).into_iter().collect()
    }

    /// Whether neighbouring calls may run at the same time.
    fn side_by_side(&self) -> bool {
        false
    }

    /// Does it.
    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a>;
}

/// What a call gave.
#[derive(Debug, Default)]
pub(crate) struct ToolOutcome {
    /// The text for the model.
    pub(crate) text: String,
    /// Whether it failed.
    pub(crate) is_error: bool,
    /// Exit code of a command.
    pub(crate) exit: Option<i32>,
    /// A signal or the clock ended it, so it did not do what was asked.
    pub(crate) cut_short: bool,
    /// Whoever watches has heard its output already.
    pub(crate) heard: bool,
    /// What it proves.
    pub(crate) evidence: Vec<ToolCallEvidence>,
    /// What it means for the conversation.
    pub(crate) effect: ToolEffect,
}

/// What a call means for the conversation.
#[derive(Debug, Default)]
pub(crate) enum ToolEffect {
    /// Nothing.
    #[default]
    None,
    /// The list of things to do is now this.
    Todos(Vec<Todo>),
    /// Artifacts are in the output folder.
    Handed(Vec<String>),
    /// The model says it is done.
    Finish(FinishStatus, String),
}

/// Why a call gave nothing.
#[derive(Debug)]
pub(crate) enum ToolTrouble {
    /// The arguments are not what the tool takes.
    Arguments(String),
    /// The hands could not do it.
    Hands(ExecutorError),
    /// Anything else, in words for the model.
    Said(String),
    /// The turn was cancelled meanwhile.
    Cancelled,
}

impl From<ExecutorError> for ToolTrouble {
    fn from(error: ExecutorError) -> Self {
        Self::Hands(error)
    }
}

impl ToolTrouble {
    /// Whether nothing more can be done at all.
    pub(crate) fn hands_gone(&self) -> Option<&str> {
        match self {
            Self::Hands(error) if error.trouble == HandsTrouble::Gone => Some(&error.message),
            _ => None,
        }
    }

    /// The result the model gets.
    pub(crate) fn outcome(self, described: &ToolSpec) -> ToolOutcome {
        let text = match self {
            Self::Arguments(problem) => {
                format!("{problem}. {} takes {}", described.name, signature(&described.schema))
            }
            Self::Hands(error) => error.message,
            Self::Said(text) => text,
            Self::Cancelled => "stopped".to_owned(),
        };
        ToolOutcome { text, is_error: true, ..ToolOutcome::default() }
    }
}

impl ToolOutcome {
    /// A call that did what was asked.
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same with something it proves.
    pub(crate) fn proving(mut self, evidence: ToolCallEvidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}

/// The hands answered with something that does not belong to the question.
pub(crate) fn odd() -> ToolTrouble {
    ToolTrouble::Said("the hands gave an answer that does not fit; try again or another way".to_owned())
}

/// Every tool there is, in the order in which the model sees them, as far as the settings have a use for it.
fn registered<'a>(settings: &TurnSettings, servers: Option<&'a McpServers>) -> Vec<Box<dyn AgentTool + 'a>> {
    let mut tools: Vec<Box<dyn AgentTool + 'a>> = reading();
    match settings.edit_format {
        EditFormat::Replace | EditFormat::WholeFile => {
            tools.push(Box::new(edit_file::EditFileTool));
            tools.push(Box::new(write_file::WriteFileTool));
            tools.push(Box::new(delete_file::DeleteFileTool));
        }
        EditFormat::ApplyPatch => {}
    }
    tools.push(Box::new(apply_patch::ApplyPatchTool));
    tools.push(Box::new(execute::ExecuteTool));
    if execute::background_allowed(settings) {
        tools.push(Box::new(job::JobTool));
    }
    tools.push(Box::new(ask_user::AskUserTool));
    tools.push(Box::new(delegate::DelegateTool));
    tools.push(Box::new(write_todos::WriteTodosTool));
    if let Some(servers) = servers {
        tools.extend(
            servers
                .tools()
                .map(|tool| Box::new(mcp_tool::McpServerTool { servers, tool }) as Box<dyn AgentTool + 'a>),
        );
    }
    if settings.is_run() {
        let asked =
            |name: &str| settings.required.iter().chain(&settings.optional).any(|known| known == name);
        if asked("plan.md") || asked("plan.json") {
            tools.push(Box::new(report_plan::ReportPlanTool));
        }
        if asked("review.json") {
            tools.push(Box::new(report_findings::ReportFindingsTool));
        }
        if asked("debug.json") {
            tools.push(Box::new(report_debug::ReportDebugTool));
        }
        if asked("ethics.json") {
            tools.push(Box::new(report_ethics::ReportEthicsTool));
        }
        if !report::names(settings).is_empty() {
            tools.push(Box::new(report::ReportArtifactTool));
        }
        tools.push(Box::new(finish::FinishTool));
    }
    tools
}

/// The tools that only look.
pub(crate) fn reading<'a>() -> Vec<Box<dyn AgentTool + 'a>> {
    vec![
        Box::new(ls::LsTool),
        Box::new(read_file::ReadFileTool),
        Box::new(glob::GlobTool),
        Box::new(grep::GrepTool),
    ]
}
