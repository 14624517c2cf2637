//! When something is in the way: it is said what, where and what to do; nothing is lost, and nothing is pretended.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, assert_unchanged, for_each_identity, tree_state};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Changes a file in each of two folders.
const TWO: &str = "#!/bin/sh
echo more >> a/old; echo new > a/new
echo more >> b/old; echo new > b/new
echo 'Did it.' > \"$HOLON_OUTPUT_DIR/summary.md\"
";

fn two_folders(env: &TestEnv) -> TestWorkspace {
    env.repo().file("a/old", "x\n").file("b/old", "x\n").commit("first")
}

fn run(env: &TestEnv, repo: &TestWorkspace, script: &str, more: &[&str]) -> CommandEnd {
    let agent = env.agent("agent.sh", script);
    env.holon(["run", "--goal", "x", "--quiet", "--agent"]).arg(&agent).args(more).cwd(repo.path()).run()
}

/// Lets only so much be done with a path.
fn allow(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_patch_that_cannot_be_written_leaves_the_workspace_as_it_was() {
    let env = TestEnv::as_ordinary(BIN);
    let repo = two_folders(&env);
    run(&env, &repo, TWO, &[]).assert_code(0);
    allow(repo.join("b"), 0o555);
    let before = tree_state(repo.path());
    let apply = env.holon(["runs", "apply", "last"]).cwd(repo.path()).run();
    apply.assert_code(1).assert_stdout("not applied, ").assert_stdout(" is as it was:");
    apply.assert_stdout("b/old could not be written (permission denied)");
    // With --apply the same is no success either, and says so even when quiet.
    run(&env, &repo, TWO, &["--apply"]).assert_code(1).assert_stdout("b/old could not be written");
    assert_unchanged(&before, repo.path());
    allow(repo.join("b"), 0o755);
    env.holon(["runs", "apply", "last"])
        .cwd(repo.path())
        .run()
        .assert_code(0)
        .assert_stdout("3 files changed");
}

#[test]
fn a_repository_that_cannot_be_written_is_not_blamed_on_the_patch() {
    let env = TestEnv::as_ordinary(BIN);
    let repo = two_folders(&env);
    run(&env, &repo, TWO, &[]).assert_code(0);
    allow(repo.join(".git/objects"), 0o555);
    let commit = env.holon(["runs", "apply", "last", "--commit"]).cwd(repo.path()).run();
    allow(repo.join(".git/objects"), 0o755);
    commit
        .assert_code(1)
        .assert_stderr("objects cannot be written: permission denied")
        .assert_stderr("hint: check");
    assert!(!commit.stderr.contains("does not fit"), "{}", commit.stderr);
}

#[test]
fn a_temporary_folder_that_is_not_there_is_named() {
    for_each_identity(BIN, |env| {
        let repo = two_folders(env);
        let gone = env.work().join("gone");
        let agent = env.agent("agent.sh", TWO);
        let run = env.holon(["run", "--goal", "x", "--quiet", "--apply", "--agent"]).arg(&agent);
        let run = run.env("TMPDIR", &gone).cwd(repo.path()).run();
        run.assert_code(1)
            .assert_stderr("the patch was not applied: cannot create ")
            .assert_stderr("set TMPDIR");
        run.assert_stderr("holon runs apply ").assert_stdout("success execute");
        assert_eq!(repo.status(), "");
        env.holon(["demo"]).env("TMPDIR", &gone).run().assert_code(1).assert_stderr("set TMPDIR");
        env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
    });
}

#[test]
fn artifacts_that_could_not_be_copied_are_not_said_to_be_there() {
    let env = TestEnv::as_ordinary(BIN);
    let repo = two_folders(&env);
    let shut = env.folder("shut");
    allow(shut.path(), 0o555);
    let out = shut.join("out");
    let run = run(&env, &repo, TWO, &["--out", out.to_str().unwrap()]);
    run.assert_code(1).assert_stderr("the artifacts could not be copied to ");
    let kept = env.runs().pop().unwrap().join("output");
    run.assert_stdout(&format!("artifacts in {}", kept.display()));
}

#[test]
fn doctor_knows_that_no_run_can_be_kept() {
    let env = TestEnv::as_ordinary(BIN);
    env.holon(["doctor"]).run().assert_code(0);
    let shut = env.folder("shut");
    allow(shut.path(), 0o555);
    let doctor = env.holon(["doctor"]).env("XDG_STATE_HOME", shut.path()).run();
    doctor.assert_code(1).assert_stdout("cannot be kept").assert_stdout("XDG_STATE_HOME");
}

#[test]
fn a_spec_that_cannot_be_used_is_a_mistake_in_the_command() {
    for_each_identity(BIN, |env| {
        let repo = two_folders(env);
        let spec = |path: &Path| env.holon(["run", "--spec"]).arg(path).cwd(repo.path()).run();
        spec(Path::new("nope.yaml"))
            .assert_code(64)
            .assert_stderr("nope.yaml")
            .assert_stderr("given with --spec");
        spec(&env.write("latin.yaml", b"goal: caf\xe9\n")).assert_code(64).assert_stderr("not text in UTF-8");
        spec(&env.work()).assert_code(64).assert_stderr("is not a regular file");
        let bomb: String = (1..12)
            .map(|n| format!("k{n}: &k{n} [{}]\n", vec![format!("*k{}", n - 1); 9].join(",")))
            .collect();
        let bomb = spec(&env.write("bomb.yaml", format!("goal: x\nk0: &k0 [x]\n{bomb}")));
        bomb.assert_code(64).assert_stderr("without anchors and aliases");
        assert!(!bomb.stderr.contains("Breach") && !bomb.stderr.contains('{'), "{}", bomb.stderr);
        // A link to one is as good as the file.
        let agent = env.agent("agent.sh", TWO);
        let text = format!("version: v1\ngoal: x\nagent: {{ name: {} }}\n", agent.display());
        symlink(env.write("spec.yaml", text), env.work().join("link.yaml")).unwrap();
        spec(&env.work().join("link.yaml")).assert_code(0);
    });
}

#[test]
fn a_configuration_kept_elsewhere_and_linked_counts() {
    for_each_identity(BIN, |env| {
        let repo = two_folders(env);
        let own = env.config().join("holon");
        for folder in ["modes", "agents"] {
            fs::create_dir_all(own.join(folder)).unwrap();
        }
        let link = |name: &str, text: String| {
            symlink(env.write(format!("dotfiles/{name}"), text), own.join(name)).unwrap();
        };
        let agent = env.agent("agent.sh", TWO);
        link("config.toml", "[breaker]\nfailures = 2\n".into());
        link("modes/careful.toml", "name = \"careful\"\nextends = \"execute\"\n".into());
        let described = format!(
            "name = \"mine\"\ndescription = \"Mine\"\nkind = \"exec\"\ncommand = [\"sh\", \"-c\", {:?}]\n",
            fs::read_to_string(&agent).unwrap()
        );
        link("agents/mine.toml", described);
        env.holon(["config", "show"])
            .cwd(repo.path())
            .run()
            .assert_code(0)
            .assert_stdout("breaker.failures = 2");
        let run = env.holon(["run", "--goal", "x", "--mode", "careful", "--agent", "mine", "--quiet"]);
        run.cwd(repo.path()).run().assert_code(0).assert_stdout("success careful");
        // A repository's links lead nowhere: what they point to is not the repository's to read.
        fs::create_dir_all(repo.join(".holon/modes")).unwrap();
        symlink(
            env.write("elsewhere.toml", "name = \"sly\"\nextends = \"plan\"\n"),
            repo.join(".holon/modes/sly.toml"),
        )
        .unwrap();
        env.holon(["modes", "show", "sly"]).cwd(repo.path()).run().assert_code(64);
    });
}

#[test]
fn inv_15_hooks_of_a_bare_repository_need_a_person() {
    const SLY: &str = "#!/bin/sh
mkdir -p fixture.git/hooks
printf '#!/bin/sh\\nid\\n' > fixture.git/hooks/post-receive
echo '[core] fsmonitor = id' >> fixture.git/config
echo 'Did it.' > \"$HOLON_OUTPUT_DIR/summary.md\"
";
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "x\n").file("fixture.git/HEAD", "ref: refs/heads/main\n");
        let repo = repo.file("fixture.git/config", "[core]\n\tbare = true\n");
        let repo = repo.file("fixture.git/objects/info/packs", "\n").file("fixture.git/refs/heads/x", "\n");
        let run = run(env, &repo, SLY, &["--apply"]);
        run.assert_code(2)
            .assert_stderr("fixture.git/hooks/post-receive")
            .assert_stderr("fixture.git/config");
        assert!(!repo.join("fixture.git/hooks").exists());
    });
}

#[test]
fn a_demo_without_its_cassettes_does_not_begin() {
    let env = TestEnv::new(BIN);
    let demo = env.holon(["demo", "--cassettes"]).arg(env.folder("empty").path()).run();
    demo.assert_code(64).assert_stderr("plan.yaml is not there").assert_stderr("--cassettes takes a folder");
    assert_eq!(demo.stdout, "");
}

#[test]
fn only_runs_of_the_native_agent_can_be_replayed_and_that_is_said() {
    let env = TestEnv::new(BIN);
    let repo = two_folders(&env);
    run(&env, &repo, TWO, &[]).assert_code(0);
    let replay = env.holon(["runs", "replay", "last"]).cwd(repo.path()).run();
    replay.assert_code(1).assert_stderr("there is no recording of this run").assert_stderr("native agent");
}

#[test]
fn events_that_cannot_be_written_are_not_lost_silently() {
    let env = TestEnv::new(BIN);
    let repo = two_folders(&env);
    let agent = env.agent("agent.sh", TWO);
    let script = format!("exec \"$0\" run --goal x --agent '{}' --json > /dev/full", agent.display());
    let run = env.program("sh").args(["-c", &script]).arg(env.binary()).cwd(repo.path()).run();
    run.assert_code(0).assert_stderr("cannot write to standard output");
    assert_eq!(run.stderr.matches("cannot write").count(), 1, "{}", run.stderr);
}

#[test]
fn context_that_could_keep_a_run_waiting_is_refused() {
    let env = TestEnv::new(BIN);
    let repo = two_folders(&env);
    let pipe = env.work().join("pipe");
    env.program("mkfifo").arg(&pipe).run().assert_code(0);
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        run(&env, &repo, TWO, &["--context", path])
            .assert_code(64)
            .assert_stderr("neither a file nor a folder");
    }
}

#[test]
fn an_agent_that_cannot_be_started_is_explained() {
    for_each_identity(BIN, |env| {
        let repo = two_folders(env);
        let run = |script: &str| {
            let agent = env.write("agents/odd.sh", script);
            allow(&agent, 0o755);
            let run =
                env.holon(["run", "--goal", "x", "--quiet", "--agent"]).arg(&agent).cwd(repo.path()).run();
            run.assert_code(1);
            run
        };
        run("echo hi\n").assert_stderr("a script begins with a line such as");
        run("#!/bin/sh\r\necho hi\r\n").assert_stderr("line ends of Windows");
    });
}

#[test]
fn a_question_that_waits_for_a_pipe_says_so() {
    let env = TestEnv::new(BIN);
    let repo = two_folders(&env);
    let tape = env.write("tape.yaml", "- text: \"An answer.\"\n");
    // A pipe that is held open and never written to.
    let script = "mkfifo pipe && exec 3<>pipe && exec \"$0\" ask q --replay \"$1\" <&3";
    let mut waiting =
        env.program("sh").args(["-c", script]).arg(env.binary()).arg(&tape).cwd(env.work()).spawn();
    waiting.wait_for_text("waiting for the end of standard input");
    waiting.kill();
    let asked = env.holon(["ask", "q", "--replay"]).arg(&tape).cwd(repo.path()).run();
    asked.assert_code(0).assert_stdout("An answer.");
}
