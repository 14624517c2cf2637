#![allow(clippy::unwrap_used)]
use super::*;
use crate::spec::{NetworkReach, SpecSupervision};
use proptest::prelude::*;

const FULL: &str = r#"
version: v1
kind: Holon
metadata: { name: fix, id: "42", labels: { team: core } }
goal:
  description: Make it work
  issue_id: 7
context:
  workspace: .
  files: [README.md]
  env: { RUST_LOG: debug }
output:
  artifacts:
    - { path: report.md, required: false }
    - path: plan.json
constraints:
  mode: execute
  timeout: 1h30m
  max_steps: 10
  max_cost_usd: 0.5
  network: none
  supervisor: strict
  checks: ["cargo test"]
agent: { name: ./agent.sh, model: m, image: i }
"#;

#[test]
fn everything_is_read() {
    let (spec, warnings) = parse(FULL, "spec.yaml").unwrap();
    assert_eq!(warnings, []);
    assert_eq!(spec.goal, SpecGoal { description: "Make it work".into(), issue_id: Some("7".into()) });
    assert_eq!(spec.constraints.timeout.unwrap().to_string(), "1h30m");
    assert_eq!(spec.constraints.network, Some(NetworkReach::None));
    assert_eq!(spec.constraints.supervisor, Some(SpecSupervision::Strict));
    assert_eq!(spec.output.artifacts.iter().map(|a| a.required).collect::<Vec<_>>(), [false, true]);
    assert_eq!(spec.context.env["RUST_LOG"], "debug");
}

#[test]
fn a_spec_round_trips() {
    let (spec, _) = parse(FULL, "spec.yaml").unwrap();
    let text = serde_saphyr::to_string(&spec).unwrap();
    let (again, warnings) = parse(&text, "spec.yaml").unwrap();
    assert_eq!((again, warnings), (spec, vec![]));
}

#[test]
fn a_bare_goal_is_enough() {
    let (spec, _) = parse("goal: Fix the tests", "spec.yaml").unwrap();
    assert_eq!(spec, Spec::for_goal("Fix the tests"));
}

#[test]
fn inv_15_unknown_keys_warn_with_the_nearest_name() {
    let check = |text: &str, key: &str, hint: &str, line: u64| {
        let (_, warnings) = parse(text, "s").unwrap();
        assert_eq!(warnings.len(), 1, "{text}");
        assert_eq!((warnings[0].key.as_str(), warnings[0].line), (key, Some(line)), "{text}");
        assert!(warnings[0].message.contains(hint), "{}", warnings[0].message);
    };
    check("goal: x\nconstrains: {mode: plan}", "constrains", "`constraints`", 2);
    check("goal: x\nconstraints:\n  mod: plan\n", "constraints.mod", "`mode`", 3);
    check(
        "goal: x\noutput:\n  artifacts:\n    - path: a.md\n      requird: true\n",
        "output.artifacts.requird",
        "`required`",
        5,
    );
    check("goal: x\nsandbox: none\n", "sandbox", "ignored", 2);
}

#[test]
fn mistakes_say_where_and_what_to_do() {
    let check = |text: &str, line: Option<u64>, parts: &[&str]| {
        let error = parse(text, "spec.yaml").unwrap_err();
        let shown = error.to_string();
        assert_eq!(error.line, line, "{shown}");
        assert!(shown.starts_with("spec.yaml"), "{shown}");
        for part in parts {
            assert!(shown.contains(part), "`{part}` is not in: {shown}");
        }
    };
    check("", None, &["empty", "goal:"]);
    check("- a\n- b", None, &["not a mapping"]);
    check("goal: [", Some(1), &["cannot be read"]);
    check("version: v1", Some(1), &["`goal` is missing"]);
    check(
        "goal: x\nconstraints: {mode: plan, network: open}",
        Some(2),
        &["`network` cannot be read: unknown variant `open`"],
    );
    check("goal: x\ngoal: y", Some(2), &["`goal` is given twice", "2 | goal: y"]);
    check("goal: x\nconstraints:\n  timeout: soon", Some(3), &["timeout", "20m"]);
    check("goal: x\nconstraints:\n  timeout: 90", Some(3), &["unit is missing", "20m"]);
    check("goal: x\nconstraints:\n  max_steps: many", Some(3), &["max_steps", "whole number"]);
    check("goal: x\nconstraints:\n  network: open", Some(3), &["network", "gateway"]);
    check("goal: x\ncontext:\n  files: README.md", Some(3), &["files", "list"]);
    check("goal: x\nversion: v2", Some(2), &["`version`", "v1"]);
    check("goal: x\nkind: Pod", Some(2), &["`kind`", "Holon"]);
    check("goal: '  '", Some(1), &["goal.description", "empty"]);
    check("goal:\n  issue_id: 3", Some(2), &["description"]);
    check("goal: x\nconstraints:\n  max_cost_usd: .nan", Some(3), &["max_cost_usd"]);
    check("goal: x\nconstraints:\n  max_cost_usd: -1", Some(3), &["max_cost_usd"]);
    check("goal: x\nconstraints:\n  max_steps: 0", Some(3), &["max_steps"]);
    check("goal: x\noutput:\n  artifacts:\n    - path: ../x", Some(3), &["output.artifacts", "../x"]);
    check("goal: x\ncontext:\n  env:\n    'A B': c", Some(3), &["context.env", "A B"]);
    check("goal: x\ncontext:\n  env:\n    HOLON_MODE: c", Some(3), &["context.env", "HOLON_MODE"]);
}

#[test]
fn inv_06_a_secret_in_the_spec_is_refused_and_not_repeated() {
    let key = "ghp_".to_owned() + &"Ab3Cd4".repeat(6);
    for text in [
        format!("goal: x\ncontext:\n  env:\n    FORGE: {key}"),
        "goal: x\ncontext:\n  env:\n    MY_API_KEY: 0123456789abcdef0123".to_owned(),
        "goal: x\ncontext:\n  env:\n    DB_PASSWORD: correct-horse-battery".to_owned(),
    ] {
        let error = parse(&text, "spec.yaml").unwrap_err().to_string();
        assert!(error.contains("looks like a secret"), "{error}");
        assert!(
            !error.contains(&key) && !error.contains("0123456789abcdef") && !error.contains("horse"),
            "{error}"
        );
    }
    assert!(
        parse("goal: x\ncontext:\n  env:\n    API_KEY_FILE: /run/key\n    TOKEN_COUNT: '12'", "s").is_ok()
    );
}

#[test]
fn hostile_yaml_ends_quickly() {
    let bomb = format!(
        "a: &a [x,x,x,x,x,x,x,x,x]\n{}goal: x",
        (b'b'..b'z')
            .map(|c| {
                let (c, p) = (c as char, (c - 1) as char);
                format!("{c}: &{c} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n")
            })
            .collect::<String>()
    );
    assert!(parse(&bomb, "s").is_err());
    assert!(parse(&format!("goal: {}", "[".repeat(20_000)), "s").is_err());
    assert!(parse(&"x".repeat(MAX_BYTES + 1), "s").is_err());
    assert!(parse("goal: x\n---\ngoal: y", "s").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn never_panics(text in "\\PC{0,200}") {
        let _ = parse(&text, "spec.yaml");
    }

    #[test]
    fn never_panics_on_yaml_like_text(parts in prop::collection::vec(prop_oneof![
        Just("goal: x\n"), Just("goal:\n"), Just("  description: "), Just("constraints:\n"), Just("  timeout: 5m\n"),
        Just("- "), Just("{"), Just("}"), Just("["), Just("]"), Just("&a "), Just("*a"), Just("'"), Just("\""), Just("|\n"),
        Just("  "), Just("\n"), Just(": "), Just("<<: *a\n"), Just("!!binary "), Just("\t"), Just("é"), Just("\u{feff}")
    ], 0..30)) {
        let _ = parse(&parts.concat(), "spec.yaml");
    }
}
