#![allow(clippy::unwrap_used, clippy::panic)]
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use holon_core::mode::ModeCatalog;
use serde_json::{Value, json};

use super::*;

/// A plan as it is written down, for the built-in mode that writes code.
fn plan() -> RunPlan {
    let profile = ModeCatalog::builtin().unwrap().resolve("execute").unwrap();
    let agent = json!({
        "adapter": { "name": "exec", "kind": "exec", "command": ["{agent}", "{args}"] },
        "name": "agent.sh", "file": "/b/agent.sh", "image": null, "args": ["--fast"], "warnings": [],
    });
    RunPlan {
        version: PLAN_VERSION,
        work: PlannedWork::Agent,
        spec: Spec::for_goal("Do it"),
        profile,
        mode_prompt: "Write code.".into(),
        agent: serde_json::from_value(agent).unwrap(),
        workspace: "/w".into(),
        model: None,
        provider: None,
        replay: Some(PlannedCassette { path: "/c.yaml".into(), sha256: "ab".into(), heard: 2 }),
        figures: Some(ModelFigures {
            window: 128_000,
            prices: Some(Prices { input: 1e-6, ..Prices::default() }),
        }),
        cut: None,
        goes_on: None,
        record: None,
        out: None,
        context: vec![NamedPath { path: "/w/docs".into(), within: Some("/w".into()) }],
        checks: vec!["make test".into()],
        auto_checks: true,
        supervisor: SupervisorConfig::default(),
        models: ModelRules::default(),
        breaker: BreakerLimits { failures: Some(3), cool_down_seconds: None },
        day: DayLimits { usd: Some(2.5), tokens: None },
        servers: vec![PlannedServer {
            name: "docs".into(),
            argv: vec!["sh".into(), "-c".into(), "exec docs".into()],
            variables: vec!["DOCS_TOKEN".into()],
        }],
        permits: vec![PlannedPermit {
            rule: "npm".into(),
            granted_by: "flag --allow-net".into(),
            hosts: vec!["registry.test:443".into()],
        }],
        arrivals: PlannedArrivals { min_age_days: 7, denied: vec!["npm:worse".into()] },
        environment: Some(PlannedEnvironment {
            digest: "ab".into(),
            setup: holon_environment::EnvironmentSetup {
                commands: vec!["npm ci".into()],
                permits: vec!["npm".into()],
                inputs: Vec::new(),
                source: holon_environment::SetupSource::User { file: "/c".into() },
                notes: Vec::new(),
            },
        }),
        sandbox: SandboxChoice::Auto,
        accept_no_isolation: false,
        writes_allowed: false,
        part: false,
        money_limit: Some(0.1),
        snapshot: SnapshotStrategyChoice::Auto,
        hide: vec!["logs".into()],
        logs: None,
        tests_may_change: false,
        check_reports: Vec::new(),
        allow_sensitive: false,
        apply: false,
        verify_full: false,
        keep: false,
        audit: None,
        sources: Vec::new(),
        warnings: Vec::new(),
    }
}

#[test]
fn a_plan_is_the_same_after_it_was_written_and_read() {
    let checks = TreeBefore { workspace: "/before".into(), touched: vec!["a".into()], always: true };
    let goes_on = RunContinuation {
        run: RunId::from_parts(0, [1, 2, 3, 4]),
        folder: "/runs/x".into(),
        message: "[The run goes on]".into(),
    };
    for plan in [
        plan(),
        plan().only_checks(Some(checks)),
        plan().only_checks(None),
        RunPlan { goes_on: Some(goes_on), ..plan() },
        // A folder that is no text.
        RunPlan { workspace: OsString::from_vec(vec![b'/', 0xff]).into(), ..plan() },
    ] {
        let text = plan.to_json().unwrap();
        assert_eq!(RunPlan::from_json(text.as_bytes()).unwrap(), plan);
    }
}

#[test]
fn a_plan_of_another_version_is_refused_with_the_version_in_the_message() {
    for version in [0, PLAN_VERSION + 1] {
        let mut value = serde_json::to_value(plan()).unwrap();
        value["version"] = version.into();
        let error = RunPlan::from_json(value.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("version {version}")), "{error}");
    }
    assert!(RunPlan::from_json(b"{}").is_err());
}

#[test]
fn the_committed_schema_is_current_and_describes_every_field() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if text != include_str!("../../../../schemas/run-plan.json") {
        panic!("schemas/run-plan.json is out of date: run `cargo xtask codegen`");
    }
    fn walk(value: &Value, place: &str, missing: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    for (name, property) in properties {
                        let told =
                            ["description", "$ref", "const"].iter().any(|key| property.get(key).is_some());
                        if !told {
                            missing.push(format!("{place}.{name}"));
                        }
                    }
                }
                map.iter().for_each(|(key, inner)| walk(inner, &format!("{place}/{key}"), missing));
            }
            Value::Array(items) => items.iter().for_each(|inner| walk(inner, place, missing)),
            _ => {}
        }
    }
    let mut missing = Vec::new();
    walk(&schema(), "run-plan", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
}
