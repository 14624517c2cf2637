//! Tool servers (MCP) for the native agent: from the user's configuration and the command line, never from the workspace.

use std::collections::BTreeMap;

use holon_agent::mcp::McpServerConfig;
use toml::Value;

use crate::config::{ConfigurationFiles, WorkspaceConfiguration};
use crate::error::HostError;
use crate::plan::PlannedServer;

/// The servers to start inside the walls, and what to tell about those that are not used.
#[derive(Debug, Default)]
pub(crate) struct McpServersToStart {
    pub servers: Vec<PlannedServer>,
    pub warnings: Vec<String>,
}

/// `[mcp.NAME]` of the user's file, with what flags say laid over it by name.
pub(crate) fn wanted(
    configuration: &WorkspaceConfiguration,
    flags: &[String],
) -> Result<McpServersToStart, HostError> {
    let mut servers = BTreeMap::new();
    let user = &configuration.user_file;
    for (name, value) in configuration.user_section("mcp")?.unwrap_or_default() {
        let server = described(&name, value)
            .map_err(|why| wrong(&format!("{}: [mcp.{name}]: {why}", user.display())))?;
        servers.insert(name, server);
    }
    for flag in flags {
        let server = from_flag(flag).ok_or_else(|| {
            HostError::usage(format!("--mcp {flag}: no name and command"), "write it as --mcp NAME=COMMAND")
        })?;
        servers.insert(server.name.clone(), server);
    }
    let mut warnings = Vec::new();
    if configuration.project_section("mcp")?.is_some_and(|section| !section.is_empty()) {
        warnings.push(format!("holon.toml cannot start tool servers; write [mcp] into {}", user.display()));
    }
    Ok(McpServersToStart { servers: servers.into_values().map(planned).collect(), warnings })
}

/// A server as plans hold it: the values of its variables stay where they are.
pub(crate) fn planned(server: McpServerConfig) -> PlannedServer {
    let McpServerConfig { name, argv, env } = server;
    PlannedServer { name, argv, variables: env.into_keys().collect() }
}

/// A planned server with the values of its variables, as the user's configuration gives them.
pub(crate) fn with_values(
    planned: &PlannedServer,
    configuration: &ConfigurationFiles,
) -> Result<McpServerConfig, HostError> {
    let mut env = BTreeMap::new();
    for variable in &planned.variables {
        let value = configuration.server_variable(&planned.name, variable)?.ok_or_else(|| {
            let name = &planned.name;
            HostError::usage(
                format!(
                    "the tool server {name} was planned with the variable {variable}, which has no value now"
                ),
                format!("put it into [mcp.{name}] of your config.toml, as env = {{ {variable} = \"…\" }}"),
            )
        })?;
        env.insert(variable.clone(), value);
    }
    Ok(McpServerConfig { name: planned.name.clone(), argv: planned.argv.clone(), env })
}

/// `NAME=COMMAND`; the command is one for a shell.
fn from_flag(flag: &str) -> Option<McpServerConfig> {
    let (name, command) = flag.split_once('=')?;
    let (name, command) = (name.trim(), command.trim());
    if name.is_empty() || command.is_empty() {
        return None;
    }
    let argv = ["sh".to_owned(), "-c".to_owned(), format!("exec {command}")].to_vec();
    Some(McpServerConfig { name: name.to_owned(), argv, env: BTreeMap::new() })
}

fn described(name: &str, value: Value) -> Result<McpServerConfig, String> {
    let Value::Table(table) = value else { return Err("is not a table".into()) };
    let mut server = McpServerConfig { name: name.to_owned(), ..McpServerConfig::default() };
    for (key, value) in table {
        match (key.as_str(), value) {
            ("command", Value::Array(words)) => {
                let words = words.into_iter().map(|w| w.as_str().map(str::to_owned));
                server.argv =
                    words.collect::<Option<_>>().ok_or("`command` holds something that is not text")?;
            }
            ("env", Value::Table(pairs)) => {
                let pairs = pairs.into_iter().map(|(k, v)| v.as_str().map(|v| (k, v.to_owned())));
                server.env = pairs.collect::<Option<_>>().ok_or("`env` holds something that is not text")?;
            }
            ("command", _) => return Err("`command` is a list: [\"program\", \"argument\"]".into()),
            ("env", _) => return Err("`env` is a table of texts".into()),
            (other, _) => return Err(format!("unknown key `{other}`; there are `command` and `env`")),
        }
    }
    if server.argv.is_empty() { Err("`command` is missing".into()) } else { Ok(server) }
}

fn wrong(message: &str) -> HostError {
    HostError::usage(message, "docs/tool-servers.md shows how servers are written down")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::holon_folders::HolonFolders;

    fn with(user: &str, project: &str, flags: &[&str]) -> Result<McpServersToStart, HostError> {
        let (config, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(config.path().join("config.toml"), user).unwrap();
        std::fs::write(workspace.path().join("holon.toml"), project).unwrap();
        let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
        let own = config.path().to_owned();
        let places = HolonFolders { state: own.clone(), cache: own.clone(), config: own, home: None };
        wanted(&ConfigurationFiles::new(&places).of(workspace.path())?, &flags)
    }

    fn names(user: &str, project: &str, flags: &[&str]) -> Vec<(String, String)> {
        let wanted = with(user, project, flags).unwrap();
        wanted.servers.into_iter().map(|s| (s.name, s.argv.join(" "))).collect()
    }

    #[test]
    fn a_flag_beats_the_users_file() {
        let user = "[mcp.a]\ncommand = [\"a\", \"-x\"]\nenv = { K = \"v\" }\n[mcp.b]\ncommand = [\"b\"]\n";
        let expect = [("a", "a -x"), ("b", "sh -c exec c d=e")].map(|(n, c)| (n.to_owned(), c.to_owned()));
        assert_eq!(names(user, "", &["b=c d=e"]), expect);
        assert_eq!(with(user, "", &[]).unwrap().servers[0].variables, ["K"]);
    }

    #[test]
    fn inv_15_the_workspace_starts_no_tool_server() {
        let found = with("", "[mcp.evil]\ncommand = [\"evil\"]\n", &[]).unwrap();
        assert_eq!(found.servers, []);
        assert!(found.warnings[0].contains("cannot start tool servers"), "{:?}", found.warnings);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (user, flags, expect) in [
            ("mcp = 1", &[][..], "`mcp` is not a table"),
            ("[mcp]\na = 1", &[], "[mcp.a]: is not a table"),
            ("[mcp.a]\n", &[], "`command` is missing"),
            ("[mcp.a]\ncommand = \"a\"", &[], "`command` is a list"),
            ("[mcp.a]\ncommand = [1]", &[], "not text"),
            ("[mcp.a]\ncomand = [\"a\"]", &[], "unknown key `comand`"),
            ("", &["a"], "no name and command"),
            ("", &["=a"], "no name and command"),
        ] {
            let error = with(user, "", flags).unwrap_err().to_string();
            assert!(error.contains(expect), "{user} {flags:?}: {error}");
        }
    }
}
