//! Commands and places that are too much of something.

use holon_testkit::{TestEnv, for_each_identity};

use crate::stage::{BIN, artifact, ended, events, of_type, play, repo};

#[test]
fn a_flood_of_output_is_bounded_and_the_rest_can_be_read() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = "
- tool: execute
  args: { command: \"head -c 60000000 /dev/zero | tr '\\\\0' 'x' | fold -w 99; echo the very end\" }
- expect: { last: [the very end, bytes of output are in] }
  tool: execute
  args: { command: \"yes needle | head -c 3000000 | tr -d '\\\\n'; printf '\\\\377\\\\0\\\\033[2J'\" }
- tool: finish
  args: { summary: It was a lot. }
";
    let output = play(&env, &repo, "execute", script, &[]);
    ended(&env, &output, 0);
    let tape = artifact(&env, "evidence/model.yaml");
    assert!(tape.len() < 200_000, "{} bytes", tape.len());
    assert!(artifact(&env, "evidence/events.jsonl").len() < 50_000);
    let events = events(&env);
    assert_eq!(of_type(&events, "tool_finished")[0]["exit_code"], 0);
}

#[test]
fn a_background_job_does_not_hold_the_run() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let script = "
- tool: execute
  args: { command: \"echo up; trap '' TERM HUP; sleep 600\", background: true }
- expect: { last: [job 1 started] }
  tool: execute
  args: { command: \"(setsid sleep 700 > /dev/null 2>&1 &); nohup sleep 800 > /dev/null 2>&1 & echo left\" }
- tool: job
  args: { job: 1 }
- expect: { last: [still running] }
  tool: finish
  args: { summary: It runs. }
";
        let output = play(env, &repo, "execute", script, &[]);
        ended(env, &output, 0);
        assert!(output.elapsed.as_secs() < 15, "{:?}", output.elapsed);
        env.assert_nothing_left();
    });
}

#[test]
fn a_workspace_may_be_called_anything() {
    for_each_identity(BIN, |env| {
        for name in ["with some spaces", "grüße-日本", "it's \"quoted\" $HOME", "-dash", "new\nline"] {
            let repo =
                env.repo_named(name).file("ä b.txt", "one\n").file("日本/c d.txt", "one\n").commit("first");
            let script = "
- tools:
    - edit_file: { path: ä b.txt, old: one, new: two }
    - execute: { command: \"sed -i s/one/two/ 日本/*.txt; git status --short; pwd\" }
- tool: finish
  args: { summary: Changed both. }
";
            let check = "grep -q two 'ä b.txt' && grep -q two '日本/c d.txt'";
            let output = play(env, &repo, "execute", script, &["--check", check, "--supervisor", "off"]);
            ended(env, &output, 0);
            assert_eq!(artifact(env, "diff.patch").matches("+two").count(), 2, "{name:?}");
            let replayed = env.holon(["runs", "replay", "last"]).cwd(repo.path()).run();
            replayed.assert_code(0);
        }
    });
}

#[test]
fn calls_in_great_number_and_of_great_size_are_answered_one_by_one() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let calls: String =
        (0..60).map(|n| format!("    - write_file: {{ path: f{n}.txt, content: x }}\n")).collect();
    let reads: String = (0..60).map(|n| format!("    - read_file: {{ path: f{n}.txt }}\n")).collect();
    const CHECK: &str = "test $(ls f*.txt | wc -l) = 60";
    let big = "y".repeat(2 << 20);
    let script = format!(
        "- tools:\n{calls}- tools:\n{reads}- tool: write_file\n  args: {{ path: big.txt, content: {big} }}\n\
         - tool: finish\n  args: {{ summary: All there. }}\n"
    );
    let output = play(&env, &repo, "execute", &script, &["--check", CHECK, "--supervisor", "off"]);
    let manifest = ended(&env, &output, 0);
    assert_eq!(manifest["metadata"]["changes"]["files"], 61);
    assert_eq!(of_type(&events(&env), "tool_decided").len(), 122);
}

#[test]
fn nonsense_from_a_model_is_answered_not_obeyed() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = "
- reply:
    - { tool: edit_file, args: { path: a.txt } }
    - { tool: write_file, args: { path: /etc/passwd, content: x } }
    - { tool: write_file, args: { path: ../../escape.txt, content: x } }
    - { tool: read_file, args: { path: /proc/1/environ } }
    - { tool: execute, args: {} }
    - { tool: \"\", args: {} }
- tool: finish
  args: { summary: \"  \" }
- tool: finish
  args: { summary: Nothing came of it. }
";
    let manifest = ended(&env, &play(&env, &repo, "execute", script, &[]), 0);
    assert_eq!(manifest["no_changes"], true, "{manifest:#}");
    let events = events(&env);
    assert_eq!(of_type(&events, "tool_proposed").len(), of_type(&events, "tool_decided").len());
    assert!(!env.work().join("escape.txt").exists());
}
