//! Tools of tool servers, under the mode's policy like all others.

use std::borrow::Cow;
use std::time::Duration;

use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, ToolTrouble, TurnSettings,
};
use crate::mcp::{McpError, McpServers, McpTool};

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(300);

/// A tool of a tool server.
pub(super) struct McpServerTool<'a> {
    pub(super) servers: &'a McpServers,
    pub(super) tool: &'a McpTool,
}

impl AgentTool for McpServerTool<'_> {
    fn name(&self) -> &str {
        self.tool.wire.as_str()
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        ToolSpec::new(&self.tool.wire, &self.tool.description, self.tool.schema.clone())
    }

    fn gates(&self, _arguments: &ToolArguments) -> Vec<Cow<'_, str>> {
        vec![Cow::Borrowed(&self.tool.name)]
    }

    fn declared_read_only(&self) -> bool {
        self.tool.read_only
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            match self.servers.call(&self.tool.wire, arguments, LIMIT, scene.agent.cancel).await {
                Ok(answer) => Ok(ToolOutcome { is_error: answer.is_error, ..ToolOutcome::said(answer.text) }),
                Err(McpError::Cancelled) => Err(ToolTrouble::Cancelled),
                Err(error) => Err(ToolTrouble::Said(error.to_string())),
            }
        })
    }
}
