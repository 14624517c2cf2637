//! `holon runs attach`: back to the screen of a run that goes on.

use super::StoredRunArgs;
use crate::CommandExit;
use crate::command::run::hands_on;
use crate::session::Session;

/// Come back to the screen of an interactive run that goes on
///
/// Whoever left it with Ctrl-] d, or whose terminal went away, finds it as it is now. Another terminal that shows it lets go.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  holon runs attach last")]
pub(crate) struct AttachArgs {
    #[command(flatten)]
    which: StoredRunArgs,
}

/// Shows it until it ends, or the person leaves again.
pub(crate) fn run(args: &AttachArgs, session: &Session) -> CommandExit {
    hands_on::attach(&args.which.find(session)?, session)
}
