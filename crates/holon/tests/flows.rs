//! Modes of several steps, end to end: real walls, real git, scripts as agents, and a process that is killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_core::digest::sha256;
use holon_testkit::{
    CommandEnd, RunningCommand, TestEnv, TestWorkspace, assert_unchanged, for_each_identity, tree_state,
    wait_for_content,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Plans, reviews or changes, as the mode says; in execute it hands back what it was told.
const AGENT: &str = r##"#!/bin/sh
out=/holon/output; in=/holon/input/context
case "$HOLON_MODE" in
plan)
    printf '# Goal\nChange a.\n# Context\nA file.\n# Steps\n1. Append.\n# Risks\nNone.\n# Verification\nLook.\n' > $out/plan.md
    echo '{"steps":[{"id":"1","title":"Append"}]}' > $out/plan.json ;;
review)
    cp review-to-give.json $out/review.json && echo "# Reviewed" > $out/summary.md ;;
execute)
    echo changed >> a.txt
    [ -f fix.sh ] && sh fix.sh
    { echo "# Done"; cat $in/plan.md $in/message.md $in/review.json; } > $out/summary.md 2> /dev/null ;;
esac
exit 0
"##;

fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo().file("a.txt", "one\n").commit("first")
}

fn run(env: &TestEnv, repo: &TestWorkspace, mode: &str, agent: &Path, more: &[&str]) -> CommandEnd {
    let call = env.holon(["run", "--mode", mode, "--goal", "Change a", "--agent"]).arg(agent).args(more);
    call.cwd(repo.path()).run()
}

/// The newest flow in the store: its folder and its manifest.
fn flow(env: &TestEnv) -> (PathBuf, Value) {
    let folder = env.runs().last().expect("a run").clone();
    let text = fs::read_to_string(folder.join("output/manifest.json")).expect("a manifest");
    (folder, serde_json::from_str(&text).expect("JSON"))
}

/// The runs of a flow's steps, as (mode, status), in the order they were started.
fn steps(flow: &Path) -> Vec<(String, String)> {
    let mut runs: Vec<PathBuf> = Vec::new();
    for workspace in fs::read_dir(flow.join("steps")).into_iter().flatten().flatten() {
        runs.extend(fs::read_dir(workspace.path().join("runs")).unwrap().map(|e| e.unwrap().path()));
    }
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let mut found: Vec<(String, String, String)> = runs
        .into_iter()
        .map(|run| {
            let manifest = read(run.join("output/manifest.json"));
            let text = |key: &str| manifest[key].as_str().unwrap().to_owned();
            (text("started_at"), text("mode"), text("status"))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, mode, status)| (mode, status)).collect()
}

fn step_folder(flow: &Path, run: &Value) -> PathBuf {
    let key = fs::read_dir(flow.join("steps")).unwrap().next().unwrap().unwrap().path();
    key.join("runs").join(run.as_str().expect("a run id"))
}

fn pairs(found: &[(String, String)]) -> Vec<(&str, &str)> {
    found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect()
}

#[test]
fn plan_then_execute_as_a_whole() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let agent = env.agent("agent.sh", AGENT);
        let out = env.work().join("out");
        let before = tree_state(repo.path());
        let more =
            ["--gate", "auto", "--check", "grep -q changed a.txt", "--json", "--out", out.to_str().unwrap()];
        let output = run(env, &repo, "plan-then-execute", &agent, &more);
        output.assert_code(0);
        assert_unchanged(&before, repo.path());

        let manifest = output.manifest(&out);
        assert_eq!(
            (&manifest["mode"], &manifest["outcome"]),
            (&"plan-then-execute".into(), &"success".into())
        );
        // The plan's digest, in the flow's manifest and in the execute step's.
        let plan = sha256(&fs::read(out.join("plan.md")).unwrap());
        let [first, second] = manifest["metadata"]["flow"]["steps"].as_array().unwrap().as_slice() else {
            panic!("{manifest:#}")
        };
        assert_eq!(second["context"]["plan/plan.md"], plan.as_str());
        assert_eq!(second["gate"]["seen"]["plan/plan.md"], plan.as_str());
        let child: Value =
            serde_json::from_slice(&fs::read(out.join("evidence/steps/execute/manifest.json")).unwrap())
                .unwrap();
        let context = child["metadata"]["context"].as_array().unwrap();
        assert!(
            context.iter().any(|f| f["path"] == "plan.md" && f["sha256"] == plan.as_str()),
            "{context:#?}"
        );
        assert_eq!(manifest["metadata"]["flow"]["resume"], Value::Null, "there is nothing to go on with");
        for name in ["plan.md", "plan.json", "diff.patch", "summary.md"] {
            let row =
                manifest["artifacts"].as_array().unwrap().iter().find(|a| a["path"] == name).expect(name);
            assert_eq!(row["sha256"], sha256(&fs::read(out.join(name)).unwrap()).as_str(), "{name}");
        }
        let summary = fs::read_to_string(out.join("summary.md")).unwrap();
        assert!(summary.contains("- **execute**: success") && summary.contains("Append."), "{summary}");

        // Events: the flow's own in order, the steps' under their own ids, one end.
        let events = output.events();
        let id = manifest["run_id"].as_str().unwrap();
        let own: Vec<&str> =
            events.iter().filter(|e| e["run"] == id).map(|e| e["type"].as_str().unwrap()).collect();
        assert_eq!(
            own,
            [
                "run_started",
                "step_started",
                "step_finished",
                "gate_reached",
                "gate_decided",
                "step_started",
                "step_finished",
                "run_finished"
            ]
        );
        for run in [&first["run_id"], &second["run_id"]] {
            assert!(events.iter().any(|e| e["run"] == *run && e["type"] == "run_finished"));
        }
        assert_eq!(events.last().unwrap()["run"], id);
        let kept = fs::read_to_string(flow(env).0.join("evidence/events.jsonl")).unwrap();
        assert_eq!(kept.lines().count(), own.len());

        // One run in the list; looked at, applied and removed like one.
        let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
        let listed = holon(&["runs", "list", "--json"]).json();
        assert_eq!(listed.as_array().map(Vec::len), Some(1));
        holon(&["runs", "show", "last"])
            .assert_code(0)
            .assert_stdout("execute  success")
            .assert_stdout("plan.md");
        holon(&["runs", "show", "last/plan"]).assert_code(0).assert_stdout("success plan");
        let child = second["run_id"].as_str().unwrap();
        holon(&["runs", "show", child]).assert_code(0).assert_stdout("success execute");
        holon(&["runs", "diff", "last"]).assert_code(0).assert_stdout("+changed");
        holon(&["runs", "apply", "last"]).assert_code(0);
        assert_eq!(repo.read("a.txt"), b"one\nchanged\n");
        holon(&["runs", "list"]).assert_stdout("applied");
        holon(&["runs", "rm", "last"]).assert_code(0);
        assert!(env.runs().is_empty(), "the steps go with the flow");
        env.assert_nothing_left();
    });
}

#[test]
fn inv_08_headless_a_gate_stops_and_the_printed_command_goes_on() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let agent = env.agent("agent.sh", AGENT);
        let output = run(env, &repo, "plan-then-execute", &agent, &[]);
        output.assert_code(2);
        let (folder, manifest) = flow(env);
        assert_eq!((&manifest["status"], &manifest["outcome"]), (&"completed".into(), &"needs_human".into()));
        let command = manifest["metadata"]["flow"]["resume"].as_str().unwrap().to_owned();
        output.assert_stderr(&command);
        assert!(folder.join("output/plan.md").exists(), "what there is to look at");
        assert!(!folder.join("output/diff.patch").exists());
        run(env, &repo, "plan-then-execute", &agent, &["--gate", "ask"])
            .assert_code(64)
            .assert_stderr("terminal");

        // From anywhere, exactly as printed.
        let path = format!("{}:{}", env.binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
        let script = format!("{command} --message 'Mind the gap'");
        let output = env.program("sh").args(["-c", &script]).env("PATH", path).cwd("/").run();
        output.assert_code(0).assert_stdout("success plan-then-execute");
        assert_eq!(pairs(&steps(&folder)), [("plan", "completed"), ("execute", "completed")]);
        let (_, manifest) = flow(env);
        let step = &manifest["metadata"]["flow"]["steps"][1];
        assert_eq!(
            (&step["gate"]["by"], &step["gate"]["comment"]),
            (&"resume".into(), &"Mind the gap".into())
        );
        let told = fs::read_to_string(folder.join("output/summary.md")).unwrap();
        assert!(told.contains("Mind the gap") && told.contains("Change a."), "{told}");
        let events = fs::read_to_string(folder.join("evidence/events.jsonl")).unwrap();
        for (number, line) in events.lines().enumerate() {
            let event: Value = serde_json::from_str(line).unwrap();
            assert_eq!(event["seq"], number + 1, "numbered without gaps across resuming");
        }

        let again = env.holon(["run", "--resume", "last"]).cwd(repo.path()).run();
        again.assert_code(64).assert_stderr("is over");
    });
}

/// Blocks in one mode, and says so.
fn blocking(mode: &str) -> String {
    AGENT.replacen(
        "out=/holon",
        &format!("[ \"$HOLON_MODE\" = {mode} ] && {{ echo waiting; exec sleep 600; }}\nout=/holon"),
        1,
    )
}

#[test]
fn killed_anywhere_no_finished_step_is_run_again() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        for (mode, at_death, after) in [
            ("plan", vec![("plan", "interrupted")], vec![("plan", "interrupted"), ("plan", "completed")]),
            (
                "execute",
                vec![("plan", "completed"), ("execute", "interrupted")],
                vec![("plan", "completed"), ("execute", "interrupted")],
            ),
        ] {
            let agent = env.agent("agent.sh", &blocking(mode));
            let call =
                env.holon(["run", "--mode", "plan-then-execute", "--gate", "auto", "--json", "--goal", "x"]);
            let mut running = call.arg("--agent").arg(&agent).cwd(repo.path()).spawn();
            running.wait_for_text("\"waiting\"");
            running.kill();
            env.assert_nothing_left();
            // The next command finds the flow dead, and says how to go on.
            let shown = env.holon(["runs", "show", "last"]).cwd(repo.path()).run();
            shown.assert_code(0).assert_stdout("interrupted").assert_stdout("go on: holon run --resume");
            let (folder, manifest) = flow(env);
            assert_eq!(manifest["status"], "interrupted");
            let done: Vec<(String, Value)> = manifest["metadata"]["flow"]["steps"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|s| s["state"] == "done")
                .map(|s| (s["name"].as_str().unwrap().to_owned(), s["run_id"].clone()))
                .collect();

            env.agent("agent.sh", AGENT);
            let resumed = env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run();
            resumed.assert_code(0).assert_stdout("success");
            let mut expected = after;
            expected.push(("execute", "completed"));
            assert_eq!(pairs(&steps(&folder)), expected, "killed in {mode}, with {at_death:?}");
            let (_, manifest) = flow(env);
            for (name, run) in done {
                let steps = manifest["metadata"]["flow"]["steps"].as_array().unwrap();
                let step = steps.iter().find(|s| s["name"] == name.as_str()).unwrap();
                assert_eq!(step["run_id"], run, "{name} is the same run as before");
            }
            env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
            repo.git(["checkout", "--quiet", "."]);
            env.holon(["runs", "rm", "last"]).cwd(repo.path()).run().assert_code(0);
        }
    });
}

#[test]
fn cancelled_in_a_step_and_gone_on_with() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let agent = env.agent("agent.sh", &blocking("execute"));
        let call =
            env.holon(["run", "--mode", "plan-then-execute", "--gate", "auto", "--json", "--goal", "x"]);
        let mut running = call.arg("--agent").arg(&agent).cwd(repo.path()).spawn();
        running.wait_for_text("\"waiting\"");
        running.signal(Signal::INT);
        running.wait().assert_code(1);
        let (folder, manifest) = flow(env);
        assert_eq!(manifest["status"], "cancelled");
        env.agent("agent.sh", AGENT);
        env.holon(["run", "--resume", "last"]).cwd(repo.path()).run().assert_code(0);
        let expected = [("plan", "completed"), ("execute", "cancelled"), ("execute", "completed")];
        assert_eq!(pairs(&steps(&folder)), expected);
        env.assert_nothing_left();
    });
}

/// `holon` on a terminal of its own, with somebody who can type.
struct TypingTerminal {
    running: RunningCommand,
    keyboard: File,
    pid_file: PathBuf,
}

impl TypingTerminal {
    fn start(env: &TestEnv, repo: &TestWorkspace, command: &str) -> Self {
        let keys = env.work().join("keyboard");
        env.program("mkfifo").args(["-m", "666"]).arg(&keys).run().assert_code(0);
        // Both ends, so that opening waits for nobody and the line never looks hung up.
        let keyboard = File::options().read(true).write(true).open(&keys).unwrap();
        let pid_file = env.work().join("pid");
        let script = format!("echo $$ > {}; exec {} {command}", pid_file.display(), env.binary().display());
        let call = env.program("script").args(["-qec", &script, "/dev/null"]).stdin_from(&keys);
        let running = call.cwd(repo.path()).spawn();
        fs::remove_file(&keys).unwrap();
        Self { running, keyboard, pid_file }
    }

    fn type_line(&mut self, prompt: &str, line: &str) {
        self.running.wait_for_text(prompt);
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        let text = wait_for_content(&self.pid_file, Duration::from_secs(20), |text| text.ends_with('\n'));
        kill_process(Pid::from_raw(text.trim().parse().unwrap()).unwrap(), signal).unwrap();
    }
}

#[test]
fn a_person_at_the_gate_sees_the_plan_and_decides() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let agent = env.agent("agent.sh", AGENT);
        let command = format!("run --mode plan-then-execute --goal x --agent {}", agent.display());
        let mut person = TypingTerminal::start(env, &repo, &command);
        person.type_line("Go on with execute?", "Use tabs, please");
        person.type_line("Noted.", "y");
        let output = person.running.wait();
        output.assert_code(0).assert_stdout("1. Append.").assert_stdout("success plan-then-execute");
        let (folder, manifest) = flow(env);
        let gate = &manifest["metadata"]["flow"]["steps"][1]["gate"];
        assert_eq!((&gate["by"], &gate["comment"]), (&"person".into(), &"Use tabs, please".into()));
        let told = fs::read_to_string(folder.join("output/summary.md")).unwrap();
        assert!(told.contains("Use tabs, please"), "{told}");

        let mut person = TypingTerminal::start(env, &repo, &command);
        person.type_line("Go on with execute?", "n");
        person.running.wait().assert_code(2).assert_stdout("--resume");
    });
}

#[test]
fn killed_or_cancelled_at_the_gate_nothing_was_decided() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let agent = env.agent("agent.sh", AGENT);
        let command = format!("run --mode plan-then-execute --goal x --agent {}", agent.display());
        for (signal, status) in [(Signal::KILL, "interrupted"), (Signal::INT, "cancelled")] {
            let mut person = TypingTerminal::start(env, &repo, &command);
            person.running.wait_for_text("Go on with execute?");
            person.signal(signal);
            let code = person.running.wait().code;
            assert_eq!(code, if signal == Signal::KILL { 137 } else { 1 });
            // Without anybody to ask the gate is closed, and only going on from there opens it.
            let resumed = env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run();
            resumed.assert_code(2).assert_stderr("stopped at the gate");
            env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
            let (folder, _) = flow(env);
            assert_eq!(pairs(&steps(&folder)), [("plan", "completed"), ("execute", "completed")], "{status}");
            env.holon(["runs", "rm", "last"]).cwd(repo.path()).run().assert_code(0);
        }
    });
}

#[test]
fn a_failed_plan_starts_nothing_and_is_tried_anew() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let agent = env.agent("agent.sh", "#!/bin/sh\nexit 3\n");
        run(env, &repo, "plan-then-execute", &agent, &["--gate", "auto"])
            .assert_code(1)
            .assert_stderr("plan:");
        let (folder, manifest) = flow(env);
        assert_eq!(manifest["error"]["kind"], "agent_failed");
        assert_eq!(pairs(&steps(&folder)), [("plan", "completed")]);
        env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(1);
        env.agent("agent.sh", AGENT);
        env.holon(["run", "--resume", "last"]).cwd(repo.path()).run().assert_code(0);
        let expected = [("plan", "completed"), ("plan", "completed"), ("execute", "completed")];
        assert_eq!(pairs(&steps(&folder)), expected);
    });
}

#[test]
fn a_plan_that_asks_for_a_person_is_not_waved_through() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", &AGENT.replace("exit 0", "[ $HOLON_MODE = plan ] && exit 2; exit 0"));
    run(&env, &repo, "plan-then-execute", &agent, &["--gate", "auto"])
        .assert_code(2)
        .assert_stderr("--resume");
    env.holon(["run", "--resume", "last"]).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn a_plan_changed_behind_the_gate_is_refused() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let agent = env.agent("agent.sh", AGENT);
        run(env, &repo, "plan-then-execute", &agent, &[]).assert_code(2);
        let (folder, manifest) = flow(env);
        let plan = step_folder(&folder, &manifest["metadata"]["flow"]["steps"][0]["run_id"]).join("output");
        for name in ["plan.md", "manifest.json"] {
            let path = plan.join(name);
            let good = fs::read(&path).unwrap();
            fs::write(&path, [&good[..], b"\n"].concat()).unwrap();
            let output = env.holon(["run", "--resume", "last"]).cwd(repo.path()).run();
            output.assert_code(1).assert_stderr(&format!("plan/{name}")).assert_stderr("somebody changed it");
            assert_eq!(pairs(&steps(&folder))[1..], [], "nothing was started with it");
            fs::write(&path, good).unwrap();
        }
        env.holon(["run", "--resume", "last"]).cwd(repo.path()).run().assert_code(0);
    });
}

/// A review of three lines of `code.txt`.
fn review(lines: &[u64]) -> String {
    let finding = |line: &u64| {
        serde_json::json!({
            "path": "code.txt", "line": line, "severity": "high", "category": "correctness",
            "title": format!("line {line} is wrong"), "body": "It is.", "confidence": 0.9,
            "snippet": format!("line {line}"),
        })
    };
    let findings: Vec<Value> = lines.iter().map(finding).collect();
    serde_json::json!({ "verdict": "comment", "findings": findings }).to_string()
}

fn reviewed(env: &TestEnv, lines: &[u64], fix: &str) -> TestWorkspace {
    let code: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let repo = env.repo().file("a.txt", "one\n").file("code.txt", code);
    repo.file("review-to-give.json", review(lines)).file("fix.sh", fix).commit("first")
}

#[test]
fn findings_are_followed_to_their_end() {
    for_each_identity(BIN, |env| {
        let fix = "sed -i -e 's/^line 5$/fixed/' -e '/^line 50$/i guard' code.txt\n";
        let repo = reviewed(env, &[5, 20, 50], fix);
        let agent = env.agent("agent.sh", AGENT);
        let out = env.work().join("out");
        let before = tree_state(repo.path());
        let more = ["--gate", "auto", "--apply", "--out", out.to_str().unwrap()];
        let output = run(env, &repo, "review-fix", &agent, &more);
        output.assert_code(2).assert_stderr("1 of 3 findings are still open");
        assert_unchanged(&before, repo.path());
        let findings: Value = serde_json::from_slice(&fs::read(out.join("findings.json")).unwrap()).unwrap();
        let fates: Vec<(u64, &str)> = findings["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| (f["line"].as_u64().unwrap(), f["state"].as_str().unwrap()))
            .collect();
        assert_eq!(fates, [(5, "fixed"), (20, "open"), (50, "unclear")], "{findings:#}");
        let review: Value = serde_json::from_slice(&fs::read(out.join("review.json")).unwrap()).unwrap();
        assert_eq!(findings["findings"][0]["fingerprint"], review["findings"][0]["fingerprint"]);
        let summary = fs::read_to_string(out.join("summary.md")).unwrap();
        assert!(
            summary.contains("1 fixed, 1 open, 1 unclear") && summary.contains("line 20 is wrong"),
            "{summary}"
        );
        // A person can still take what there is.
        env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
    });
}

#[test]
fn everything_mended_is_a_success_that_can_be_applied() {
    let env = TestEnv::new(BIN);
    let repo = reviewed(&env, &[5, 20], "sed -i -e 's/^line 5$/five/' -e '/^line 20$/d' code.txt\n");
    let agent = env.agent("agent.sh", AGENT);
    let output = run(&env, &repo, "review-fix", &agent, &["--gate", "auto", "--apply"]);
    output.assert_code(0).assert_stdout("applied to");
    assert!(String::from_utf8(repo.read("code.txt")).unwrap().contains("five"));
}

#[test]
fn nothing_found_needs_no_repair() {
    for_each_identity(BIN, |env| {
        let repo = reviewed(env, &[], "");
        let agent = env.agent("agent.sh", AGENT);
        let output = run(env, &repo, "review-fix", &agent, &[]);
        output.assert_code(0).assert_stdout("left out").assert_stdout("nothing was found");
        let (folder, manifest) = flow(env);
        assert_eq!(pairs(&steps(&folder)), [("review", "completed")]);
        assert!(folder.join("output/findings.json").exists() && !folder.join("output/diff.patch").exists());
        assert_eq!(manifest["outcome"], "success");
    });
}

#[test]
fn inv_11_a_step_has_the_rights_of_its_mode_and_no_others() {
    for_each_identity(BIN, |env| {
        let repo = repo(env);
        let script = AGENT.replacen("out=/holon", "echo $HOLON_MODE > by-$HOLON_MODE.txt\nout=/holon", 1);
        let agent = env.agent("agent.sh", &script);
        let before = tree_state(repo.path());
        let out = env.work().join("out");
        let more = [
            "--gate",
            "auto",
            "--network",
            "host",
            "--verify",
            "full",
            "--timeout",
            "90m",
            "--out",
            out.to_str().unwrap(),
        ];
        run(env, &repo, "plan-then-execute", &agent, &more).assert_code(0);
        assert_unchanged(&before, repo.path());
        let patch = fs::read_to_string(out.join("diff.patch")).unwrap();
        assert!(patch.contains("by-execute.txt") && !patch.contains("by-plan.txt"), "{patch}");
        let manifest = |step: &str| -> Value {
            let path = out.join("evidence/steps").join(step).join("manifest.json");
            serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
        };
        for (step, access, own_network) in [("plan", "read-only", true), ("execute", "rw", false)] {
            let found = manifest(step);
            assert_eq!(found["metadata"]["workspace_access"], access);
            assert_eq!(found["metadata"]["sandbox"]["enforced"]["net_ns"], own_network, "{step}");
            assert_eq!(found["breaches"].as_array().map(Vec::len), Some(0));
        }
    });
}

#[test]
fn a_spec_can_ask_for_a_flow() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    env.agent("agent.sh", AGENT);
    let spec = "goal: Change a\nconstraints: {mode: plan-then-execute, timeout: 90m, checks: ['grep -q changed a.txt']}\n\
        agent: {name: ../../agents/agent.sh}\noutput: {artifacts: [{path: summary.md}]}\n";
    let path = env.write("work/spec.yaml", spec);
    let started = env.holon(["run", "--quiet", "--spec", "../spec.yaml"]).cwd(repo.path()).run();
    started.assert_code(2);
    // A flow goes on with the spec it was started with, or not at all.
    fs::write(&path, spec.replace("90m", "80m")).unwrap();
    let resumed = env.holon(["run", "--resume", "last"]).cwd(repo.path()).run();
    resumed.assert_code(64).assert_stderr("the spec is not the one");
    fs::write(&path, spec).unwrap();
    env.holon(["run", "--resume", "last"]).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn an_out_folder_inside_the_workspace_is_invisible_to_every_step() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = AGENT.replace("echo \"# Done\"", "echo \"# Done\"; ls -A");
    let agent = env.agent("agent.sh", &script);
    run(&env, &repo, "plan-then-execute", &agent, &["--out", "holon-output"]).assert_code(2);
    assert!(repo.join("holon-output/plan.md").exists());
    env.holon(["run", "--resume", "last"]).cwd(repo.path()).run().assert_code(0);
    let told = fs::read_to_string(repo.join("holon-output/summary.md")).unwrap();
    assert!(told.contains("a.txt") && !told.contains("holon-output"), "{told}");
    let patch = fs::read_to_string(repo.join("holon-output/diff.patch")).unwrap();
    assert!(!patch.contains("holon-output"), "{patch}");
}

#[test]
fn what_makes_no_sense_is_said_before_anything_starts() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", AGENT);
    let agent = agent.to_str().unwrap();
    for (args, expected) in [
        (
            &["run", "--goal", "x", "--mode", "plan-then-exceute", "--agent", agent][..],
            "did you mean `plan-then-execute`?",
        ),
        (&["run", "--goal", "x", "--agent", agent, "--gate", "auto"], "--gate is for modes of several steps"),
        (&["run", "--mode", "review-fix", "--agent", agent], "there is no goal"),
        (&["run", "--mode", "review-fix", "--goal", "x", "--agent", "./absent.sh"], "absent.sh"),
        (
            &["run", "--mode", "review-fix", "--goal", "x", "--agent", agent, "--allow-writes"],
            "--allow-writes",
        ),
        (&["run", "--mode", "review-fix", "--goal", "x", "--gate", "perhaps"], "`perhaps` is no value"),
        (&["run", "--goal", "x", "--message", "m"], "--resume"),
        (&["run", "--resume", "last", "--goal", "x"], "cannot be used together"),
        (&["modes", "show", "review-fxi"], "did you mean `review-fix`?"),
    ] {
        env.holon(args).cwd(repo.path()).run().assert_code(64).assert_stderr(expected);
    }
    assert!(env.runs().is_empty());
    env.holon(["run", "--resume", "last"])
        .cwd(repo.path())
        .run()
        .assert_code(1)
        .assert_stderr("no run `last`");
    run(&env, &repo, "plan", Path::new(agent), &[]).assert_code(0);
    let single = env.holon(["run", "--resume", "last"]).cwd(repo.path()).run();
    single.assert_code(1).assert_stderr("has done its work");

    let dry = run(&env, &repo, "plan-then-execute", Path::new(agent), &["--dry-run"]);
    dry.assert_code(0)
        .assert_stdout("step plan")
        .assert_stdout("step execute")
        .assert_stdout("prompts/user.md");
    assert_eq!(env.runs().len(), 1, "a dry run starts nothing");
    env.holon(["modes", "list"])
        .cwd(repo.path())
        .run()
        .assert_stdout("plan-then-execute")
        .assert_stdout("review-fix");
    env.holon(["modes", "show", "review-fix"])
        .cwd(repo.path())
        .run()
        .assert_code(0)
        .assert_stdout("before it");
}

#[test]
fn two_processes_cannot_go_on_with_the_same_flow() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", &blocking("execute"));
    run(&env, &repo, "plan-then-execute", &agent, &[]).assert_code(2);
    let mut first = env.holon(["run", "--resume", "last", "--json"]).cwd(repo.path()).spawn();
    first.wait_for_text("\"waiting\"");
    let second = env.holon(["run", "--resume", "last"]).cwd(repo.path()).run();
    second.assert_code(64).assert_stderr("going on in another process");
    env.holon(["runs", "list"]).cwd(repo.path()).run().assert_stdout("running");
    env.holon(["runs", "rm", "last"]).cwd(repo.path()).run().assert_code(1);
    first.signal(Signal::INT);
    first.wait().assert_code(1);
}

#[test]
fn a_part_of_an_id_means_one_step_or_none() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", AGENT);
    run(&env, &repo, "plan-then-execute", &agent, &["--gate", "auto", "--no-auto-checks"]).assert_code(0);
    run(&env, &repo, "plan-then-execute", &agent, &["--gate", "auto", "--no-auto-checks"]).assert_code(0);
    let show = |name: &str| env.holon(["runs", "show", name]).cwd(repo.path()).run();
    // All of them begin like this.
    show("2").assert_code(1).assert_stderr("could be 2 runs");
    let step = fs::read_dir(flow(&env).0.join("steps")).unwrap().next().unwrap().unwrap().path();
    for step in fs::read_dir(step.join("runs")).unwrap() {
        let id = step.unwrap().file_name().into_string().unwrap();
        show(&id).assert_code(0).assert_stdout(&id);
        show(&id[16..]).assert_code(0).assert_stdout(&id);
    }
}
