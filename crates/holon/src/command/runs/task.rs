//! `holon runs task`: a person's word about one task of an orchestration, while the others go on.

use std::process::ExitCode;

use holon_flow::orchestrate::{TaskAnswer, TaskMessage, TaskWord, tell_task};

use super::RunsWorkspaceArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;

/// Stop, skip, begin again or steer one task of an orchestration
///
/// The other tasks go on meanwhile. What a task has done and joined stays. When the orchestration is not going on, a word is
/// kept, and taken as soon as somebody goes on with it (`holon run --resume`).
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  holon runs task last/docs say \"Leave the API page alone\"   its agent hears it and goes on\n  holon runs task last/docs stop                            it has failed; whoever plans thinks again\n  holon runs task last/docs skip \"We do not need it\"         the others go on without it\n  holon runs task last/docs retry                           its run ends and it begins again\n\n`holon runs show last` names the tasks."
)]
pub(crate) struct TaskArgs {
    /// The task: the orchestration's id, the beginning or end of it, or `last`, then `/` and the name of the task
    #[arg(value_name = "RUN/TASK")]
    task: String,
    /// What is to be done
    #[arg(value_name = "WORD")]
    word: WordName,
    /// What is to be said, or why
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    #[command(flatten)]
    whose: RunsWorkspaceArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum WordName {
    /// Its run ends and it has failed; whoever plans is told, and plans the rest again
    Stop,
    /// It is left out, and with it what waits for it; the others go on
    Skip,
    /// Its run ends, and it begins again
    Retry,
    /// Its agent is told TEXT: a run that is under way is interrupted and goes on with it
    Say,
}

pub(crate) fn run(args: &TaskArgs, session: &Session) -> CommandExit {
    let Some((run, task)) =
        args.task.rsplit_once('/').filter(|(run, task)| !run.is_empty() && !task.is_empty())
    else {
        return Err(CliFailure::user(
            format!("`{}` names no task", args.task),
            "name it as RUN/TASK, as `last/docs`; `holon runs show last` names the tasks",
        ));
    };
    let text = args.text.clone().filter(|text| !text.trim().is_empty());
    let word = match (args.word, text) {
        (WordName::Stop, reason) => TaskWord::Stop { reason },
        (WordName::Skip, reason) => TaskWord::Skip { reason },
        (WordName::Retry, None) => TaskWord::Retry,
        (WordName::Retry, Some(_)) => {
            return Err(CliFailure::user("`retry` takes no text", "tell its agent with `say`"));
        }
        (WordName::Say, Some(text)) => TaskWord::Say { text },
        (WordName::Say, None) => {
            return Err(CliFailure::user(
                "there is nothing to say",
                "put what its agent is to know behind it, in quotes",
            ));
        }
    };
    let store = session.store(args.whose.workspace.as_deref())?;
    let folder = super::find(&store, run)?;
    let person = format!("uid {}", rustix::process::getuid().as_raw());
    let message = TaskMessage { task: task.to_owned(), word, person };
    match tell_task(&folder, &message)? {
        TaskAnswer::Taken { says } => session.terminal.print(format!("{task}: {says}\n"))?,
        TaskAnswer::Refused { problem } => {
            return Err(CliFailure::config(format!("`{task}` stays as it is: {problem}"))
                .hint(format!("`holon runs show {run}` says how far each task is")));
        }
        TaskAnswer::Kept { says } => session.terminal.print(format!(
            "{task}: kept, because the run is not going on; once it is (`holon run --resume {}`): {says}\n",
            folder.record()?.id
        ))?,
        TaskAnswer::Left => session.terminal.print(format!(
            "{task}: left for it; it is heard as soon as the step that is under way is over\n"
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}
