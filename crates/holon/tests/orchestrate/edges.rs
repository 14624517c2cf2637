//! The edges of single runs in mode code, to review and ethical; and tasks that name who does them.

use std::fs;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace};
use serde_json::Value;

use crate::stage::{AGENT, BIN, applied, children, goal, last, orchestration, plan, repo, task};

const CODE: (&str, &str) = ("execute", "echo one > one.txt");
const HIGH: (&str, &str) = (
    "ethical",
    "sed -i -e 's/\"low\"/\"high\"/' -e 's/\"is_approved\":true/\"is_approved\":false/' $out/ethics.json",
);

fn single(env: &TestEnv, repo: &TestWorkspace, more: &[&str]) -> CommandEnd {
    let agent = env.agent("agent.sh", AGENT);
    env.holon(["run", "--goal", "Make it better", "--agent"]).arg(agent).args(more).cwd(repo.path()).run()
}

fn configure(env: &TestEnv, text: &str) {
    env.write("config/holon/config.toml", text);
}

fn modes(env: &TestEnv) -> Vec<String> {
    children(&last(env).0).into_iter().map(|(mode, _)| mode).collect()
}

#[test]
fn a_single_run_is_assessed_by_flag_and_by_setting() {
    for (flags, config) in [(&["--assess"][..], ""), (&[], "[modes.code]\nassess = true\n")] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, "{}", &[CODE]);
        configure(&env, config);
        // Nobody in the repository can switch it off.
        env.write(repo.join("holon.toml"), "[modes.code]\nassess = false\n");
        let output = single(&env, &repo, flags);
        output.assert_code(0).assert_stderr("is not for a workspace to say");
        assert_eq!(modes(&env), ["ethical", "execute"]);
        let (folder, manifest) = last(&env);
        assert_eq!((&manifest["outcome"], manifest["error"].is_null()), (&"success".into(), true));
        assert!(folder.join("output/ethics.json").is_file());
        assert!(applied(&env, &repo, &folder.join("output/diff.patch")).join("one.txt").is_file());
        env.assert_nothing_left();
    }
}

#[test]
fn inv_17_what_the_assessment_of_a_single_run_blocks_stays_inside_until_a_person_overrules_it() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[CODE, HIGH]);
    let blocked = single(&env, &repo, &["--assess", "--apply"]);
    blocked.assert_code(2).assert_stderr("does not let the result out");
    let (folder, _) = last(&env);
    assert!(!folder.join("output/diff.patch").exists() && folder.join("evidence/withheld.patch").exists());
    assert!(!repo.join("one.txt").exists());
    env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(2);
    env.holon(["runs", "apply", "last/code"]).cwd(repo.path()).run().assert_code(2);
    let over = ["run", "--resume", "last", "--quiet", "--override-ethics", "A lawyer has looked at it"];
    env.holon(over).cwd(repo.path()).run().assert_code(0);
    env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
    assert!(repo.join("one.txt").is_file());
}

#[test]
fn a_review_of_a_single_run_has_its_findings_mended_before_the_assessment() {
    let env = TestEnv::new(BIN);
    let review = (
        "review",
        "grep -q again one.txt || echo '{\"verdict\":\"block\",\"findings\":[{\"severity\":\"high\",\"path\":\"one.txt\",\"line\":1,\"title\":\"x\",\"body\":\"y\"}]}' > $out/review.json",
    );
    let repo = repo(&env, "{}", &[CODE, review, ("-fix", "echo again >> one.txt")]);
    configure(&env, "[modes.code]\nreview = true\n");
    single(&env, &repo, &[]).assert_code(0);
    assert_eq!(modes(&env), ["ethical", "execute", "execute", "review", "review"]);
    let (folder, _) = last(&env);
    let copy = applied(&env, &repo, &folder.join("output/diff.patch"));
    assert_eq!(fs::read_to_string(copy.join("one.txt")).unwrap(), "one\nagain\n");
    env.assert_nothing_left();
}

#[test]
fn a_single_run_that_fails_is_one_run_also_with_its_edges() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[("execute", "exit 3")]);
    single(&env, &repo, &["--review"]).assert_code(1).assert_stderr("the agent exited with code 3");
    assert_eq!(modes(&env), ["execute"]);
    assert_eq!(orchestration(&last(&env).0)["replans"], Value::Null);
}

#[test]
fn edges_are_refused_where_they_have_no_effect() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[CODE]);
    for (flags, reason) in [
        (&["--assess", "--mode", "review"][..], "--assess is for single runs in mode code, not for review"),
        (&["--review", "--mode", "orchestrate"], "an orchestration is always assessed"),
        (&["--assess", "--mode", "plan-then-execute"], "not for plan-then-execute"),
    ] {
        single(&env, &repo, flags).assert_code(64).assert_stderr(reason);
    }
    assert!(env.runs().is_empty());
}

#[test]
fn a_task_is_done_by_the_agent_that_its_plan_names() {
    let env = TestEnv::new(BIN);
    let named = |id: &str, agent: &str| {
        let mut task = task(id, "code", &[]);
        task["agent"] = agent.into();
        task
    };
    let tasks = plan(&[task("one", "code", &[]), named("two", "second")]);
    let repo = repo(&env, &tasks, &[("one", "echo one > one.txt")]);
    env.write(
        repo.join("script/second.sh"),
        "echo by the second > two.txt; echo x > /holon/output/summary.md\n",
    );
    let agent = "name = \"second\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"script/second.sh\"]\n";
    env.write("config/holon/agents/second.toml", agent);
    let output = goal(&env, &repo, &["--json"]).run();
    output.assert_code(0);
    let (folder, _) = last(&env);
    let copy = applied(&env, &repo, &folder.join("output/diff.patch"));
    assert_eq!(fs::read_to_string(copy.join("two.txt")).unwrap(), "by the second\n");
    let agents: Vec<(String, String)> = output
        .events()
        .iter()
        .filter(|event| event["type"] == "task_progress" && event["action"] == "starts")
        .map(|event| {
            (event["step"].as_str().unwrap().to_owned(), event["agent"].as_str().unwrap().to_owned())
        })
        .collect();
    assert!(agents.contains(&("two".to_owned(), "second".to_owned())), "{agents:?}");
    assert!(agents.contains(&("one".to_owned(), "agent.sh".to_owned())), "{agents:?}");
    env.assert_nothing_left();
}
