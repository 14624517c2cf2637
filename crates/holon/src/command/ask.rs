//! `holon ask`: a question about the code, answered as it is thought out.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use holon_core::event::{Body, Event};
use holon_flow::{Call, Dispatcher};
use holon_host::RunRequest;

use super::run;
use crate::Done;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::summary;
use crate::stop;
use crate::terminal::{Style, visible};

const EXAMPLES: &str = "\
Examples:
  holon ask \"Where are sessions closed, and who calls it?\"
  git diff | holon ask \"What could this change break?\"
  holon ask --model qwen3-coder:30b \"How do I run one test?\"

Exit codes: 0 an answer, 1 none, 64 the command line is wrong.";

/// Ask a question about the code; nothing can change
///
/// The native agent reads and searches behind the walls, in a snapshot that cannot be written, and its answer is
/// printed as it comes. What it looks at is told on standard error. Text on standard input goes along as context.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The question
    #[arg(value_name = "QUESTION")]
    question: String,
    /// Files or folders to read as well
    #[arg(long, value_name = "PATH", num_args = 1..)]
    context: Vec<PathBuf>,
    /// The folder the question is about [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The model [default: chosen (`holon models select`)]
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Who serves it [default: whoever has a key]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Answer from this cassette instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    replay: Option<PathBuf>,
    /// Write the conversation with the model to this cassette, redacted
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Do not tell what is looked at
    #[arg(long)]
    quiet: bool,
}

/// More than this on standard input is no question's context.
const MAX_INPUT: u64 = 16 << 20;

/// Asks, and prints the answer while it comes.
pub(crate) fn run(args: Args, session: &Session) -> Done {
    let mut context = args.context;
    let given = piped()?;
    if let Some(file) = &given {
        context.push(file.path().to_owned());
    }
    let request = RunRequest {
        mode: Some("ask".into()),
        goal: Some(args.question),
        workspace: args.workspace,
        model: args.model,
        provider: args.provider,
        replay: args.replay,
        record: args.record,
        context,
        ..RunRequest::default()
    };
    let mut host = run::host(session)?;
    // Whoever listens went away: the answer is still kept with the run.
    host.words = Some(Arc::new(|words: &str| {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(words.as_bytes()).and_then(|()| out.flush());
    }));
    let cancel = stop::on_signals()?;
    let terminal = session.terminal.clone();
    let mut tell = |event: &Event| match &event.body {
        Body::ToolProposed { tool, summary, .. } if !args.quiet => {
            let what = visible(summary.as_deref().unwrap_or_default()).replace('\n', " ");
            terminal.say(&terminal.stderr.paint(Style::Dim, format!("> {tool} {what}").trim_end()));
        }
        Body::ModelWaiting { reason, .. } => terminal.say(&visible(reason)),
        _ => {}
    };
    let dispatcher = Dispatcher::new(session.places()?);
    let finished = dispatcher.dispatch(Call::new(request), &host, &mut tell, &cancel)?.finished;
    let reason = summary::reason(&finished.manifest, session.terminal.stderr);
    if !reason.is_empty() {
        session.terminal.say(reason.trim_end());
    }
    Ok(ExitCode::from(finished.manifest.exit_code))
}

/// What was piped in, as a file to hand on.
fn piped() -> Result<Option<tempfile::NamedTempFile>, Failure> {
    let stdin = std::io::stdin();
    // Only a pipe or a file has something to say; a closed or inherited stream must not be waited for.
    let kind = rustix::fs::fstat(&stdin).map(|s| rustix::fs::FileType::from_raw_mode(s.st_mode));
    if stdin.is_terminal() || !kind.is_ok_and(|k| k.is_fifo() || k.is_file()) {
        return Ok(None);
    }
    let mut text = Vec::new();
    let temp = std::env::temp_dir();
    stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut text).map_err(Failure::io("read", &temp))?;
    if text.len() as u64 > MAX_INPUT {
        return Err(Failure::user("more than 16 MiB on standard input", "give large files with --context"));
    }
    if text.is_empty() {
        return Ok(None);
    }
    let mut file = tempfile::Builder::new()
        .prefix("stdin-")
        .suffix(".txt")
        .tempfile()
        .map_err(Failure::io("make a file in", &temp))?;
    file.write_all(&text).map_err(Failure::io("write", file.path()))?;
    Ok(Some(file))
}
