//! `holon run --interactive`: an agent's own screen behind the walls, and what is to become of the changes afterwards.

use std::io::BufRead;
use std::path::Path;
use std::process::ExitCode;

use holon_core::manifest::Manifest;
use holon_core::outcome::RunStatus;
use holon_core::release::ReleaseTarget;
use holon_host::store::RunFolder;
use holon_host::{FinishedRun, RunRequest};

use super::{RunArgs, composite, host, report};
use crate::CommandExit;
use crate::command::runs;
use crate::failure::CliFailure;
use crate::screen::{self, SessionEnd};
use crate::session::Session;
use crate::terminal::TextStyle;

/// How often an answer that is none is asked for again.
const TRIES: usize = 3;

/// Carries a session out.
pub(super) fn run(args: RunArgs, session: &Session) -> CommandExit {
    let (apply, goes_out) = (args.apply, args.publish.is_some());
    for (flag, given) in [("--json", args.json), ("--quiet", args.quiet), ("--publish", goes_out)] {
        if given {
            let message =
                format!("{flag} does not go with --interactive: the terminal shows the agent's screen");
            return Err(CliFailure::user(message, "leave one of them out"));
        }
    }
    if !screen::is_there() {
        return Err(CliFailure::user(
            "an interactive run needs a terminal for its keys and its screen, and there is none here",
            "start it in a terminal, or leave --interactive out and say what is wanted with --goal",
        ));
    }
    composite::refuse_override(&args)?;
    let (flow, _) = composite::asked_for(&args, session)?;
    if let Some(flow) = flow {
        return Err(CliFailure::user(
            format!("mode {} has several steps, which have no screen", flow.name),
            "choose a mode of one step, such as plan or execute",
        ));
    }
    // What becomes of the changes is decided when they are there.
    let request = RunRequest { apply: false, ..RunRequest::from(args) };
    let plan = host(session)?.plan(&request)?;
    let out = plan.out.clone();
    let end = screen::begin(&plan, &session.terminal).map_err(broken)?;
    let finished = match end {
        SessionEnd::Finished(folder) => FinishedRun { out, ..finished(&folder)? },
        other => return left(other, session),
    };
    conclude(&finished, apply, session)
}

/// Comes back to a session.
pub(crate) fn attach(folder: &RunFolder, session: &Session) -> CommandExit {
    let id = folder.record()?.id;
    if !screen::is_there() {
        let hint = "come back in a terminal";
        return Err(CliFailure::user("a session is shown in a terminal, and there is none here", hint));
    }
    let end = screen::come_back(folder.path(), &session.terminal).map_err(|_| {
        let record = folder.record().ok();
        let over = record.is_none_or(|record| record.finished);
        let (what, hint) = match over {
            true => ("is over", format!("holon runs show {id}")),
            false => ("shows no screen now", format!("`holon runs show {id} --events` says what it does")),
        };
        CliFailure::user(format!("run {id} {what}"), hint)
    })?;
    match end {
        SessionEnd::Finished(folder) => conclude(&finished(&folder)?, false, session),
        other => left(other, session),
    }
}

fn broken(error: std::io::Error) -> CliFailure {
    CliFailure::config(format!("the session could not be carried: {error}"))
        .hint("`holon runs list` says what became of the run")
}

fn finished(folder: &Path) -> Result<FinishedRun, CliFailure> {
    let manifest = RunFolder::open(folder.to_owned()).read_manifest()?;
    let gone = || CliFailure::config(format!("the manifest in {} is gone", folder.display()));
    Ok(FinishedRun {
        manifest: manifest.ok_or_else(gone)?,
        folder: folder.to_owned(),
        out: None,
        applied: None,
    })
}

/// Every end that leaves nothing to decide.
fn left(end: SessionEnd, session: &Session) -> CommandExit {
    let terminal = &session.terminal;
    let id = |folder: Option<&Path>| {
        let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| "last".into())
    };
    match end {
        SessionEnd::Detached(folder) => {
            let id = id(folder.as_deref());
            terminal.say(&format!("the session goes on without you; come back with: holon runs attach {id}"));
            Ok(ExitCode::SUCCESS)
        }
        SessionEnd::Replaced => {
            terminal.say("the session goes on at another terminal");
            Ok(ExitCode::SUCCESS)
        }
        SessionEnd::NotStarted { message, hint, usage } => Err(match (usage, hint) {
            (true, hint) => CliFailure::user(message, hint.unwrap_or_default()),
            (false, Some(hint)) => CliFailure::config(message).hint(hint),
            (false, None) => CliFailure::config(message),
        }),
        SessionEnd::Lost(folder) => {
            Err(CliFailure::config("the process that carried the run was killed, and the agent with it")
                .hint(format!(
                    "nothing was applied; what it left: holon runs show {}",
                    id(folder.as_deref())
                )))
        }
        SessionEnd::Insisted(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(1))),
        SessionEnd::Finished(_) => Ok(ExitCode::SUCCESS),
    }
}

/// Says what came of it, and asks what is to become of the changes.
fn conclude(finished: &FinishedRun, apply: bool, session: &Session) -> CommandExit {
    report(finished, false, session)?;
    let manifest = &finished.manifest;
    let code = ExitCode::from(manifest.exit_code);
    // Whoever wanted the end of it wants no question either.
    if !changed(manifest) || manifest.status == RunStatus::Cancelled {
        return Ok(code);
    }
    let folder = RunFolder::open(finished.folder.clone());
    let decision = holon_host::release::decision(&folder, ReleaseTarget::Apply)?;
    let id = manifest.run_id.as_str();
    if !decision.is_released() {
        session.terminal.say(&format!("the changes are kept and not applied: {}", decision.message()));
        return Ok(code);
    }
    let wish = if apply { ChangesWish::Apply } else { ask(session) };
    match wish {
        ChangesWish::Apply => {
            let applied = runs::apply_folder(&folder, session)?;
            Ok(if applied == ExitCode::SUCCESS { code } else { applied })
        }
        ChangesWish::Keep => {
            session.terminal.say(&format!("kept; bring them in with: holon runs apply {id}"));
            Ok(code)
        }
        ChangesWish::Drop => {
            session.store(Some(&folder.record()?.workspace))?.remove(&folder)?;
            session.terminal.say(&format!("dropped; run {id} and its changes are gone"));
            Ok(code)
        }
    }
}

/// Whether there are changes to decide about.
fn changed(manifest: &Manifest) -> bool {
    !manifest.no_changes && manifest.metadata.changes.files > 0
}

/// What is to become of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangesWish {
    Apply,
    Keep,
    Drop,
}

impl ChangesWish {
    fn of(answer: &str) -> Option<Self> {
        match answer.trim().to_lowercase().as_str() {
            "a" | "apply" => Some(Self::Apply),
            "" | "k" | "keep" => Some(Self::Keep),
            "d" | "drop" => Some(Self::Drop),
            _ => None,
        }
    }
}

/// Asks at the terminal; whoever says nothing keeps them.
fn ask(session: &Session) -> ChangesWish {
    let terminal = &session.terminal;
    for _ in 0..TRIES {
        let question = "What shall become of the changes? (a)pply, (k)eep, (d)rop [keep]";
        terminal.say(&terminal.stderr.paint(TextStyle::Bold, question));
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return ChangesWish::Keep,
            Ok(_) => {}
        }
        if let Some(wish) = ChangesWish::of(&line) {
            return wish;
        }
    }
    ChangesWish::Keep
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_keeps_and_nothing_else_is_guessed() {
        for (answer, wish) in [
            ("a\n", Some(ChangesWish::Apply)),
            ("APPLY\n", Some(ChangesWish::Apply)),
            ("\n", Some(ChangesWish::Keep)),
            ("keep", Some(ChangesWish::Keep)),
            (" d ", Some(ChangesWish::Drop)),
            ("y", None),
            ("applz", None),
            ("\u{1b}[A", None),
        ] {
            assert_eq!(ChangesWish::of(answer), wish, "{answer:?}");
        }
    }
}
