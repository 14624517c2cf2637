//! INV-06 for what has steps: a key in the goal is in nothing the whole keeps about itself.

use std::fs;
use std::path::{Path, PathBuf};

use holon_testkit::{CommandEnd, TestEnv};

use crate::stage::{AGENT, BIN, last, plan, read, repo, task};

/// A key in nobody's shape: only the host knows that it is one.
const PLAIN: &str = "corp gateway 7f3a/9b2c+4d5e";

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path()),
            Ok(kind) if kind.is_file() => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}

#[track_caller]
fn assert_nowhere(env: &TestEnv, output: &CommandEnd) {
    let files = files_below(&env.state());
    assert!(files.len() > 8, "there is something to search: {files:?}");
    let all = files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap()));
    let said =
        [("output".into(), output.stdout_bytes.clone()), ("error".into(), output.stderr.clone().into())];
    for (path, bytes) in all.chain(said) {
        let found = bytes.windows(PLAIN.len()).any(|window| window == PLAIN.as_bytes());
        assert!(!found, "the key is in {}", path.display());
    }
}

#[test]
fn inv_06_a_key_in_the_goal_of_a_flow_is_written_nowhere() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &plan(&[]), &[]);
    let agent = env.agent("agent.sh", &AGENT.replace("architect)", "plan)"));
    let goal = format!("Say what {PLAIN} opens");
    let holon = |words: &[&str]| {
        let call = env.holon(words).env("CORP_API_KEY", PLAIN).cwd(repo.path());
        if words.contains(&"--resume") { call.run() } else { call.arg("--agent").arg(&agent).run() }
    };
    let flow = ["run", "--mode", "plan-then-execute", "--no-auto-checks", "--goal", &goal];
    let stopped = holon(&flow);
    stopped.assert_code(2).assert_stderr("the goal held what looks like a credential");
    assert_nowhere(&env, &stopped);
    let (folder, _) = last(&env);
    let kept = read(&folder.join("flow.json"))["asked"].to_string();
    assert!(kept.contains("Say what [redacted:CORP_API_KEY] opens"), "{kept}");
    // It can be gone on with, and what a person adds is treated alike.
    let done = holon(&["run", "--resume", "last", "--message", &format!("Mind {PLAIN}")]);
    assert_nowhere(&env, &done.assert_code(0).clone());
}

#[test]
fn inv_06_a_key_in_the_goal_of_an_orchestration_is_written_nowhere() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &plan(&[task("one", "code", &[])]), &[("one", "echo one > one.txt")]);
    let agent = env.agent("agent.sh", AGENT);
    let goal = format!("Say what {PLAIN} opens");
    let call = env.holon([goal.as_str(), "--no-auto-checks", "--agent"]).arg(&agent).cwd(repo.path());
    let output = call.env("CORP_API_KEY", PLAIN).run();
    output.assert_code(0).assert_stderr("the goal held what looks like a credential");
    assert_nowhere(&env, &output);
    let (folder, _) = last(&env);
    assert_eq!(read(&folder.join("orchestrate.json"))["goal"], "Say what [redacted:CORP_API_KEY] opens");
}

#[test]
fn a_flow_whose_flags_held_a_key_is_not_gone_on_with_by_half() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &plan(&[]), &[]);
    let agent = env.agent("agent.sh", &AGENT.replace("architect)", "plan)"));
    let call = env.holon(["run", "--mode", "plan-then-execute", "--goal", "Do it", "--agent"]).arg(&agent);
    let stopped = call.args(["--", "--key", PLAIN]).env("CORP_API_KEY", PLAIN).cwd(repo.path()).run();
    stopped.assert_code(2);
    assert_nowhere(&env, &stopped);
    let resumed = env.holon(["run", "--resume", "last"]).env("CORP_API_KEY", PLAIN).cwd(repo.path()).run();
    resumed.assert_code(64).assert_stderr("held a credential").assert_stderr("start it anew");
}
