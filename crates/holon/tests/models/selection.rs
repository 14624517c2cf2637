//! One chooser: what `holon models select` says is what a run under the same settings asks.

use std::fs;
use std::path::{Path, PathBuf};

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ReceivedRequest, ScriptedResponse};
use holon_testkit::{CommandEnd, Invocation, TestEnv, TestWorkspace};
use serde_json::{Value, json};

use crate::BIN;

const KEY: &str = "sk-or-v1-nobodys";

/// A model as OpenRouter lists it: price per million tokens in and out, context in thousands, and what it can.
fn listed(id: &str, (input, output): (f64, f64), context: u64, can: &[&str]) -> Value {
    let price = |usd: f64| format!("{:.9}", usd / 1e6);
    json!({
        "id": id,
        "context_length": context * 1000,
        "supported_parameters": can,
        "pricing": { "prompt": price(input), "completion": price(output) },
        "architecture": { "output_modalities": ["text"] },
    })
}

/// Four states of a catalogue: usual, with other prices, with small models alone, and with what no list has.
fn catalogues() -> [Value; 4] {
    let all = ["tools", "structured_outputs", "reasoning"];
    let usual = |sonnet: f64, gpt: f64| {
        json!({ "data": [
            listed("anthropic/claude-sonnet-5.5", (sonnet, sonnet * 5.0), 1000, &all),
            listed("anthropic/claude-opus-5.5", (5.0, 25.0), 200, &all),
            listed("openai/gpt-6", (gpt, gpt * 8.0), 400, &all),
            listed("openai/gpt-6-mini", (0.25, 2.0), 400, &all),
            listed("maker/quiet", (0.1, 0.2), 64, &["tools"]),
            listed("maker/free:free", (0.0, 0.0), 128, &all),
            listed("maker/wide", (0.4, 0.8), 2000, &["tools", "structured_outputs"]),
        ]})
    };
    let small = json!({ "data": [
        listed("maker/tiny", (0.02, 0.04), 32, &[]),
        listed("maker/small", (0.1, 0.3), 96, &["tools"]),
        listed("maker/strict", (0.2, 0.3), 128, &["structured_outputs"]),
    ]});
    [usual(3.0, 1.25), usual(0.5, 9.0), small, json!({ "nothing": [] })]
}

/// What a configuration can say, with the mode's name for `MODE`, and variables.
const SETTINGS: [(&str, &[(&str, &str)]); 16] = [
    ("", &[]),
    ("[models]\nmax_price = 1.5\n", &[]),
    ("[models]\nmin_context = 300000\n", &[]),
    ("[models]\ndata = \"no_training\"\n", &[]),
    ("[models]\nfree = true\n[modes.MODE]\nmodel_policy = \"cheapest\"\n", &[]),
    ("[modes.MODE]\nmodel_policy = \"cheapest\"\n", &[]),
    ("[modes.MODE]\nmodel_policy = \"best\"\n", &[]),
    ("[modes.MODE]\ntools_required = true\nreasoning_preferred = true\n", &[]),
    ("[modes.MODE]\nmodel = \"openai/gpt-6-mini\"\n", &[]),
    ("[llm.default]\nmodel = \"maker/wide\"\n[modes.MODE]\nmodel_policy = \"legacy_default\"\n", &[]),
    ("[models]\nselection = \"off\"\n", &[("HOLON_MODEL", "maker/quiet")]),
    ("[models]\nselection = \"off\"\n", &[]),
    ("[models]\ncatalogue = \"offline\"\n", &[]),
    ("[models]\nmax_price = 0.00001\n", &[]),
    ("", &[("HOLON_MODELS__MAX_PRICE", "0.9"), ("HOLON_MODELS__MIN_CONTEXT", "90000")]),
    ("[models]\nmax_price = 4\nmin_context = 100000\n[modes.MODE]\nmodel_policy = \"best\"\n", &[]),
];

const MODES: [(&str, &str); 6] = [
    ("execute", "code"),
    ("review", "review"),
    ("ask", "ask"),
    ("plan", "plan"),
    ("debug", "debug"),
    ("architect", "architect"),
];

struct SelectionStage {
    env: TestEnv,
    repo: TestWorkspace,
}

impl SelectionStage {
    fn new() -> Self {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "a\n").commit("one");
        Self { env, repo }
    }

    fn with(&self, call: Invocation, server: &ModelServer, variables: &[(&str, &str)]) -> CommandEnd {
        let call = call.cwd(self.repo.path()).env("HOLON_PROVIDER", "openrouter");
        let call = call.env("HOLON_BASE_URL", server.base()).env("OPENROUTER_API_KEY", KEY);
        variables.iter().fold(call, |call, (name, value)| call.env(name, value)).run()
    }

    fn told(&self, server: &ModelServer, mode: &str, variables: &[(&str, &str)]) -> CommandEnd {
        self.with(self.env.holon(["models", "select", "--mode", mode, "--json"]), server, variables)
    }

    /// The model part of the manifest of a run that is refused an answer.
    fn asked(&self, server: &ModelServer, mode: &str, variables: &[(&str, &str)]) -> (CommandEnd, Value) {
        let call = self.env.holon(["run", "--mode", mode, "--goal", "Look at it", "--quiet"]);
        let before = self.env.runs();
        let output = self.with(call, server, variables);
        // Runs of the same second are in no order.
        let new = self.env.runs().into_iter().find(|run| !before.contains(run));
        (output, model_of(&new.expect("a run")))
    }

    fn cache(&self) -> PathBuf {
        self.env.cache().join("holon/models/models.json")
    }

    /// Makes the kept list older than a day.
    fn age(&self) {
        let text = fs::read_to_string(self.cache()).unwrap();
        let (before, after) = text.split_once("\"checked_at\":\"").unwrap();
        let (_, after) = after.split_once('"').unwrap();
        fs::write(self.cache(), format!("{before}\"checked_at\":\"2026-01-01T00:00:00Z\"{after}")).unwrap();
    }
}

fn model_of(run: &Path) -> Value {
    let manifest = fs::read_to_string(run.join("output/manifest.json")).unwrap();
    serde_json::from_str::<Value>(&manifest).unwrap()["metadata"]["model"].clone()
}

/// A provider that lists these models, and answers no request.
fn provider(catalogue: &Value) -> ModelServer {
    ModelServer::improvise(|_, _| ScriptedResponse::json(400, "{}")).with_fact("/v1/models", catalogue)
}

/// Holds one case of the table: the same settings, asked both ways, in either order.
fn agree(case: usize) -> String {
    let (mode, section) = MODES[case % MODES.len()];
    let (config, variables) = SETTINGS[(case * 7 + case / 16) % SETTINGS.len()];
    let catalogue = &catalogues()[(case / 3) % 4];
    let about = format!("case {case}: {mode}, {config:?} {variables:?}");
    let stage = SelectionStage::new();
    stage.env.write("config/holon/config.toml", config.replace("MODE", section));
    let server = provider(catalogue);
    // Who comes first fetches the list, and the other finds it kept.
    let (told, (ran, model)) = match case % 2 {
        0 => {
            let told = stage.told(&server, mode, variables);
            (told, stage.asked(&server, mode, variables))
        }
        _ => {
            let asked = stage.asked(&server, mode, variables);
            (stage.told(&server, mode, variables), asked)
        }
    };
    ran.assert_code(1);
    if told.code != 0 {
        let why = told.stderr.lines().find_map(|line| line.strip_prefix("error: ")).expect("an error");
        assert!(ran.stderr.contains(why), "{about}\n{told}\n{ran}");
        assert_eq!(model, Value::Null, "{about}: nobody was asked\n{ran}");
        return "nobody".to_owned();
    }
    let told = told.json();
    assert_eq!(told["model"], model["id"], "{about}\n{told:#}\n{model:#}");
    let chosen = &model["selection"];
    if chosen.is_null() {
        assert_eq!(told["policy"], "pinned", "{about}");
    } else {
        assert_eq!((&told["intent"], &told["policy"]), (&chosen["intent"], &chosen["policy"]), "{about}");
        let best: Vec<&Value> = told["candidates"].as_array().unwrap().iter().take(8).collect();
        assert_eq!(chosen["candidates"].as_array().unwrap().iter().collect::<Vec<_>>(), best, "{about}");
        let count = told["rejected"].as_array().unwrap().len();
        assert_eq!(chosen["rejected"], count, "{about}");
        assert!(model["why"].as_str().unwrap().contains(told["reason"].as_str().unwrap()), "{about}");
    }
    model["id"].as_str().unwrap().to_owned()
}

fn agree_all(cases: std::ops::Range<usize>, least: usize) {
    let mut chosen: Vec<String> = cases.map(agree).collect();
    chosen.sort_unstable();
    chosen.dedup();
    // A table whose cases all end alike would hold nothing.
    assert!(chosen.len() >= least, "{chosen:?}");
}

#[test]
fn a_run_asks_what_select_says_first_part() {
    agree_all(0..12, 4);
}

#[test]
fn a_run_asks_what_select_says_second_part() {
    agree_all(12..24, 4);
}

#[test]
fn a_run_asks_what_select_says_third_part() {
    agree_all(24..36, 4);
}

#[test]
fn a_run_asks_what_select_says_fourth_part() {
    agree_all(36..48, 4);
}

#[test]
fn a_list_that_changes_between_two_runs_changes_the_choice_of_both() {
    let stage = SelectionStage::new();
    let [usual, other, ..] = catalogues();
    let cheap = [("HOLON_MODELS__MAX_PRICE", "2")];
    let before = provider(&usual);
    let first = stage.asked(&before, "execute", &cheap).1;
    // Within a day the kept list counts, whatever the provider says meanwhile.
    let changed = before.with_fact("/v1/models", &other);
    let kept = stage.asked(&changed, "execute", &cheap).1;
    assert_eq!(first["id"], kept["id"]);
    assert!(kept["selection"]["figures"].as_str().unwrap().starts_with("the cache, "), "{kept:#}");
    stage.age();
    let told = stage.told(&changed, "execute", &cheap).json();
    let second = stage.asked(&changed, "execute", &cheap).1;
    assert_eq!(told["model"], second["id"]);
    assert_eq!(second["id"], "anthropic/claude-sonnet-5.5", "{second:#}");
    assert_ne!(first["id"], second["id"], "{first:#}");
}

#[test]
fn no_list_is_fetched_when_choosing_is_off_or_the_model_is_settled() {
    let settled: [&[(&str, &str)]; 6] = [
        &[("HOLON_MODEL", "anthropic/claude-sonnet-5.5")],
        &[("HOLON_MODES__CODE__MODEL", "openai/gpt-6")],
        &[("HOLON_MODELS__SELECTION", "off")],
        &[("HOLON_MODELS__SELECTION", "off"), ("HOLON_MODEL", "openai/gpt-6")],
        &[("HOLON_MODELS__CATALOGUE", "offline")],
        &[("HOLON_PROVIDER", "anthropic"), ("ANTHROPIC_API_KEY", "sk-ant-nobodys")],
    ];
    let [usual, ..] = catalogues();
    for variables in settled {
        let stage = SelectionStage::new();
        stage.asked(&provider(&usual), "execute", variables).0.assert_code(1);
        assert!(!stage.cache().exists(), "{variables:?}: a list was fetched");
    }
    // The same with nothing settled fetches one; so what is looked for above can be found.
    let stage = SelectionStage::new();
    stage.asked(&provider(&usual), "execute", &[]).0.assert_code(1);
    assert!(stage.cache().exists());
}

#[test]
fn a_workspace_can_tighten_the_limits_and_not_loosen_them() {
    let stage = SelectionStage::new();
    let [usual, ..] = catalogues();
    let server = provider(&usual);
    let free = stage.told(&server, "execute", &[]).json();
    fs::write(stage.repo.join("holon.toml"), "[models]\nmax_price = 0.9\n").unwrap();
    let tight = stage.told(&server, "execute", &[]).json();
    assert_ne!(free["model"], tight["model"]);
    stage.env.write("config/holon/config.toml", "[models]\nmax_price = 0.5\n");
    let refused = stage.asked(&server, "execute", &[]);
    refused.0.assert_stderr("`models.max_price = 0.9` is not for a workspace to say (only a lower one is)");
    let own = stage.told(&server, "execute", &[]).json();
    assert_eq!(own["model"], refused.1["id"]);
    for candidate in own["candidates"].as_array().unwrap() {
        assert!(["maker/quiet", "maker/wide"].contains(&candidate["id"].as_str().unwrap()), "{own:#}");
    }
}

#[test]
fn what_may_not_leave_the_machine_is_asked_of_no_provider() {
    let stage = SelectionStage::new();
    let env = &stage.env;
    let call = |args: &[&str]| {
        let call = env.holon(args).cwd(stage.repo.path()).env("OPENROUTER_API_KEY", KEY);
        call.env("HOLON_MODELS__DATA", "local").env("HOLON_PROVIDER", "openrouter").run()
    };
    let why = "nothing may leave this machine";
    call(&["models", "select"]).assert_code(1).assert_stderr(why);
    call(&["run", "--goal", "x", "--quiet"]).assert_code(1).assert_stderr(why);
    assert!(!stage.cache().exists());
}

#[test]
fn a_chosen_model_that_is_gone_is_replaced_and_a_named_one_is_not() {
    let [usual, ..] = catalogues();
    // Everything but one model is gone by the time it is asked.
    let shop = || {
        let answer = |_, seen: &ReceivedRequest| match seen.body["model"].as_str() {
            Some("maker/wide") => {
                let arguments = r#"{"summary":"Nothing to do."}"#.to_owned();
                let call = CassetteCall { name: "finish".to_owned(), arguments, ..CassetteCall::default() };
                CassetteTurn { steps: vec![CassetteStep::Call(call)], ..CassetteTurn::default() }.into()
            }
            Some(model) => {
                let message = format!("{model} is not a valid model ID");
                ScriptedResponse::json(
                    400,
                    json!({ "error": { "message": message, "code": 400 } }).to_string(),
                )
            }
            None => ScriptedResponse::json(400, "{}"),
        };
        ModelServer::improvise(answer).with_fact("/v1/models", &usual)
    };
    let stage = SelectionStage::new();
    let variables = [("HOLON_MODELS__MAX_PRICE", "2.9"), ("HOLON_MODELS__MIN_CONTEXT", "300000")];
    let (ran, model) = stage.asked(&shop(), "execute", &variables);
    let best = model["selection"]["candidates"][0]["id"].as_str().unwrap();
    assert_ne!(best, "maker/wide", "{model:#}");
    ran.assert_code(0).assert_stderr(&format!("maker/wide answered in place of {best}"));
    assert_eq!((&model["id"], &model["replaced_by"]["id"]), (&best.into(), &"maker/wide".into()));

    let (ran, model) = stage.asked(&shop(), "execute", &[("HOLON_MODEL", best)]);
    ran.assert_code(1).assert_stderr("is not a valid model ID");
    assert_eq!(model["id"], best);
}
