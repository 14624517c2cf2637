//! Flows that people write: loops with a bound, files of the user and of a repository, and a process that is killed between
//! two rounds. Real walls, real git, scripts as agents.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;

use holon_testkit::{TestEnv, TestWorkspace, assert_unchanged, for_each_identity, tree_state};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// A review finds every `bad` line there is; a change mends the first of them.
const AGENT: &str = r##"#!/bin/sh
out=/holon/output
case "$HOLON_MODE" in
review)
    list=$(grep -n bad code.txt | while IFS=: read -r line text; do
        printf '%s{"path":"code.txt","line":%s,"severity":"high","category":"correctness",' "$sep" "$line"
        printf '"title":"%s","body":"It is.","confidence":0.9,"snippet":"%s"}' "$text" "$text"
        sep=,
    done)
    echo "{\"verdict\":\"comment\",\"findings\":[$list]}" > $out/review.json
    echo "# Reviewed" > $out/summary.md ;;
execute)
    first=$(grep -n bad code.txt | head -n 1 | cut -d: -f1)
    sed -i "${first}s/bad/good/" code.txt
    echo "# Mended line $first" > $out/summary.md ;;
esac
exit 0
"##;

const POLISH: &str = r#"description = "Reviews and mends until a review finds nothing"

[[step]]
name = "review"
mode = "review"
deliver = ["review.json"]

[[step]]
name = "mend"
mode = "execute"
gate = true
when = "findings"
context = ["review/review.json"]
brief = "Mend the first finding."
repeat = { from = "review", until = "no findings", most = 3 }
"#;

/// A workspace with as many lines that are bad.
fn repo(env: &TestEnv, bad: usize) -> TestWorkspace {
    let lines: String = (1..=40)
        .map(|n| format!("{} {n}\n", if n % 10 == 5 && n / 10 < bad { "bad" } else { "line" }))
        .collect();
    env.repo().file("code.txt", lines).commit("first")
}

/// Writes a flow of the user's.
fn own(env: &TestEnv, name: &str, text: &str) -> PathBuf {
    env.write(env.config().join(format!("holon/flows/{name}.toml")), text)
}

fn manifest(env: &TestEnv) -> Value {
    let folder = env.runs().last().expect("a run").clone();
    serde_json::from_slice(&fs::read(folder.join("output/manifest.json")).expect("a manifest")).expect("JSON")
}

/// The runs of the newest flow's steps, as (mode, status), in the order they were started.
fn ran(env: &TestEnv) -> Vec<(String, String)> {
    let steps = env.runs().last().expect("a run").join("steps");
    let stores = fs::read_dir(steps).unwrap().map(|entry| entry.unwrap().path().join("runs"));
    let runs = stores.flat_map(|runs| fs::read_dir(runs).unwrap().map(|run| run.unwrap().path()));
    let read = |run: PathBuf| -> Value {
        serde_json::from_slice(&fs::read(run.join("output/manifest.json")).unwrap()).unwrap()
    };
    let mut found: Vec<(String, String, String)> = runs
        .map(|run| {
            let manifest = read(run);
            let text = |key: &str| manifest[key].as_str().unwrap().to_owned();
            (text("started_at"), text("mode"), text("status"))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, mode, status)| (mode, status)).collect()
}

fn modes(ran: &[(String, String)]) -> Vec<&str> {
    ran.iter().map(|(mode, _)| mode.as_str()).collect()
}

fn code(repo: &TestWorkspace) -> String {
    String::from_utf8(repo.read("code.txt")).unwrap()
}

#[test]
fn a_loop_goes_on_until_its_goal_and_hands_over_all_rounds_as_one_patch() {
    for_each_identity(BIN, |env| {
        let repo = repo(env, 2);
        own(env, "polish", POLISH);
        let agent = env.agent("agent.sh", AGENT);
        let out = env.work().join("out");
        let before = tree_state(repo.path());
        let call = env.holon(["run", "--mode", "polish", "--gate", "auto", "--goal", "Polish", "--agent"]);
        let output = call.arg(&agent).arg("--out").arg(&out).cwd(repo.path()).run();
        output.assert_code(0).assert_stdout("success polish");
        assert_unchanged(&before, repo.path());
        // Each round saw what the one before had changed: two bad lines, two rounds that mend, a third that finds nothing.
        assert_eq!(modes(&ran(env)), ["review", "execute", "review", "execute", "review"]);
        let manifest = manifest(env);
        let [review, mend] = manifest["metadata"]["flow"]["steps"].as_array().unwrap().as_slice() else {
            panic!("{manifest:#}")
        };
        assert_eq!((review["rounds"].as_array().unwrap().len(), &review["attempts"]), (2, &3.into()));
        assert_eq!((&mend["state"], mend["rounds"].as_array().unwrap().len()), (&"skipped".into(), 2));
        assert_eq!(manifest["metadata"]["changes"]["insertions"], 2);
        let patch = fs::read_to_string(out.join("diff.patch")).unwrap();
        assert_eq!((patch.matches("+good").count(), patch.matches("-bad").count()), (2, 2), "{patch}");
        assert!(out.join("evidence/steps/mend.1/manifest.json").exists());
        let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
        holon(&["runs", "verify", "last"]).assert_code(0);
        holon(&["runs", "show", "last"]).assert_code(0).assert_stdout("round 3");
        holon(&["runs", "show", "last/mend"]).assert_code(0).assert_stdout("success execute");
        holon(&["runs", "apply", "last"]).assert_code(0);
        assert_eq!((code(&repo).matches("good").count(), code(&repo).matches("bad").count()), (2, 0));
        holon(&["runs", "rm", "last"]).assert_code(0);
        env.assert_nothing_left();
    });
}

#[test]
fn the_bound_of_a_loop_needs_a_person_and_says_so() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, 3);
    own(&env, "polish", &POLISH.replace("most = 3", "most = 2"));
    let agent = env.agent("agent.sh", AGENT);
    let call = env.holon(["run", "--mode", "polish", "--gate", "auto", "--goal", "Polish", "--agent"]);
    let output = call.arg(&agent).cwd(repo.path()).run();
    output.assert_code(2).assert_stderr("the loop that ends with mend was gone through 2 times");
    output.assert_stderr("no findings").assert_stderr("--resume");
    assert_eq!(manifest(&env)["error"]["kind"], "loop_over");
    let patch = fs::read_to_string(env.runs().last().unwrap().join("output/diff.patch")).unwrap();
    assert_eq!(patch.matches("+good").count(), 2, "what there is can be looked at: {patch}");
    env.holon(["runs", "verify", "last"]).cwd(repo.path()).run().assert_code(0);
    // Whoever goes on takes it as it is; no round is run again.
    env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
    assert_eq!(modes(&ran(&env)), ["review", "execute", "review", "execute"]);
}

#[test]
fn killed_in_a_later_round_it_goes_on_in_that_round() {
    for_each_identity(BIN, |env| {
        let repo = repo(env, 2);
        let file = own(env, "polish", POLISH);
        let blocking = AGENT.replacen(
            "review)",
            "review)\n    grep -q good code.txt && { echo waiting; exec sleep 600; }",
            1,
        );
        let agent = env.agent("agent.sh", &blocking);
        let call =
            env.holon(["run", "--mode", "polish", "--gate", "auto", "--json", "--goal", "x", "--agent"]);
        let mut running = call.arg(&agent).cwd(repo.path()).spawn();
        running.wait_for_text("\"waiting\"");
        running.kill();
        env.assert_nothing_left();
        let shown = env.holon(["runs", "show", "last"]).cwd(repo.path()).run();
        shown.assert_code(0).assert_stdout("interrupted").assert_stdout("go on: holon run --resume");
        // It goes on by the flow as it was when it was started.
        fs::remove_file(file).unwrap();
        env.agent("agent.sh", AGENT);
        env.holon(["run", "--resume", "last", "--quiet"]).cwd(repo.path()).run().assert_code(0);
        let found = ran(env);
        assert_eq!(modes(&found), ["review", "execute", "review", "review", "execute", "review"]);
        let interrupted: Vec<bool> = found.iter().map(|(_, status)| status == "interrupted").collect();
        assert_eq!(interrupted, [false, false, true, false, false, false]);
        env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
        assert_eq!(code(&repo).matches("good").count(), 2);
    });
}

#[test]
fn inv_15_a_flow_of_a_repository_widens_nothing() {
    let env = TestEnv::new(BIN);
    let mode = "extends = \"execute\"\ndescription = \"Mine\"\n";
    env.write(env.config().join("holon/modes/mine.toml"), mode);
    own(&env, "polish", POLISH);
    let agent = env.agent("agent.sh", AGENT);
    let reads = "description = \"x\"\n[[step]]\nname = \"a\"\nmode = \"plan\"\n";
    let writes = |keys: &str| format!("{reads}[[step]]\nname = \"b\"\nmode = \"execute\"\n{keys}\n");
    let cases = [
        ("relaxed", writes("gate = true\ntests_may_change = true"), ":9: step `b`: `tests_may_change`"),
        (
            "rushed",
            writes("gate = false"),
            ":8: step `b`: `gate` is missing before the first step that changes",
        ),
        ("first", reads.replace("plan", "execute"), ":2: step `a`: `gate` is missing"),
        ("taken", reads.replace("plan", "mine"), "takes over the user's own mode `mine`"),
        (
            "unbounded",
            writes("gate = true\nrepeat = { from = \"a\", until = \"no changes\", most = 99 }"),
            "`repeat.most` is 99",
        ),
    ];
    for (name, text, expected) in cases {
        let repo = env.repo_named(name).file(format!(".holon/flows/{name}.toml"), &text);
        let repo = repo.file(".holon/flows/fine.toml", reads).commit("first");
        let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
        let call = env.holon(["run", "--mode", name, "--goal", "x", "--gate", "auto", "--agent"]);
        call.arg(&agent)
            .cwd(repo.path())
            .run()
            .assert_code(64)
            .assert_stderr(expected)
            .assert_stderr("hint:");
        holon(&["flows", "check"]).assert_code(1).assert_stdout(expected).assert_stdout("do:");
        // It stops nobody else.
        holon(&["flows", "list"]).assert_code(0).assert_stdout("fine").assert_stderr(expected);
    }
    assert!(env.runs().is_empty(), "nothing was started");
    // Names of others: what they name stays what it was.
    for name in ["review-fix", "polish", "plan"] {
        let repo = env.repo_named(&format!("named-{name}")).file(format!(".holon/flows/{name}.toml"), reads);
        let repo = repo.commit("first");
        let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
        holon(&["flows", "check"]).assert_code(1).assert_stdout("`name`").assert_stdout("already names");
        let shown = holon(&["modes", "show", name, "--json"]).assert_code(0).json();
        let source = shown.pointer("/source").or(shown.pointer("/profile/source")).unwrap().as_str().unwrap();
        assert!(matches!(source, "built-in" | "builtin" | "user"), "{name}: {source}");
    }
}

#[test]
fn flows_are_listed_shown_and_checked_also_for_programs() {
    let env = TestEnv::new(BIN);
    own(&env, "polish", POLISH);
    let repo = env.repo().file(".holon/flows/look.toml", POLISH).commit("first");
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    let listed = holon(&["flows", "list", "--json"]).assert_code(0).json();
    let sources: Vec<(&str, &str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| (flow["name"].as_str().unwrap(), flow["source"].as_str().unwrap()))
        .collect();
    let expected = [
        ("plan-then-execute", "built-in"),
        ("review-fix", "built-in"),
        ("polish", "user"),
        ("look", "project"),
    ];
    assert_eq!(sources, expected);
    let shown = holon(&["flows", "show", "polish"]);
    shown.assert_code(0).assert_stdout("after mend: again from review until no findings, at most 3 rounds");
    holon(&["modes", "list"]).assert_code(0).assert_stdout("polish").assert_stdout("project");
    let shown = holon(&["modes", "show", "look", "--json"]).json();
    assert_eq!((&shown["source"], &shown["steps"][1]["repeat"]["most"]), (&"project".into(), &3.into()));
    holon(&["flows", "show", "polsh"]).assert_code(64).assert_stderr("did you mean `polish`?");
    holon(&["flows", "check"]).assert_code(0).assert_stdout("2 flow files are fine; 2 built-in flows");
    let wrong =
        env.write(repo.path().join("wrong.toml"), POLISH.replace("\"review\"\nmode", "\"review\"\nmod"));
    let checked = holon(&["flows", "check", "--json", wrong.to_str().unwrap()]);
    let said = checked.assert_code(1).json();
    assert_eq!((&said["wrong"][0]["line"], &said["fine"]), (&5.into(), &0.into()), "{said:#}");
    let unknown = env.holon(["run", "--mode", "polsh", "--goal", "x", "--agent", "./agent.sh"]);
    unknown.cwd(repo.path()).run().assert_code(64).assert_stderr("did you mean `polish`?");
}

/// Steps behind a change find it in their workspace, and changes of several steps leave as one.
#[test]
fn a_later_step_sees_what_the_one_before_it_changed() {
    let env = TestEnv::new(BIN);
    let text = "description = \"x\"\n[[step]]\nname = \"one\"\nmode = \"execute\"\n[[step]]\nname = \"two\"\nmode = \"execute\"\n[[step]]\nname = \"look\"\nmode = \"review\"\n";
    own(&env, "twice", text);
    let repo = repo(&env, 2);
    let agent = env.agent("agent.sh", AGENT);
    let call = env.holon(["run", "--mode", "twice", "--goal", "x", "--apply", "--agent"]);
    call.arg(&agent).cwd(repo.path()).run().assert_code(0).assert_stdout("applied to");
    assert_eq!((code(&repo).matches("good").count(), code(&repo).matches("bad").count()), (2, 0));
    let review = env.runs().last().unwrap().join("output/review.json");
    let review: Value = serde_json::from_slice(&fs::read(review).unwrap()).unwrap();
    assert_eq!(review["findings"], Value::Array(Vec::new()), "the review saw both changes");
}

/// The host's own look ends the loop: it follows findings through a change that was made on top of another.
#[test]
fn a_look_of_the_host_can_end_a_loop() {
    let env = TestEnv::new(BIN);
    let steps = POLISH.split("when").next().unwrap();
    let text = format!(
        "{steps}context = [\"review/review.json\"]\n[[step]]\nname = \"look\"\nfindings = \"review\"\nresult = \"mend\"\n\
         deliver = [\"findings.json\"]\nrepeat = {{ from = \"review\", until = \"no findings\", most = 3 }}\n"
    );
    own(&env, "followed", &text);
    let repo = repo(&env, 2);
    let agent = env.agent("agent.sh", AGENT);
    let out = env.work().join("out");
    let call = env.holon(["run", "--mode", "followed", "--gate", "auto", "--goal", "x", "--agent"]);
    call.arg(&agent).arg("--out").arg(&out).cwd(repo.path()).run().assert_code(0);
    assert_eq!(modes(&ran(&env)), ["review", "execute", "review", "execute"]);
    let findings: Value = serde_json::from_slice(&fs::read(out.join("findings.json")).unwrap()).unwrap();
    assert_eq!((&findings["fixed"], &findings["open"]), (&1.into(), &0.into()), "{findings:#}");
    env.holon(["runs", "verify", "last"]).cwd(repo.path()).run().assert_code(0);
}

#[test]
fn files_of_one_name_from_two_steps_reach_the_third() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, 1);
    let text = "description = \"Two summaries for one\"\n
[[step]]\nname = \"review\"\nmode = \"review\"\n
[[step]]\nname = \"mend\"\nmode = \"execute\"\n
[[step]]\nname = \"again\"\nmode = \"review\"\ncontext = [\"review/summary.md\", \"mend/summary.md\"]\n";
    own(&env, "both", text);
    let sees = "files=$(find /holon/input/context -name summary.md -exec cat {} +)
case \"$HOLON_MODE-$files\" in review-*Reviewed*Mended*|review-*Mended*Reviewed*) touch /holon/output/notes.md ;; esac\n";
    let agent =
        env.agent("agent.sh", &AGENT.replacen("out=/holon/output", &format!("{sees}out=/holon/output"), 1));
    let call = env.holon(["run", "--mode", "both", "--gate", "auto", "--goal", "x", "--agent"]).arg(&agent);
    call.cwd(repo.path()).run().assert_code(0).assert_stdout("success both");
}

#[test]
fn a_link_in_the_place_of_a_flow_is_named_and_nothing_of_its_target_is_told() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, 0);
    let secret = env.write(env.work().join("private"), "CANARY of somebody\n");
    let flows = repo.path().join(".holon/flows");
    fs::create_dir_all(&flows).unwrap();
    std::os::unix::fs::symlink(&secret, flows.join("led.toml")).unwrap();
    fs::create_dir(flows.join("folder.toml")).unwrap();
    let holon = |args: &[&str]| env.holon(args).cwd(repo.path()).run();
    let checked = holon(&["flows", "check"]);
    checked.assert_code(1).assert_stdout("led.toml: is a link, and is not read");
    checked.assert_stdout("folder.toml: is no file, and is not read");
    for more in [&["--json"][..], &[]] {
        let named = holon(&[&["flows", "check", ".holon/flows/led.toml"], more].concat());
        assert!(named.code != 0 && !format!("{}{}", named.stdout, named.stderr).contains("CANARY"));
    }
}
