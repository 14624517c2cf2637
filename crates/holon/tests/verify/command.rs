//! The command: what it takes, what it prints, how it ends.

use std::fs;

use serde_json::Value;

use crate::runs::change;

#[test]
fn a_run_its_folder_its_copy_and_its_patch_are_all_taken() {
    let made = change();
    let (env, repo) = (&made.env, made.env.work().join("repo"));
    let out = env.work().join("out");
    let patch = env.write("work/saved.patch", fs::read(out.join("diff.patch")).unwrap());
    let id = made.folder.file_name().unwrap().to_str().unwrap();
    for what in [id, "last", made.folder.to_str().unwrap(), out.to_str().unwrap(), patch.to_str().unwrap()] {
        let output = env.holon(["runs", "verify", what]).cwd(&repo).run();
        output.assert_code(0);
        assert!(output.stdout.starts_with(&format!("{id}: sound\n")), "{what}: {}", output.stdout);
    }
    let output = env.holon(["runs", "verify", "--all", "--json"]).cwd(&repo).run();
    let told: Value = serde_json::from_str(output.assert_code(0).stdout.trim()).unwrap();
    assert_eq!(
        (&told["run"], &told["sound"], &told["false"]),
        (&id.into(), &true.into(), &Value::Array(vec![]))
    );

    // A patch that was edited is nobody's, and a copy that was edited is false.
    let text = fs::read_to_string(&patch).unwrap().replace("+new", "+evil");
    fs::write(&patch, &text).unwrap();
    let output = env.holon(["runs", "verify"]).arg(&patch).cwd(&repo).run();
    output.assert_code(1).assert_stderr("no run of this workspace delivered");
    fs::write(out.join("diff.patch"), &text).unwrap();
    for what in [out.clone(), out.join("diff.patch")] {
        let output = env.holon(["runs", "verify", "--json"]).arg(what).cwd(&repo).run();
        let told: Value = serde_json::from_str(output.assert_code(2).stdout.trim()).unwrap();
        assert_eq!(
            (&told["sound"], &told["false"][0]["kind"]),
            (&false.into(), &"digest".into()),
            "{told:#}"
        );
        assert!(
            told["false"][0]["sentence"].as_str().unwrap().contains("the file has the digest"),
            "{told:#}"
        );
    }
    // What cannot be read is neither.
    fs::write(out.join("manifest.json"), "{").unwrap();
    env.holon(["runs", "verify"]).arg(&out).cwd(&repo).run().assert_code(1).assert_stderr("is no manifest");
    env.holon(["runs", "verify", "nothing"])
        .cwd(&repo)
        .run()
        .assert_code(1)
        .assert_stderr("no run `nothing`");
}
