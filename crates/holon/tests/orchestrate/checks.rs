//! Changes that are each right alone and wrong together: the host checks them joined, before anything goes out.

use std::fs;

use holon_testkit::{TestEnv, TestWorkspace, for_each_identity};

use crate::stage::{BIN, applied, attempts, goal, last, orchestration, plan, read, repo, task};

/// Passes with either file, and with both only when they are held together.
const TOGETHER: &str = "echo looked; ! [ -f one.txt ] || ! [ -f two.txt ] || [ -f glue.txt ]";
/// Both tasks at once, and a review of the whole.
const TASKS: [(&str, &str); 2] = [("one", "echo one > one.txt"), ("two", "echo two > two.txt")];

fn tasks() -> String {
    plan(&[task("one", "code", &[]), task("two", "code", &[]), task("look", "review", &["one", "two"])])
}

fn scene(env: &TestEnv, more: &[(&str, &str)]) -> TestWorkspace {
    repo(env, &tasks(), &[&TASKS[..], &[("together", TOGETHER)], more].concat())
}

fn purposes(folder: &std::path::Path) -> Vec<(String, String)> {
    let rows = attempts(&orchestration(folder), "checks");
    rows.into_iter().map(|(purpose, _, outcome)| (purpose, outcome)).collect()
}

fn row(purpose: &str, outcome: &str) -> (String, String) {
    (purpose.to_owned(), outcome.to_owned())
}

#[test]
fn what_is_green_alone_and_red_together_is_mended_before_it_goes_out() {
    for_each_identity(BIN, |env| {
        // Whoever mends is told what failed and what it printed.
        let mend = "grep -q 'together.sh` exited with 1' $in/context/failed-checks.md || exit 3
            grep -q looked $in/context/failed-checks.md || exit 4
            grep -q two.txt $in/context/changes.patch || exit 5
            echo glue > glue.txt";
        let repo = scene(env, &[("checks-fix", mend)]);
        let output = goal(env, &repo, &["--json", "--check", "sh script/together.sh"]).run();
        output.assert_code(0);
        let (folder, manifest) = last(env);
        // Each child was checked alone, and nobody reviewed or assessed what was red.
        let report = orchestration(&folder);
        for task in ["one", "two", "look", "ethical"] {
            assert_eq!(attempts(&report, task).len(), 1, "{task}");
        }
        assert_eq!(
            purposes(&folder),
            [row("task", "failure"), row("fix", "success"), row("task", "success")]
        );
        let verification = &manifest["metadata"]["verification"];
        assert_eq!(verification["state"], "verified", "{manifest:#}");
        let steps = manifest["metadata"]["flow"]["steps"].as_array().unwrap();
        assert!(steps.iter().any(|step| step["name"] == "checks" && step["mode"] == "check"), "{steps:#?}");
        let events = output.events();
        let at = |kind: &str, step: &str| {
            events.iter().position(|e| e["type"] == kind && e["step"] == step).expect("an event")
        };
        assert!(at("step_finished", "checks") < at("step_started", "look"));
        let copy = applied(env, &repo, &folder.join("output/diff.patch"));
        assert!(["one.txt", "two.txt", "glue.txt"].iter().all(|name| copy.join(name).is_file()));
        env.assert_nothing_left();
    });
}

#[test]
fn what_stays_red_together_is_tried_twice_and_then_it_has_failed() {
    let env = TestEnv::new(BIN);
    let repo = scene(&env, &[("checks-fix", "echo again >> one.txt")]);
    let output = goal(&env, &repo, &["--apply", "--check", "sh script/together.sh"]).run();
    output.assert_code(1).assert_stderr("checks: the check `sh script/together.sh` exited with 1");
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["error"]["kind"], "check_failed", "{manifest:#}");
    assert_eq!(manifest["metadata"]["verification"]["state"], "failed");
    assert_eq!(purposes(&folder), [row("task", "failure"), row("fix", "failure"), row("fix", "failure")]);
    assert!(!folder.join("output/diff.patch").exists() && !repo.join("one.txt").exists());
    let withheld = fs::read_to_string(folder.join("evidence/withheld.patch")).unwrap();
    assert!(withheld.contains("one.txt") && withheld.contains("two.txt"), "{withheld}");

    // A person mends what was in the way, and it goes on where it was.
    fs::write(repo.join("script/checks-fix.sh"), "echo glue > glue.txt").unwrap();
    env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
    assert_eq!(last(&env).1["metadata"]["verification"]["state"], "verified");
    assert_eq!(attempts(&orchestration(&folder), "one").len(), 1);
}

#[test]
fn a_check_that_fits_the_repository_counts_unless_it_failed_before() {
    let check = |test: &str, code: i32| {
        let env = TestEnv::new(BIN);
        let repo = scene(&env, &[("checks-fix", "echo glue > glue.txt")]);
        let repo = repo.file("Makefile", format!("test:\n\t{test}\n"));
        let output = goal(&env, &repo, &[]).run();
        output.assert_code(code);
        let (folder, manifest) = last(&env);
        (output, purposes(&folder), manifest["metadata"]["verification"]["checks"][0].clone())
    };
    let (_, mended, ran) = check("@sh script/together.sh", 0);
    assert_eq!(mended, [row("task", "failure"), row("fix", "success"), row("task", "success")]);
    assert_eq!((&ran["command"], &ran["origin"]), (&"make test".into(), &"found".into()), "{ran}");
    let (output, left_alone, ran) = check("@false", 0);
    assert_eq!(left_alone, [row("task", "success")]);
    assert_eq!(ran["exit_code"], 2, "it is told all the same");
    output.assert_stderr("fails with the changes, and without them");
}

#[test]
fn inv_18_no_child_defines_the_check_of_the_whole() {
    let env = TestEnv::new(BIN);
    // Red together, and the second child makes the check forget it.
    let gut = ("two", "echo two > two.txt; echo 'exit 0' > script/together.sh");
    let repo = repo(&env, &tasks(), &[TASKS[0], gut, ("together", TOGETHER)]);
    let output = goal(&env, &repo, &["--apply", "--check", "sh script/together.sh"]).run();
    assert_ne!(output.code, 0, "{output:?}");
    let (folder, manifest) = last(&env);
    assert_ne!(manifest["metadata"]["verification"]["state"], "verified", "{manifest:#}");
    assert!(!repo.join("two.txt").exists(), "nothing is applied");
    assert!(
        !folder.join("output/diff.patch").exists() || manifest["outcome"] == "needs_human",
        "{manifest:#}"
    );
}

#[test]
fn killed_while_it_is_checked_it_goes_on_with_the_check() {
    let env = TestEnv::new(BIN);
    let wait =
        "[ -f script/block ] && [ -f one.txt ] && [ -f two.txt ] && { echo checking; exec sleep 600; }; true";
    let repo = repo(&env, &tasks(), &[&TASKS[..], &[("slow", wait)]].concat()).file("script/block", "");
    let mut running = goal(&env, &repo, &["--json", "--check", "sh script/slow.sh"]).spawn();
    running.wait_for_text("\"step_started\",\"step\":\"checks\"");
    running.kill();
    env.assert_nothing_left();
    let (folder, _) = last(&env);
    fs::remove_file(repo.join("script/block")).unwrap();
    env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
    let report = orchestration(&folder);
    assert_eq!((attempts(&report, "one").len(), attempts(&report, "two").len()), (1, 1));
    assert_eq!(purposes(&folder).last(), Some(&row("task", "success")));
    assert_eq!(read(&folder.join("output/manifest.json"))["metadata"]["verification"]["state"], "verified");
}

#[test]
fn a_review_is_told_which_changed_lines_no_test_ran() {
    let env = TestEnv::new(BIN);
    let tests =
        "mkdir -p coverage; printf 'SF:one.txt\\nDA:1,1\\nDA:2,0\\nend_of_record\\n' > coverage/lcov.info";
    let look = "grep -q '^- one.txt 2 (one)' $in/context/lines-no-test-ran.md || exit 3";
    for (covered, code) in [(tests, 0), ("true", 3)] {
        let env = if code == 0 { &env } else { &TestEnv::new(BIN) };
        let scripts = [("one", "printf 'a\\nb\\n' > one.txt"), ("look", look), ("together", covered)];
        let tasks = plan(&[task("one", "code", &[]), task("look", "review", &["one"])]);
        let repo = repo(env, &tasks, &scripts);
        let output = goal(env, &repo, &["--check", "sh script/together.sh"]).run();
        let (folder, manifest) = last(env);
        let outcome = attempts(&orchestration(&folder), "look").pop().unwrap().2;
        // Without a report there is nothing to be told.
        assert_eq!(outcome == "success", code == 0, "{outcome}: {}{manifest:#}", output.stderr);
    }
}
