//! A run against a real model server, when somebody names one. Nothing here guards a promise, so nothing is lost otherwise.
//!
//!     HOLON_TEST_MODEL_URL=http://localhost:11434/v1 cargo test -p holon --test native real_endpoint -- --nocapture
//!
//! `HOLON_TEST_MODEL` names the model (else the server's own is taken), `HOLON_TEST_MODEL_KEY` holds a key.

use std::io::Write;
use std::time::Duration;

use holon_testkit::{TestEnv, apply_patch_plain, copy_tree};

use crate::stage::{BIN, artifact, out};

/// Past the test harness, which hides what passing tests print.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

#[test]
fn a_real_model_edits_a_file_and_passes_a_check() {
    let test = "a_real_model_edits_a_file_and_passes_a_check";
    let Some(url) = variable("HOLON_TEST_MODEL_URL") else {
        say(&format!("{test}: not asked for, nothing was tested (HOLON_TEST_MODEL_URL names no server)"));
        return;
    };
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("greeting.txt", "Hello, world!\n").commit("first");
    let base = env.work().join("base");
    copy_tree(repo.path(), &base);
    let goal = "The file greeting.txt contains the line `Hello, world!`. Change that line to `Hello, Holon!`. \
                Write the whole file with the tool write_file, then call the tool finish with a short summary.";
    let check = "grep -qx 'Hello, Holon!' greeting.txt";
    let mut call = env
        .holon(["run", "--goal", goal, "--check", check, "--max-rounds", "15", "--timeout", "25m", "--out"])
        .arg(out(&env))
        .cwd(repo.path())
        .timeout(Duration::from_secs(30 * 60))
        .env("HOLON_BASE_URL", &url);
    for (ours, theirs) in [("HOLON_TEST_MODEL", "HOLON_MODEL"), ("HOLON_TEST_MODEL_KEY", "HOLON_API_KEY")] {
        if let Some(value) = variable(ours) {
            call = call.env(theirs, value);
        }
    }
    let output = call.run();
    let manifest = output.manifest(out(&env));
    say(&format!("{test}: {} after {:?}", manifest["metadata"]["model"], output.elapsed));
    say(&artifact(&env, "evidence/model.yaml"));
    output.assert_code(0);
    assert_eq!(manifest["metadata"]["verification"]["state"], "verified", "{manifest:#}");
    apply_patch_plain(&base, &out(&env).join("diff.patch")).unwrap();
    assert_eq!(std::fs::read_to_string(base.join("greeting.txt")).unwrap(), "Hello, Holon!\n");
    // And once more without the model.
    env.holon(["runs", "replay", "last"]).cwd(repo.path()).run().assert_code(0);
}
