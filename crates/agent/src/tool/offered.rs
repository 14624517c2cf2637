//! Which tools a turn has.

use holon_core::policy::{ProposedCall, ToolVerdict};

use super::execute::background_allowed;
use super::mcp_tool::McpServerTool;
use super::{
    AgentTool, ToolArguments, TurnSettings, apply_patch, ask_user, delegate, delete_file, edit_file, execute,
    finish, glob, grep, job, ls, read_file, report, report_debug, report_ethics, report_findings,
    report_plan, write_file, write_todos,
};
use crate::edit::EditFormat;
use crate::mcp::McpServers;

/// The tools of a turn, in the order in which the model sees them; what the mode denies is not among them.
pub(crate) fn offered<'a>(
    settings: &TurnSettings,
    person: bool,
    servers: Option<&'a McpServers>,
) -> Vec<Box<dyn AgentTool + 'a>> {
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
    if background_allowed(settings) {
        tools.push(Box::new(job::JobTool));
    }
    tools.push(Box::new(ask_user::AskUserTool));
    tools.push(Box::new(delegate::DelegateTool));
    tools.push(Box::new(write_todos::WriteTodosTool));
    if let Some(servers) = servers {
        tools.extend(
            servers.tools().map(|tool| Box::new(McpServerTool { servers, tool }) as Box<dyn AgentTool + 'a>),
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
    let gate = settings.gate(person);
    let allowed = |tool: &dyn AgentTool| {
        tool.gates(&ToolArguments::new()).iter().all(|name| {
            // An empty line stands for commands that no rule concerns.
            let declared_read_only = tool.declared_read_only();
            let call =
                ProposedCall { tool: name, declared_read_only, line: Some(""), ..ProposedCall::default() };
            gate.decide(&call).verdict != ToolVerdict::Deny
        })
    };
    tools.retain(|tool| allowed(tool.as_ref()));
    tools
}

/// Whether the model is told of a tool. Ways to change files that it is not good at are understood when it takes them, and
/// not recommended; nor is what a command does as well, in a run that can give one.
pub(crate) fn is_told(settings: &TurnSettings, name: &str, commands: bool) -> bool {
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
pub(crate) fn reading<'a>() -> Vec<Box<dyn AgentTool + 'a>> {
    vec![
        Box::new(ls::LsTool),
        Box::new(read_file::ReadFileTool),
        Box::new(glob::GlobTool),
        Box::new(grep::GrepTool),
    ]
}
