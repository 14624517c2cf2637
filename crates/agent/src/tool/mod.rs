//! What the model can ask for, one file per tool.
//!
//! A tool says how it is described, as what the gate knows it, and what it does. It sees the [`Scene`] of its call and
//! changes nothing of the conversation itself: that is left to the [`Effect`] it gives back. Here each is registered;
//! `rules/tools.toml` says what class it is of.

mod absent;
mod arguments;
mod offered;
mod scene;

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
mod read_file;
mod report;
mod report_debug;
mod report_ethics;
mod report_findings;
mod report_plan;
mod served;
mod write_file;
mod write_todos;

pub(crate) use absent::target_of;
pub(crate) use arguments::signature;
pub(crate) use ask_user::{answered, questions};
pub(crate) use offered::{is_told, offered};
pub(crate) use scene::Scene;

use std::borrow::Cow;

use futures_util::future::BoxFuture;
use holon_core::event::Todo;
use holon_hands::{HandsError, Trouble as HandsTrouble};
use holon_model::Tool as Described;
use serde_json::{Map, Value};

use crate::edit::EditFormat;
use crate::ended::Finish;
use crate::mcp::Servers;
use crate::settings::Settings;
use crate::steward::Evidence;

/// The arguments of a call.
pub(crate) type Arguments = Map<String, Value>;

/// A call under way.
pub(crate) type Running<'a> = BoxFuture<'a, Result<Outcome, Trouble>>;

/// Something the model can ask for.
pub(crate) trait Tool: Send + Sync {
    /// Its name, as the model writes it.
    fn name(&self) -> &str;

    /// Name, description and schema for the model; every byte is paid for in every request.
    fn describe(&self, settings: &Settings) -> Described;

    /// The names under which the gate knows such a call; all must be allowed, and the first gives the class.
    fn gates(&self, _arguments: &Arguments) -> Vec<Cow<'_, str>> {
        vec![Cow::Borrowed(self.name())]
    }

    /// Whether a tool server says that it changes nothing.
    fn declared_read_only(&self) -> bool {
        false
    }

    /// The shell line it would run.
    fn line<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    /// The file or command it is about, for people and for the steward.
    fn target<'a>(&self, arguments: &'a Arguments) -> Option<&'a str> {
        arguments.get("path").and_then(Value::as_str)
    }

    /// All files it names, for the steward.
    fn targets(&self, arguments: &Arguments) -> Vec<String> {
        let named = ["path", "file_path", "file"].iter().find_map(|key| arguments.get(*key)?.as_str());
        named.filter(|path| !path.is_empty()).map(str::to_owned).into_iter().collect()
    }

    /// Whether neighbouring calls may run at the same time.
    fn side_by_side(&self) -> bool {
        false
    }

    /// Does it.
    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a>;
}

/// What a call gave.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The text for the model.
    pub(crate) text: String,
    /// Whether it failed.
    pub(crate) is_error: bool,
    /// Exit code of a command.
    pub(crate) exit: Option<i32>,
    /// What it proves.
    pub(crate) evidence: Vec<Evidence>,
    /// What it means for the conversation.
    pub(crate) effect: Effect,
}

/// What a call means for the conversation.
#[derive(Debug, Default)]
pub(crate) enum Effect {
    /// Nothing.
    #[default]
    None,
    /// The list of things to do is now this.
    Todos(Vec<Todo>),
    /// Artifacts are in the output folder.
    Handed(Vec<String>),
    /// The model says it is done.
    Finish(Finish, String),
}

/// Why a call gave nothing.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The arguments are not what the tool takes.
    Arguments(String),
    /// The hands could not do it.
    Hands(HandsError),
    /// Anything else, in words for the model.
    Said(String),
    /// The turn was cancelled meanwhile.
    Cancelled,
}

impl From<HandsError> for Trouble {
    fn from(error: HandsError) -> Self {
        Self::Hands(error)
    }
}

impl Trouble {
    /// Whether nothing more can be done at all.
    pub(crate) fn hands_gone(&self) -> Option<&str> {
        match self {
            Self::Hands(error) if error.trouble == HandsTrouble::Gone => Some(&error.message),
            _ => None,
        }
    }

    /// The result the model gets.
    pub(crate) fn outcome(self, described: &Described) -> Outcome {
        let text = match self {
            Self::Arguments(problem) => {
                format!("{problem}. {} takes {}", described.name, signature(&described.schema))
            }
            Self::Hands(error) => error.message,
            Self::Said(text) => text,
            Self::Cancelled => "stopped".to_owned(),
        };
        Outcome { text, is_error: true, ..Outcome::default() }
    }
}

impl Outcome {
    /// A call that did what was asked.
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The same with something it proves.
    pub(crate) fn proving(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}

/// The hands answered with something that does not belong to the question.
pub(crate) fn odd() -> Trouble {
    Trouble::Said("the hands gave an answer that does not fit; try again or another way".to_owned())
}

/// Every tool there is, in the order in which the model sees them, as far as the settings have a use for it.
fn registered<'a>(settings: &Settings, servers: Option<&'a Servers>) -> Vec<Box<dyn Tool + 'a>> {
    let mut tools: Vec<Box<dyn Tool + 'a>> = reading();
    match settings.edit_format {
        EditFormat::Replace | EditFormat::WholeFile => {
            tools.push(Box::new(edit_file::EditFile));
            tools.push(Box::new(write_file::WriteFile));
            tools.push(Box::new(delete_file::DeleteFile));
        }
        EditFormat::ApplyPatch => {}
    }
    tools.push(Box::new(apply_patch::ApplyPatch));
    tools.push(Box::new(execute::Execute));
    if execute::background_allowed(settings) {
        tools.push(Box::new(job::Job));
    }
    tools.push(Box::new(ask_user::AskUser));
    tools.push(Box::new(delegate::Delegate));
    tools.push(Box::new(write_todos::WriteTodos));
    if let Some(servers) = servers {
        tools.extend(
            servers.tools().map(|tool| Box::new(served::Served { servers, tool }) as Box<dyn Tool + 'a>),
        );
    }
    if settings.is_run() {
        let asked =
            |name: &str| settings.required.iter().chain(&settings.optional).any(|known| known == name);
        if asked("plan.md") || asked("plan.json") {
            tools.push(Box::new(report_plan::ReportPlan));
        }
        if asked("review.json") {
            tools.push(Box::new(report_findings::ReportFindings));
        }
        if asked("debug.json") {
            tools.push(Box::new(report_debug::ReportDebug));
        }
        if asked("ethics.json") {
            tools.push(Box::new(report_ethics::ReportEthics));
        }
        if !report::names(settings).is_empty() {
            tools.push(Box::new(report::Report));
        }
        tools.push(Box::new(finish::Finish));
    }
    tools
}

/// The tools that only look.
pub(crate) fn reading<'a>() -> Vec<Box<dyn Tool + 'a>> {
    vec![Box::new(ls::Ls), Box::new(read_file::ReadFile), Box::new(glob::Glob), Box::new(grep::Grep)]
}
