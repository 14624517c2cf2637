//! Real projects build and test offline inside the walls, as root and as an ordinary user, and no credential of the
//! toolchains they use is visible there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "toolchains/machine.rs"]
mod machine;
#[path = "toolchains/packages.rs"]
mod packages;

use std::fs;
use std::path::PathBuf;

use holon_testkit::{TestEnv, TestWorkspace, assert_unchanged, for_each_identity, tree_state};
use machine::{ToolchainMachine, built_with};
use packages::{CANARY, home_with_packages};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// `step NAME COMMAND…` keeps what a command says and how it ends.
const PRELUDE: &str = r#"#!/bin/sh
step() {
    name=$1; shift
    "$@" > "/holon/output/$name.log" 2>&1
    echo "$? $name" >> /holon/output/steps.log
}
echo done > /holon/output/summary.md
printf '# Goal\nx\n# Context\nx\n# Steps\n1. x\n# Risks\nnone\n# Verification\nlook\n' > /holon/output/plan.md
"#;

/// Runs an agent that takes the given steps, all of which must succeed, and returns the folder with their logs.
fn run(
    machine: &ToolchainMachine<'_>,
    env: &TestEnv,
    repo: &TestWorkspace,
    steps: &str,
    more: &[&str],
) -> PathBuf {
    let before = tree_state(repo.path());
    let agent = env.agent("agent.sh", &format!("{PRELUDE}{steps}"));
    let out = env.work().join("out");
    let mut args =
        vec!["run", "--goal", "x", "--agent", agent.to_str().unwrap(), "--out", out.to_str().unwrap()];
    args.extend(more);
    let ended = machine.holon(repo.path(), &args);
    let log = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let taken = log("steps.log");
    for line in taken.lines() {
        let (code, name) = line.split_once(' ').unwrap();
        assert_eq!(code, "0", "{name}: {}\n{}", log(&format!("{name}.log")), ended.said);
    }
    assert_eq!(taken.lines().count(), steps.matches("\nstep ").count(), "{taken}\n{}", ended.said);
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert_unchanged(&before, repo.path());
    out
}

fn read(logs: &std::path::Path, name: &str) -> String {
    fs::read_to_string(logs.join(name)).unwrap()
}

fn crate_with(env: &TestEnv, dependency: &str, test: &str) -> TestWorkspace {
    let manifest = format!(
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{dependency}\n"
    );
    env.repo()
        .file("Cargo.toml", manifest)
        .file("src/lib.rs", format!("#[test]\nfn works() {{\n    {test}\n}}\n"))
        .file(".gitignore", "/target\n")
        .commit("first")
}

#[test]
fn cargo_test_works_offline_with_the_machines_own_packages() {
    for_each_identity(BIN, |env| {
        let machine = ToolchainMachine::with_rust(env).with_own_packages();
        let dependency = format!("itoa = \"={}\"", built_with("itoa"));
        let repo = crate_with(env, &dependency, "assert_eq!(itoa::Buffer::new().format(7), \"7\");");
        let logs = run(&machine, env, &repo, "\nstep cargo cargo test\n", &[]);
        let said = read(&logs, "cargo.log");
        assert!(said.contains("Compiling itoa") && said.contains("works ... ok"), "{said}");
    });
}

const LIB: &str = "cargo test --offline --lib";

/// A check with cargo on what an agent did: how the run ended, and what the host knows of it.
fn checked(
    machine: &ToolchainMachine<'_>,
    env: &TestEnv,
    repo: &TestWorkspace,
    (agent, check): (&str, &str),
) -> (i32, serde_json::Value) {
    let agent = env.agent("agent.sh", &format!("{PRELUDE}{agent}\n"));
    let out = env.work().join("out");
    let paths = [agent.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let args = [&["run", "--goal", "x", "--check", check, "--agent"][..], &paths[..]];
    let ended = machine.holon(repo.path(), &args.concat());
    let text = fs::read(out.join("manifest.json")).unwrap_or_else(|_| panic!("{}", ended.said));
    let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
    (ended.code, manifest["metadata"]["verification"].clone())
}

#[test]
fn inv_18_inline_tests_of_cargo_are_grafted_back() {
    let code = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 2), 4);\n    }\n}\n";
    let env = &TestEnv::new(BIN);
    let machine = ToolchainMachine::with_rust(env).with_own_packages();
    let repo = env
        .repo()
        .file(
            "Cargo.toml",
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        )
        .file("src/lib.rs", code)
        .commit("first");
    let cheats = [
        "sed -i 's/    #\\[test\\]/    #[test]\\n    #[ignore]/' src/lib.rs",
        "sed -i '/cfg(test)/,$d' src/lib.rs",
    ];
    for cheat in cheats {
        let (code, known) = checked(&machine, env, &repo, (cheat, LIB));
        assert_eq!((code, known["state"].as_str()), (2, Some("changed_checks")), "{known:#}");
        assert_eq!(known["definitions"][0]["path"], "src/lib.rs", "{known:#}");
    }
    let honest = "sed -i 's/a - b/a + b/; s/add(2, 2), 4);/add(2, 2), 4);\\n        assert_eq!(add(1, 0), 1);/' src/lib.rs";
    let (code, known) = checked(&machine, env, &repo, (honest, LIB));
    assert_eq!((code, known["state"].as_str()), (0, Some("verified")), "{known:#}");
    assert_eq!(known["checks"][0]["as_it_was"]["exit_code"], 0, "{known:#}");
}

/// One binary was red; the change breaks a case of the same name in the binary after it, which cargo alone would not start.
#[test]
fn what_a_change_breaks_behind_a_red_binary_is_said() {
    let env = &TestEnv::new(BIN);
    let machine = ToolchainMachine::with_rust(env).with_own_packages();
    let test = |function: &str, expect: u32| {
        format!("#[test]\nfn works() {{\n    assert_eq!(small::{function}(3), {expect});\n}}\n")
    };
    let code = "pub fn cube(x: u32) -> u32 {\n    x * x\n}\npub fn twice(x: u32) -> u32 {\n    x + x\n}\n";
    let repo = crate_with(env, "", "");
    let repo = repo.file("src/lib.rs", code).file("tests/cube.rs", test("cube", 27));
    let repo = repo.file("tests/twice.rs", test("twice", 6)).commit("second");
    let breaks = ("sed -i 's/x + x/x + x + x/' src/lib.rs", "cargo test --offline");
    let (code, known) = checked(&machine, env, &repo, breaks);
    let check = &known["checks"][0];
    assert_eq!((code, check["verdict"].as_str()), (1, Some("broken")), "{known:#}");
    assert_eq!(check["differences"]["broken"], serde_json::json!(["works #2"]), "{known:#}");
    assert_eq!(check["differences"]["failing_as_before"], serde_json::json!(["works"]), "{known:#}");
}

#[test]
fn cargo_test_works_offline_with_a_cache_that_has_to_be_written_to() {
    for_each_identity(BIN, |env| {
        home_with_packages(env);
        let home = tree_state(env.home());
        let machine = ToolchainMachine::with_rust(env);
        let repo = crate_with(env, "tiny-dep = \"0.1\"", "assert_eq!(tiny_dep::seven(), 7);");
        let steps = "\nstep cargo cargo test\nstep unpacked ls $CARGO_HOME/registry/src\n";
        let logs = run(&machine, env, &repo, steps, &[]);
        assert!(read(&logs, "cargo.log").contains("works ... ok"));
        assert!(!read(&logs, "unpacked.log").is_empty(), "the package was unpacked inside");
        let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
        assert!(patch.contains("Cargo.lock") && !patch.contains("target/"), "{patch}");
        assert_unchanged(&home, env.home());
        // The package manager says at once what is wrong instead of waiting for a network.
        let steps = "\nstep absent sh -c '! cargo add no-such-package-here'\n";
        let logs = run(&machine, env, &repo, steps, &[]);
        assert!(read(&logs, "absent.log").contains("no-such-package-here"));
    });
}

#[test]
fn cargo_test_works_where_the_workspace_is_read_only() {
    for_each_identity(BIN, |env| {
        home_with_packages(env);
        let machine = ToolchainMachine::with_rust(env);
        let repo = crate_with(env, "", "");
        let lock = "version = 4\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\n";
        let repo = repo.file("Cargo.lock", lock).commit("locked");
        let steps = "\nstep cargo cargo test --locked\nstep closed sh -c '! touch new'\n";
        let logs = run(&machine, env, &repo, steps, &["--mode", "plan"]);
        assert!(read(&logs, "cargo.log").contains("works ... ok"));
    });
}

#[test]
fn inv_06_credentials_of_toolchains_are_not_visible() {
    for_each_identity(BIN, |env| {
        home_with_packages(env);
        let machine = ToolchainMachine::with_rust(env);
        let repo = crate_with(env, "", "");
        let repo = repo.file("go.mod", "module x\n").file("package.json", "{}").file("pom.xml", "<project/>");
        let repo = repo.file("setup.cfg", "");
        let home = env.home();
        let home = home.to_str().unwrap();
        // The word is put together here, or the search would find this script.
        let (one, two) = CANARY.split_at(6);
        let steps = format!(
            "\nword='{one}''{two}'
step control grep -rl seen '{home}/go/pkg/mod/cache/download'
step settings grep replace-with '{home}/.cargo/config.toml'
step search sh -c \"! grep -rsI $word '{home}' /etc /usr/local/etc /holon/home /proc/self/environ\"
step list find '{home}' -maxdepth 2
step writes sh -c 'echo x > {home}/.cargo/.package-cache && echo x > {home}/go/pkg/mod/new && rm -r {home}/.cargo/registry/local'\n"
        );
        // Outside, the same search finds plenty.
        let found = env.program("grep").args(["-rsIl", CANARY, home]).run().stdout;
        assert!(found.lines().count() > 10, "{found}");
        let before = tree_state(env.home());
        let logs = run(&machine, env, &repo, &steps, &[]);
        let seen = read(&logs, "list.log");
        for hidden in ["credentials", "private-notes", ".ssh", ".netrc", ".npmrc", "Documents", ".config"] {
            assert!(!seen.contains(hidden), "{hidden} is visible:\n{seen}");
        }
        assert!(seen.contains(".cargo/registry"), "{seen}");
        assert_unchanged(&before, env.home());
    });
}

#[test]
fn a_second_start_finds_its_caches_as_it_left_them() {
    for_each_identity(BIN, |env| {
        home_with_packages(env);
        env.write("home/.m2/repository/a.jar", "jar\n");
        let repo = crate_with(env, "", "").file("pom.xml", "<project/>");
        let script = r#"#!/bin/sh
set -e
cd "$HOME/.m2/repository"
if [ -e /holon/input/context/repair.md ]; then
    cat a.jar mine "$CARGO_HOME/registry/mine" "$CARGO_HOME/mine" > /holon/output/summary.md
else
    for folder in . "$CARGO_HOME/registry" "$CARGO_HOME"; do echo mine > "$folder/mine"; done
fi
"#;
        let agent = env.agent("forgets.sh", script);
        let out = env.work().join("out");
        let before = tree_state(env.home());
        let args = ["run", "--goal", "x", "--agent", agent.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let ended = ToolchainMachine::with_rust(env).holon(repo.path(), &args);
        assert_eq!(ended.code, 0, "{}", ended.said);
        assert_eq!(read(&out, "summary.md"), "jar\nmine\nmine\nmine\n");
        assert_unchanged(&before, env.home());
    });
}

#[test]
fn pytest_works_offline() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("calc.py", "def add(a, b):\n    return a + b\n");
        let repo =
            repo.file("test_calc.py", "from calc import add\n\ndef test_add():\n    assert add(3, 4) == 7\n");
        let repo = repo.file(".gitignore", "__pycache__/\n.pytest_cache/\n").commit("first");
        let machine = ToolchainMachine::with_rust(env);
        for mode in ["execute", "plan"] {
            let logs = run(&machine, env, &repo, "\nstep pytest python3 -m pytest\n", &["--mode", mode]);
            let said = read(&logs, "pytest.log");
            assert!(said.contains("1 passed") && !said.contains("warning"), "{mode}: {said}");
        }
    });
}

#[test]
fn a_virtual_environment_works_offline() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("setup.cfg", "").file(".gitignore", ".venv/\n").commit("first");
        let made = env.program("/usr/bin/python3").args(["-m", "venv", "--system-site-packages", ".venv"]);
        made.cwd(repo.path()).run().assert_code(0);
        let machine = ToolchainMachine::with_rust(env);
        let steps = "\nstep venv .venv/bin/python -c 'import sys; print(sys.prefix)'\n";
        let logs = run(&machine, env, &repo, steps, &[]);
        assert_eq!(read(&logs, "venv.log").trim(), "/holon/workspace/.venv");
    });
}

#[test]
fn node_test_works_offline() {
    for_each_identity(BIN, |env| {
        let test = "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.equal(3 + 4, 7));\n";
        let repo = env
            .repo()
            .file("package.json", "{\"name\":\"small\"}\n")
            .file("add.test.js", test)
            .commit("first");
        env.write("home/.npm/_cacache/tmp/x", "");
        let machine = ToolchainMachine::with_rust(env);
        let steps = "\nstep node node --test\nstep cache npm config get cache\nstep absent sh -c '! npm install left-pad'\n";
        let logs = run(&machine, env, &repo, steps, &[]);
        assert!(read(&logs, "node.log").contains("# pass 1"));
        assert_eq!(read(&logs, "cache.log").trim(), env.home().join(".npm").to_str().unwrap());
        assert!(read(&logs, "absent.log").contains("ENOTCACHED"), "{}", read(&logs, "absent.log"));
    });
}

#[test]
fn git_commits_and_renames_directories() {
    let steps = "
step edit sh -c 'echo two >> a.txt'
step commit git commit -qam second
step log git log --oneline
step move git mv dir moved
step status git status --short
step result test -f moved/deep/b -a ! -e dir\n";
    for_each_identity(BIN, |env| {
        let repo =
            env.repo().file("a.txt", "one\n").file("dir/a", "a\n").file("dir/deep/b", "b\n").commit("first");
        let machine = ToolchainMachine::with_rust(env);
        // The kernel's overlay refuses to rename folders for ordinary users; a copy always works.
        let ways: &[&str] = match env.identity() {
            holon_testkit::TestIdentity::Root => &["overlay", "copy"],
            holon_testkit::TestIdentity::Ordinary => &["copy"],
        };
        for way in ways {
            let logs = run(&machine, env, &repo, steps, &["--snapshot", way]);
            assert_eq!(read(&logs, "log.log").lines().count(), 2);
            assert!(read(&logs, "status.log").contains("R  dir/a -> moved/a"));
            let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
            assert!(patch.contains("moved/deep/b") && patch.contains("+two"), "{patch}");
        }
    });
}
