//! A server under test, with a workspace and something that answers.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use holon_testkit::{RunningCommand, TestEnv, TestWorkspace};
use serde_json::{Value, json};

use crate::http::{self, TestHttpResponse, TestSseEvent};

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");

pub(crate) struct ServeStage {
    pub(crate) env: TestEnv,
    pub(crate) repo: TestWorkspace,
    pub(crate) server: Option<RunningCommand>,
    pub(crate) port: u16,
    /// What is started instead of the program under test.
    pub(crate) program: Option<PathBuf>,
    args: Vec<String>,
    variables: Vec<(String, String)>,
}

impl ServeStage {
    /// A server that answers from a cassette.
    pub(crate) fn playing(cassette: &str) -> Self {
        Self::new().play(cassette)
    }

    /// A server that answers from a cassette and leaves the agent alone.
    pub(crate) fn unsupervised(cassette: &str) -> Self {
        let stage = Self::new();
        stage.env.write(stage.env.config().join("holon/config.toml"), "[supervisor]\nlevel = 'off'\n");
        stage.play(cassette)
    }

    /// Describes an agent of the user's own, `scripted`: it plans in mode plan, and else does `work`.
    pub(crate) fn scripted(&self, work: &str) {
        let sections = "# Goal\\\\nx\\\\n# Context\\\\nx\\\\n# Steps\\\\nx\\\\n# Risks\\\\nx\\\\n# Verification\\\\nx\\\\n";
        let text = format!(
            "name = \"scripted\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"-c\", \"\"\"\
             case $HOLON_MODE in plan) printf '{sections}' > /holon/output/plan.md;; *) {work};; esac\"\"\"]\n"
        );
        self.env.write(self.env.config().join("holon/agents/scripted.toml"), text);
    }

    /// Starts a server that answers from a cassette.
    pub(crate) fn play(self, cassette: &str) -> Self {
        let tape: PathBuf = self.env.write("work/chat.yaml", cassette);
        self.with(&["--replay", tape.to_str().unwrap()], &[])
    }

    /// A file of tokens as its owner has to keep it.
    pub(crate) fn tokens(&self, lines: &str) -> PathBuf {
        let path = self.env.write("work/tokens", lines);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path
    }

    /// An environment without a server.
    pub(crate) fn new() -> Self {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "one\n").file("src/b.txt", "two\n").commit("first");
        Self { env, repo, server: None, port: 0, program: None, args: Vec::new(), variables: Vec::new() }
    }

    /// Starts the server with these arguments and variables.
    pub(crate) fn with(mut self, args: &[&str], variables: &[(&str, &str)]) -> Self {
        self.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        self.variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        self.start();
        self
    }

    pub(crate) fn start(&mut self) {
        let root = self.repo.path().to_str().unwrap().to_owned();
        let program = self.program.as_deref().unwrap_or(self.env.binary());
        let listen = ["serve", "--listen", "127.0.0.1:0", "--root", &root];
        let mut call = self.env.program(program).args(listen).args(&self.args);
        for (name, value) in &self.variables {
            call = call.env(name, value);
        }
        let mut running = call.spawn();
        running.wait_for_text("holon is at ");
        self.port = http::learn(&running.stdout_so_far());
        self.server = Some(running);
    }

    /// Kills the server without a word.
    pub(crate) fn kill(&mut self) {
        drop(self.server.take().unwrap().kill());
    }

    pub(crate) fn get(&self, path: &str) -> TestHttpResponse {
        http::send(self.port, "GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> TestHttpResponse {
        let headers = [("content-type", "application/json")];
        http::send(self.port, "POST", path, &headers, body.to_string().as_bytes())
    }

    /// A new thread about the repository.
    pub(crate) fn thread(&self) -> String {
        let answer = self.post("/api/threads", json!({"workspace": self.repo.path()}));
        assert_eq!(answer.status, 201);
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Says something and hears everything that comes of it.
    pub(crate) fn say(&self, thread: &str, message: &str, mode: &str) -> Vec<TestSseEvent> {
        let body = json!({"message": message, "mode": mode});
        checked(self.post(&format!("/api/chat/{thread}"), body).events())
    }

    pub(crate) fn events(&self, thread: &str, after: u64) -> Vec<TestSseEvent> {
        checked(self.get(&format!("/api/chat/{thread}/events?after={after}")).events())
    }

    pub(crate) fn show(&self, thread: &str) -> Value {
        self.get(&format!("/api/threads/{thread}")).json()
    }
}

/// What is true of every stream: numbers without gaps, and one `done` at the end.
pub(crate) fn checked(events: Vec<TestSseEvent>) -> Vec<TestSseEvent> {
    let done = events.iter().filter(|event| event.name == "done").count();
    assert!(done == 1 && events.last().unwrap().name == "done", "{events:#?}");
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
    assert_eq!(ids.len(), events.len() - 1, "only `done` has no number");
    events
}
