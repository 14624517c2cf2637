//! The command line as a person or a script meets it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use holon_testkit::{
    CommandEnd, TestEnv, TestIdentity, TestWorkspace, assert_unchanged, current_test, for_each_identity,
    skip_security, tree_state,
};
use rustix::process::{Pid, Signal, kill_process_group};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Writes a summary and one changed file.
const WRITER: &str = "#!/bin/sh
echo working
echo changed > a.txt
echo '# Summary' > \"$HOLON_OUTPUT_DIR/summary.md\"
echo 'Changed a.txt.' >> \"$HOLON_OUTPUT_DIR/summary.md\"
";

fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo().file("a.txt", "one\n").commit("first")
}

/// `holon run` with a goal and an agent, in the repository.
fn run(env: &TestEnv, repo: &TestWorkspace, agent: &str, more: &[&str]) -> CommandEnd {
    let agent = env.agent("agent.sh", agent);
    let base = env.holon(["run", "--goal", "x", "--agent"]).arg(&agent);
    base.args(more).cwd(repo.path()).run()
}

#[test]
fn help_teaches() {
    let env = TestEnv::new(BIN);
    let top = env.holon(["--help"]).run();
    top.assert_code(0)
        .assert_stdout("Examples:")
        .assert_stdout("Exit codes: 0 success, 1 failure, 2 needs a person");
    for group in ["runs", "plan", "modes", "models", "agents", "audit"] {
        let help = env.holon([group, "--help"]).run();
        help.assert_code(0).assert_stdout("Examples:").assert_stdout(&format!("  holon {group} "));
    }
    let help = env.holon(["run", "--help"]).run();
    help.assert_code(0);
    for heading in ["What to do:", "Where:", "Who does it:", "Sandbox:", "Limits:", "The result:", "Output:"]
    {
        help.assert_stdout(heading);
    }
    for flag in [
        "--mode",
        "--spec",
        "--goal",
        "--workspace",
        "--out",
        "--context",
        "--agent",
        "--image",
        "--sandbox",
        "--i-accept-no-isolation",
        "--network",
        "--allow-writes",
        "--timeout",
        "--idle-timeout",
        "--max-output",
        "--check",
        "--allow-sensitive",
        "--apply",
        "--verify",
        "--snapshot",
        "--keep",
        "--dry-run",
        "--json",
        "--quiet",
        "--no-color",
    ] {
        let listed = |line: &str| line.split_whitespace().next() == Some(flag);
        assert!(help.stdout.lines().any(listed), "{flag} is not in the help");
    }
    help.assert_stdout("# Think a change through; the workspace cannot change, whatever the agent does");
    help.assert_stdout("holon run --mode plan --goal \"Support IPv6\" --agent ./agent.sh");
}

#[test]
fn nothing_asked_is_a_usage_error_for_a_script() {
    let env = TestEnv::new(BIN);
    for args in [&[][..], &["runs"], &["modes"]] {
        let output = env.holon(args).run();
        output.assert_code(64).assert_stderr("Usage: holon");
        assert_eq!(output.stdout, "");
    }
}

#[test]
fn a_slip_of_the_pen_is_met_with_the_closest_name() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.agent("agent.sh", WRITER);
    for (args, expected) in [
        (&["rnu"][..], "error: unknown command `rnu` (did you mean `run`?)"),
        (&["run", "--gaol", "x"], "error: unknown flag `--gaol` (did you mean `--goal`?)"),
        (&["run", "--goal", "x", "stray"], "error: unexpected argument `stray`"),
        (&["run", "--goal"], "error: `--goal <TEXT>` needs a value"),
        (
            &["run", "--goal", "x", "--sandbox", "natve"],
            "`natve` is no value for `--sandbox <KIND>` (did you mean `native`?)",
        ),
        (&["run", "--goal", "x", "--timeout", "20"], "`20` is not a duration: the unit is missing"),
        (&["run", "--goal", "x", "--max-output", "lots"], "`lots` is not a size"),
        (&["run", "--json", "--quiet"], "cannot be used together"),
        (&["run", "--goal", "x", "--goal", "y"], "`--goal <TEXT>` is given more than once"),
        (&["run", "--goal", "x", "--max-cost", "free"], "`free` is not an amount"),
        (&["run", "--goal", "x", "--gate", "perhaps"], "`perhaps` is no value for `--gate <HOW>`"),
        (&["run", "--goal", "x", "--supervisor=on"], "`on` is no value for `--supervisor <LEVEL>`"),
        (&["run", "--goal", "x", "--override-ethics", "y"], "error: --override-ethics is for orchestrations"),
        (
            &["run", "--goal", "x", "--mode", "paln", "--agent", "../../agents/agent.sh"],
            "unknown mode `paln` (did you mean `plan`?)",
        ),
        (&["run", "--goal", "x", "--agent", "exce"], "unknown agent `exce` (did you mean `exec`?)"),
        (&["run", "--goal", "x", "--agent", "./absent.sh"], "agent ./absent.sh: No such file or directory"),
        (&["run", "--goal", "x", "--agent", "./a.txt"], "not executable"),
        (&["run", "--agent", "../../agents/agent.sh"], "error: there is no goal"),
        (
            &["run", "--goal", "x", "--agent", "../../agents/agent.sh", "--sandbox", "none"],
            "add --i-accept-no-isolation",
        ),
        (&["modes", "show", "reviw"], "unknown mode `reviw` (did you mean `review`?)"),
        (&["schema", "manifets"], "did you mean `manifest`?"),
    ] {
        let output = env.holon(args).cwd(repo.path()).run();
        output.assert_code(64).assert_stderr(expected);
        assert_eq!(output.stdout, "", "{args:?}");
    }
    assert!(env.runs().is_empty(), "a usage error starts nothing");
}

#[test]
fn a_spec_that_is_wrong_is_explained() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.agent("agent.sh", WRITER);
    for (spec, expected) in [
        ("goal: [unclosed\n", "spec.yaml"),
        ("goal: {description: x}\nconstraints: {timeout: 5}\n", "timeout"),
        ("goal: {description: x}\nconstraints: {checks: make}\n", "checks"),
        ("version: v9\ngoal: x\n", "v9"),
        ("kind: Pod\ngoal: x\n", "Pod"),
        ("version: v1\nkind: Holon\n", "goal"),
        ("goal: ''\n", "goal"),
        ("goal: x\ncontext: {env: {K: ghp_abcdefghijklmnopqrstuvwxyz0123456789}}\n", "secret"),
        ("- a\n- list\n", "spec.yaml"),
        ("", "spec.yaml"),
    ] {
        let path = env.write("work/spec.yaml", spec);
        let run = env
            .holon(["run", "--agent", "../../agents/agent.sh", "--spec"])
            .arg(&path)
            .cwd(repo.path())
            .run();
        run.assert_code(64).assert_stderr("error: ").assert_stderr(expected);
        assert!(!run.stderr.contains("ghp_abc"), "a secret is not repeated: {}", run.stderr);
    }
    let missing = env
        .holon(["run", "--agent", "../../agents/agent.sh", "--spec", "absent.yaml"])
        .cwd(repo.path())
        .run();
    assert_ne!(missing.code, 0);
    missing.assert_stderr("absent.yaml");
    assert!(env.runs().is_empty());
}

#[test]
fn a_spec_can_say_everything() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", WRITER);
    let spec = format!(
        "version: v1\nkind: Holon\ngoal: change a\nconstraints:\n  mode: build\n  checks: ['grep -q changed a.txt']\nagent:\n  name: {}\ncolour: blue\n",
        agent.display()
    );
    let path = env.write("work/spec.yaml", spec);
    let output = env.holon(["run", "--spec"]).arg(path).cwd(repo.path()).run();
    output.assert_code(0).assert_stdout("success execute").assert_stderr("colour");
}

#[test]
fn a_workspace_that_cannot_be_used_is_refused() {
    let env = TestEnv::as_ordinary(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", WRITER);
    let locked = env.folder("locked").file("x", "x").mode("", 0o000);
    for (workspace, expected) in [
        (locked.path().to_owned(), "Permission denied"),
        (repo.join("a.txt"), "a.txt"),
        (repo.join("absent"), "No such file or directory"),
    ] {
        let output =
            env.holon(["run", "--goal", "x", "--agent"]).arg(&agent).arg("--workspace").arg(&workspace).run();
        output.assert_code(64).assert_stderr(expected).assert_stderr("hint: ");
    }
    let _ = locked.mode("", 0o755);
    assert!(env.runs().is_empty());
}

#[test]
fn a_foreign_out_folder_is_left_alone() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let out = env.folder("out").file("mine.txt", "mine");
    let before = tree_state(out.path());
    let output = run(&env, &repo, WRITER, &["--out", out.path().to_str().unwrap()]);
    output.assert_code(64).assert_stderr("is not empty and holds no Holon manifest");
    assert_unchanged(&before, out.path());
    let inside = run(&env, &repo, WRITER, &["--out", "."]);
    inside.assert_code(64);
    // One that holds an earlier run's artifacts is replaced.
    for _ in 0..2 {
        let output = run(&env, &repo, WRITER, &["--out", "holon-output"]);
        output.assert_code(0);
        assert_eq!(output.manifest(repo.join("holon-output"))["outcome"], "success");
        let patch = fs::read_to_string(repo.join("holon-output/diff.patch")).unwrap();
        assert!(!patch.contains("holon-output"), "{patch}");
    }
}

#[test]
fn without_git_the_reason_is_given_and_a_manifest_is_kept() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", WRITER);
    let output = env
        .holon(["run", "--goal", "x", "--agent"])
        .arg(&agent)
        .args(["--out", "../out"])
        .env("PATH", env.root().join("agents"))
        .cwd(repo.path())
        .run();
    output.assert_code(1).assert_stderr("git");
    assert_eq!(output.manifest(env.work().join("out"))["outcome"], "failure");
    assert_eq!(repo.status(), "");
}

#[test]
fn json_is_nothing_but_json_lines() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let noisy = format!("{WRITER}echo 'not {{ json'\necho to-stderr >&2\n");
    let output = run(&env, &repo, &noisy, &["--json", "--out", "../out"]);
    output.assert_code(0);
    let events = output.events();
    assert_eq!(events[0]["type"], "run_started");
    assert_eq!(events.last().unwrap()["type"], "run_finished");
    assert_eq!(events.last().unwrap()["exit_code"], 0);
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], index as u64 + 1, "{event}");
    }
    assert!(events.iter().any(|e| e["type"] == "output" && e["text"] == "not { json"));
    assert_eq!(output.stderr, "", "progress is in the events");
    let run = events[0]["run"].as_str().unwrap();
    let stored = env.holon(["runs", "show", run, "--events"]).cwd(repo.path()).run();
    assert_eq!(stored.stdout, output.stdout, "listeners get what is stored");
    let copied = std::fs::read_to_string(env.work().join("out/evidence/events.jsonl")).unwrap();
    assert_eq!(copied, output.stdout, "the copy is complete");
}

#[test]
fn quiet_prints_the_result_only() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let output = run(&env, &repo, WRITER, &["--quiet"]);
    output.assert_code(0).assert_stdout("success execute").assert_stdout("+1  -1  a.txt");
    assert_eq!(output.stderr, "");
    assert!(!output.stdout.contains('\x1b'), "no colour without a terminal");
}

#[test]
fn a_log_gets_plain_lines() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let output = run(&env, &repo, WRITER, &["--check", "grep -q changed a.txt", "--check", "false"]);
    output.assert_code(1).assert_stderr("mode execute, agent agent.sh").assert_stderr("] execute\n");
    output.assert_stderr("  | working\n").assert_stderr("check `grep -q changed a.txt` passed");
    output
        .assert_stderr("check `false` failed with 1")
        .assert_stderr("error: the check `false` exited with 1");
    assert!(!output.stderr.contains(['\x1b', '\r']), "{:?}", output.stderr);
}

#[test]
fn a_terminal_gets_a_status_line_and_colour() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", &format!("{WRITER}printf 'evil \\033[2J\\n'\n"));
    let on_terminal = |more: &str| {
        let command = format!("{} run --goal x --agent {} {more}", env.binary().display(), agent.display());
        let script = env.program("script").args(["-qec", &command, "/dev/null"]).env("TERM", "xterm");
        let output = script.cwd(repo.path()).run();
        output.assert_code(0);
        output.stdout
    };
    let said = on_terminal("");
    assert!(said.contains("\r\x1b[2K"), "a line is rewritten: {said:?}");
    assert!(said.contains("\x1b[2m  | working\x1b[0m"), "the agent's words are dimmed: {said:?}");
    assert!(said.contains("\x1b[32msuccess\x1b[0m"), "{said:?}");
    assert!(!said.contains("\x1b[2J"), "what an agent prints cannot clear the screen: {said:?}");
    let plain = on_terminal("--no-color");
    assert!(!plain.contains("\x1b[32m") && !plain.contains("\x1b[2m"), "{plain:?}");
}

#[test]
fn ctrl_c_ends_a_run_with_a_manifest() {
    // A terminal sends its signals to the whole group, `kill` to one process.
    for (signal, group) in
        [(Signal::INT, true), (Signal::INT, false), (Signal::TERM, false), (Signal::HUP, true)]
    {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let agent = env.agent("agent.sh", "#!/bin/sh\necho changed > a.txt\necho ready\nsleep 600\n");
        let start = env.holon(["run", "--goal", "x", "--out", "../out", "--agent"]).arg(&agent);
        let mut running = start.cwd(repo.path()).spawn();
        running.wait_for_text("ready");
        let pid = Pid::from_raw(running.pid() as i32).unwrap();
        if group {
            kill_process_group(pid, signal).unwrap()
        } else {
            running.signal(signal)
        }
        let output = running.wait();
        output.assert_code(1).assert_stdout("cancelled execute").assert_stderr("error: cancelled");
        let manifest = output.manifest(env.work().join("out"));
        assert_eq!(manifest["status"], "cancelled");
        assert_eq!(manifest["exit_code"], 1);
        assert_eq!(repo.status(), "");
        env.assert_nothing_left();
    }
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_the_run_is_marked_later() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent(
        "agent.sh",
        "#!/bin/sh\ntrap 'echo stubborn' INT TERM\necho ready\nwhile :; do sleep 1; done\n",
    );
    let start = env.holon(["run", "--goal", "x", "--agent"]).arg(&agent);
    let mut running = start.cwd(repo.path()).spawn();
    running.wait_for_text("ready");
    running.signal(Signal::INT);
    running.wait_for_text("stopping the agent");
    running.signal(Signal::INT);
    let output = running.wait();
    output.assert_code(130);
    env.assert_nothing_left();
    let list = env.holon(["runs", "list"]).cwd(repo.path()).run();
    list.assert_code(0).assert_stdout("interrupted");
}

#[test]
fn paths_with_spaces_and_other_letters_work() {
    for_each_identity(BIN, |env| {
        let repo = env.repo_named("wörk späce 工作").file("ä b.txt", "eins\n").commit("first");
        let agent = env.agent("my ägent.sh", &WRITER.replace("a.txt", "'ä b.txt'"));
        let output = env
            .holon(["run", "--goal", "Ändere die Datei", "--agent"])
            .arg(&agent)
            .arg("--workspace")
            .arg(repo.path())
            .args(["--out", "das Ergebnis ü"])
            .run();
        output.assert_code(0).assert_stdout("das Ergebnis ü");
        let apply = env.holon(["runs", "apply", "last", "--workspace"]).arg(repo.path()).run();
        apply.assert_code(0).assert_stdout("applied to").assert_stdout("1 file changed");
        assert_eq!(repo.read("ä b.txt"), b"changed\n");
    });
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let env = TestEnv::as_ordinary(BIN);
    let repo = repo(&env);
    fs::set_permissions(env.state(), Permissions::from_mode(0o500)).unwrap();
    let output = run(&env, &repo, WRITER, &[]);
    output
        .assert_code(1)
        .assert_stderr("error: cannot create")
        .assert_stderr("Permission denied")
        .assert_stderr("hint: ");
    let nowhere = env.holon(["runs", "list"]).env_remove("HOME").env_remove("XDG_STATE_HOME").run();
    nowhere.assert_code(64).assert_stderr("cannot tell where to keep state");
    fs::set_permissions(env.state(), Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_state_folder_inside_the_workspace_is_refused() {
    let env = TestEnv::new(BIN);
    let agent = env.agent("agent.sh", WRITER);
    let output =
        env.holon(["run", "--goal", "x", "--agent"]).arg(&agent).arg("--workspace").arg(env.root()).run();
    output.assert_code(64).assert_stderr("lies inside the workspace");
}

#[test]
fn a_dry_run_tells_everything_and_starts_nothing() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let output = run(&env, &repo, WRITER, &["--mode", "code", "--timeout", "5m", "--dry-run"]);
    output.assert_code(0).assert_stdout("limits.timeout").assert_stdout("flag --timeout").assert_stdout("5m");
    output.assert_stdout("/holon/workspace").assert_stdout("prompts/system.md").assert_stdout("flag --mode");
    assert!(env.runs().is_empty());
    let json = run(&env, &repo, WRITER, &["--dry-run", "--json"]).json();
    assert_eq!(json["mode"], "execute");
    assert!(env.runs().is_empty());
}

#[test]
fn runs_are_listed_shown_applied_and_removed() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    holon(&["runs", "list"]).assert_code(0).assert_stderr("no runs yet");
    holon(&["runs", "show", "last"]).assert_code(1).assert_stderr("no run `last`");
    run(&env, &repo, WRITER, &[]).assert_code(0).assert_stdout("next: holon runs diff ");
    run(&env, &repo, "#!/bin/sh\n", &["--mode", "plan"]).assert_code(1).assert_stderr("plan.md");
    let list = holon(&["runs", "list", "--json"]).assert_code(0).json();
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(list[0]["outcome"], "failure", "the newest comes first");
    let id = list[1]["run_id"].as_str().unwrap().to_owned();
    holon(&["runs", "list"]).assert_code(0).assert_stdout(&id).assert_stdout("+1 -1").assert_stdout("failed");

    let tail = &id[16..];
    let shown = holon(&["runs", "show", tail]);
    shown.assert_code(0).assert_stdout("success execute").assert_stdout("phases").assert_stdout("seccomp");
    assert_eq!(holon(&["runs", "show", &id, "--json"]).json()["run_id"], id.as_str());
    holon(&["runs", "diff", "last"]).assert_code(1).assert_stderr("delivered no patch");
    let diff = holon(&["runs", "diff", tail]);
    diff.assert_code(0).assert_stdout("-one\n+changed\n");
    holon(&["runs", "diff", tail, "--stat"]).assert_code(0).assert_stdout("+1  -1  a.txt");

    holon(&["runs", "apply", "last"]).assert_code(1).assert_stderr("failed, so its patch is not applied");
    holon(&["runs", "apply", tail])
        .assert_code(0)
        .assert_stdout("applied to")
        .assert_stdout("1 file changed");
    assert_eq!(repo.read("a.txt"), b"changed\n");
    holon(&["runs", "apply", tail]).assert_code(0).assert_stdout("already there");
    holon(&["runs", "list"]).assert_stdout("applied");

    fs::write(repo.join("a.txt"), "mine\n").unwrap();
    holon(&["runs", "apply", tail]).assert_code(1).assert_stdout("not applied").assert_stdout("a.txt");
    assert_eq!(repo.read("a.txt"), b"mine\n");

    holon(&["runs", "rm", "2"]).assert_code(1).assert_stderr("could be 2 runs");
    holon(&["runs", "rm", tail]).assert_code(0).assert_stdout(&format!("removed {id}"));
    holon(&["runs", "gc", "--keep", "1"]).assert_code(0).assert_stdout("removed 0 runs");
    holon(&["runs", "gc", "--older-than", "1ms", "--keep", "0"])
        .assert_code(0)
        .assert_stdout("removed 1 run\n");
    assert!(env.runs().is_empty());
}

#[test]
fn modes_are_listed_shown_written_and_checked() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    for mode in ["execute", "plan", "architect", "review", "debug", "ethical", "orchestrate"] {
        holon(&["modes", "list"]).assert_code(0).assert_stdout(mode);
    }
    let shown = holon(&["modes", "show", "build"]);
    shown.assert_code(0).assert_stdout("execute (also build, code, code_generation)");
    shown.assert_stdout("workspace.access").assert_stdout("built-in execute.toml");

    holon(&["modes", "new", "docs", "--extends", "architect"])
        .assert_code(0)
        .assert_stdout(".holon/modes/docs.toml");
    holon(&["modes", "check"]).assert_code(0).assert_stdout("1 mode file is fine");
    holon(&["modes", "show", "docs"]).assert_code(0).assert_stdout("extends architect");
    let text = fs::read_to_string(repo.join(".holon/modes/docs.toml")).unwrap();
    holon(&["modes", "new", "docs"]).assert_code(64).assert_stderr("already names the mode");
    assert_eq!(fs::read_to_string(repo.join(".holon/modes/docs.toml")).unwrap(), text);
    holon(&["modes", "new", "../evil"]).assert_code(64);
    holon(&["modes", "new", "plan"]).assert_code(64).assert_stderr("already names the mode `plan`");
    holon(&["modes", "new", "mine", "--user"]).assert_code(0);
    assert!(env.config().join("holon/modes/mine.toml").exists());

    fs::write(repo.join(".holon/modes/plan.toml"), "name = \"plan\"\n[workspace]\naccess = \"rw\"\n")
        .unwrap();
    fs::write(repo.join(".holon/modes/bad.toml"), "name = \"bad\"\nextends = \"plan\"\nwordspace = 1\n")
        .unwrap();
    let check = holon(&["modes", "check"]);
    check
        .assert_code(1)
        .assert_stdout("redefines the mode `plan`")
        .assert_stdout("bad.toml")
        .assert_stdout("wordspace");
    holon(&["modes", "check", ".holon/modes/docs.toml"]).assert_code(0);
    holon(&["modes", "check", ".holon/modes/bad.toml"]).assert_code(1);
    holon(&["modes", "show", "plan"]).assert_code(0).assert_stdout("read-only").assert_stderr("warning: ");
}

#[test]
fn agents_schemas_completions_and_manual() {
    let env = TestEnv::new(BIN);
    env.holon(["agents", "list"]).run().assert_code(0).assert_stdout("exec").assert_stdout("built-in");
    let list = env.holon(["schema", "--list"]).run();
    for name in list.assert_code(0).stdout.lines() {
        let schema = env.holon(["schema", name]).run().assert_code(0).json();
        assert!(schema["$schema"].is_string(), "{name}");
    }
    list.assert_stdout("manifest").assert_stdout("spec").assert_stdout("review");
    for shell in ["bash", "zsh", "fish"] {
        env.holon(["completions", shell]).run().assert_code(0).assert_stdout("idle-timeout");
    }
    env.holon(["completions", "bsh"]).run().assert_code(64).assert_stderr("did you mean `bash`?");
    env.holon(["man"]).run().assert_code(0).assert_stdout(".TH holon 1");
    env.holon(["man", "--out", "man"]).run().assert_code(0).assert_stdout("man/holon-run.1");
    let page = fs::read_to_string(env.work().join("man/holon-runs-apply.1")).unwrap();
    assert!(page.contains("holon runs apply") || page.contains("holon\\-runs\\-apply"), "{page}");
}

#[test]
fn nothing_of_this_needs_a_home() {
    let env = TestEnv::new(BIN);
    for args in [&["--version"][..], &["--help"], &["schema", "--list"], &["man"], &["completions", "bash"]] {
        let mut call = env.holon(args).cwd("/");
        for name in ["HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
            call = call.env_remove(name);
        }
        call.run().assert_code(0);
    }
}

#[test]
fn doctor_says_what_this_machine_can_do() {
    for_each_identity(BIN, |env| {
        let text = env.holon(["doctor"]).run();
        text.assert_code(0).assert_stdout("native").assert_stdout("git").assert_stdout("state");
        let json = env.holon(["doctor", "--json"]).run().assert_code(0).json();
        assert!(json["git"]["version"].is_string(), "{json}");
        if env.identity() == TestIdentity::Ordinary {
            text.assert_stdout("--snapshot copy");
        }
        assert!(env.runs().is_empty());
        env.assert_nothing_left();
    });
}

#[test]
fn the_demo_shows_red_then_green_and_leaves_nothing() {
    for_each_identity(BIN, |env| {
        let output = env.holon(["demo"]).run();
        output.assert_code(0).assert_stdout("cassettes written by hand");
        output
            .assert_stdout("FAILED  \"Hello, World!\"")
            .assert_stdout("ok      \"Hello, World!\" is hello-world");
        output.assert_stdout("Read-only file system").assert_stdout("byte for byte as it was");
        output
            .assert_stdout("+printf '%s'")
            .assert_stdout("verdict: approve")
            .assert_stdout("nothing was left behind");
        assert!(!output.stdout.contains("not what should have happened"), "{output}");
        let left: Vec<_> = fs::read_dir(env.root().join("tmp")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        env.assert_nothing_left();
    });
}

#[test]
fn the_demo_believes_the_test_and_not_the_cassette() {
    let env = TestEnv::new(BIN);
    let bundled = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/cassettes");
    for mode in ["plan", "execute", "review"] {
        let text = fs::read_to_string(bundled.join(format!("{mode}.yaml"))).unwrap();
        // The same words, and a fix that does not fix it.
        let spoiled = text.replace("| sed 's/^-//; s/-$//'", "| sed 's/^_//'");
        env.write(format!("work/cassettes/{mode}.yaml"), spoiled);
    }
    let output = env.holon(["demo", "--cassettes"]).arg(env.work().join("cassettes")).run();
    output.assert_code(1).assert_stdout("the check `sh test.sh` exited with 1");
    output.assert_stdout("not what should have happened");
}

#[test]
fn the_examples_work() {
    let env = TestEnv::new(BIN);
    let example = |path: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path);
        fs::read_to_string(path).expect("an example")
    };
    let repo =
        env.repo().file("CHANGELOG.md", "# Changelog\n\n").file("src/a \"b\".sh", "one\n# TODO: \"two\"\n");
    let repo = repo.file(".holon/modes/changelog.toml", example("modes/changelog.toml")).commit("first");
    let writer = env.agent("changelog.sh", &example("agents/changelog.sh"));
    let reviewer = env.agent("todo-review.sh", &example("agents/todo-review.sh"));
    let spec = env.write("work/changelog.yaml", example("specs/changelog.yaml"));

    let by_spec = env.holon(["run", "--spec"]).arg(&spec).arg("--agent").arg(&writer).cwd(repo.path()).run();
    by_spec.assert_code(0).assert_stdout("+1  -0  CHANGELOG.md");
    let patch = env.holon(["runs", "diff", "last"]).cwd(repo.path()).run();
    patch.assert_stdout("+- Slugs no longer hold repeated dashes.");

    let by_mode = env.holon(["run", "--mode", "changelog", "--goal", "By mode", "--agent"]).arg(&writer);
    by_mode.cwd(repo.path()).run().assert_code(0).assert_stdout("CHANGELOG.md");
    env.holon(["modes", "check"]).cwd(repo.path()).run().assert_code(0);

    let review =
        env.holon(["run", "--mode", "review", "--goal", "x", "--out", "../review", "--agent"]).arg(&reviewer);
    review.cwd(repo.path()).run().assert_code(0);
    let review = fs::read_to_string(env.work().join("review/review.json")).unwrap();
    assert!(review.contains("src/a \\\"b\\\".sh") && review.contains("verified"), "{review}");
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost() {
    // Mounting needs root; the mount lives in a namespace of its own and goes away with the shell.
    let Some(env) = TestEnv::as_root(BIN) else { return };
    let repo = repo(&env);
    let before = tree_state(repo.path());
    let agent = env.agent("agent.sh", WRITER);
    let script = "mount -t tmpfs -o size=64k tmpfs \"$XDG_STATE_HOME\" && head -c 1M /dev/zero > \"$XDG_STATE_HOME/fill\"; \"$@\"";
    let call = env.program("unshare").args(["-m", "sh", "-c", script, "sh"]).arg(env.binary());
    let output = call.args(["run", "--goal", "x", "--agent"]).arg(&agent).cwd(repo.path()).run();
    output.assert_code(1).assert_stderr("No space left on device").assert_stderr("hint: free some space");
    assert_unchanged(&before, repo.path());
}

#[test]
fn without_user_namespaces_a_weaker_wall_is_named_and_native_is_refused() {
    let env = TestEnv::as_ordinary(BIN);
    let repo = repo(&env);
    let before = tree_state(repo.path());
    let agent = env.agent("agent.sh", WRITER);
    // A namespace in which no further one can be made, entered without any capability.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces || exit 99; \
        exec setpriv --ambient-caps -all --inh-caps -all --bounding-set -all \"$@\"";
    let walled = |more: &[&str]| {
        let shell = env.program("unshare").args([
            "-U",
            "--map-current-user",
            "--keep-caps",
            "sh",
            "-c",
            script,
            "sh",
        ]);
        let run = shell.arg(env.binary()).args(["run", "--goal", "x", "--agent"]).arg(&agent);
        run.args(more).cwd(repo.path()).run()
    };
    let native = walled(&["--sandbox", "native", "--out", "../out"]);
    if native.code == 99 || !env.work().join("out").exists() {
        return skip_security(&current_test(), &native.stderr);
    }
    native
        .assert_code(1)
        .assert_stderr("error: entering new namespaces")
        .assert_stderr("hint: user namespaces are switched off");
    assert_eq!(native.manifest(env.work().join("out"))["outcome"], "failure");
    let auto = walled(&[]);
    assert!(auto.code == 0 || auto.stderr.contains("no walls strong enough"), "{auto}");
    auto.assert_stderr("native walls are refused here");
    assert_unchanged(&before, repo.path());
}

#[test]
fn variables_that_say_nothing_are_named() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let show = || env.holon(["config", "show"]).cwd(repo.path());
    let fine = show().env("HOLON_LOG", "text").env("HOLON_MODELS__SELECTION", "off").run();
    assert_eq!(fine.assert_code(0).stderr, "");
    let wrong = show().env("HOLON_LOG", "xml").env("HOLON_MODELS__SELECTOIN", "off").run();
    wrong
        .assert_code(0)
        .assert_stderr("warning: HOLON_LOG is `xml`, which is not used: it is one of text, json")
        .assert_stderr("warning: $HOLON_MODELS__SELECTOIN")
        .assert_stderr("(did you mean `HOLON_MODELS__SELECTION`?)");
    // Help and mistakes in the command line are answered without.
    let help = env.holon(["--help"]).env("HOLON_LOG", "xml").run();
    assert_eq!(help.assert_code(0).stderr, "");
}

#[test]
fn what_is_not_there_is_told_with_what_there_is() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    holon(&["agents", "check", "claud-code"])
        .assert_code(64)
        .assert_stderr("unknown agent `claud-code` (did you mean `claude-code`?)");
    holon(&["agents", "check", "nobody-knows"])
        .assert_code(64)
        .assert_stderr("hint: known: ")
        .assert_stderr("codex");
    // Nothing is wrong with these command lines.
    for command in ["show", "report"] {
        holon(&["plan", command]).assert_code(1).assert_stderr("holon plan generate");
    }
    run(&env, &repo, WRITER, &[]).assert_code(0);
    holon(&["plan", "show", "last"]).assert_code(1).assert_stderr("last left no plan");
    holon(&["config", "migrate"]).assert_code(0).assert_stderr("nothing to rewrite");
    holon(&["config", "migrate", "nope.toml"]).assert_code(64).assert_stderr("there is no file nope.toml");
    let log = env.state().join("holon/audit.jsonl");
    fs::remove_file(log).unwrap();
    let empty = holon(&["audit", "list"]);
    assert_eq!(empty.assert_code(0).assert_stderr("nothing is in the audit log yet").stdout, "");
}

#[test]
fn a_cassette_that_is_no_file_is_refused_at_once() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let pipe = env.work().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for path in [pipe.as_path(), env.work().as_path(), std::path::Path::new("/dev/zero")] {
        let call = env.holon(["run", "--goal", "x", "--replay"]).arg(path).cwd(repo.path());
        call.timeout(Duration::from_secs(30)).run().assert_code(64).assert_stderr("is not a regular file");
    }
    let call = env.holon(["run", "--goal", "x", "--replay", "nope.yaml"]).cwd(repo.path());
    call.run().assert_code(64).assert_stderr("nope.yaml").assert_stderr("check the path given with --replay");
    assert!(env.runs().is_empty(), "nothing was started");
}

#[test]
fn a_renamed_file_is_one_file() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = "#!/bin/sh\nmv a.txt b.txt\necho '# Renamed' > \"$HOLON_OUTPUT_DIR/summary.md\"\n";
    run(&env, &repo, script, &[]).assert_code(0);
    let applied = env.holon(["runs", "apply", "last"]).cwd(repo.path()).run();
    applied.assert_code(0).assert_stdout(": 1 file changed");
    assert!(repo.join("b.txt").exists() && !repo.join("a.txt").exists());
}

#[test]
fn an_empty_word_is_no_name_and_no_command() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    run(&env, &repo, WRITER, &[]).assert_code(0);
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    // An empty variable in a script must not mean the only run there is.
    for command in ["show", "diff", "apply", "rm"] {
        for name in ["", " "] {
            holon(&["runs", command, name]).assert_code(64).assert_stderr("the name of the run is empty");
        }
    }
    holon(&["run", "--resume", ""]).assert_code(64);
    assert_eq!(env.runs().len(), 1);
    run(&env, &repo, WRITER, &["--check", ""]).assert_code(64).assert_stderr("a check is an empty command");
    run(&env, &repo, WRITER, &["--image", ""])
        .assert_code(64)
        .assert_stderr("the name of the image is empty");
    // Found out before the run, not after it.
    run(&env, &repo, WRITER, &["--publish"]).assert_code(64).assert_stderr("no repository is named");
    run(&env, &repo, WRITER, &["--publish=nonsense"]).assert_code(64).assert_stderr("names no repository");
    let long = "long ".repeat(20_000);
    holon(&["run", "--goal", &long]).assert_code(64).assert_stderr("the goal has 100000 bytes");
    assert_eq!(env.runs().len(), 1, "nothing was started");
    holon(&["ask", " "]).assert_code(64).assert_stderr("the question is empty");
    holon(&["plan", "generate", ""]).assert_code(64).assert_stderr("holon plan generate");
    holon(&["modes", "new", "../x"]).assert_code(64).assert_stderr("is no name for a mode");
    holon(&["adapter"]).assert_code(1).assert_stderr("holon run --image");
    // None wanted is not the same as none there.
    let none = holon(&["runs", "list", "--limit", "0"]);
    assert_eq!(none.assert_code(0).stderr, "");
    assert_eq!(holon(&["audit", "list", "--last", "0"]).assert_code(0).stderr, "");
}

#[test]
fn help_and_version_can_be_asked_for_in_words() {
    let env = TestEnv::new(BIN);
    env.holon(["help"]).run().assert_code(0).assert_stdout("Usage: holon [OPTIONS] <COMMAND>");
    env.holon(["help", "runs", "apply"]).run().assert_code(0).assert_stdout("Usage: holon runs apply");
    let version = env.holon(["version"]).run();
    assert_eq!(version.assert_code(0).stdout, env.holon(["--version"]).run().stdout);
    env.holon(["help", "nope"]).run().assert_code(64).assert_stderr("unknown command `nope`");
}
