//! The configuration, end to end: layers, origins, former keys, and that a workspace cannot widen anything.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use holon_testkit::{TestEnv, TestWorkspace};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

const SCRIPT: &str = "- tool: finish\n  args: { summary: Nothing to do. }\n";

fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo().file("a.txt", "one\n").commit("first")
}

#[test]
fn origins_are_told_and_later_layers_win() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.write(
        "config/holon/config.toml",
        "[modes.code]\nmodel_policy = \"best\"\nreasoning_preferred = true\n",
    );
    fs::write(repo.path().join("holon.toml"), "[modes.code]\nmodel_policy = \"cheapest\"\nmodle = 1\n")
        .unwrap();
    let shown = env
        .holon(["config", "show", "--origin"])
        .env("HOLON_MODELS__SELECTION", "off")
        .cwd(repo.path())
        .run();
    shown.assert_code(0).assert_stderr("unknown key `modes.code.modle` (did you mean `modes.code.model`?)");
    let row = |key: &str| {
        let line = shown.stdout.lines().find(|line| line.starts_with(&format!("{key} ="))).expect("a row");
        let (value, origin) = line.split_once("  # ").expect("an origin");
        (value.split_once('=').unwrap().1.trim().to_owned(), origin.trim().to_owned())
    };
    assert_eq!(row("modes.code.model_policy").0, "\"cheapest\"");
    assert!(row("modes.code.model_policy").1.ends_with("/holon.toml"));
    assert!(row("modes.code.reasoning_preferred").1.ends_with("holon/config.toml"));
    assert_eq!(row("models.selection"), ("\"off\"".into(), "$HOLON_MODELS__SELECTION".into()));
    assert_eq!(row("compat.legacy"), ("\"warn\"".into(), "default".into()));
    let json = env.holon(["config", "show", "--json"]).cwd(repo.path()).run();
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["models.selection"]["origin"], "default");
}

#[test]
fn a_section_for_a_mode_that_is_not_there_is_named() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env).file(".holon/modes/own.toml", "name = \"own\"\nextends = \"plan\"\n");
    let sections = ["reveiw", "own", "code", "ethical", "execute"]
        .map(|mode| format!("[modes.{mode}]\nmodel_policy = \"best\"\n"));
    let unnamed = "[modes.architect]\nmodel_policy = \"pinned\"\n";
    env.write("config/holon/config.toml", sections.concat() + unnamed);
    let tape = env.write("work/tape.yaml", SCRIPT);
    let run = env.holon(["run", "--goal", "x", "--replay"]).arg(&tape).cwd(repo.path()).run();
    let shown = env.holon(["config", "show"]).cwd(repo.path()).run();
    for output in [run, shown] {
        output.assert_code(0).assert_stderr("there is no mode `reveiw` (did you mean `review`?)");
        output.assert_stderr(
            "[modes.execute] in the configuration has no effect: here the mode is called `code`",
        );
        output.assert_stderr("no `modes.architect.model` is named: a model is chosen");
        assert_eq!(output.stderr.matches("has no effect").count(), 2, "{}", output.stderr);
    }
}

#[test]
fn matrix_legacy_keys_warn_once_per_run_and_map() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.write("config/holon/config.toml", "# mine\n[llm.code_generation] # old\nmodel = \"some/model\"\n");
    let tape = env.write("work/tape.yaml", SCRIPT);
    let run = |env: &TestEnv| {
        env.holon(["run", "--goal", "x", "--json", "--replay"]).arg(&tape).cwd(repo.path()).run()
    };
    let output = run(&env);
    output.assert_code(0);
    let told = |output: &holon_testkit::CommandEnd| {
        let events = output.events();
        events
            .iter()
            .filter(|e| e["type"] == "warning" && e["message"].to_string().contains("llm.code_generation"))
            .count()
    };
    assert_eq!(told(&output), 1);
}

#[test]
fn migrate_keeps_comments_and_order_and_ends_the_warnings() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.write("config/holon/config.toml", "# mine\n[llm.code_generation] # old\nmodel = \"some/model\"\n");
    let shown = env.holon(["config", "migrate"]).cwd(repo.path()).run();
    shown.assert_code(0).assert_stdout("# mine\n[modes.code] # old\nmodel = \"some/model\"");
    env.holon(["config", "migrate", "--write"]).cwd(repo.path()).run().assert_code(0);
    let file = env.config().join("holon/config.toml");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n[modes.code] # old\nmodel = \"some/model\"\n");
    assert!(file.with_extension("toml.before").exists());
    let now = env.holon(["config", "show", "--origin"]).cwd(repo.path()).run();
    now.assert_code(0).assert_stdout("modes.code.model = \"some/model\"");
    assert_eq!(now.stderr, "", "nothing is left to warn of");
}

#[test]
fn where_both_keys_are_the_new_one_wins_and_it_is_told() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.write(
        "config/holon/config.toml",
        "[llm.code_review]\nmodel = \"old\"\n[modes.review]\nmodel = \"new\"\n",
    );
    let shown = env.holon(["config", "show"]).cwd(repo.path()).run();
    shown.assert_code(0).assert_stdout("modes.review.model = \"new\"");
    shown.assert_stderr(
        "`llm.code_review.model` is `modes.review.model` now; both are there, and `modes.review.model` wins",
    );
}

#[test]
fn compat_legacy_error_names_the_exact_replacement() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let tape = env.write("work/tape.yaml", SCRIPT);
    env.write("config/holon/config.toml", "[compat]\nlegacy = \"error\"\n[llm.planning]\nmodel = \"m\"\n");
    let refused = env.holon(["run", "--goal", "x", "--replay"]).arg(&tape).cwd(repo.path()).run();
    refused.assert_code(64).assert_stderr("write `modes.architect.model`");
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.write("config/holon/config.toml", "[breaker]\nfailure = 2\n[modes.review]\nstrict = true\n");
    let shown = env.holon(["config", "show"]).cwd(repo.path()).run();
    shown.assert_code(0).assert_stderr("unknown key `breaker.failure` (did you mean `breaker.failures`?)");
    shown.assert_stderr("unknown key `modes.review.strict`");
}

#[test]
fn a_mode_that_is_switched_off_is_refused_and_says_by_whom() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    fs::write(repo.path().join("holon.toml"), "[modes.code]\nenabled = false\n").unwrap();
    let tape = env.write("work/tape.yaml", SCRIPT);
    let output = env.holon(["run", "--goal", "x", "--replay"]).arg(&tape).cwd(repo.path()).run();
    output.assert_code(64).assert_stderr("switched off by").assert_stderr("holon.toml");
    assert_eq!(env.runs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn no_model_is_chosen_when_selection_is_off() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let call = env.holon(["run", "--goal", "x"]).env("OPENROUTER_API_KEY", "sk-or-v1-nobody-nobody-nobody");
    let output = call.env("HOLON_MODELS__SELECTION", "off").cwd(repo.path()).run();
    output.assert_code(1).assert_stderr("models.selection is off");
}

#[test]
fn wrong_values_say_what_fits() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.write("config/holon/config.toml", "[modes.review]\nmodel_policy = \"cheap\"\n");
    let output = env.holon(["config", "show"]).cwd(repo.path()).run();
    output.assert_code(64).assert_stderr("must be one of auto, pinned, cheapest");
}
