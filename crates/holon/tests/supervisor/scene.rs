//! A supervised run: a repository with a check, a script as the model, and what the supervisor said about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_host::recording::{SupervisorRecording, TimelineRecord};
use holon_testkit::{CommandEnd, Invocation, TestEnv, TestWorkspace};
use serde_json::Value;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// The check of [`SupervisedRunScene::repo`]: red until `src/a.txt` says good.
pub(crate) const CHECK: &str = "make test";

/// Turns that repair it.
pub(crate) const REPAIR: &str = "
- { tool: read_file, args: { path: src/a.txt } }
- { tool: write_file, args: { path: src/a.txt, content: good } }
- { tool: execute, args: { command: make test } }
";

/// The last turn.
pub(crate) const FINISH: &str = "- { tool: finish, args: { summary: Done. } }\n";

pub(crate) struct SupervisedRunScene {
    pub(crate) env: TestEnv,
    pub(crate) repo: TestWorkspace,
}

/// What a run left.
pub(crate) struct SupervisedPlay {
    pub(crate) output: CommandEnd,
    pub(crate) manifest: Value,
    pub(crate) records: Vec<TimelineRecord>,
    pub(crate) folder: PathBuf,
}

impl SupervisedRunScene {
    pub(crate) fn new() -> Self {
        let env = TestEnv::new(BIN);
        let makefile = "test:\n\t@grep -q good src/a.txt || { echo 'not ok 1 - a is good'; exit 1; }\n";
        let repo = env
            .repo()
            .file("src/a.txt", "bad\n")
            .file("src/b.txt", "b\n")
            .file("docs/c.md", "c\n")
            .file("Makefile", makefile)
            .commit("first");
        Self { env, repo }
    }

    pub(crate) fn call(&self, goal: &str, more: &[&str]) -> Invocation {
        let call = self.env.holon(["run", "--goal", goal]).args(more);
        call.cwd(self.repo.path()).timeout(Duration::from_secs(60))
    }

    /// Plays turns as the model of a run.
    #[track_caller]
    pub(crate) fn play(&self, goal: &str, turns: &str, more: &[&str]) -> SupervisedPlay {
        let file = self.env.write("work/turns.yaml", turns);
        let output = self.call(goal, more).arg("--replay").arg(file).run();
        self.last(output)
    }

    /// The run that was made last, with its decisions replayed.
    #[track_caller]
    pub(crate) fn last(&self, output: CommandEnd) -> SupervisedPlay {
        let folder = self.newest();
        let manifest = fs::read(folder.join("output/manifest.json")).expect("a manifest");
        let manifest = serde_json::from_slice(&manifest).expect("JSON");
        let records = verified(&folder.join("evidence/events.jsonl"));
        SupervisedPlay { output, manifest, records, folder }
    }

    pub(crate) fn newest(&self) -> PathBuf {
        let started = |folder: &PathBuf| {
            let record = fs::read(folder.join("run.json")).unwrap_or_default();
            let record: Value = serde_json::from_slice(&record).unwrap_or_default();
            record["started_at"].as_str().unwrap_or_default().to_owned()
        };
        self.env.runs().into_iter().max_by_key(started).expect("a run")
    }

    /// Puts a file into the workspace.
    pub(crate) fn put(&self, path: impl AsRef<Path>, text: &str) {
        self.env.write(self.repo.join(path), text);
    }

    pub(crate) fn holon(&self, args: &[&str]) -> CommandEnd {
        self.env.holon(args).cwd(self.repo.path()).run()
    }
}

/// Replays a recording: every decision must come out as it was stored, byte for byte.
#[track_caller]
pub(crate) fn verified(events: &Path) -> Vec<TimelineRecord> {
    let recording = SupervisorRecording::read(events).expect("a supervised run");
    let checked = recording.verify().unwrap_or_else(|difference| panic!("{difference}"));
    assert!(checked > 0);
    recording.records()
}

impl SupervisedPlay {
    /// Whether a decision with this reason was made.
    pub(crate) fn has(&self, reason: &str) -> bool {
        self.records.iter().any(|record| record.reason == reason)
    }

    #[track_caller]
    pub(crate) fn assert(&self, code: i32, reasons: &[&str]) -> &Self {
        let told: Vec<String> =
            self.records.iter().map(|record| format!("{} {}", record.round, record.reason)).collect();
        assert_eq!(
            self.manifest["exit_code"], code,
            "{told:#?}\n{:#}\n{:?}",
            self.manifest["error"], self.output
        );
        for reason in reasons {
            assert!(self.has(reason), "{reason} is not among {told:#?}");
        }
        self
    }

    /// The calls that a rule blocked, by the words the model got.
    pub(crate) fn whys(&self, reason: &str) -> Vec<String> {
        let of = self.records.iter().filter(|record| record.reason == reason);
        of.filter_map(|record| record.payload["why"].as_str().map(str::to_owned)).collect()
    }

    pub(crate) fn supervisor(&self) -> &Value {
        &self.manifest["metadata"]["supervisor"]
    }
}

/// The same turn so many times.
pub(crate) fn times(count: usize, turn: &str) -> String {
    format!("- {turn}\n").repeat(count)
}

/// A turn that runs a command.
pub(crate) fn exec(command: &str) -> String {
    format!("{{ tool: execute, args: {{ command: '{command}' }} }}")
}

/// A turn that writes a file.
pub(crate) fn write(path: &str, content: &str) -> String {
    format!("{{ tool: write_file, args: {{ path: {path}, content: '{content}' }} }}")
}

/// A turn that reads a file.
pub(crate) fn read(path: &str) -> String {
    format!("{{ tool: read_file, args: {{ path: {path} }} }}")
}

/// Turns, one after another.
pub(crate) fn turns(list: &[String]) -> String {
    list.iter().map(|turn| format!("- {turn}\n")).collect()
}
