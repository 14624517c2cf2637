//! Agents that do not start: what is missing is named, with the remedy.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace};

use crate::BIN;

fn stage() -> (TestEnv, TestWorkspace) {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    (env, repo)
}

fn run(env: &TestEnv, repo: &TestWorkspace, agent: &Path) -> CommandEnd {
    let call = env.holon(["run", "--mode", "plan", "--goal", "Look.", "--no-auto-checks", "--agent"]);
    call.arg(agent).cwd(repo.path()).run()
}

#[test]
fn what_a_start_lacks_is_named() {
    for (script, words) in [
        ("#!/no/such/python\n", "and `/no/such/python` is not installed on this machine"),
        ("#!/usr/bin/env no-such-node\n", "and `no-such-node` is not installed on this machine"),
        ("#!/bin/sh\r\nexit 0\r\n", "has line ends of Windows"),
        ("#!/bin/sh\nexec no-such-cli --plan\n", "the agent calls `no-such-cli`, which is not installed"),
        ("#!/usr/bin/python3\nimport no_such_module\n", "needs the Python module `no_such_module`"),
    ] {
        let (env, repo) = stage();
        let output = run(&env, &repo, &env.agent("lacking", script));
        output.assert_code(1);
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(said.contains(words), "{script:?}: {said}");
        assert!(!said.contains("No such file or directory (os error"), "{script:?}: {said}");
    }
}

/// A Python in a folder of its own, an environment made of it, and a program installed there.
fn python_agent(env: &TestEnv) -> std::path::PathBuf {
    let python = env.root().join("python/bin");
    fs::create_dir_all(&python).unwrap();
    fs::create_dir_all(env.root().join("python/lib/python3.11")).unwrap();
    let shim = python.join("python3.11");
    fs::write(&shim, "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n").unwrap();
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = env.root().join("agents/venv/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.parent().unwrap().join("pyvenv.cfg"), "home = elsewhere\n").unwrap();
    symlink(&shim, bin.join("python")).unwrap();
    let agent = bin.join("py-agent");
    let text = format!(
        "#!{}/python\nimport os\nopen(os.environ['HOLON_OUTPUT_DIR'] + '/summary.md', 'w').write('Looked.')\n",
        bin.display()
    );
    fs::write(&agent, text).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    agent
}

#[test]
fn a_python_agent_by_its_path_is_told_what_is_not_shown_and_a_described_one_starts() {
    let (env, repo) = stage();
    let agent = python_agent(&env);
    let output = run(&env, &repo, &agent);
    output.assert_code(1);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("is not visible inside the walls") && said.contains("holon agents add"), "{said}");

    env.write(
        "work/repo/.holon/agents/py.toml",
        "name = \"py\"\nkind = \"exec\"\ncommand = [\"{program}\"]\n[find]\nprogram = \"py-agent\"\ninstall = \"pip install it\"\n",
    );
    let call = env.holon(["run", "--goal", "Look.", "--no-auto-checks", "--agent", "py"]);
    call.env("HOLON_AGENTS_DIR", env.root().join("agents")).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn keys_are_spoken_of_only_where_a_key_was_refused() {
    let (env, repo) = stage();
    let acp = |name: &str, script: &str| {
        let program = env.agent(name, script);
        let tape = env.write("work/tape.yaml", "- text: never asked for\n");
        let call = env.holon(["run", "--goal", "x", "--agent", "acp", "--replay"]).arg(&tape);
        let call = call.args(["--no-auto-checks", "--", name]).cwd(repo.path());
        let output = call.env("HOLON_AGENTS_DIR", program.parent().unwrap()).run();
        output.assert_code(1);
        format!("{}{}", output.stdout, output.stderr)
    };
    let said = acp("no-interpreter", "#!/usr/bin/env no-such-node\n");
    assert!(said.contains("`no-such-node` is not installed") && !said.contains("check the key"), "{said}");
    let locked = "#!/usr/bin/python3\nimport json, sys\nfor line in sys.stdin:\n  asked = json.loads(line)\n  first = asked['method'] == 'initialize'\n  answer = {'result': {'protocolVersion': 1}} if first else {'error': {'code': -32000, 'message': 'Authentication required'}}\n  print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], **answer}), flush=True)\n";
    let said = acp("locked", locked);
    assert!(said.contains("a login of its own") && !said.contains("check the key"), "{said}");
}
