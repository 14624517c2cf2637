//! What the configuration does to orchestrations: how strict an assessment is, which licences are fine, when a task is left
//! alone, where logs go, and whether goals are split at all. A workspace can tighten each of these and loosen none.

use std::fs;
use std::path::{Path, PathBuf};

use holon_testkit::{TestEnv, TestWorkspace, for_each_identity};

use crate::stage::{
    AGENT, BIN, attempts, children, goal, last, orchestration, plan, read, repo, repo_named, run_of, task,
};

const LOOSE: &str = "[modes.ethical]\nstrict = false\n";

fn one_task() -> String {
    plan(&[task("one", "code", &[])])
}

fn configure(env: &TestEnv, text: &str) {
    env.write("config/holon/config.toml", text);
}

/// A repository whose assessor says nothing.
fn unassessed(env: &TestEnv, script: &str) -> TestWorkspace {
    repo(env, &one_task(), &[("one", script), ("ethical", "rm -f $out/ethics.json $out/ethics.md")])
}

#[test]
fn without_strict_the_checks_decide_alone_and_the_report_says_so() {
    let env = TestEnv::new(BIN);
    configure(&env, LOOSE);
    let repo = unassessed(&env, "echo one > one.txt");
    goal(&env, &repo, &["--quiet"]).run().assert_code(0);
    let (folder, _) = last(&env);
    assert!(folder.join("output/diff.patch").exists());
    let report = read(&folder.join("output/ethics.json"));
    let said = report["approval_justification"].as_str().unwrap();
    assert!(said.contains("strict is off, so the checks decide alone"), "{said}");
    let text = fs::read_to_string(folder.join("output/ethics.md")).unwrap();
    assert!(text.contains("| model-assessment | unverified | medium |"), "{text}");
}

#[test]
fn inv_12_without_strict_what_the_host_finds_and_what_a_model_refuses_still_block() {
    let plant = "printf 'aws_access_key_id = \"AKIA%s\"\\n' Q3EGRSTJ4OXDNWAB > keys.py";
    let refuses = "sed -i -e 's/\"low\"/\"high\"/' -e 's/true/false/' $out/ethics.json; exit 3";
    for (script, assessor) in [(plant, "rm -f $out/ethics.json"), ("echo one > one.txt", refuses)] {
        let env = TestEnv::new(BIN);
        configure(&env, LOOSE);
        let repo = repo(&env, &one_task(), &[("one", script), ("ethical", assessor)]);
        goal(&env, &repo, &["--quiet", "--allow-sensitive"]).run().assert_code(2);
        let (folder, _) = last(&env);
        assert!(!folder.join("output/diff.patch").exists(), "{script}");
    }
}

#[test]
fn inv_15_a_workspace_cannot_loosen_the_assessment() {
    let env = TestEnv::new(BIN);
    let text = "[modes.ethical]\nstrict = false\n[ethics]\nlicences = [\"GPL-3.0-only\"]\n[modes]\nv2_enabled = false\n";
    let repo = unassessed(&env, "echo one > one.txt").file("holon.toml", text);
    let output = goal(&env, &repo, &[]).run();
    output
        .assert_code(2)
        .assert_stderr("`modes.ethical.strict = false` is not for a workspace to say (only `true` is)");
    output.assert_stderr("`modes.v2_enabled = false` is not for a workspace to say");
    output.assert_stderr("is not for a workspace to say; it is not used");
    assert_eq!(
        output.stderr.matches("strict = false`").count(),
        1,
        "told once, however many tasks there are"
    );
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["mode"], "orchestrate");
    assert!(!folder.join("output/diff.patch").exists());
}

#[test]
fn a_licence_a_person_takes_lets_a_dependency_in() {
    let script = "printf '[package]\\nname = \"x\"\\nlicense = \"MIT\"\\n[dependencies]\\ncopyleft = \"1\"\\n' > Cargo.toml";
    for (config, code) in [("", 2), ("[ethics]\nlicences = [\"GPL-3.0-only\"]\n", 0)] {
        let env = TestEnv::new(BIN);
        configure(&env, config);
        env.write(
            "home/.cargo/registry/src/index-1/copyleft-1.0.0/Cargo.toml",
            "[package]\nname = \"copyleft\"\nversion = \"1.0.0\"\nlicense = \"GPL-3.0-only\"\n",
        );
        let repo = repo(&env, &one_task(), &[("one", script)]);
        let repo = repo.file("Cargo.toml", "[package]\nname = \"x\"\nlicense = \"MIT\"\n").commit("a crate");
        let output = goal(&env, &repo, &["--quiet", "--no-auto-checks"]).run();
        output.assert_code(code);
        let folder = run_of(&env, &repo);
        assert_eq!(folder.join("output/diff.patch").exists(), code == 0, "{config}");
    }
}

#[test]
fn the_breaker_is_as_patient_as_the_configuration_says() {
    let env = TestEnv::new(BIN);
    configure(&env, "[breaker]\nfailures = 2\ncool_down_seconds = 86400\n");
    let repo = repo(&env, &one_task(), &[("one", "exit 3")]);
    // The third try of the task finds its breaker open.
    goal(&env, &repo, &["--quiet"]).run().assert_code(1).assert_stderr("failed 2 times in a row");
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["error"]["kind"], "breaker_open");
    assert_eq!(attempts(&orchestration(&folder), "one").len(), 3);
    let again = || env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path());
    again().run().assert_code(1).assert_stderr("not tried again before");
    // A workspace may be less patient, and not more; a variable is a person's word.
    fs::write(repo.join("holon.toml"), "[breaker]\ncool_down_seconds = 0\nfailures = 90\n").unwrap();
    again().run().assert_code(1).assert_stderr("not tried again before");
    let trial = again().env("HOLON_BREAKER__COOL_DOWN_SECONDS", "0").run();
    trial.assert_code(1).assert_stderr("the agent exited with code 3");
}

fn entries(folder: &Path) -> Vec<String> {
    let list = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = list.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn logs_go_into_the_workspace_where_the_user_wants_them() {
    for_each_identity(BIN, |env| {
        configure(env, "[artifacts]\nlogs_dir = \"var/logs\"\n");
        let look = "ls var/logs > seen.txt 2> /dev/null; echo one > one.txt";
        let repo = repo(env, &one_task(), &[("one", look)]);
        goal(env, &repo, &["--quiet", "--verify", "full"]).run().assert_code(0);
        let logs = repo.join("var/logs");
        assert_eq!(entries(&logs), ["ethical", "ethics", "execute", "orchestrate"]);
        let (folder, manifest) = last(env);
        let id = manifest["run_id"].as_str().unwrap();
        let request: PathBuf = {
            let task = logs.join(format!("execute/{id}.one"));
            task.join(&entries(&task)[0])
        };
        assert_eq!(entries(&request), ["log.jsonl", "result.json", "summary.md"], "no patch among them");
        assert_eq!(entries(&logs.join(format!("ethics/{id}.ethical"))), ["ethics.json", "ethics.md"]);
        assert!(!env.state().join("holon/logs").exists(), "instead of the state folder");
        // No agent sees them, and none of it is in the patch.
        let patch = fs::read_to_string(folder.join("output/diff.patch")).unwrap();
        assert!(patch.contains("one.txt") && !patch.contains("var/logs"), "{patch}");
        assert!(!patch.contains("+orchestrate"), "{patch}");
        let ask = env.holon(["run", "--mode", "review", "--goal", "x", "--quiet", "--agent"]);
        ask.arg(env.agent("agent.sh", AGENT)).cwd(repo.path()).run().assert_code(0);
        assert_eq!(entries(&logs), ["ethical", "ethics", "execute", "orchestrate", "review"]);
    });
}

#[test]
fn inv_15_logs_never_leave_the_workspace_by_a_link_in_it() {
    let env = TestEnv::new(BIN);
    configure(&env, "[artifacts]\nlogs_dir = \"logs\"\n");
    let outside = env.write("work/outside/kept.txt", "kept\n").parent().unwrap().to_owned();
    let agent = env.agent("agent.sh", AGENT);
    let review = |repo: &TestWorkspace| {
        let call = env.holon(["run", "--mode", "review", "--goal", "x", "--quiet", "--agent"]).arg(&agent);
        call.cwd(repo.path()).run()
    };
    // The folder itself is a link: nothing starts. One below it is: the log is left out, and the run is not lost.
    let linked = env.repo_named("linked").symlink("logs", "../outside").commit("first");
    review(&linked).assert_code(64).assert_stderr("a link is not followed");
    let below = env.repo_named("below").symlink("logs/review", "../../outside").commit("first");
    review(&below).assert_code(0);
    assert_eq!(entries(&outside), ["kept.txt"]);
    // A workspace has no say in it.
    let env = TestEnv::new(BIN);
    let own = env.repo_named("own").file("holon.toml", "[artifacts]\nlogs_dir = \"logs\"\n").commit("first");
    let call =
        env.holon(["run", "--mode", "review", "--goal", "x", "--agent"]).arg(&agent).cwd(own.path()).run();
    call.assert_code(0).assert_stderr("is not for a workspace to say");
    assert!(!own.join("logs").exists());
}

#[test]
fn with_orchestrate_switched_off_a_goal_is_a_single_run() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[("execute", "echo one > one.txt")]);
    configure(&env, "[modes.orchestrate]\nenabled = false\n");
    let output = goal(&env, &repo, &[]).run();
    output.assert_code(0).assert_stderr("modes.orchestrate.enabled is off");
    output.assert_stderr("a single run in mode code, without review and assessment");
    let (folder, manifest) = last(&env);
    assert_eq!((&manifest["mode"], children(&folder).len()), (&"execute".into(), 0));
    // Asked for by name, the mode is off; and what is not assessed has nothing to overrule.
    let named = env.holon(["run", "--mode", "orchestrate", "--goal", "x"]).cwd(repo.path()).run();
    named.assert_code(64).assert_stderr("the mode orchestrate is switched off by");
    goal(&env, &repo, &["--override-ethics", "I know what I do"]).run().assert_code(64);
}

#[test]
fn inv_15_a_workspace_that_switches_orchestrate_off_gets_no_run_without_assessment() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[("execute", "echo one > one.txt")]);
    let repo = repo.file("holon.toml", "[modes.orchestrate]\nenabled = false\n");
    let output = goal(&env, &repo, &[]).run();
    output
        .assert_code(64)
        .assert_stderr("the mode orchestrate is switched off by")
        .assert_stderr("holon.toml");
    assert!(env.runs().is_empty());
}

#[test]
fn without_modes_v2_goals_questions_and_improvements_are_single_runs_with_the_default_model() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[("execute", "echo one > one.txt")]);
    configure(&env, "[modes]\nv2_enabled = false\n[llm.default]\nmodel = \"anthropic/claude-sonnet-5.5\"\n");
    let agent = env.agent("agent.sh", AGENT);
    for args in [&["Make it better"][..], &["improve", "Better words"]] {
        let output = env.holon(args).arg("--agent").arg(&agent).cwd(repo.path()).run();
        output.assert_code(0).assert_stderr("modes.v2_enabled is off");
    }
    let modes: Vec<_> =
        env.runs().iter().map(|run| read(&run.join("output/manifest.json"))["mode"].clone()).collect();
    assert_eq!(modes, ["execute", "execute"]);

    let server = holon_testkit::model::ModelServer::play(
        holon_model::WireFormat::Chat,
        "- reply:\n    - text: It is a text file.\n    - tool: finish\n      args: { summary: A text file. }\n",
    );
    let ask = env.holon(["ask", "What is it?"]).cwd(repo.path()).env("HOLON_PROVIDER", "openrouter");
    let ask = ask.env("HOLON_BASE_URL", server.base()).env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").run();
    ask.assert_code(0).assert_stderr("modes.v2_enabled is off").assert_stdout("It is a text file.");
    assert_eq!(server.requests()[0].body["model"], "anthropic/claude-sonnet-5.5");
    let asked =
        env.runs().into_iter().map(|run| read(&run.join("output/manifest.json"))).filter(|manifest| {
            manifest["mode"] == "execute"
                && manifest["metadata"]["model"]["id"] == "anthropic/claude-sonnet-5.5"
        });
    assert_eq!(asked.count(), 1);
}

#[test]
fn matrix_ethical_guidelines_reach_the_assessor_and_one_that_is_broken_blocks() {
    let env = TestEnv::new(BIN);
    let assessor = r#"grep -q 'guideline-1 (.holon/guidelines.md): No tracking of people.' $in/context/checks.md || exit 3
        sed -i 's/"id":"guideline-1","status":"pass"/"id":"guideline-1","status":"fail"/' $out/ethics.json"#;
    let repo = repo(&env, &one_task(), &[("one", "echo one > one.txt"), ("ethical", assessor)]);
    let repo = repo.file(".holon/guidelines.md", "# Ours\n\n- No tracking of people.\n").commit("guidelines");
    goal(&env, &repo, &["--quiet"]).run().assert_code(2).assert_stderr("its own check `guideline-1` failed");
    let (folder, _) = last(&env);
    assert!(!folder.join("output/diff.patch").exists());
}

#[test]
fn a_guideline_that_is_not_answered_is_asked_for_again_and_then_blocks() {
    let env = TestEnv::new(BIN);
    let silent = r#"sed -i 's/"checks":.*$/"checks":[{"id":"guideline-1","status":"pass","detail":"Kept."}]}/' $out/ethics.json"#;
    // Whoever is told what is missing may add it.
    let told = r#"grep -rq 'it does not answer guideline-2' $in && exit 0
        "#
    .to_owned()
        + silent;
    for (assessor, code) in [(silent, 2), (told.as_str(), 0)] {
        let name = format!("repo{code}");
        let repo =
            repo_named(&env, &name, &one_task(), &[("one", "echo one > one.txt"), ("ethical", assessor)]);
        let rules = "# Ours\n\n- No tracking of people.\n- Say why.\n";
        let repo = repo.file(".holon/guidelines.md", rules).commit("guidelines");
        let output = goal(&env, &repo, &["--quiet"]).run();
        output.assert_code(code);
        let folder = run_of(&env, &repo);
        assert_eq!(folder.join("output/diff.patch").exists(), code == 0, "{}", output.stderr);
        let state = read(&folder.join("orchestrate.json"));
        let nodes = state["nodes"].as_array().unwrap();
        let tries =
            nodes.iter().find(|node| node["task"]["mode"] == "ethical").unwrap()["attempts"].as_array();
        assert_eq!(tries.unwrap().len(), if code == 0 { 2 } else { 3 }, "{state:#}");
        if code == 2 {
            output.assert_stderr("it does not answer guideline-2");
        }
    }
}

#[test]
fn what_was_assessed_before_is_told_to_whoever_assesses_next() {
    let env = TestEnv::new(BIN);
    let block = r#"sed -i 's/"is_approved":true/"is_approved":false/' $out/ethics.json"#;
    let repo = repo(&env, &one_task(), &[("one", "echo one > one.txt"), ("ethical", block)]);
    goal(&env, &repo, &["--quiet"]).run().assert_code(2);
    let (first, _) = last(&env);
    assert!(read(&first.join("output/ethics.json")).get("history").is_none());
    let id = first.file_name().unwrap().to_str().unwrap().to_owned();
    let sees = format!("grep -q 'block in {id}' $in/context/checks.md || exit 3");
    let repo = repo.file("script/ethical.sh", sees).commit("approves");
    goal(&env, &repo, &["--quiet"]).run().assert_code(0);
    let folder = env.runs().into_iter().find(|run| *run != first).unwrap();
    let history = read(&folder.join("output/ethics.json"))["history"].as_str().unwrap().to_owned();
    assert!(history.lines().next().unwrap().contains(&format!("block in {id} (")), "{history}");
}
