//! The breach suite with real agents: every known way around a mode, tried through their own tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::time::Duration;

use holon_testkit::{TestEnv, current_test, skip_security};

fn check(agent: &str, tried: usize) {
    let folder = std::env::var_os("HOLON_AGENTS_DIR").map(PathBuf::from);
    let Some(folder) = folder.filter(|folder| folder.join(agent).join("node_modules").is_dir()) else {
        skip_security(&current_test(), &format!("{agent} is not installed; see `cargo xtask setup agents`"));
        return;
    };
    let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
    let page = env.work().join("page.md");
    let output = env
        .holon(["agents", "check", agent, "--breach", "--quick", "--markdown"])
        .arg(&page)
        .env("HOLON_AGENTS_DIR", folder)
        .timeout(Duration::from_secs(600))
        .run();
    output.assert_code(0).assert_stdout("0 under Holon");
    let page = std::fs::read_to_string(page).unwrap();
    let row = page.lines().find(|line| line.starts_with(&format!("| {agent} | "))).unwrap();
    let counted: usize = row.split('|').nth(3).unwrap().trim().parse().unwrap();
    assert!(counted >= tried, "only {counted} attempts count: {page}");
    assert!(row.contains("0, and 0 bytes where nothing may change"), "{row}");
    env.assert_nothing_left();
}

#[test]
fn inv_01_claude_code_finds_no_way_around_a_mode() {
    check("claude-code", 70);
}

#[test]
fn inv_01_codex_finds_no_way_around_a_mode() {
    check("codex", 70);
}

#[test]
fn inv_01_opencode_finds_no_way_around_a_mode() {
    check("opencode", 70);
}
