//! Which tools a turn has.

use holon_core::policy::{Call, Verdict};

use super::execute::background_allowed;
use super::served::Served;
use super::{
    Arguments, Settings, Tool, apply_patch, ask_user, delegate, delete_file, edit_file, execute, finish,
    glob, grep, job, ls, read_file, report, report_debug, report_ethics, report_findings, report_plan,
    write_file, write_todos,
};
use crate::edit::EditFormat;
use crate::mcp::Servers;

/// The tools of a turn, in the order in which the model sees them; what the mode denies is not among them.
pub(crate) fn offered<'a>(
    settings: &Settings,
    person: bool,
    servers: Option<&'a Servers>,
) -> Vec<Box<dyn Tool + 'a>> {
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
    if background_allowed(settings) {
        tools.push(Box::new(job::Job));
    }
    tools.push(Box::new(ask_user::AskUser));
    tools.push(Box::new(delegate::Delegate));
    tools.push(Box::new(write_todos::WriteTodos));
    if let Some(servers) = servers {
        tools.extend(servers.tools().map(|tool| Box::new(Served { servers, tool }) as Box<dyn Tool + 'a>));
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
    let gate = settings.gate(person);
    let allowed = |tool: &dyn Tool| {
        tool.gates(&Arguments::new()).iter().all(|name| {
            // An empty line stands for commands that no rule concerns.
            let declared_read_only = tool.declared_read_only();
            let call = Call { tool: name, declared_read_only, line: Some(""), ..Call::default() };
            gate.decide(&call).verdict != Verdict::Deny
        })
    };
    tools.retain(|tool| allowed(tool.as_ref()));
    tools
}

/// Whether the model is told of a tool. Ways to change files that it is not good at are understood when it takes them, and
/// not recommended; nor is what a command does as well, in a run that can give one.
pub(crate) fn is_told(settings: &Settings, name: &str, commands: bool) -> bool {
    let needed = !(settings.is_run() && commands && crate::fit::command_does(name));
    needed
        && crate::fit::explained(settings.window, name)
        && match settings.edit_format {
            EditFormat::Replace => name != "apply_patch",
            EditFormat::WholeFile => name != "apply_patch" && name != "edit_file",
            EditFormat::ApplyPatch => true,
        }
}

/// The tools that only look.
pub(crate) fn reading<'a>() -> Vec<Box<dyn Tool + 'a>> {
    vec![Box::new(ls::Ls), Box::new(read_file::ReadFile), Box::new(glob::Glob), Box::new(grep::Grep)]
}
