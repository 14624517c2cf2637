//! The conversation of a person with a thread, at a terminal.

use std::cell::Cell;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use serde_json::Value;

use super::answer;
use super::follow::{FollowEnd, follow};
use super::line::{Keyboard, LineEditor, LinePrompt, TypedLine};
use super::list;
use super::screen::ChatScreen;
use super::signals::Signals;
use super::slash::{HELP, SlashCommand, WORDS, order};
use super::view::{TurnView, text};
use super::{ChatMode, ChatStart, is_id};
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::Session;
use crate::terminal::{Terminal, TextStyle, visible};
use crate::threads::{ApiTrouble, EventStream, ThreadsApi};

/// Turns that are shown again when a thread is opened.
const SHOWN_AGAIN: usize = 5;
/// What a shell reports for a process ended by Ctrl-C.
const ENDED_BY_INTERRUPT: u8 = 130;

/// What comes of a turn.
type TurnEventStream = EventStream<UnixStream>;

/// A person at a thread.
pub(super) struct ChatConversation<'a> {
    pub(super) api: &'a ThreadsApi,
    pub(super) terminal: &'a Terminal,
    workspace: String,
    model: Option<String>,
    /// None before the first message.
    pub(super) thread: Option<String>,
    mode: Cell<ChatMode>,
    editor: LineEditor,
    keyboard: Keyboard,
    pub(super) screen: ChatScreen,
    signals: Signals,
}

/// Whether it goes on.
enum PromptNext {
    Prompt,
    Leave(u8),
}

/// Talks until the person leaves.
pub(super) fn run(api: &ThreadsApi, start: ChatStart, session: &Session) -> CommandExit {
    let signals = Signals::listen()?;
    let dumb = !session.terminal.live_terminal();
    let keyboard = Keyboard::take(dumb, signals.clone())
        .map_err(|e| CliFailure::config(format!("cannot use this terminal: {e}")))?;
    let mut talk = ChatConversation {
        api,
        terminal: &session.terminal,
        workspace: start.workspace,
        model: start.model,
        thread: None,
        mode: Cell::new(start.mode.unwrap_or(ChatMode::Build)),
        editor: LineEditor::completing(WORDS),
        keyboard,
        screen: ChatScreen::new(&session.terminal, true),
        signals,
    };
    let code = talk.whole(start.thread.as_deref(), start.mode)?;
    if let Some(id) = talk.thread.clone().filter(|_| api.carrier().sample().is_none()) {
        talk.screen.styled(TextStyle::Dim, &format!("go on with: holon chat --thread {id}"));
    }
    Ok(ExitCode::from(code))
}

impl ChatConversation<'_> {
    fn whole(&mut self, thread: Option<&str>, mode: Option<ChatMode>) -> Result<u8, CliFailure> {
        let keys = if self.terminal.live_terminal() { "Shift+Tab" } else { "/mode" };
        let folder = visible(&self.workspace);
        self.screen
            .styled(TextStyle::Dim, &format!("{folder}: {keys} switches plan and build, /help tells more"));
        if self.api.carrier().is_guest() {
            self.screen.styled(TextStyle::Dim, "another Holon carries the threads; its models answer");
        }
        if let Some(id) = thread
            && let PromptNext::Leave(code) = self.enter(id, mode)?
        {
            return Ok(code);
        }
        loop {
            let line = match self.prompt().map_err(lost)? {
                TypedLine::Line(line) => line,
                TypedLine::Interrupt | TypedLine::End => return Ok(0),
            };
            if line.trim().is_empty() {
                continue;
            }
            match self.obey(order(&line)) {
                Ok(PromptNext::Prompt) => {}
                Ok(PromptNext::Leave(code)) => return Ok(code),
                Err(trouble) => self.tell(&trouble),
            }
        }
    }

    fn prompt(&mut self) -> io::Result<TypedLine> {
        let Self { keyboard, editor, mode, terminal, .. } = self;
        let prompt = || {
            let mode = mode.get();
            let plain = format!("{}> ", mode.name());
            let style = if mode == ChatMode::Plan { TextStyle::Cyan } else { TextStyle::Green };
            LinePrompt { shown: terminal.stdout.paint(style, &plain), plain }
        };
        keyboard.line(editor, &prompt, &|| mode.set(mode.get().other()))
    }

    fn obey(&mut self, order: SlashCommand) -> Result<PromptNext, ApiTrouble> {
        match order {
            SlashCommand::Say(message) => return self.say(&message),
            SlashCommand::Quit => return Ok(PromptNext::Leave(0)),
            SlashCommand::Help => self.screen.line(HELP),
            SlashCommand::Wrong(why) => self.screen.line(&visible(&why)),
            SlashCommand::Mode(mode) => {
                self.mode.set(mode.unwrap_or_else(|| self.mode.get().other()));
                self.screen.line(&format!("{} mode", self.mode.get().name()));
            }
            SlashCommand::New => {
                self.thread = None;
                self.screen.line("the next message begins a new thread");
            }
            SlashCommand::Threads(None) => {
                for thread in list::of(self.api, Some(&self.workspace))? {
                    self.screen.line(list::row(&thread, self.terminal).trim_end());
                }
            }
            SlashCommand::Threads(Some(id)) if is_id(&id) => return self.enter(&id, None),
            SlashCommand::Threads(Some(_)) => self.screen.line("that is no thread"),
            SlashCommand::Diff => self.diff()?,
            SlashCommand::Apply { allow_sensitive } => self.apply(allow_sensitive)?,
            SlashCommand::Undo(turn) => self.undo(turn)?,
            SlashCommand::Tools(change) => self.tools(change)?,
        }
        Ok(PromptNext::Prompt)
    }

    fn say(&mut self, message: &str) -> Result<PromptNext, ApiTrouble> {
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
        let mut view = TurnView::new(self.screen.stream(), self.screen.width(), true);
        self.carry_on(&id, events, &mut view)
    }

    /// Follows a turn through all its questions.
    fn carry_on(
        &mut self,
        id: &str,
        events: TurnEventStream,
        view: &mut TurnView,
    ) -> Result<PromptNext, ApiTrouble> {
        let mut events = events;
        loop {
            if self.follow(id, events, view)? == FollowEnd::Left {
                return Ok(PromptNext::Leave(ENDED_BY_INTERRUPT));
            }
            let Some(interrupt) = view.interrupt.take() else {
                self.mention_changes(id);
                return Ok(PromptNext::Prompt);
            };
            match self.answers(id, &interrupt)? {
                Some(more) => events = more,
                None => return Ok(PromptNext::Prompt),
            }
        }
    }

    fn follow(
        &mut self,
        id: &str,
        events: TurnEventStream,
        view: &mut TurnView,
    ) -> Result<FollowEnd, ApiTrouble> {
        let Self { api, keyboard, screen, signals, .. } = self;
        follow(api, id, events, view, screen, (signals, &|| keyboard.again()))
    }

    fn answers(&mut self, id: &str, interrupt: &Value) -> Result<Option<TurnEventStream>, ApiTrouble> {
        let asked = answer::ask(interrupt, &mut self.keyboard, &mut self.screen);
        let Ok(Some(given)) = asked else {
            if !self.signals.must_end() {
                self.api.cancel(id)?;
                self.screen.styled(TextStyle::Dim, "not answered; the turn was stopped");
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
                TextStyle::Dim,
                "changed in the snapshot: /diff shows it, /apply brings it into the folder",
            );
        }
    }

    /// Opens a thread: what was said, what goes on, what waits.
    fn enter(&mut self, id: &str, mode: Option<ChatMode>) -> Result<PromptNext, ApiTrouble> {
        let thread = self.api.thread(id)?;
        self.workspace = text(&thread["workspace"]).to_owned();
        self.thread = Some(id.to_owned());
        let turns = thread["turns"].as_array().cloned().unwrap_or_default();
        if !turns.is_empty() {
            self.mode.set(mode.or(ChatMode::named(text(&thread["mode"]))).unwrap_or(ChatMode::Build));
        }
        for turn in &turns {
            self.editor.remember(text(&turn["message"]));
        }
        let title = visible(thread["title"].as_str().unwrap_or("(no title)"));
        self.screen.styled(TextStyle::Bold, &title);
        let from = turns.len().saturating_sub(SHOWN_AGAIN);
        if from > 0 {
            self.screen.styled(TextStyle::Dim, &format!("… {from} turns before these"));
        }
        let first = turns.get(from).and_then(|turn| turn["first_seq"].as_u64()).unwrap_or(1);
        let mut view = TurnView::new(self.screen.stream(), self.screen.width(), true);
        view.past = true;
        let events = self.api.follow(id, first.saturating_sub(1))?;
        // A thread whose question nobody waits for any more is not asked again.
        if text(&thread["state"]) == "idle" {
            return Ok(if self.follow(id, events, &mut view)? == FollowEnd::Left {
                PromptNext::Leave(ENDED_BY_INTERRUPT)
            } else {
                PromptNext::Prompt
            });
        }
        self.carry_on(id, events, &mut view)
    }

    fn tell(&mut self, trouble: &ApiTrouble) {
        self.screen.styled(TextStyle::Red, &visible(&trouble.message));
        for path in &trouble.paths {
            self.screen.line(&format!("  {}", visible(path)));
        }
        if let Some(hint) = &trouble.hint {
            self.screen.styled(TextStyle::Dim, &visible(hint));
        }
    }
}

fn lost(e: io::Error) -> CliFailure {
    CliFailure::config(format!("the terminal went away: {e}"))
}
