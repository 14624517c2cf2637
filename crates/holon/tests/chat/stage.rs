//! A terminal with `holon chat` on it, and the model it asks.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

pub(crate) use holon_testkit::SLOWLY;
use holon_testkit::{ChatStage, CommandEnd, Invocation, RunningCommand};

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// A repository and a model, with terminals in front of them.
pub(crate) struct TerminalChatStage(ChatStage);

impl std::ops::Deref for TerminalChatStage {
    type Target = ChatStage;

    fn deref(&self) -> &ChatStage {
        &self.0
    }
}

impl TerminalChatStage {
    pub(crate) fn new(cassette: &str) -> Self {
        Self(ChatStage::new(BIN, cassette))
    }

    /// `holon` without a terminal.
    pub(crate) fn holon(&self, args: &[&str]) -> Invocation {
        self.with_model(self.env.holon(args))
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandEnd {
        self.holon(args).run()
    }

    /// `holon chat` on a terminal.
    pub(crate) fn talk(&self, args: &str) -> TestTerminal {
        self.talk_in(args, &[("TERM", "xterm-256color")])
    }

    /// The same with these variables.
    pub(crate) fn talk_in(&self, args: &str, variables: &[(&str, &str)]) -> TestTerminal {
        self.terminal(&format!("exec HOLON chat {args}"), variables)
    }

    /// What a shell does with a terminal; `HOLON` is the program under test.
    pub(crate) fn talk_through(&self, line: &str) -> TestTerminal {
        self.terminal(line, &[("TERM", "xterm-256color"), ("NO_COLOR", "1")])
    }

    fn terminal(&self, line: &str, variables: &[(&str, &str)]) -> TestTerminal {
        let keys = self.fifo("keyboard");
        // Open for both, so that neither end waits for the other.
        let keyboard = OpenOptions::new().read(true).write(true).open(&keys).unwrap();
        let quoted = |path: &Path| format!("'{}'", path.display());
        let line = line.replace("HOLON", &quoted(self.env.binary()));
        let call = self.env.program("script").args(["-q", "-e", "-f", "-c", &line, "/dev/null"]);
        let call = self.with_model(call).stdin_from(&keys).env("SHELL", "/bin/sh");
        let call = variables.iter().fold(call, |call, (name, value)| call.env(name, value));
        TestTerminal { running: Some(call.spawn()), keyboard, seen: 0 }
    }
}

/// A terminal that shows what `holon` says, and a keyboard.
pub(crate) struct TestTerminal {
    running: Option<RunningCommand>,
    keyboard: File,
    /// How much of the text has been waited for.
    seen: usize,
}

impl TestTerminal {
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is shown, after whatever was waited for before.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) {
        let from = self.seen;
        let running = self.running.as_mut().unwrap();
        let find = |running: &RunningCommand| {
            let all = running.stdout_so_far();
            all.get(from..).and_then(|rest| rest.find(text)).map(|at| from + at + text.len())
        };
        let mut found = None;
        holon_testkit::wait_until(std::time::Duration::from_secs(60), || {
            let ended = running.has_ended();
            found = find(running);
            found.is_some() || ended
        });
        match found {
            Some(end) => self.seen = end,
            None => {
                panic!("{text:?} is not shown after {from} in\n{}", running.stdout_so_far().escape_debug())
            }
        }
    }

    /// Types a line once the prompt is there.
    #[track_caller]
    pub(crate) fn says(&mut self, prompt: &str, line: &str) {
        self.shows(prompt);
        self.press(&format!("{line}\r"));
    }

    pub(crate) fn text(&self) -> String {
        self.running.as_ref().unwrap().stdout_so_far()
    }

    /// The process on the terminal: `holon` itself, or the shell it was started by.
    pub(crate) fn pid(&self) -> i32 {
        child_of(self.running.as_ref().unwrap().pid())
    }

    /// The process that the shell on the terminal has started.
    pub(crate) fn below(&self) -> i32 {
        child_of(self.pid())
    }

    pub(crate) fn ends(mut self) -> CommandEnd {
        self.running.take().unwrap().wait()
    }
}

fn child_of(process: impl std::fmt::Display) -> i32 {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    children.split_whitespace().next().unwrap().parse().unwrap()
}
