//! The whole story: a dependency, a conflict, a review that blocks, and one patch that applies.

use std::fs;

use holon_testkit::{TestEnv, assert_unchanged, for_each_identity, tree_state};
use serde_json::Value;

use crate::stage::{
    AGENT, BIN, applied, attempts, children, goal, last, orchestration, plan, read, repo, task,
};

/// Two tasks that change the same line, one that waits for both, and a review of it all that blocks once.
pub(crate) fn scripts() -> Vec<(&'static str, &'static str)> {
    vec![
        ("one", "sed -i 's/^line 1$/first/' a.txt; echo one > one.txt"),
        ("two", "sed -i 's/^line 1$/erste/' a.txt; echo two > two.txt"),
        ("two-conflict", "sed -i 's/^first$/first erste/' a.txt; echo two > two.txt"),
        ("three", "cat one.txt two.txt > three.txt"),
        (
            "check",
            "grep -q mended a.txt || echo '{\"verdict\":\"block\",\"findings\":[{\"path\":\"a.txt\",\"line\":9,\
             \"severity\":\"high\",\"category\":\"correctness\",\"title\":\"line nine\",\"body\":\"It is wrong.\",\
             \"confidence\":0.9,\"snippet\":\"line 9\"}]}' > $out/review.json",
        ),
        ("check-fix", "sed -i 's/^line 9$/mended/' a.txt"),
    ]
}

pub(crate) fn tasks() -> String {
    plan(&[
        task("one", "code", &[]),
        task("two", "code", &[]),
        task("three", "code", &["one", "two"]),
        task("check", "review", &["three"]),
    ])
}

/// What `a.txt` is when everything is done.
pub(crate) fn expected() -> String {
    let line = |n| match n {
        1 => "first erste\n".to_owned(),
        9 => "mended\n".to_owned(),
        n => format!("line {n}\n"),
    };
    (1..=9).map(line).collect()
}

#[test]
fn three_tasks_a_conflict_and_a_blocked_review_become_one_patch() {
    for_each_identity(BIN, |env| {
        let repo = repo(env, &tasks(), &scripts());
        let before = tree_state(repo.path());
        let out = env.work().join("out");
        let output = goal(env, &repo, &["--json", "--out", out.to_str().unwrap()]).run();
        output.assert_code(0);
        assert_unchanged(&before, repo.path());
        let (folder, manifest) = last(env);
        assert_eq!((&manifest["mode"], &manifest["outcome"]), (&"orchestrate".into(), &"success".into()));

        let report = orchestration(&folder);
        let row = |purpose: &str, mode: &str| (purpose.to_owned(), mode.to_owned(), "success".to_owned());
        assert_eq!(attempts(&report, "one"), [row("task", "execute")]);
        assert_eq!(attempts(&report, "two"), [row("task", "execute"), row("conflict", "execute")]);
        assert_eq!(attempts(&report, "three"), [row("task", "execute")]);
        let reviewed = [row("task", "review"), row("fix", "execute"), row("task", "review")];
        assert_eq!(attempts(&report, "check"), reviewed);
        assert_eq!(attempts(&report, "ethical"), [row("task", "ethical")], "what changes is assessed");
        let merges = report["merge_order"].as_array().unwrap();
        let order: Vec<(&str, &str)> =
            merges.iter().map(|m| (m["task"].as_str().unwrap(), m["how"].as_str().unwrap())).collect();
        assert_eq!(order, [("one", "clean"), ("two", "resolved"), ("three", "clean"), ("check", "clean")]);
        assert_eq!((&report["decision"]["is"], &report["planned_by"]), (&"approve".into(), &"model".into()));

        // One patch, and it leads to everything together.
        let copy = applied(env, &repo, &out.join("diff.patch"));
        let text = |name: &str| fs::read_to_string(copy.join(name)).unwrap();
        let expected = expected();
        assert_eq!(text("a.txt"), expected);
        assert_eq!(text("three.txt"), "one\ntwo\n");
        for name in
            ["orchestration.json", "summary.md", "review.json", "ethics.json", "ethics.md", "manifest.json"]
        {
            assert!(out.join(name).is_file(), "{name}");
        }
        assert!(out.join("evidence/steps/three/manifest.json").is_file());
        assert!(!folder.join("trunk").exists(), "the private copy goes");

        // Events: the plan, then the tasks; one end.
        let events = output.events();
        let planned = events.iter().find(|e| e["type"] == "tasks_planned").expect("a plan");
        assert_eq!(planned["tasks"].as_array().unwrap().len(), 5);
        let own = manifest["run_id"].as_str().unwrap();
        let ends = events.iter().filter(|e| e["type"] == "run_finished" && e["run"] == own).count();
        assert_eq!((ends, &events.last().unwrap()["run"]), (1, &own.into()));

        // Looked at and applied like any run.
        let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
        holon(&["runs", "show", "last"]).assert_code(0).assert_stdout("three").assert_stdout("ethical");
        holon(&["runs", "show", "last/three"]).assert_code(0).assert_stdout("success execute");
        holon(&["runs", "apply", "last"]).assert_code(0);
        assert_eq!(repo.read("a.txt"), expected.as_bytes());
        holon(&["audit", "verify"]).assert_code(0).assert_stdout("whole");
        env.assert_nothing_left();
    });
}

#[test]
fn matrix_orchestrate_to_code_review_ethical() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[("execute", "echo done > done.txt")]);
    // A plan that is none is asked for once more, and then the usual one is taken.
    let output = goal(&env, &repo, &["--quiet"]).run();
    output.assert_code(0);
    let (folder, manifest) = last(&env);
    let report = orchestration(&folder);
    assert_eq!(report["planned_by"], "default");
    assert!(report["plan_problem"].as_str().is_some_and(|text| !text.is_empty()), "{report:#}");
    let modes: Vec<String> = children(&folder).into_iter().map(|(mode, _)| mode).collect();
    assert_eq!(modes, ["architect", "ethical", "execute", "orchestrate", "review"]);
    let patch = fs::read_to_string(folder.join("output/diff.patch")).unwrap();
    assert!(patch.contains("docs/design.md") && patch.contains("done.txt"), "{patch}");

    // Each left a log of its own, with the fields that are promised, and its permissions.
    let id = manifest["run_id"].as_str().unwrap();
    let state = env.state().join("holon");
    for (mode, access, report) in [
        ("architect", "scoped", "plan.md"),
        ("execute", "rw", "summary.md"),
        ("review", "read-only", "review.json"),
        ("ethical", "read-only", "ethics.json"),
    ] {
        let tasks: Vec<_> =
            fs::read_dir(state.join("logs").join(mode)).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(tasks.len(), 1, "{mode}");
        assert!(tasks[0].file_name().unwrap().to_string_lossy().starts_with(id), "{mode}");
        let request = fs::read_dir(&tasks[0]).unwrap().next().unwrap().unwrap().path();
        let lines = fs::read_to_string(request.join("log.jsonl")).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &lines {
            for field in ["at", "mode", "request_id", "task_id", "intent", "step"] {
                assert!(line[field].is_string(), "{field}: {line}");
            }
        }
        assert_eq!(lines[0]["envelope"]["permissions"]["access"]["kind"], access, "{mode}");
        let end = lines.last().unwrap();
        assert!(end["timings"]["duration_ms"].is_u64() && end["decision"]["is"].is_string(), "{end}");
        assert_eq!(read(&request.join("result.json"))["success"], true);
        assert!(request.join(report).is_file(), "{mode} leaves its {report} beside its log");
        assert!(!request.join("diff.patch").exists(), "{mode}");
    }
    assert!(state.join("logs/ethics").is_dir());
    let own = state.join("logs/orchestrate").join(format!("{id}.orchestrate"));
    let request = fs::read_dir(own).unwrap().next().unwrap().unwrap().path();
    let log = fs::read_to_string(request.join("log.jsonl")).unwrap();
    let end: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(end["child_tasks"].as_array().map(Vec::len), Some(4), "{end}");
}

#[test]
fn ignore_rules_from_above_the_workspace_hold_for_every_task() {
    let env = TestEnv::new(BIN);
    let tasks = plan(&[task("one", "code", &[]), task("two", "code", &["one"])]);
    let repo = env
        .repo()
        .file(".gitignore", "*.log\n")
        .file("part/a.txt", "a\n")
        .file("part/script/plan.json", tasks)
        .file("part/script/one.sh", "echo one > one.txt; echo x > one.log")
        .file("part/script/two.sh", "echo two > two.txt; echo x > two.log")
        .commit("first");
    let agent = env.agent("agent.sh", AGENT);
    let call = env.holon(["Make it better", "--quiet", "--agent"]).arg(agent).cwd(repo.join("part"));
    call.run().assert_code(0);
    let patch = fs::read_to_string(last(&env).0.join("output/diff.patch")).unwrap();
    // The second one works on the private copy.
    assert!(patch.contains("one.txt") && patch.contains("two.txt"), "{patch}");
    assert!(!patch.contains(".log"), "{patch}");
}
