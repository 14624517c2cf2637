//! A person at the terminal can be asked, answers, and can walk away.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use holon_testkit::{RunningCommand, TestEnv};
use serde_json::Value;

use crate::stage::{BIN, artifact, events, of_type, out, repo};

const ASKS: &str = "
- tool: ask_user
  args: { questions: [{ question: Tabs or spaces?, options: [tabs, spaces] }, { question: How many? }] }
- expect: { last: [spaces, forty-two] }
  tool: finish
  args: { summary: As you like it. }
";

/// `holon run` on a terminal of its own, and the keyboard of it.
fn on_terminal(env: &TestEnv, cassette: &str, more: &str) -> (RunningCommand, File) {
    let repo = repo(env);
    let tape = env.write("work/cassette.yaml", cassette);
    let keys = env.work().join("keyboard");
    env.program("mkfifo").arg(&keys).run().assert_code(0);
    // Open for both, so that neither end waits for the other.
    let keyboard = OpenOptions::new().read(true).write(true).open(&keys).unwrap();
    let quoted = |path: &Path| format!("'{}'", path.display());
    let line = format!(
        "exec {} run --goal x --replay {} --out {} {more}",
        quoted(env.binary()),
        quoted(&tape),
        quoted(&out(env))
    );
    let call = env.program("script").args(["-q", "-e", "-f", "-c", &line, "/dev/null"]);
    (call.stdin_from(&keys).cwd(repo.path()).env("TERM", "dumb").env("SHELL", "/bin/sh").spawn(), keyboard)
}

fn manifest(env: &TestEnv) -> Value {
    serde_json::from_str(&artifact(env, "manifest.json")).unwrap()
}

#[test]
fn a_question_waits_for_its_answer() {
    let env = TestEnv::new(BIN);
    let (mut running, mut keyboard) = on_terminal(&env, ASKS, "");
    running.wait_for_text("Tabs or spaces?");
    running.wait_for_text("2. spaces");
    keyboard.write_all(b"2\n").unwrap();
    running.wait_for_text("How many?");
    keyboard.write_all(b"forty-two\n").unwrap();
    running.wait().assert_code(0);
    let told = manifest(&env);
    assert_eq!(told["outcome"], "success", "{told:#}");
    let events = events(&env);
    let verdicts: Vec<&str> =
        of_type(&events, "tool_decided").iter().map(|event| event["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["ask", "allow", "allow"], "{events:#?}");
}

#[test]
fn inv_08_quiet_and_json_ask_nobody_even_there() {
    for flag in ["--quiet", "--json"] {
        let env = TestEnv::new(BIN);
        let script = ASKS.replace("last: [spaces, forty-two]", "last: [denied]");
        let (running, _keyboard) = on_terminal(&env, &script, flag);
        running.wait().assert_code(0);
        assert_eq!(of_type(&events(&env), "tool_decided")[0]["verdict"], "deny");
    }
}

#[test]
fn ctrl_c_at_a_question_ends_the_run() {
    let env = TestEnv::new(BIN);
    let (mut running, mut keyboard) = on_terminal(&env, ASKS, "");
    running.wait_for_text("Tabs or spaces?");
    keyboard.write_all(b"\x03").unwrap();
    running.wait().assert_code(1);
    assert_eq!(manifest(&env)["status"], "cancelled");
    env.assert_nothing_left();
}

#[test]
fn a_question_nobody_answers_ends_with_the_time() {
    let env = TestEnv::new(BIN);
    let (mut running, _keyboard) = on_terminal(&env, ASKS, "--timeout 2s");
    running.wait_for_text("Tabs or spaces?");
    running.wait().assert_code(1);
    assert_eq!(manifest(&env)["status"], "timeout");
}
