//! Money of orchestrations: how far it goes, what is said of it, and that nothing is paid for twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holon_model::TokenUsage;
use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use holon_testkit::{Invocation, TestEnv, TestWorkspace, wait_until};
use serde_json::{Value, json};

use crate::replan::{kill_points, succeeded};
use crate::stage::{BIN, attempts, last, orchestration, read, repo, task};

/// What was asked, in order; each answer but a refusal is paid for.
#[derive(Clone, Default)]
struct PaidRequests(Arc<Mutex<Vec<String>>>);

impl PaidRequests {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn len(&self) -> usize {
        self.all().len()
    }
}

/// Carries out a plan: every task writes its file in a few rounds, and every answer costs so much. The model
/// `acme/refuses` declines, which costs nothing; whoever plans the rest gives the task to another.
fn provider(plan: &[Value], cost_usd: Option<f64>) -> (ModelServer, PaidRequests) {
    let (first, paid) = (plan.to_vec(), PaidRequests::default());
    let heard = paid.clone();
    let server = ModelServer::improvise(move |_, seen| {
        let body = seen.body.to_string();
        if seen.body["model"] == "acme/refuses" {
            return ScriptedResponse::json(400, r#"{"error":{"message":"this model does not do that"}}"#);
        }
        heard.0.lock().unwrap().push(body.clone());
        let call = |name: &str, arguments: Value| {
            let call = CassetteCall {
                name: name.into(),
                arguments: arguments.to_string(),
                ..CassetteCall::default()
            };
            let usage = TokenUsage { input: 100, output: 10, cost_usd, ..TokenUsage::default() };
            ScriptedResponse::from(CassetteTurn {
                steps: vec![CassetteStep::Call(call)],
                usage: Some(usage),
                ..CassetteTurn::default()
            })
        };
        let finish = || call("finish", json!({"summary": "Done."}));
        let round = seen.body["messages"].as_array().map_or(0, Vec::len);
        if body.contains("Split the goal into tasks") {
            if round > 2 {
                return finish();
            }
            let mut tasks = first.clone();
            if body.contains("Plan the rest of the work again") {
                tasks.iter_mut().for_each(|task| drop(task.as_object_mut().unwrap().remove("model")));
            }
            let content = json!({ "tasks": tasks }).to_string();
            return call("report", json!({"name": "orchestration.json", "content": content}));
        }
        if body.contains("# Mode: ethical") {
            if round > 2 {
                return finish();
            }
            let impact = json!({"principle": "safety", "impact": "none", "rationale": "A text file."});
            let report = json!({"risk_level": "low", "is_approved": true,
                "approval_justification": "Harmless.", "principle_impacts": [impact]});
            return call("report_ethics", report);
        }
        let id = body
            .split("TASK:")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .unwrap_or("unknown")
            .to_owned();
        match round {
            ..=2 => call("write_file", json!({"path": format!("{id}.txt"), "content": id})),
            3..=5 => call("read_file", json!({"path": "a.txt"})),
            6..=7 => call("ls", json!({})),
            _ => finish(),
        }
    });
    (server, paid)
}

fn asking(call: Invocation, server: &ModelServer) -> Invocation {
    let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
    let call = call.env("HOLON_MODEL", "anthropic/claude-sonnet-5.5").env("HOLON_RETRIES", "0");
    call.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").timeout(Duration::from_secs(120))
}

fn goal(env: &TestEnv, repo: &TestWorkspace, server: &ModelServer, more: &[&str]) -> Invocation {
    asking(env.holon(["Make it better"]).args(more).cwd(repo.path()), server)
}

fn resume(env: &TestEnv, repo: &TestWorkspace, server: &ModelServer, more: &[&str]) -> Invocation {
    asking(env.holon(["run", "--resume", "last", "--quiet"]).args(more).cwd(repo.path()), server)
}

fn side_by_side(count: usize) -> Vec<Value> {
    (0..count).map(|n| task(&format!("t{n}"), "code", &[])).collect()
}

/// What the state says was spent, and the sum of what it says of each run.
#[track_caller]
fn counted_once(folder: &Path) -> f64 {
    let state = read(&folder.join("orchestrate.json"));
    let nodes = [&state["nodes"], &state["dropped"], &state["left"]["nodes"]];
    let of_tasks = nodes.into_iter().flat_map(|nodes| nodes.as_array().into_iter().flatten());
    let of_tasks = of_tasks.flat_map(|node| node["attempts"].as_array().unwrap());
    let all = state["planning"].as_array().unwrap().iter().chain(of_tasks);
    let cost = |attempt: &Value| {
        attempt["end"]["cost_usd"].as_f64().or(attempt["killed_cost_usd"].as_f64()).unwrap_or(0.0)
    };
    let sum: f64 = all.map(cost).sum();
    let spent = state["spent_usd"].as_f64().unwrap();
    assert!((spent - sum).abs() < 1e-9, "{spent} spent, {sum} by its runs: {state:#}");
    let manifest = read(&folder.join("output/manifest.json"));
    let told = manifest["metadata"]["usage"]["cost_usd"].as_f64().unwrap_or(0.0);
    assert!((spent - told).abs() < 1e-9, "{spent} spent, {told} in the manifest");
    spent
}

#[test]
fn children_side_by_side_overspend_by_one_request_at_most() {
    for (tasks, cost, limit) in [(4, 0.3, 0.6), (4, 0.3, 1.0), (3, 0.25, 2.0), (2, 0.4, 3.0)] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, "{}", &[]);
        let (server, paid) = provider(&side_by_side(tasks), Some(cost));
        let more = ["--quiet", "--max-cost", &limit.to_string()];
        goal(&env, &repo, &server, &more).run();
        let charged = paid.len() as f64 * cost;
        assert!(charged <= limit + cost + 1e-9, "{charged} of {limit}");
        assert!(charged >= limit / 2.0, "{charged} of {limit}: it was to come near");
        let spent = counted_once(&last(&env).0);
        assert!((spent - charged).abs() < 1e-9, "{spent} counted, {charged} paid");
    }
}

#[test]
fn whoever_gives_more_money_goes_on_and_nothing_is_paid_for_twice() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let tasks = [task("one", "code", &[]), task("two", "code", &["one"])];
    let (server, paid) = provider(&tasks, Some(0.1));
    // Two requests for the plan, four for the first task, and one or two of the second.
    let stopped = goal(&env, &repo, &server, &["--quiet", "--max-cost", "0.35"]).run();
    stopped.assert_code(1).assert_stderr("all money is spent").assert_stderr("--max-cost USD");
    let (folder, _) = last(&env);
    let before = paid.len();
    resume(&env, &repo, &server, &["--max-cost", "0.2"]).run().assert_code(64).assert_stderr("spent already");
    resume(&env, &repo, &server, &["--max-cost", "26"]).run().assert_code(64).assert_stderr("mode allows");
    assert_eq!(paid.len(), before, "nothing was asked");
    resume(&env, &repo, &server, &["--max-cost", "5"]).run().assert_code(0);
    let report = orchestration(&folder);
    assert_eq!(report["decision"]["is"], "approve", "{report:#}");
    let all = paid.all();
    let different: BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "no request was sent twice");
    // The task that was cut short went on with its conversation: its first request was sent once.
    let first = |body: &&String| {
        let body: Value = serde_json::from_str(body).unwrap();
        body["messages"].as_array().unwrap().len() <= 2
            && body.to_string().contains("TASK:one")
            && !body.to_string().contains("Mode: ethical")
    };
    assert_eq!(all.iter().filter(first).count(), 1, "{report:#}");
    let spent = counted_once(&folder);
    assert!((spent - all.len() as f64 * 0.1).abs() < 1e-9, "{spent} of {}", all.len());
    assert_eq!(read(&folder.join("orchestrate.json"))["max_cost_usd"], 5.0);
    assert!(report["estimate"]["usd"].as_f64().is_some_and(|told| told > 0.2), "{report:#}");
    let summary = fs::read_to_string(folder.join("output/summary.md")).unwrap();
    assert!(summary.contains("It was estimated to cost"), "{summary}");
}

#[test]
fn a_limit_that_cannot_hold_is_said_before_anything_is_asked() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let (server, _) = provider(&side_by_side(2), None);
    let call = env.holon(["Make it better", "--json", "--max-cost", "0.5"]).cwd(repo.path());
    let call = call.env("HOLON_BASE_URL", server.base()).env("HOLON_MODEL", "scripted-model");
    let output = call.env("HOLON_RETRIES", "0").timeout(Duration::from_secs(120)).run();
    output.assert_code(0);
    let events = output.events();
    let warns = |event: &Value| {
        event["message"].as_str().is_some_and(|text| text.contains("a limit of 0.5 dollars cannot hold"))
    };
    let asks = |event: &Value| event["type"] == "round_started";
    let said: Vec<usize> = (0..events.len()).filter(|at| warns(&events[*at])).collect();
    assert_eq!(said.len(), 1, "once for all of it");
    assert!(said[0] < events.iter().position(asks).unwrap(), "before the model is asked");
}

#[test]
fn a_day_has_a_limit_of_its_own() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let config = env.config().join("holon");
    fs::create_dir_all(&config).unwrap();
    let (server, paid) = provider(&side_by_side(2), Some(0.1));
    let day = |limits: &str| fs::write(config.join("config.toml"), format!("[budget]\n{limits}\n")).unwrap();
    day("day_usd = 0.3");
    let output = goal(&env, &repo, &server, &[]).run();
    output.assert_code(1).assert_stderr("`budget.day_usd` (0.3 dollars a day) leaves 0.30 dollars");
    output.assert_stderr("`budget.day_usd` allows 0.3 a day");
    let charged = paid.len() as f64 * 0.1;
    assert!(charged <= 0.4 + 1e-9, "{charged}");
    let before = paid.len();
    let refused = asking(env.holon(["run", "--goal", "x"]).cwd(repo.path()), &server).run();
    assert_ne!(refused.code, 0);
    refused.assert_stderr("the runs of today have cost").assert_stderr("`budget.day_usd` allows 0.3 a day");
    day("day_tokens = 200");
    goal(&env, &repo, &server, &[]).run().assert_stderr("`budget.day_tokens` allows 200 a day");
    assert_eq!(paid.len(), before, "nothing was asked");
}

/// Killed at places that a seed chooses: it goes on, no task that was done is asked for again, and money is counted once.
/// What was being answered when the process died was paid for, and nobody can know it; it is one answer for each run that
/// was under way.
#[test]
fn killed_anywhere_money_is_counted_once() {
    let price = 0.1;
    let tasks = || {
        let mut two = task("two", "code", &[]);
        two["model"] = "acme/refuses".into();
        [task("one", "code", &[]), two]
    };
    let whole = {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, "{}", &[]);
        let (server, paid) = provider(&tasks(), Some(price));
        let output = goal(&env, &repo, &server, &["--json"]).run();
        output.assert_code(0);
        assert!((counted_once(&last(&env).0) - paid.len() as f64 * price).abs() < 1e-9);
        output.stdout.lines().count()
    };
    for at in kill_points(4, whole, 34) {
        let env = TestEnv::new(BIN);
        env.leave_unverified(
            "a child killed while it writes its output has files that its manifest does not list",
        );
        let repo = repo(&env, "{}", &[]);
        let (server, paid) = provider(&tasks(), Some(price));
        let mut running = goal(&env, &repo, &server, &["--json"]).spawn();
        wait_until(Duration::from_secs(120), || {
            running.has_ended() || running.stdout_so_far().lines().count() >= at
        });
        running.kill();
        // Killed at its very beginning it has no manifest yet.
        let folder = env.runs().last().expect("a run").clone();
        let (done, asked) = (succeeded(&folder), paid.len());
        let resumed = resume(&env, &repo, &server, &[]).run();
        // Killed after its last word it is over.
        assert!([0, 64].contains(&resumed.code), "{at}: {}", resumed.stderr);
        let report = orchestration(&folder);
        assert_eq!(report["decision"]["is"], "approve", "{at}: {report:#}");
        for id in ["one", "two"] {
            let good = attempts(&report, id).iter().filter(|(_, _, outcome)| outcome == "success").count();
            assert_eq!(good, 1, "{at}: {id}: {report:#}");
        }
        let after = &paid.all()[asked..];
        for (id, _) in done.iter().filter(|(id, _)| id == "one" || id == "two") {
            let again = |body: &&String| {
                body.contains(&format!("TASK:{id} "))
                    && !body.contains("# Mode: ethical")
                    && !body.contains("Split the goal into tasks")
            };
            assert_eq!(after.iter().filter(again).count(), 0, "{at}: {id} was done and is paid for again");
        }
        let (spent, charged) = (counted_once(&folder), paid.len() as f64 * price);
        assert!(spent <= charged + 1e-9, "{at}: {spent} counted, {charged} paid: something counts twice");
        assert!(spent >= charged - 2.0 * price - 1e-9, "{at}: {spent} counted, {charged} paid");
    }
}
