//! One run of one script, and what became of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::cast::Cast;
use super::script::AgentScript;
use super::scripted_agent::{HearingMode, ScriptedAgent};
use super::truth::TruthReport;
use crate::model::ModelServer;
use crate::{TestEnv, TestWorkspace, apply_patch_plain};

/// How a run is supervised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum PlayLevel {
    Off,
    Shadow,
    Advise,
    Adaptive,
    Strict,
}

impl PlayLevel {
    /// Those that runs are played at.
    pub const OF_RUNS: [Self; 4] = [Self::Off, Self::Shadow, Self::Adaptive, Self::Strict];
    /// Those that turns of a chat are played at.
    pub const OF_CHATS: [Self; 3] = [Self::Off, Self::Advise, Self::Adaptive];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Shadow => "shadow",
            Self::Advise => "advise",
            Self::Adaptive => "adaptive",
            Self::Strict => "strict",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Off => &["--supervisor", "off"],
            Self::Shadow => &["--shadow"],
            Self::Advise => &["--supervisor", "advise"],
            Self::Adaptive => &["--supervisor", "adaptive"],
            Self::Strict => &["--supervisor", "strict"],
        }
    }
}

/// What became of a run.
#[derive(Debug, Clone)]
pub struct PlayOutcome {
    /// The exit code.
    pub code: i32,
    /// Whether the result stands its proof.
    pub good: bool,
    /// Requests to the model.
    pub rounds: u32,
    /// The request in which it was put right.
    pub heeded: Option<u32>,
    /// Calls it made, and those it made while lost.
    pub calls: u32,
    /// See `calls`.
    pub wasted: u32,
    /// Tokens, from the bytes of requests and replies.
    pub tokens: u64,
    /// How often the supervisor took over.
    pub takeovers: u64,
    /// How many calls it did not let through.
    pub denied: u64,
    /// What the supervisor said, held against the facts.
    pub told: TruthReport,
    /// The summary for people.
    pub report: String,
    /// The manifest.
    pub manifest: Value,
    /// What the command wrote to standard error.
    pub said: String,
    /// The requests of a client's conversation, as the model got them.
    pub seen: Vec<Value>,
    /// What the run wrote down, a line each.
    pub events: String,
}

impl PlayOutcome {
    /// Whether the work was done and is good.
    pub fn recovered(&self) -> bool {
        self.code == 0 && self.good
    }

    /// Whether it was stopped for a person, with what to look at: in a report of the supervisor, or in the host's
    /// verdict on a check that the change itself defines.
    pub fn stopped_usefully(&self) -> bool {
        let parts = ["# ", "## What is known", "rounds"];
        let told = parts.iter().all(|part| self.report.contains(part));
        self.code == 2 && (told || self.manifest["error"]["kind"] == "changed_checks")
    }
}

/// How long one may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// The repository of a script.
pub(super) fn settled(env: &TestEnv, script: &AgentScript) -> TestWorkspace {
    let files = |repo: TestWorkspace, files: &BTreeMap<String, String>| {
        files.iter().fold(repo, |repo, (path, text)| repo.file(path, text))
    };
    let first = files(env.repo(), &script.files).commit("first");
    script.commits.iter().fold(first, |repo, commit| files(repo, &commit.files).commit(&commit.message))
}

/// A model that is this mind.
pub(super) fn serve(mind: &Arc<Mutex<ScriptedAgent>>) -> ModelServer {
    let own = Arc::clone(mind);
    ModelServer::improvise(move |_, seen| own.lock().unwrap_or_else(PoisonError::into_inner).answer(seen))
}

/// Plays a script with this binary in a world of its own.
pub fn play(bin: &Path, script: &AgentScript, level: PlayLevel, hearing: HearingMode) -> PlayOutcome {
    play_as(bin, &Cast::Native, script, level, hearing)
}

/// The same with somebody else.
pub fn play_as(
    bin: &Path,
    cast: &Cast,
    script: &AgentScript,
    level: PlayLevel,
    hearing: HearingMode,
) -> PlayOutcome {
    let env = TestEnv::new(bin);
    let repo = settled(&env, script);
    let mind = Arc::new(Mutex::new(ScriptedAgent::new(script, hearing, cast)));
    let server = serve(&mind);
    let run = env
        .holon(["run", "--goal", &script.goal, "--max-rounds", &script.rounds.to_string()])
        .args(level.arguments())
        .args(&script.arguments)
        .cwd(repo.path())
        .timeout(PATIENCE);
    let output = cast.dressed(run, &server.base()).run();
    let folder = env.runs().pop().unwrap_or_default().join("output");
    let manifest = fs::read(folder.join("manifest.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    let report = fs::read_to_string(folder.join("summary.md")).unwrap_or_default();
    let patch = folder.join("diff.patch");
    let place =
        script.tree().iter().fold(env.repo_named("proof"), |repo, (path, text)| repo.file(path, text));
    let given = fs::metadata(&patch).is_ok_and(|meta| meta.len() > 0);
    let good = (!given || apply_patch_plain(place.path(), &patch).is_ok()) && proven(&place, script);
    let mut mind = mind.lock().unwrap_or_else(PoisonError::into_inner);
    let (tally, seen) = (mind.tally.clone(), std::mem::take(&mut mind.seen));
    let events = events(&folder);
    let mut told = TruthReport::of_events(&script.goal, &events);
    // Texts stay in a client's conversation where they were said; the native agent has one at its end.
    let stood = if *cast == Cast::Native { tally.stood.as_slice() } else { &[] };
    for (round, stood) in (1..).zip(stood) {
        told.compare(round, stood);
    }
    PlayOutcome {
        code: manifest["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(-1),
        good,
        rounds: tally.rounds,
        heeded: tally.heeded,
        calls: tally.calls,
        wasted: tally.wasted,
        tokens: tally.tokens,
        takeovers: manifest["metadata"]["supervisor"]["takeovers"].as_u64().unwrap_or(0),
        denied: denied(&events),
        told,
        report,
        manifest,
        said: output.stderr,
        seen,
        events,
    }
}

/// What the run wrote down, a line each.
fn events(output: &Path) -> String {
    fs::read_to_string(output.with_file_name("evidence").join("events.jsonl")).unwrap_or_default()
}

/// Calls that were not executed, and words that the work is done that were not believed.
fn denied(events: &str) -> u64 {
    let said = |line: &&str| line.contains("\"gate:block\"") || line.contains("\"verification:not_yet\"");
    events.lines().filter(said).count() as u64
}

/// Whether the result in this place is good, with what the proof rests on put back.
pub(super) fn proven(place: &TestWorkspace, script: &AgentScript) -> bool {
    let tree = script.tree();
    for path in &script.keep {
        let kept = tree.iter().filter(|(name, _)| *name == path || name.starts_with(&format!("{path}/")));
        for (name, text) in kept {
            fs::write(place.join(name), text).expect("putting back what the proof rests on");
        }
    }
    let proof = Command::new("/bin/sh")
        .args(["-c", &script.proof])
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    proof.is_ok_and(|status| status.success())
}
