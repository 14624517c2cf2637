//! Reports that runners leave in files: cases and lines that ran, read only from what the check's own run wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_testkit::{TestEnv, TestWorkspace};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// A suite that prints nothing and writes its cases to the file it is given.
const SUITE: &str = r#"mkdir -p "$(dirname "$1")"
case_of() { grep -q "$1" a.txt && echo "<testcase classname=\"t\" name=\"$1\"/>" || echo "<testcase classname=\"t\" name=\"$1\"><failure/></testcase>"; }
printf '<testsuite>%s%s%s</testsuite>' "$(case_of one)" "$(case_of two)" "$(case_of word)" > "$1"
! grep -q failure "$1"
"#;

const USUAL: &str = "sh suite.sh build/test-results/test/TEST-t.xml";

fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo().file("a.txt", "one word\n").file("suite.sh", SUITE).commit("first")
}

fn run(env: &TestEnv, repo: &TestWorkspace, agent: &str, more: &[&str]) -> Value {
    let script = format!("#!/bin/sh\n{agent}\necho done > \"$HOLON_OUTPUT_DIR/summary.md\"\n");
    let agent = env.agent("agent.sh", &script);
    let out = env.work().join("out");
    let call = env.holon(["run", "--goal", "x", "--no-auto-checks", "--agent"]).arg(&agent).cwd(repo.path());
    let output = call.arg("--out").arg(&out).args(more).run();
    let manifest = output.manifest(&out);
    env.holon(["runs", "verify"]).arg(&out).cwd(repo.path()).run().assert_code(0);
    manifest["metadata"]["verification"].clone()
}

#[test]
fn cases_come_from_the_files_that_the_check_wrote() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let known = run(&env, &repo, "sed -i s/one/two/ a.txt", &["--check", USUAL]);
    let check = &known["checks"][0];
    assert_eq!((&check["cases"]["passed"], &check["cases"]["failed"]), (&2.into(), &1.into()), "{known:#}");
    assert_eq!(check["differences"]["broken"], serde_json::json!(["t.one"]), "{known:#}");
    assert_eq!(check["differences"]["fixed"], serde_json::json!(["t.two"]), "{known:#}");

    // A place of one's own has to be named, and nothing is read that is not.
    let own = "sh suite.sh own/cases.xml";
    let known = run(&env, &repo, "echo two >> a.txt", &["--check", own]);
    assert!(known["checks"][0]["cases"].is_null(), "{known:#}");
    let known = run(&env, &repo, "echo two >> a.txt", &["--check", own, "--check-report", "own/*.xml"]);
    assert_eq!(known["checks"][0]["cases"]["passed"], 3, "{known:#}");
    let wrong = env.holon(["run", "--goal", "x", "--check-report", "a[", "--dry-run"]).cwd(repo.path()).run();
    wrong.assert_code(64).assert_stderr("is no pattern for files");
}

#[test]
fn inv_18_reports_that_were_there_before_the_check_ran_say_nothing() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let green = "<testsuite><testcase name=\"all\"/><testcase name=\"good\"/></testsuite>";
    let repo = repo.file("build/test-results/old.xml", green);
    let planted = format!(
        "mkdir -p build/test-results; echo '{green}' > build/test-results/new.xml; echo two >> a.txt"
    );
    // In the workspace, in the change, and left by an earlier check of the same tree: none is this check's own.
    let known = run(
        &env,
        &repo,
        &planted,
        &[
            "--check",
            "true",
            "--check",
            USUAL,
            "--check",
            "touch build/test-results/old.xml build/test-results/new.xml",
        ],
    );
    let cases: Vec<&Value> = (0..3).map(|number| &known["checks"][number]["cases"]).collect();
    assert!(cases[0].is_null() && cases[2].is_null(), "{known:#}");
    assert_eq!(cases[1]["passed"], 3, "{known:#}");
}

/// Writes down that the first line of `calc.py` ran, and that lines 2 and 4 did not.
const COVERED: &str =
    "printf 'TN:\\nSF:%s/src/calc.py\\nDA:1,1\\nDA:2,0\\nDA:4,0\\nend_of_record\\n' \"$PWD\" > lcov.info";

#[test]
fn changed_lines_that_no_test_ran_are_in_the_manifest_and_can_be_verified() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("src/calc.py", "one = 1\nold = 1\n").commit("first");
    let agent = "printf 'one = 1\\nnew = 2\\n# three\\nfour = 4\\n' > src/calc.py";
    let known = run(&env, &repo, agent, &["--check", COVERED]);
    assert_eq!(
        known["coverage"],
        serde_json::json!({"lines": 2, "ran": 0, "not_run": [{"path": "src/calc.py", "lines": [[2, 2], [4, 4]]}]}),
        "{known:#}"
    );
    // Without a report nothing is said, and one that was there before the check says nothing.
    let planted = format!("{agent}; {COVERED}");
    let known = run(&env, &repo, &planted, &["--check", "true"]);
    assert!(known["coverage"].is_null(), "{known:#}");
}
