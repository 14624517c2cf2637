//! `holon network show`: the hosts of a permit, and who says so.

use std::path::PathBuf;
use std::process::ExitCode;

use holon_network::{ClientSet, PermitRule, SetHosts, SystemQueries};
use serde_json::{Value, json};

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::visible;

const EXAMPLES: &str = "\
Examples:
  holon network show                    every client that is installed here
  holon network show npm
  holon network show cargo git:origin
  holon network show --json pip";

/// Show the hosts that a permit stands for on this machine
///
/// The hosts of a client are worked out by asking it and reading its configuration and its cache, so mirrors and private
/// registries count. What only the project's files name is shown as asked for: it is not permitted. Over the network only
/// indexes are asked, each for where it keeps its files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NetworkShowArgs {
    /// A client (npm, pnpm, yarn, pip, uv, cargo, go, maven, git:REMOTE) or a host
    #[arg(value_name = "PERMIT")]
    permits: Vec<String>,
    /// The folder of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows them.
pub(crate) fn run(args: &NetworkShowArgs, session: &Session) -> CommandExit {
    let mut rules = Vec::new();
    for text in &args.permits {
        let rule = PermitRule::parse(text);
        rules.push(rule.map_err(|error| CliFailure::user(error.to_string(), "holon network show --help"))?);
    }
    if rules.is_empty() {
        rules = ClientSet::NAMED.into_iter().map(PermitRule::Set).collect();
    }
    let project = session.workspace(args.workspace.as_deref())?;
    let queries = SystemQueries::default();
    let shown: Vec<(PermitRule, Option<SetHosts>)> = rules
        .into_iter()
        .map(|rule| match &rule {
            PermitRule::Host(_) => (rule, None),
            PermitRule::Set(set) => {
                let hosts = SetHosts::work_out(set, &queries, &project);
                (rule, Some(hosts))
            }
        })
        .collect();
    if args.json {
        let all: Vec<Value> = shown.iter().map(|(rule, hosts)| value(rule, hosts.as_ref())).collect();
        session.terminal.print(format!("{}\n", Value::Array(all)))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (rule, hosts) in &shown {
        let text = match hosts {
            Some(hosts) => hosts.to_string(),
            None => format!("{rule}: this host, {}", ports(rule)),
        };
        let lines: Vec<String> = text.lines().map(visible).collect();
        session.terminal.print(format!("{}\n", lines.join("\n")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn ports(rule: &PermitRule) -> &'static str {
    match rule {
        PermitRule::Host(rule) if rule.port.is_none() => "at ports 443 and 80",
        _ => "at this port alone",
    }
}

fn value(rule: &PermitRule, hosts: Option<&SetHosts>) -> Value {
    let Some(all) = hosts else { return json!({ "permit": rule.to_string() }) };
    let host = |host: &holon_network::SetHost| json!({ "host": host.planned(), "said_by": host.said_by, "permitted": !host.by_project });
    let listed: Vec<Value> = all.hosts.iter().map(host).collect();
    json!({ "permit": rule.to_string(), "hosts": listed, "notes": all.notes })
}
