//! `holon ask`: a question about the code, answered as it is thought out.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use holon_core::RunOutcome;
use holon_core::artifact::orchestration::OrchestrationGraph;
use holon_core::event::{EventBody, RunEvent};
use holon_flow::{DispatchCall, Dispatcher};
use holon_host::{FinishedRun, RunContext, RunRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::run;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::show::summary;
use crate::stop;
use crate::terminal::{Terminal, TextStyle, visible};

const EXAMPLES: &str = "\
Examples:
  holon ask \"Where are sessions closed, and who calls it?\"
  git diff | holon ask \"What could this change break?\"
  holon ask --model qwen3-coder:30b \"How do I run one test?\"

Exit codes: 0 an answer, 1 none, 64 the command line is wrong; those of `holon run` when changes were made.";

/// Ask a question about the code, or for a change
///
/// The native agent reads and searches behind the walls, in a snapshot that cannot be written, and its answer is
/// printed as it comes. What it looks at is told on standard error. Text on standard input goes along as context.
/// Only when a change is asked for, and it hands over a plan that names edits, that plan is carried out as
/// `holon "goal"` would: one task after the other in its own mode, assessed, with a patch as the result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AskArgs {
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
    /// Print each message when it is complete, and none that was cut off and asked for again: for programs
    #[arg(long)]
    whole: bool,
    /// Do not tell what is looked at
    #[arg(long)]
    quiet: bool,
}

/// Where a plan is found.
const PLAN: &str = "orchestration.json";
/// A pipe that says nothing for so long is worth a word.
const SURPRISING: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// More than this on standard input is no question's context.
const MAX_INPUT: u64 = 16 << 20;

/// Asks, and prints the answer while it comes.
pub(crate) fn run(args: AskArgs, session: &Session) -> CommandExit {
    if args.question.trim().is_empty() {
        return Err(CliFailure::user(
            "the question is empty",
            "ask something: holon ask \"Where is it parsed?\"",
        ));
    }
    let given = piped(session)?;
    let former = run::route::why_former(args.workspace.as_deref(), session)?;
    if let Some(why) = &former {
        run::route::tell(why, "a single run in mode code; what it changes stays in its patch", session);
    }
    let mode = if former.is_some() { "execute" } else { "ask" };
    let mut request = RunRequest {
        mode: Some(mode.into()),
        goal: Some(args.question),
        workspace: args.workspace,
        model: args.model,
        provider: args.provider,
        replay: args.replay,
        record: args.record,
        context: args.context,
        ..RunRequest::default()
    };
    let words = words(&request);
    request.context.extend(given.as_ref().map(|file| file.path().to_owned()));
    let host = run::host(session)?;
    let heard = (!args.whole).then(|| Arc::new(print) as Arc<_>);
    let mut message = String::new();
    let cancel = stop::on_signals()?;
    let terminal = session.terminal.clone();
    let mut tell = |event: &RunEvent| match &event.body {
        EventBody::ToolProposed { tool, summary, .. } if !args.quiet => {
            let what = visible(summary.as_deref().unwrap_or_default()).replace('\n', " ");
            terminal.say(&terminal.stderr.paint(TextStyle::Dim, format!("> {tool} {what}").trim_end()));
        }
        EventBody::ModelWaiting { reason, .. } => terminal.say(&visible(reason)),
        EventBody::MessageDelta { text } if args.whole => message.push_str(text),
        EventBody::MessageRestarted {} if args.whole => message.clear(),
        // What is printed stays printed.
        EventBody::MessageRestarted {} => terminal.say("the answer was cut off; it is asked for again"),
        EventBody::ModelAnswered { error: Some(_), .. } => message.clear(),
        EventBody::ModelAnswered { .. } if !message.is_empty() => {
            print(&format!("{}\n", message.trim_end_matches('\n')));
            message.clear();
        }
        _ => {}
    };
    let dispatcher = Dispatcher::new(session.places()?);
    let call = DispatchCall::new(host.plan(&request)?);
    let context = RunContext { words: heard, ..RunContext::new(&mut tell, &cancel) };
    let finished = dispatcher.dispatch(call, &host, context)?.finished;
    let reason = summary::reason(&finished.manifest, session.terminal.stderr);
    if !reason.is_empty() {
        session.terminal.say(reason.trim_end());
    }
    let code = ExitCode::from(finished.manifest.exit_code);
    let Some(plan) = edits(&finished).filter(|_| former.is_none()) else { return Ok(code) };
    if let Some(why) = run::route::why_single(request.workspace.as_deref(), session)? {
        session.terminal.say(&format!("{why}: the changes that are planned are not made"));
        return Ok(code);
    }
    request.mode = Some("orchestrate".into());
    run::orchestrated::carry_out(request, plan, words, args.quiet, session)
}

/// Prints a piece of an answer. Whoever listened may have gone away: the answer is still kept with the run.
fn print(words: &str) {
    let _ = Terminal::again().print(visible(words));
}

/// The plan that was handed over besides the answer, if it is sound and names edits.
fn edits(finished: &FinishedRun) -> Option<OrchestrationGraph> {
    let manifest = &finished.manifest;
    let sound = manifest.artifacts.iter().any(|row| row.path == PLAN && row.valid);
    if manifest.outcome != RunOutcome::Success || !sound {
        return None;
    }
    let bytes = std::fs::read(finished.folder.join("output").join(PLAN)).ok()?;
    let plan: OrchestrationGraph = serde_json::from_slice(&bytes).ok()?;
    (plan.check().is_empty() && plan.names_edits()).then_some(plan)
}

/// The command that asks for the changes alone; what was piped in is gone by the time it is needed.
fn words(request: &RunRequest) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["holon", "run", "--mode", "orchestrate"].map(Into::into).to_vec();
    let mut give = |flag: &str, value: Option<OsString>| {
        words.extend(value.into_iter().flat_map(|value| [flag.into(), value]));
    };
    give("--goal", request.goal.clone().map(Into::into));
    request.context.iter().for_each(|path| give("--context", Some(path.into())));
    give("--workspace", request.workspace.clone().map(Into::into));
    give("--model", request.model.clone().map(Into::into));
    give("--provider", request.provider.clone().map(Into::into));
    give("--replay", request.replay.clone().map(Into::into));
    give("--record", request.record.clone().map(Into::into));
    words
}

/// What was piped in, as a file to hand on.
fn piped(session: &Session) -> Result<Option<tempfile::NamedTempFile>, CliFailure> {
    let stdin = std::io::stdin();
    // Only a pipe or a file has something to say; a closed or inherited stream must not be waited for.
    let kind = rustix::fs::fstat(&stdin).map(|s| rustix::fs::FileType::from_raw_mode(s.st_mode));
    if stdin.is_terminal() || !kind.is_ok_and(|k| k.is_fifo() || k.is_file()) {
        return Ok(None);
    }
    let mut text = Vec::new();
    let temp = std::env::temp_dir();
    let nothing =
        poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&SURPRISING)).is_ok_and(|count| count == 0);
    if nothing {
        // Whoever pipes knows; whoever only inherited a pipe would wonder.
        session
            .terminal
            .say("waiting for the end of standard input; with `< /dev/null` the question is asked alone");
    }
    let read = stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut text);
    read.map_err(|e| CliFailure::config(format!("cannot read standard input: {e}")))?;
    if text.len() as u64 > MAX_INPUT {
        return Err(CliFailure::user(
            "more than 16 MiB on standard input",
            "give large files with --context",
        ));
    }
    if text.is_empty() {
        return Ok(None);
    }
    let mut file = tempfile::Builder::new()
        .prefix("stdin-")
        .suffix(".txt")
        .tempfile()
        .map_err(CliFailure::io("make a file in", &temp))?;
    file.write_all(&text).map_err(CliFailure::io("write", file.path()))?;
    Ok(Some(file))
}
