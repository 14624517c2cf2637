//! Many runs in a row and at the same time: nothing may leak.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use holon_testkit::{TestEnv, TestWorkspace, for_each_identity, mounts};

const BIN: &str = env!("CARGO_BIN_EXE_holon");
const AGENT: &str =
    "#!/bin/sh\necho \"$HOLON_RUN_ID\" >> a\n(sleep 300 &) \necho ok > /holon/output/summary.md\n";

fn once(env: &TestEnv, repo: &TestWorkspace, agent: &Path) {
    let call = env.holon(["run", "--quiet", "--goal", "x", "--agent"]).arg(agent).cwd(repo.path());
    call.run().assert_code(0);
}

fn cgroups() -> usize {
    let mut found = 0;
    let mut todo = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                found += usize::from(entry.file_name().to_string_lossy().starts_with("holon-"));
                todo.push(entry.path());
            }
        }
    }
    found
}

/// Bytes in the whole run store, apart from what each run is meant to keep.
fn layers_left(env: &TestEnv) -> usize {
    env.runs().iter().filter(|run| run.join("layers").exists()).count()
}

#[test]
fn a_thousand_runs_in_a_row_leak_nothing() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let agent = env.agent("agent.sh", AGENT);
        once(env, &repo, &agent);
        let before = (mounts().len(), cgroups());
        // Half of the thousand for each identity.
        for _ in 0..500 {
            once(env, &repo, &agent);
        }
        env.assert_nothing_left();
        assert!(
            holon_testkit::wait_until(Duration::from_secs(60), || (mounts().len(), cgroups()) == before),
            "mounts or control groups leaked"
        );
        assert_eq!(layers_left(env), 0, "snapshots are removed");
        assert_eq!(env.runs().len(), 501);
        let listed = env.holon(["runs", "list", "--json"]).cwd(repo.path()).run();
        listed.assert_code(0);
        let collected = || {
            let call = env.holon(["runs", "gc", "--older-than", "1s", "--keep", "3"]).cwd(repo.path());
            call.run().assert_code(0);
            env.runs().len() == 3
        };
        assert!(holon_testkit::wait_until(Duration::from_secs(120), collected), "old runs are collected");
        eprintln!("500 runs as {}: no mount, process, control group or layer left", env.identity().name());
    });
}

#[test]
fn eight_at_a_time_do_not_disturb_each_other() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let agent = env.agent("agent.sh", AGENT);
        let before = mounts().len();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        once(env, &repo, &agent);
                    }
                });
            }
        });
        env.assert_nothing_left();
        assert_eq!(mounts().len(), before);
        assert_eq!(env.runs().len(), 80);
        for run in env.runs() {
            let id = run.file_name().unwrap().to_string_lossy().into_owned();
            let patch = fs::read_to_string(run.join("output/diff.patch")).unwrap();
            let added: Vec<&str> = patch.lines().filter(|l| l.starts_with("+2")).collect();
            assert_eq!(added, [format!("+{id}")], "each run saw only its own change");
        }
        assert_eq!(repo.read("a"), b"1\n");
    });
}
