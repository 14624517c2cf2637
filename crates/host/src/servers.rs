//! Tool servers (MCP) for the native agent: from the user's configuration and the command line, never from the workspace.

use std::collections::BTreeMap;
use std::path::Path;

use holon_agent::mcp::McpServerConfig;
use toml::Value;

use crate::config::section;
use crate::error::HostError;

/// The servers to start inside the walls, and what to tell about those that are not used.
#[derive(Debug, Default)]
pub(crate) struct McpServersToStart {
    pub servers: Vec<McpServerConfig>,
    pub warnings: Vec<String>,
}

/// `[mcp.NAME]` of the user's file, with what flags say laid over it by name.
pub(crate) fn wanted(
    config: &Path,
    workspace: &Path,
    flags: &[String],
) -> Result<McpServersToStart, HostError> {
    let mut servers = BTreeMap::new();
    let user = config.join("config.toml");
    for (name, value) in section(&user, true, "mcp")?.unwrap_or_default() {
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
    let project = workspace.join("holon.toml");
    if section(&project, false, "mcp")?.is_some_and(|section| !section.is_empty()) {
        warnings.push(format!("holon.toml cannot start tool servers; write [mcp] into {}", user.display()));
    }
    Ok(McpServersToStart { servers: servers.into_values().collect(), warnings })
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

    fn with(user: &str, project: &str, flags: &[&str]) -> Result<McpServersToStart, HostError> {
        let (config, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(config.path().join("config.toml"), user).unwrap();
        std::fs::write(workspace.path().join("holon.toml"), project).unwrap();
        let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
        wanted(config.path(), workspace.path(), &flags)
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
        assert_eq!(with(user, "", &[]).unwrap().servers[0].env["K"], "v");
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
