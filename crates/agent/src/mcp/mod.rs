//! Tool servers that speak the Model Context Protocol, started inside the walls and never trusted.
//!
//! [`McpServers::start`] opens each server through the hands and lists its tools; [`McpServers::call`] calls one. In policy a tool
//! is `mcp:SERVER/TOOL`; on the wire to a model, where only letters, digits, `_` and `-` are allowed, it has another name
//! ([`McpTool::wire`]). Whatever a server says is bounded, in length and in time.

mod error;
mod frames;
mod name;
mod server;
mod servers;
mod tool;
mod tool_reply;
mod transport;

#[cfg(test)]
mod tests;

pub use error::McpError;
pub use servers::{McpServerConfig, McpServers};
pub use tool::McpTool;
pub use tool_reply::McpToolReply;
