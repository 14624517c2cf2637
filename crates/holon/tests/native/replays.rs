//! What was recorded can be played again, and comes out the same.

use std::fs;
use std::path::Path;

use holon_testkit::model::ModelServer;
use holon_testkit::{CommandEnd, TestEnv, TestWorkspace};
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{BIN, EDIT, PlayedProvider, artifact, asking, ended, events, named, out, repo, run};

/// Keys that differ from run to run by nature.
const VARYING: [&str; 13] = [
    "at",
    "ts",
    "run",
    "run_id",
    "seq",
    "started_at",
    "duration_ms",
    "cached",
    "phases",
    "model",
    "warnings",
    "audit",
    "manifest_sha256",
];

/// A value without what varies.
fn steady(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(key, _)| !VARYING.contains(&key.as_str()))
            .map(|(key, value)| (key, steady(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(steady).collect(),
        other => other,
    }
}

/// What a run left: its events, patch and manifest.
fn left(env: &TestEnv, output: &CommandEnd) -> (Vec<Value>, String, Value) {
    let told = |event: &Value| {
        !matches!(event["type"].as_str(), Some("warning" | "model_waiting" | "model_answered"))
    };
    let events = events(env).into_iter().filter(told).map(steady).map(|mut event| {
        // What a command printed is compared where the model is told, with times and the like folded.
        if event["type"] == "tool_finished" {
            event["summary"].take();
        }
        event
    });
    let events = events.collect();
    (events, artifact(env, "diff.patch"), steady(output.manifest(out(env))))
}

/// Records a run with a scripted server, and gives back the cassette and what was left.
/// What the model is told of it is part of the recording.
const CHECK: &str = "grep -q . a.txt";

fn record(
    env: &TestEnv,
    repo: &TestWorkspace,
    who: PlayedProvider,
    script: &str,
) -> (String, (Vec<Value>, String, Value)) {
    // Without its own look at the result nobody lets it finish.
    let script = script
        .replace("- tool: finish", "- tool: execute\n  args: { command: grep -q . a.txt }\n- tool: finish");
    let server = ModelServer::play(who.wire(), &script);
    let tape = env.work().join("tape.yaml");
    let call = run(env, repo, "execute", &["--check", CHECK, "--record"]).arg(&tape);
    let output = asking(call, who, &server).run();
    ended(env, &output, 0);
    (fs::read_to_string(&tape).unwrap(), left(env, &output))
}

fn replay(env: &TestEnv, repo: &TestWorkspace, tape: &Path) -> CommandEnd {
    run(env, repo, "execute", &["--check", CHECK, "--replay"]).arg(tape).run()
}

#[test]
fn a_recorded_run_replays_the_same() {
    for who in PlayedProvider::ALL {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let (tape, first) = record(&env, &repo, who, EDIT);
        assert!(tape.starts_with("# A conversation with a model, recorded."), "{tape}");
        let again = replay(&env, &repo, &env.work().join("tape.yaml"));
        ended(&env, &again, 0);
        let second = left(&env, &again);
        assert_eq!(first.0, second.0, "{who:?}: events");
        assert_eq!(first.1, second.1, "{who:?}: patch");
        assert_eq!(first.2, second.2, "{who:?}: manifest");
        // The run store can do the same by itself.
        for which in ["last", "last"] {
            let stored = env.holon(["runs", "replay", which]).cwd(repo.path()).run();
            stored.assert_code(0);
        }
    }
}

#[test]
fn another_workspace_elsewhere_is_still_the_same() {
    let env = TestEnv::new(BIN);
    let (_, first) = record(&env, &repo(&env), PlayedProvider::OpenRouter, EDIT);
    let copy = env.repo_named("another place").file("a.txt", "one\n").commit("first");
    let again = replay(&env, &copy, &env.work().join("tape.yaml"));
    ended(&env, &again, 0);
    let second = left(&env, &again);
    assert_eq!((first.0, first.1), (second.0, second.1));
}

/// Times, temporary paths, process ids and durations, which are different every time.
const VARIES: &str = "
- tool: execute
  args: { command: \"r() { od -An -N3 -tu4 /dev/urandom | tr -d ' '; }; date -d @$(r) +%FT%TZ; date -d @$(r); date -R -d @$(r); mktemp; mktemp -d; echo took 0.$(r)s\" }
- tool: execute
  args: { command: \"touch -d @$(od -An -N3 -tu4 /dev/urandom | tr -d ' ') new; ls -l; ls -l --full-time; stat new | tail -4\" }
- tool: execute
  args: { command: \"echo pid $$; sh -c 'echo PPID: $PPID'; git log -1 | cat\" }
- tool: edit_file
  args: { path: a.txt, old: one, new: two }
- tool: finish
  args: { summary: Done. }
";

#[test]
fn output_that_is_different_every_time_is_still_the_same_conversation() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let (_, first) = record(&env, &repo, PlayedProvider::OpenRouter, VARIES);
    let again = replay(&env, &repo, &env.work().join("tape.yaml"));
    ended(&env, &again, 0);
    let second = left(&env, &again);
    assert_eq!(first.0, second.0, "events");
    assert_eq!(first.1, second.1, "patch");
    env.holon(["runs", "replay", "last"]).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn a_changed_workspace_shows_the_first_difference() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    record(&env, &repo, PlayedProvider::OpenRouter, EDIT);
    let repo = repo.file("a.txt", "one and more\n");
    let again = replay(&env, &repo, &env.work().join("tape.yaml"));
    let manifest = ended(&env, &again, 1);
    assert_eq!(manifest["error"]["kind"], "model", "{manifest:#}");
    let message = manifest["error"]["message"].as_str().unwrap();
    assert!(message.contains("request 2"), "{message}");
    let line = |sign: char, text: &str| {
        message.lines().any(|line| line.trim_start().starts_with(sign) && line.trim_end().ends_with(text))
    };
    assert!(line('-', "one") && line('+', "one and more"), "a diff: {message}");
    let stored = env.holon(["runs", "replay", "last"]).cwd(repo.path()).run();
    stored.assert_code(0);
}

#[test]
fn a_failed_run_replays_its_failure() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = "- tool: edit_file\n  args: { path: a.txt, old: one, new: two }\n- error: { kind: billing, message: no credit }\n";
    let server = ModelServer::play(PlayedProvider::Anthropic.wire(), script);
    let tape = env.work().join("tape.yaml");
    let call = run(&env, &repo, "execute", &["--record"]).arg(&tape);
    let output = asking(call, PlayedProvider::Anthropic, &server).run();
    let first = ended(&env, &output, 1);
    let first_events = left(&env, &output).0;
    let again = run(&env, &repo, "execute", &["--replay"]).arg(&tape).run();
    let second = ended(&env, &again, 1);
    assert_eq!(first["error"], second["error"]);
    assert_eq!(first_events, left(&env, &again).0);
}

/// Somebody or the clock ends a run in the middle of an answer: played again, it ends there in the same way.
#[test]
fn a_run_that_was_cut_short_replays_to_where_it_was_cut() {
    let script = "- tool: edit_file\n  args: { path: a.txt, old: one, new: two }\n- reply: [{ text: \"Half\\n\" }, { delay: 10m }, { text: never }]\n";
    for (by, status) in [("a person", "cancelled"), ("the clock", "timeout")] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let server = ModelServer::play(PlayedProvider::Anthropic.wire(), script);
        let timeout = if by == "the clock" { "8s" } else { "5m" };
        let call = run(&env, &repo, "execute", &["--timeout", timeout]);
        let mut running = asking(call, PlayedProvider::Anthropic, &server).spawn();
        running.wait_for_text("Half");
        if by == "a person" {
            running.signal(Signal::INT);
        }
        let first = ended(&env, &running.wait(), 1);
        assert_eq!(first["status"], status, "{first:#}");
        let again = env.holon(["runs", "replay", "last"]).cwd(repo.path()).run();
        again.assert_code(0).assert_stdout("the same but for times and ids");
        assert!(!again.stderr.contains("the hands"), "{}", again.stderr);
    }
}

#[test]
fn a_replay_needs_no_key_and_no_network() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    record(&env, &repo, PlayedProvider::Anthropic, EDIT);
    // A server that is not there, and no key: nobody is asked.
    let call = named(
        run(&env, &repo, "execute", &["--check", CHECK, "--replay"]),
        PlayedProvider::Anthropic,
        "http://127.0.0.1:1/v1",
    );
    let output = call.arg(env.work().join("tape.yaml")).env_remove("HOLON_MODEL").run();
    ended(&env, &output, 0);
}
