//! A project with a setup, an agent that tells what it finds, and what a run of it says.

use std::path::{Path, PathBuf};

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace};
use serde_json::Value;

/// The commands of a setup that leaves something in an ignored folder and at home.
pub(crate) const LEAVES: &str = "mkdir -p deps && echo tool > deps/tool && cat /proc/sys/kernel/random/uuid > deps/id && mkdir -p ~/.tool && echo home > ~/.tool/h";

/// A project, and the place for what runs deliver.
pub(crate) struct Project<'a> {
    pub(crate) env: &'a TestEnv,
    pub(crate) repo: TestWorkspace,
    agent: PathBuf,
}

impl<'a> Project<'a> {
    /// A repository that ignores `deps/`.
    pub(crate) fn new(env: &'a TestEnv) -> Self {
        let repo = env.repo().file(".gitignore", "deps/\n").file("package.json", "{}\n").file("src", "1\n");
        let agent = env.agent(
            "looks.sh",
            "#!/bin/sh\n\
             echo '# Summary\nLooked.' > /holon/output/summary.md\n\
             echo \"id $(cat deps/id 2>&1)\"\n\
             echo \"tool $(cat deps/tool 2>&1)\"\n\
             echo \"own $(ls deps/own 2>&1)\"\n\
             echo \"home $(cat ~/.tool/h 2>&1)\"\n\
             if test -w src; then echo 2 > src; rm -rf deps/tool; echo mine > deps/id; echo new > deps/new; echo w > ~/.tool/h; fi\n",
        );
        Self { env, repo: repo.commit("first"), agent }
    }

    /// Writes the section of the user's own configuration.
    pub(crate) fn user_says(&self, section: &str) {
        self.env.write(self.env.config().join("holon/config.toml"), format!("[environment]\n{section}\n"));
    }

    /// A setup of the user's.
    pub(crate) fn user_setup(&self, command: &str) {
        self.user_says(&format!("setup = [{command:?}]"));
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.env.work().join("out")
    }

    /// Runs the agent that looks.
    pub(crate) fn run(&self, more: &[&str]) -> LookedRun {
        self.run_agent(&self.agent, more)
    }

    /// Runs another agent.
    pub(crate) fn run_agent(&self, agent: &Path, more: &[&str]) -> LookedRun {
        let out = self.out();
        let _ = std::fs::remove_dir_all(&out);
        let call = self.env.holon(["run", "--goal", "x", "--json", "--no-auto-checks", "--out"]).arg(&out);
        let end = call.args(more).arg("--agent").arg(agent).cwd(self.repo.path()).run();
        LookedRun { manifest: if end.code == 64 { Value::Null } else { end.manifest(&out) }, end }
    }

    /// `holon environment …` in the project.
    pub(crate) fn environment(&self, args: &[&str]) -> CommandEnd {
        self.env.holon(["environment"]).args(args).cwd(self.repo.path()).run()
    }

    /// What is kept, as `list` says.
    pub(crate) fn kept(&self) -> Vec<Value> {
        let listed = self.environment(&["list", "--json"]);
        listed.assert_code(0);
        listed.json().as_array().unwrap().clone()
    }

    /// The digest of the repository's setup.
    pub(crate) fn setup_digest(&self) -> String {
        let shown = self.environment(&["show", "--json"]);
        shown.assert_code(0);
        shown.json()["setup_digest"].as_str().unwrap().to_owned()
    }
}

/// A run that is over.
pub(crate) struct LookedRun {
    pub(crate) end: CommandEnd,
    pub(crate) manifest: Value,
}

impl LookedRun {
    /// What the agent printed after a word.
    #[track_caller]
    pub(crate) fn said(&self, word: &str) -> String {
        let events = self.end.events();
        let lines = events
            .iter()
            .filter(|event| event["type"] == "output")
            .filter_map(|event| event["text"].as_str());
        let found = lines.clone().find_map(|line| line.strip_prefix(word).map(|rest| rest.trim().to_owned()));
        found
            .unwrap_or_else(|| panic!("no {word:?} in {:#?}\n{}", lines.collect::<Vec<_>>(), self.end.stderr))
    }

    /// What the manifest says of the environment.
    pub(crate) fn used(&self) -> &Value {
        &self.manifest["metadata"]["environment"]
    }

    /// Whether a warning holds these words.
    pub(crate) fn warned(&self, words: &str) -> bool {
        let warnings = self.manifest["metadata"]["warnings"].as_array();
        warnings
            .is_some_and(|all| all.iter().any(|one| one.as_str().is_some_and(|text| text.contains(words))))
    }
}
