//! A spec that comes with a repository reaches nothing outside of it.

use holon_testkit::{TestEnv, for_each_identity};

use super::{BIN, SUMMARY};

/// Shows what it was given.
const SHOWS: &str = "#!/bin/sh\n(cd \"$HOLON_INPUT_DIR/context\" 2>/dev/null && find . -type f -exec cat {} +)\n\
    echo '# Done' > \"$HOLON_OUTPUT_DIR/summary.md\"\n";

#[test]
fn inv_19_a_spec_of_a_repository_hands_over_no_file_of_the_machine() {
    for_each_identity(BIN, |env| {
        let secret = env.write("secret.txt", "CANARY-of-the-machine");
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        std::os::unix::fs::symlink(&secret, repo.join("link.txt")).unwrap();
        let agent = env.agent("shows.sh", SHOWS);
        for named in
            [secret.to_str().unwrap(), "../../secret.txt", "link.txt", "/etc/passwd", "~/.ssh/id_rsa"]
        {
            env.write(repo.join("spec.yaml"), format!("goal: x\ncontext: {{files: ['{named}']}}\n"));
            for mode in ["execute", "plan-then-execute", "orchestrate"] {
                let call = env.holon(["run", "--mode", mode, "--spec", "spec.yaml", "--agent"]).arg(&agent);
                let done = call.cwd(repo.path()).run();
                done.assert_code(64).assert_stderr("outside of").assert_stderr("--context");
                assert!(!format!("{done:?}").contains("CANARY"), "{done:?}");
            }
        }
        // The user may.
        env.write(repo.join("spec.yaml"), "goal: x\n");
        let call =
            env.holon(["run", "--spec", "spec.yaml", "--context"]).arg(&secret).arg("--agent").arg(&agent);
        call.cwd(repo.path()).run().assert_code(0).assert_stderr("CANARY-of-the-machine");
    });
}

#[test]
fn inv_19_nor_an_agent_or_a_workspace_outside_of_it() {
    let env = TestEnv::new(BIN);
    let agent = env.agent("own.sh", SUMMARY);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    env.write(repo.join("spec.yaml"), format!("goal: x\nagent: {{name: '{}'}}\n", agent.display()));
    let call = env.holon(["run", "--spec", "spec.yaml"]).cwd(repo.path());
    call.run().assert_code(64).assert_stderr("agent.name").assert_stderr("--agent");
    env.write(repo.join("spec.yaml"), "goal: x\ncontext: {workspace: ..}\n");
    let call = env.holon(["run", "--spec", "spec.yaml", "--agent"]).arg(&agent).cwd(repo.path());
    call.run().assert_code(64).assert_stderr("context.workspace").assert_stderr("--workspace");
}

#[test]
fn a_file_called_as_the_hosts_own_reaches_the_agent() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let (own, repair) = (env.write("index.json", "MY-OWN-INDEX"), env.write("repair.md", "MY-OWN-REPAIR"));
    let agent = env.agent("shows.sh", SHOWS);
    let call = env.holon(["run", "--goal", "x", "--out", "../out", "--context"]).arg(own).arg(repair);
    let done = call.arg("--agent").arg(agent).cwd(repo.path()).run();
    done.assert_code(0).assert_stderr("MY-OWN-INDEX").assert_stderr("MY-OWN-REPAIR");
    let manifest = done.manifest(env.work().join("out"));
    let context: Vec<&str> = manifest["metadata"]["context"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|f| f["path"].as_str())
        .collect();
    assert_eq!(context, ["0/index.json", "1/repair.md"]);
}
