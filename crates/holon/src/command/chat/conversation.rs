//! The conversation of a person with a thread, at a terminal.

use std::cell::Cell;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use serde_json::Value;

use super::answer;
use super::follow::{Followed, follow};
use super::line::{Editor, Keyboard, Prompt, Typed};
use super::list;
use super::screen::Screen;
use super::signals::Signals;
use super::slash::{HELP, Order, WORDS, order};
use super::view::{View, text};
use super::{Mode, Start, is_id};
use crate::Done;
use crate::failure::Failure;
use crate::session::Session;
use crate::terminal::{Style, Terminal, visible};
use crate::threads::{Api, Events, Trouble};

/// Turns that are shown again when a thread is opened.
const SHOWN_AGAIN: usize = 5;
/// What a shell reports for a process ended by Ctrl-C.
const ENDED_BY_INTERRUPT: u8 = 130;

/// What comes of a turn.
type Stream = Events<UnixStream>;

/// A person at a thread.
pub(super) struct Talk<'a> {
    pub(super) api: &'a Api,
    pub(super) terminal: &'a Terminal,
    workspace: String,
    model: Option<String>,
    /// None before the first message.
    pub(super) thread: Option<String>,
    mode: Cell<Mode>,
    editor: Editor,
    keyboard: Keyboard,
    pub(super) screen: Screen,
    signals: Signals,
}

/// Whether it goes on.
enum Next {
    Prompt,
    Leave(u8),
}

/// Talks until the person leaves.
pub(super) fn run(api: &Api, start: Start, session: &Session) -> Done {
    let signals = Signals::listen()?;
    let dumb = !session.terminal.live_terminal();
    let keyboard = Keyboard::take(dumb, signals.clone())
        .map_err(|e| Failure::config(format!("cannot use this terminal: {e}")))?;
    let mut talk = Talk {
        api,
        terminal: &session.terminal,
        workspace: start.workspace,
        model: start.model,
        thread: None,
        mode: Cell::new(start.mode.unwrap_or(Mode::Build)),
        editor: Editor::completing(WORDS),
        keyboard,
        screen: Screen::new(&session.terminal, true),
        signals,
    };
    let code = talk.whole(start.thread.as_deref(), start.mode)?;
    if let Some(id) = talk.thread.clone().filter(|_| api.carrier().sample().is_none()) {
        talk.screen.styled(Style::Dim, &format!("go on with: holon chat --thread {id}"));
    }
    Ok(ExitCode::from(code))
}

impl Talk<'_> {
    fn whole(&mut self, thread: Option<&str>, mode: Option<Mode>) -> Result<u8, Failure> {
        let keys = if self.terminal.live_terminal() { "Shift+Tab" } else { "/mode" };
        let folder = visible(&self.workspace);
        self.screen
            .styled(Style::Dim, &format!("{folder}: {keys} switches plan and build, /help tells more"));
        if self.api.carrier().is_guest() {
            self.screen.styled(Style::Dim, "another Holon carries the threads; its models answer");
        }
        if let Some(id) = thread
            && let Next::Leave(code) = self.enter(id, mode)?
        {
            return Ok(code);
        }
        loop {
            let line = match self.prompt().map_err(lost)? {
                Typed::Line(line) => line,
                Typed::Interrupt | Typed::End => return Ok(0),
            };
            if line.trim().is_empty() {
                continue;
            }
            match self.obey(order(&line)) {
                Ok(Next::Prompt) => {}
                Ok(Next::Leave(code)) => return Ok(code),
                Err(trouble) => self.tell(&trouble),
            }
        }
    }

    fn prompt(&mut self) -> io::Result<Typed> {
        let Self { keyboard, editor, mode, terminal, .. } = self;
        let prompt = || {
            let mode = mode.get();
            let plain = format!("{}> ", mode.name());
            let style = if mode == Mode::Plan { Style::Cyan } else { Style::Green };
            Prompt { shown: terminal.stdout.paint(style, &plain), plain }
        };
        keyboard.line(editor, &prompt, &|| mode.set(mode.get().other()))
    }

    fn obey(&mut self, order: Order) -> Result<Next, Trouble> {
        match order {
            Order::Say(message) => return self.say(&message),
            Order::Quit => return Ok(Next::Leave(0)),
            Order::Help => self.screen.line(HELP),
            Order::Wrong(why) => self.screen.line(&visible(&why)),
            Order::Mode(mode) => {
                self.mode.set(mode.unwrap_or_else(|| self.mode.get().other()));
                self.screen.line(&format!("{} mode", self.mode.get().name()));
            }
            Order::New => {
                self.thread = None;
                self.screen.line("the next message begins a new thread");
            }
            Order::Threads(None) => {
                for thread in list::of(self.api, Some(&self.workspace))? {
                    self.screen.line(list::row(&thread, self.terminal).trim_end());
                }
            }
            Order::Threads(Some(id)) if is_id(&id) => return self.enter(&id, None),
            Order::Threads(Some(_)) => self.screen.line("that is no thread"),
            Order::Diff => self.diff()?,
            Order::Apply { allow_sensitive } => self.apply(allow_sensitive)?,
            Order::Undo(turn) => self.undo(turn)?,
            Order::Tools(change) => self.tools(change)?,
        }
        Ok(Next::Prompt)
    }

    fn say(&mut self, message: &str) -> Result<Next, Trouble> {
        let id = match &self.thread {
            Some(id) => id.clone(),
            None => {
                let made = self.api.create(&self.workspace, self.model.as_deref())?;
                let id = text(&made["id"]).to_owned();
                self.thread = Some(id.clone());
                id
            }
        };
        let events = self.api.say(&id, message, self.mode.get().name(), &[])?;
        let mut view = View::new(self.screen.stream(), self.screen.width(), true);
        self.carry_on(&id, events, &mut view)
    }

    /// Follows a turn through all its questions.
    fn carry_on(&mut self, id: &str, events: Stream, view: &mut View) -> Result<Next, Trouble> {
        let mut events = events;
        loop {
            if self.follow(id, events, view)? == Followed::Left {
                return Ok(Next::Leave(ENDED_BY_INTERRUPT));
            }
            let Some(interrupt) = view.interrupt.take() else {
                self.mention_changes(id);
                return Ok(Next::Prompt);
            };
            match self.answers(id, &interrupt)? {
                Some(more) => events = more,
                None => return Ok(Next::Prompt),
            }
        }
    }

    fn follow(&mut self, id: &str, events: Stream, view: &mut View) -> Result<Followed, Trouble> {
        let Self { api, keyboard, screen, signals, .. } = self;
        follow(api, id, events, view, screen, (signals, &|| keyboard.again()))
    }

    fn answers(&mut self, id: &str, interrupt: &Value) -> Result<Option<Stream>, Trouble> {
        let asked = answer::ask(interrupt, &mut self.keyboard, &mut self.screen);
        let Ok(Some(given)) = asked else {
            if !self.signals.must_end() {
                self.api.cancel(id)?;
                self.screen.styled(Style::Dim, "not answered; the turn was stopped");
            }
            return Ok(None);
        };
        self.api.resume(id, text(&interrupt["id"]), &given.answers, &given.decisions).map(Some)
    }

    /// A turn that changed something says where that is.
    fn mention_changes(&mut self, id: &str) {
        let Ok(last) = self.api.last_turn(id) else { return };
        if last["changed"] == true && last["applied"] != true {
            self.screen.styled(
                Style::Dim,
                "changed in the snapshot: /diff shows it, /apply brings it into the folder",
            );
        }
    }

    /// Opens a thread: what was said, what goes on, what waits.
    fn enter(&mut self, id: &str, mode: Option<Mode>) -> Result<Next, Trouble> {
        let thread = self.api.thread(id)?;
        self.workspace = text(&thread["workspace"]).to_owned();
        self.thread = Some(id.to_owned());
        let turns = thread["turns"].as_array().cloned().unwrap_or_default();
        if !turns.is_empty() {
            self.mode.set(mode.or(Mode::named(text(&thread["mode"]))).unwrap_or(Mode::Build));
        }
        for turn in &turns {
            self.editor.remember(text(&turn["message"]));
        }
        let title = visible(thread["title"].as_str().unwrap_or("(no title)"));
        self.screen.styled(Style::Bold, &title);
        let from = turns.len().saturating_sub(SHOWN_AGAIN);
        if from > 0 {
            self.screen.styled(Style::Dim, &format!("… {from} turns before these"));
        }
        let first = turns.get(from).and_then(|turn| turn["first_seq"].as_u64()).unwrap_or(1);
        let mut view = View::new(self.screen.stream(), self.screen.width(), true);
        view.past = true;
        let events = self.api.follow(id, first.saturating_sub(1))?;
        // A thread whose question nobody waits for any more is not asked again.
        if text(&thread["state"]) == "idle" {
            return Ok(if self.follow(id, events, &mut view)? == Followed::Left {
                Next::Leave(ENDED_BY_INTERRUPT)
            } else {
                Next::Prompt
            });
        }
        self.carry_on(id, events, &mut view)
    }

    fn tell(&mut self, trouble: &Trouble) {
        self.screen.styled(Style::Red, &visible(&trouble.message));
        for path in &trouble.paths {
            self.screen.line(&format!("  {}", visible(path)));
        }
        if let Some(hint) = &trouble.hint {
            self.screen.styled(Style::Dim, &visible(hint));
        }
    }
}

fn lost(e: io::Error) -> Failure {
    Failure::config(format!("the terminal went away: {e}"))
}
