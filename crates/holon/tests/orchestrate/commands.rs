//! The commands that lead to modes: a goal alone, improve, plan, ask.

use std::fs;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, assert_unchanged, tree_state};
use serde_json::{Value, json};

use crate::stage::{AGENT, BIN, applied, children, last, orchestration, plan, read, repo, task};

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

/// `holon` without a word on a terminal, with this typed into it.
fn bare_on_a_terminal(env: &TestEnv, typed: &str) -> CommandEnd {
    let repo = repo(env, "{}", &[]);
    let keys = env.write("work/keys", typed);
    let line = format!("exec '{}'", env.binary().display());
    let call = env.program("script").args(["-q", "-e", "-c", &line, "/dev/null"]).stdin_from(keys);
    let call = call.env("SHELL", "/bin/sh").env("TERM", "dumb").cwd(repo.path());
    call.timeout(std::time::Duration::from_secs(60)).run()
}

#[test]
fn bare_holon_on_a_terminal_asks_for_a_goal_and_orchestrates_it() {
    let env = TestEnv::new(BIN);
    // There is no model here, so it ends soon; what was begun is what was typed.
    bare_on_a_terminal(&env, "Mend the parser\n").assert_stdout("What shall be done?");
    let (_, manifest) = last(&env);
    assert_eq!(manifest["mode"], "orchestrate");
    let record = crate::stage::read(&env.runs().last().unwrap().join("run.json"));
    assert_eq!(record["goal"], "Mend the parser");
    // Nothing typed is nothing wanted.
    let env = TestEnv::new(BIN);
    bare_on_a_terminal(&env, "\n").assert_code(0).assert_stdout("Usage");
    assert!(env.runs().is_empty());
}

#[test]
fn bare_holon_without_a_terminal_prints_help_and_exits_64() {
    let env = TestEnv::new(BIN);
    let output = env.holon::<[&str; 0], &str>([]).run();
    output.assert_code(64).assert_stderr("Usage").assert_stderr("Examples:");
    assert_eq!(output.stdout, "");
    assert!(env.runs().is_empty());
}

#[test]
fn matrix_improve_flows_run_through_orchestrate() {
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
    holon(&["plan", "show"]).assert_code(1).assert_stderr("has left a plan yet");
    holon(&["plan", "generate", "Plan it", "--quiet", "--agent", agent.to_str().unwrap()]).assert_code(0);
    assert_eq!(last(&env).1["mode"], "architect");
    holon(&["plan", "show"]).assert_code(0).assert_stdout("# Verification");
    holon(&["plan", "report"]).assert_code(0).assert_stdout("success architect").assert_stdout("Plan it");
    holon(&["plan", "report", "--json"]).assert_code(0).assert_stdout("\"mode\": \"architect\"");
}

/// Turns that answer and hand over this plan besides.
fn planning(tasks: &[Value]) -> String {
    let plan = json!({"name": "orchestration.json", "content": plan(tasks)});
    format!("- tool: report\n  args: {plan}\n- text: I will see to it.\n")
}

/// `holon ask` with tapes: the first answers, the others play the tasks it leads to.
fn ask(env: &TestEnv, repo: &TestWorkspace, first: &str) -> CommandEnd {
    let tape = env.write("work/tape.yaml", first);
    let code = "- { tool: write_file, args: { path: one.txt, content: one } }\n\
                - { tool: finish, args: { summary: Wrote it. } }\n";
    env.write("work/tape.one.yaml", code);
    let ethics = json!({"risk_level": "low", "is_approved": true, "approval_justification": "Harmless.",
        "principle_impacts": [{"principle": "safety", "impact": "none", "rationale": "A text file."}]});
    let ethics = format!(
        "- tool: report_ethics\n  args: {ethics}\n- tool: finish\n  args: {{ summary: Assessed. }}\n"
    );
    env.write("work/tape.ethical.yaml", ethics);
    env.holon(["ask", "Please write one.txt", "--quiet", "--replay"]).arg(tape).cwd(repo.path()).run()
}

#[test]
fn a_question_is_answered_and_starts_nothing() {
    // A plan without edits is no reason to start anything, nor is one that is none.
    let looks = planning(&[task("look", "review", &[])]);
    let wrong = planning(&[task("root", "root", &[])]);
    for answer in ["- text: It is a text file.\n", looks.as_str(), wrong.as_str()] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, "{}", &[]);
        let before = tree_state(repo.path());
        let output = ask(&env, &repo, answer);
        output.assert_code(0);
        assert_eq!(output.stdout.lines().count(), 1, "the answer and nothing else: {}", output.stdout);
        assert_unchanged(&before, repo.path());
        assert_eq!(env.runs().len(), 1, "{answer}");
        assert_eq!(last(&env).1["mode"], "ask");
    }
}

#[test]
fn code_children_start_when_the_plan_of_an_answer_names_edits() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let before = tree_state(repo.path());
    let output = ask(&env, &repo, &planning(&[task("one", "code", &[])]));
    output.assert_code(0).assert_stdout("I will see to it.").assert_stdout("success orchestrate");
    assert_unchanged(&before, repo.path());
    let runs = env.runs();
    let folder = runs.iter().find(|run| run.join("orchestrate.json").exists()).expect("an orchestration");
    assert_eq!(runs.len(), 2);
    let modes: Vec<String> = children(folder).into_iter().map(|(mode, _)| mode).collect();
    assert_eq!(modes, ["ethical", "execute"], "it was planned before, and is assessed");
    assert_eq!(orchestration(folder)["planned_by"], "model");
    let copy = applied(&env, &repo, &folder.join("output/diff.patch"));
    assert!(fs::read_to_string(copy.join("one.txt")).unwrap().starts_with("one"));
    // It can be gone on with like any other; this one is over.
    let id = read(&folder.join("output/manifest.json"))["run_id"].as_str().unwrap().to_owned();
    env.holon(["run", "--resume", &id]).cwd(repo.path()).run().assert_code(64).assert_stderr("is over");
}
