//! Killed, cancelled and gone on with: no finished child is run again.

use std::fs;

use holon_testkit::{TestEnv, for_each_identity};
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{BIN, applied, attempts, children, goal, last, orchestration, plan, read, repo, task};
use crate::story;

fn tasks() -> String {
    plan(&[task("one", "code", &[]), task("two", "code", &["one"]), task("check", "review", &["two"])])
}

fn run_ids(folder: &std::path::Path, tasks: &[&str]) -> Vec<Value> {
    let state = read(&folder.join("orchestrate.json"));
    let nodes = state["nodes"].as_array().unwrap();
    let of = |id: &&str| nodes.iter().find(|n| n["task"]["id"] == *id).unwrap()["attempts"][0]["run"].clone();
    tasks.iter().map(of).collect()
}

#[test]
fn killed_in_the_middle_and_resumed_it_repeats_no_finished_child() {
    for_each_identity(BIN, |env| {
        // The second task blocks for as long as a file says so; the file is no part of the workspace of the first.
        let repo = repo(
            env,
            &tasks(),
            &[
                ("one", "echo one > one.txt"),
                (
                    "two",
                    "cat one.txt > two.txt; [ -f script/block ] && { echo waiting; exec sleep 600; }; true",
                ),
            ],
        );
        let repo = repo.file("script/block", "");
        let mut running = goal(env, &repo, &["--json"]).spawn();
        running.wait_for_text("\"waiting\"");
        running.kill();
        env.assert_nothing_left();
        let shown = env.holon(["runs", "show", "last"]).cwd(repo.path()).run();
        shown.assert_code(0).assert_stdout("interrupted").assert_stdout("go on: holon run --resume");
        let (folder, manifest) = last(env);
        assert_eq!(manifest["status"], "interrupted");
        let before = run_ids(&folder, &["one"]);

        fs::remove_file(repo.join("script/block")).unwrap();
        let resumed = env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run();
        resumed.assert_code(0);
        assert_eq!(run_ids(&folder, &["one"]), before, "the same run as before");
        let runs = children(&folder);
        let count = |mode: &str, status: &str| runs.iter().filter(|(m, s)| m == mode && s == status).count();
        assert_eq!(count("orchestrate", "completed"), 1, "{runs:?}");
        assert_eq!((count("execute", "completed"), count("execute", "interrupted")), (2, 1), "{runs:?}");
        let report = orchestration(&folder);
        assert_eq!(attempts(&report, "one").len(), 1);
        assert_eq!(attempts(&report, "two").len(), 2);
        let patch = fs::read_to_string(folder.join("output/diff.patch")).unwrap();
        assert!(patch.contains("one.txt") && patch.contains("two.txt"), "{patch}");
        let again = env.holon(["run", "--resume", "last"]).cwd(repo.path()).run();
        again.assert_code(64).assert_stderr("is over");
        env.assert_nothing_left();
    });
}

/// Every run that had come to its end, as (task, place, run).
fn ended(folder: &std::path::Path) -> Vec<(String, usize, String)> {
    let state = read(&folder.join("orchestrate.json"));
    let mut found = Vec::new();
    for node in state["nodes"].as_array().unwrap() {
        for (place, attempt) in node["attempts"].as_array().unwrap().iter().enumerate() {
            if attempt["end"].is_object() && attempt["end"]["status"] == "completed" {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                found.push((text(&node["task"]["id"]), place, text(&attempt["run"])));
            }
        }
    }
    found
}

#[test]
fn the_whole_story_killed_anywhere_and_resumed_repeats_no_finished_child() {
    // Where it is killed, and how many children are over by then.
    for (at, over) in [("two-conflict", 2), ("three", 3), ("check", 4), ("check-fix", 5), ("ethical", 7)] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, &story::tasks(), &story::scripts());
        let repo = repo.file(format!("script/block-{at}"), "");
        let mut running = goal(&env, &repo, &["--json"]).spawn();
        running.wait_for_text(&format!("waiting-{at}"));
        running.kill();
        env.assert_nothing_left();
        let (folder, _) = last(&env);
        let before = ended(&folder);
        assert_eq!(before.len(), over, "{at}: {before:?}");

        fs::remove_file(repo.join(format!("script/block-{at}"))).unwrap();
        env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
        let after = ended(&folder);
        for run in &before {
            assert!(after.contains(run), "{at}: {run:?} was finished, and is not in {after:?}");
        }
        // All that was ever run: the story, and the one run that was cut off.
        let runs = children(&folder);
        let count = |status: &str| runs.iter().filter(|(_, s)| s == status).count();
        assert_eq!((count("completed"), count("interrupted"), runs.len()), (9, 1, 10), "{at}: {runs:?}");
        let copy = applied(&env, &repo, &folder.join("output/diff.patch"));
        assert_eq!(fs::read_to_string(copy.join("a.txt")).unwrap(), story::expected(), "{at}");
        assert_eq!(fs::read_to_string(copy.join("three.txt")).unwrap(), "one\ntwo\n", "{at}");
    }
}

#[test]
fn cancelling_reaches_every_child_and_it_can_go_on() {
    let env = TestEnv::new(BIN);
    let tasks = plan(&[task("one", "code", &[]), task("two", "code", &[])]);
    let block = "echo waiting-$task; [ -f script/block ] && exec sleep 600; echo x > $task.txt";
    let repo = repo(&env, &tasks, &[("one", block), ("two", block)]).file("script/block", "");
    let mut running = goal(&env, &repo, &["--json"]).spawn();
    running.wait_for_text("waiting-one");
    running.wait_for_text("waiting-two");
    running.signal(Signal::INT);
    running.wait().assert_code(1);
    env.assert_nothing_left();
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["status"], "cancelled");
    fs::remove_file(repo.join("script/block")).unwrap();
    env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
    assert_eq!(orchestration(&folder)["decision"]["is"], "approve");
}

#[test]
fn what_a_finished_child_left_is_not_believed_when_it_was_changed() {
    let env = TestEnv::new(BIN);
    let repo = repo(
        &env,
        &tasks(),
        &[
            ("one", "echo one > one.txt"),
            ("two", "[ -f script/block ] && exec sleep 600; echo two > two.txt; echo waiting"),
        ],
    );
    let repo = repo.file("script/block", "");
    let mut running = goal(&env, &repo, &["--json"]).spawn();
    // The first is done and joined when the second begins.
    running.wait_for_text("\"step\":\"two\"");
    running.kill();
    let (folder, _) = last(&env);
    fs::remove_file(repo.join("script/block")).unwrap();
    let merge = folder.join("merges/01-one.patch");
    let good = fs::read(&merge).unwrap();
    fs::write(&merge, String::from_utf8_lossy(&good).replace("+one", "+evil")).unwrap();
    let refused = env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run();
    refused.assert_code(1).assert_stderr("somebody changed it");
    assert!(!folder.join("output/diff.patch").exists());
    fs::write(&merge, good).unwrap();
    env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
}
