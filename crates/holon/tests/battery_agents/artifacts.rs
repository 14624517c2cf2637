//! What real agents hand over in each mode, and that it has the same shape for all of them.

use std::collections::BTreeSet;

use holon_testkit::{assert_unchanged, tree_state};
use serde_json::{Value, json};

use crate::stage::{ALL, LAST_WORDS, ModelPart, PLAN, RealAgentStage, ScriptedToolCall, call, is_installed};
use holon_model::cassette::{CassetteStep, CassetteTurn};

fn review() -> String {
    let review = json!({"version": 1, "verdict": "block", "findings": [{
        "path": "a.txt", "line": 1, "side": "new", "severity": "high", "category": "bug", "title": "Only one line",
        "body": "There should be two.", "confidence": 0.9, "snippet": "one",
    }]});
    format!("One thing is wrong.\n\n```json\n{review:#}\n```\n")
}

fn check(agent: &str, mode: &str, part: ModelPart, artifacts: &[&str]) -> Option<RealAgentStage> {
    let stage = RealAgentStage::set(agent, part)?;
    let before = tree_state(stage.repo.path());
    let output = stage.run(mode, &[]).run();
    output.assert_code(0);
    assert_unchanged(&before, stage.repo.path());
    let manifest = stage.manifest();
    let valid: Vec<&str> = manifest["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|a| a["valid"] == true)
        .map(|a| a["path"].as_str().unwrap())
        .collect();
    for artifact in artifacts {
        assert!(valid.contains(artifact), "{agent} {mode}: {artifact} is missing among {valid:?}\n{output}");
    }
    assert_eq!(manifest["metadata"]["adapter"], agent);
    assert!(manifest["metadata"]["agent"]["version"].is_string(), "{manifest:#}");
    assert_eq!(manifest["metadata"]["sandbox"]["enforced"]["net_ns"], true);
    assert_eq!(
        manifest["metadata"]["sandbox"]["enforced"]["tools"], false,
        "a foreign agent decides about its tools"
    );
    stage.env.assert_nothing_left();
    Some(stage)
}

#[test]
fn execute_gives_a_patch_and_a_summary() {
    for agent in ALL {
        let part = ModelPart::new(&["echo two > b.txt"], LAST_WORDS);
        let Some(stage) = check(agent, "execute", part, &["diff.patch", "summary.md"]) else { continue };
        assert!(stage.out("diff.patch").contains("+two"), "{agent}");
        assert_eq!(stage.out("summary.md").trim(), LAST_WORDS);
        let events = stage.out("evidence/events.jsonl");
        for kind in ["tool_proposed", "tool_finished", "message_delta", "round_started", "usage"] {
            assert!(events.contains(&format!("\"type\":\"{kind}\"")), "{agent} tells no {kind}:\n{events}");
        }
    }
}

#[test]
fn plan_gives_a_plan_and_changes_nothing() {
    for agent in ALL {
        let part = ModelPart::new(&["echo two > b.txt; echo tried"], PLAN);
        let Some(stage) = check(agent, "plan", part, &["plan.md"]) else { continue };
        assert!(stage.out("plan.md").contains("## Verification"));
        assert!(stage.asked().to_lowercase().contains("read-only file system"), "{agent} was not told why");
        assert!(!stage.env.work().join("out/diff.patch").exists());
    }
}

#[test]
fn review_gives_findings_in_the_form_asked_for() {
    for agent in ALL {
        let Some(stage) =
            check(agent, "review", ModelPart::new(&["cat a.txt"], &review()), &["review.json", "summary.md"])
        else {
            continue;
        };
        let review: Value = serde_json::from_str(&stage.out("review.json")).unwrap();
        assert_eq!(review["findings"][0]["location"], "verified", "{review:#}");
        assert_eq!(stage.out("summary.md").trim(), "One thing is wrong.");
    }
}

#[test]
fn a_file_that_the_agent_wrote_beats_its_last_words() {
    let part = ModelPart::new(&["printf 'Written by hand.' > /holon/output/summary.md"], LAST_WORDS);
    let Some(stage) = check("codex", "execute", part, &["summary.md"]) else { return };
    assert_eq!(stage.out("summary.md").trim(), "Written by hand.");
}

#[test]
fn a_plan_without_its_sections_is_asked_for_once_more() {
    let Some(stage) = RealAgentStage::with("claude-code", |_, asked| {
        let mended = asked.body.to_string().contains("# Repair");
        CassetteTurn::text(if mended { PLAN } else { "I would add b.txt." }).into()
    }) else {
        return;
    };
    stage.run("plan", &[]).run().assert_code(0);
    assert!(stage.out("plan.md").contains("## Risks"));
    assert!(stage.out("evidence/events.jsonl").contains("repair_round"));
}

/// Keys of a value, deep, with list items folded.
fn shape(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| shape(value, &format!("{at}.{key}"), into)),
        Value::Array(items) => items.iter().for_each(|value| shape(value, &format!("{at}[]"), into)),
        _ => drop(into.insert(at.to_owned())),
    }
}

#[test]
fn inv_07_the_same_spec_gives_the_same_shape_with_four_agents() {
    let mut shapes = Vec::new();
    let more = ["gemini", "goose", "qwen"].into_iter().filter(|agent| is_installed(agent));
    for agent in ["native", "claude-code", "codex", "opencode"].into_iter().chain(more) {
        let name = agent.to_owned();
        let Some(stage) = RealAgentStage::with(agent, move |round, _| {
            let deed = ScriptedToolCall::Shell("echo two > b.txt".into());
            let finish = holon_model::cassette::CassetteCall {
                name: "finish".into(),
                arguments: json!({"summary": LAST_WORDS, "status": "done"}).to_string(),
                ..Default::default()
            };
            let step = match round {
                0 => CassetteStep::Call(call(&name, &deed)),
                _ if name == "native" => CassetteStep::Call(finish),
                _ => CassetteStep::Text(LAST_WORDS.into()),
            };
            CassetteTurn { steps: vec![step], ..CassetteTurn::default() }.into()
        }) else {
            return;
        };
        let spec = "version: v1\nkind: Holon\ngoal: Add b.txt\nconstraints: { mode: execute, supervisor: \"off\" }\n";
        stage.env.write("work/spec.yaml", spec);
        let output = stage.run("execute", &["--spec", "../spec.yaml"]).run();
        output.assert_code(0);
        let manifest = stage.manifest();
        let artifacts: BTreeSet<String> = manifest["artifacts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a["path"].as_str().unwrap().to_owned())
            .collect();
        let mut keys = BTreeSet::new();
        shape(&manifest, "", &mut keys);
        // Who chose the model says more about it, warnings are optional, and supervision has its own tests.
        keys.retain(|key| {
            !key.contains(".warnings")
                && !key.contains("supervisor")
                && !key.contains(".version")
                && !key.contains("cost_usd")
        });
        let files: Vec<String> = ["events.jsonl", "model.yaml"]
            .iter()
            .map(|f| format!("{f}:{}", stage.env.work().join("out/evidence").join(f).exists()))
            .collect();
        shapes.push((agent, artifacts, keys, files));
    }
    assert!(shapes.len() >= 4);
    for (agent, artifacts, keys, files) in &shapes[1..] {
        assert_eq!(artifacts, &shapes[0].1, "{agent}");
        assert_eq!(keys, &shapes[0].2, "{agent}");
        assert_eq!(files, &shapes[0].3, "{agent}");
    }
}
