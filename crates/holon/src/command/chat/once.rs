//! One message, its answer, and an exit code: for scripts, which never wait for a person.

use std::process::ExitCode;

use holon_core::RunOutcome;
use serde_json::json;

use super::follow::{FollowEnd, follow};
use super::screen::ChatScreen;
use super::signals::Signals;
use super::view::{TurnView, text};
use super::{ChatMode, ChatStart};
use crate::CommandExit;
use crate::session::Session;
use crate::terminal::{TextStyle, visible};
use crate::threads::{ApiTrouble, ThreadsApi};

/// What a shell reports for a process ended by Ctrl-C.
const ENDED_BY_INTERRUPT: u8 = 130;

/// Says the message and follows the turn; what waits for a person then goes on waiting in the thread.
pub(super) fn run(
    api: &ThreadsApi,
    start: ChatStart,
    message: &str,
    as_json: bool,
    session: &Session,
) -> CommandExit {
    let signals = Signals::listen()?;
    let thread = match start.thread {
        Some(id) => api.head(&id)?,
        None => api.create(&start.workspace, start.model.as_deref())?,
    };
    let id = text(&thread["id"]).to_owned();
    let begun = thread["turns_count"].as_u64().unwrap_or(0) > 0;
    let kept = ChatMode::named(text(&thread["mode"])).filter(|_| begun);
    let mode = start.mode.or(kept).unwrap_or(ChatMode::Build);
    if as_json {
        return events(api, &id, message, mode, session);
    }
    let mut screen = ChatScreen::new(&session.terminal, false);
    let mut view = TurnView::new(screen.stream(), screen.width(), false);
    let stream = api.say(&id, message, mode.name(), &[])?;
    let followed = follow(api, &id, stream, &mut view, &mut screen, (&signals, &|| {}))?;
    if followed == FollowEnd::Left {
        return screen.lost().map_or(Ok(ExitCode::from(ENDED_BY_INTERRUPT)), Err);
    }
    if let Some(interrupt) = &view.interrupt {
        for question in interrupt["questions"].as_array().into_iter().flatten() {
            screen.styled(TextStyle::Bold, &format!("? {}", visible(text(&question["question"]))));
            for option in question["options"].as_array().into_iter().flatten() {
                screen.line(&format!("  - {}", visible(text(option))));
            }
        }
        for action in interrupt["action_requests"].as_array().into_iter().flatten() {
            let what = format!("? {} {}", text(&action["name"]), text(&action["summary"]));
            screen.styled(TextStyle::Bold, &visible(&what));
        }
        if api.carrier().sample().is_none() {
            screen.line(&format!("the agent waits for a person: holon chat --thread {id}"));
        } else {
            screen.line("the agent waits for a person");
        }
    }
    Ok(ExitCode::from(outcome(&view).exit_code()))
}

/// The same, each event as a line of JSON.
fn events(api: &ThreadsApi, id: &str, message: &str, mode: ChatMode, session: &Session) -> CommandExit {
    let mut view = TurnView::new(session.terminal.stdout, session.terminal.width, false);
    for event in api.say(id, message, mode.name(), &[])? {
        let event = event.map_err(|e| ApiTrouble::gone(&e))?;
        view.pieces(&event);
        let line = json!({"thread": id, "id": event.id, "event": event.name, "data": event.data});
        session.terminal.print(format!("{line}\n"))?;
    }
    Ok(ExitCode::from(outcome(&view).exit_code()))
}

fn outcome(view: &TurnView) -> RunOutcome {
    match (&view.error, &view.interrupt) {
        (Some(_), _) => RunOutcome::Failure,
        (None, Some(_)) => RunOutcome::NeedsHuman,
        (None, None) => RunOutcome::Success,
    }
}
