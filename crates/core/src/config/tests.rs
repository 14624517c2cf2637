#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::key::load;
use super::*;
use crate::mode::ModelPolicy;

fn user(text: &str) -> ConfigLayer {
    ConfigLayer::parse(ConfigSource::User { path: "config.toml".into() }, text).unwrap()
}

fn project(text: &str) -> ConfigLayer {
    ConfigLayer::parse(ConfigSource::Project { path: "holon.toml".into() }, text).unwrap()
}

fn warnings(config: &ResolvedConfig) -> Vec<String> {
    config.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn questions_go_to_whoever_plans_unless_something_is_said_of_them() {
    let planner = "[modes.orchestrate]\nmodel = \"p\"\nenabled = false\n";
    let config = merge(&[user(planner)]).unwrap();
    let ask = config.mode("ask");
    assert_eq!((ask.model.as_deref(), ask.policy, ask.enabled), (Some("p"), ModelPolicy::Pinned, true));
    let own = merge(&[user(&format!("{planner}[modes.ask]\nmodel = \"a\"\n"))]).unwrap();
    assert_eq!(own.mode("ask").model.as_deref(), Some("a"));
}

#[test]
fn the_rules_are_whole() {
    let rules = load().unwrap();
    for key in &rules.key {
        if let Some(default) = &key.default {
            assert_eq!(key.refuses(default), None, "{}", key.name);
        }
        assert!(!key.help.is_empty());
    }
    for legacy in &rules.legacy {
        assert!(known().iter().any(|key| key.matches(&format!("{}.model", legacy.new))), "{}", legacy.new);
    }
}

#[test]
fn later_layers_win_and_origins_are_kept() {
    let env = ConfigLayer::from_variables([
        ("HOLON_MODELS__SELECTION", "off"),
        ("HOLON_MODEL", "x"),
        ("HOME", "/"),
    ]);
    let layers = [
        vec![
            user("[modes.code]\nmodel_policy = \"best\"\n"),
            project("[modes.code]\nmodel_policy = \"cheapest\"\n"),
        ],
        env,
    ];
    let config = merge(&layers.concat()).unwrap();
    assert_eq!(config.mode("code").policy, ModelPolicy::Cheapest);
    assert_eq!(config.get("modes.code.model_policy").unwrap().source.to_string(), "holon.toml");
    assert_eq!(config.get("models.selection").unwrap().source.to_string(), "$HOLON_MODELS__SELECTION");
    assert_eq!(config.get("modes.v2_enabled").unwrap().source, ConfigSource::Default);
    assert_eq!(config.number("breaker.failures"), Some(3));
    assert_eq!(warnings(&config), [""; 0]);
    assert!(
        config.rows().contains_key("compat.legacy") && config.rows().contains_key("modes.code.model_policy")
    );
}

#[test]
fn inv_15_a_workspace_only_narrows() {
    let layer = project(
        "[modes]\nv2_enabled = false\n[modes.ethical]\nstrict = false\nprovider = \"evil\"\n[artifacts]\nlogs_dir = \"x\"\n\
         [models]\nselection = \"on\"\n[modes.code]\nenabled = false\n",
    );
    let config = merge(&[user("[models]\nselection = \"off\"\n"), layer]).unwrap();
    assert!(config.strict_ethics());
    assert_eq!(config.mode("ethical").provider, None);
    assert_eq!(config.text("artifacts.logs_dir"), None);
    assert_eq!(config.text("models.selection").unwrap(), "off");
    assert_eq!(config.flag("modes.v2_enabled"), Some(true));
    assert!(!config.mode("code").enabled, "what narrows is taken");
    assert_eq!(warnings(&config).len(), 5, "{:?}", warnings(&config));
}

#[test]
fn inv_15_a_workspace_may_tighten_the_breaker_and_never_loosen_it() {
    let check = |text: &str, expect: (u64, u64), told: &[&str]| {
        let layers = [user("[breaker]\nfailures = 4\n"), project(text)];
        let config = merge(&layers).unwrap();
        let found = ["breaker.failures", "breaker.cool_down_seconds"].map(|key| config.number(key).unwrap());
        assert_eq!((found[0], found[1]), expect, "{text}");
        assert_eq!(warnings(&config), told, "{text}");
    };
    check("[breaker]\nfailures = 2\ncool_down_seconds = 900\n", (2, 900), &[]);
    check(
        "[breaker]\nfailures = 9\ncool_down_seconds = 0\n",
        (4, 300),
        &[
            "holon.toml: `breaker.cool_down_seconds = 0` is not for a workspace to say (only a higher one is); it is not used",
            "holon.toml: `breaker.failures = 9` is not for a workspace to say (only a lower one is); it is not used",
        ],
    );
    // What a person sets in the environment holds, whatever is below it.
    let env = ConfigLayer::from_variables([("HOLON_BREAKER__FAILURES", "7")]);
    let layers = [vec![project("[breaker]\nfailures = 1\n")], env].concat();
    assert_eq!(merge(&layers).unwrap().number("breaker.failures"), Some(7));
}

#[test]
fn inv_15_a_workspace_cannot_loosen_the_assessment() {
    let text = "[modes.ethical]\nstrict = false\n[ethics]\nlicences = [\"GPL-3.0-only\"]\n[modes]\nv2_enabled = false\n";
    let config = merge(&[project(text)]).unwrap();
    assert!(config.strict_ethics() && config.orchestrates());
    assert_eq!(config.list("ethics.licences"), [""; 0]);
    let told = warnings(&config);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(
        told.iter()
            .any(|text| text.contains("strict = false` is not for a workspace to say (only `true` is)"))
    );
    // A person can, and a workspace can take it back.
    let loose = user(text);
    let config = merge(std::slice::from_ref(&loose)).unwrap();
    assert!(!config.strict_ethics() && !config.orchestrates());
    assert_eq!(config.list("ethics.licences"), ["GPL-3.0-only"]);
    assert!(merge(&[loose, project("[modes.ethical]\nstrict = true\n")]).unwrap().strict_ethics());
}

#[test]
fn strictness_is_for_assessments_alone() {
    let config = merge(&[user("[modes.review]\nstrict = false\n")]).unwrap();
    assert_eq!(warnings(&config), ["config.toml: unknown key `modes.review.strict`"]);
}

#[test]
fn before_modes_there_was_one_model() {
    let text = "[modes]\nv2_enabled = false\n[llm.default]\nmodel = \"d\"\n[modes.review]\nmodel = \"r\"\nmodel_policy = \"best\"\n";
    let config = merge(&[user(text)]).unwrap();
    assert_eq!(config.mode("code").policy, ModelPolicy::LegacyDefault);
    assert_eq!(config.mode("code").model.as_deref(), Some("d"));
    assert_eq!(config.mode("review").model.as_deref(), Some("r"), "one that is named for a mode stays");
}

#[test]
fn former_names_of_modes_are_told_or_refused() {
    let config = merge(&[]).unwrap();
    for (old, new) in [
        ("code_generation", "code"),
        ("code_review", "review"),
        ("planning", "architect"),
        ("ethics", "ethical"),
    ] {
        let told = config.former_mode(old).unwrap().unwrap();
        assert!(told.starts_with(&format!("the mode `{old}` is `{new}` now")), "{told}");
    }
    assert_eq!(config.former_mode("code"), Ok(None));
    assert_eq!(config.former_mode("default"), Ok(None));
    let strict = merge(&[user("[compat]\nlegacy = \"error\"\n")]).unwrap();
    assert_eq!(
        strict.former_mode("planning").unwrap_err().to_string(),
        "the mode `planning` is `architect` now, and config.toml says that former names are errors"
    );
}

#[test]
fn unknown_keys_are_named_with_the_nearest() {
    let config =
        merge(&[user("[modes.code]\nmodel_polcy = \"best\"\n[model]\nselection = \"off\"\n[x]\ny = 1\n")])
            .unwrap();
    let told = warnings(&config);
    assert_eq!(
        told,
        [
            "config.toml: unknown key `model.selection` (did you mean `models.selection`?)",
            "config.toml: unknown key `modes.code.model_polcy` (did you mean `modes.code.model_policy`?)",
            "config.toml: unknown key `x.y`",
        ]
    );
}

#[test]
fn values_that_do_not_fit_are_errors_that_say_what_fits() {
    for (text, expect) in [
        (
            "[modes.code]\nmodel_policy = \"any\"",
            "config.toml: `modes.code.model_policy` is \"any\", and must be one of auto, pinned",
        ),
        ("[modes]\nv2_enabled = \"yes\"", "must be true or false"),
        ("[breaker]\nfailures = -1", "must be a whole number from 1 on"),
        ("[breaker]\nfailures = 0", "must be a whole number from 1 on"),
        ("[breaker]\ncool_down_seconds = 1.5", "must be a whole number"),
        ("[ethics]\nlicences = [1]", "must be a list of SPDX identifiers"),
        ("[ethics]\nlicences = [\"MIT OR GPL-3.0-only\"]", "must be a list of SPDX identifiers"),
        ("[artifacts]\nlogs_dir = \"/var/log\"", "must be a folder below the workspace"),
        ("[artifacts]\nlogs_dir = \"a/../../b\"", "must be a folder below the workspace"),
        ("[artifacts]\nlogs_dir = \"\"", "must be a folder below the workspace"),
        ("[artifacts]\nlogs_dir = \".git/logs\"", "must be a folder below the workspace"),
    ] {
        let error = merge(&[user(text)]).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }
    let wrong = ConfigLayer::parse(ConfigSource::User { path: "config.toml".into() }, "a = = 1").unwrap_err();
    assert!(wrong.to_string().starts_with("config.toml: TOML parse error at line 1"), "{wrong}");
    let env = ConfigLayer::from_variables([("HOLON_MODES__V2_ENABLED", "maybe")]);
    assert!(merge(&env).unwrap_err().to_string().starts_with("$HOLON_MODES__V2_ENABLED"));
}

#[test]
fn legacy_keys_warn_and_map() {
    let text = "[llm.default]\nmodel = \"d\"\n[llm.code_generation]\nprovider = \"openai\"\nmodel = \"m\"\n[llm]\nplanning = \"p\"\n";
    let config =
        merge(&[user(&text.replace("[llm]\nplanning = \"p\"\n", "")), user("[llm]\nplanning = \"p\"\n")])
            .unwrap();
    let code = config.mode("code");
    assert_eq!(
        (code.model.as_deref(), code.provider.as_deref(), code.policy),
        (Some("m"), Some("openai"), ModelPolicy::Pinned)
    );
    assert_eq!(config.mode("architect").model.as_deref(), Some("p"));
    assert_eq!(config.text("llm.default.model").unwrap(), "d", "it stays what it was");
    let told = warnings(&config);
    assert_eq!(told.len(), 3, "once each: {told:?}");
    assert!(told[0].contains("`llm.code_generation.model` is `modes.code.model` now"), "{told:?}");
}

#[test]
fn where_both_keys_are_the_new_one_wins_and_it_is_told() {
    let both =
        merge(&[user("[llm.code_review]\nmodel = \"old\"\n[modes.review]\nmodel = \"new\"\n")]).unwrap();
    assert_eq!(both.mode("review").model.as_deref(), Some("new"));
    assert!(
        warnings(&both)[0].ends_with("both are there, and `modes.review.model` wins"),
        "{:?}",
        warnings(&both)
    );
    // In whichever layers they are.
    let old = "[llm.code_review]\nmodel = \"old\"\n";
    let new = "[modes.review]\nmodel = \"new\"\n";
    for layers in [[user(old), project(new)], [user(new), project(old)]] {
        let config = merge(&layers).unwrap();
        assert_eq!(config.mode("review").model.as_deref(), Some("new"), "{layers:?}");
        assert!(warnings(&config)[0].ends_with("and `modes.review.model` wins"), "{:?}", warnings(&config));
    }
    // A workspace cannot take a person's former key away with a key it may not use.
    let layers = [
        user("[llm.code_review]\nprovider = \"mine\"\n"),
        project("[modes.review]\nprovider = \"theirs\"\n"),
    ];
    assert_eq!(merge(&layers).unwrap().mode("review").provider.as_deref(), Some("mine"));
}

#[test]
fn legacy_keys_are_errors_where_compat_says_so() {
    let strict = merge(&[user("[compat]\nlegacy = \"error\"\n[llm.ethics]\nmodel = \"e\"\n")]).unwrap_err();
    assert_eq!(
        strict.to_string(),
        "config.toml: `llm.ethics.model` is no longer read; write `modes.ethical.model` (`holon config migrate config.toml --write` does it)"
    );
}

#[test]
fn a_wrong_value_is_told_by_the_name_it_has_in_the_file() {
    let told = merge(&[user("[llm]\ncode_review = 5\n")]).unwrap_err().to_string();
    assert_eq!(told, "config.toml: `llm.code_review` is 5, and must be a text");
}

#[test]
fn the_default_model_may_be_a_text_like_the_others() {
    let config = merge(&[user("[llm]\ndefault = \"d\"\nplanning = \"p\"\n")]).unwrap();
    assert_eq!(config.text("llm.default.model").as_deref(), Some("d"));
    let told = warnings(&config);
    assert_eq!(told.len(), 1, "it stays what it was: {told:?}");
    assert!(told[0].ends_with("(`holon config migrate config.toml --write` rewrites it)"), "{told:?}");
    let wrong = merge(&[user("[llm]\ndefault = 7\n")]).unwrap_err().to_string();
    assert_eq!(wrong, "config.toml: `llm.default.model` is 7, and must be a text");
}

#[test]
fn the_default_model_is_for_those_who_ask_for_it() {
    let text =
        "[llm.default]\nmodel = \"d\"\nprovider = \"p\"\n[modes.code]\nmodel_policy = \"legacy_default\"\n";
    let config = merge(&[user(text)]).unwrap();
    assert_eq!(config.mode("code").model.as_deref(), Some("d"));
    assert_eq!(config.mode("review").model, None);
}

#[test]
fn migrating_keeps_comments_order_and_everything_else() {
    let before = "# mine\n[llm.default] # stays\nmodel = \"d\"\n\n[ llm.code_generation ]  # moves\nmodel = 'm' # best\nprovider = \"p\"\n\n\
                  [other]\ntext = \"\"\"\n[llm.ethics]\n\"\"\"\n";
    let migrated = migrate(before);
    assert_eq!(migrated.text, before.replace("[ llm.code_generation ]", "[modes.code]"));
    assert_eq!(migrated.moved, [("llm.code_generation".to_owned(), "modes.code".to_owned())]);
    assert_eq!(migrate(&migrated.text).moved, [], "once is enough");

    let dotted = migrate("llm.code_review.model = \"x\"\nllm.planning = \"y\"\n");
    assert_eq!(dotted.text, "modes.review.model = \"x\"\nmodes.architect.model = \"y\"\n");
    // Plain values below `[llm]` get sections of their own, with what stands beside them.
    let plain = "[llm] # mine\ndefault = \"d\"\nplanning = \"y\" # careful\ncode_review.model = \"r\"\ncode_review.provider = \"p\"\n[models]\nselection = \"off\"";
    let moved = migrate(plain);
    assert_eq!(
        moved.text,
        "[llm] # mine\ndefault = \"d\"\n[models]\nselection = \"off\"\n\n[modes.architect]\nmodel = \"y\" # careful\n\n[modes.review]\nmodel = \"r\"\nprovider = \"p\"\n"
    );
    assert_eq!((moved.moved.len(), moved.left.len()), (3, 0), "{moved:?}");
    let (old, now) = (merge(&[user(plain)]).unwrap(), merge(&[user(&moved.text)]).unwrap());
    assert_eq!((old.mode("architect"), old.mode("review")), (now.mode("architect"), now.mode("review")));
    assert!(now.warnings.is_empty(), "{:?}", now.warnings);
    let there = migrate("[llm]\nplanning = \"y\"\n[modes.architect]\nprovider = \"p\"\n");
    assert!(there.moved.is_empty() && there.left[0].1.contains("[modes.architect]"), "{there:?}");
    let taken = migrate("[llm.ethics]\nmodel = \"x\"\n[modes.ethical]\nmodel = \"y\"\n");
    assert!(taken.moved.is_empty() && taken.left[0].1.contains("is there already"), "{taken:?}");
}

#[test]
fn every_key_has_its_place_in_the_schema() {
    let schema = schema();
    let modes = &schema["properties"]["modes"];
    let (any, ethical) = (&modes["additionalProperties"], &modes["properties"]["ethical"]);
    assert_eq!(ethical["properties"]["strict"]["default"], true);
    assert_eq!(any["properties"]["strict"], serde_json::Value::Null);
    for (name, own) in any["properties"].as_object().unwrap() {
        assert_eq!(&ethical["properties"][name], own, "{name}");
    }
    assert_eq!(schema["properties"]["breaker"]["properties"]["failures"]["minimum"], 1);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(\\[?[a-z_.*\"'#=\\[\\] \n0-9]{0,12}\\]?\n?){0,12}") {
        if let Ok(layer) = ConfigLayer::parse(ConfigSource::User { path: "u".into() }, &text) {
            let _ = merge(&[layer]);
        }
        let _ = migrate(&text);
    }

    #[test]
    fn a_folder_that_is_taken_stays_below(text in "(/|\\.{1,2}/)?[a-z.~ ]{0,6}(/[a-zA-Z.\\\\]{0,5}){0,3}") {
        let written = toml::Value::String(text.clone());
        if let Ok(config) = merge(&[user(&format!("[artifacts]\nlogs_dir = {written}\n"))]) {
            let taken = config.text("artifacts.logs_dir").unwrap();
            prop_assert_eq!(&taken, &text);
            let plain = |part| matches!(part, std::path::Component::Normal(_));
            prop_assert!(std::path::Path::new(&taken).components().all(plain), "{taken}");
        }
    }

    #[test]
    fn a_migrated_file_means_the_same(
        section in prop::sample::select(vec!["code_generation", "code_review", "planning", "ethics"]),
        model in "[a-z0-9/-]{1,12}",
        provider in prop::option::of("[a-z]{1,8}"),
        comment in "[a-z =\"\\[\\]]{0,12}",
    ) {
        let provider = provider.map(|p| format!("provider = \"{p}\"\n")).unwrap_or_default();
        let text = format!("# {comment}\n[llm.{section}] # {comment}\nmodel = \"{model}\"\n{provider}");
        let new = migrate(&text);
        let kept = format!("# {comment}");
        prop_assert!(new.text.contains(&kept));
        let mode = new.moved[0].1.strip_prefix("modes.").unwrap().to_owned();
        let old = merge(&[user(&text)]).unwrap();
        let now = merge(&[user(&new.text)]).unwrap();
        prop_assert_eq!(old.mode(&mode), now.mode(&mode));
        prop_assert!(now.warnings.is_empty());
    }
}
