//! What is told of a run is true, and what changes its meaning is told, also to those who want to hear little.

use std::fs;

use holon_testkit::TestEnv;
use serde_json::Value;

use super::{BIN, SUMMARY};

fn manifest(env: &TestEnv) -> Value {
    serde_json::from_slice(&fs::read(env.work().join("out/manifest.json")).unwrap()).unwrap()
}

#[test]
fn uncommitted_work_is_told_as_far_as_it_was_looked_for() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").file("b.txt", "two\n").commit("first");
    let agent = env.agent("agent.sh", &format!("{SUMMARY}echo more >> a.txt\n"));
    let run = || {
        let call = env.holon(["run", "--goal", "x", "--out", "../out", "--agent"]).arg(&agent);
        call.cwd(repo.path()).run().assert_code(0);
        manifest(&env)["metadata"]["snapshot"].clone()
    };
    let clean = run();
    assert_eq!((&clean["dirty"], &clean["dirty_among"]), (&"no".into(), &"tracked".into()), "{clean}");
    fs::write(repo.join("b.txt"), "changed\n").unwrap();
    let dirty = run();
    assert_eq!((&dirty["dirty"], &dirty["dirty_files"]), (&"yes".into(), &1.into()), "{dirty}");
    // In a large repository the files that were changed are what is known.
    for number in 0..2_100 {
        fs::write(repo.join(format!("f{number}")), "x\n").unwrap();
    }
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "many"]);
    let large = run();
    assert_eq!((&large["dirty"], &large["dirty_among"]), (&"no".into(), &"touched".into()), "{large}");
    fs::write(repo.join("a.txt"), "changed by me\n").unwrap();
    let touched = run();
    assert_eq!((&touched["dirty"], &touched["dirty_files"]), (&"yes".into(), &1.into()), "{touched}");
}

#[test]
fn a_mode_that_throws_its_changes_away_tells_of_none() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let report = r#"{"hypotheses": [{"statement": "s", "evidence": ["e"], "status": "confirmed"}], "experiments": [], "root_cause": "r", "fix_proposal": "f"}"#;
    let script =
        format!("{SUMMARY}echo tried >> a.txt\necho '{report}' > \"$HOLON_OUTPUT_DIR/debug.json\"\n");
    let agent = env.agent("agent.sh", &script);
    let call = env.holon(["run", "--mode", "debug", "--goal", "x", "--out", "../out", "--agent"]).arg(agent);
    call.cwd(repo.path()).run().assert_code(0);
    let manifest = manifest(&env);
    assert_eq!(
        (&manifest["no_changes"], &manifest["metadata"]["changes"]["files"]),
        (&true.into(), &0.into())
    );
    assert!(manifest["metadata"]["snapshot"]["touched"].is_null(), "{manifest:#}");
    assert!(env.work().join("out/evidence/experiments.patch").is_file(), "the experiments are evidence");
}

#[test]
fn quiet_keeps_what_changes_the_meaning() {
    let env = TestEnv::new(BIN);
    let repo = env
        .repo()
        .file("a.txt", "one\n")
        .file("spec.yaml", "goal: x\noutput: {artefacts: []}\n")
        .commit("first");
    let agent = env.agent("agent.sh", SUMMARY);
    let call = env.holon(["run", "--quiet", "--spec", "spec.yaml", "--agent"]).arg(agent).cwd(repo.path());
    call.run().assert_code(0).assert_stderr("output.artefacts").assert_stderr("`artifacts`");
}

#[test]
fn a_damaged_manifest_is_called_damaged() {
    let env = TestEnv::new(BIN);
    env.leave_unverified("the manifest is damaged on purpose");
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let agent = env.agent("agent.sh", SUMMARY);
    env.holon(["run", "--goal", "x", "--agent"]).arg(agent).cwd(repo.path()).run().assert_code(0);
    fs::write(env.runs()[0].join("output/manifest.json"), "{\"schema_version\": ").unwrap();
    let show = env.holon(["runs", "show", "last"]).cwd(repo.path()).run();
    assert!(
        show.code != 0 && show.stderr.contains("is damaged") && !show.stdout.contains("running"),
        "{show:?}"
    );
    env.holon(["runs", "list"]).cwd(repo.path()).run().assert_code(0).assert_stdout("damaged");
}

#[test]
fn a_mode_without_its_prompt_is_no_mode() {
    let env = TestEnv::new(BIN);
    let mode = "name = \"docs\"\nextends = \"architect\"\n[prompt]\nfile = \"docs.md\"\n";
    let repo = env.repo().file(".holon/modes/docs.toml", mode).commit("first");
    let check = env.holon(["modes", "check"]).cwd(repo.path()).run();
    check.assert_code(1).assert_stdout("docs.md");
    fs::write(repo.join(".holon/modes/docs.md"), "# Docs\n").unwrap();
    env.holon(["modes", "check"]).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn what_is_refused_as_wider_names_the_way() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let call = env.holon(["run", "--goal", "x", "--max-rounds", "500000"]).cwd(repo.path());
    call.run().assert_code(64).assert_stderr("widen = true");
}

#[test]
fn a_wrong_value_of_the_workspace_is_told_and_stops_nobody() {
    let env = TestEnv::new(BIN);
    let repo =
        env.repo().file("a.txt", "one\n").file("holon.toml", "[models]\nbase_url = 7\n").commit("first");
    let agent = env.agent("agent.sh", SUMMARY);
    let call = env.holon(["run", "--goal", "x", "--agent"]).arg(agent).cwd(repo.path());
    call.run().assert_code(0).assert_stderr("models.base_url").assert_stderr("not used");
}
