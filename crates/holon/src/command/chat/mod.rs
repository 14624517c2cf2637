//! `holon chat`: the threads of the page, in the terminal.

mod answer;
mod conversation;
mod follow;
mod line;
mod list;
mod markdown;
mod once;
mod orders;
mod screen;
pub(crate) mod signals;
mod slash;
mod table;
mod view;
mod wrap;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::ValueEnum;

use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::threads::{Carrier, ReplySourceFlags, ThreadsApi};

const EXAMPLES: &str = "\
Examples:
  holon chat                                    talk about the current folder
  holon chat --demo                             try it: no key, no network
  holon chat --thread last                      go on where you stopped
  holon chat --mode plan -m \"What is missing?\"  one message, one answer
  git diff | holon chat                         the same, with the message from a pipe

At the prompt: Shift+Tab switches between plan and build, /help lists the commands, Ctrl-C stops a turn.

Exit codes: 0 answered, 1 not, 2 the agent waits for a person, 64 the command line is wrong.";

/// Chat with the native agent in the terminal, on a snapshot that lives
///
/// The threads are those of `holon serve`: what a turn changes is there for the next one, and nothing of it reaches the
/// folder before /apply. Plan mode only looks, build mode does the work. Without a terminal it reads one message,
/// prints the answer, and never waits for a person.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChatArgs {
    /// Go on with this thread; `last` is the latest one about the folder
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// The mode to begin with [default: the thread's, or build]
    #[arg(long, value_name = "MODE")]
    mode: Option<ChatMode>,
    /// The folder to talk about [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "demo")]
    workspace: Option<PathBuf>,
    /// The model of a new thread [default: chosen (`holon models select`)]
    #[arg(long, value_name = "ID", conflicts_with_all = ["demo", "thread"])]
    model: Option<String>,
    /// Who serves it [default: whoever has a key]
    #[arg(long, value_name = "NAME", conflicts_with = "demo")]
    provider: Option<String>,
    /// Say this, print the answer, and end
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Answer from this cassette instead of a model
    #[arg(long, value_name = "FILE", conflicts_with_all = ["demo", "provider", "model"])]
    replay: Option<PathBuf>,
    /// Try it: a sample repository and a hand-written cassette, no key, no network; nothing is left behind
    #[arg(long)]
    demo: bool,
    /// List the threads, the latest first
    #[arg(long, conflicts_with_all = ["thread", "mode", "message", "demo", "replay", "model"])]
    list: bool,
    /// With a single message or --list: print JSON, an event or a thread on each line
    #[arg(long)]
    json: bool,
}

/// The two modes of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ChatMode {
    /// Only look
    Plan,
    /// Do the work, in the snapshot
    Build,
}

impl ChatMode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Build => "build",
        }
    }

    /// By its name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "plan" => Some(Self::Plan),
            "build" => Some(Self::Build),
            _ => None,
        }
    }

    pub(super) fn other(self) -> Self {
        match self {
            Self::Plan => Self::Build,
            Self::Build => Self::Plan,
        }
    }
}

/// What a chat begins with.
pub(super) struct ChatStart {
    /// The folder, by its real path.
    pub(super) workspace: String,
    /// The thread to go on with.
    pub(super) thread: Option<String>,
    pub(super) mode: Option<ChatMode>,
    pub(super) model: Option<String>,
}

/// The most that is read of a message from a pipe; the server takes less still.
const MOST_MESSAGE: u64 = 1 << 20;

/// Talks, lists, or says one thing.
pub(crate) fn run(args: ChatArgs, session: &Session) -> CommandExit {
    let alone =
        args.message.is_none() && !args.list && session.terminal.stdout.tty && std::io::stdin().is_terminal();
    if args.json && alone {
        return Err(CliFailure::user(
            "`--json` is for a single message or --list",
            "give the message with -m",
        ));
    }
    // Read before anything is started: an empty message is a mistake of the command line.
    let message = if alone || args.list { None } else { Some(single(args.message)?) };
    // A single message is over before a title could be made.
    let wish =
        ReplySourceFlags { provider: args.provider, replay: args.replay, demo: args.demo, titles: alone };
    let workspace = match (args.demo, args.list) {
        (true, _) => None,
        // Where nothing is named, all are listed.
        (false, true) if args.workspace.is_none() => None,
        _ => Some(session.workspace(args.workspace.as_deref())?),
    };
    let api = ThreadsApi::new(Carrier::open(session, wish)?);
    let workspace =
        workspace.or_else(|| api.carrier().sample()).map(|path| path.to_string_lossy().into_owned());
    if args.list {
        return list::run(&api, workspace.as_deref(), args.json, &session.terminal);
    }
    let workspace = workspace.unwrap_or_default();
    let thread = match args.thread.as_deref() {
        Some("last") => Some(list::last(&api, &workspace)?),
        Some(id) if is_id(id) => Some(id.to_owned()),
        Some(id) => {
            return Err(CliFailure::user(
                format!("`{id}` is no thread"),
                "`holon chat --list` names the threads",
            ));
        }
        None => None,
    };
    let start = ChatStart { workspace, thread, mode: args.mode, model: args.model };
    match message {
        Some(message) => once::run(&api, start, &message, args.json, session),
        None => conversation::run(&api, start, session),
    }
}

/// The only message: from the command line, or from whatever standard input holds.
fn single(given: Option<String>) -> Result<String, CliFailure> {
    let text = match given {
        Some(text) => text,
        None => {
            let mut bytes = Vec::new();
            let here = std::path::Path::new("standard input");
            std::io::stdin()
                .lock()
                .take(MOST_MESSAGE)
                .read_to_end(&mut bytes)
                .map_err(CliFailure::io("read", here))?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    if text.trim().is_empty() {
        return Err(CliFailure::user("there is no message", "give it with -m, or on standard input"));
    }
    Ok(text)
}

/// Whether this can be a thread's name, so that nothing else is put into a path.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 100 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
