//! Every flag and every key of a spec, with every kind of agent: it shows in the plan of the run, or it is refused by name.

use holon_host::effect::{AgentKind, EffectRow, EffectRule, SETTINGS};
use holon_testkit::{CommandEnd, TestEnv, TestWorkspace};
use serde_json::{Value, json};

use super::{BIN, SUMMARY};

const DESCRIBED: &str = r#"
name = "described"
kind = "exec"
description = "Found on the PATH, with a way to a model"
events = "claude"
command = ["{program}", "{prompt}", "{model}", "{args}"]
env = { URL = "{gateway}", KEY = "{token}" }
find = { program = "cat", install = "it is everywhere" }
model = { wire = "chat" }
"#;

/// What the plans of runs are compared in.
struct FlagStage {
    env: TestEnv,
    repo: TestWorkspace,
}

/// Flags with their values; none for a flag that has none.
type FlagValues = Vec<(String, Option<String>)>;

fn flags(given: &[(&str, Option<&str>)]) -> FlagValues {
    given.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect()
}

impl FlagStage {
    fn new() -> Self {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        env.agent("agent.sh", SUMMARY);
        env.agent("other.sh", SUMMARY);
        env.write(env.config().join("holon/agents/described.toml"), DESCRIBED);
        env.write("work/notes.md", "notes");
        env.write("work/tape.yaml", "- text: done\n");
        env.write("work/own.yaml", "goal: From a file\ncontext: {env: {TZ: UTC}}\n");
        env.folder("elsewhere").file("b.txt", "two\n");
        Self { env, repo }
    }

    fn path(&self, name: &str) -> String {
        self.env.work().join(name).to_str().unwrap().to_owned()
    }

    /// What makes the agent of a run one of this kind.
    fn of_kind(&self, kind: AgentKind) -> FlagValues {
        let agent = self.agent("agent.sh");
        match kind {
            AgentKind::Native => flags(&[]),
            AgentKind::Described => flags(&[("agent", Some("described"))]),
            AgentKind::Acp => flags(&[("agent", Some("acp")), ("--", Some("cat"))]),
            AgentKind::ImageWithModel => flags(&[("image", Some("img:1")), ("model", Some("m"))]),
            AgentKind::Image => flags(&[("image", Some("img:1"))]),
            AgentKind::Program => flags(&[("agent", Some(&agent))]),
        }
    }

    fn agent(&self, name: &str) -> String {
        self.env.agent(name, SUMMARY).to_str().unwrap().to_owned()
    }

    /// A value to ask for, and what must be asked for with it.
    fn sample(&self, flag: &str, kind: AgentKind) -> (FlagValues, FlagValues) {
        let image = matches!(kind, AgentKind::Image | AgentKind::ImageWithModel);
        let value = match flag {
            "mode" => "plan".to_owned(),
            "goal" => "Another goal".to_owned(),
            "spec" => self.path("own.yaml"),
            "context" => self.path("notes.md"),
            "workspace" => self.path("elsewhere"),
            "out" => self.path("out"),
            "agent" if image => "described".to_owned(),
            "agent" => self.agent("other.sh"),
            "image" => "img:2".to_owned(),
            "--" => "more".to_owned(),
            "model" => "another/model".to_owned(),
            "provider" => "openai".to_owned(),
            "replay" => self.path("tape.yaml"),
            "record" => self.path("record.jsonl"),
            "mcp" => "tools=cat".to_owned(),
            "supervisor" => "strict".to_owned(),
            "sandbox" => if image { "oci" } else { "landlock" }.to_owned(),
            "network" => "none".to_owned(),
            "allow-net" => "example.org".to_owned(),
            "snapshot" => "copy".to_owned(),
            "verify" => "full".to_owned(),
            "timeout" => "5m".to_owned(),
            "idle-timeout" => "1m".to_owned(),
            "max-output" => "8".to_owned(),
            "max-rounds" => "3".to_owned(),
            "max-cost" => "0.5".to_owned(),
            "check" => "make test".to_owned(),
            "check-report" => "reports/*.xml".to_owned(),
            "allow-writes" => return (flags(&[(flag, None)]), flags(&[("mode", Some("debug"))])),
            _ => return (flags(&[(flag, None)]), FlagValues::new()),
        };
        (flags(&[(flag, Some(&value))]), FlagValues::new())
    }

    /// The plan of a run with these flags; later ones take the place of earlier ones.
    fn plan(&self, given: &[&FlagValues]) -> CommandEnd {
        let mut all: FlagValues = flags(&[("goal", Some("Do it"))]);
        let mut last = Vec::new();
        for (name, value) in given.iter().flat_map(|flags| flags.iter()) {
            if name == "--" {
                last.extend(value.clone());
                continue;
            }
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        let mut call = self.env.holon(["run", "--dry-run", "--json"]).cwd(self.repo.path());
        for (name, value) in all {
            call = call.arg(format!("--{name}"));
            if let Some(value) = value {
                call = call.arg(value);
            }
        }
        if !last.is_empty() {
            call = call.arg("--").args(last);
        }
        call.run()
    }
}

/// What a plan says is effective: not the spec, which repeats what was asked for.
fn effective(plan: &CommandEnd) -> Value {
    let mut plan = plan.assert_code(0).json();
    plan["spec"].take();
    plan
}

/// Whether a row is about an agent and its run.
fn about_runs(setting: &&EffectRow) -> bool {
    !matches!(setting.rule, EffectRule::Command | EffectRule::Internal)
}

#[test]
fn inv_19_every_flag_has_its_effect_or_is_refused_for_every_kind_of_agent() {
    let stage = FlagStage::new();
    let mut seen = 0;
    for setting in SETTINGS.iter().filter(about_runs) {
        let Some(flag) = setting.flag else { continue };
        for kind in AgentKind::ALL {
            let (sample, with) = stage.sample(flag, kind);
            let own = stage.of_kind(kind);
            let asked = stage.plan(&[&own, &with, &sample]);
            match setting.rule.refuses(kind) {
                Some(reason) => {
                    let name = if flag == "--" { "`--`".to_owned() } else { format!("--{flag}") };
                    asked.assert_code(64).assert_stderr(&name).assert_stderr(reason);
                }
                None => {
                    let without = effective(&stage.plan(&[&own, &with]));
                    assert_ne!(effective(&asked), without, "--{flag} has no effect with {kind:?}");
                }
            }
            seen += 1;
        }
    }
    assert!(seen >= 6 * 30, "{seen}");
}

/// Said once more without the table: these are what an agent given by its path cannot be held to.
#[test]
fn inv_19_an_agent_without_a_gateway_is_not_said_to_be_held_to_anything() {
    let stage = FlagStage::new();
    let own = stage.of_kind(AgentKind::Program);
    for flag in
        ["model", "provider", "mcp", "record", "replay", "max-rounds", "max-cost", "supervisor", "shadow"]
    {
        let (sample, _) = stage.sample(flag, AgentKind::Program);
        let asked = stage.plan(&[&own, &sample]);
        asked.assert_code(64).assert_stderr(&format!("--{flag}")).assert_stderr("no effect");
    }
    for key in ["agent.model", "constraints.max_steps", "constraints.max_cost_usd", "constraints.supervisor"]
    {
        stage.env.write(stage.repo.join("spec.yaml"), spec_with(key).to_string());
        let spec = flags(&[("spec", Some("spec.yaml"))]);
        stage.plan(&[&own, &spec]).assert_code(64).assert_stderr(key).assert_stderr("no effect");
    }
    let off = flags(&[("supervisor", Some("off"))]);
    stage.plan(&[&own, &off]).assert_code(0);
}

fn value_of(key: &str) -> Value {
    match key {
        "metadata.labels" => json!({"team": "core"}),
        "context.env" => json!({"TZ": "UTC"}),
        "context.files" => json!(["a.txt"]),
        "context.workspace" => json!("sub"),
        "constraints.checks" => json!(["make test"]),
        "constraints.check_reports" => json!(["reports/*.xml"]),
        "output.artifacts" => json!([{"path": "report.json"}]),
        "constraints.timeout" => json!("5m"),
        "constraints.max_steps" => json!(3),
        "constraints.max_cost_usd" => json!(0.5),
        "constraints.tests_may_change" => json!(true),
        "constraints.network" => json!("none"),
        "constraints.supervisor" => json!("strict"),
        "constraints.mode" => json!("plan"),
        "agent.name" => json!("described"),
        "agent.image" => json!("img:2"),
        _ => json!("a text"),
    }
}

fn spec_with(key: &str) -> Value {
    let mut spec = json!({"goal": {"description": "From the spec"}});
    match key.split_once('.') {
        Some((above, below)) => spec[above][below] = value_of(key),
        None => spec[key] = value_of(key),
    }
    spec
}

#[test]
fn inv_19_every_key_of_a_spec_has_its_effect_or_is_refused_for_every_kind_of_agent() {
    let stage = FlagStage::new();
    let repo =
        stage.env.repo_named("specs").file("a.txt", "one\n").file("sub/b.txt", "two\n").commit("first");
    for setting in SETTINGS.iter().filter(about_runs) {
        let Some(key) = setting.key else { continue };
        for kind in AgentKind::ALL {
            let mut own = stage.of_kind(kind);
            // The flag would beat the key.
            own.retain(|(name, _)| !(key == "agent.model" && name == "model"));
            if matches!(key, "agent.name" | "agent.image") && !own.is_empty() {
                continue;
            }
            let plan = |spec: &Value| {
                let file = repo.join("spec.yaml");
                stage.env.write(&file, spec.to_string());
                let mut call =
                    stage.env.holon(["run", "--dry-run", "--json", "--spec"]).arg(&file).cwd(repo.path());
                for (name, value) in own.iter().filter(|(name, _)| name != "--") {
                    call = call.arg(format!("--{name}")).args(value.clone());
                }
                let after: Vec<String> = own
                    .iter()
                    .filter(|(name, _)| name == "--")
                    .filter_map(|(_, value)| value.clone())
                    .collect();
                if after.is_empty() { call.run() } else { call.arg("--").args(after).run() }
            };
            let asked = plan(&spec_with(key));
            if matches!(key, "version" | "kind") {
                asked.assert_code(64).assert_stderr(key);
                continue;
            }
            match setting.rule.refuses(kind) {
                Some(reason) => drop(asked.assert_code(64).assert_stderr(key).assert_stderr(reason)),
                None => {
                    let without = plan(&json!({"goal": {"description": "Another goal"}}));
                    let without = if key == "goal.description" {
                        without
                    } else {
                        plan(&json!({"goal": {"description": "From the spec"}}))
                    };
                    // What only the agent reads is in its spec.
                    let handed_on = key.starts_with("metadata.") || key == "goal.issue_id";
                    let same = match handed_on {
                        true => asked.assert_code(0).json()["spec"] == without.assert_code(0).json()["spec"],
                        false => effective(&asked) == effective(&without),
                    };
                    assert!(!same, "`{key}` has no effect with {kind:?}");
                }
            }
        }
    }
}

#[test]
fn inv_19_flows_and_orchestrations_refuse_what_has_no_effect() {
    let stage = FlagStage::new();
    let agent = stage.agent("agent.sh");
    for mode in ["plan-then-execute", "review-fix", "orchestrate"] {
        for (flag, value) in [
            ("--max-cost", Some("1")),
            ("--max-rounds", Some("2")),
            ("--model", Some("m")),
            ("--mcp", Some("a=b")),
            ("--supervisor", Some("strict")),
        ] {
            let mut call = stage.env.holon(["run", "--mode", mode, "--goal", "x", "--agent", &agent, flag]);
            call = call.args(value).cwd(stage.repo.path());
            call.run().assert_code(64).assert_stderr(flag).assert_stderr("no effect");
        }
        assert!(stage.env.runs().is_empty(), "nothing was started");
    }
    let improve = stage.env.holon(["improve", "--agent", &agent, "--max-cost", "1"]).cwd(stage.repo.path());
    improve.run().assert_code(64).assert_stderr("--max-cost").assert_stderr("no effect");
    let improve = stage.env.holon(["improve", "--goal", "x"]).cwd(stage.repo.path());
    improve.run().assert_code(64).assert_stderr("--goal");
}

#[test]
fn inv_19_what_a_mode_cannot_do_is_refused() {
    let stage = FlagStage::new();
    let agent = stage.agent("agent.sh");
    let call = stage.env.holon(["run", "--mode", "plan", "--goal", "x", "--apply", "--agent", &agent]);
    call.cwd(stage.repo.path())
        .run()
        .assert_code(64)
        .assert_stderr("--apply")
        .assert_stderr("delivers no patch");
}

#[test]
fn inv_19_a_flow_hands_over_what_its_spec_asks_for() {
    let env = TestEnv::new(BIN);
    let spec = "goal: x\noutput:\n  artifacts:\n    - path: report.json\n      schema: {type: object, required: [id]}\n\
        constraints: {mode: plan-then-execute}\n";
    let repo = env.repo().file("a.txt", "one\n").file("spec.yaml", spec).commit("first");
    let script = |report: &str| {
        format!(
            "#!/bin/sh\ncd \"$HOLON_OUTPUT_DIR\"\necho done > summary.md\nif [ \"$HOLON_MODE\" = plan ]; then\n\
             printf '# Goal\\nx\\n# Context\\nx\\n# Steps\\nx\\n# Risks\\nx\\n# Verification\\nx\\n' > plan.md\nelse\n\
             echo '{report}' > report.json\nfi\n"
        )
    };
    let run = |report: &str| {
        let agent = env.agent("agent.sh", &script(report));
        let call = env.holon(["run", "--spec", "spec.yaml", "--gate", "auto", "--out", "../out", "--agent"]);
        call.arg(agent).cwd(repo.path()).run()
    };
    let good = run(r#"{"id": 1}"#);
    let manifest = good.assert_code(0).manifest(env.work().join("out"));
    let row =
        manifest["artifacts"].as_array().unwrap().iter().find(|row| row["path"] == "report.json").unwrap();
    assert!(row["required"] == true && row["valid"] == true, "{row}");
    assert!(env.work().join("out/report.json").is_file());
    run(r#"{"di": 1}"#).assert_code(1);
}
