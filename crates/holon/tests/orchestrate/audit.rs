//! The audit log by its command: edits and cuts are found, and two processes keep it whole.

use std::fs;

use holon_testkit::TestEnv;

use crate::stage::{AGENT, BIN, plan, repo, task};

#[test]
fn inv_13_an_edited_or_cut_log_is_found_by_verify() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &plan(&[task("one", "review", &[])]), &[]);
    let agent = env.agent("agent.sh", AGENT);
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    for _ in 0..2 {
        let run = env.holon(["run", "--mode", "review", "--goal", "x", "--quiet"]).arg("--agent").arg(&agent);
        run.cwd(repo.path()).run().assert_code(0);
    }
    holon(&["audit", "verify"]).assert_code(0).assert_stdout("whole: 4 entries");
    let list = holon(&["audit", "list"]);
    list.assert_code(0)
        .assert_stdout("mode_started  review · attempt 1")
        .assert_stdout("mode_ended    review · approve · success · 20");
    assert!(!list.stdout.contains(['{', '"']), "a table is for people: {}", list.stdout);
    assert_eq!(holon(&["audit", "list", "--last", "1"]).stdout.lines().count(), 2);
    let log = env.state().join("holon/audit.jsonl");
    let good = fs::read_to_string(&log).unwrap();
    let exported = holon(&["audit", "export"]);
    assert_eq!(exported.assert_code(0).stdout, good);

    fs::write(&log, good.replacen("\"review\"", "\"revieW\"", 2)).unwrap();
    holon(&["audit", "verify"]).assert_code(1).assert_stdout("broken: entry 1");
    // The end is cut, and so is the head beside it: the manifest of a run still knows.
    let cut: String = good.split_inclusive('\n').take(2).collect();
    fs::write(&log, cut).unwrap();
    fs::remove_file(env.state().join("holon/audit.head")).unwrap();
    holon(&["audit", "verify"])
        .assert_code(1)
        .assert_stdout("broken: entry 3")
        .assert_stdout("the end is missing");
    fs::write(&log, good).unwrap();
    holon(&["audit", "verify", "--json"]).assert_code(0).assert_stdout("\"result\":\"whole\"");
}

#[test]
fn inv_13_processes_that_write_at_once_keep_the_chain_whole() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &plan(&[]), &[]);
    let agent = env.agent("agent.sh", AGENT);
    let start = || {
        let run = env.holon(["run", "--mode", "review", "--goal", "x", "--quiet"]).arg("--agent").arg(&agent);
        run.cwd(repo.path()).spawn()
    };
    let running: Vec<_> = (0..4).map(|_| start()).collect();
    for run in running {
        run.wait().assert_code(0);
    }
    env.holon(["audit", "verify"]).cwd(repo.path()).run().assert_code(0).assert_stdout("whole: 8 entries");
}
