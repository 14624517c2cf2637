//! `holon improve`: one round over the repository, split into tasks, carried out and assessed.

use super::run;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;

/// What is asked for when nothing else is.
const GOAL: &str = "Find the one small improvement of this repository that is worth most to its users: a bug, a missing \
    test, a misleading message, a gap in the documentation. Prefer what can be checked. Make that one change and nothing else.";

pub(crate) const EXAMPLES: &str = "\
Examples:
  holon improve                                    one improvement, as a patch
  holon improve \"Better error messages\" --check \"make test\"
  holon improve --pr=owner/repo --check \"make test\"   and as a pull request";

/// Have one small improvement found, made, reviewed and assessed
///
/// One orchestrated round over the repository: the goal is split into tasks, each runs in its mode behind walls of its
/// own, and one patch comes out. Nothing reaches your files without `holon runs apply`; --pr opens a pull request instead.
#[derive(Debug, clap::Args)]
pub(crate) struct ImproveArgs {
    /// What kind of improvement is wanted
    #[arg(value_name = "WHAT")]
    what: Option<String>,
    /// Open a pull request with the result: OWNER/REPO [default: from the environment of a workflow]
    #[arg(long, value_name = "OWNER/REPO", num_args = 0..=1, require_equals = true, conflicts_with = "publish")]
    pr: Option<Option<String>>,
    #[command(flatten)]
    flags: run::RunArgs,
}

/// One orchestrated round; everything else is that of `holon run`.
pub(crate) fn run(args: ImproveArgs, session: &Session) -> CommandExit {
    run::run(as_run(args)?, session)
}

/// The run it stands for.
pub(crate) fn as_run(args: ImproveArgs) -> Result<run::RunArgs, CliFailure> {
    let goal = match args.what {
        Some(what) => format!("{GOAL}\n\nWhat is wanted: {what}"),
        None => GOAL.to_owned(),
    };
    args.flags.for_improvement(goal, args.pr)
}
