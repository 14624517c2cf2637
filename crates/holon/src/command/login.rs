//! `holon login`: the logins of your agents, and whether a run can use them.

use std::process::ExitCode;

use clap::Subcommand;
use holon_login::{LoginReport, LoginStanding, survey};
use jiff::Timestamp;
use serde_json::json;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{Session, variable};
use crate::show::table::TextTable;
use crate::terminal::visible;

/// See which agents are logged in on this machine, and whether runs can use that
///
/// Agents such as Claude Code and Codex keep the login of a subscription in a file. A run of such an agent uses it where
/// no key is set: requests are signed on this side of the walls, and the agent inside sees a placeholder. A login is used
/// only for the agent it was made for. Holon makes none: the agent's own command does.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  holon login list
  holon login check claude-code && holon run --agent claude-code --goal \"Mend the date parser\"

Order: what you name (--provider, HOLON_BASE_URL), then keys (OPENROUTER_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY), then
the agent's own login.")]
pub(crate) enum LoginCommand {
    List(LoginListArgs),
    Check(LoginCheckArgs),
}

/// List the logins that agents keep on this machine: whose they are, until when, and which agent they serve
///
/// Only files and variables are looked at; nobody is asked, and no token is shown. A token that ends is renewed when a run
/// needs it, under the agent's own lock, and written back where the agent finds it.
#[derive(Debug, clap::Args)]
pub(crate) struct LoginListArgs {
    /// Also those that are not there, with the command that makes each
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Say whether an agent's login can be used, and what to do if not
///
/// Exit codes: 0 every login that is there can be used (or the agent's, where one is named), 1 one cannot, or there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  holon login check\n  holon login check codex --json")]
pub(crate) struct LoginCheckArgs {
    /// The agent whose login is needed [default: every login that is there]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Carries out one of them.
pub(crate) fn dispatch(command: LoginCommand, session: &Session) -> CommandExit {
    let text = |name: &str| variable(name).and_then(|value| value.into_string().ok());
    let reports = survey(text, Timestamp::now());
    match command {
        LoginCommand::List(args) => list(&args, reports, session),
        LoginCommand::Check(args) => check(&args, reports, session),
    }
}

fn list(args: &LoginListArgs, mut reports: Vec<LoginReport>, session: &Session) -> CommandExit {
    let terminal = &session.terminal;
    reports.retain(|report| args.all || report.is_there());
    if args.json {
        terminal.print(format!("{:#}\n", json!({ "logins": reports })))?;
        return Ok(ExitCode::SUCCESS);
    }
    if reports.is_empty() {
        terminal.say("no agent is logged in on this machine; `holon login list --all` shows how each is");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = TextTable::new(["LOGIN", "AGENT", "WHOSE", "UNTIL", "RUNS", "WHERE"]);
    for report in &reports {
        let runs = if report.usable { "yes" } else { "no" };
        table.row([report.name.as_str(), &report.agent, &whose(report), &until(report), runs, &report.from]);
    }
    terminal.print(table.render(terminal.stdout))?;
    for report in &reports {
        match (&report.problem, report.standing) {
            (_, LoginStanding::Absent) => {
                terminal.say(&visible(&format!("{}: log in with `{}`", report.name, report.log_in)));
            }
            (Some(problem), _) => terminal.say(&visible(&format!("{}: {problem}", report.name))),
            (None, _) => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check(args: &LoginCheckArgs, mut reports: Vec<LoginReport>, session: &Session) -> CommandExit {
    let terminal = &session.terminal;
    if let Some(agent) = &args.agent {
        let agents: Vec<String> = reports.iter().map(|report| report.agent.clone()).collect();
        reports.retain(|report| report.agent == *agent);
        if reports.is_empty() {
            let meant = holon_core::suggest::hint(agent, agents.iter().map(String::as_str));
            let mut known = agents;
            known.dedup();
            return Err(CliFailure::user(
                format!("no login of an agent `{agent}` is known{meant}"),
                format!("the agents are: {}", known.join(", ")),
            ));
        }
    }
    // Of an agent with several logins one is enough; without a name each that is there counts, and there has to be one.
    let there: Vec<&LoginReport> = reports.iter().filter(|report| report.is_there()).collect();
    let fine = match args.agent {
        Some(_) => there.iter().any(|report| report.usable),
        None => !there.is_empty() && there.iter().all(|report| report.usable),
    };
    if args.json {
        terminal.print(format!("{:#}\n", json!({ "usable": fine, "logins": reports })))?;
    } else {
        let mut text = String::new();
        for report in if there.is_empty() { reports.iter().collect() } else { there } {
            text.push_str(&format!("{}\n", visible(&sentence(report))));
        }
        terminal.print(text)?;
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn sentence(report: &LoginReport) -> String {
    let LoginReport { name, agent, title, from, log_in, .. } = report;
    match (&report.problem, report.standing) {
        (_, LoginStanding::Absent) => {
            format!("{name}: nobody is logged in: `{log_in}` makes a {title} login for {agent}")
        }
        (Some(problem), _) => format!("{name}: cannot be used: {problem}"),
        (None, _) => format!("{name}: runs of {agent} can use the {title} login in {from}"),
    }
}

fn whose(report: &LoginReport) -> String {
    let plan = report.plan.as_ref().map_or_else(String::new, |plan| format!(" {plan}"));
    let who = report.who.as_ref().map_or_else(String::new, |who| format!(", {who}"));
    format!("{}{plan}{who}", report.title)
}

fn until(report: &LoginReport) -> String {
    match (report.standing, report.ends, report.renewed_here) {
        (LoginStanding::Absent, ..) => "not logged in".to_owned(),
        (LoginStanding::Unfit, ..) => "?".to_owned(),
        (LoginStanding::Ended, ..) => "ended".to_owned(),
        (_, Some(_), true) => "renewed when needed".to_owned(),
        (_, Some(ends), false) => ends.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        (_, None, _) => "not said".to_owned(),
    }
}
