//! Every endpoint under fire from its own description: no answer of 500 or more, no hang.

use std::path::PathBuf;
use std::process::Command;

use crate::stage::ServeStage;
use holon_testkit::{current_test, skip_security};

/// Where the fuzzer is; the battery's set-up puts it there.
const FUZZER: &str = "HOLON_SCHEMATHESIS";

fn fuzzer() -> Option<PathBuf> {
    std::env::var_os(FUZZER).map(PathBuf::from).filter(|path| path.is_file())
}

/// Hurls at the server what its description allows, and what it does not.
fn fire(fuzzer: &PathBuf, stage: &ServeStage, config: &str, more: &[&str]) {
    let work = stage.env.root().join("work");
    let config = stage.env.write("work/schemathesis.toml", config);
    let output = Command::new(fuzzer)
        .current_dir(&work)
        .arg("--config-file")
        .arg(&config)
        .arg("run")
        .arg(format!("http://127.0.0.1:{}/api/openapi.json", stage.port))
        .args([
            "--header",
            &format!("Authorization: Bearer {}", crate::http::token(stage.port).expect("a token")),
        ])
        .args(["--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing"])
        .args(["--max-examples", "25", "--seed", "7", "--request-timeout", "20", "--workers", "1"])
        .args(["--suppress-health-check", "all", "--warnings", "off", "--generation-database", "none"])
        .args(more)
        .output()
        .expect("schemathesis");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn fuzzing_every_endpoint_gives_no_server_error_and_no_hang() {
    let Some(fuzzer) = fuzzer() else {
        return skip_security(
            &current_test(),
            "there is no schemathesis: `cargo xtask battery server` installs it",
        );
    };
    let stage = ServeStage::playing("- text: hi\n- text: again\n");
    // As a stranger who knows no name of anything.
    fire(&fuzzer, &stage, "", &[]);
    // As somebody who has a thread; it may be gone afterwards, since every method is tried.
    let known = stage.thread();
    let known = format!("[parameters]\nthread_id = \"{known}\"\nid = \"{known}\"\n");
    fire(&fuzzer, &stage, &known, &["--exclude-method", "DELETE"]);
    // It still works, for whoever comes next.
    assert_eq!(stage.get("/healthz").status, 200);
    let events = stage.say(&stage.thread(), "still there?", "build");
    assert_eq!(crate::http::words(&events), "hi");
    assert_eq!(stage.get("/api/audit/verify").json()["ok"], true);
}
