//! Why a run failed can be read from the server, and nothing but that.

use serde_json::{Value, json};

use crate::stage::ServeStage;

/// Runs `goal` with the scripted agent to its end; its id, and what is shown of it.
fn run(stage: &ServeStage, mode: &str) -> (String, Value) {
    let mut body = json!({"workspace": stage.repo.path(), "goal": "x", "mode": mode, "agent": "scripted"});
    if mode.contains('-') {
        // Only flows have gates.
        body["gate"] = json!("auto");
    }
    let started = stage.post("/api/runs", body);
    assert_eq!(started.status, 202);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    // The stream ends when the run does.
    stage.get(&format!("/api/runs/{id}/events")).events();
    let shown = stage.get(&format!("/api/runs/{id}")).json();
    assert_eq!(shown["state"], "finished", "{shown:#}");
    (id, shown)
}

fn names(shown: &Value) -> Vec<String> {
    let files = shown["evidence"].as_array().unwrap_or_else(|| panic!("{shown:#}"));
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_failed_agent_printed_can_be_read_and_nothing_beside_it() {
    let stage = ServeStage::new();
    // Its own patch and what it changed are no artifacts of a run that failed.
    let work = "echo new > new.txt; echo claimed > /holon/output/diff.patch; echo the compiler is missing >&2; exit 3";
    stage.scripted(work);
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let stage = stage.with(&["--replay", tape.to_str().unwrap()], &[]);
    let (id, shown) = run(&stage, "execute");
    assert_eq!(shown["outcome"], "failure", "{shown:#}");
    let listed = names(&shown);
    assert!(listed.iter().any(|name| name == "agent.log"), "{listed:?}");
    assert!(!listed.iter().any(|name| name.ends_with(".patch")), "{listed:?}");

    let evidence = |path: &str| stage.get(&format!("/api/runs/{id}/evidence/{path}"));
    let log = evidence("agent.log");
    assert_eq!(log.status, 200);
    let log = log.json();
    assert!(log["text"].as_str().unwrap().contains("the compiler is missing"), "{log}");
    assert_eq!((&log["cut"], log["bytes"].as_u64() > Some(20)), (&json!(0), true), "{log}");
    for path in [
        "none.log",
        "..%2Frun.json",
        "..",
        ".",
        "%2e%2e%2frun.json",
        "agent.log%00",
        "%2Fetc%2Fpasswd",
        "agent.log%2F..%2F..%2Frun.json",
        "adapter-diff.patch",
        "withheld.patch",
        "steps",
        "steps%2F..%2Frun.json",
        "steps%2F20260101-000000-aaaaaa%2Fagent.log",
    ] {
        let answer = evidence(path);
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
    }
    for never in ["none", "20200101-000000-aaaaaa", "..", &format!("{id}%2F..%2F{id}")] {
        assert_eq!(stage.get(&format!("/api/runs/{never}/evidence/agent.log")).status, 404, "{never}");
    }
}

#[test]
fn evidence_is_for_whoever_may_see_the_run_and_has_no_secrets() {
    let secret = "hunter2-is-a-value-nobody-may-see";
    let stage = ServeStage::new();
    stage.scripted("echo before; exit 3");
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let variables = [("ANTHROPIC_API_KEY", secret)];
    let mut stage = stage.with(&["--replay", tape.to_str().unwrap()], &variables);
    let (id, _) = run(&stage, "execute");
    // However it came there.
    let state = stage.env.state().join("holon");
    let found = std::fs::read_dir(&state).unwrap().flatten().map(|entry| entry.path().join("runs").join(&id));
    let folder = found.into_iter().find(|path| path.is_dir()).unwrap();
    stage.env.leave_unverified("a log is changed after the run");
    std::fs::write(folder.join("evidence/agent.log"), format!("the key is {secret}\n")).unwrap();
    let path = format!("/api/runs/{id}/evidence/agent.log");
    let log = stage.get(&path).json();
    let text = log["text"].as_str().unwrap();
    assert!(text.starts_with("the key is [redacted") && !text.contains("hunter2"), "{text}");

    // A server that does not work on that folder does not know the run.
    stage.kill();
    let elsewhere = stage.env.repo_named("elsewhere").file("other.txt", "x\n").commit("first");
    stage.repo = elsewhere;
    stage.start();
    assert_eq!(stage.get(&path).status, 404);
}

#[test]
fn the_step_that_failed_shows_its_own() {
    let stage = ServeStage::new();
    stage.scripted("echo the second step is to blame; exit 3");
    let tape = stage.env.write("work/chat.yaml", "- text: hi\n");
    let stage = stage.with(&["--replay", tape.to_str().unwrap()], &[]);
    let (id, shown) = run(&stage, "plan-then-execute");
    assert_eq!(shown["outcome"], "failure", "{shown:#}");
    let steps = shown["manifest"]["metadata"]["flow"]["steps"].as_array().unwrap();
    let failed = steps.iter().find(|step| step["name"] == "execute").unwrap();
    let name = format!("steps/{}/agent.log", failed["run_id"].as_str().unwrap());
    assert!(names(&shown).contains(&name), "{name}: {:?}", names(&shown));
    let log = stage.get(&format!("/api/runs/{id}/evidence/{}", name.replace('/', "%2F"))).json();
    assert!(log["text"].as_str().unwrap().contains("the second step is to blame"), "{log}");
}
