//! The command line: what can be typed. Help, man page and completions all come from here.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::{AnsiColor, Style};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::command::{
    acp, adapter, agents, ask, chat, completions, config, context, demo, doctor, environment, flows, improve,
    login, man, models, modes, network, publish, run, runs, schema, serve,
};
use crate::command::{attest, audit, orchestrate, plan, verify};
use crate::failure::CliFailure;
use crate::session::Session;

const STYLES: Styles = Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(Style::new().dimmed());

const EXAMPLES: &str = "\
Examples:
  holon demo                                           see it work: no key, no network
  holon \"Mend the date parser\"                         plan, code, review, assess: one patch
  holon run --mode plan --goal \"…\" --agent ./agent.sh   think, change nothing
  holon run --mode execute --goal \"…\" --agent ./agent.sh
  holon runs diff last                                 what the last run changed
  holon runs apply last                                bring it into the workspace

Exit codes: 0 success, 1 failure, 2 needs a person, 64 the command line is wrong.";

/// Run any AI coding agent in a mode that the host enforces, and get back artifacts that the host has checked.
#[derive(Debug, Parser)]
#[command(name = "holon", version, styles = STYLES, after_help = EXAMPLES, disable_help_subcommand = true)]
#[command(
    override_usage = "holon [OPTIONS] <COMMAND>\n       holon [OPTIONS] \"GOAL\" [OPTIONS OF holon run]"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,

    /// Use no colour (the variable NO_COLOR does the same)
    #[arg(long, global = true, help_heading = "Output")]
    no_color: bool,

    /// How standard error is written (the variable HOLON_LOG does the same): json gives one object per line, and the log
    /// of everything that is dispatched
    #[arg(long, global = true, value_name = "FORMAT", value_enum, help_heading = "Output")]
    log_format: Option<LogFormat>,
}

/// How standard error is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// Everything `holon` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run an agent in a mode, behind walls, on a snapshot of the workspace
    ///
    /// The agent sees a copy of the folder, never the original. When it is done, the host checks what it left, makes
    /// the patch itself, and writes a manifest that says what happened. Nothing reaches your files without
    /// `holon runs apply` or --apply.
    #[command(after_help = run::EXAMPLES)]
    Run(Box<run::RunArgs>),
    Ask(ask::AskArgs),
    #[command(after_help = improve::EXAMPLES)]
    Improve(Box<improve::ImproveArgs>),
    #[command(subcommand)]
    Plan(plan::PlanCommand),
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    #[command(subcommand)]
    Modes(modes::ModesCommand),
    #[command(subcommand)]
    Flows(flows::FlowsCommand),
    #[command(subcommand)]
    Models(models::ModelsCommand),
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    #[command(subcommand)]
    Login(login::LoginCommand),
    Attest(attest::AttestArgs),
    Verify(verify::VerifyArgs),
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    #[command(subcommand)]
    Publish(publish::PublishCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    #[command(subcommand)]
    Context(context::ContextCommand),
    #[command(subcommand)]
    Network(network::NetworkCommand),
    #[command(subcommand)]
    Environment(environment::EnvironmentCommand),
    Adapter(adapter::AdapterArgs),
    Serve(serve::ServeArgs),
    Chat(Box<chat::ChatArgs>),
    Acp(acp::AcpArgs),
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Reads the arguments; help and version are answered here.
pub(crate) fn parse(args: Vec<OsString>, session: &Session) -> Result<ParsedCommandLine, CliFailure> {
    let args = orchestrate::spelled_out(args);
    match Cli::try_parse_from(&args) {
        Ok(Cli { command: Some(command), .. }) => Ok(ParsedCommandLine::Command(command)),
        Ok(Cli { command: None, .. }) => {
            // Without a person in front of it, an empty command line is a script's mistake.
            if session.terminal.stdout.tty && session.terminal.stderr.tty {
                if let Some(goal) = orchestrate::ask(session) {
                    return parse(goal, session);
                }
                session.terminal.print(definition().render_help().ansi().to_string())?;
                return Ok(ParsedCommandLine::Answered(ExitCode::SUCCESS));
            }
            session.terminal.say(&definition().render_help().to_string());
            Ok(ParsedCommandLine::Answered(ExitCode::from(holon_core::outcome::USAGE)))
        }
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let text = error.render();
            let colour = session.terminal.stdout.colour;
            session.terminal.print(if colour { text.ansi().to_string() } else { text.to_string() })?;
            Ok(ParsedCommandLine::Answered(ExitCode::SUCCESS))
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            session.terminal.say(error.render().to_string().trim_end());
            Ok(ParsedCommandLine::Answered(ExitCode::from(holon_core::outcome::USAGE)))
        }
        Err(error) => Err(CliFailure::usage(&error, &args, &definition())),
    }
}

/// What the arguments ask for.
#[derive(Debug)]
pub(crate) enum ParsedCommandLine {
    /// Something to do.
    Command(CliCommand),
    /// Help or version, which have been printed.
    Answered(ExitCode),
}

/// The whole command line as data, for completions and man pages.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_host::effect::{EffectRow, SETTINGS};

    #[test]
    fn the_definition_is_consistent() {
        super::definition().debug_assert();
    }

    /// The flags of a command, without dashes; `--` for what follows it.
    fn flags_of(command: &str) -> Vec<String> {
        let all = super::definition();
        let command = all.find_subcommand(command).unwrap();
        let name = |arg: &clap::Arg| match arg.get_long() {
            Some(long) => Some(long.to_owned()),
            None if arg.is_last_set() => Some("--".to_owned()),
            None => None,
        };
        command.get_arguments().filter_map(name).filter(|name| name != "help").collect()
    }

    #[test]
    fn inv_19_every_flag_of_run_has_a_row() {
        let flags = flags_of("run");
        assert!(flags.len() > 40, "{flags:?}");
        for flag in &flags {
            assert!(EffectRow::of_flag(flag).is_some(), "--{flag} has no row in the table of effects");
        }
        for flag in SETTINGS.iter().filter_map(|setting| setting.flag) {
            assert!(flags.iter().any(|known| known == flag), "--{flag} is no flag of `holon run`");
        }
    }

    #[test]
    fn inv_19_improve_has_every_flag_of_run() {
        let own = flags_of("improve");
        for flag in flags_of("run") {
            assert!(own.contains(&flag), "`holon improve` lacks --{flag}");
        }
    }

    #[test]
    fn inv_19_resume_uses_or_refuses_every_flag() {
        // What a resume uses; everything else was said when the run was started, and is refused.
        const USED: [&str; 12] = [
            "max-cost",
            "max-rounds",
            "timeout",
            "workspace",
            "gate",
            "resume",
            "message",
            "apply",
            "override-ethics",
            "publish",
            "json",
            "quiet",
        ];
        let all = super::definition();
        let run = all.find_subcommand("run").unwrap();
        let resume = run.get_arguments().find(|arg| arg.get_long() == Some("resume")).unwrap();
        let refused = run.get_arg_conflicts_with(resume);
        for arg in run.get_arguments() {
            let name = arg.get_long().unwrap_or("--");
            let is_refused = refused.iter().any(|other| other.get_id() == arg.get_id());
            let used = USED.contains(&name) || matches!(name, "help" | "goal-alone");
            assert!(is_refused != used, "--{name} with --resume: refused {is_refused}, used {used}");
        }
    }
}
