//! `holon improve`: one round over the repository, split into tasks, carried out and assessed.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Done;
use crate::cli::{self, Asked, Command};
use crate::failure::Failure;
use crate::session::Session;

/// What is asked for when nothing else is.
const GOAL: &str = "Find the one small improvement of this repository that is worth most to its users: a bug, a missing \
    test, a misleading message, a gap in the documentation. Prefer what can be checked. Make that one change and nothing else.";

const EXAMPLES: &str = "\
Examples:
  holon improve                                    one improvement, as a patch
  holon improve \"Better error messages\" --check \"make test\"
  holon improve --pr=owner/repo --check \"make test\"   and as a pull request";

/// Have one small improvement found, made, reviewed and assessed
///
/// One orchestrated round over the repository: the goal is split into tasks, each runs in its mode behind walls of its
/// own, and one patch comes out. Nothing reaches your files without `holon runs apply`; --pr opens a pull request instead.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What kind of improvement is wanted
    #[arg(value_name = "WHAT")]
    what: Option<String>,
    /// Open a pull request with the result: OWNER/REPO [default: from the environment of a workflow]
    #[arg(long, value_name = "OWNER/REPO", num_args = 0..=1, require_equals = true)]
    pr: Option<Option<String>>,
    /// A command that must succeed on the result (can be given again)
    #[arg(long, value_name = "CMD")]
    check: Vec<String>,
    /// The folder to work on [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The model [default: chosen (`holon models select`)]
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Who serves it [default: whoever has a key]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The agent: a name (`holon agents list`) or the path of a command [default: the native one]
    #[arg(long, value_name = "NAME|PATH")]
    agent: Option<String>,
    /// Answer from cassettes instead of a model: FILE.orchestrate.yaml and one per task for FILE.yaml
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Stop when this much is spent, in US dollars
    #[arg(long, value_name = "USD")]
    max_cost: Option<String>,
    /// Let the result out although its assessment blocks; written to the audit log, with who and where
    #[arg(long, value_name = "REASON")]
    override_ethics: Option<String>,
}

/// One orchestrated round; everything else is that of `holon run`.
pub(crate) fn run(args: Args, session: &Session) -> Done {
    match cli::parse(words(args), session)? {
        Asked::Command(Command::Run(run)) => super::run::run(*run, session),
        _ => Err(Failure::config("`holon improve` did not become a run")),
    }
}

/// The command line it stands for.
pub(crate) fn words(args: Args) -> Vec<OsString> {
    let goal = match args.what {
        Some(what) => format!("{GOAL}\n\nWhat is wanted: {what}"),
        None => GOAL.to_owned(),
    };
    let mut words: Vec<OsString> =
        ["holon", "run", "--mode", "orchestrate", "--goal-alone", "--goal"].map(Into::into).to_vec();
    words.push(goal.into());
    let mut give = |flag: &str, value: OsString| words.extend([flag.into(), value]);
    args.check.into_iter().for_each(|check| give("--check", check.into()));
    args.workspace.into_iter().for_each(|path| give("--workspace", path.into()));
    args.agent.into_iter().for_each(|agent| give("--agent", agent.into()));
    args.model.into_iter().for_each(|model| give("--model", model.into()));
    args.provider.into_iter().for_each(|name| give("--provider", name.into()));
    args.replay.into_iter().for_each(|file| give("--replay", file.into()));
    args.max_cost.into_iter().for_each(|cost| give("--max-cost", cost.into()));
    args.override_ethics.into_iter().for_each(|reason| give("--override-ethics", reason.into()));
    match args.pr {
        Some(Some(target)) => words.push(format!("--publish={target}").into()),
        Some(None) => words.push("--publish".into()),
        None => {}
    }
    words
}
