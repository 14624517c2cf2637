//! What whoever watches gets to see of a run: its log, its counts, its spans, and never a key or a word of it.

use std::collections::BTreeSet;
use std::fs;

use holon_testkit::collector::{Collector, MetricNumber, ReceivedSpan};
use holon_testkit::model::ModelServer;
use holon_testkit::{CommandEnd, TestEnv};
use serde_json::{Value, json};

use crate::stage::{BIN, EDIT, KEY, PlayedProvider, artifact, asking, ended, files_below, out, repo, run};

/// A key of the collector's, in nobody's shape.
const OTHER: &str = "collector key 5e1f/77aa+0c2d";

/// What the model calls itself.
const ANSWERING: &str = "claude-sonnet-5.5-of-today";

/// Asks the model behind the gateway once, as an agent that thinks inside does.
const ASKER: &str = r#"#!/usr/bin/perl
use IO::Socket::INET;
my ($place) = $ENV{DOOR} =~ m{//([^/]+)};
my $door = IO::Socket::INET->new($place) or die "no door at $place";
my $body = '{"model":"any","messages":[{"role":"user","content":"a part of the conversation"}]}';
my $length = length $body;
print $door "POST /v1/chat/completions HTTP/1.1\r\nhost: $place\r\nauthorization: Bearer $ENV{TOKEN}\r\n"
  . "content-type: application/json\r\ncontent-length: $length\r\nconnection: close\r\n\r\n$body";
my $answer = do { local $/; <$door> };
die $answer unless $answer =~ m{^HTTP/1.1 200};
open(my $summary, ">", "/holon/output/summary.md") or die;
print $summary "Asked.\n";
"#;

/// Every line of standard error, each a JSON object.
#[track_caller]
fn lines(output: &CommandEnd) -> Vec<Value> {
    let lines = output.stderr.lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The log of the only request in a mode.
#[track_caller]
fn stored_log(env: &TestEnv, mode: &str) -> Vec<Value> {
    let logs = files_below(&env.state().join("holon/logs").join(mode));
    let found: Vec<_> = logs.iter().filter(|(path, _)| path.ends_with("log.jsonl")).collect();
    assert_eq!(found.len(), 1, "{logs:?}");
    let text = String::from_utf8(found[0].1.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Panics where anything that was written, said or sent holds one of these.
#[track_caller]
fn assert_nowhere(env: &TestEnv, output: &CommandEnd, collector: Option<&Collector>, secrets: &[&str]) {
    let mut all = files_below(&env.state());
    all.extend(files_below(&out(env)));
    all.push(("standard output".into(), output.stdout_bytes.clone()));
    all.push(("standard error".into(), output.stderr.clone().into_bytes()));
    for post in collector.map(Collector::posts).unwrap_or_default() {
        all.push((post.path.into(), post.body));
    }
    assert!(all.len() > 8, "there is something to search: {all:?}");
    for (path, bytes) in &all {
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
}

/// A run that edits a file, for whom the user named a collector in their own file.
fn told_to(env: &TestEnv, collector: &Collector) -> (CommandEnd, ModelServer) {
    env.write(
        env.config().join("holon/config.toml"),
        format!("[telemetry]\notlp_endpoint = '{}'\n", collector.url()),
    );
    let repo = repo(env);
    let script = EDIT.replace("  usage:", &format!("  model: {ANSWERING}\n  usage:"));
    let server = ModelServer::play(PlayedProvider::OpenRouter.wire(), &script);
    let call = asking(run(env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server);
    let headers = format!("authorization=Bearer%20{},x-scope=one", OTHER.replace(' ', "%20"));
    (call.env("OTEL_EXPORTER_OTLP_HEADERS", headers).run(), server)
}

#[test]
fn every_dispatch_is_logged_with_the_named_fields() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let server = ModelServer::play(PlayedProvider::OpenRouter.wire(), EDIT);
    let call = run(&env, &repo, "execute", &["--log-format", "json"]);
    let output = asking(call, PlayedProvider::OpenRouter, &server).run();
    let manifest = ended(&env, &output, 0);
    let log = stored_log(&env, "execute");
    let end = log.last().unwrap();
    assert_eq!(end["step"], "ended", "{log:#?}");
    for line in &log {
        for (field, value) in [("mode", "execute"), ("intent", "code")] {
            assert_eq!(line[field], value, "{line:#}");
        }
        assert_eq!(line["request_id"], log[0]["request_id"], "{line:#}");
    }
    let request = end["request_id"].as_str().unwrap();
    assert_eq!((request.len(), &request[14..15]), (36, "4"), "a random UUID: {request}");
    assert_eq!(end["provider"], "openrouter", "{end:#}");
    assert_eq!(end["model"], "anthropic/claude-sonnet-5.5", "{end:#}");
    assert_eq!(end["run_id"], manifest["run_id"]);
    assert_eq!(end["timings"]["duration_ms"], manifest["duration_ms"]);
    assert_eq!(end["timings"]["started_at"], manifest["started_at"]);
    assert_eq!(end["timings"]["phases_ms"]["execute"], manifest["phases"]["execute"]["duration_ms"]);
    assert_eq!(end["child_tasks"], json!([]));
    assert_eq!(end["decision"]["is"], "next", "{end:#}");
    assert_eq!((&end["success"], &end["outcome"]), (&json!(true), &json!("success")));

    // The same lines are on standard error, where nothing but JSON is.
    let said = lines(&output);
    for line in &log {
        assert!(said.contains(line), "{line:#}\n{said:#?}");
    }
    assert!(said.iter().any(|line| line["level"] == "info" && line["message"].is_string()), "{said:#?}");
    assert_nowhere(&env, &output, None, &[KEY, "Bearer"]);
}

#[test]
fn a_failure_is_logged_as_one() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let error =
        holon_model::ModelError::new(holon_model::ModelErrorKind::Auth, format!("no such key: {KEY}"));
    let server = ModelServer::start(
        PlayedProvider::OpenRouter.wire(),
        [holon_model::cassette::CassetteTurn::error(error).into()],
    );
    let collector = Collector::start();
    let call = asking(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server)
        .env("HOLON_LOG", "json");
    let output = call.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).run();
    ended(&env, &output, 1);
    let end = stored_log(&env, "execute").pop().unwrap();
    assert_eq!((&end["success"], &end["decision"]["is"]), (&json!(false), &json!("escalate")), "{end:#}");
    assert!(lines(&output).contains(&end));
    let spans = collector.spans();
    let chat = spans.iter().find(|span| span.name.starts_with("chat ")).unwrap();
    assert_eq!((chat.attributes["error.type"].as_str(), chat.error.as_deref()), (Some("auth"), Some("auth")));
    let whole = spans.iter().find(|span| span.name == "run execute").unwrap();
    assert_eq!(whole.attributes["error.type"], "credentials", "{whole:#?}");
    assert_eq!(whole.attributes["holon.outcome"], "failure");
    let failures: Vec<_> =
        collector.counts().into_iter().filter(|c| c.name == "mode_failures_total").collect();
    assert_eq!((failures.len(), &failures[0].number), (1, &MetricNumber::Sum(1)));
    assert_nowhere(&env, &output, Some(&collector), &[KEY, "c0ffee00c0ffee00"]);
}

#[test]
fn what_the_host_did_is_written_down_for_a_report_of_a_bug() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let traced = |wanted: &str, leaves: bool| {
        let error =
            holon_model::ModelError::new(holon_model::ModelErrorKind::Auth, format!("no such key: {KEY}"));
        let server = ModelServer::start(
            PlayedProvider::OpenRouter.wire(),
            [holon_model::cassette::CassetteTurn::error(error).into()],
        );
        let call = asking(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server);
        let output = call.env("HOLON_TRACE", wanted).run();
        ended(&env, &output, 1);
        let file = out(&env).join("evidence/host-trace.log");
        assert_eq!(file.exists(), leaves, "{wanted}: {}", output.stderr);
        let text = if leaves { fs::read_to_string(file).unwrap() } else { String::new() };
        assert_nowhere(&env, &output, None, &[KEY]);
        fs::remove_dir_all(out(&env)).unwrap();
        (text, output.stderr)
    };
    let (text, _) = traced("debug,git=trace", true);
    for expect in [
        " info  holon_host::run begins a run mode=\"execute\"",
        "holon_git::command git ended",
        "holon_sandbox::snapshot::take takes a snapshot",
        "holon_host::run::execute walls stand backend=\"native\"",
        " warn  holon_model::retrying gives up on a request to a model failures=1",
    ] {
        assert!(text.contains(expect), "{expect} is not in\n{text}");
    }
    let (text, _) = traced("host=info", true);
    assert!(
        text.contains("ends a phase") && text.lines().all(|line| line.contains(" holon_host::")),
        "{text}"
    );
    traced("off", false);
    let (_, said) = traced("hots=debug", false);
    let expect = "nothing is traced: HOLON_TRACE: `hots` is no part of holon (did you mean `host`?)";
    assert!(said.contains(expect), "{said}");
}

#[test]
fn a_run_is_a_trace_by_the_conventions() {
    let env = TestEnv::new(BIN);
    let collector = Collector::start();
    let (output, server) = told_to(&env, &collector);
    let manifest = ended(&env, &output, 0);
    let spans = collector.spans();
    let named =
        |name: &str| -> Vec<&ReceivedSpan> { spans.iter().filter(|span| span.name == name).collect() };
    let whole = named("run execute")[0];
    assert_eq!((whole.parent.as_ref(), whole.kind, whole.error.as_ref()), (None, 1, None), "{whole:#?}");
    assert_eq!(whole.resource["service.name"], "holon");
    let end = stored_log(&env, "execute").pop().unwrap();
    for (key, value) in [
        ("holon.mode", json!("execute")),
        ("holon.request_id", end["request_id"].clone()),
        ("holon.task_id", end["task_id"].clone()),
        ("holon.intent", json!("code")),
        ("holon.attempt", json!(1)),
        ("holon.decision", json!("next")),
        ("holon.outcome", json!("success")),
        ("holon.run_id", manifest["run_id"].clone()),
        ("gen_ai.agent.name", json!("native")),
    ] {
        assert_eq!(whole.attributes.get(key), Some(&value), "{key}: {whole:#?}");
    }
    // Everything else is a part of it, within its time.
    let ids: BTreeSet<&String> = spans.iter().map(|span| &span.id).collect();
    assert_eq!(ids.len(), spans.len(), "no name is given twice");
    for span in spans.iter().filter(|span| span.name != "run execute") {
        assert_eq!((&span.trace, span.parent.as_ref()), (&whole.trace, Some(&whole.id)), "{span:#?}");
        // Events are told in milliseconds.
        assert!(span.start_ns + 1_000_000 >= whole.start_ns && span.end_ns <= whole.end_ns, "{span:#?}");
    }
    let chats = named("chat anthropic/claude-sonnet-5.5");
    assert_eq!(chats.len(), 3, "{spans:#?}");
    let port = server.base().split(':').nth(2).unwrap().split('/').next().unwrap().parse::<u64>().unwrap();
    for chat in &chats {
        assert_eq!(chat.kind, 3, "a client");
        for (key, value) in [
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!("openrouter")),
            ("gen_ai.request.model", json!("anthropic/claude-sonnet-5.5")),
            ("server.address", json!("127.0.0.1")),
            ("server.port", json!(port)),
        ] {
            assert_eq!(chat.attributes.get(key), Some(&value), "{key}: {chat:#?}");
        }
        assert_eq!(chat.attributes["gen_ai.response.finish_reasons"], json!(["tool_calls"]), "{chat:#?}");
    }
    let told = |key: &str| chats.iter().filter_map(|chat| chat.attributes.get(key)).collect::<Vec<_>>();
    for (key, value) in [
        ("gen_ai.usage.input_tokens", json!(1000)),
        ("gen_ai.usage.output_tokens", json!(50)),
        ("gen_ai.response.model", json!(ANSWERING)),
    ] {
        assert_eq!(told(key), [&value], "what is told once is there once: {chats:#?}");
    }
    for tool in ["read_file", "ls", "edit_file", "finish"] {
        let calls = named(&format!("execute_tool {tool}"));
        assert_eq!(calls.len(), 1, "{tool}: {spans:#?}");
        assert_eq!(calls[0].attributes["gen_ai.operation.name"], "execute_tool");
        assert_eq!(calls[0].attributes["gen_ai.tool.name"], tool);
    }
}

#[test]
fn no_word_and_no_key_goes_to_a_collector() {
    let env = TestEnv::new(BIN);
    let collector = Collector::start();
    let (output, _server) = told_to(&env, &collector);
    ended(&env, &output, 0);
    let posts = collector.posts();
    assert!(
        posts.iter().any(|post| post.path == "/v1/traces")
            && posts.iter().any(|post| post.path == "/v1/metrics")
    );
    for post in &posts {
        assert_eq!(post.headers["authorization"], format!("Bearer {OTHER}"));
        assert_eq!(post.headers["x-scope"], "one");
        let body = String::from_utf8_lossy(&post.body);
        // The goal, what was said and thought, arguments, results, files, folders.
        for word in
            ["Do it", "Let me see", "hm", "I will change", "says two", "a.txt", "\"one", "two", "holon-test-"]
        {
            let quoted = format!("\"{word}\"");
            let there = if word.len() < 4 { body.contains(&quoted) } else { body.contains(word) };
            assert!(!there, "{word} in {body}");
        }
    }
    assert_nowhere(&env, &output, Some(&collector), &[KEY, "c0ffee00c0ffee00", OTHER, "5e1f/77aa"]);
    let counts = collector.counts();
    let of = |name: &str| {
        let found = counts.iter().find(|count| count.name == name && count.mode == "execute");
        &found.unwrap_or_else(|| panic!("{name}: {counts:?}")).number
    };
    assert_eq!(of("mode_invocations_total"), &MetricNumber::Sum(1));
    assert_eq!(
        (of("mode_failures_total"), of("mode_retries_total")),
        (&MetricNumber::Sum(0), &MetricNumber::Sum(0))
    );
    let MetricNumber::Histogram { count, sum, .. } = of("mode_latency_ms") else { panic!("{counts:?}") };
    let manifest: Value = serde_json::from_str(&artifact(&env, "manifest.json")).unwrap();
    assert_eq!((*count, Some(*sum)), (1, manifest["duration_ms"].as_f64()));
}

#[test]
fn a_repository_cannot_have_anything_sent() {
    let env = TestEnv::new(BIN);
    let collector = Collector::start();
    let repo = repo(&env).file("holon.toml", format!("[telemetry]\notlp_endpoint = '{}'\n", collector.url()));
    let server = ModelServer::play(PlayedProvider::OpenRouter.wire(), EDIT);
    let output = asking(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server).run();
    ended(&env, &output, 0);
    assert_eq!(collector.posts().len(), 0, "{:?}", collector.posts());
    output.assert_stderr("telemetry.otlp_endpoint");
    output.assert_stderr("is not for a workspace to say; it is not used");
}

#[test]
fn a_collector_that_is_away_costs_two_lines_and_nothing_else() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refusing = Collector::answering("503 Service Unavailable");
    for (url, words, lost) in [
        (format!("http://{gone}"), "the connection failed", true),
        (refusing.url(), "status 503", true),
        ("not an address".to_owned(), "is no address of a collector", false),
    ] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let server = ModelServer::play(PlayedProvider::OpenRouter.wire(), EDIT);
        let call = asking(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server);
        let output = call.env("HOLON_TELEMETRY__OTLP_ENDPOINT", &url).run();
        ended(&env, &output, 0);
        let told: Vec<&str> = output.stderr.lines().filter(|line| line.contains("telemetry")).collect();
        // Why, as soon as it is known, and at the end how much.
        assert_eq!(told.len(), if lost { 2 } else { 1 }, "{}", output.stderr);
        assert_eq!(told.last().unwrap().contains("not delivered: "), lost, "{told:?}");
        assert!(told[0].starts_with("warning: telemetry: ") && told[0].contains(words), "{told:?}");
        assert!(fs::read_to_string(out(&env).join("diff.patch")).unwrap().contains("two"));
    }
}

#[test]
fn an_agent_that_thinks_inside_is_seen_at_the_gateway() {
    let env = TestEnv::new(BIN);
    let collector = Collector::start();
    let agent = "name = \"asker\"\nkind = \"exec\"\ndescription = \"Asks once\"\n\
                 command = [\"perl\", \"/holon/workspace/ask.pl\"]\n[model]\nwire = \"chat\"\n\
                 [env]\nDOOR = \"{gateway}\"\nTOKEN = \"{token}\"\n";
    env.write(env.config().join("holon/agents/asker.toml"), agent);
    let repo = repo(&env).executable("ask.pl", ASKER);
    let script = format!("- text: hi\n  model: {ANSWERING}\n  usage: {{ input: 10, output: 5 }}\n");
    let server = ModelServer::play(PlayedProvider::OpenRouter.wire(), &script);
    let call =
        asking(run(&env, &repo, "execute", &["--agent", "asker"]), PlayedProvider::OpenRouter, &server);
    let output = call.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).run();
    assert_eq!(server.requests().len(), 1, "{output:?}");
    let spans = collector.spans();
    let whole = spans.iter().find(|span| span.name == "run execute").unwrap_or_else(|| panic!("{output:?}"));
    let chat =
        spans.iter().find(|span| span.name.starts_with("chat ")).unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!((chat.kind, chat.parent.as_ref(), &chat.trace), (3, Some(&whole.id), &whole.trace));
    for (key, value) in [
        ("gen_ai.provider.name", json!("openrouter")),
        ("gen_ai.request.model", json!("anthropic/claude-sonnet-5.5")),
        ("gen_ai.response.model", json!(ANSWERING)),
        ("gen_ai.usage.input_tokens", json!(10)),
        ("gen_ai.usage.output_tokens", json!(5)),
        ("gen_ai.response.finish_reasons", json!(["stop"])),
    ] {
        assert_eq!(chat.attributes.get(key), Some(&value), "{key}: {chat:#?}");
    }
    for post in collector.posts() {
        assert!(!String::from_utf8_lossy(&post.body).contains("part of the conversation"));
    }
    assert_nowhere(&env, &output, Some(&collector), &[KEY]);
}
