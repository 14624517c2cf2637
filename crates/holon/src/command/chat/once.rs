//! One message, its answer, and an exit code: for scripts, which never wait for a person.

use std::process::ExitCode;

use holon_core::Outcome;
use serde_json::json;

use super::follow::{Followed, follow};
use super::screen::Screen;
use super::signals::Signals;
use super::view::{View, text};
use super::{Mode, Start};
use crate::Done;
use crate::session::Session;
use crate::terminal::{Style, visible};
use crate::threads::{Api, Trouble};

/// What a shell reports for a process ended by Ctrl-C.
const ENDED_BY_INTERRUPT: u8 = 130;

/// Says the message and follows the turn; what waits for a person then goes on waiting in the thread.
pub(super) fn run(api: &Api, start: Start, message: &str, as_json: bool, session: &Session) -> Done {
    let signals = Signals::listen()?;
    let thread = match start.thread {
        Some(id) => api.head(&id)?,
        None => api.create(&start.workspace, start.model.as_deref())?,
    };
    let id = text(&thread["id"]).to_owned();
    let begun = thread["turns_count"].as_u64().unwrap_or(0) > 0;
    let kept = Mode::named(text(&thread["mode"])).filter(|_| begun);
    let mode = start.mode.or(kept).unwrap_or(Mode::Build);
    if as_json {
        return events(api, &id, message, mode, session);
    }
    let mut screen = Screen::new(&session.terminal, false);
    let mut view = View::new(screen.stream(), screen.width(), false);
    let stream = api.say(&id, message, mode.name(), &[])?;
    let followed = follow(api, &id, stream, &mut view, &mut screen, (&signals, &|| {}))?;
    if followed == Followed::Left {
        return screen.lost().map_or(Ok(ExitCode::from(ENDED_BY_INTERRUPT)), Err);
    }
    if let Some(interrupt) = &view.interrupt {
        for question in interrupt["questions"].as_array().into_iter().flatten() {
            screen.styled(Style::Bold, &format!("? {}", visible(text(&question["question"]))));
            for option in question["options"].as_array().into_iter().flatten() {
                screen.line(&format!("  - {}", visible(text(option))));
            }
        }
        for action in interrupt["action_requests"].as_array().into_iter().flatten() {
            let what = format!("? {} {}", text(&action["name"]), text(&action["summary"]));
            screen.styled(Style::Bold, &visible(&what));
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
fn events(api: &Api, id: &str, message: &str, mode: Mode, session: &Session) -> Done {
    let mut view = View::new(session.terminal.stdout, session.terminal.width, false);
    for event in api.say(id, message, mode.name(), &[])? {
        let event = event.map_err(|e| Trouble::gone(&e))?;
        view.pieces(&event);
        let line = json!({"thread": id, "id": event.id, "event": event.name, "data": event.data});
        session.terminal.print(format!("{line}\n"))?;
    }
    Ok(ExitCode::from(outcome(&view).exit_code()))
}

fn outcome(view: &View) -> Outcome {
    match (&view.error, &view.interrupt) {
        (Some(_), _) => Outcome::Failure,
        (None, Some(_)) => Outcome::NeedsHuman,
        (None, None) => Outcome::Success,
    }
}
