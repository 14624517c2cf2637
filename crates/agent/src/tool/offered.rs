//! Which tools a turn has.

use holon_core::policy::{ProposedCall, ToolVerdict};

use super::{AgentTool, ToolArguments, TurnSettings, registered};
use crate::edit::EditFormat;
use crate::mcp::McpServers;

/// The tools of a turn, in the order in which the model sees them; what the mode denies is not among them.
pub(crate) fn offered<'a>(
    settings: &TurnSettings,
    person: bool,
    servers: Option<&'a McpServers>,
) -> Vec<Box<dyn AgentTool + 'a>> {
    let mut tools = registered(settings, servers);
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
