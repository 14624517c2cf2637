//! What an agent leaves as the contract allows: taken, checked, and readable by whoever publishes.

use std::fs;

use holon_testkit::TestEnv;
use serde_json::Value;

use super::{BIN, SUMMARY};

/// One run with an agent made of this script; its manifest is in `../out`.
fn run(env: &TestEnv, mode: &str, script: &str, more: &[&str], code: i32) -> Value {
    let repo = env.repo().file("a.txt", "one\ntwo\nthree\n").commit("first");
    let agent = env.agent("agent.sh", script);
    let call = env.holon(["run", "--mode", mode, "--goal", "x", "--out", "../out"]).args(more);
    let done = call.arg("--agent").arg(agent).cwd(repo.path()).run();
    done.assert_code(code).manifest(env.work().join("out"))
}

fn row<'a>(manifest: &'a Value, path: &str) -> &'a Value {
    let rows = manifest["artifacts"].as_array().unwrap();
    rows.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("no {path} in {manifest:#}"))
}

#[test]
fn evidence_of_an_agent_is_kept_under_the_path_the_manifest_gives() {
    let env = TestEnv::new(BIN);
    let script = format!(
        "{SUMMARY}mkdir -p \"$HOLON_OUTPUT_DIR/evidence/deep\"\ncd \"$HOLON_OUTPUT_DIR/evidence\"\n\
         echo seen > screenshot.txt; echo mine > events.jsonl; echo d > deep/log.txt\n"
    );
    let manifest = run(&env, "execute", &script, &[], 0);
    let out = env.work().join("out");
    for (path, text) in [
        ("evidence/screenshot.txt", "seen\n"),
        ("evidence/deep/log.txt", "d\n"),
        ("evidence/of-agent/events.jsonl", "mine\n"),
    ] {
        assert_eq!(row(&manifest, path)["valid"], true);
        assert_eq!(fs::read_to_string(out.join(path)).unwrap(), text, "{path}");
    }
    // The host's own is its own.
    assert!(fs::read_to_string(out.join("evidence/events.jsonl")).unwrap().contains("run_started"));
    let file = env.work().join("summary.md");
    let call = env.holon(["publish", "summary", "--from"]).arg(&out).arg("--file").arg(file);
    call.run().assert_code(0);
}

#[test]
fn a_review_in_the_five_fields_of_the_contract_is_whole_in_the_end() {
    let env = TestEnv::new(BIN);
    let review = r#"{"findings": [{"path": "a.txt", "line": 2, "body": "It says two. Say three.", "severity": "high", "fingerprint": "abc"}]}"#;
    let script = format!("{SUMMARY}cat > \"$HOLON_OUTPUT_DIR/review.json\" <<'END'\n{review}\nEND\n");
    let manifest = run(&env, "review", &script, &[], 0);
    assert_eq!(row(&manifest, "review.json")["valid"], true);
    let out = env.work().join("out");
    let filled: Value = serde_json::from_slice(&fs::read(out.join("review.json")).unwrap()).unwrap();
    let finding = &filled["findings"][0];
    assert_eq!((&filled["verdict"], &finding["category"]), (&"block".into(), &"general".into()));
    assert_eq!((&finding["snippet"], &finding["location"]), (&"two".into(), &"line".into()), "{finding}");
    assert_eq!(finding["title"], "It says two");
    env.holon(["publish", "sarif", "--from"]).arg(&out).run().assert_code(0);
}

#[test]
fn a_question_without_the_artifact_asks_a_person_and_is_told() {
    let env = TestEnv::new(BIN);
    let manifest =
        run(&env, "execute", "#!/bin/sh\necho 'Which of the two parsers is meant?'\nexit 2\n", &[], 2);
    assert_eq!(manifest["error"]["kind"], "needs_human", "{manifest:#}");
    assert_eq!(manifest["metadata"]["question"], "Which of the two parsers is meant?");
    assert!(manifest["error"]["message"].as_str().unwrap().contains("Which of the two parsers"));
    assert_eq!(row(&manifest, "summary.md")["valid"], false, "what is missing is still told");
    let claim = r#"#!/bin/sh
echo '{"outcome": "needs_human", "question": "May I drop the column?"}' > "$HOLON_OUTPUT_DIR/manifest.json"
exit 1
"#;
    let manifest = run(&TestEnv::new(BIN), "review", claim, &[], 2);
    assert_eq!(manifest["metadata"]["question"], "May I drop the column?");
    // One that is there and wrong is a failure all the same.
    let wrong = format!("{SUMMARY}echo '{{' > \"$HOLON_OUTPUT_DIR/review.json\"\nexit 2\n");
    let manifest = run(&TestEnv::new(BIN), "review", &wrong, &[], 1);
    assert_eq!(manifest["error"]["kind"], "artifact_invalid");
}

#[test]
fn inv_19_the_schema_of_an_artifact_is_held_against_it() {
    for (schema, report, code, word) in [
        ("s.json", r#"{"id": 1}"#, 0, ""),
        ("s.json", r#"{"id": "one"}"#, 1, "id: must be of type integer"),
        ("{type: array, minItems: 1}", "[]", 1, "at least 1"),
        ("review", r#"{"verdict": "approve"}"#, 1, "findings"),
    ] {
        let env = TestEnv::new(BIN);
        let spec = format!("goal: x\noutput: {{artifacts: [{{path: report.json, schema: {schema}}}]}}\n");
        let repo = env.repo().file("a.txt", "one\n").file("spec.yaml", spec);
        let repo = repo
            .file(
                "s.json",
                r#"{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}"#,
            )
            .commit("first");
        let script = format!("{SUMMARY}cat > \"$HOLON_OUTPUT_DIR/report.json\" <<'END'\n{report}\nEND\n");
        let agent = env.agent("agent.sh", &script);
        let call = env.holon(["run", "--spec", "spec.yaml", "--out", "../out", "--agent"]).arg(agent);
        let done = call.cwd(repo.path()).run();
        let manifest = done.assert_code(code).manifest(env.work().join("out"));
        let row = row(&manifest, "report.json");
        assert_eq!(row["valid"], code == 0, "{row}");
        assert!(row["problems"].to_string().contains(word), "{row}");
        let prompt = fs::read_to_string(env.runs()[0].join("input/prompts/user.md")).unwrap();
        assert!(prompt.contains("report.json` must satisfy this JSON Schema"), "{prompt}");
    }
}

#[test]
fn an_artifact_that_is_too_large_is_called_so() {
    let env = TestEnv::new(BIN);
    let script =
        format!("{SUMMARY}head -c 3000000 /dev/zero | tr '\\0' x > \"$HOLON_OUTPUT_DIR/summary.md\"\n");
    let manifest = run(&env, "execute", &script, &["--max-output", "2"], 1);
    assert_eq!(manifest["error"]["kind"], "artifact_invalid", "{manifest:#}");
    assert!(manifest["error"]["message"].as_str().unwrap().contains("3000000 bytes"), "{manifest:#}");
    assert!(!manifest["error"]["message"].as_str().unwrap().contains("missing"));
}

#[test]
fn what_was_demanded_is_listed_so_where_no_patch_could_be_told() {
    let env = TestEnv::new(BIN);
    let script = format!("{SUMMARY}truncate -s 300M big\n");
    let manifest = run(&env, "execute", &script, &[], 1);
    assert_eq!(manifest["error"]["kind"], "patch", "{manifest:#}");
    let artifacts = manifest["artifacts"].as_array().unwrap();
    let summary = artifacts.iter().find(|artifact| artifact["path"] == "summary.md");
    assert_eq!(summary.unwrap()["required"], true, "{manifest:#}");
}

#[test]
fn what_is_not_kept_is_named_with_the_reason() {
    let env = TestEnv::new(BIN);
    let script = format!(
        "{SUMMARY}cd \"$HOLON_OUTPUT_DIR\"\nln -s /etc/passwd link\nhead -c 1500000 /dev/zero > big.bin\n\
         head -c 1500000 /dev/zero > large.bin\n"
    );
    let manifest = run(&env, "execute", &script, &["--max-output", "2"], 0);
    let warnings = manifest["metadata"]["warnings"].to_string();
    assert!(warnings.contains("link was not kept: it is no plain file"), "{warnings}");
    assert!(warnings.contains("large.bin was not kept: it has 1500000 bytes"), "{warnings}");
}

#[test]
fn what_an_agent_says_of_itself_and_cannot_be_read_is_told() {
    let env = TestEnv::new(BIN);
    let script = format!(
        "{SUMMARY}cd \"$HOLON_OUTPUT_DIR\"\necho 'not json' > manifest.json\necho 'not the patch' > diff.patch\n"
    );
    let manifest = run(&env, "execute", &script, &[], 0);
    let warnings = manifest["metadata"]["warnings"].to_string();
    assert!(warnings.contains("manifest.json the agent left is no JSON object"), "{warnings}");
    assert!(warnings.contains("diff.patch the agent left differs"), "{warnings}");
    let out = env.work().join("out/evidence");
    assert!(out.join("adapter-manifest.json").is_file() && out.join("adapter-diff.patch").is_file());
}
