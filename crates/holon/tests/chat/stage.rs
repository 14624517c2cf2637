//! A terminal with `holon chat` on it, and the model it asks.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use holon_model::Cassette;
use holon_testkit::model::{ModelServer, Scripted};
use holon_testkit::{Invocation, Output, Running, TestEnv, Workspace};

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");
/// In the shape of a real key, and nobody's.
const KEY: &str = "sk-or-v1-c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

/// An answer that does not come to its end by itself. Its words are many, because the last ones of a text are held back
/// as long as they could be the beginning of a secret.
pub(crate) const SLOWLY: &str = "
- reply:
    - text: >-
        The beginning of a long answer that goes on and on, and says next to nothing, and is not over when one thinks
        that it must be, since there is always one more thing that could be said about whatever it was about.
    - delay: 50s
    - text: never
";

/// A repository, and a model that answers from a script.
pub(crate) struct Stage {
    pub(crate) env: TestEnv,
    pub(crate) repo: Workspace,
    model: ModelServer,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub(crate) fn new(cassette: &str) -> Self {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        let cassette: Cassette = cassette.parse().unwrap_or_else(|error| panic!("{error}"));
        let turns: Mutex<VecDeque<_>> = Mutex::new(cassette.turns.into());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&asked);
        let model = ModelServer::improvise(move |_, seen| {
            let body = seen.body.to_string();
            if body.contains("Give this conversation a title") {
                let title: Cassette = "- text: A fine title\n".parse().unwrap();
                return Scripted::from(title.turns[0].clone());
            }
            heard.lock().unwrap().push(body);
            match turns.lock().unwrap().pop_front() {
                Some(turn) => Scripted::from(turn),
                // Not one that is tried again.
                None => Scripted::json(400, "{}"),
            }
        });
        Self { env, repo, model, asked }
    }

    /// What the model was asked, request by request.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn with_model(&self, call: Invocation) -> Invocation {
        // A model that is known to make calls by itself: words of others are held back, as they may be calls.
        let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_MODEL", "anthropic/claude-sonnet-5.5");
        let call = call.env("HOLON_BASE_URL", self.model.base()).env("OPENROUTER_API_KEY", KEY);
        call.cwd(self.repo.path())
    }

    /// `holon` without a terminal.
    pub(crate) fn holon(&self, args: &[&str]) -> Invocation {
        self.with_model(self.env.holon(args))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.holon(args).run()
    }

    /// `holon chat` on a terminal.
    pub(crate) fn talk(&self, args: &str) -> Terminal {
        self.talk_in(args, &[("TERM", "xterm-256color")])
    }

    /// The same with these variables.
    pub(crate) fn talk_in(&self, args: &str, variables: &[(&str, &str)]) -> Terminal {
        let number = std::fs::read_dir(self.env.work()).unwrap().count();
        let keys = self.env.work().join(format!("keyboard-{number}"));
        self.env.program("mkfifo").arg(&keys).run().assert_code(0);
        // Open for both, so that neither end waits for the other.
        let keyboard = OpenOptions::new().read(true).write(true).open(&keys).unwrap();
        let quoted = |path: &Path| format!("'{}'", path.display());
        let line = format!("exec {} chat {args}", quoted(self.env.binary()));
        let call = self.env.program("script").args(["-q", "-e", "-f", "-c", &line, "/dev/null"]);
        let call = self.with_model(call).stdin_from(&keys).env("SHELL", "/bin/sh");
        let call = variables.iter().fold(call, |call, (name, value)| call.env(name, value));
        Terminal { running: Some(call.spawn()), keyboard, seen: 0 }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.repo.path().join(name)).unwrap()
    }
}

/// A terminal that shows what `holon` says, and a keyboard.
pub(crate) struct Terminal {
    running: Option<Running>,
    keyboard: File,
    /// How much of the text has been waited for.
    seen: usize,
}

impl Terminal {
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is shown, after whatever was waited for before.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) {
        let from = self.seen;
        let running = self.running.as_mut().unwrap();
        let find = |running: &Running| {
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

    /// The process of `holon` itself.
    pub(crate) fn pid(&self) -> i32 {
        let script = self.running.as_ref().unwrap().pid();
        let children = std::fs::read_to_string(format!("/proc/{script}/task/{script}/children")).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn ends(mut self) -> Output {
        self.running.take().unwrap().wait()
    }
}
