//! Runs from the server: started, followed, answered at their gates.

use std::time::Duration;

use holon_testkit::wait_until;
use serde_json::json;

use crate::http::of;
use crate::stage::ServeStage;

#[test]
fn a_flow_waits_at_its_gate_for_a_word() {
    let stage = ServeStage::new();
    // Agents of the user's own are known by name.
    stage.scripted("echo new > new.txt; echo done > /holon/output/summary.md");
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let stage = stage.with(&["--replay", tape.to_str().unwrap()], &[]);
    let body = json!({"workspace": stage.repo.path(), "goal": "x", "mode": "plan-then-execute", "agent": "scripted"});
    let started = stage.post("/api/runs", body);
    let status = started.status;
    let started = started.json();
    assert_eq!(status, 202, "{started}");
    let id = started["id"].as_str().unwrap().to_owned();
    let show = || stage.get(&format!("/api/runs/{id}")).json();
    assert!(wait_until(Duration::from_secs(60), || show()["state"] != "running"), "{}", show());
    let waiting = show();
    assert_eq!(
        (&waiting["state"], &waiting["gate"]["step"]),
        (&json!("gate"), &json!("execute")),
        "{waiting:#}"
    );
    let asked = stage.get(&format!("/api/runs/{id}/files/plan%2Fplan.md")).text();
    assert!(asked.starts_with("# Goal"), "what is decided about can be read: {asked}");
    assert!(waiting["artifacts"].to_string().contains("plan/plan.md"), "{waiting:#}");
    assert_eq!(stage.get(&format!("/api/runs/{id}/files/plan%2F..%2Frun.json")).status, 404);
    let gate = |decision: &str| {
        stage.post(&format!("/api/runs/{id}/gate"), json!({"decision": decision, "comment": "go"}))
    };
    assert_eq!(gate("maybe").status, 422);
    assert_eq!(gate("approve").status, 202);
    assert!(wait_until(Duration::from_secs(60), || show()["state"] == "finished"), "{}", show());
    let done = show();
    assert_eq!((&done["outcome"], &done["exit_code"]), (&json!("success"), &json!(0)), "{done:#}");
    let patch = stage.get(&format!("/api/runs/{id}/files/diff.patch")).text();
    assert!(patch.contains("new.txt"), "{patch}");
    assert_eq!(stage.get(&format!("/api/runs/{id}/files/..%2Frun.json")).status, 404);
    assert_eq!(stage.get(&format!("/api/runs/{id}/files/none.md")).status, 404);
    assert_eq!(gate("approve").status, 409);
    let listed = stage.get("/api/runs").json();
    assert_eq!(listed["runs"][0]["id"], json!(id));
    let events = stage.get(&format!("/api/runs/{id}/events")).events();
    assert_eq!((events.last().unwrap().name.as_str(), of(&events, "run").is_empty()), ("done", false));
}

#[test]
fn inv_19_a_spec_that_is_sent_is_kept_whole_or_refused_by_name() {
    let stage = ServeStage::new();
    stage
        .scripted("echo done > /holon/output/summary.md; echo \\\"$GREETING\\\" > /holon/output/report.json");
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let stage = stage.with(&["--replay", tape.to_str().unwrap()], &[]);
    let send = |spec: serde_json::Value| {
        stage.post("/api/runs", json!({"workspace": stage.repo.path(), "agent": "scripted", "spec": spec}))
    };
    for (spec, name) in [
        (json!({"goal": "x", "output": {"artefacts": []}}), "output.artefacts"),
        (json!({"goal": "x", "context": {"files": ["/etc/passwd"]}}), "context.files"),
        (json!({"goal": "x", "constraints": {"max_cost_usd": 1.0}}), "constraints.max_cost_usd"),
        (json!({"goal": "x", "constraints": {"supervisor": "strict"}}), "constraints.supervisor"),
    ] {
        let refused = send(spec);
        let (status, text) = (refused.status, refused.text());
        assert!((400..500).contains(&status) && text.contains(name), "{status} {text}");
    }
    let gate = json!({"workspace": stage.repo.path(), "goal": "x", "agent": "scripted", "gate": "auto"});
    assert!(stage.post("/api/runs", gate).text().contains("`gate`"));
    // What it asks for reaches the run: its variable, its artifact and the schema, which this does not satisfy.
    let spec = json!({
        "goal": "x",
        "context": {"env": {"GREETING": "{}"}},
        "constraints": {"network": "none"},
        "output": {"artifacts": [{"path": "report.json", "schema": {"required": ["id"]}}]},
    });
    let started = send(spec).json();
    let id = started["id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let show = || stage.get(&format!("/api/runs/{id}")).json();
    assert!(wait_until(Duration::from_secs(60), || show()["state"] == "finished"), "{}", show());
    let error = show()["manifest"]["error"].to_string();
    assert!(error.contains("report.json") && error.contains("`id` is missing"), "{error}");
}

#[test]
fn a_run_under_way_can_be_stopped() {
    let stage = ServeStage::new();
    let agent = "name = \"sleeper\"\nkind = \"exec\"\ndescription = \"Sleeps\"\ncommand = [\"/bin/sleep\", \"600\"]\n";
    stage.env.write(stage.env.config().join("holon/agents/sleeper.toml"), agent);
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let stage = stage.with(&["--replay", tape.to_str().unwrap()], &[]);
    let body = json!({"workspace": stage.repo.path(), "goal": "x", "mode": "execute", "agent": "sleeper"});
    let started = stage.post("/api/runs", body).json();
    let id = started["id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let show = || stage.get(&format!("/api/runs/{id}")).json();
    assert_eq!(show()["state"], "running");
    let stop = || stage.post(&format!("/api/runs/{id}/cancel"), json!({})).status;
    assert_eq!(stop(), 202);
    assert!(wait_until(Duration::from_secs(60), || show()["state"] == "finished"), "{}", show());
    assert_ne!(show()["outcome"], "success");
    assert!(wait_until(Duration::from_secs(60), || stop() == 409), "nothing is left to stop");
    for never in ["none", "20200101-000000-aaaaaa"] {
        assert_eq!(stage.post(&format!("/api/runs/{never}/cancel"), json!({})).status, 404);
        let word = json!({"decision": "approve"});
        assert_eq!(stage.post(&format!("/api/runs/{never}/gate"), word).status, 404);
    }
}

/// Plays every mode: two tasks that write, a review, an assessment that says no when the goal asks for it.
const PLAYER: &str = r#"out=/holon/output; goal=/holon/input/prompts/user.md
echo "$HOLON_MODE" > $out/summary.md
case $HOLON_MODE in
orchestrate) cp script/plan.json $out/orchestration.json ;;
execute) if grep -q TASK:one $goal; then echo one > one.txt; else echo two > two.txt; fi ;;
review) echo '{"verdict":"approve","findings":[]}' > $out/review.json ;;
ethical)
    risk=low; good=true; if grep -q FORBIDDEN $goal; then risk=high; good=false; fi
    printf '{"risk_level":"%s","is_approved":%s,"approval_justification":"x","principle_impacts":[{"principle":"safety","impact":"none","rationale":"x"}]}' $risk $good > $out/ethics.json
    echo assessed > $out/ethics.md ;;
esac
"#;

#[test]
fn an_orchestration_runs_whole_and_is_assessed() {
    let stage = ServeStage::new();
    let task = |id: &str, mode: &str, on: &[&str]| json!({"id": id, "mode": mode, "goal": format!("TASK:{id}"), "acceptance": ["x"], "depends_on": on});
    let tasks = [task("one", "code", &[]), task("two", "code", &[]), task("look", "review", &["one", "two"])];
    stage.env.write(stage.repo.join("script/plan.json"), json!({ "tasks": tasks }).to_string());
    stage.env.write(stage.repo.join("script/player.sh"), PLAYER);
    let agent = "name = \"player\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"script/player.sh\"]\n";
    stage.env.write(stage.env.config().join("holon/agents/player.toml"), agent);
    let stage = stage.play("- text: hi\n");
    let run = |goal: &str| {
        let body =
            json!({"workspace": stage.repo.path(), "goal": goal, "mode": "orchestrate", "agent": "player"});
        let started = stage.post("/api/runs", body);
        assert_eq!(started.status, 202);
        let id = started.json()["id"].as_str().unwrap().to_owned();
        // The stream ends when the run does.
        let events = stage.get(&format!("/api/runs/{id}/events")).events();
        let show = stage.get(&format!("/api/runs/{id}")).json();
        assert_eq!(show["state"], "finished", "{show:#}");
        (id, events, show)
    };

    let (id, events, done) = run("Write both");
    assert_eq!((&done["outcome"], &done["exit_code"]), (&json!("success"), &json!(0)), "{done:#}");
    let file = |id: &str, name: &str| stage.get(&format!("/api/runs/{id}/files/{name}"));
    let patch = file(&id, "diff.patch").text();
    assert!(patch.contains("one.txt") && patch.contains("two.txt"), "{patch}");
    let report = file(&id, "orchestration.json").json();
    let ids: Vec<&str> =
        report["nodes"].as_array().unwrap().iter().map(|n| n["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["one", "two", "look", "ethical"]);
    assert_eq!(
        (&report["decision"]["is"], report["merge_order"].as_array().unwrap().len()),
        (&json!("approve"), 2)
    );
    assert_eq!(file(&id, "ethics.json").json()["is_approved"], true);
    // What happened can be followed: the plan, every task, one end.
    let told: Vec<(String, String)> = of(&events, "run")
        .iter()
        .map(|e| {
            (e.data["type"].as_str().unwrap().to_owned(), e.data["step"].as_str().unwrap_or("").to_owned())
        })
        .collect();
    let has = |kind: &str, step: &str| told.iter().any(|(k, s)| k == kind && s == step);
    assert!(has("run_started", "") && has("tasks_planned", ""), "{told:?}");
    for step in ["orchestrate", "one", "two", "look", "ethical"] {
        assert!(has("step_started", step) && has("step_finished", step), "{step}: {told:?}");
    }
    assert_eq!(told.iter().filter(|(kind, _)| kind == "run_finished").count(), 1);

    // What the assessment does not let out is not handed out here either, and only a person at a terminal can.
    let (id, _, blocked) = run("Write both, FORBIDDEN");
    assert_eq!(
        (&blocked["outcome"], &blocked["exit_code"]),
        (&json!("needs_human"), &json!(2)),
        "{blocked:#}"
    );
    assert_eq!(file(&id, "diff.patch").status, 404);
    assert!(!stage.repo.join("one.txt").exists());
    let over = ["run", "--resume", &id, "--quiet", "--override-ethics", "A lawyer has looked at it"];
    stage.env.holon(over).cwd(stage.repo.path()).run().assert_code(0);
    assert!(file(&id, "diff.patch").text().contains("two.txt"));
    stage.env.holon(["audit", "verify"]).cwd(stage.repo.path()).run().assert_code(0);
}

#[test]
fn inv_17_a_single_run_is_assessed_where_the_configuration_says_so() {
    let stage = ServeStage::new();
    stage.env.write(stage.repo.join("script/player.sh"), PLAYER);
    let agent = "name = \"player\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"script/player.sh\"]\n";
    stage.env.write(stage.env.config().join("holon/agents/player.toml"), agent);
    stage.env.write(stage.env.config().join("holon/config.toml"), "[modes.code]\nassess = true\n");
    let stage = stage.play("- text: hi\n");
    for (goal, outcome, status) in [("Write two", "success", 200), ("FORBIDDEN", "needs_human", 404)] {
        let body =
            json!({"workspace": stage.repo.path(), "goal": goal, "mode": "execute", "agent": "player"});
        let id = stage.post("/api/runs", body).json()["id"].as_str().unwrap().to_owned();
        stage.get(&format!("/api/runs/{id}/events")).events();
        let show = stage.get(&format!("/api/runs/{id}")).json();
        assert_eq!(show["outcome"], outcome, "{goal}: {show:#}");
        assert_eq!(stage.get(&format!("/api/runs/{id}/files/diff.patch")).status, status, "{goal}");
        let report = stage.get(&format!("/api/runs/{id}/files/orchestration.json")).json();
        let ids: Vec<&str> =
            report["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["code", "ethical"], "{goal}");
    }
}

#[test]
fn one_task_is_spoken_to_while_the_others_go_on() {
    let stage = ServeStage::new();
    let task = |id: &str| json!({"id": id, "mode": "code", "goal": format!("TASK:{id}"), "acceptance": ["x"], "depends_on": []});
    stage
        .env
        .write(stage.repo.join("script/plan.json"), json!({"tasks": [task("one"), task("two")]}).to_string());
    let listens = "if [ $HOLON_MODE = execute ] && grep -q TASK:two /holon/input/prompts/user.md; then [ -f /holon/input/context/message.md ] || exec sleep 600; fi\n";
    stage.env.write(stage.repo.join("script/player.sh"), format!("{listens}{PLAYER}"));
    let agent = "name = \"player\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"script/player.sh\"]\n";
    stage.env.write(stage.env.config().join("holon/agents/player.toml"), agent);
    let stage = stage.play("- text: hi\n");
    let body =
        json!({"workspace": stage.repo.path(), "goal": "Both", "mode": "orchestrate", "agent": "player"});
    let id = stage.post("/api/runs", body).json()["id"].as_str().unwrap().to_owned();
    let tell =
        |task: &str, body: serde_json::Value| stage.post(&format!("/api/runs/{id}/tasks/{task}"), body);
    // As soon as the task is under way it can be told something; before, there is nothing to begin again.
    let begun = || tell("two", json!({"word": "retry"})).status == 200;
    assert!(wait_until(Duration::from_secs(60), begun));
    for (task, body, status) in [
        ("two", json!({"word": "sing"}), 422),
        ("two", json!({"word": "say"}), 422),
        ("none", json!({"word": "stop"}), 409),
        ("ethical", json!({"word": "skip"}), 409),
    ] {
        assert_eq!(tell(task, body.clone()).status, status, "{task} {body}");
    }
    let told = tell("two", json!({"word": "say", "text": "Go on"}));
    assert_eq!((told.status, told.json()["heard"].clone()), (200, json!(true)));
    let show = || stage.get(&format!("/api/runs/{id}")).json();
    assert!(wait_until(Duration::from_secs(60), || show()["state"] == "finished"), "{}", show());
    assert_eq!(show()["outcome"], "success", "{:#}", show());
    for word in ["stop", "retry", "skip"] {
        assert_eq!(tell("two", json!({"word": word})).status, 409, "all of it is done: {word}");
    }
    assert_eq!(stage.post("/api/runs/none/tasks/two", json!({"word": "stop"})).status, 404);
}

#[test]
fn what_a_client_may_not_choose() {
    let stage = ServeStage::playing("- text: hi\n");
    let repo = stage.repo.path();
    let check = |body: serde_json::Value, status: u16| {
        let answer = stage.post("/api/runs", body.clone());
        assert_eq!(answer.status, status, "{body}");
    };
    check(json!({"workspace": "/etc", "goal": "x"}), 403);
    check(json!({"workspace": "/no/such/folder", "goal": "x"}), 403);
    // Below a folder it works on the server tells that there is nothing; elsewhere that is nobody's business.
    check(json!({"workspace": repo.join("../elsewhere"), "goal": "x"}), 403);
    check(json!({"workspace": repo.join("no-such-folder"), "goal": "x"}), 422);
    let missing = stage.post("/api/threads", json!({"workspace": repo.join("no-such-folder")})).text();
    assert!(missing.contains("there is no folder"), "{missing}");
    check(json!({"workspace": repo, "goal": "x", "agent": "/bin/sh"}), 422);
    check(json!({"workspace": repo, "goal": "x", "mode": "no-such-mode"}), 422);
    check(json!({"workspace": repo, "goal": " "}), 422);
    check(json!({"workspace": repo, "goal": "x", "sandbox": "none"}), 422);
    check(json!({"workspace": repo, "spec": {"goal": "x", "context": {"files": ["/etc/passwd"]}}}), 422);
}
