//! Run stores from before plans were kept can still be gone on with.

use std::fs;
use std::path::{Path, PathBuf};

use holon_host::HolonFolders;
use holon_testkit::{TestEnv, TestWorkspace};

use crate::BIN;

const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/store-before-plans");
/// Done: an edit by the native agent, whose model was a cassette.
const DONE: &str = "20261118-202256-g7qg4q";
/// Cut short after its first round, with an edit made.
const CUT_SHORT: &str = "20261118-202258-53zzaw";
/// A flow that waits at the gate behind its plan.
const AT_GATE: &str = "20261118-202316-mdhxjw";

/// The stored runs, as if they had been made here.
fn scene() -> (TestEnv, TestWorkspace) {
    let env = TestEnv::new(BIN);
    env.leave_unverified("the store comes from elsewhere, and no audit log tells of it");
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let state = env.state().join("holon");
    let places = HolonFolders { state, cache: env.cache(), config: env.config(), home: None };
    let runs = places.runs_of(repo.path());
    let key = runs.parent().and_then(Path::file_name).unwrap();
    let commit = repo.git(["rev-parse", "HEAD"]);
    copy(&Path::new(STORE).join("runs"), &runs, (repo.path(), commit.trim(), Path::new(key)));
    (env, repo)
}

fn copy(from: &Path, to: &Path, (workspace, commit, key): (&Path, &str, &Path)) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (name, path) = entry.map(|entry| (PathBuf::from(entry.file_name()), entry.path())).unwrap();
        let to = to.join(if name == Path::new("WORKSPACE") { key } else { name.as_path() });
        if path.is_dir() {
            copy(&path, &to, (workspace, commit, key));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text = text
            .replace("@WORKSPACE@", workspace.to_str().unwrap())
            .replace("@COMMIT@", commit)
            .replace("@CASSETTE@", &format!("{STORE}/cassette.yaml"))
            .replace("@AGENT@", &format!("{STORE}/agent.sh"));
        fs::write(to, text).unwrap();
    }
}

#[test]
fn a_run_from_before_plans_is_shown_and_replayed() {
    let (env, repo) = scene();
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    let listed = holon(&["runs", "list"]);
    for id in [DONE, CUT_SHORT, AT_GATE] {
        // A list shows the end of an id.
        listed.assert_code(0).assert_stdout(&id[16..]);
    }
    holon(&["runs", "show", DONE]).assert_code(0);
    holon(&["runs", "replay", DONE]).assert_code(0).assert_stdout("the same but for times and ids");
    // What is made of it now has a plan of its own, from which it can be done again.
    holon(&["runs", "replay", "last"]).assert_code(0).assert_stdout("the same but for times and ids");
}

#[test]
fn a_run_from_before_plans_goes_on_where_it_was() {
    let (env, repo) = scene();
    let resumed = env.holon(["run", "--resume", CUT_SHORT]).cwd(repo.path()).run();
    // It still has one round, and spends it on the second turn of its cassette.
    resumed.assert_code(1).assert_stderr("used up its rounds");
    let made = env.runs().into_iter().find(|run| run.join("run-plan.json").exists()).expect("a new run");
    let events = fs::read_to_string(made.join("evidence/events.jsonl")).unwrap();
    assert!(events.contains("checkpoint_resumed") && events.contains("grep -q two"), "{events}");
    let patch = fs::read_to_string(made.join("output/diff.patch")).unwrap();
    assert!(patch.contains("+two"), "{patch}");
}

#[test]
fn a_flow_from_before_plans_goes_through_its_gate() {
    let (env, repo) = scene();
    let resumed = env.holon(["run", "--resume", AT_GATE]).cwd(repo.path()).run();
    resumed.assert_code(0);
    let flow = env.runs().into_iter().find(|run| run.ends_with(AT_GATE)).expect("the flow");
    let patch = fs::read_to_string(flow.join("output/diff.patch")).unwrap();
    assert!(patch.contains("+changed"), "{patch}");
}
