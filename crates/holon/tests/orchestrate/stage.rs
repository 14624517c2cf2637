//! What the scenes share: an agent that plays every mode, and what an orchestration left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_testkit::{Invocation, TestEnv, TestWorkspace};
use serde_json::{Value, json};

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Plays every mode by files of the workspace: `plan.json` is the plan, `<task>.sh` is what a task does. A task knows its
/// name by the first word of its goal.
pub(crate) const AGENT: &str = r##"#!/bin/sh
out=/holon/output; in=/holon/input; task=$(sed -n 's/^.*TASK:\([a-z0-9-]*\).*$/\1/p' $in/prompts/user.md | head -1)
echo "# $HOLON_MODE $task" > $out/summary.md
ls $in/context >> $out/summary.md 2> /dev/null
case "$HOLON_MODE" in
orchestrate) cp script/plan.json $out/orchestration.json ;;
architect)
    printf '# Goal\nx\n# Context\nx\n# Steps\n1. x\n# Risks\nNone.\n# Verification\nLook.\n' > $out/plan.md
    mkdir -p docs; echo "by the architect" > docs/design.md ;;
review) echo '{"verdict":"approve","findings":[]}' > $out/review.json ;;
debug)
    echo '{"hypotheses":[{"statement":"x","evidence":["y"],"status":"confirmed"}],"experiments":[],"root_cause":"x","fix_proposal":"mend a.txt"}' > $out/debug.json ;;
ethical)
    checks=$(grep -o '^- guideline-[0-9]*' $in/context/checks.md 2> /dev/null | sed 's/^- \(.*\)/{"id":"\1","status":"pass","detail":"Kept."}/' | paste -sd,)
    echo '{"risk_level":"low","is_approved":true,"approval_justification":"Harmless.","principle_impacts":[{"principle":"safety","impact":"none","rationale":"Text."}],"checks":['"$checks"']}' > $out/ethics.json
    echo "# Harmless" > $out/ethics.md ;;
esac
case "$task" in ?*) name=$task ;; *) name=$HOLON_MODE ;; esac
[ -f $in/context/findings.json ] && name=$task-fix
[ -f $in/context/theirs.patch ] && name=$task-conflict
[ -f $in/context/failed-checks.md ] && name=checks-fix
if [ -f "script/block-$name" ]; then echo "waiting-$name"; exec sleep 600; fi
if [ -f "script/$name.sh" ]; then . "./script/$name.sh"; fi
exit 0
"##;

/// One task of a plan; its goal names it.
pub(crate) fn task(id: &str, mode: &str, on: &[&str]) -> Value {
    json!({"id": id, "mode": mode, "goal": format!("TASK:{id} do it"), "acceptance": ["it is done"], "depends_on": on})
}

pub(crate) fn plan(tasks: &[Value]) -> String {
    json!({ "tasks": tasks }).to_string()
}

/// A repository with a file of nine lines, a plan, and scripts for tasks.
pub(crate) fn repo(env: &TestEnv, plan: &str, scripts: &[(&str, &str)]) -> TestWorkspace {
    repo_named(env, "repo", plan, scripts)
}

/// The same under another name.
pub(crate) fn repo_named(env: &TestEnv, name: &str, plan: &str, scripts: &[(&str, &str)]) -> TestWorkspace {
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let mut repo = env.repo_named(name).file("a.txt", lines).file("script/plan.json", plan);
    for (name, text) in scripts {
        repo = repo.file(format!("script/{name}.sh"), text);
    }
    repo.commit("first")
}

/// `holon "goal"` with the agent that plays every mode.
pub(crate) fn goal(env: &TestEnv, repo: &TestWorkspace, more: &[&str]) -> Invocation {
    let agent = env.agent("agent.sh", AGENT);
    let call = env.holon(["Make it better"]).arg("--agent").arg(agent).args(more);
    call.cwd(repo.path()).timeout(Duration::from_secs(120))
}

/// The newest orchestration in the store: its folder and its manifest.
pub(crate) fn last(env: &TestEnv) -> (PathBuf, Value) {
    let folder = env.runs().last().expect("a run").clone();
    (folder.clone(), read(&folder.join("output/manifest.json")))
}

/// The only run of a workspace.
pub(crate) fn run_of(env: &TestEnv, repo: &TestWorkspace) -> PathBuf {
    let path = repo.path().to_str().unwrap();
    let of = |run: &PathBuf| fs::read_to_string(run.join("run.json")).is_ok_and(|text| text.contains(path));
    let found: Vec<PathBuf> = env.runs().into_iter().filter(of).collect();
    assert_eq!(found.len(), 1, "{path}: {found:?}");
    found[0].clone()
}

pub(crate) fn read(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

pub(crate) fn orchestration(folder: &Path) -> Value {
    read(&folder.join("output/orchestration.json"))
}

/// The runs of a task, as (purpose, mode, outcome).
pub(crate) fn attempts(report: &Value, task: &str) -> Vec<(String, String, String)> {
    let nodes = report["nodes"].as_array().expect("nodes");
    let node = nodes.iter().find(|node| node["id"] == task).unwrap_or_else(|| panic!("{task}: {report:#}"));
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    node["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (text(&a["purpose"]), text(&a["mode"]), text(&a["outcome"])))
        .collect()
}

/// Every child run in the folder, as (mode, status).
pub(crate) fn children(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for workspace in fs::read_dir(folder.join("steps")).into_iter().flatten().flatten() {
        for run in fs::read_dir(workspace.path().join("runs")).into_iter().flatten().flatten() {
            let manifest = read(&run.path().join("output/manifest.json"));
            let text = |key: &str| manifest[key].as_str().unwrap().to_owned();
            found.push((text("mode"), text("status")));
        }
    }
    found.sort();
    found
}

/// The patch applied to a fresh copy of what the repository was.
pub(crate) fn applied(env: &TestEnv, repo: &TestWorkspace, patch: &Path) -> PathBuf {
    let copy = env.work().join("applied");
    let _ = fs::remove_dir_all(&copy);
    holon_testkit::copy_tree(repo.path(), &copy);
    holon_testkit::apply_patch_plain(&copy, patch).expect("the patch applies cleanly");
    copy
}
