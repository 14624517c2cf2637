//! `holon agents add`.

use std::process::ExitCode;

use holon_host::agent_addition::{self, AddedAgent, AgentSource, AgentWish};
use holon_host::agent_conformance::{self, ConformanceResult, ConformanceRow, ConformanceTrial};
use serde_json::json;

use super::check;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{self, Session};
use crate::show::table::TextTable;
use crate::terminal::visible;

const EXAMPLES: &str = "\
Examples:
  holon agents add npm:@kilocode/cli --name kilo        install it with your npm, and try it
  holon agents add pip:mini-swe-agent --program mini    in an environment of its own
  holon agents add ./my-agent -- --task '{prompt}'      a program, and how it is called

Your own client installs the package below Holon's cache, with your rights, and the program is
asked there for its --version and --help. Everything else happens behind the walls: a plan is asked
for, and a script answers instead of a model. The description is written to `agents` in your
configuration folder; change there what was guessed wrong, then `holon agents check NAME`.

Exit codes: 0 it handed over a plan, 1 it could not be installed or does not work yet, 64 the
command line is wrong.";

/// Add an agent that Holon does not know: install it, describe it and try it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AgentsAddArgs {
    /// npm:NAME, pip:NAME, or the path of a program
    #[arg(value_name = "SOURCE")]
    source: String,
    /// What --agent shall take [default: the package's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Which of the package's programs is the agent
    #[arg(long, value_name = "PROGRAM")]
    program: Option<String>,
    /// What it speaks to its model: messages, responses, chat or gemini
    #[arg(long, value_name = "WIRE", default_value = "chat", value_parser = ["messages", "responses", "chat", "gemini"])]
    wire: String,
    /// Write over a description of yours that has the name
    #[arg(long)]
    replace: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    /// How it is called, where its help does not tell: arguments with {prompt} for the task
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

pub(super) fn run(args: &AgentsAddArgs, session: &Session) -> CommandExit {
    let source: AgentSource = args.source.parse().map_err(|message: String| {
        CliFailure::user(message, "write npm:NAME, pip:NAME or a path such as ./my-agent")
    })?;
    let places = session.places()?;
    let wish = AgentWish {
        source,
        name: args.name.clone(),
        program: args.program.clone(),
        wire: args.wire.clone(),
        args: args.args.clone(),
        replace: args.replace,
    };
    let told = |text: &str| session.terminal.say(&visible(text));
    let added = agent_addition::add(&wish, &places, &session::variable, &told)?;
    let scratch = check::scratch(&places)?;
    let env = || -> Box<holon_host::run::HostEnvironment> { Box::new(session::variable) };
    let trial = ConformanceTrial {
        agent: &added.name,
        modes: &["plan"],
        places: &places,
        env: &env,
        scratch: scratch.path(),
    };
    let rows = agent_conformance::conform(&trial, &mut |text: &str| told(text))?;
    let works = rows.iter().all(|row| row.result != ConformanceResult::Failed);
    if args.json {
        session.terminal.print(format!("{:#}\n", as_json(&added, &rows, works)))?;
    } else {
        session.terminal.print(in_words(&added, &rows, works, session))?;
    }
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn as_json(added: &AddedAgent, rows: &[ConformanceRow], works: bool) -> serde_json::Value {
    json!({
        "name": added.name, "program": added.located.program, "version": added.version, "description": added.file,
        "args": added.call.args, "acp": added.call.acp, "why": added.call.why, "works": works, "checks": rows,
    })
}

fn in_words(added: &AddedAgent, rows: &[ConformanceRow], works: bool, session: &Session) -> String {
    let mut table = TextTable::indented(0);
    let version = added.version.as_deref().unwrap_or("of a version it does not tell");
    let called = added.call.args.join(" ").replace('\n', " ");
    table.row(["found", &format!("{} {version} at {}", added.name, added.located.program.display())]);
    table.row(["called with", &format!("{called} ({})", added.call.why)]);
    table.row(["described in", &added.file.display().to_string()]);
    for row in rows.iter().filter(|row| row.result != ConformanceResult::Skipped) {
        table.row([row.check, &format!("{}: {}", check::word(row.result), row.detail)]);
    }
    let name = &added.name;
    let next = match works {
        true => format!(
            "holon agents check {name} tries the other modes; holon run --agent {name} --mode plan --goal … uses it"
        ),
        false => format!(
            "correct `command`, `[env]` or `[model]` in the description (or: holon agents add … --replace -- ARGS), then \
             holon agents check {name}"
        ),
    };
    table.row(["next", &next]);
    table.render(session.terminal.stdout)
}
