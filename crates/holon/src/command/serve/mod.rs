//! `holon serve`: the chat server and its page.

mod addresses;
pub(crate) mod demo;
mod tokens;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use holon_host::HolonFolders;
use holon_host::thread::TurnSurroundings;
use holon_sandbox::isolation::Launcher;
use holon_server::{AccessSettings, ChatServer, ReplySource, ServerLimits, ServerSetup};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::CommandExit;
use crate::command::run::host_in;
use crate::failure::CliFailure;
use crate::session::{self, Session};
use crate::stop;

/// Descriptors a server wants: enough for all the streams it allows.
const DESCRIPTORS: u64 = 16_384;

/// Chat with an agent in the browser: plan and build, live, on a snapshot
///
/// Serves the API and the page in one process. What the agent changes stays in a snapshot per thread until it is applied.
/// The address it prints holds a token, which is kept for the next start; without it nobody comes in. A program of another
/// user of this machine is refused even with it.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Try it: a sample repository and a hand-written cassette, no key, no network; nothing is left behind
    #[arg(long, conflicts_with_all = ["replay", "root", "model", "provider"])]
    demo: bool,
    /// Folders below which workspaces may lie (the current one unless told)
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// A file with a line `USER TOKEN` for everyone who may come in; nobody else may be able to read it
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Make another token: the one before it, and every browser that is signed in, are out
    #[arg(long, conflicts_with = "tokens")]
    new_token: bool,
    /// Answer to this name, too, e.g. behind a proxy
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The model for threads that name none
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// The provider of the model
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Answer from a cassette instead of a model, each thread from its beginning
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Room for files that people send, in all; a thread gets a quarter of it
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    uploads_mb: u64,
    /// Make titles of threads from their first words, without asking a model
    #[arg(long)]
    plain_titles: bool,
}

/// Serves until a signal asks for the end.
pub(crate) fn run(args: ServeArgs, session: &Session) -> CommandExit {
    let stage = args.demo.then(demo::ServeDemoStage::build).transpose()?;
    let places = match &stage {
        Some(stage) => stage.places(session),
        None => session.places()?,
    };
    let tokens = args.tokens.as_deref().map(tokens::read).transpose()?.unwrap_or_default();
    let setup = ServerSetup {
        around: TurnSurroundings {
            launcher: Launcher::default(),
            env: Arc::new(session::variable),
            home: places.home.clone(),
        },
        secrets: session::secrets(),
        roots: match &stage {
            Some(stage) => vec![stage.sample()],
            None => roots(&args.root)?,
        },
        doors: AccessSettings {
            tokens,
            renew: args.new_token,
            hosts: args.allow_host.clone(),
            address: None,
        },
        limits: ServerLimits { kept: args.uploads_mb.saturating_mul(1 << 20), ..ServerLimits::default() },
        minds: reply_source(&args, stage.as_ref()),
        host: Arc::new(host_in),
        give_back: holon_sandbox::memory::give_back,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        page: holon_server::PAGE,
        places,
    };
    allow_many_streams();
    let stop = stop::on_signals()?;
    let served = ChatServer::run(setup, args.listen, &stop, |door| {
        let lines: String =
            addresses::reachable(door).iter().map(|url| format!("holon is at {url}\n")).collect();
        let _ = session.terminal.print(lines);
        if args.open {
            open(&addresses::opened(door));
        }
    });
    drop(stage);
    served.map_err(|e| CliFailure::user(e.to_string(), e.hint()))?;
    Ok(ExitCode::SUCCESS)
}

fn reply_source(args: &ServeArgs, stage: Option<&demo::ServeDemoStage>) -> ReplySource {
    if let Some(stage) = stage {
        return ReplySource::Cassette { file: stage.cassette(), demo: true };
    }
    match &args.replay {
        Some(file) => ReplySource::Cassette { file: file.clone(), demo: false },
        None => ReplySource::Network {
            provider: args.provider.clone(),
            model: args.model.clone(),
            titles: !args.plain_titles,
        },
    }
}

fn roots(given: &[PathBuf]) -> Result<Vec<PathBuf>, CliFailure> {
    let given = if given.is_empty() { &[PathBuf::from(".")][..] } else { given };
    given
        .iter()
        .map(|root| {
            let wrong = |why: &dyn std::fmt::Display| {
                CliFailure::user(format!("{}: {why}", root.display()), "give an existing folder with --root")
            };
            let path = root.canonicalize().map_err(|e| wrong(&e))?;
            if path.is_dir() { Ok(path) } else { Err(wrong(&"not a folder")) }
        })
        .collect()
}

/// Every stream is a descriptor, and shells often allow no more than 1,024 at first. What the system refuses stays as it is.
fn allow_many_streams() {
    let now = getrlimit(Resource::Nofile);
    let (Some(current), most) = (now.current, now.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS)) else {
        return;
    };
    if current < most {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum });
    }
}

/// Asks the desktop; where there is none, the address was printed.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let _ =
        std::process::Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}

/// Where a demonstration keeps its things, beside what it needs of the user's own.
pub(super) fn beside(state: PathBuf, session: &Session) -> HolonFolders {
    HolonFolders {
        cache: state.join("cache"),
        config: state.join("config"),
        state,
        home: session.places().ok().and_then(|places| places.home),
    }
}
