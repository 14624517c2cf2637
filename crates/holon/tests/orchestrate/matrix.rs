//! Each mode by itself, through the dispatcher: what goes in, what comes out, and what it may do meanwhile.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holon_model::WireFormat;
use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use holon_testkit::{TestEnv, TestWorkspace, assert_unchanged, tree_state};
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{AGENT, BIN, last, read, repo};

/// The result and the first line of the log of the only request that a mode has had.
fn logged(env: &TestEnv, mode: &str) -> (Value, Value) {
    let folder = |path: PathBuf| -> PathBuf {
        let mut found: Vec<PathBuf> = fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(found.len(), 1, "{}", path.display());
        found.remove(0)
    };
    let request = folder(folder(env.state().join("holon/logs").join(mode)));
    let log = fs::read_to_string(request.join("log.jsonl")).unwrap();
    let first = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    (read(&request.join("result.json")), first)
}

fn run(env: &TestEnv, repo: &TestWorkspace, mode: &str) -> holon_testkit::CommandEnd {
    let agent = env.agent("agent.sh", AGENT);
    let call = env.holon(["run", "--mode", mode, "--goal", "Look at it", "--quiet", "--agent"]).arg(agent);
    call.cwd(repo.path()).run()
}

/// Runs a mode and checks what it handed over, what it decided and what it was allowed.
fn check(mode: &str, canonical: &str, script: &str, kinds: &[&str], decision: &str, access: &str) {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[(canonical, script)]);
    let before = tree_state(repo.path());
    run(&env, &repo, mode).assert_code(0);
    assert_unchanged(&before, repo.path());
    let (result, first) = logged(&env, canonical);
    let found: Vec<&str> =
        result["artifacts"].as_array().unwrap().iter().map(|a| a["kind"].as_str().unwrap()).collect();
    for kind in kinds {
        assert!(found.contains(kind), "{mode}: {kind} in {found:?}");
    }
    assert_eq!(found.contains(&"code_diff"), kinds.contains(&"code_diff"), "{mode}");
    assert_eq!(
        (&result["success"], &result["decision"]["is"]),
        (&true.into(), &decision.into()),
        "{result:#}"
    );
    let envelope = &first["envelope"];
    assert_eq!((&envelope["mode"], &envelope["goal"]), (&canonical.into(), &"Look at it".into()));
    assert_eq!(envelope["permissions"]["access"]["kind"], access);
    assert_eq!(envelope["request_id"].as_str().map(str::len), Some(36), "a UUID");
    let (_, manifest) = last(&env);
    assert_eq!(
        (&manifest["mode"], &manifest["metadata"]["workspace_access"]),
        (&canonical.into(), &access.into())
    );
    assert!(manifest["metadata"]["audit"]["length"].as_u64().unwrap() >= 1, "{manifest:#}");
}

#[test]
fn matrix_code_io() {
    check("code", "execute", "echo x > x.txt", &["code_diff", "summary"], "next", "rw");
}

#[test]
fn matrix_review_io() {
    check("review", "review", "", &["review_findings", "summary"], "approve", "read-only");
    let block = "echo '{\"verdict\":\"block\",\"findings\":[]}' > $out/review.json";
    check("code_review", "review", block, &["review_findings"], "block", "read-only");
}

#[test]
fn matrix_ethical_io() {
    check("ethical", "ethical", "", &["ethical_report"], "approve", "read-only");
    let block = "sed -i -e 's/\"low\"/\"unknown\"/' -e 's/true/false/' $out/ethics.json";
    check("ethics", "ethical", block, &["ethical_report"], "block", "read-only");
}

#[test]
fn matrix_debug_io() {
    check("debug", "debug", "echo scratch > a.txt", &["debug_log", "summary"], "next", "scratch");
}

#[test]
fn matrix_architect_io() {
    check("planning", "architect", "", &["plan_doc", "code_diff", "summary"], "next", "scoped");
}

#[test]
fn matrix_dispatcher_permissions() {
    let greedy = "echo x > x.txt; mkdir -p docs src; echo x > docs/x.md; echo x > src/x.rs";
    let tries = format!("({greedy}) 2> /dev/null; true");
    check("review", "review", &tries, &["review_findings"], "approve", "read-only");
    check("ethical", "ethical", &tries, &["ethical_report"], "approve", "read-only");
    check("debug", "debug", &tries, &["debug_log"], "next", "scratch");
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[("architect", &tries)]);
    run(&env, &repo, "architect").assert_code(0);
    let patch = fs::read_to_string(last(&env).0.join("output/diff.patch")).unwrap();
    let touched: Vec<&str> = patch.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
    assert_eq!(touched, ["docs/design.md", "docs/x.md"]);
}

#[test]
fn matrix_dispatcher_refuses_what_is_no_mode() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    run(&env, &repo, "reveiw").assert_code(64).assert_stderr("did you mean `review`?");
    assert!(env.runs().is_empty());
}

#[test]
fn matrix_no_network_when_selection_is_disabled() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    // A cassette answers: whoever listens where the provider would be hears nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(stream);
        }
    });
    let tape = env.write("work/tape.yaml", "- text: It is a text file.\n");
    let ask = || env.holon(["ask", "What is it?", "--quiet"]).cwd(repo.path()).env("HOLON_BASE_URL", &base);
    let replayed = ask().env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").arg("--replay").arg(&tape).run();
    replayed.assert_code(0).assert_stdout("It is a text file.");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // Switched off and without a name there is nobody to ask.
    let off = ask().env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").env("HOLON_MODELS__SELECTION", "off").run();
    off.assert_code(1).assert_stderr("models.selection is off");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // A pinned model is asked, and no catalogue is fetched.
    let server = ModelServer::play(WireFormat::Chat, "- text: It is a text file.\n");
    let pinned = env.holon(["ask", "What is it?", "--quiet"]).cwd(repo.path());
    let pinned = pinned.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
    let pinned = pinned.env("HOLON_MODEL", "anthropic/claude-sonnet-5.5");
    pinned.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").run().assert_code(0);
    assert_eq!(server.requests().len(), 1);
    assert!(!env.cache().join("holon").exists(), "nothing was fetched, so nothing is kept");
}

/// The reason for the model of the newest run that has one.
fn why(manifest: &Value) -> String {
    manifest["metadata"]["model"]["why"].as_str().unwrap_or_else(|| panic!("{manifest:#}")).to_owned()
}

#[test]
fn matrix_dispatcher_chooses_the_model_by_policy_auto() {
    let chosen = |policy: Option<&str>| {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, "{}", &[]);
        let server =
            ModelServer::play(WireFormat::Chat, "- tool: finish\n  args: { summary: Nothing to do. }\n");
        let run = env.holon(["run", "--goal", "x", "--quiet"]).cwd(repo.path());
        let run = run.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
        // The table that comes with Holon has many models; what this server would list is one.
        let run = run.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").env("HOLON_MODELS__CATALOGUE", "offline");
        let run =
            policy.into_iter().fold(run, |run, policy| run.env("HOLON_MODES__CODE__MODEL_POLICY", policy));
        run.run().assert_code(0);
        let (_, manifest) = last(&env);
        let asked = server.requests()[0].body["model"].as_str().unwrap().to_owned();
        assert_eq!(manifest["metadata"]["model"]["id"], asked, "what is asked is what was chosen");
        (asked, why(&manifest))
    };
    let (auto, reason) = chosen(None);
    assert!(reason.contains("fit code"), "{reason}");
    let (cheapest, _) = chosen(Some("cheapest"));
    assert_ne!(auto, cheapest);
}

#[test]
fn matrix_selection_invoked_for_orchestrate_when_enabled() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    // Whoever answers with an error is asked once, and the run says which model was chosen for what.
    let server = ModelServer::improvise(|_, _| ScriptedResponse::json(400, "{}"));
    let call = env.holon(["Make it better", "--quiet"]).cwd(repo.path());
    let call = call.env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", server.base());
    let call = call.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys");
    call.run().assert_code(1);
    let (_, manifest) = last(&env);
    assert!(why(&manifest).contains("fit orchestrate"), "{manifest:#}");
}

#[test]
fn matrix_legacy_names_route_to_modes_with_a_warning() {
    for (former, canonical, name) in [
        ("code_generation", "execute", "code"),
        ("code_review", "review", "review"),
        ("planning", "architect", "architect"),
        ("ethics", "ethical", "ethical"),
    ] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env, "{}", &[]);
        let agent = env.agent("agent.sh", AGENT);
        let call = env.holon(["run", "--mode", former, "--goal", "Look at it", "--agent"]).arg(agent);
        let call = call.cwd(repo.path());
        let output = call.run();
        let told = format!("warning: the mode `{former}` is `{name}` now");
        output.assert_code(0).assert_stderr(&told);
        assert_eq!(output.stderr.matches(&told).count(), 1, "once per run");
        assert_eq!(last(&env).1["mode"], canonical);
        let strict = env.holon(["run", "--mode", former, "--goal", "x"]).cwd(repo.path());
        let strict = strict.env("HOLON_COMPAT__LEGACY", "error").run();
        strict
            .assert_code(64)
            .assert_stderr(&format!("the mode `{former}` is `{name}` now, and $HOLON_COMPAT__LEGACY"));
    }
}

#[test]
fn matrix_ask_streaming_unaffected() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "{}", &[]);
    let first =
        "The first words come at once, long before the end.\\n\\nAnd a second paragraph begins here, ";
    let frame = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{first}\"}}}}]}}\n\n");
    let server = ModelServer::start(
        WireFormat::Chat,
        [ScriptedResponse::stream([BodyPiece::Bytes(frame.into()), BodyPiece::Hang])],
    );
    let ask = env.holon(["ask", "What is it?", "--quiet"]).cwd(repo.path());
    let ask = ask.env("HOLON_PROVIDER", "openrouter").env("HOLON_MODEL", "anthropic/claude-sonnet-5.5");
    let ask = ask.env("OPENROUTER_API_KEY", "sk-or-v1-nobodys").env("HOLON_BASE_URL", server.base());
    let mut asking = ask.spawn();
    // The answer has not ended, and never will; its words are there.
    asking.wait_for_text("The first words come at once");
    asking.signal(Signal::INT);
    asking.wait().assert_code(1);
    env.assert_nothing_left();
}

#[test]
fn the_matrix_in_the_architecture_names_tests_that_are_there() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, matrix) = text.split_once("### The matrix of modes").expect("the section");
    let rows: Vec<Vec<&str>> = matrix
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
        .collect();
    for row in &rows {
        let source = fs::read_to_string(root.join(row[3])).unwrap_or_else(|e| panic!("{}: {e}", row[3]));
        assert!(source.contains(&format!("fn {}(", row[2])), "{row:?}");
    }
    // And every test that is named after it is listed.
    let listed: Vec<&str> = rows.iter().map(|row| row[2]).collect();
    for file in ["matrix.rs", "settings.rs", "story.rs", "commands.rs"] {
        let source = fs::read_to_string(root.join("crates/holon/tests/orchestrate").join(file)).unwrap();
        for name in source.lines().filter_map(|line| line.strip_prefix("fn matrix_")?.split('(').next()) {
            assert!(listed.contains(&format!("matrix_{name}").as_str()), "matrix_{name} is not listed");
        }
    }
}
