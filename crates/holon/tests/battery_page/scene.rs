//! A server to look at: a repository with a check, a model that knows what the tests will say, a run that waits.

use std::time::Duration;

use holon_testkit::model::ModelServer;
use holon_testkit::wait_until;
use serde_json::{Value, json};

use crate::stage::ServeStage;
use crate::wire::CuttableWire;
use crate::words;

pub(crate) struct PageScene {
    pub(crate) stage: ServeStage,
    wire: CuttableWire,
    _model: ModelServer,
}

const MAKEFILE: &str = "test:\n\t@sh test.sh\n\nbroken:\n\t@echo 'cannot find -lgreeting' >&2; exit 1\n";

impl PageScene {
    pub(crate) fn new() -> Self {
        let model = ModelServer::improvise(|_, seen| words::answer(&seen.body));
        let stage = ServeStage::new();
        let repo = stage.repo.path().to_owned();
        for (name, text) in [
            ("greet.sh", "greet() {\n    echo \"hello $1\"\n}\n"),
            ("test.sh", ". ./greet.sh\ngreet world | grep -qi hello && echo 1 passed\n"),
            ("Makefile", MAKEFILE),
        ] {
            stage.env.write(repo.join(name), text);
        }
        stage.env.write(stage.env.config().join("holon/agents/scripted.toml"), agent());
        let base = model.base();
        // A model that is known to call tools.
        let variables = [
            ("HOLON_PROVIDER", "openrouter"),
            ("HOLON_BASE_URL", base.as_str()),
            ("OPENROUTER_API_KEY", "test-key-0123456789"),
            ("HOLON_MODEL", "anthropic/claude-sonnet-5.5"),
            ("HOLON_RETRIES", "0"),
        ];
        let wire = CuttableWire::new();
        let stage = stage.with(&["--allow-host", &wire.name()], &variables);
        wire.lead_to(stage.port);
        Self { stage, wire, _model: model }
    }

    /// Where browsers find it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.wire.name())
    }

    /// What the server asks of browsers.
    pub(crate) fn token(&self) -> String {
        crate::http::token(self.stage.port).expect("a token")
    }

    /// A thread with so many questions and answers.
    pub(crate) fn long_thread(&self, turns: usize) -> String {
        let thread = self.stage.thread();
        for turn in 1..=turns {
            let mode = if turn % 5 == 0 { "plan" } else { "build" };
            let question = format!("Question {turn}: what does module {turn} do?");
            let events = self.stage.say(&thread, &question, mode);
            assert!(events.iter().all(|event| event.name != "error"), "{events:#?}");
        }
        thread
    }

    /// A flow that waits at its gate.
    pub(crate) fn waiting_run(&self) -> String {
        let body = json!({"workspace": self.stage.repo.path(), "goal": "A loud greeting",
            "mode": "plan-then-execute", "agent": "scripted"});
        let started = self.stage.post("/api/runs", body).json();
        let id = started["id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
        let show = || self.stage.get(&format!("/api/runs/{id}")).json();
        assert!(wait_until(Duration::from_secs(60), || show()["state"] == "gate"), "{:#}", show());
        id
    }

    pub(crate) fn verified(&self) -> Value {
        self.stage.get("/api/audit/verify").json()
    }
}

/// An agent that plans and then does what it planned.
fn agent() -> String {
    let script = "echo 'looked around <img src=x onerror=window.__pwned=1>'; case $HOLON_MODE in \
        plan) printf '# Goal\\nA loud greeting <img src=x onerror=window.__pwned=1>\\n# Context\\nx\\n# Steps\\nx\\n# Risks\\nx\\n# Verification\\nx\\n' \
        > /holon/output/plan.md;; \
        *) echo '<script>window.__pwned=1</script>' > new.txt; echo 'Done, **loudly**.' > /holon/output/summary.md;; esac";
    format!(
        "name = \"scripted\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n"
    )
}
