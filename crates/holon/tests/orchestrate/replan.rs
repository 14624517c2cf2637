//! First plans that are wrong, each in its own way: the rest is planned again, or what is done goes out without it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use holon_testkit::{TestEnv, TestWorkspace, assert_unchanged, tree_state, wait_until};
use serde_json::{Value, json};

use crate::stage::{BIN, applied, attempts, goal, last, orchestration, plan, repo, task};

/// Hands over the second and the third plan; a plan that is not there is the first one again.
const AGAIN: &str =
    "left=$(sed -n 's/^- \\([0-9]\\) plans after this one$/\\1/p' $in/context/replan.md 2> /dev/null)
case \"$left\" in 1) again=script/again-1.json ;; 0) again=script/again-2.json ;; *) again= ;; esac
if [ -f \"$again\" ]; then cp $again $out/orchestration.json; fi";

/// Says no to whatever it is shown.
const BLOCK: &str = "echo '{\"verdict\":\"block\",\"findings\":[]}' > $out/review.json";

/// A wrong first plan, and what is planned afterwards.
struct WrongPlan {
    first: String,
    again: Vec<String>,
    scripts: Vec<(&'static str, &'static str)>,
    flags: Vec<&'static str>,
}

impl WrongPlan {
    fn new(first: &[Value], again: &[String], scripts: &[(&'static str, &'static str)]) -> Self {
        Self { first: plan(first), again: again.to_vec(), scripts: scripts.to_vec(), flags: Vec::new() }
    }

    fn scene(&self, env: &TestEnv) -> TestWorkspace {
        let again = ("orchestrate", AGAIN);
        let own = self.scripts.iter().any(|(name, _)| *name == "orchestrate");
        let scripts = if own { self.scripts.clone() } else { [&self.scripts[..], &[again]].concat() };
        let mut repo = repo(env, &self.first, &scripts);
        for (nth, text) in self.again.iter().enumerate() {
            repo = repo.file(format!("script/again-{}.json", nth + 1), text);
        }
        repo
    }

    /// Ends with everything done, after so many plans, in one patch that makes these files.
    #[track_caller]
    fn ends_well(&self, replans: usize, files: &[&str]) {
        let env = TestEnv::new(BIN);
        let repo = self.scene(&env);
        let output = goal(&env, &repo, &[&["--json"][..], &self.flags].concat()).run();
        output.assert_code(0);
        let (folder, manifest) = last(&env);
        let report = orchestration(&folder);
        assert_eq!(report["replans"].as_array().map_or(0, Vec::len), replans, "{report:#}");
        let told = output.events().iter().filter(|event| event["type"] == "replanned").count();
        assert_eq!(told, replans, "each is an event");
        assert_eq!(
            (&report["decision"]["is"], &report["left"]),
            (&"approve".into(), &Value::Null),
            "{report:#}"
        );
        let assessed =
            report["tasks"].as_array().unwrap().iter().rev().find(|task| task["mode"] == "ethical");
        let assessed = assessed.unwrap()["id"].as_str().unwrap();
        assert_eq!(attempts(&report, assessed).pop().unwrap().2, "success");
        if !self.flags.is_empty() {
            assert_eq!(manifest["metadata"]["verification"]["state"], "verified", "{manifest:#}");
        }
        let copy = applied(&env, &repo, &folder.join("output/diff.patch"));
        for file in files {
            assert!(copy.join(file).is_file(), "{file}");
        }
        env.holon(["runs", "verify", "last"]).cwd(repo.path()).run().assert_code(0);
        env.assert_nothing_left();
    }

    /// Ends with what is done, without these tasks, which are named; the patch has `one.txt` and nothing of them.
    #[track_caller]
    fn ends_with_a_part(&self, left: &[&str]) {
        let env = TestEnv::new(BIN);
        let repo = self.scene(&env);
        let before = tree_state(repo.path());
        let output = goal(&env, &repo, &[&["--apply"][..], &self.flags].concat()).run();
        output.assert_code(2).assert_stderr("only a part of it is done");
        assert_unchanged(&before, repo.path());
        let (folder, manifest) = last(&env);
        assert_eq!(
            (&manifest["outcome"], &manifest["error"]["kind"]),
            (&"needs_human".into(), &"partial".into())
        );
        let report = orchestration(&folder);
        let named: Vec<&str> =
            report["left"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
        assert_eq!(named, left, "{report:#}");
        let summary = fs::read_to_string(folder.join("output/summary.md")).unwrap();
        assert!(summary.contains("## Not done") && left.iter().all(|id| summary.contains(id)), "{summary}");
        assert_eq!(attempts(&report, "ethical").pop().unwrap().2, "success", "it is assessed");
        let copy = applied(&env, &repo, &folder.join("output/diff.patch"));
        assert!(copy.join("one.txt").is_file() && !copy.join("two.txt").exists());
        env.holon(["runs", "verify", "last"]).cwd(repo.path()).run().assert_code(0);
        env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
        assert!(repo.join("one.txt").is_file());
        env.assert_nothing_left();
    }
}

/// A plan for the rest that builds on what is done.
fn rest(kept: &[&str], tasks: &[Value]) -> String {
    json!({ "kept": kept, "tasks": tasks }).to_string()
}

fn stop() -> String {
    json!({ "tasks": [], "stop": "It cannot be done with what is here." }).to_string()
}

fn with(mut task: Value, key: &str, value: &str) -> Value {
    task[key] = value.into();
    task
}

/// The first task is fine, the second is not.
fn two_tasks() -> [Value; 2] {
    [task("one", "code", &[]), task("two", "code", &[])]
}

const ONE: (&str, &str) = ("one", "echo one > one.txt");
const NEVER: (&str, &str) = ("two", "exit 3");

#[test]
fn a_dependency_that_nobody_planned() {
    let again = rest(&["one"], &[task("base", "code", &[]), task("two", "code", &["base", "one"])]);
    let two = ("two", "[ -f base.txt ] || exit 3; echo two > two.txt");
    let wrong = WrongPlan::new(&two_tasks(), &[again], &[ONE, two, ("base", "echo base > base.txt")]);
    wrong.ends_well(1, &["one.txt", "base.txt", "two.txt"]);
}

#[test]
fn a_task_that_cannot_be_done_is_left_out_of_the_second_plan() {
    let [one, two] = two_tasks();
    let first = [one, two, task("three", "code", &["two"])];
    let again = rest(&["one"], &[task("three", "code", &["one"])]);
    let wrong = WrongPlan::new(&first, &[again], &[ONE, NEVER, ("three", "cp one.txt three.txt")]);
    wrong.ends_well(1, &["one.txt", "three.txt"]);
}

#[test]
fn two_tasks_that_fight_over_a_line() {
    let scripts = [
        ("one", "sed -i 's/^line 1$/first/' a.txt; echo one > one.txt"),
        ("two", "sed -i 's/^line 1$/erste/' a.txt"),
        ("two-conflict", "exit 3"),
        (
            "after",
            "grep -q '^first$' a.txt || exit 3; sed -i 's/^first$/first erste/' a.txt; echo x > after.txt",
        ),
    ];
    let again = rest(&["one"], &[task("after", "code", &["one"])]);
    WrongPlan::new(&two_tasks(), &[again], &scripts).ends_well(1, &["one.txt", "after.txt"]);
}

#[test]
fn a_task_in_the_wrong_mode() {
    let [one, two] = two_tasks();
    let again = rest(&["one"], std::slice::from_ref(&two));
    let first = [one, with(two, "mode", "debug")];
    let scripts = [ONE, ("two", "[ \"$HOLON_MODE\" = execute ] || exit 3; echo two > two.txt")];
    WrongPlan::new(&first, &[again], &scripts).ends_well(1, &["one.txt", "two.txt"]);
}

#[test]
fn an_agent_that_is_not_there() {
    let [one, two] = two_tasks();
    let again = rest(&["one"], std::slice::from_ref(&two));
    let first = [one, with(two, "agent", "nobody-has-this")];
    // Whoever plans again is told the name.
    let asked = format!(
        "grep -q nobody-has-this $in/context/replan.md || [ ! -f $in/context/replan.md ] || exit 3\n{AGAIN}"
    );
    let asked: &'static str = Box::leak(asked.into_boxed_str());
    let scripts = [ONE, ("two", "echo two > two.txt"), ("orchestrate", asked)];
    WrongPlan::new(&first, &[again], &scripts).ends_well(1, &["one.txt", "two.txt"]);
}

#[test]
fn a_task_that_is_too_large_is_split() {
    let again = rest(&["one"], &[task("left", "code", &[]), task("right", "code", &["left"])]);
    let scripts = [ONE, NEVER, ("left", "echo x > left.txt"), ("right", "cp left.txt right.txt")];
    WrongPlan::new(&two_tasks(), &[again], &scripts).ends_well(1, &["one.txt", "left.txt", "right.txt"]);
}

#[test]
fn a_check_that_no_task_was_planned_for() {
    let together = "! [ -f one.txt ] || ! [ -f two.txt ] || [ -f glue.txt ]";
    let scripts = [
        ONE,
        ("two", "echo two > two.txt"),
        ("together", together),
        ("checks-fix", "echo again >> one.txt"),
        ("glue", "echo glue > glue.txt"),
    ];
    let again = rest(&["one", "two"], &[task("glue", "code", &["one", "two"])]);
    let mut wrong = WrongPlan::new(&two_tasks(), &[again], &scripts);
    wrong.flags = vec!["--check", "sh script/together.sh"];
    wrong.ends_well(1, &["one.txt", "two.txt", "glue.txt"]);
}

#[test]
fn a_review_that_never_agrees() {
    let first = [task("one", "code", &[]), task("strict", "review", &["one"])];
    let again = rest(&["one"], &[task("other", "code", &["one"]), task("look", "review", &["other"])]);
    let scripts =
        [ONE, ("strict", BLOCK), ("strict-fix", "echo again >> one.txt"), ("other", "echo x > other.txt")];
    WrongPlan::new(&first, &[again], &scripts).ends_well(1, &["one.txt", "other.txt"]);
}

#[test]
fn an_order_in_which_one_task_takes_away_what_the_next_needs() {
    let first = [task("one", "code", &[]), task("two", "code", &["one"])];
    let again = rest(&["one"], &[task("back", "code", &["one"]), task("two", "code", &["back"])]);
    let scripts = [
        ("one", "mv a.txt one.txt"),
        ("two", "grep -q 'line 1' a.txt || exit 3; echo two > two.txt"),
        ("back", "cp one.txt a.txt"),
    ];
    WrongPlan::new(&first, &[again], &scripts).ends_well(1, &["one.txt", "a.txt", "two.txt"]);
}

#[test]
fn a_second_plan_that_is_wrong_as_well() {
    let again =
        [rest(&["one"], &[task("worse", "code", &[])]), rest(&["one"], &[task("better", "code", &[])])];
    let scripts = [ONE, NEVER, ("worse", "exit 4"), ("better", "echo x > better.txt")];
    WrongPlan::new(&two_tasks(), &again, &scripts).ends_well(2, &["one.txt", "better.txt"]);
}

#[test]
fn plans_that_are_none() {
    let many: Vec<Value> = (0..17).map(|n| task(&format!("t{n}"), "code", &[])).collect();
    for first in [
        vec![task("one", "hack", &[])],
        vec![task("one", "code", &["two"]), task("two", "code", &["one"])],
        Vec::new(),
        many,
    ] {
        WrongPlan::new(&first, &[], &[("execute", "echo one > one.txt")]).ends_well(0, &["one.txt"]);
    }
}

#[test]
fn a_planner_that_sees_no_way() {
    WrongPlan::new(&two_tasks(), &[stop()], &[ONE, NEVER]).ends_with_a_part(&["two"]);
}

#[test]
fn a_planner_that_says_the_same_again() {
    let [one, two] = two_tasks();
    let first = [one, two, task("three", "code", &["two"])];
    WrongPlan::new(&first, &[], &[ONE, NEVER]).ends_with_a_part(&["two", "three"]);
}

#[test]
fn a_planner_that_breaks_when_it_is_asked_again() {
    let breaks = ("orchestrate", "[ -f $in/context/replan.md ] && exit 3");
    WrongPlan::new(&two_tasks(), &[], &[ONE, NEVER, breaks]).ends_with_a_part(&["two"]);
}

#[test]
fn plans_of_which_none_works() {
    let again =
        [rest(&["one"], &[task("worse", "code", &[])]), rest(&["one"], &[task("worst", "code", &[])])];
    let scripts = [ONE, NEVER, ("worse", "exit 4"), ("worst", "exit 5")];
    WrongPlan::new(&two_tasks(), &again, &scripts).ends_with_a_part(&["worst"]);
}

#[test]
fn where_nothing_is_done_there_is_nothing_to_deliver() {
    let env = TestEnv::new(BIN);
    let wrong = WrongPlan::new(&[task("two", "code", &[])], &[stop()], &[NEVER]);
    let repo = wrong.scene(&env);
    goal(&env, &repo, &["--quiet"]).run().assert_code(1).assert_stderr("two: the agent exited with code 3");
    let (folder, _) = last(&env);
    assert!(!folder.join("output/diff.patch").exists());
    assert_eq!(orchestration(&folder)["replans"][0]["no_plan"], "It cannot be done with what is here.");
}

#[test]
fn inv_12_a_part_that_the_assessment_blocks_stays_inside() {
    let env = TestEnv::new(BIN);
    let high =
        "sed -i -e 's/\"low\"/\"high\"/' -e 's/\"is_approved\":true/\"is_approved\":false/' $out/ethics.json";
    let wrong = WrongPlan::new(&two_tasks(), &[stop()], &[ONE, NEVER, ("ethical", high)]);
    let repo = wrong.scene(&env);
    goal(&env, &repo, &["--quiet"]).run().assert_code(2).assert_stderr("does not let the result out");
    let (folder, _) = last(&env);
    assert!(!folder.join("output/diff.patch").exists() && folder.join("evidence/withheld.patch").exists());
}

#[test]
fn inv_17_a_task_that_was_replaced_leaves_by_no_way_of_its_own() {
    let env = TestEnv::new(BIN);
    let scripts = [
        ("one", "sed -i 's/^line 1$/first/' a.txt"),
        ("two", "sed -i 's/^line 1$/erste/' a.txt"),
        ("two-conflict", "exit 3"),
        ("after", "echo x > after.txt"),
    ];
    let again = rest(&["one"], &[task("after", "code", &["one"])]);
    let repo = WrongPlan::new(&two_tasks(), &[again], &scripts).scene(&env);
    goal(&env, &repo, &["--quiet"]).run().assert_code(0);
    let (folder, _) = last(&env);
    let report = orchestration(&folder);
    let run = report["dropped"][0]["attempts"][0]["run_id"].as_str().unwrap();
    let refused = env.holon(["runs", "apply", run]).cwd(repo.path()).run();
    refused.assert_code(2).assert_stderr("a later plan took the place of this task");
    env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn whoever_goes_on_gets_the_rest() {
    let env = TestEnv::new(BIN);
    let two = ("two", "[ -f script/now ] || exit 3; echo two > two.txt");
    let wrong = WrongPlan::new(&two_tasks(), &[stop()], &[ONE, two]);
    let repo = wrong.scene(&env);
    goal(&env, &repo, &["--quiet"]).run().assert_code(2);
    let (folder, _) = last(&env);
    // Three failures keep the task from being tried at once; its breaker is what a person would wait for.
    fs::remove_dir_all(env.state().join("holon/breakers")).unwrap();
    let repo = repo.file("script/now", "");
    env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
    let report = orchestration(&folder);
    assert_eq!((attempts(&report, "one").len(), attempts(&report, "two").len()), (1, 4));
    let patch = fs::read_to_string(folder.join("output/diff.patch")).unwrap();
    assert!(patch.contains("one.txt") && patch.contains("two.txt"), "{patch}");
}

/// Plans with a model that refuses, then without; does everything else as it should. What it is asked is told to `heard`.
fn provider(heard: Sender<String>) -> ModelServer {
    let heard = Mutex::new(heard);
    ModelServer::improvise(move |_, seen| {
        let body = seen.body.to_string();
        heard.lock().unwrap().send(body.clone()).unwrap();
        let call = |name: &str, arguments: Value| {
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
        let first = seen.body["messages"].as_array().map_or(0, Vec::len) <= 2;
        let one = task("one", "code", &[]);
        let asked_again = body.contains("Plan the rest of the work again");
        if seen.body["model"] == "acme/refuses" {
            ScriptedResponse::json(400, r#"{"error":{"message":"this model does not do that"}}"#)
        } else if !first {
            call("finish", json!({"summary": "Done."}))
        } else if body.contains("Split the goal into tasks") {
            let one = if asked_again { one } else { with(one, "model", "acme/refuses") };
            call("report", json!({"name": "orchestration.json", "content": plan(&[one])}))
        } else if body.contains("# Mode: ethical") {
            let impact = json!({"principle": "safety", "impact": "none", "rationale": "A text file."});
            let report = json!({"risk_level": "low", "is_approved": true,
                "approval_justification": "Harmless.", "principle_impacts": [impact]});
            call("report_ethics", report)
        } else {
            call("write_file", json!({"path": "one.txt", "content": "one"}))
        }
    })
}

#[test]
fn a_model_that_refuses_and_no_request_is_the_same_as_one_that_failed() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let (tell, hear) = channel();
    let server = provider(tell);
    let call = env.holon(["Make it better", "--quiet"]).cwd(repo.path());
    let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
    let call = call.env("HOLON_MODEL", "anthropic/claude-sonnet-5.5").env("HOLON_RETRIES", "0");
    call.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").timeout(Duration::from_secs(120)).run().assert_code(0);
    let (folder, _) = last(&env);
    let report = orchestration(&folder);
    assert_eq!(report["replans"][0]["added"], json!(["one"]), "{report:#}");
    assert!(fs::read_to_string(folder.join("output/diff.patch")).unwrap().contains("one.txt"));
    let asked: Vec<String> = hear.try_iter().collect();
    let refused = asked.iter().filter(|body| body.contains("acme/refuses")).count();
    let different: BTreeSet<&String> = asked.iter().collect();
    assert!(
        refused >= 1 && different.len() == asked.len(),
        "{refused} of {}, {}",
        asked.len(),
        different.len()
    );
}

/// Runs that succeeded, as (task, run), of every plan.
pub(crate) fn succeeded(folder: &Path) -> Vec<(String, String)> {
    let state = crate::stage::read(&folder.join("orchestrate.json"));
    let mut found = Vec::new();
    for nodes in [&state["nodes"], &state["dropped"]] {
        for node in nodes.as_array().into_iter().flatten() {
            for attempt in node["attempts"].as_array().unwrap() {
                if attempt["end"]["outcome"] == "success" && attempt["run"].is_string() {
                    let text = |value: &Value| value.as_str().unwrap().to_owned();
                    found.push((text(&node["task"]["id"]), text(&attempt["run"])));
                }
            }
        }
    }
    found
}

/// Places among so many lines, chosen by a seed: `HOLON_KILL_POINTS` of them, else the usual number.
pub(crate) fn kill_points(usual: usize, lines: usize, seed: u64) -> Vec<usize> {
    let asked = std::env::var("HOLON_KILL_POINTS").ok().and_then(|text| text.parse().ok());
    let places = std::iter::successors(Some(seed), |seed| {
        Some(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    });
    places.skip(1).take(asked.unwrap_or(usual)).map(|seed| 1 + (seed >> 33) as usize % (lines - 1)).collect()
}

/// Killed at places that a seed chooses, anywhere between the first event and the last: it goes on, nothing that was done
/// is done again, and it is planned again once.
#[test]
fn killed_anywhere_it_goes_on_with_the_plan_it_has() {
    let again = rest(&["one"], &[task("base", "code", &[]), task("two", "code", &["base", "one"])]);
    let two = ("two", "[ -f base.txt ] || exit 3; echo two > two.txt");
    let wrong = WrongPlan::new(&two_tasks(), &[again], &[ONE, two, ("base", "echo base > base.txt")]);
    let whole = {
        let env = TestEnv::new(BIN);
        let repo = wrong.scene(&env);
        let output = goal(&env, &repo, &["--json"]).run();
        output.assert_code(0);
        output.stdout.lines().count()
    };
    for at in kill_points(12, whole, 20) {
        let env = TestEnv::new(BIN);
        env.leave_unverified(
            "a child killed while it writes its output has files that its manifest does not list",
        );
        let repo = wrong.scene(&env);
        let mut running = goal(&env, &repo, &["--json"]).spawn();
        wait_until(Duration::from_secs(120), || {
            running.has_ended() || running.stdout_so_far().lines().count() >= at
        });
        running.kill();
        env.assert_nothing_left();
        // Killed at its very beginning it has no manifest yet.
        let folder = env.runs().last().expect("a run").clone();
        let before = succeeded(&folder);
        let resumed = env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run();
        // Killed after its last word it is over.
        assert!([0, 64].contains(&resumed.code), "{at}: {}", resumed.stderr);
        let report = orchestration(&folder);
        assert_eq!(report["decision"]["is"], "approve", "{at}: {report:#}");
        assert_eq!(report["replans"].as_array().map(Vec::len), Some(1), "{at}: {report:#}");
        let after = succeeded(&folder);
        assert!(before.iter().all(|run| after.contains(run)), "{at}: {before:?} {after:?}");
        for id in ["one", "base", "two", "ethical"] {
            assert_eq!(after.iter().filter(|(task, _)| task == id).count(), 1, "{at}: {id}: {after:?}");
        }
        let copy = applied(&env, &repo, &folder.join("output/diff.patch"));
        assert!(["one.txt", "base.txt", "two.txt"].iter().all(|file| copy.join(file).is_file()), "{at}");
    }
}
