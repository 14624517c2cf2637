//! `holon acp`: Holon as an agent of the Agent Client Protocol, for editors.

mod changes;
mod flow;
mod modes;
mod person;
mod prompt;
mod request_handler;
mod run;
mod session;
mod turn;
mod updates;
mod wire;

use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::threads::{Carrier, ReplySourceFlags, ThreadsApi};

use request_handler::AcpRequestHandler;
use wire::EditorWire;

const EXAMPLES: &str = "\
An editor starts it. Zed, in settings.json:
  \"agent_servers\": { \"Holon\": { \"command\": \"holon\", \"args\": [\"acp\"] } }

Messages come on standard input and go to standard output, one JSON object on each line; standard error is for people. \
Sessions are the threads of `holon chat` and `holon serve`.";

/// Be an agent for an editor that speaks the Agent Client Protocol
///
/// Editors see Holon's modes, with the same walls as everywhere. Plan and build are a conversation: plan cannot write, and
/// what build changes stays in a snapshot until you agree to apply it. In the other modes every prompt is a run of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AcpArgs {
    /// The model of new sessions [default: chosen (`holon models select`)]
    #[arg(long, value_name = "ID", conflicts_with_all = ["demo", "replay"])]
    model: Option<String>,
    /// Who serves it [default: whoever has a key]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["demo", "replay"])]
    provider: Option<String>,
    /// Answer from this cassette instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    replay: Option<PathBuf>,
    /// Answer from a hand-written cassette about a sample repository: no key, no network
    #[arg(long)]
    demo: bool,
    /// After a turn that changed something: ask whether to apply it, or wait for /apply
    #[arg(long, value_name = "WHEN", default_value = "ask")]
    apply: ApplyTiming,
}

/// When changes reach the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ApplyTiming {
    /// The editor asks the person after the turn
    Ask,
    /// Only with /apply
    Later,
}

/// Serves the editor until it closes its end.
pub(crate) fn run(args: AcpArgs, session: &Session) -> CommandExit {
    let wish =
        ReplySourceFlags { provider: args.provider, replay: args.replay, demo: args.demo, titles: true };
    let api = ThreadsApi::new(Carrier::open(session, wish)?);
    let wire = Arc::new(EditorWire::new(Box::new(std::io::stdout())));
    let desk = Arc::new(AcpRequestHandler::new(api, Arc::clone(&wire), args.model, args.apply));
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line.map_err(|e| CliFailure::config(format!("the editor went away: {e}")))?;
        if !line.iter().all(u8::is_ascii_whitespace) {
            AcpRequestHandler::take(&desk, &line);
        }
        if wire.is_closed() {
            break;
        }
    }
    // Nobody will answer any more; whoever waits for that goes on and finds the same.
    wire.close();
    desk.leave();
    Ok(ExitCode::SUCCESS)
}
