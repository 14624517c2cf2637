//! `holon network learn`: one run of a command with everything it asks for recorded, and the permits that come of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_core::manifest::NetworkRecord;
use holon_core::mode::NetworkReach;
use holon_flow::{DispatchCall, Dispatcher, FlowError};
use holon_host::{RunContext, RunRequest};
use holon_network::{ClientQueries, ClientSet, LearntPermits, RemoteName, SetHosts, SystemQueries};
use serde_json::json;

use crate::CommandExit;
use crate::command::run;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::progress::RunProgress;
use crate::stop;
use crate::terminal::visible;

const EXAMPLES: &str = "\
Examples:
  holon network learn -- npm ci
  holon network learn -- cargo fetch
  holon network learn --json -- sh -c 'pip download -r requirements.txt'";

/// Find out which permits a command needs
///
/// Runs the command once behind the walls, on a copy of the project. While it runs, every name it asks for may be reached, so give
/// it a command that you trust; addresses of this machine and of private networks stay closed, and clients' registries are
/// only read. Then the permits to keep are printed. Nothing of what the command changes is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NetworkLearnArgs {
    /// The folder of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The command with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What plays the agent: the command, and a summary, which every run has to hand over.
const SCRIPT: &str =
    "#!/bin/sh\nprintf '# Summary\\n\\nThe command was run.\\n' > /holon/output/summary.md\nexec \"$@\"\n";

/// Runs the command and prints what it needs.
pub(crate) fn run(args: NetworkLearnArgs, session: &Session) -> CommandExit {
    let project = session.workspace(args.workspace.as_deref())?;
    let sets = known_sets(&SystemQueries::default(), &project);
    let folder = tempfile::tempdir().map_err(|error| CliFailure::config(error.to_string()))?;
    let script = script(folder.path())?;
    let request = RunRequest {
        goal: Some(format!("find out what is reached by: {}", args.command.join(" "))),
        workspace: Some(project),
        agent: Some(script.display().to_string()),
        agent_args: args.command.clone(),
        allow_net: sets.iter().map(|set| set.set.to_string()).collect(),
        auto_checks: false,
        ..RunRequest::default()
    };
    let host = run::host(session)?;
    let mut plan = host.plan(&request).map_err(FlowError::from)?;
    plan.profile.network = NetworkReach::Permit;
    plan.learning = true;
    let cancel = stop::on_signals()?;
    let mut progress = RunProgress::new(&session.terminal, false, args.json);
    let context = RunContext::new(&mut progress, &cancel);
    let dispatched = Dispatcher::new(session.places()?).dispatch(DispatchCall::new(plan), &host, context);
    drop(progress);
    let finished = dispatched?.finished;
    let network = finished.manifest.metadata.network.clone().unwrap_or_default();
    let learnt = learnt(&network, &sets);
    let fine = finished.manifest.exit_code == 0;
    let text = match args.json {
        true => format!(
            "{}\n",
            json!({ "permits": learnt.permits, "refused": learnt.refused, "command_succeeded": fine })
        ),
        false => shown(&learnt, fine),
    };
    session.terminal.print(text)?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The clients that are configured for something here, and the remotes that are reached over HTTP.
fn known_sets(queries: &dyn ClientQueries, project: &Path) -> Vec<SetHosts> {
    let folder = project.to_string_lossy();
    let remotes = queries.ask("git", &["-C", &folder, "remote"]).unwrap_or_default();
    let remotes = remotes.lines().filter_map(|name| RemoteName::parse(name).ok()).map(ClientSet::Git);
    let all = ClientSet::NAMED.into_iter().chain(remotes);
    let worked_out = all.map(|set| SetHosts::work_out(&set, queries, project));
    worked_out.filter(|set| set.permits().next().is_some()).collect()
}

fn script(folder: &Path) -> Result<PathBuf, CliFailure> {
    let path = folder.join("learn.sh");
    let failed = |error: std::io::Error| CliFailure::config(format!("{}: {error}", path.display()));
    fs::write(&path, SCRIPT).map_err(failed)?;
    for (path, mode) in [(folder, 0o755), (path.as_path(), 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)?;
    }
    Ok(path)
}

fn learnt(network: &NetworkRecord, sets: &[SetHosts]) -> LearntPermits {
    let hosts = network.hosts.iter();
    LearntPermits::of(
        hosts.map(|(target, host)| (target.as_str(), host.allowed > 0, host.refusal.as_deref())),
        sets,
    )
}

fn shown(learnt: &LearntPermits, fine: bool) -> String {
    let mut text = String::new();
    if !fine {
        text.push_str("the command did not succeed, so it may need more than this\n");
    }
    match learnt.permits.is_empty() {
        true => text.push_str("the command reached nothing, so it needs no permit\n"),
        false => {
            text.push_str(&format!("what the command needs:\n  {}\n", visible(&learnt.flags())));
            let quoted: Vec<String> = learnt.permits.iter().map(|permit| format!("{permit:?}")).collect();
            text.push_str(&format!(
                "for every run, in your config.toml:\n  [network]\n  allow = [{}]\n",
                quoted.join(", ")
            ));
        }
    }
    for refusal in &learnt.refused {
        text.push_str(&format!("refused: {}\n", visible(refusal)));
    }
    text
}
