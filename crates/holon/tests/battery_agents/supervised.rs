//! Real agents under supervision: what is heard of them at the gateway, what is said to them, and what comes of it.

use std::path::{Path, PathBuf};

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::lost::{AgentScript, Cast, HearingMode, PlayLevel, PlayOutcome, play_as};
use holon_testkit::{current_test, skip_security};
use serde_json::{Value, json};

use crate::stage::{ALL, LAST_WORDS, ModelPart, RealAgentStage, ScriptedToolCall, call};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Events of a run.
fn events(stage: &RealAgentStage) -> Vec<Value> {
    stage.out("evidence/events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Facts of one kind that the supervisor was told.
fn facts<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let told = events.iter().filter(|event| event["type"] == "supervised").map(|event| &event["fact"]);
    told.filter(move |fact| fact["fact"] == kind)
}

/// Calls in each client's own form: a command that works, one that fails, and a file that is read and one that is written
/// where it has tools for that.
fn deeds(agent: &str) -> Vec<(CassetteCall, Option<&'static str>, bool)> {
    let shell = |line: &str| call(agent, &ScriptedToolCall::Shell(line.to_owned()));
    let own = |name: &str, arguments: Value| CassetteCall {
        name: name.into(),
        arguments: arguments.to_string(),
        ..CassetteCall::default()
    };
    let mut all = vec![
        (shell("echo one"), Some("echo one"), true),
        (shell("echo no; exit 3"), Some("echo no; exit 3"), false),
    ];
    match agent {
        "claude-code" => all.extend([
            (own("Read", json!({"file_path": "/holon/workspace/a.txt"})), None, true),
            (own("Read", json!({"file_path": "/holon/workspace/none.txt"})), None, false),
            (own("Write", json!({"file_path": "/holon/workspace/b.txt", "content": "two\n"})), None, true),
        ]),
        "opencode" => all.extend([
            (own("read", json!({"filePath": "/holon/workspace/a.txt"})), None, true),
            (own("read", json!({"filePath": "/holon/workspace/none.txt"})), None, false),
            (
                own(
                    "apply_patch",
                    json!({"patchText": "*** Begin Patch\n*** Add File: b.txt\n+two\n*** End Patch"}),
                ),
                None,
                true,
            ),
        ]),
        _ => {}
    }
    all.push((shell("echo two > b.txt"), Some("echo two > b.txt"), true));
    all
}

#[test]
fn what_is_heard_at_the_gateway_is_what_the_client_tells() {
    for agent in ALL {
        let script = deeds(agent);
        let calls: Vec<CassetteCall> = script.iter().map(|(call, ..)| call.clone()).collect();
        let Some(stage) = RealAgentStage::with(agent, move |round, _| match calls.get(round) {
            Some(call) => {
                CassetteTurn { steps: vec![CassetteStep::Call(call.clone())], ..CassetteTurn::default() }
                    .into()
            }
            None => CassetteTurn::text(LAST_WORDS).into(),
        }) else {
            continue;
        };
        stage.run("execute", &["--shadow"]).run().assert_code(0);
        let events = events(&stage);
        // What the client's own events tell: in order, how each call ended.
        let own: Vec<bool> =
            events.iter().filter(|e| e["type"] == "tool_finished").map(|e| e["ok"] == true).collect();
        let heard: Vec<bool> = facts(&events, "tool_finished").map(|fact| fact["ok"] == true).collect();
        assert_eq!(heard, own, "{agent}");
        assert_eq!(heard, script.iter().map(|(.., ok)| *ok).collect::<Vec<_>>(), "{agent}");
        let commands: Vec<Option<&str>> =
            facts(&events, "tool_proposed").map(|f| f["command"].as_str()).collect();
        assert_eq!(commands, script.iter().map(|(_, command, _)| *command).collect::<Vec<_>>(), "{agent}");
        // The client names the same commands, in its own words.
        let named = events.iter().filter(|e| e["type"] == "tool_proposed");
        for (event, (_, command, _)) in named.zip(&script) {
            let summary = event["summary"].as_str().unwrap_or_default();
            assert!(command.is_none_or(|command| summary.contains(command)), "{agent}: {summary}");
        }
        let targets: Vec<&str> =
            facts(&events, "tool_proposed").filter_map(|fact| fact["targets"][0].as_str()).collect();
        let files: &[&str] = if agent == "codex" { &[] } else { &["a.txt", "none.txt", "b.txt"] };
        assert_eq!(targets, files, "{agent}");
        // The exit code, and what was really changed, whoever wrote it.
        let exits: Vec<i64> =
            facts(&events, "tool_finished").filter_map(|fact| fact["exit"].as_i64()).collect();
        assert_eq!(exits, [0, 3, 0], "{agent}");
        let changed: Vec<&str> = facts(&events, "tool_finished")
            .flat_map(|fact| fact["evidence"]["changed"].as_array().unwrap())
            .map(|change| change["path"].as_str().unwrap())
            .collect();
        assert_eq!(changed, ["b.txt"], "{agent}");
        assert!(!stage.asked().contains("[holon "), "{agent}: a shadow says nothing");
        let supervisor = &stage.manifest()["metadata"]["supervisor"];
        assert_eq!(
            (&supervisor["level"], &supervisor["foreign"]["count"]),
            (&json!("off"), &json!(0)),
            "{agent}"
        );
        stage.env.assert_nothing_left();
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/supervisor")
}

fn scripts(lost: bool) -> Vec<AgentScript> {
    let mut scripts = AgentScript::load(&folder()).unwrap();
    scripts.retain(|script| script.is_lost() == lost);
    scripts
}

fn named(name: &str) -> AgentScript {
    scripts(true).into_iter().find(|script| script.name == name).unwrap()
}

fn cast(agent: &str) -> Option<Cast> {
    let cast = Cast::client(agent);
    if cast.is_none() {
        skip_security(&current_test(), &format!("{agent} is not installed; see `cargo xtask setup agents`"));
    }
    cast
}

fn go(cast: &Cast, script: &AgentScript, level: PlayLevel, hearing: HearingMode) -> PlayOutcome {
    play_as(Path::new(BIN), cast, script, level, hearing)
}

fn told(script: &AgentScript, outcome: &PlayOutcome) -> String {
    let PlayOutcome { code, good, rounds, heeded, takeovers, manifest, said, .. } = outcome;
    let (error, supervisor) = (&manifest["error"], &manifest["metadata"]["supervisor"]);
    format!(
        "{}: code {code}, good {good}, {rounds} rounds, heeded {heeded:?}, {takeovers} takeovers\n{error:#}\n{supervisor:#}\n{said}",
        script.name
    )
}

/// The conversation of a request, without the marks of what is to be cached, which wander.
fn conversation(body: &Value) -> Vec<Value> {
    fn clean(value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(clean),
            Value::Object(all) => {
                all.remove("cache_control");
                all.values_mut().for_each(clean);
            }
            _ => {}
        }
    }
    let mut all = body["messages"].as_array().cloned().unwrap_or_default();
    all.iter_mut().for_each(clean);
    // Words alone and a list of one text are the same.
    for message in &mut all {
        if let Some([only]) = message["content"].as_array().map(Vec::as_slice)
            && only["type"] == "text"
        {
            message["content"] = only["text"].clone();
        }
    }
    all
}

/// Marks of texts in a request, in order.
fn marks(body: &Value) -> Vec<String> {
    let text = body.to_string();
    text.match_indices("[holon ").map(|(at, _)| text[at..].split(']').next().unwrap().to_owned()).collect()
}

/// Whether each request is the beginning of the next, but for a start from the beginning.
fn assert_only_added(agent: &str, seen: &[Value]) {
    for pair in seen.windows(2) {
        let (before, after) = (conversation(&pair[0]), conversation(&pair[1]));
        if !after.iter().any(|message| message["role"] == "assistant") {
            continue;
        }
        assert_eq!(after[..before.len()], before[..], "{agent}: what was sent is not what is sent now");
    }
}

#[test]
fn a_text_is_seen_and_stays_where_it_was_said() {
    for agent in ALL {
        let Some(cast) = cast(agent) else { continue };
        let script = named("lost-repeats-a-check");
        let outcome = go(&cast, &script, PlayLevel::Adaptive, HearingMode::Reacts);
        assert!(outcome.recovered(), "{agent}: {}", told(&script, &outcome));
        assert_only_added(agent, &outcome.seen);
        let mut known: Vec<String> = Vec::new();
        for body in &outcome.seen {
            let now = marks(body);
            assert!(
                now.starts_with(&known) && now.len() <= known.len() + 1,
                "{agent}: {known:?} then {now:?}"
            );
            known = now;
        }
        let foreign = &outcome.manifest["metadata"]["supervisor"]["foreign"];
        assert!(known.len() >= 2 && foreign["count"] == known.len(), "{agent}: {known:?} {foreign:#}");
        assert_eq!(foreign["left_in_shadow"], Value::Null, "{agent}");
        let after: Vec<&str> = foreign["inserted"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["after"].as_str().unwrap())
            .collect();
        assert!(after.iter().all(|after| *after == "went_on"), "{agent}: {after:?}");
    }
}

#[test]
fn who_does_not_listen_is_stopped_for_a_person() {
    for agent in ALL {
        let Some(cast) = cast(agent) else { continue };
        let script = named("lost-repeats-a-check");
        let outcome = go(&cast, &script, PlayLevel::Adaptive, HearingMode::Deaf);
        assert!(
            outcome.stopped_usefully() && outcome.rounds < script.rounds,
            "{agent}: {}",
            told(&script, &outcome)
        );
        assert_eq!(outcome.manifest["outcome"], "needs_human", "{agent}");
        assert_eq!(outcome.manifest["error"]["kind"], "checkpoint", "{agent}");
        // It was refused once and left: nobody had to end it, and it did not try again.
        let refusals = outcome.events.matches("a request to the model was turned away").count();
        assert_eq!(refusals, 1, "{agent} tried again");
        assert!(!outcome.events.contains("\"type\":\"limit_hit\""), "{agent} had to be ended");
        let blocked = &outcome.manifest["metadata"]["supervisor"]["blocked"];
        assert_eq!(blocked, 0, "{agent}: calls are never held back");
    }
}

/// Every lost agent that the native one recovers, through a client.
fn recovers(agent: &str) {
    let Some(cast) = cast(agent) else { return };
    let (mut native, mut missed, mut bad) = (0, Vec::new(), Vec::new());
    for script in scripts(true).into_iter().filter(|script| cast.can_play(script)) {
        if !go(&Cast::Native, &script, PlayLevel::Adaptive, HearingMode::Reacts).recovered() {
            continue;
        }
        native += 1;
        let outcome = go(&cast, &script, PlayLevel::Adaptive, HearingMode::Reacts);
        if !outcome.recovered() {
            missed.push(told(&script, &outcome));
        }
        if outcome.code == 0 && !outcome.good {
            bad.push(script.name.clone());
        }
        assert_only_added(agent, &outcome.seen);
        assert!(outcome.told.untrue.is_empty(), "{agent} {}: {:#?}", script.name, outcome.told.untrue);
    }
    let recovered = native - missed.len();
    assert!(
        recovered * 100 >= native * 70,
        "{agent}: {recovered} of {native}; not these:\n{}",
        missed.join("\n\n")
    );
    assert_eq!(bad, [""; 0], "{agent}: exit 0 with a bad result");
}

#[test]
fn claude_code_recovers_what_the_native_agent_does() {
    recovers("claude-code");
}

#[test]
fn codex_recovers_what_the_native_agent_does() {
    recovers("codex");
}

#[test]
fn opencode_recovers_what_the_native_agent_does() {
    recovers("opencode");
}

/// Healthy work through a client: nothing is said, nothing is stopped.
fn hears_nothing(agent: &str) {
    let Some(cast) = cast(agent) else { return };
    for script in scripts(false).into_iter().filter(|script| cast.can_play(script)) {
        let outcome = go(&cast, &script, PlayLevel::Adaptive, HearingMode::Reacts);
        assert!(outcome.recovered(), "{agent}: {}", told(&script, &outcome));
        let supervisor = &outcome.manifest["metadata"]["supervisor"];
        assert_eq!(supervisor["foreign"]["count"], 0, "{agent}: {}", told(&script, &outcome));
        assert_eq!((outcome.takeovers, &supervisor["stop"]), (0, &Value::Null), "{agent}");
        assert!(outcome.seen.iter().all(|body| marks(body).is_empty()), "{agent}");
        assert!(!outcome.events.contains("\"type\":\"repair_round\""), "{agent}");
    }
}

#[test]
fn claude_code_hears_nothing_while_healthy() {
    hears_nothing("claude-code");
}

#[test]
fn codex_hears_nothing_while_healthy() {
    hears_nothing("codex");
}

#[test]
fn opencode_hears_nothing_while_healthy() {
    hears_nothing("opencode");
}

/// Short conversations of many shapes, each with texts from its first request on.
fn converses(agent: &str, times: usize) {
    for number in 0..times {
        let name = agent.to_owned();
        let Some(stage) = RealAgentStage::with(agent, move |round, _| {
            let shell = |line: String| CassetteStep::Call(call(&name, &ScriptedToolCall::Shell(line)));
            let mut steps = Vec::new();
            if number % 3 == 0 {
                steps.push(CassetteStep::Text(format!("Step {round}.")));
            }
            match round {
                0 => steps.push(shell(format!("echo {number}; exit {}", number % 2))),
                1 => steps.extend((0..=number % 3).map(|n| shell(format!("echo {n}")))),
                2 if number % 4 == 0 => steps.push(shell("cat a.txt".to_owned())),
                _ => steps = vec![CassetteStep::Text(LAST_WORDS.into())],
            }
            CassetteTurn { steps, ..CassetteTurn::default() }.into()
        }) else {
            return;
        };
        let output = stage.run("execute", &["--supervisor", "strict"]).run();
        let manifest = stage.manifest();
        output.assert_code(0);
        let foreign = &manifest["metadata"]["supervisor"]["foreign"];
        assert!(foreign["count"].as_u64().unwrap() >= 1, "{agent} {number}: {foreign:#}");
        assert_eq!(foreign["left_in_shadow"], Value::Null, "{agent} {number}");
        let seen: Vec<Value> = stage.seen.lock().unwrap().iter().map(|seen| seen.body.clone()).collect();
        let main: Vec<Value> = seen.into_iter().filter(|body| !marks(body).is_empty()).collect();
        assert!(main.len() >= 3, "{agent} {number}");
        assert_only_added(agent, &main);
    }
}

#[test]
fn no_conversation_of_claude_code_breaks() {
    converses("claude-code", 68);
}

#[test]
fn no_conversation_of_codex_breaks() {
    converses("codex", 112);
}

#[test]
fn no_conversation_of_opencode_breaks() {
    converses("opencode", 20);
}

#[test]
fn a_run_of_a_client_can_be_looked_at() {
    for agent in ALL {
        let circle = call(agent, &ScriptedToolCall::Shell("cat none.txt".into()));
        let Some(stage) = RealAgentStage::with(agent, move |round, _| match round {
            0..8 => {
                CassetteTurn { steps: vec![CassetteStep::Call(circle.clone())], ..CassetteTurn::default() }
                    .into()
            }
            _ => CassetteTurn::text(LAST_WORDS).into(),
        }) else {
            continue;
        };
        stage.run("execute", &["--supervisor", "advise"]).run().assert_code(0);
        let page = stage.env.holon(["runs", "show", "last", "--supervisor"]).cwd(stage.repo.path()).run();
        page.assert_code(0).assert_stdout("put into the agent's conversation").assert_stdout("went on");
        page.assert_stdout("the same failure");
        let level = stage
            .env
            .holon(["runs", "replay", "last", "--supervisor", "strict"])
            .cwd(stage.repo.path())
            .run();
        level.assert_code(0).assert_stdout("replay byte for byte");
        let whole = stage.env.holon(["runs", "verify", "last"]).cwd(stage.repo.path()).run();
        whole.assert_code(0);
    }
}

#[test]
fn only_the_conversation_is_counted() {
    // A title of its own is no part of the conversation: no round is counted for it.
    for agent in ALL {
        let Some(stage) = RealAgentStage::set(agent, ModelPart::new(&["echo one"], LAST_WORDS)) else {
            continue;
        };
        stage.run("execute", &[]).run().assert_code(0);
        let events = events(&stage);
        assert_eq!(facts(&events, "round_started").count(), 2, "{agent}");
        assert_eq!(facts(&events, "model_done").count(), 1, "{agent}");
    }
}
