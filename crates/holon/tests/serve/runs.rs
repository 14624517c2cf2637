//! Runs from the server: started, followed, answered at their gates.

use std::time::Duration;

use holon_testkit::wait_until;
use serde_json::json;

use crate::http::of;
use crate::stage::Stage;

#[test]
fn a_flow_waits_at_its_gate_for_a_word() {
    let stage = Stage::new();
    let script = "case $HOLON_MODE in \
        plan) printf '# Goal\\nx\\n# Context\\nx\\n# Steps\\nx\\n# Risks\\nx\\n# Verification\\nx\\n' > /holon/output/plan.md;; \
        *) echo new > new.txt; echo done > /holon/output/summary.md;; esac";
    // Agents of the user's own are known by name.
    let text = format!(
        "name = \"scripted\"\nkind = \"exec\"\ndescription = \"A script\"\ncommand = [\"/bin/sh\", \"-c\", \"\"\"{}\"\"\"]\n",
        script.replace('\\', "\\\\")
    );
    stage.env.write(stage.env.config().join("holon/agents/scripted.toml"), text);
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
fn what_a_client_may_not_choose() {
    let stage = Stage::playing("- text: hi\n");
    let repo = stage.repo.path();
    let check = |body: serde_json::Value, status: u16| {
        let answer = stage.post("/api/runs", body.clone());
        assert_eq!(answer.status, status, "{body}");
    };
    check(json!({"workspace": "/etc", "goal": "x"}), 403);
    check(json!({"workspace": repo, "goal": "x", "agent": "/bin/sh"}), 422);
    check(json!({"workspace": repo, "goal": "x", "mode": "no-such-mode"}), 422);
    check(json!({"workspace": repo, "goal": " "}), 422);
    check(json!({"workspace": repo, "goal": "x", "sandbox": "none"}), 422);
    check(json!({"workspace": repo, "spec": {"goal": "x", "context": {"files": ["/etc/passwd"]}}}), 422);
}
