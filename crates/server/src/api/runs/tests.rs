#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;

/// A value for each key of a spec that a run can be asked for.
fn sample(key: &str) -> Value {
    match key {
        "version" => json!("v1"),
        "kind" => json!("Holon"),
        "metadata.labels" | "context.env" => json!({"A": "b"}),
        "context.files" | "constraints.checks" | "constraints.check_reports" => json!(["x"]),
        "output.artifacts" => json!([{"path": "report.json", "schema": {"type": "object"}}]),
        "constraints.timeout" => json!("5m"),
        "constraints.max_steps" => json!(3),
        "constraints.max_cost_usd" => json!(0.5),
        "constraints.tests_may_change" => json!(true),
        "constraints.network" => json!("none"),
        "constraints.supervisor" => json!("strict"),
        "constraints.mode" => json!("plan"),
        "agent.name" => json!("native"),
        "context.workspace" => json!("/w"),
        _ => json!("text"),
    }
}

fn spec_with(key: &str) -> Value {
    let mut spec = json!({"goal": {"description": "Do it"}});
    match key.split_once('.') {
        Some((above, below)) => spec[above][below] = sample(key),
        None => spec[key] = sample(key),
    }
    spec
}

fn sent(spec: Value) -> ApiResult<RequestedRun> {
    let body = json!({"workspace": "/w", "goal": "Do it", "spec": spec});
    asked(serde_json::from_value(body).expect("a body"))
}

fn words(problem: &ApiProblem) -> String {
    serde_json::to_value(problem).unwrap().to_string()
}

#[test]
fn inv_19_every_key_of_a_sent_spec_arrives_or_is_refused_by_name() {
    for setting in SETTINGS {
        let Some(key) = setting.key else { continue };
        let pointer = format!("/{}", key.replace('.', "/"));
        match (sent(spec_with(key)), setting.over_http) {
            (Ok(asked), None) => {
                let spec = serde_json::to_value(asked.spec.unwrap()).unwrap();
                let arrived = spec.pointer(&pointer).unwrap_or(&Value::Null);
                let expected = sample(key);
                let same = arrived == &expected || key == "output.artifacts" || key == "constraints.timeout";
                assert!(same && !arrived.is_null(), "`{key}` was dropped: {spec}");
            }
            (Err(problem), Some(_)) => assert!(words(&problem).contains(key), "{}", words(&problem)),
            (Ok(_), Some(_)) => panic!("`{key}` is refused by the table and was taken"),
            (Err(problem), None) => panic!("`{key}` was refused: {}", words(&problem)),
        }
    }
}

#[test]
fn inv_19_an_unknown_key_is_refused_by_name() {
    let problem = sent(json!({"goal": "x", "output": {"artefacts": []}})).err().expect("refused");
    assert!(words(&problem).contains("output.artefacts"), "{}", words(&problem));
    let problem =
        sent(json!({"output": {"artifacts": [{"path": "a.json", "schema": "s.json"}]}})).err().unwrap();
    assert!(words(&problem).contains("output.artifacts.schema"), "{}", words(&problem));
    let body: Result<NewRun, _> = serde_json::from_value(json!({"goal": "x", "netwrok": "none"}));
    assert!(body.unwrap_err().to_string().contains("netwrok"));
}

#[test]
fn inv_19_every_field_of_a_request_over_http_is_known_to_this_test() {
    let api: Value = serde_json::from_str(include_str!("../../../../../openapi.json")).unwrap();
    let fields = api["components"]["schemas"]["NewRun"]["properties"].as_object().unwrap();
    let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
    names.sort_unstable();
    // Each of them is used in `asked` or `create`; a new one needs its effect, and a line here.
    assert_eq!(names, ["agent", "gate", "goal", "mode", "model", "spec", "workspace"]);
    let body = json!({"workspace": "/w", "goal": "g", "mode": "plan", "agent": "codex", "model": "m"});
    let RequestedRun { request, workspace, .. } = asked(serde_json::from_value(body).unwrap()).ok().unwrap();
    assert_eq!(workspace, "/w");
    let got = [request.goal, request.mode, request.agent, request.model].map(Option::unwrap);
    assert_eq!(got, ["g", "plan", "codex", "m"]);
}
