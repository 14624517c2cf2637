//! Stopped, cut short or killed: the run goes on where it was.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use holon_testkit::wait_until;
use serde_json::Value;

use crate::scene::{CHECK, FINISH, REPAIR, SupervisedRunScene, exec, times, turns, write};

const PATIENCE: Duration = Duration::from_secs(30);

/// shows: user_checkpoint, checkpoint_resumed, message
#[test]
fn a_stopped_run_goes_on_with_what_a_person_says() {
    let scene = SupervisedRunScene::new();
    let first =
        turns(&[write("docs/new.md", "kept"), exec("chmod +x Makefile; ln -s a.txt src/link; rm docs/c.md")]);
    let heard = "- { expect: { last: [goes on, write the word good] }, tool: read_file, args: { path: docs/new.md } }\n";
    // Two turns, then the check in vain until the budget is spent: the number of rounds is the supervisor's.
    let lost = format!("{first}{}", times(30, &exec(CHECK)));
    let stopped = scene.play("Fix src/a.txt", &lost, &[]);
    stopped.assert(2, &["recovery_budget:rounds"]);
    let rounds = stopped.supervisor()["rounds"].as_u64().unwrap() as usize;
    scene.env.write(
        "work/turns.yaml",
        format!("{first}{}{heard}{REPAIR}{FINISH}", times(rounds - 2, &exec(CHECK))),
    );
    let output = scene.holon(&["run", "--resume", "last", "--message", "write the word good"]);
    let resumed = scene.last(output);
    resumed.assert(0, &["checkpoint_resumed:stop_lifted"]);
    let patch = fs::read_to_string(resumed.folder.join("output/diff.patch")).unwrap();
    for part in ["+kept", "old mode 100644", "src/link", "deleted file", "+good"] {
        assert!(patch.contains(part), "{part} is not in {patch}");
    }
    // Two starts and the end of the first are in the audit log, and the manifest says where it ended then.
    assert_eq!(
        resumed.manifest["metadata"]["audit"]["length"], 3,
        "{:#}",
        resumed.manifest["metadata"]["audit"]
    );
    scene.holon(&["audit", "verify"]).assert_code(0).assert_stdout("whole: 4 entries");
    assert!(resumed.has("checkpoint_resumed"));
    scene.holon(&["run", "--resume", "last"]).assert_code(1).assert_stderr("has done its work");
    scene.holon(&["runs", "replay", "last"]).assert_code(1).assert_stderr("went on from");
}

#[test]
fn a_stopped_run_with_a_red_check_asks_a_person_and_is_not_applied_unasked() {
    let scene = SupervisedRunScene::new();
    let lost = format!("- {}\n{}", write("src/b.txt", "kept"), times(30, &exec(CHECK)));
    let stopped = scene.play("Fix src/a.txt", &lost, &["--check", CHECK]);
    stopped.assert(2, &["recovery_budget:rounds"]);
    assert_eq!(stopped.manifest["error"]["kind"], "checkpoint", "{:#}", stopped.manifest["error"]);
    let refused = scene.holon(&["runs", "apply", "last"]);
    refused.assert_code(1).assert_stderr("is not applied").assert_stderr(CHECK);
}

/// shows: kill_minus_nine
#[test]
fn a_killed_run_goes_on_from_its_last_round() {
    let scene = SupervisedRunScene::new();
    let first = turns(&[write("docs/new.md", "kept"), exec("echo ready > /holon/output/ready; sleep 60")]);
    let file = scene.env.write("work/turns.yaml", &first);
    let running = scene.call("Fix src/a.txt", &[]).arg("--replay").arg(&file).spawn();
    let ready = || scene.env.runs().first().is_some_and(|run| run.join("layers/output/ready").exists());
    assert!(wait_until(PATIENCE, ready), "the second round is under way");
    running.kill();
    scene.env.write("work/turns.yaml", format!("- {}\n{REPAIR}{FINISH}", write("docs/new.md", "kept")));
    let resumed = scene.last(scene.holon(&["run", "--resume", "last"]));
    resumed.assert(0, &[]);
    let patch = fs::read_to_string(resumed.folder.join("output/diff.patch")).unwrap();
    assert!(patch.contains("+kept") && patch.contains("+good"), "{patch}");
}

/// shows: outdated_base
#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let scene = SupervisedRunScene::new();
    let lost = format!("- {}\n{}", write("docs/c.md", "mine"), times(30, &exec(CHECK)));
    scene.play("Fix src/a.txt", &lost, &[]).assert(2, &[]);
    scene.put("docs/c.md", "theirs\n");
    scene.holon(&["run", "--resume", "last"]).assert_code(1).assert_stderr("docs/c.md");
}

#[test]
fn a_flow_whose_last_step_stopped_goes_on_with_that_step() {
    let scene = SupervisedRunScene::new();
    let plan = "- tool: report_plan\n  args: { goal: g, context: c, steps: [{ id: one, title: t, detail: d }], risks: [r], verification: v }\n";
    scene.env.write("work/turns.plan.yaml", format!("{plan}{FINISH}"));
    let first = turns(&[write("docs/new.md", "kept")]);
    let execute = |rest: &str| scene.env.write("work/turns.execute.yaml", format!("{first}{rest}"));
    execute(&times(30, &exec(CHECK)));
    let file = scene.env.work().join("turns.yaml");
    let flow =
        ["--mode", "plan-then-execute", "--gate", "auto", "--quiet", "--replay", file.to_str().unwrap()];
    scene.call("Fix src/a.txt", &flow).run().assert_code(2).assert_stderr("stopped to ask a person");
    let folder = scene.newest();
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let steps = || read(folder.join("output/manifest.json"))["metadata"]["flow"]["steps"].clone();
    assert_eq!((&steps()[0]["outcome"], &steps()[1]["outcome"]), (&"success".into(), &"needs_human".into()));

    let run = steps()[1]["run_id"].as_str().unwrap().to_owned();
    let store = fs::read_dir(folder.join("steps")).unwrap().next().unwrap().unwrap().path();
    let stopped = read(store.join("runs").join(&run).join("output/manifest.json"));
    let rounds = stopped["metadata"]["supervisor"]["rounds"].as_u64().unwrap() as usize;
    let heard = "- { expect: { last: [goes on, write the word good] }, tool: read_file, args: { path: docs/new.md } }\n";
    execute(&format!("{}{heard}{REPAIR}{FINISH}", times(rounds - 1, &exec(CHECK))));
    let resume = ["run", "--resume", "last", "--quiet", "--message", "write the word good"];
    scene.holon(&resume).assert_code(0);
    assert_eq!((&steps()[0]["attempts"], &steps()[1]["attempts"]), (&1.into(), &2.into()), "{:#}", steps());
    assert_ne!(steps()[1]["run_id"], run.as_str());
    let patch = fs::read_to_string(folder.join("output/diff.patch")).unwrap();
    assert!(patch.contains("+kept") && patch.contains("+good"), "{patch}");
    scene.holon(&["run", "--resume", "last"]).assert_code(64).assert_stderr("is over");
}
