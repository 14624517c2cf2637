//! All tool servers of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use holon_hands::ToolExecutor;
use holon_model::ModelCancel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::error::McpError;
use super::name::is_server_name;
use super::server::RunningMcpServer;
use super::tool::McpTool;
use super::tool_reply::McpToolReply;

/// A tool server to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServerConfig {
    /// Its name: letters, digits, `-` and `_`, at most 32.
    pub name: String,
    /// Program and arguments, inside the walls.
    pub argv: Vec<String>,
    /// Further environment.
    pub env: BTreeMap<String, String>,
}

/// The tool servers that are ready, and what is wrong with the others. Dropping them ends them.
#[derive(Default)]
pub struct McpServers {
    servers: Vec<RunningMcpServer>,
    troubles: Vec<McpError>,
}

impl McpServers {
    /// Starts all servers at the same time, inside a tokio runtime; none can hold the others up for more than ten seconds.
    pub async fn start(hands: Arc<dyn ToolExecutor>, config: &[McpServerConfig]) -> Self {
        let mut servers = Self::default();
        let mut starting = JoinSet::new();
        let mut names = BTreeSet::new();
        for (index, config) in config.iter().enumerate() {
            let name = config.name.clone();
            if !is_server_name(&name) {
                servers.troubles.push(McpError::Name { name, why: "cannot be used" });
            } else if !names.insert(name.clone()) {
                servers.troubles.push(McpError::Name { name, why: "is there twice" });
            } else {
                let start = RunningMcpServer::start(Arc::clone(&hands), config.clone());
                starting.spawn(async move { (index, start.await) });
            }
        }
        let mut started = BTreeMap::new();
        while let Some(done) = starting.join_next().await {
            // A task that panicked has no server to give, and its name is missed below.
            if let Ok((index, result)) = done {
                started.insert(index, result);
            }
        }
        for result in started.into_values() {
            match result {
                Ok(server) => servers.servers.push(server),
                Err(trouble) => servers.troubles.push(trouble),
            }
        }
        servers.make_names_unique();
        servers
    }

    /// All tools, in the order of the configuration.
    pub fn tools(&self) -> impl Iterator<Item = &McpTool> {
        self.servers.iter().flat_map(|server| &server.tools)
    }

    /// The tool with this name, in policy or on the wire.
    pub fn find(&self, name: &str) -> Option<&McpTool> {
        self.tools().find(|tool| tool.wire == name || tool.name == name)
    }

    /// What is wrong with servers that are not there, or whose tools could not be listed again.
    pub fn troubles(&self) -> &[McpError] {
        &self.troubles
    }

    /// Lists the tools of servers again that said they changed; whether any did. Meant for the time between two rounds.
    pub async fn refresh(&mut self) -> bool {
        let mut any = false;
        for server in &mut self.servers {
            if !server.take_changed() {
                continue;
            }
            any = true;
            match server.list().await {
                Ok(tools) => server.tools = tools,
                Err(trouble) => {
                    server.tools.clear();
                    self.troubles.push(trouble);
                }
            }
        }
        if any {
            self.make_names_unique();
        }
        any
    }

    /// Calls a tool by either of its names; the answer is bounded, and the call ends after `limit` or when cancelled.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        limit: Duration,
        cancel: &ModelCancel,
    ) -> Result<McpToolReply, McpError> {
        let tool = self.find(name).ok_or_else(|| McpError::NoSuchTool { tool: name.to_owned() })?;
        let server = self.servers.iter().find(|server| server.name == tool.server);
        let server = server.ok_or_else(|| McpError::NoSuchTool { tool: name.to_owned() })?;
        server.call(tool, arguments, limit, cancel).await
    }

    /// Ends all servers and waits for it.
    pub async fn close(self) {
        for server in self.servers {
            server.close().await;
        }
    }

    /// `a` with a tool `b__c` and `a__b` with a tool `c` would be the same on the wire.
    fn make_names_unique(&mut self) {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for tool in self.servers.iter_mut().flat_map(|server| &mut server.tools) {
            if taken.contains(&tool.wire) {
                tool.wire = super::name::wire_name(&tool.server, &tool.tool, |name| taken.contains(name));
            }
            taken.insert(tool.wire.clone());
        }
    }
}
