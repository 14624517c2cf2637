//! Off, adaptive, strict, and a shadow beside a run that is left alone.

use serde_json::Value;

use crate::scene::{CHECK, FINISH, REPAIR, SupervisedRunScene, exec, times};

fn script() -> String {
    format!("{}{REPAIR}{FINISH}", times(10, &exec(CHECK)))
}

/// Everything the model was sent, from the recorded conversation.
fn asked(folder: &std::path::Path) -> String {
    std::fs::read_to_string(folder.join("evidence/model.yaml")).unwrap()
}

/// shows: off, shadow_flag, shadow_env, shadow_key, shadow_diagnostic
#[test]
fn a_shadow_changes_nothing_the_model_sees() {
    let scene = SupervisedRunScene::new();
    let off = scene.play("Fix src/a.txt", &script(), &["--supervisor", "off"]);
    off.assert(0, &[]);
    assert_eq!(off.supervisor()["takeovers"], 0);
    let flag = scene.play("Fix src/a.txt", &script(), &["--shadow"]);
    let file = scene.env.write("work/turns.yaml", script());
    let by_env =
        scene.call("Fix src/a.txt", &[]).env("HOLON_SUPERVISOR_SHADOW", "1").arg("--replay").arg(&file);
    let by_env = scene.last(by_env.run());
    let config = scene.env.config().join("holon/config.toml");
    scene.env.write(&config, "[supervisor]\nshadow = true\n");
    let by_key = scene.play("Fix src/a.txt", &script(), &[]);
    std::fs::remove_file(config).ok();
    for shadowed in [&flag, &by_env, &by_key] {
        shadowed.assert(0, &["shadow:takeover:tool_repeat_fail"]);
        assert_eq!(asked(&shadowed.folder), asked(&off.folder), "the same requests, to the byte");
        assert_eq!(shadowed.supervisor()["takeovers"], 0);
        assert_eq!(shadowed.supervisor()["shadow"]["takeovers"], 1, "{:#}", shadowed.supervisor());
    }
    let adaptive = scene.play("Fix src/a.txt", &script(), &[]);
    assert_ne!(asked(&adaptive.folder), asked(&off.folder), "and without a shadow they differ");
}

/// shows: spec_level, project_level
#[test]
fn flag_beats_spec_beats_project() {
    let scene = SupervisedRunScene::new();
    scene.put("holon.toml", "[supervisor]\nlevel = 'strict'\n");
    let level = |played: &crate::scene::SupervisedPlay| -> Value { played.supervisor()["level"].clone() };
    let script =
        "- { tool: read_file, args: { path: src/a.txt } }\n- { text: It says bad. }\n".to_owned() + FINISH;
    assert_eq!(level(&scene.play("Fix src/a.txt", &script, &[])), "strict");
    let spec = scene.env.write(
        "work/spec.yaml",
        "version: v1\nkind: Holon\ngoal: Fix src/a.txt\nconstraints: { supervisor: adaptive }\n",
    );
    let file = scene.env.write("work/turns.yaml", &script);
    let call =
        scene.env.holon(["run", "--spec"]).arg(&spec).arg("--replay").arg(&file).cwd(scene.repo.path());
    assert_eq!(level(&scene.last(call.run())), "adaptive");
    let call =
        scene.env.holon(["run", "--supervisor", "off", "--spec"]).arg(&spec).arg("--replay").arg(&file);
    assert_eq!(level(&scene.last(call.cwd(scene.repo.path()).run())), "off");
    scene.put("holon.toml", "[supervisor]\nlevle = 'strict'\n");
    let wrong = scene.call("x", &[]).arg("--replay").arg(&file).run();
    wrong.assert_code(64).assert_stderr("supervisor.levle");
}
