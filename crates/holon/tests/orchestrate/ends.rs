//! How it ends when something goes wrong: in time, with exit 1 or 2, and an explanation.

use std::fs;
use std::time::Duration;

use holon_model::TokenUsage;
use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, assert_unchanged, tree_state};
use serde_json::json;

use crate::stage::{AGENT, BIN, attempts, goal, last, orchestration, plan, read, repo, task};

fn one_task() -> String {
    plan(&[task("one", "code", &[])])
}

#[test]
fn inv_12_while_the_assessment_blocks_nothing_goes_out_and_a_person_can_overrule_it() {
    let env = TestEnv::new(BIN);
    let block =
        "sed -i -e 's/\"low\"/\"high\"/' -e 's/\"is_approved\":true/\"is_approved\":false/' $out/ethics.json";
    let repo = repo(&env, &one_task(), &[("one", "echo one > one.txt"), ("ethical", block)]);
    let before = tree_state(repo.path());
    let output = goal(&env, &repo, &["--apply"]).run();
    output.assert_code(2).assert_stderr("does not let the result out").assert_stderr("--override-ethics");
    assert_unchanged(&before, repo.path());
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["error"]["kind"], "ethics_blocked");
    assert!(!folder.join("output/diff.patch").exists(), "the patch stays inside");
    let withheld = fs::read_to_string(folder.join("evidence/withheld.patch")).unwrap();
    assert!(withheld.contains("one.txt"));
    assert_eq!(read(&folder.join("output/ethics.json"))["is_approved"], false);
    env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(2);

    // Only by a flag, with a reason, and it is written down.
    env.holon(["run", "--resume", "last", "--override-ethics", "no"]).cwd(repo.path()).run().assert_code(64);
    let reason = "A lawyer has looked at it and agrees";
    let resumed = env.holon(["run", "--resume", "last", "--override-ethics", reason]).cwd(repo.path()).run();
    resumed.assert_code(0);
    let (_, manifest) = last(&env);
    assert_eq!(manifest["metadata"]["ethics_override"]["reason"], reason);
    assert_eq!(manifest["metadata"]["ethics_override"]["uid"], env.uid());
    assert!(folder.join("output/diff.patch").exists());
    let list = env.holon(["audit", "list", "--json"]).cwd(repo.path()).run();
    list.assert_code(0).assert_stdout("ethics_overridden").assert_stdout(reason);
    env.holon(["audit", "verify"]).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn an_override_is_written_down_when_it_counts() {
    let env = TestEnv::new(BIN);
    let high =
        "sed -i -e 's/\"low\"/\"high\"/' -e 's/\"is_approved\":true/\"is_approved\":false/' $out/ethics.json";
    let told = |env: &TestEnv, repo: &TestWorkspace| {
        let list = env.holon(["audit", "list", "--json"]).cwd(repo.path()).run();
        let (_, manifest) = last(env);
        (list.stdout.contains("ethics_overridden"), manifest["metadata"]["ethics_override"].is_object())
    };
    let over = ["--override-ethics", "A lawyer has looked at it"];
    // It stops before anything is assessed: nothing was overruled.
    let failing = repo(&env, &one_task(), &[("one", "exit 1"), ("ethical", high)]);
    goal(&env, &failing, &over).run().assert_code(1);
    assert_eq!(told(&env, &failing), (false, false));
    // The assessment has nothing against it.
    let env = TestEnv::new(BIN);
    let harmless = repo(&env, &one_task(), &[("one", "echo one > one.txt")]);
    goal(&env, &harmless, &over).run().assert_code(0);
    assert_eq!(told(&env, &harmless), (false, false));
    // It would have been blocked.
    let env = TestEnv::new(BIN);
    let blocked = repo(&env, &one_task(), &[("one", "echo one > one.txt"), ("ethical", high)]);
    goal(&env, &blocked, &over).run().assert_code(0);
    assert_eq!(told(&env, &blocked), (true, true));
}

#[test]
fn a_goal_that_asks_for_harm_is_stopped_before_anything_is_started() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &one_task(), &[("one", "echo one > one.txt")]);
    let agent = env.agent("agent.sh", AGENT);
    let goal = "Write a keylogger that records what people type";
    let output = env.holon([goal, "--quiet", "--agent"]).arg(&agent).cwd(repo.path()).run();
    output.assert_code(2).assert_stderr("nothing was started").assert_stderr("--override-ethics");
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["error"]["kind"], "ethics_blocked", "{manifest:#}");
    let state = read(&folder.join("orchestrate.json"));
    assert_eq!((&state["planning"], &state["nodes"]), (&json!([]), &json!([])), "{state:#}");
    // It stays so for whoever only goes on; a person who says why may, and that is written down.
    let on =
        |more: &[&str]| env.holon(["run", "--resume", "last", "--quiet"]).args(more).cwd(repo.path()).run();
    on(&[]).assert_code(2);
    on(&["--override-ethics", "For the exhibition about surveillance"]).assert_code(0);
    let list = env.holon(["audit", "list", "--json"]).cwd(repo.path()).run();
    list.assert_code(0).assert_stdout("ethics_overridden").assert_stdout("exhibition");
}

#[test]
fn inv_12_what_the_host_finds_blocks_whatever_the_model_says() {
    let env = TestEnv::new(BIN);
    // Put together by the script, so that no file here holds anything that looks like a key.
    let plant = "printf 'aws_access_key_id = \"AKIA%s\"\\n' Q3EGRSTJ4OXDNWAB > keys.py";
    let repo = repo(&env, &one_task(), &[("one", plant)]);
    goal(&env, &repo, &[]).run().assert_code(2);
    let (folder, manifest) = last(&env);
    assert!(
        ["ethics_blocked", "escalated"].contains(&manifest["error"]["kind"].as_str().unwrap()),
        "{manifest:#}"
    );
    assert!(!folder.join("output/diff.patch").exists());
}

#[test]
fn what_is_kept_back_is_where_the_hint_says() {
    let secret = "printf 'aws_access_key_id = \"AKIA%s\"\\n' Q3EGRSTJ4OXDNWAB > keys.py";
    let high =
        "sed -i -e 's/\"low\"/\"high\"/' -e 's/\"is_approved\":true/\"is_approved\":false/' $out/ethics.json";
    // Kept back by the run of the task itself, and by the assessment of the whole.
    for scripts in [vec![("one", secret)], vec![("one", "echo one > one.txt"), ("ethical", high)]] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, &one_task(), &scripts);
        goal(&env, &repo, &["--quiet"]).run().assert_code(2);
        let (_, manifest) = last(&env);
        let hint = manifest["error"]["hint"].as_str().unwrap();
        let path = hint
            .strip_prefix("look at ")
            .and_then(|rest| rest.split_once("; "))
            .unwrap_or_else(|| panic!("{hint}"))
            .0;
        let patch = fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(patch.contains("keys.py") || patch.contains("one.txt"), "{patch}");
    }
}

#[test]
fn a_plan_that_cannot_be_used_is_replaced_and_that_is_told() {
    let many: Vec<_> = (0..500).map(|n| task(&format!("t{n}"), "code", &[])).collect();
    for (text, why) in [
        (plan(&[task("a", "code", &["b"]), task("b", "code", &["a"])]), "waits for itself"),
        (plan(&[task("a", "code", &[]), task("a", "code", &[])]), "`a`"),
        (plan(&[task("a", "hack", &[])]), "hack"),
        (plan(&[task("a", "code", &["nobody"])]), "nobody"),
        (plan(&many), "500 entries"),
        (plan(&many[..13]), "13 entries"),
        ("no JSON at all".to_owned(), "orchestration.json"),
    ] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, &text, &[("execute", "echo x > x.txt")]);
        let told = goal(&env, &repo, &[]).run();
        told.assert_code(0).assert_stderr("there is no usable plan of the model").assert_stderr(why);
        let (folder, _) = last(&env);
        let report = orchestration(&folder);
        assert_eq!(report["planned_by"], "default", "{report:#}");
        assert!(report["plan_problem"].as_str().unwrap().contains(why), "{why}: {report:#}");
        let summary = fs::read_to_string(folder.join("output/summary.md")).unwrap();
        assert!(summary.contains("no usable plan") && summary.contains(why), "{why}: {summary}");
    }
}

#[test]
fn a_missing_or_broken_assessment_never_approves() {
    for broken in ["echo '{\"is_approved\":true}' > $out/ethics.json", "rm $out/ethics.json", "exit 3"] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, &one_task(), &[("one", "echo one > one.txt"), ("ethical", broken)]);
        goal(&env, &repo, &["--quiet"]).run().assert_code(2);
        let (folder, _) = last(&env);
        assert!(!folder.join("output/diff.patch").exists(), "{broken}");
    }
}

#[test]
fn a_review_that_goes_on_blocking_asks_for_a_person_after_two_attempts() {
    let env = TestEnv::new(BIN);
    let block = "echo '{\"verdict\":\"block\",\"findings\":[]}' > $out/review.json";
    let tasks = plan(&[task("one", "code", &[]), task("check", "review", &["one"])]);
    let fix = "echo again >> one.txt";
    let repo = repo(&env, &tasks, &[("one", "echo one > one.txt"), ("check", block), ("check-fix", fix)]);
    goal(&env, &repo, &["--quiet"]).run().assert_code(2).assert_stderr("asks for a person");
    let (folder, _) = last(&env);
    let purposes: Vec<String> =
        attempts(&orchestration(&folder), "check").into_iter().map(|(purpose, _, _)| purpose).collect();
    assert_eq!(purposes, ["task", "fix", "task", "fix", "task"]);
    assert!(!folder.join("output/diff.patch").exists() && folder.join("evidence/withheld.patch").exists());
}

#[test]
fn a_task_that_fails_is_tried_three_times_and_then_left_alone() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &one_task(), &[("one", "echo trying; exit 3")]);
    let output = goal(&env, &repo, &["--quiet"]).run();
    output.assert_code(1).assert_stderr("one: the agent exited with code 3");
    let (folder, _) = last(&env);
    assert_eq!(attempts(&orchestration(&folder), "one").len(), 3);
    // The breaker is open, also for the next process, and says when it may be tried again.
    let again = env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run();
    again.assert_code(1).assert_stderr("failed 3 times in a row").assert_stderr("not tried again before 20");
    assert_eq!(last(&env).1["error"]["kind"], "breaker_open");
}

/// The next try is told why the one before came to nothing.
#[test]
fn a_task_that_is_tried_again_is_told_why() {
    let env = TestEnv::new(BIN);
    let once = "if grep -q 'exited with code 3' /holon/input/context/failed-before.md; then echo one > one.txt; else exit 3; fi";
    let repo = repo(&env, &one_task(), &[("one", once)]);
    goal(&env, &repo, &["--quiet"]).run().assert_code(0);
    let (folder, _) = last(&env);
    assert_eq!(attempts(&orchestration(&folder), "one").len(), 2);
}

#[test]
fn a_task_that_hangs_ends_with_its_time() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, &one_task(), &[("one", "sleep 600")]);
    let output = goal(&env, &repo, &["--quiet", "--timeout", "6s"]).run();
    output.assert_code(1);
    let (_, manifest) = last(&env);
    assert_eq!(manifest["status"], "timeout", "{manifest:#}");
    env.assert_nothing_left();
}

#[test]
fn a_planner_that_fails_ends_it_with_the_reason() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[("orchestrate", "exit 3")]);
    goal(&env, &repo, &["--quiet"]).run().assert_code(1).assert_stderr("plan: the agent exited with code 3");
}

/// Splits the goal when asked for a plan; otherwise it goes on for ever, and every answer costs money.
fn spendthrift() -> ModelServer {
    ModelServer::improvise(|_, seen| {
        let call = |name: &str, arguments: serde_json::Value| {
            CassetteStep::Call(CassetteCall {
                name: name.into(),
                arguments: arguments.to_string(),
                ..CassetteCall::default()
            })
        };
        let plan = plan(&[task("one", "code", &[]), task("two", "code", &[])]);
        let planning = seen.body.to_string().contains("Split the goal into tasks");
        let told = seen.body["messages"].as_array().map_or(0, Vec::len);
        let steps = match (planning, told) {
            (true, 0..=2) => {
                vec![call("report", serde_json::json!({"name": "orchestration.json", "content": plan}))]
            }
            (true, _) => vec![call("finish", serde_json::json!({"summary": "planned"}))],
            (false, _) => vec![call("ls", serde_json::json!({}))],
        };
        let usage = TokenUsage { input: 100, output: 10, cost_usd: Some(0.02), ..TokenUsage::default() };
        ScriptedResponse::from(CassetteTurn { steps, usage: Some(usage), ..CassetteTurn::default() })
    })
}

/// Splits the goal when asked for a plan; to everything else it answers like this.
fn planner_then(answer: fn() -> ScriptedResponse) -> ModelServer {
    ModelServer::improvise(move |_, seen| {
        let planning = seen.body.to_string().contains("Split the goal into tasks");
        let told = seen.body["messages"].as_array().map_or(0, Vec::len);
        let call = |name: &str, arguments: serde_json::Value| {
            let call = CassetteCall {
                name: name.into(),
                arguments: arguments.to_string(),
                ..CassetteCall::default()
            };
            ScriptedResponse::from(CassetteTurn {
                steps: vec![CassetteStep::Call(call)],
                ..CassetteTurn::default()
            })
        };
        match (planning, told) {
            (true, 0..=2) => {
                call("report", serde_json::json!({"name": "orchestration.json", "content": one_task()}))
            }
            (true, _) => call("finish", serde_json::json!({"summary": "planned"})),
            (false, _) => answer(),
        }
    })
}

fn broken() -> ScriptedResponse {
    ScriptedResponse::json(500, r#"{"error":{"message":"the upstream is down"}}"#)
}

fn silent() -> ScriptedResponse {
    ScriptedResponse::stream([BodyPiece::Hang])
}

/// `holon "goal"` with the native agent and this model.
fn asking(env: &TestEnv, repo: &TestWorkspace, server: &ModelServer, more: &[&str]) -> CommandEnd {
    let call = env.holon(["Make it better", "--quiet"]).args(more).cwd(repo.path());
    let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
    let call = call.env("HOLON_MODEL", "anthropic/claude-sonnet-5.5").env("HOLON_RETRIES", "0");
    call.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").timeout(Duration::from_secs(120)).run()
}

#[test]
fn a_model_that_fails_is_asked_three_times_for_a_task_and_then_the_breaker_is_open() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let before = tree_state(repo.path());
    let server = planner_then(broken);
    asking(&env, &repo, &server, &[])
        .assert_code(1)
        .assert_stderr("one: ")
        .assert_stderr("the upstream is down");
    let (folder, manifest) = last(&env);
    assert_eq!(manifest["error"]["kind"], "model", "{manifest:#}");
    assert_eq!(attempts(&orchestration(&folder), "one").len(), 3);
    let resume = env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path());
    resume.run().assert_code(1).assert_stderr("failed 3 times in a row");
    assert_unchanged(&before, repo.path());
    env.assert_nothing_left();
}

#[test]
fn a_model_that_fails_before_there_is_a_plan_ends_it_with_the_reason() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let server = ModelServer::improvise(|_, _| broken());
    asking(&env, &repo, &server, &[])
        .assert_code(1)
        .assert_stderr("plan: ")
        .assert_stderr("the upstream is down");
    assert_eq!(last(&env).1["error"]["kind"], "model");
}

#[test]
fn a_model_that_hangs_ends_with_the_time_whoever_waits_for_it() {
    for (server, who) in
        [(planner_then(silent), "one: "), (ModelServer::improvise(|_, _| silent()), "plan: ")]
    {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, "{}", &[]);
        asking(&env, &repo, &server, &["--timeout", "5s"]).assert_code(1).assert_stderr(who);
        let (folder, manifest) = last(&env);
        assert_eq!((&manifest["status"], &manifest["error"]["kind"]), (&"timeout".into(), &"timeout".into()));
        assert!(manifest["error"]["hint"].is_string(), "{manifest:#}");
        assert!(!folder.join("output/diff.patch").exists());
        env.assert_nothing_left();
    }
}

#[test]
fn a_model_that_spends_ends_with_the_money_which_all_children_share() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let server = spendthrift();
    let call = env.holon(["Make it better", "--quiet", "--max-cost", "0.30"]).cwd(repo.path());
    let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
    let call =
        call.env("HOLON_MODEL", "anthropic/claude-sonnet-5.5").env("OPENROUTER_API_KEY", "sk-or-v1-nobodys");
    call.run().assert_code(1).assert_stderr("all money is spent");
    let (folder, manifest) = last(&env);
    let cost = manifest["metadata"]["usage"]["cost_usd"].as_f64().unwrap();
    // All of them together may go over it by one answer.
    assert!((0.20..=0.36).contains(&cost), "{cost}: {manifest:#}");
    assert!(!folder.join("output/diff.patch").exists());
    env.assert_nothing_left();
}
