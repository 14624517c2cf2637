//! Real runs of many kinds, each in an environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_flow::verify::{Discrepancy, RunEvidence, gather, verify_manifest};
use holon_host::HolonFolders;
use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, run_git};
use serde_json::Value;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Plays every mode, and leaves something of every sort.
const AGENT: &str = r##"#!/bin/sh
out=/holon/output; in=/holon/input
echo "# $HOLON_MODE: all tests pass" > $out/summary.md
case "$HOLON_MODE" in
plan | architect)
    printf '# Goal\nChange a.\n# Context\nA file.\n# Steps\n1. Append.\n# Risks\nNone.\n# Verification\nLook.\n' > $out/plan.md
    echo '{"steps":[{"id":"1","title":"Append"}]}' > $out/plan.json ;;
review) echo '{"verdict":"approve","findings":[]}' > $out/review.json ;;
debug)
    echo tried >> a.txt
    echo '{"hypotheses":[{"statement":"x","evidence":["y"],"status":"confirmed"}],"experiments":[],"root_cause":"x","fix_proposal":"mend a.txt"}' > $out/debug.json ;;
ethical)
    echo '{"risk_level":"low","is_approved":true,"approval_justification":"Harmless.","principle_impacts":[{"principle":"safety","impact":"none","rationale":"Text."}]}' > $out/ethics.json
    echo "# Harmless" > $out/ethics.md ;;
orchestrate)
    echo '{"tasks":[{"id":"one","mode":"execute","goal":"do it","acceptance":["done"]},{"id":"look","mode":"review","goal":"look","acceptance":["seen"],"depends_on":["one"]},{"id":"may","mode":"ethical","goal":"assess","acceptance":["assessed"],"depends_on":["look"]}]}' > $out/orchestration.json ;;
execute)
    echo changed >> a.txt; echo new > new.txt; rm gone.txt; mv old-name.txt new-name.txt; printf 'x\000y' > b.bin
    chmod +x a.txt; sed -i '/def test_two/,$d' test_a.py
    mkdir -p $out/more; echo '{"findings": 1}' > $out/review.json; echo hello > $out/more/note.txt ;;
esac
exit 0
"##;

/// What the model says in the run of the native agent.
const CASSETTE: &str = r#"- tool: write_file
  args: { path: made.txt, content: "made\n" }
- tool: execute
  args: { command: "test -f made.txt" }
- tool: finish
  args: { summary: "Made a file." }
"#;

/// A finished run, the environment it was made in, and the workspace.
pub(crate) struct FinishedTestRun {
    pub(crate) name: &'static str,
    pub(crate) env: TestEnv,
    pub(crate) folder: PathBuf,
}

impl FinishedTestRun {
    pub(crate) fn manifest_path(&self) -> PathBuf {
        self.folder.join("output/manifest.json")
    }

    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.manifest_path()).unwrap()).unwrap()
    }

    /// Takes every commit that there was from the repository.
    pub(crate) fn lose_history(&self) {
        for args in [
            &["checkout", "-q", "--orphan", "anew"][..],
            &["commit", "-qam", "anew"],
            &["branch", "-D", "main"],
            &["reflog", "expire", "--expire=now", "--all"],
            &["gc", "-q", "--prune=now"],
        ] {
            run_git(&self.env.work().join("repo"), args);
        }
    }

    /// What is false about it.
    pub(crate) fn verify(&self) -> Vec<Discrepancy> {
        verify(&self.env, &self.folder).expect("it can be read")
    }
}

pub(crate) fn verify(env: &TestEnv, folder: &Path) -> Result<Vec<Discrepancy>, String> {
    Ok(verify_manifest(&evidence(env, folder)?))
}

/// What a run left behind.
pub(crate) fn evidence(env: &TestEnv, folder: &Path) -> Result<RunEvidence, String> {
    let variable =
        |name: &str| env.variables().into_iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let places = HolonFolders::from_env(&variable).expect("places");
    gather(&places, folder).map_err(|error| error.to_string())
}

fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo()
        .file("a.txt", "one\ntwo\nthree\n")
        .file("b.bin", "a\0b")
        .file("gone.txt", "going\n")
        .file("old-name.txt", "the same\nlines\nas before\n")
        .file("test_a.py", "def test_one():\n    assert 1\n\ndef test_two():\n    assert 2\n")
        .commit("first")
        .file("a.txt", "one\ntwo\nthree\nnot committed\n")
}

pub(crate) fn made(
    name: &'static str,
    code: i32,
    call: impl FnOnce(&TestEnv, &TestWorkspace) -> CommandEnd,
) -> FinishedTestRun {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    call(&env, &repo).assert_code(code);
    let folder = env.runs().last().expect("a run").clone();
    FinishedTestRun { name, env, folder }
}

fn ask(env: &TestEnv, repo: &TestWorkspace, mode: &str, more: &[&str]) -> CommandEnd {
    let agent = env.agent("agent.sh", AGENT);
    let call = env.holon(["run", "--mode", mode, "--goal", "Change a", "--agent"]).arg(agent).args(more);
    call.cwd(repo.path()).run()
}

/// A change with checks, context and files nobody asked for, copied out.
pub(crate) fn change() -> FinishedTestRun {
    made("a change", 0, |env, repo| {
        let note = env.write("work/note.md", "Use tabs.\n");
        let out = env.work().join("out");
        let flags = [
            "--context",
            note.to_str().unwrap(),
            "--check",
            "test -f new.txt",
            "--out",
            out.to_str().unwrap(),
        ];
        ask(env, repo, "execute", &flags)
    })
}

/// A check that fails.
pub(crate) fn failed_check() -> FinishedTestRun {
    made("a failed check", 1, |env, repo| ask(env, repo, "execute", &["--check", "echo no; exit 3"]))
}

/// Experiments that are thrown away.
fn experiments() -> FinishedTestRun {
    made("experiments", 0, |env, repo| ask(env, repo, "debug", &[]))
}

pub(crate) fn plan() -> FinishedTestRun {
    made("a plan", 0, |env, repo| ask(env, repo, "plan", &[]))
}

pub(crate) fn review() -> FinishedTestRun {
    made("a review", 0, |env, repo| ask(env, repo, "review", &[]))
}

/// An agent that asks instead of going on.
pub(crate) fn question() -> FinishedTestRun {
    made("a question", 2, |env, repo| {
        let script = "#!/bin/sh\necho '# Which of both files is meant?' > /holon/output/summary.md\nexit 2\n";
        let agent = env.agent("asks.sh", script);
        let call = env.holon(["run", "--mode", "execute", "--goal", "Change it", "--agent"]).arg(agent);
        call.cwd(repo.path()).run()
    })
}

/// An agent that leaves a plan without its sections, twice.
fn misshapen() -> FinishedTestRun {
    made("a plan without its sections", 1, |env, repo| {
        let agent = env.agent("bad.sh", "#!/bin/sh\necho '# Nothing' > /holon/output/plan.md\n");
        let call = env.holon(["run", "--mode", "plan", "--goal", "Plan", "--agent"]).arg(agent);
        call.cwd(repo.path()).run()
    })
}

/// A patch that is kept back, and a limit that is reached.
pub(crate) fn secret() -> FinishedTestRun {
    made("a patch with a credential", 2, |env, repo| {
        let script = "#!/bin/sh\nprintf 'key = \"ghp_%s\"\\n' 0123456789abcdefghijABCDEFGHIJ012345 > key.py\necho '# Done' > /holon/output/summary.md\n";
        let agent = env.agent("leaks.sh", script);
        let call = env.holon(["run", "--mode", "execute", "--goal", "Leak", "--agent"]).arg(agent);
        call.cwd(repo.path()).run()
    })
}

/// A run that runs out of time.
fn timeout() -> FinishedTestRun {
    made("a run out of time", 1, |env, repo| {
        let agent = env.agent("sleeps.sh", "#!/bin/sh\nexec sleep 60\n");
        let call = env
            .holon(["run", "--mode", "execute", "--goal", "Sleep", "--timeout", "1s", "--agent"])
            .arg(agent);
        call.cwd(repo.path()).run()
    })
}

/// The native agent, with its model on a cassette.
pub(crate) fn native() -> FinishedTestRun {
    made("the native agent", 0, |env, repo| {
        let cassette = env.write("work/cassette.yaml", CASSETTE);
        let call = env.holon(["run", "--mode", "execute", "--goal", "Make a file", "--replay"]).arg(cassette);
        call.args(["--check", "test -f made.txt"]).cwd(repo.path()).run()
    })
}

/// A flow, with a gate that a rule decides.
pub(crate) fn flow() -> FinishedTestRun {
    made("a flow", 0, |env, repo| ask(env, repo, "plan-then-execute", &["--gate", "auto", "--check", "true"]))
}

/// A flow that stops at its gate.
fn stopped_flow() -> FinishedTestRun {
    made("a flow at its gate", 2, |env, repo| ask(env, repo, "plan-then-execute", &["--gate", "stop"]))
}

/// A goal in tasks.
pub(crate) fn orchestration() -> FinishedTestRun {
    // Its assessment finds that a test is gone.
    made("an orchestration", 2, |env, repo| {
        let agent = env.agent("agent.sh", AGENT);
        let call = env.holon(["Make it better", "--agent"]).arg(agent);
        call.cwd(repo.path()).timeout(Duration::from_secs(120)).run()
    })
}

/// A flow and an orchestration that were copied out, and where to.
pub(crate) fn copied_wholes() -> Vec<(PathBuf, FinishedTestRun)> {
    let flow = made("a flow", 0, |env, repo| {
        let out = env.work().join("out");
        let more = ["--gate", "auto", "--check", "true", "--out", out.to_str().unwrap()];
        ask(env, repo, "plan-then-execute", &more)
    });
    let orchestration = made("an orchestration", 2, |env, repo| {
        let agent = env.agent("agent.sh", AGENT);
        let call = env.holon(["Make it better", "--out"]).arg(env.work().join("out"));
        call.arg("--agent").arg(agent).cwd(repo.path()).timeout(Duration::from_secs(120)).run()
    });
    let out = |made: FinishedTestRun| (made.env.work().join("out"), made);
    [flow, orchestration].map(out).into()
}

/// One of each kind.
pub(crate) fn all() -> Vec<fn() -> FinishedTestRun> {
    vec![
        change,
        failed_check,
        experiments,
        plan,
        review,
        question,
        misshapen,
        secret,
        timeout,
        native,
        flow,
        stopped_flow,
        orchestration,
    ]
}
