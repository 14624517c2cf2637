//! One tool server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holon_hands::{ProgramRequest, ToolExecutor};
use holon_model::ModelCancel;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
    PaginatedRequestParams, Tool,
};
use rmcp::service::{NotificationContext, RunningService, ServiceError, serve_client};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::error::McpError;
use super::servers::McpServerConfig;
use super::tool::{McpTool, shown};
use super::tool_reply::{McpToolReply, bounded};
use super::transport::{OpenedProgram, PartingReason, ProgramPipe};

/// How long a server may take until its tools are known.
pub(super) const START: Duration = Duration::from_secs(10);

/// Most pages of tools.
const MOST_PAGES: usize = 50;

/// Most bytes of what a server says about an error.
const MOST_MESSAGE: usize = 2000;

/// A server that is ready.
pub(super) struct RunningMcpServer {
    pub(super) name: String,
    opened: Arc<OpenedProgram>,
    running: RunningService<RoleClient, McpClientHandler>,
    changed: Arc<AtomicBool>,
    parting: PartingReason,
    pub(super) tools: Vec<McpTool>,
}

/// Our side of the conversation: it offers the server nothing, and notes when tools change.
struct McpClientHandler {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("holon", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::SeqCst);
    }
}

impl RunningMcpServer {
    /// Opens the server and learns its tools, within [`START`].
    pub(super) async fn start(
        hands: Arc<dyn ToolExecutor>,
        config: McpServerConfig,
    ) -> Result<Self, McpError> {
        let name = config.name;
        let program = ProgramRequest { argv: config.argv, env: config.env };
        let begin = tokio::time::Instant::now();
        let not_ready =
            |stderr| McpError::NotReady { server: name.clone(), seconds: START.as_secs(), stderr };
        let opened = match timeout(START, OpenedProgram::open(hands, program)).await {
            Ok(opened) => opened.map_err(|error| McpError::Start { server: name.clone(), error })?,
            Err(_) => return Err(not_ready(String::new())),
        };
        let parting = PartingReason::default();
        let ready = async {
            let changed = Arc::new(AtomicBool::new(false));
            let pipe = ProgramPipe::new(Arc::clone(&opened), parting.clone());
            let running = serve_client(McpClientHandler { changed: Arc::clone(&changed) }, pipe).await;
            let running = running.map_err(|error| parting.why().unwrap_or_else(|| error.to_string()))?;
            let tools =
                list(&running).await.map_err(|error| parting.why().unwrap_or_else(|| error.to_string()))?;
            Ok::<_, String>((running, changed, tools))
        };
        let ready = timeout(START.saturating_sub(begin.elapsed()), ready).await;
        let (running, changed, tools) = match ready {
            Ok(Ok(ready)) => ready,
            Ok(Err(why)) => {
                let (why, stderr) = (bounded(&why, MOST_MESSAGE), stderr(&opened).await);
                return Err(McpError::Gone { server: name, why, stderr });
            }
            Err(_) => return Err(not_ready(stderr(&opened).await)),
        };
        let tools = shown(&name, tools);
        Ok(Self { name, opened, running, changed, parting, tools })
    }

    /// Whether the server said that its tools changed, since this was last asked.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::SeqCst)
    }

    /// The server's tools as they are now.
    pub(super) async fn list(&self) -> Result<Vec<McpTool>, McpError> {
        match timeout(START, list(&self.running)).await {
            Ok(Ok(tools)) => Ok(shown(&self.name, tools)),
            Ok(Err(error)) => Err(self.gone(&error).await),
            Err(_) => {
                let (server, seconds) = (self.name.clone(), START.as_secs());
                Err(McpError::NotReady { server, seconds, stderr: stderr(&self.opened).await })
            }
        }
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        tool: &McpTool,
        arguments: Map<String, Value>,
        limit: Duration,
        cancel: &ModelCancel,
    ) -> Result<McpToolReply, McpError> {
        let call = CallToolRequestParams::new(tool.tool.clone()).with_arguments(arguments);
        // Giving up on the future tells the server that the call is cancelled.
        let answered = cancel.race(timeout(limit, self.running.call_tool_once(call))).await;
        let refused = |message: &str| {
            Err(McpError::Refused { tool: tool.name.clone(), message: bounded(message, MOST_MESSAGE) })
        };
        match answered {
            Err(_) => Err(McpError::Cancelled),
            Ok(Err(_)) => Err(McpError::TimedOut { tool: tool.name.clone(), seconds: limit.as_secs() }),
            Ok(Ok(Ok(CallToolResponse::Complete(result)))) => Ok(McpToolReply::of(&result)),
            Ok(Ok(Ok(_))) => {
                refused("it wants to ask a person or to go on later, which is not possible here")
            }
            Ok(Ok(Err(ServiceError::McpError(error)))) => refused(&error.message),
            Ok(Ok(Err(ServiceError::UnexpectedResponse))) => refused("its answer is not one to a call"),
            Ok(Ok(Err(error))) => Err(self.gone(&error).await),
        }
    }

    /// Ends the server.
    pub(super) async fn close(self) {
        self.opened.end().await;
        let _ = timeout(Duration::from_secs(1), self.running.cancel()).await;
    }

    async fn gone(&self, error: &ServiceError) -> McpError {
        let why = self.parting.why().unwrap_or_else(|| error.to_string());
        let why = bounded(&why, MOST_MESSAGE);
        McpError::Gone { server: self.name.clone(), why, stderr: stderr(&self.opened).await }
    }
}

/// All pages of tools, up to a limit and never one twice.
async fn list(running: &RunningService<RoleClient, McpClientHandler>) -> Result<Vec<Tool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursors = BTreeSet::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor.take());
        let result = running.list_tools(Some(page)).await?;
        tools.extend(result.tools);
        cursor = result.next_cursor.filter(|next| cursors.insert(next.clone()));
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

async fn stderr(opened: &OpenedProgram) -> String {
    timeout(Duration::from_secs(1), opened.stderr()).await.unwrap_or_default()
}
