//! Agents that nobody described: added from a package or a path, tried, and held to the contract.

use std::path::PathBuf;

use holon_testkit::{Invocation, TestEnv};
use serde_json::Value;

use crate::BIN;

/// A client that asks its model for a plan and prints it; what it is called with is in its help.
const AGENT: &str = r##"#!/usr/bin/python3
import http.client, json, os, sys
if "--version" in sys.argv:
    print("small-agent 3.2.1"); sys.exit(0)
if "--help" in sys.argv:
    print("usage: small-agent [options]\n  -t TEXT, --task TEXT  what to do\n  --yolo  ask nothing"); sys.exit(0)
assert sys.argv[1:3] == ["--yolo", "--task"], sys.argv
door = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("//")[1].split("/")[0], timeout=20)
body = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": sys.argv[3]}]}
door.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
print("thinking...")
print(json.loads(door.getresponse().read())["choices"][0]["message"]["content"])
"##;

/// Installs nothing but the agent above, as npm would.
const NPM: &str = r#"#!/bin/sh
set -e
[ "$1" = install ] || exit 9
while [ "$1" != --prefix ]; do shift; done
root=$2/node_modules
case $3 in
absent) echo "npm error 404 Not Found" >&2; exit 1 ;;
many) bins='{"one": "a", "two": "b"}' ;;
*) bins='{"small-agent": "cli"}' ;;
esac
mkdir -p "$root/$3" "$root/.bin"
cp "$(dirname "$0")/small-agent.real" "$root/$3/cli"
chmod +x "$root/$3/cli"
echo "{\"name\": \"$3\", \"version\": \"3.2.1\", \"bin\": $bins}" > "$root/$3/package.json"
ln -sf "../$3/cli" "$root/.bin/small-agent"
"#;

struct AddingScene {
    env: TestEnv,
    clients: PathBuf,
}

impl AddingScene {
    fn new() -> Self {
        let env = TestEnv::new(BIN);
        let npm = env.agent("npm", NPM);
        let clients = npm.parent().unwrap().to_owned();
        env.write("agents/small-agent.real", AGENT);
        Self { env, clients }
    }

    fn holon(&self, args: &[&str]) -> Invocation {
        self.env.holon(args).env("PATH", format!("{}:/usr/bin:/bin", self.clients.display()))
    }

    fn description(&self, name: &str) -> String {
        let file = self.env.config().join("holon/agents").join(format!("{name}.toml"));
        std::fs::read_to_string(file).unwrap()
    }
}

#[test]
fn a_package_of_npm_is_installed_described_and_tried() {
    let scene = AddingScene::new();
    let added = scene.holon(&["agents", "add", "npm:small-agent", "--name", "small"]).run();
    added.assert_code(0).assert_stdout("3.2.1").assert_stdout("--yolo --task").assert_stdout("artifacts");
    added.assert_stdout("only the gateway").assert_stdout("holon agents check small");
    let text = scene.description("small");
    assert!(text.contains("program = \"small-agent\"") && text.contains("OPENAI_BASE_URL"), "{text}");
    scene.holon(&["agents", "list"]).run().assert_code(0).assert_stdout("Added from npm:small-agent");

    let again = scene.holon(&["agents", "add", "npm:small-agent", "--name", "small"]).run();
    again.assert_code(64).assert_stderr("already described").assert_stderr("--replace");
    let other =
        ["agents", "add", "npm:small-agent", "--name", "small", "--replace", "--json", "--", "{prompt}"];
    let broken = scene.holon(&other).run();
    broken.assert_code(1);
    let told: Value = serde_json::from_str(&broken.stdout).unwrap();
    assert_eq!((&told["works"], &told["args"][0]), (&false.into(), &"{prompt}".into()), "{told:#}");
    scene.env.assert_nothing_left();
}

#[test]
fn what_cannot_be_added_leaves_no_description() {
    let scene = AddingScene::new();
    for (source, words) in [
        ("npm:absent", "404 Not Found"),
        ("npm:many", "several programs: one, two"),
        ("small-agent", "did you mean ./small-agent?"),
        ("./no-such-file", "no-such-file"),
        ("npm:codex", "already described"),
    ] {
        let output = scene.holon(&["agents", "add", source]).run();
        assert_ne!(output.code, 0, "{source}: {output:?}");
        output.assert_stderr(words);
    }
    assert!(!scene.env.config().join("holon/agents").exists());
}

#[test]
fn a_program_by_its_path_is_held_to_the_contract() {
    let scene = AddingScene::new();
    let plan =
        "# Plan\n\n## Goal\nG.\n\n## Context\nC.\n\n## Steps\n1. S.\n\n## Risks\nR.\n\n## Verification\nV.\n";
    let review = r#"{"findings": []}"#;
    let sound = scene.env.agent(
        "sound",
        &format!("#!/bin/sh\ncase $HOLON_MODE in\nplan) cat <<'E'\n{plan}E\n;;\nreview) echo Fine.; echo '{review}' ;;\n*) echo Done. ;;\nesac\n"),
    );
    let check = |path: &PathBuf, json: bool| {
        let call = scene.holon(&["agents", "check"]).arg(path);
        if json { call.args(["--json"]).run() } else { call.run() }
    };
    let table = check(&sound, false);
    table.assert_code(0).assert_stdout("plan.md").assert_stdout("0 bytes changed").assert_stdout("exit code");
    assert!(!table.stdout.contains("FAILED"), "{}", table.stdout);

    let poor = scene.env.agent("poor", "#!/bin/sh\n[ $HOLON_MODE = plan ] && exit 3\necho Done.\n");
    let found = check(&poor, true);
    found.assert_code(1);
    let told: Value = serde_json::from_str(&found.stdout).unwrap();
    let rows = told["agents"][0]["checks"].as_array().unwrap();
    let failed: Vec<String> = rows
        .iter()
        .filter(|row| row["result"] == "failed")
        .map(|row| format!("{} {}", row["mode"].as_str().unwrap(), row["check"].as_str().unwrap()))
        .collect();
    assert_eq!(failed, ["plan artifacts", "plan exit code", "review artifacts"], "{told:#}");
    assert_eq!(told["ok"], false);
}
