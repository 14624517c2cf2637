//! `holon plan`: plans by the architect, made, shown and reported on.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_core::artifact::plan::PlanDocument;
use holon_host::store::{RunFolder, RunStore};

use crate::CommandExit;
use crate::cli::{self, ParsedCommandLine};
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::table::TextTable;
use crate::terminal::visible;

/// Make, show and report on plans
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  holon plan generate \"Support IPv6\"\n  holon plan show\n  holon plan report --json"
)]
pub(crate) enum PlanCommand {
    /// Have the architect plan a goal; the code stays as it is
    Generate(PlanGenerateArgs),
    /// Show a plan
    Show {
        /// The run [default: the last one with a plan]
        #[arg(value_name = "RUN")]
        run: Option<String>,
        /// The folder it was made for [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Tell what a plan comes to: its steps, risks and how to check it
    Report {
        /// The run [default: the last one with a plan]
        #[arg(value_name = "RUN")]
        run: Option<String>,
        /// The folder it was made for [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// `holon plan generate`
#[derive(Debug, clap::Args)]
pub(crate) struct PlanGenerateArgs {
    /// What is to be planned
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Everything else goes to `holon run`
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<OsString>,
}

/// Carries the command out.
pub(crate) fn dispatch(command: PlanCommand, session: &Session) -> CommandExit {
    match command {
        PlanCommand::Generate(args) => generate(args, session),
        PlanCommand::Show { run, workspace } => show(run.as_deref(), workspace.as_deref(), session),
        PlanCommand::Report { run, workspace, json } => {
            report(run.as_deref(), workspace.as_deref(), json, session)
        }
    }
}

fn generate(args: PlanGenerateArgs, session: &Session) -> CommandExit {
    if args.goal.trim().is_empty() {
        let hint = "say what is to be planned: holon plan generate \"Support IPv6\"";
        return Err(CliFailure::user("the goal is empty", hint));
    }
    let mut words: Vec<OsString> = ["holon", "run", "--mode", "architect", "--goal"].map(Into::into).to_vec();
    words.push(args.goal.into());
    words.extend(args.flags);
    match cli::parse(words, session)? {
        ParsedCommandLine::Command(cli::CliCommand::Run(run)) => super::run::run(*run, session),
        ParsedCommandLine::Answered(code) => Ok(code),
        ParsedCommandLine::Command(_) => {
            Err(CliFailure::config("`holon plan generate` did not become a run"))
        }
    }
}

fn show(run: Option<&str>, workspace: Option<&Path>, session: &Session) -> CommandExit {
    let folder = find(&session.store(workspace)?, run)?;
    let path = folder.output().join("plan.md");
    let text = fs::read_to_string(&path).map_err(CliFailure::io("read", &path))?;
    session.terminal.deliver(text)?;
    Ok(ExitCode::SUCCESS)
}

fn report(run: Option<&str>, workspace: Option<&Path>, json: bool, session: &Session) -> CommandExit {
    let folder = find(&session.store(workspace)?, run)?;
    let record = folder.record()?;
    let read = fs::read(folder.output().join("plan.json")).ok();
    let plan: PlanDocument = read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let manifest = folder.manifest();
    let outcome = manifest.as_ref().map(|manifest| manifest.outcome.to_string()).unwrap_or_default();
    if json {
        let value = serde_json::json!({
            "run_id": record.id, "mode": record.mode, "goal": record.goal, "outcome": outcome, "plan": plan,
        });
        session.terminal.print(format!("{value:#}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{outcome} {} {}\n{}\n", record.mode, record.id, visible(&record.goal));
    if !plan.steps.is_empty() {
        let mut table = TextTable::new(["STEP", "WHAT", "FILES", "CHECKS", "AFTER"]);
        for step in &plan.steps {
            let join = |list: &[String]| list.join(", ");
            let (files, checks, after) = (join(&step.files), join(&step.checks), join(&step.depends_on));
            table.row([&step.id, &step.title, &files, &checks, &after]);
        }
        text.push_str(&format!("\n{}", table.render(session.terminal.stdout)));
    }
    for (head, list) in [("risks", &plan.risks), ("done when", &plan.acceptance)] {
        for item in list {
            text.push_str(&format!("{head}: {}\n", visible(item)));
        }
    }
    session.terminal.print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// The run that was named, or the last one that left a plan.
fn find(store: &RunStore, run: Option<&str>) -> Result<RunFolder, CliFailure> {
    let has_plan = |folder: &RunFolder| folder.output().join("plan.md").is_file();
    if let Some(name) = run {
        let folder = store.find(name)?;
        return match has_plan(&folder) {
            true => Ok(folder),
            false => {
                let hint = "`holon runs list` shows the runs; those in mode plan or architect leave one";
                Err(CliFailure::config(format!("{name} left no plan")).hint(hint))
            }
        };
    }
    let ids = store.ids()?;
    let found = ids.iter().rev().map(|id| store.open(id)).find(has_plan);
    found.ok_or_else(|| {
        let none = "no run of this workspace has left a plan yet";
        CliFailure::config(none).hint("make one with `holon plan generate \"…\"`")
    })
}
