//! The commands that lead to modes: a goal alone, improve, plan, ask.

use holon_testkit::TestEnv;

use crate::stage::{AGENT, BIN, children, last, plan, repo, task};

#[test]
fn a_goal_alone_is_an_orchestration_and_a_mistyped_command_is_not() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &plan(&[task("one", "review", &[])]), &[]);
    let agent = env.agent("agent.sh", AGENT);
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    holon(&["Look at it", "--quiet", "--agent", agent.to_str().unwrap()]).assert_code(0);
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["mode"], "orchestrate");
    assert!(!folder.join("output/diff.patch").exists(), "nothing was changed, so there is nothing to assess");
    let modes: Vec<String> = children(&folder).into_iter().map(|(mode, _)| mode).collect();
    assert_eq!(modes, ["orchestrate", "review"]);
    holon(&["imporve"]).assert_code(64).assert_stderr("did you mean `improve`?");
    // Headless and without a word there is nobody to ask.
    holon(&[]).assert_code(64).assert_stderr("Usage");
    holon(&["run", "--goal", "x", "--override-ethics", "because I say so"]).assert_code(64);
}

#[test]
fn improve_flows_run_through_orchestrate() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &plan(&[task("one", "code", &[])]), &[("one", "echo one > one.txt")]);
    let agent = env.agent("agent.sh", AGENT);
    let improve = env.holon(["improve", "Better words", "--agent"]).arg(&agent).cwd(repo.path()).run();
    improve.assert_code(0).assert_stdout("success orchestrate");
    let (folder, _) = last(&env);
    let modes: Vec<String> = children(&folder).into_iter().map(|(mode, _)| mode).collect();
    assert_eq!(modes, ["ethical", "execute", "orchestrate"]);
}

#[test]
fn plans_are_made_shown_and_reported() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let agent = env.agent("agent.sh", AGENT);
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    holon(&["plan", "show"]).assert_code(64).assert_stderr("there is no plan yet");
    holon(&["plan", "generate", "Plan it", "--quiet", "--agent", agent.to_str().unwrap()]).assert_code(0);
    assert_eq!(last(&env).1["mode"], "architect");
    holon(&["plan", "show"]).assert_code(0).assert_stdout("# Verification");
    holon(&["plan", "report"]).assert_code(0).assert_stdout("success architect").assert_stdout("Plan it");
    holon(&["plan", "report", "--json"]).assert_code(0).assert_stdout("\"mode\": \"architect\"");
}
