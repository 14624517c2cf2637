//! Tools of tool servers, under the mode's policy like all others.

use std::borrow::Cow;
use std::time::Duration;

use super::{Arguments, Described, Outcome, Running, Scene, Settings, Tool, Trouble};
use crate::mcp::{McpError, McpTool, Servers};

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(300);

/// A tool of a tool server.
pub(super) struct Served<'a> {
    pub(super) servers: &'a Servers,
    pub(super) tool: &'a McpTool,
}

impl Tool for Served<'_> {
    fn name(&self) -> &str {
        self.tool.wire.as_str()
    }

    fn describe(&self, _settings: &Settings) -> Described {
        Described::new(&self.tool.wire, &self.tool.description, self.tool.schema.clone())
    }

    fn gates(&self, _arguments: &Arguments) -> Vec<Cow<'_, str>> {
        vec![Cow::Borrowed(&self.tool.name)]
    }

    fn declared_read_only(&self) -> bool {
        self.tool.read_only
    }

    fn target<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            match self.servers.call(&self.tool.wire, arguments, LIMIT, scene.agent.cancel).await {
                Ok(answer) => Ok(Outcome { is_error: answer.is_error, ..Outcome::said(answer.text) }),
                Err(McpError::Cancelled) => Err(Trouble::Cancelled),
                Err(error) => Err(Trouble::Said(error.to_string())),
            }
        })
    }
}
