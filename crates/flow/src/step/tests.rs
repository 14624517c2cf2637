#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use holon_core::HumanDuration;
use holon_core::mode::{RunOverrides, ValueOrigin, widenings};
use proptest::prelude::*;

use super::*;
use crate::builtin;

fn request(asked: &FlowRequest, flow: &str, step: &str, money_left: Option<f64>) -> RunRequest {
    let definition = builtin::find(flow).unwrap().unwrap();
    let place = definition.position(step).unwrap();
    let StepWork::Run(work) = &definition.steps[place].work else { panic!("{step} is no run") };
    let profile = profile(&ModeCatalog::builtin().unwrap(), work).unwrap();
    let files = [PathBuf::from("/flow/plan.md")];
    let extra = StepExtras { files: &files, message: true, money_left, workspace: None, round: 1 };
    asked.step(&definition, place, &profile, extra).unwrap()
}

fn asked(request: RunRequest) -> FlowRequest {
    FlowRequest::new(request, Path::new("/base")).unwrap()
}

#[test]
fn each_flag_goes_where_it_makes_sense() {
    let asked = asked(RunRequest {
        goal: Some("Do it".into()),
        checks: vec!["make test".into()],
        apply: true,
        context: vec!["notes/plan.md".into()],
        agent: Some("./agent.sh".into()),
        timeout: Some(HumanDuration::from_secs(90 * 60)),
        max_rounds: Some(150),
        network: Some(NetworkReach::Host),
        allow_net: vec!["npm".into()],
        record: Some("tape.jsonl".into()),
        ..RunRequest::default()
    });
    let plan = request(&asked, "plan-then-execute", "plan", Some(2.5));
    let execute = request(&asked, "plan-then-execute", "execute", Some(0.5));
    assert_eq!((plan.mode.as_deref(), execute.mode.as_deref()), (Some("plan"), Some("execute")));
    assert_eq!((plan.checks.len(), execute.checks.len()), (0, 1), "only the result is checked");
    assert!(!plan.apply && !execute.apply, "only the flow as a whole is applied");
    assert_eq!(
        plan.context[0],
        Path::new("/flow/plan.md"),
        "files of the flow have the first right to their names"
    );
    assert_eq!(plan.context[1], Path::new("/base/notes/plan.md"));
    assert_eq!(plan.agent.as_deref(), Some("/base/./agent.sh"));
    assert_eq!(plan.workspace.as_deref(), Some(Path::new("/base")));
    assert_eq!(plan.timeout, Some(HumanDuration::from_secs(60 * 60)), "no more than plan allows");
    assert_eq!(execute.timeout, Some(HumanDuration::from_secs(90 * 60)));
    assert_eq!((plan.max_rounds, execute.max_rounds), (Some(100), Some(150)));
    assert_eq!((plan.max_cost_usd, execute.max_cost_usd), (Some(2.5), Some(0.5)));
    assert_eq!(
        (plan.network, execute.network),
        (None, Some(NetworkReach::Host)),
        "a mode that promises no change"
    );
    assert_eq!(
        (plan.allow_net.len(), execute.allow_net.len()),
        (0, 1),
        "whoever only looks needs none of it"
    );
    assert_eq!(plan.record.as_deref(), Some(Path::new("/base/tape.plan.jsonl")));
    let goal = execute.goal.unwrap();
    assert!(
        goal.starts_with("Do it\n\n") && goal.contains("context/plan.md") && goal.contains("message.md"),
        "{goal}"
    );
}

#[test]
fn a_spec_is_divided_among_the_steps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.yaml");
    let text = "goal: From the spec\ncontext: {workspace: code, files: [a.md]}\noutput: {artifacts: [{path: report.md}]}\n\
        constraints: {mode: plan-then-execute, timeout: 90m, max_cost_usd: 3, checks: [make]}\nagent: {name: ./agent.sh}\n";
    std::fs::write(&path, text).unwrap();
    let asked = asked(RunRequest { spec: Some(path), max_cost_usd: Some(4.0), ..RunRequest::default() });
    assert_eq!((asked.goal().as_str(), asked.max_cost_usd()), ("From the spec", Some(3.0)));
    let definition = builtin::find("plan-then-execute").unwrap().unwrap();
    for (place, name) in ["plan", "execute"].into_iter().enumerate() {
        let StepWork::Run(work) = &definition.steps[place].work else { panic!("{name}") };
        let profile = profile(&ModeCatalog::builtin().unwrap(), work).unwrap();
        let extra = StepExtras { files: &[], message: false, money_left: None, workspace: None, round: 1 };
        let request = asked.step(&definition, place, &profile, extra).unwrap();
        let spec = request.given_spec.unwrap().spec;
        let last = name == "execute";
        assert_eq!(
            spec.output.artifacts.len(),
            usize::from(last),
            "further artifacts belong to the last run"
        );
        assert_eq!(spec.constraints.checks.len(), usize::from(last));
        assert_eq!(spec.constraints.timeout, Some(HumanDuration::from_secs(if last { 90 } else { 60 } * 60)));
        assert_eq!(spec.constraints.mode, None);
        assert_eq!(spec.agent.name.as_deref(), Some("/base/./agent.sh"));
        assert_eq!(request.workspace, Some(folder.path().join("code")));
        assert_eq!(Path::new(&spec.context.files[0]), folder.path().join("a.md"));
    }
}

fn sample(key: &str) -> serde_json::Value {
    use serde_json::json;
    match key {
        "version" => json!("v1"),
        "kind" => json!("Holon"),
        "metadata.labels" | "context.env" => json!({"A": "b"}),
        "context.files" => json!(["/base/a.md"]),
        "constraints.checks" => json!(["make"]),
        "constraints.check_reports" => json!(["reports/*.xml"]),
        "output.artifacts" => json!([{"path": "report.md", "required": true}]),
        "constraints.timeout" => json!("5m"),
        "constraints.max_steps" => json!(3),
        "constraints.max_cost_usd" => json!(0.5),
        "constraints.tests_may_change" => json!(true),
        "constraints.network" => json!("none"),
        "constraints.supervisor" => json!("strict"),
        _ => json!("text"),
    }
}

/// Everything a spec can say reaches a step of a flow and a child of an orchestration, in its spec or in its request.
#[test]
fn inv_19_every_key_of_a_spec_reaches_a_step() {
    let mut keys = 0;
    for key in effect::SETTINGS.iter().filter_map(|setting| setting.key) {
        let mut json = serde_json::json!({"goal": {"description": "Do it"}});
        match key.split_once('.') {
            Some((above, below)) => json[above][below] = sample(key),
            None => json[key] = sample(key),
        }
        let spec: Spec = serde_json::from_value(json).unwrap();
        let given = SourcedSpec {
            folder: "/base".into(),
            within: None,
            ..SourcedSpec::sent(spec, Path::new("/base"))
        };
        let asked = asked(RunRequest { given_spec: Some(given), ..RunRequest::default() });
        let profile = ModeCatalog::builtin().unwrap().resolve("execute").unwrap();
        let work = ChildWork {
            profile: &profile,
            label: "task",
            goal: asked.goal(),
            workspace: Path::new("/trunk"),
            files: &[],
            artifacts: asked.artifacts(),
            checks: true,
        };
        let money = asked.max_cost_usd();
        let steps = [
            vec![
                request(&asked, "plan-then-execute", "plan", money),
                request(&asked, "plan-then-execute", "execute", money),
            ],
            vec![
                request(&asked, "review-fix", "review", money),
                request(&asked, "review-fix", "execute", money),
            ],
            vec![asked.child(work).unwrap()],
        ];
        for requests in steps {
            let arrives = |request: &RunRequest| {
                let spec = serde_json::to_value(&request.given_spec.as_ref().unwrap().spec).unwrap();
                let found = spec.pointer(&format!("/{}", key.replace('.', "/")));
                match key {
                    "goal.description" => request.goal.as_ref().unwrap().contains("text"),
                    // What the whole is asked, and shares out.
                    "constraints.mode" => true,
                    "constraints.max_cost_usd" => asked.max_cost_usd() == Some(0.5),
                    "context.workspace" => asked.request.workspace == Some("/base/text".into()),
                    _ => found == Some(&sample(key)),
                }
            };
            assert!(requests.iter().any(arrives), "`{key}` reaches no step: {requests:#?}");
        }
        keys += 1;
    }
    assert!(keys > 15, "{keys}");
}

#[test]
fn a_flow_takes_no_allow_writes() {
    let error = FlowRequest::new(RunRequest { allow_writes: true, ..RunRequest::default() }, Path::new("/b"))
        .unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("--allow-writes"), "{error}");
}

#[test]
fn cassettes_are_told_apart_by_step() {
    let check =
        |path: &str, expected: &str| assert_eq!(cassette(Path::new(path), "plan"), Path::new(expected));
    check("/a/demo.cassette.jsonl", "/a/demo.cassette.plan.jsonl");
    check("demo", "demo.plan");
    check(".hidden", ".hidden.plan");
}

proptest! {
    /// Whatever was asked of the flow, no step gets more than its own mode gives.
    #[test]
    fn inv_11_a_step_never_has_more_rights_than_its_mode(
        seconds in prop::option::of(1u64..1_000_000),
        rounds in prop::option::of(1u64..100_000),
        output in prop::option::of(1u64..100_000),
        money in prop::option::of(0.01f64..10_000.0),
        network in prop_oneof![Just(None), Just(Some(NetworkReach::None)), Just(Some(NetworkReach::Host))],
        step in prop_oneof![
            Just(("plan-then-execute", "plan")), Just(("plan-then-execute", "execute")),
            Just(("review-fix", "review")), Just(("review-fix", "execute")),
        ],
    ) {
        let asked = asked(RunRequest {
            goal: Some("x".into()),
            timeout: seconds.map(HumanDuration::from_secs),
            idle_timeout: seconds.map(HumanDuration::from_secs),
            max_rounds: rounds,
            max_output_mb: output,
            network,
            ..RunRequest::default()
        });
        let request = request(&asked, step.0, step.1, money);
        let own = ModeCatalog::builtin().unwrap().resolve(step.1).unwrap();
        prop_assert_eq!(request.mode.as_deref(), Some(step.1));
        prop_assert!(!request.allow_writes);
        let overrides = RunOverrides {
            timeout: request.timeout,
            idle_timeout: request.idle_timeout,
            rounds: request.max_rounds,
            cost_usd: request.max_cost_usd,
            output_mb: request.max_output_mb,
            ..RunOverrides::default()
        };
        let origin = ValueOrigin::Flag { flag: "--x".into() };
        let narrowed = own.narrowed(&overrides, &origin).expect("nothing is wider");
        prop_assert!(widenings(&narrowed, &own).is_empty());
        // The machine's network is for modes that may change things, and only there may a person ask for it.
        prop_assert!(request.network != Some(NetworkReach::Host) || !own.promises_no_change());
    }
}
