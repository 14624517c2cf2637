//! Every mode hands over what it must, and changes what it may.

use holon_testkit::{TestEnv, assert_unchanged, for_each_identity, tree_state};
use serde_json::Value;

use crate::stage::{BIN, artifact, ended, events, json, of_type, out, play, repo};

const PLAN: &str = "
- tool: report_plan
  args:
    goal: Make a.txt say two.
    context: It says one.
    steps: [{ id: edit, title: Edit a.txt, detail: Replace the word., files: [a.txt], checks: [grep two a.txt] }]
    risks: [None known.]
    verification: grep two a.txt
    acceptance: [a.txt says two]
";

const FINISH: &str = "- tool: finish\n  args: { summary: Handed over. }\n";

fn named(manifest: &Value) -> Vec<&str> {
    let artifacts = manifest["artifacts"].as_array().unwrap();
    let valid = artifacts.iter().filter(|a| a["valid"] == true);
    let mut paths: Vec<&str> = valid.map(|a| a["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn inv_01_plan_hands_over_a_plan_and_cannot_write() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let before = tree_state(repo.path());
        let script = format!(
            "- tool: execute\n  args: {{ command: \"cat a.txt; echo x > a.txt; touch b; git commit -qam evil\" }}\n\
             - expect: {{ last: [one, Read-only file system] }}\n  {}{FINISH}",
            PLAN.trim_start().trim_start_matches("- ")
        );
        let manifest = ended(env, &play(env, &repo, "plan", &script, &["--verify", "full"]), 0);
        assert_eq!(named(&manifest), ["plan.json", "plan.md", "summary.md"], "{manifest:#}");
        assert_eq!(manifest["metadata"]["workspace_access"], "read-only");
        assert_eq!(manifest["metadata"]["sandbox"]["enforced"]["tools"], true);
        let plan = artifact(env, "plan.md");
        for heading in ["Goal", "Context", "Steps", "Risks", "Verification"] {
            assert!(plan.contains(&format!("# {heading}")), "{plan}");
        }
        assert_eq!(json(env, "plan.json")["steps"][0]["files"][0], "a.txt");
        assert_unchanged(&before, repo.path());
    });
}

#[test]
fn a_plan_that_is_missing_is_asked_for_and_then_a_failure() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    // It is told once what is missing, and mends it.
    let forgets =
        format!("- text: It is simple.\n- expect: {{ last: [plan.md] }}\n  {}{FINISH}", &PLAN.trim()[2..]);
    let forgets = forgets.replace("a.txt says two]- tool", "a.txt says two]\n- tool");
    ended(&env, &play(&env, &repo, "plan", &forgets, &[]), 0);
    // It never hands it over: the host sends it back once, and then it is over.
    let never = "- text: No.\n".repeat(6);
    let manifest = ended(&env, &play(&env, &repo, "plan", &never, &[]), 1);
    assert_eq!(manifest["error"]["kind"], "artifact_missing", "{manifest:#}");
    assert_eq!(of_type(&events(&env), "repair_round").len(), 1);
    assert_eq!(of_type(&events(&env), "agent_started").len(), 2);
}

#[test]
fn architect_writes_documents_and_nothing_else() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a.txt", "one\n").file("docs/guide.md", "# Guide\n").commit("first");
        let before = tree_state(repo.path());
        let script = format!(
            "- tools:
    - write_file: {{ path: src/new.rs, content: x }}
    - edit_file: {{ path: a.txt, old: one, new: two }}
    - write_file: {{ path: docs/plan/design.md, content: \"# Design\\n\" }}
    - edit_file: {{ path: docs/guide.md, old: Guide, new: The guide }}
    - write_file: {{ path: docs/../b.txt, content: x }}
    - execute: {{ command: \"echo x > c.txt; echo y >> docs/guide.md\" }}
{PLAN}{FINISH}"
        );
        let manifest = ended(env, &play(env, &repo, "architect", &script, &[]), 0);
        assert_eq!(named(&manifest), ["diff.patch", "plan.json", "plan.md", "summary.md"], "{manifest:#}");
        let patch = artifact(env, "diff.patch");
        assert!(patch.contains("docs/plan/design.md") && patch.contains("+# The guide"), "{patch}");
        assert!(patch.contains("+y"), "{patch}");
        for outside in ["new.rs", "a.txt", "b.txt", "c.txt"] {
            assert!(!patch.contains(outside), "{patch}");
        }
        let events = events(env);
        let ok: Vec<bool> =
            of_type(&events, "tool_finished").iter().map(|e| e["ok"].as_bool().unwrap()).collect();
        assert_eq!(ok[..5], [false, false, true, true, false], "{events:#?}");
        assert_unchanged(&before, repo.path());
    });
}

const DEBUG: &str = "
- tool: execute
  args: { command: \"echo print >> a.txt && tail -1 a.txt\" }
- expect: { last: [print] }
  tool: report_debug
  args:
    hypotheses: [{ statement: The file is short., evidence: [tail shows it], status: confirmed }]
    experiments: [{ change: one line more, command: tail -1 a.txt, result: print }]
    root_cause: It was never finished.
    fix_proposal: Finish it.
- tool: finish
  args: { summary: Found it. }
";

#[test]
fn debug_throws_its_experiments_away_unless_asked() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let before = tree_state(repo.path());
        let manifest = ended(env, &play(env, &repo, "debug", DEBUG, &["--verify", "full"]), 0);
        assert_eq!(named(&manifest), ["debug.json", "summary.md"], "{manifest:#}");
        assert_eq!(json(env, "debug.json")["hypotheses"][0]["status"], "confirmed");
        assert!(artifact(env, "evidence/experiments.patch").contains("+print"));
        assert!(!out(env).join("diff.patch").exists());
        assert_unchanged(&before, repo.path());

        let manifest = ended(env, &play(env, &repo, "debug", DEBUG, &["--allow-writes"]), 0);
        assert_eq!(named(&manifest), ["debug.json", "diff.patch", "summary.md"], "{manifest:#}");
        assert!(artifact(env, "diff.patch").contains("+print"));
        assert_unchanged(&before, repo.path());
    });
}

#[test]
fn ethical_weighs_and_changes_nothing() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let before = tree_state(repo.path());
    let script = "
- tools:
    - write_file: { path: a.txt, content: x }
    - read_file: { path: a.txt }
- tool: report_ethics
  args:
    risk_level: medium
    is_approved: false
    approval_justification: It tracks people.
    principle_impacts: [{ principle: privacy, impact: negative, rationale: It keeps addresses. }]
    mitigations: [Keep nothing.]
    evidence: [{ kind: file, ref: \"a.txt:1\", excerpt: one }]
    checks: []
- tool: finish
  args: { summary: Not like this. }
";
    let manifest = ended(&env, &play(&env, &repo, "ethical", script, &[]), 0);
    assert_eq!(named(&manifest), ["ethics.json", "ethics.md", "summary.md"], "{manifest:#}");
    let ethics = json(&env, "ethics.json");
    assert_eq!((&ethics["is_approved"], &ethics["risk_level"]), (&false.into(), &"medium".into()));
    assert!(artifact(&env, "ethics.md").contains("It tracks people."));
    assert_unchanged(&before, repo.path());
}

#[test]
fn a_model_that_says_what_it_came_to_is_believed_when_that_is_bad() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    for (status, code, kind) in [("failed", 1, "agent_failed"), ("needs_person", 2, "needs_human")] {
        let script = format!("- tool: finish\n  args: {{ summary: I cannot., status: {status} }}\n");
        let manifest = ended(&env, &play(&env, &repo, "execute", &script, &[]), code);
        assert_eq!(manifest["error"]["kind"], kind, "{manifest:#}");
        assert!(manifest["error"]["message"].as_str().unwrap().contains("I cannot."));
    }
}
