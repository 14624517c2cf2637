//! `holon agents check`.

use std::path::PathBuf;
use std::process::ExitCode;

use holon_host::HolonFolders;
use holon_host::agent_conformance::{
    self, BreachPageOrigin, BreachReport, ConformanceResult, ConformanceRow, ConformanceTrial,
};
use serde_json::json;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{self, Session};
use crate::show::table::TextTable;

const EXAMPLES: &str = "\
Examples:
  holon agents check claude-code                  does it work behind the walls here?
  holon agents check ./my-agent --json            does your own command keep the contract?
  holon agents check codex opencode --breach      can it get around a mode?

In the modes execute, plan and review: the artifacts, the exit code, a workspace without a changed
byte, whether it runs what its model asks for, whether its events can be read, and whether it has
no network but the gateway. Exit code 1 when anything of it fails.

No model is asked: a script answers. Nothing but throw-away folders is touched.";

/// Try an agent behind the walls with a scripted model: does it keep the contract in each mode?
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AgentsCheckArgs {
    /// The agents, as `holon agents list` names them, or the paths of commands
    #[arg(required = true, value_name = "NAME|PATH")]
    names: Vec<String>,
    /// Print what was found as JSON
    #[arg(long, conflicts_with = "breach")]
    json: bool,
    /// Try every known way around a mode instead, with and without Holon
    #[arg(long)]
    breach: bool,
    /// Try everything in one read-only and one scoped mode, a few things in the others, and nothing without Holon
    #[arg(long, requires = "breach")]
    quick: bool,
    /// Print what the agent answered to each attempt, too
    #[arg(long, requires = "breach")]
    verbose: bool,
    /// Write what --breach found to this file, as a page
    #[arg(long, value_name = "FILE", requires = "breach")]
    markdown: Option<PathBuf>,
}

pub(super) fn run(args: &AgentsCheckArgs, session: &Session) -> CommandExit {
    let places = session.places()?;
    let scratch = scratch(&places)?;
    let env = || -> Box<holon_host::run::HostEnvironment> { Box::new(session::variable) };
    let mut fine = true;
    let mut found = Vec::new();
    let mut tried: Vec<(&String, Vec<ConformanceRow>)> = Vec::new();
    for name in &args.names {
        let told = |text: &str| session.terminal.say(text);
        if args.breach {
            let breach = agent_conformance::breach(name, args.quick, &places, &env, scratch.path(), &told)?;
            fine &= report(&breach, session)?;
            for row in breach.rows.iter().filter(|_| args.verbose) {
                for (place, said) in &row.said {
                    session.terminal.print(format!("    {} | {place} | {said}\n", row.name))?;
                }
            }
            found.push(breach);
            // After each of them, so that nothing is lost when a later one cannot be tried.
            write_page(args, &found)?;
        } else {
            let trial = ConformanceTrial {
                agent: name,
                modes: &[],
                places: &places,
                env: &env,
                scratch: scratch.path(),
            };
            let rows = agent_conformance::conform(&trial, &mut |text: &str| told(text))?;
            fine &= rows.iter().all(|row| row.result != ConformanceResult::Failed);
            tried.push((name, rows));
        }
    }
    if args.json {
        let all: Vec<_> = tried.iter().map(|(name, rows)| json!({"agent": name, "checks": rows})).collect();
        session.terminal.print(format!("{:#}\n", json!({"ok": fine, "agents": all})))?;
    } else if !tried.is_empty() {
        session.terminal.print(conformance_table(&tried, session))?;
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A throw-away folder; not below /tmp, where some agents do not work as they do elsewhere.
pub(super) fn scratch(places: &HolonFolders) -> Result<tempfile::TempDir, CliFailure> {
    let no_folder = |e: std::io::Error| {
        CliFailure::user(format!("no temporary folder: {e}"), "check XDG_CACHE_HOME and the free space")
    };
    std::fs::create_dir_all(&places.cache).map_err(no_folder)?;
    tempfile::Builder::new().prefix("rehearsal-").tempdir_in(&places.cache).map_err(no_folder)
}

fn conformance_table(tried: &[(&String, Vec<ConformanceRow>)], session: &Session) -> String {
    let mut table = TextTable::new(["AGENT", "MODE", "CHECK", "RESULT", "WHAT WAS SEEN"]);
    for (name, rows) in tried {
        for row in rows {
            table.row([name, row.mode, row.check, word(row.result), &row.detail]);
        }
    }
    table.render(session.terminal.stdout)
}

/// A result in a word.
pub(super) fn word(result: ConformanceResult) -> &'static str {
    match result {
        ConformanceResult::Ok => "ok",
        ConformanceResult::Failed => "FAILED",
        ConformanceResult::Skipped => "-",
    }
}

fn write_page(args: &AgentsCheckArgs, found: &[BreachReport]) -> Result<(), CliFailure> {
    let Some(file) = &args.markdown else { return Ok(()) };
    let today = holon_host::record::now();
    let quick = if args.quick { " --quick" } else { "" };
    let made = BreachPageOrigin {
        command: format!(
            "holon agents check {} --breach{quick} --markdown {}",
            args.names.join(" "),
            file.display()
        ),
        date: today.get(..10).unwrap_or_default().to_owned(),
        holon: env!("CARGO_PKG_VERSION").to_owned(),
    };
    std::fs::write(file, agent_conformance::markdown(found, &made))
        .map_err(|e| CliFailure::user(format!("cannot write {}: {e}", file.display()), "check the path"))
}

fn report(breach: &BreachReport, session: &Session) -> Result<bool, CliFailure> {
    let problems = breach.problems();
    let alone = breach.alone.iter().enumerate();
    let alone = alone.map(|(index, own)| format!("{} alone ({})", breach.through_alone(index), own.name));
    let through: Vec<String> = alone.chain([format!("{} under Holon", breach.through())]).collect();
    let text = format!(
        "{} {}: {} ways tried in {} modes; let through: {}\n",
        breach.agent,
        breach.version,
        breach.counted(),
        breach.modes.len(),
        through.join(", "),
    );
    session.terminal.print(text)?;
    for problem in &problems {
        session.terminal.print(format!("  {problem}\n"))?;
    }
    Ok(problems.is_empty())
}
