//! One task is stopped, skipped, begun again or told something while the others go on.

use std::fs;

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use holon_testkit::{CommandEnd, RunningCommand, TestEnv, TestWorkspace, wait_until};
use serde_json::{Value, json};

use crate::stage::{BIN, applied, attempts, goal, last, orchestration, plan, repo, task};

const ONE: (&str, &str) = ("one", "echo one > one.txt");
/// Waits until somebody says something, and writes down what.
const LISTENS: &str =
    "echo waiting-two; [ -f $in/context/message.md ] || exec sleep 600; cp $in/context/message.md two.txt";

/// The exit code of a command line that makes no sense.
const USAGE: i32 = 64;

struct WordScene {
    env: TestEnv,
    repo: TestWorkspace,
}

impl WordScene {
    fn new(tasks: &[serde_json::Value], two: &str) -> Self {
        let env = TestEnv::new(BIN);
        let scripts =
            [ONE, ("two", two), ("three", "echo three > three.txt"), ("four", "echo four > four.txt")];
        let repo = repo(&env, &plan(tasks), &scripts);
        Self { env, repo }
    }

    /// Started, and so far that the second task waits.
    fn waiting(&self) -> RunningCommand {
        let mut running = goal(&self.env, &self.repo, &["--json"]).spawn();
        running.wait_for_text("waiting-two");
        running
    }

    fn say(&self, words: &[&str]) -> CommandEnd {
        self.env.holon(["runs", "task"]).args(words).cwd(self.repo.path()).run()
    }
}

fn two_tasks() -> [serde_json::Value; 2] {
    [task("one", "code", &[]), task("two", "code", &[])]
}

#[test]
fn a_task_that_is_told_something_goes_on_with_it() {
    let scene = WordScene::new(&two_tasks(), LISTENS);
    let running = scene.waiting();
    scene
        .say(&["last/two", "say", "Mind the gap"])
        .assert_code(0)
        .assert_stdout("goes on with what you said");
    running.wait().assert_code(0);
    let (folder, _) = last(&scene.env);
    let copy = applied(&scene.env, &scene.repo, &folder.join("output/diff.patch"));
    let told = fs::read_to_string(copy.join("two.txt")).unwrap();
    assert!(told.contains("Mind the gap"), "{told}");
    assert_eq!(attempts(&orchestration(&folder), "one").len(), 1, "the other one was left alone");
    let audit = scene.env.holon(["audit", "list", "--json"]).cwd(scene.repo.path()).run();
    audit.assert_code(0).assert_stdout("task_word");
    scene.env.assert_nothing_left();
}

#[test]
fn a_task_begins_again_when_somebody_says_so() {
    let waits = "echo waiting-two; grep -q 'start 2 of this' $in/prompts/user.md || exec sleep 600; echo two > two.txt";
    let scene = WordScene::new(&two_tasks(), waits);
    let running = scene.waiting();
    scene.say(&["last/two", "retry"]).assert_code(0).assert_stdout("begins again");
    running.wait().assert_code(0);
    let (folder, _) = last(&scene.env);
    assert_eq!(attempts(&orchestration(&folder), "two").len(), 2);
    scene.env.assert_nothing_left();
}

#[test]
fn a_task_that_is_stopped_or_left_out_keeps_nobody_from_the_rest() {
    for (word, left) in [("stop", vec!["two", "three"]), ("skip", vec!["two", "three"])] {
        let tasks = [
            task("one", "code", &[]),
            task("two", "code", &[]),
            task("three", "code", &["two"]),
            task("four", "code", &["one"]),
        ];
        let scene = WordScene::new(&tasks, "echo waiting-two; exec sleep 600");
        let running = scene.waiting();
        scene.say(&["last/two", word, "not needed"]).assert_code(0).assert_stdout("its run ends");
        running.wait().assert_code(2);
        let (folder, manifest) = last(&scene.env);
        assert_eq!(manifest["error"]["kind"], "partial", "{word}");
        let report = orchestration(&folder);
        let named: Vec<&str> =
            report["left"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
        assert!(left.iter().all(|id| named.contains(id)), "{word}: {named:?}");
        let summary = fs::read_to_string(folder.join("output/summary.md")).unwrap();
        assert!(summary.contains("not needed"), "{word}: {summary}");
        let copy = applied(&scene.env, &scene.repo, &folder.join("output/diff.patch"));
        assert!(
            copy.join("one.txt").is_file()
                && !copy.join("two.txt").exists()
                && !copy.join("three.txt").exists()
        );
        // Only who is stopped has the rest thought over; where somebody is skipped, the others go on as planned.
        assert_eq!(copy.join("four.txt").is_file(), word == "skip", "{word}");
        scene.env.assert_nothing_left();
    }
}

#[test]
fn what_was_left_out_is_taken_up_again_by_whoever_goes_on() {
    let tasks = [task("one", "code", &[]), task("two", "code", &[]), task("look", "review", &["one", "two"])];
    let scene = WordScene::new(&tasks, LISTENS);
    let running = scene.waiting();
    scene.say(&["last/two", "skip"]).assert_code(0);
    running.wait().assert_code(2);
    let (folder, _) = last(&scene.env);
    assert_eq!(attempts(&orchestration(&folder), "look").len(), 1, "what there is was looked at");
    let again = ["run", "--resume", "last", "--quiet", "--message", "Now it is needed"];
    scene.env.holon(again).cwd(scene.repo.path()).run().assert_code(0);
    let report = orchestration(&folder);
    assert_eq!(report["left"], Value::Null, "{report:#}");
    let copy = applied(&scene.env, &scene.repo, &folder.join("output/diff.patch"));
    assert!(copy.join("one.txt").is_file() && copy.join("two.txt").is_file());
    let tasks = report["tasks"].as_array().unwrap();
    let assessed = tasks.iter().filter(|task| task["mode"] == "ethical").count();
    assert_eq!(assessed, 2, "what was joined later is assessed as well: {report:#}");
    assert_eq!(attempts(&report, "look").len(), 2, "who was to look at both has looked at both");
    scene.env.assert_nothing_left();
}

/// A model that has one task written in three rounds; in the second it says so, and waits until it may go on.
fn hesitating(tell: Sender<String>, go_on: Receiver<()>) -> ModelServer {
    let (tell, go_on) = (Mutex::new(tell), Mutex::new(go_on));
    ModelServer::improvise(move |_, seen| {
        let body = seen.body.to_string();
        let call = |name: &str, arguments: Value| {
            let arguments = arguments.to_string();
            let call = CassetteCall { name: name.into(), arguments, ..CassetteCall::default() };
            let steps = vec![CassetteStep::Call(call)];
            ScriptedResponse::from(CassetteTurn { steps, ..CassetteTurn::default() })
        };
        let first = seen.body["messages"].as_array().map_or(0, Vec::len) <= 2;
        let finish = || call("finish", json!({"summary": "Done."}));
        if body.contains("Split the goal into tasks") {
            let graph = plan(&[task("one", "code", &[])]);
            return if first {
                call("report", json!({"name": "orchestration.json", "content": graph}))
            } else {
                finish()
            };
        }
        if body.contains("# Mode: ethical") {
            let impact = json!({"principle": "safety", "impact": "none", "rationale": "A text file."});
            let report = json!({"risk_level": "low", "is_approved": true,
                "approval_justification": "Harmless.", "principle_impacts": [impact]});
            return if first { call("report_ethics", report) } else { finish() };
        }
        tell.lock().unwrap().send(body.clone()).unwrap();
        if first {
            return call("write_file", json!({"path": "one.txt", "content": "one"}));
        }
        if !body.contains("Mind the gap") {
            // Whoever asked is interrupted meanwhile.
            let _ = go_on.lock().unwrap().recv();
        }
        if body.contains("two.txt") {
            return finish();
        }
        call("write_file", json!({"path": "two.txt", "content": "two"}))
    })
}

#[test]
fn the_native_agent_is_told_and_goes_on_where_it_was() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let ((tell, asked), (go, wait)) = (channel(), channel());
    let server = hesitating(tell, wait);
    let call = env.holon(["Make it better", "--quiet"]).cwd(repo.path());
    let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
    let call = call.env("HOLON_MODEL", "anthropic/claude-sonnet-5.5").env("HOLON_RETRIES", "0");
    let running =
        call.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").timeout(Duration::from_secs(120)).spawn();
    let patience = Duration::from_secs(60);
    let before = [asked.recv_timeout(patience).unwrap(), asked.recv_timeout(patience).unwrap()];
    let say = env.holon(["runs", "task", "last/one", "say", "Mind the gap"]).cwd(repo.path());
    say.run().assert_code(0);
    let after = asked.recv_timeout(patience).unwrap();
    drop(go);
    running.wait().assert_code(0);
    assert!(!before[1].contains("Mind the gap") && after.contains("Mind the gap"), "{after}");
    assert!(after.contains("write_file") && after.contains("one.txt"), "it knows what it did: {after}");
    let (folder, _) = last(&env);
    let patch = fs::read_to_string(folder.join("output/diff.patch")).unwrap();
    assert!(patch.contains("one.txt") && patch.contains("two.txt"), "{patch}");
    let begun =
        asked.try_iter().filter(|body| body.contains("\"one.txt\"") && !body.contains("Mind")).count();
    assert_eq!(begun, 0, "nothing is asked for again");
    env.assert_nothing_left();
}

#[test]
fn words_that_nobody_can_take_are_answered_with_the_reason() {
    let scene = WordScene::new(&two_tasks(), LISTENS);
    let running = scene.waiting();
    for (words, code, reason) in [
        (&["last", "stop"][..], USAGE, "names no task"),
        (&["last/none", "stop"], 1, "its tasks are: one, two"),
        (&["last/ethical", "skip"], 1, "nothing goes out without an assessment"),
        (&["last/ethical", "retry"], 1, "no run of it is under way"),
        (&["last/two", "say"], USAGE, "there is nothing to say"),
        (&["last/two", "retry", "now"], USAGE, "takes no text"),
    ] {
        scene.say(words).assert_code(code).assert_stderr(reason);
    }
    scene.say(&["last/two", "say", "Go on"]).assert_code(0);
    running.wait().assert_code(0);
    scene.say(&["last/two", "stop"]).assert_code(1).assert_stderr("is over, and all of it is done");
    scene.env.assert_nothing_left();
}

#[test]
fn what_is_said_while_nothing_goes_on_is_kept_for_whoever_goes_on() {
    let scene = WordScene::new(&two_tasks(), LISTENS);
    let running = scene.waiting();
    wait_until(Duration::from_secs(60), || {
        running
            .stdout_so_far()
            .lines()
            .any(|line| line.contains("\"step_finished\"") && line.contains("\"step\":\"one\""))
    });
    running.kill();
    scene.env.leave_unverified("it was killed, and is gone on with");
    for (words, code, reason) in [
        (&["last/two", "stop"][..], 1, "nothing of it can be stopped"),
        (&["last/ethical", "skip"], 1, "nothing goes out without an assessment"),
        (&["last/none", "retry"], 1, "its tasks are: one, two, ethical"),
    ] {
        scene.say(words).assert_code(code).assert_stderr(reason);
    }
    scene
        .say(&["last/two", "say", "Mind the gap"])
        .assert_code(0)
        .assert_stdout("kept")
        .assert_stdout("--resume");
    scene.say(&["last/two", "retry"]).assert_code(0).assert_stdout("it is begun when its turn comes");
    scene.env.holon(["run", "--resume", "last", "--quiet"]).cwd(scene.repo.path()).run().assert_code(0);
    let (folder, _) = last(&scene.env);
    let copy = applied(&scene.env, &scene.repo, &folder.join("output/diff.patch"));
    assert!(fs::read_to_string(copy.join("two.txt")).unwrap().contains("Mind the gap"));
    let audit = scene.env.holon(["audit", "list", "--json"]).cwd(scene.repo.path()).run();
    assert_eq!(audit.stdout.matches("task_word").count(), 2, "each word once: {}", audit.stdout);
    let late = scene.say(&["last/two", "retry"]);
    late.assert_code(1).assert_stderr("is over, and all of it is done");
}

#[test]
fn a_task_that_was_to_be_left_out_is_left_out_when_somebody_goes_on() {
    let scene = WordScene::new(&two_tasks(), "echo waiting-two; exec sleep 600");
    let running = scene.waiting();
    running.kill();
    scene.env.leave_unverified("it was killed, and is gone on with");
    scene
        .say(&["last/two", "skip", "not needed"])
        .assert_code(0)
        .assert_stdout("the others go on without it");
    let resumed = scene.env.holon(["run", "--resume", "last", "--quiet"]).cwd(scene.repo.path()).run();
    resumed.assert_code(2).assert_stderr("not needed");
    let (folder, _) = last(&scene.env);
    let copy = applied(&scene.env, &scene.repo, &folder.join("output/diff.patch"));
    assert!(copy.join("one.txt").is_file() && !copy.join("two.txt").exists());
    // What is left out is a task that can be spoken to: whoever goes on takes it up again.
    scene.say(&["last/two", "retry"]).assert_code(0).assert_stdout("it is begun when its turn comes");
}

#[test]
fn whatever_is_told_of_a_child_names_its_task() {
    let scene = WordScene::new(&two_tasks(), "echo hello-two; echo two > two.txt");
    let output = goal(&scene.env, &scene.repo, &["--json"]).run();
    output.assert_code(0);
    let events = output.events();
    let own = &events[0]["run"];
    let mut named = std::collections::BTreeSet::new();
    for event in &events {
        assert_eq!(&event["run"] == own, event["task"].is_null(), "{event}");
        named.extend(event["task"].as_str());
    }
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["ethical", "one", "orchestrate", "two"]);
    let progress = |step: &str| {
        let told = events.iter().filter(|event| event["type"] == "task_progress" && event["step"] == step);
        told.map(|event| event["action"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for step in ["one", "two", "ethical"] {
        assert_eq!(progress(step)[0], "starts", "{step}");
        assert!(progress(step).contains(&"execute".to_owned()), "{step}: {:?}", progress(step));
    }
    let plain = goal(&scene.env, &scene.repo, &[]).run();
    plain.assert_code(0).assert_stderr("two: | hello-two").assert_stderr("] one: execute");
    scene.env.assert_nothing_left();
}

#[test]
fn whoever_looks_meanwhile_sees_who_does_what() {
    let scene = WordScene::new(&two_tasks(), LISTENS);
    let running = scene.waiting();
    let show = scene.env.holon(["runs", "show", "last"]).cwd(scene.repo.path()).run();
    show.assert_code(0).assert_stdout("▸ two [execute] agent.sh").assert_stdout("holon runs task last/NAME");
    scene.say(&["last/two", "say", "Go on"]).assert_code(0);
    running.wait().assert_code(0);
    scene.env.assert_nothing_left();
}
