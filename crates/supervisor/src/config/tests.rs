#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use toml::Value;

use super::{ContractMode, SupervisorConfig, SupervisorConfigError};
use crate::level::SupervisorLevel;

#[track_caller]
fn refuse(text: &str, key: &str, part: &str) {
    let error = SupervisorConfig::from_toml(text).expect_err("refused");
    assert_eq!(error.key(), Some(key), "{error}");
    assert!(error.to_string().contains(key), "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn nothing_written_means_the_documented_defaults() {
    let config = SupervisorConfig::from_toml("").unwrap();
    assert_eq!(config, SupervisorConfig::from_toml("[supervisor]\npreset = \"\"\n").unwrap());
    assert_eq!(config.level, SupervisorLevel::Adaptive);
    assert!(!config.shadow && config.strict.first_round_graph);
    assert_eq!(config.contracts, ContractMode::Advise);
    let t = &config.triggers;
    assert_eq!([t.tool_repeat_fail, t.no_progress, t.file_loop, t.unhealed], [3, 5, 3, 10]);
    assert_eq!([t.polishing, t.malformed, t.empty_replies], [8, 3, 2]);
    assert_eq!([config.ladder.advice, config.ladder.takeover], [2, 3]);
    let k = &config.takeover;
    assert_eq!([k.stability_window, k.cooldown_rounds, k.max_rounds], [3, 3, 8]);
    assert_eq!([config.strict.check_rounds, config.strict.max_rounds], [4, 6]);
    let numbers = [t.budget_share, k.token_ratio, k.extension, config.snapshot.template_graph_min];
    assert_eq!(numbers, [0.8, 0.3, 0.5, 0.65]);
}

#[test]
fn each_key_can_be_written_and_changes_exactly_itself() {
    let before = SupervisorConfig::default();
    let mut seen = Vec::new();
    for key in SupervisorConfig::keys() {
        let mut config = before.clone();
        let values = [
            Value::Integer(7),
            Value::Float(0.95),
            Value::Boolean(true),
            Value::Boolean(false),
            "strict".into(),
            "enforce".into(),
        ];
        let changed = values.iter().any(|value| config.set(&key, value).is_ok() && config != before);
        assert!(changed, "{key}");
        assert!(!seen.contains(&config), "{key} writes where another key does");
        seen.push(config);
    }
    assert_eq!(seen.len(), 22);
}

#[test]
fn refusals_name_the_key() {
    refuse("[supervisor]\nlevel = \"of\"\n", "supervisor.level", "off, advise, adaptive or strict");
    refuse("[supervisor]\nlevel = false\n", "supervisor.level", "off, advise, adaptive or strict");
    refuse("[supervisor]\nlevle = \"off\"\n", "supervisor.levle", "did you mean `level`");
    refuse("[supervisor]\nshadow = 1\n", "supervisor.shadow", "true or false");
    refuse("[supervisor]\npreset = \"wild\"\n", "supervisor.preset", "aggressive, lenient, strict-ci");
    refuse("[supervisor]\npreset = 3\n", "supervisor.preset", "lenient");
    refuse("[supervisor]\ncontracts = \"shut\"\n", "supervisor.contracts", "advise or enforce");
    refuse("[supervisor.ladder]\nadvise = 2\n", "supervisor.ladder.advise", "ladder.advice");
    refuse("[supervisor.ladder]\nadvice = -1\n", "supervisor.ladder.advice", "from 1");
    refuse("[supervisor.ladder]\nadvice = 0\n", "supervisor.ladder.advice", "from 1");
    refuse("[supervisor.triggers]\nno_progress = \"4\"\n", "supervisor.triggers.no_progress", "whole number");
    refuse("[supervisor.takeover]\ntoken_ratio = 1.5\n", "supervisor.takeover.token_ratio", "to 1");
    refuse(
        "[supervisor.triggers]
budget_share = nan
",
        "supervisor.triggers.budget_share",
        "from 0.1",
    );
    refuse("[supervisor.zones]\na = 1\n", "supervisor.zones", "known: level");
    refuse("[supervisor]\nladder = 3\n", "supervisor.ladder", "not a key");
    refuse("supervisor = 3\n", "supervisor", "a table");
    refuse(
        "[supervisor]\nlevel = \"off\"\nshadow = true\n",
        "supervisor.shadow",
        "advise, adaptive or strict",
    );
    assert!(matches!(SupervisorConfig::from_toml("[supervisor"), Err(SupervisorConfigError::Syntax(_))));
}

#[test]
fn presets_come_first_and_single_keys_win() {
    for name in ["lenient", "aggressive", "strict-ci"] {
        assert_ne!(SupervisorConfig::preset(name).unwrap(), SupervisorConfig::default(), "{name}");
    }
    assert_eq!(SupervisorConfig::preset("strict-ci").unwrap().level, SupervisorLevel::Strict);
    let text = "[supervisor]\npreset = \"aggressive\"\n[supervisor.triggers]\nno_progress = 9\n";
    let config = SupervisorConfig::from_toml(text).unwrap();
    let preset = SupervisorConfig::preset("aggressive").unwrap();
    assert_eq!(config.triggers.no_progress, 9);
    assert_eq!(config.triggers.tool_repeat_fail, preset.triggers.tool_repeat_fail);
    assert!(
        preset.triggers.tool_repeat_fail
            < SupervisorConfig::preset("lenient").unwrap().triggers.tool_repeat_fail
    );
    let mut by_flag = SupervisorConfig::default();
    by_flag.set("preset", &"aggressive".into()).unwrap();
    assert_eq!(by_flag, preset);
}

proptest! {
    #[test]
    fn reading_never_panics(text in "(\\[supervisor(\\.[a-z]{1,6})?\\]\n)?([a-z_]{1,12} = [-0-9a-z\".]{1,6}\n){0,4}") {
        let _ = SupervisorConfig::from_toml(&text);
    }
}
