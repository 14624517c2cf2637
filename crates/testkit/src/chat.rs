//! A repository and a model that answers from a script: what tests of chats in terminals and editors begin with.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use holon_model::Cassette;

use crate::model::{ModelServer, ScriptedResponse};
use crate::{Invocation, TestEnv, TestWorkspace};

/// In the shape of a real key, and nobody's.
const KEY: &str = "sk-or-v1-c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

/// An answer that does not come to its end by itself. Its words are many, because the last ones of a text are held back
/// as long as they could be the beginning of a secret.
pub const SLOWLY: &str = "
- reply:
    - text: >-
        The beginning of a long answer that goes on and on, and says next to nothing, and is not over when one thinks
        that it must be, since there is always one more thing that could be said about whatever it was about.
    - delay: 50s
    - text: never
";

/// A repository with one committed file, `a.txt`, and a model.
pub struct ChatStage {
    /// Where everything happens.
    pub env: TestEnv,
    /// The repository.
    pub repo: TestWorkspace,
    model: ModelServer,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ChatStage {
    /// A model that answers from this cassette, turn by turn; titles are made without it.
    pub fn new(binary: impl AsRef<Path>, cassette: &str) -> Self {
        let env = TestEnv::new(binary);
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        let cassette: Cassette = cassette.parse().unwrap_or_else(|error| panic!("{error}"));
        let turns: Mutex<VecDeque<_>> = Mutex::new(cassette.turns.into());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&asked);
        let model = ModelServer::improvise(move |_, seen| {
            let body = seen.body.to_string();
            if body.contains("Give this conversation a title") {
                let title: Cassette = "- text: A fine title\n".parse().unwrap();
                return ScriptedResponse::from(title.turns[0].clone());
            }
            heard.lock().unwrap().push(body);
            match turns.lock().unwrap().pop_front() {
                Some(turn) => ScriptedResponse::from(turn),
                // Not one that is tried again.
                None => ScriptedResponse::json(400, "{}"),
            }
        });
        Self { env, repo, model, asked }
    }

    /// What the model was asked, request by request.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The text of a file of the repository.
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.repo.path().join(name)).unwrap()
    }

    /// A call in the repository that finds the model.
    pub fn with_model(&self, call: Invocation) -> Invocation {
        // A model that is known to make calls by itself: words of others are held back, as they may be calls.
        let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_MODEL", "anthropic/claude-sonnet-5.5");
        let call = call.env("HOLON_BASE_URL", self.model.base()).env("OPENROUTER_API_KEY", KEY);
        call.cwd(self.repo.path())
    }

    /// A pipe with a name of its own in the file system.
    pub fn fifo(&self, name: &str) -> std::path::PathBuf {
        let number = std::fs::read_dir(self.env.work()).unwrap().count();
        let path = self.env.work().join(format!("{name}-{number}"));
        self.env.program("mkfifo").arg(&path).run().assert_code(0);
        path
    }
}
