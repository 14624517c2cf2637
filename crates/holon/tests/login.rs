//! A run of an agent whose owner is logged in and has no key.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use holon_model::{Cassette, WireFormat};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use holon_testkit::{CommandEnd, TestEnv, TestWorkspace};
use serde_json::{Value, json};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Asks its model once, as Claude Code would, and does one thing.
const CLAUDE: &str = r#"#!/usr/bin/perl
use IO::Socket::INET;
my ($place) = $ENV{ANTHROPIC_BASE_URL} =~ m{//([^/]+)};
my $door = IO::Socket::INET->new($place) or die "no door at $place";
my $body = '{"model":"any","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}';
my $length = length $body;
print $door "POST /v1/messages?beta=true HTTP/1.1\r\nhost: $place\r\nx-api-key: $ENV{ANTHROPIC_API_KEY}\r\n"
  . "anthropic-beta: interleaved-thinking-2025-05-14\r\n"
  . "content-type: application/json\r\ncontent-length: $length\r\nconnection: close\r\n\r\n$body";
my $answer = do { local $/; <$door> };
die $answer unless $answer =~ m{^HTTP/1.1 200};
open(my $file, ">", "b.txt") or die;
print $file join("\n", map { "$_=$ENV{$_}" } sort keys %ENV);
print '{"type":"assistant","message":{"content":[{"type":"text","text":"I wrote b.txt, as I was asked to."}]}}', "\n";
print '{"type":"result","subtype":"success","is_error":false,"result":"I wrote b.txt, as I was asked to."}', "\n";
"#;

struct Stage {
    env: TestEnv,
    repo: TestWorkspace,
    agents: PathBuf,
    server: ModelServer,
}

impl Stage {
    /// Claude Code is installed, and its servers answer with this.
    fn new(script: impl IntoIterator<Item = ScriptedResponse>, renewal: (u16, Value)) -> Self {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        let program = env.write("installed/claude-code/node_modules/.bin/claude", CLAUDE);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let server = ModelServer::start(WireFormat::Messages, script);
        let server =
            server.with_answer("/oauth/token", renewal.0, "application/json", &renewal.1.to_string());
        let config = format!(
            "[logins.claude]\nbase = \"{}\"\ntoken_endpoint = \"{}/oauth/token\"\n",
            server.base(),
            server.base().trim_end_matches("/v1")
        );
        env.write(env.config().join("holon/config.toml"), config);
        let agents = program.ancestors().nth(4).unwrap().to_owned();
        Self { env, repo, agents, server }
    }

    fn log_in(&self, ends_in: i64, mode: u32) -> PathBuf {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        let ends = i64::try_from(now).unwrap() + ends_in * 1000;
        let login = json!({"claudeAiOauth": {
            "accessToken": "sk-ant-oat01-canary-old", "refreshToken": "sk-ant-ort01-canary-old",
            "expiresAt": ends, "scopes": ["user:inference"], "subscriptionType": "max",
        }});
        let file = self.env.write(self.env.home().join(".claude/.credentials.json"), login.to_string());
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    fn run(&self) -> CommandEnd {
        let args =
            ["run", "--goal", "Add b.txt", "--no-auto-checks", "--agent", "claude-code", "--out", "../out"];
        self.env.holon(args).cwd(self.repo.path()).env("HOLON_AGENTS_DIR", &self.agents).run()
    }

    /// No token is anywhere but in the login itself.
    fn assert_no_canary(&self, output: &CommandEnd) {
        assert!(!format!("{}{}", output.stdout, output.stderr).contains("canary"), "{output:?}");
        for place in [self.env.state(), self.env.work(), self.env.cache(), self.env.config()] {
            let found = self.env.program("grep").args(["-rl", "canary"]).arg(&place).run();
            assert_eq!(found.stdout, "", "a token below {}", place.display());
        }
    }
}

fn answer() -> ScriptedResponse {
    let cassette: Cassette = "- text: hello\n".parse().unwrap();
    ScriptedResponse::from(cassette.turns.into_iter().next().unwrap())
}

fn renewed() -> (u16, Value) {
    let tokens = json!({"access_token": "sk-ant-oat01-canary-new", "refresh_token": "sk-ant-ort01-canary-new", "expires_in": 3600});
    (200, tokens)
}

#[test]
fn inv_06_a_login_serves_a_run_without_a_key_and_stays_outside() {
    let refusal = ScriptedResponse::json(
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"expired"}}"#,
    );
    let stage = Stage::new([refusal, answer()], renewed());
    let file = stage.log_in(3600, 0o600);
    let output = stage.run();
    output.assert_code(0);
    let seen = stage.server.requests();
    let shown: Vec<_> = seen.iter().map(|seen| seen.header("authorization").unwrap()).collect();
    assert_eq!(shown, ["Bearer sk-ant-oat01-canary-old", "Bearer sk-ant-oat01-canary-new"]);
    for seen in &seen {
        assert_eq!(seen.header("x-api-key"), None);
        assert_eq!(seen.header("anthropic-beta"), Some("interleaved-thinking-2025-05-14,oauth-2025-04-20"));
        assert!(seen.path.starts_with("/v1/messages"), "{}", seen.path);
    }
    let login: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(login["claudeAiOauth"]["refreshToken"], "sk-ant-ort01-canary-new");
    assert_eq!(login["claudeAiOauth"]["subscriptionType"], "max");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    let manifest = fs::read_to_string(stage.env.work().join("out/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let why = manifest["metadata"]["model"]["why"].as_str().unwrap();
    assert!(
        why.contains("serves the Claude login that claude-code keeps") && !why.contains("ANTHROPIC_API_KEY"),
        "{why}"
    );
    stage.assert_no_canary(&output);
}

#[test]
fn a_login_that_has_ended_is_renewed_before_anything_is_started() {
    let stage = Stage::new([answer()], renewed());
    stage.log_in(-10, 0o600);
    let output = stage.run();
    output.assert_code(0);
    let seen = stage.server.requests();
    assert_eq!(seen[0].header("authorization"), Some("Bearer sk-ant-oat01-canary-new"));
    stage.assert_no_canary(&output);
}

#[test]
fn what_is_wrong_with_a_login_is_one_sentence_and_nothing_is_started() {
    let refused = (400, json!({"error": "invalid_grant"}));
    for (ends_in, mode, renewal, words) in [
        (-10, 0o600, refused, "log in again with `claude auth login`"),
        (3600, 0o644, renewed(), "chmod 600"),
    ] {
        let stage = Stage::new([], renewal);
        let file = stage.log_in(ends_in, mode);
        let before = fs::read(&file).unwrap();
        let output = stage.run();
        output.assert_stderr(words);
        assert_ne!(output.code, 0);
        assert_eq!(stage.server.requests().len(), 0);
        assert_eq!(fs::read(&file).unwrap(), before);
        stage.assert_no_canary(&output);
    }
}

#[test]
fn logins_are_listed_and_checked_without_a_secret() {
    let stage = Stage::new([], renewed());
    let call = |args: &[&str]| stage.env.holon(args.iter().copied()).cwd(stage.repo.path()).run();
    call(&["login", "list"]).assert_code(0).assert_stderr("no agent is logged in");
    call(&["login", "check"]).assert_code(1).assert_stdout("nobody is logged in");
    let later = stage.env.write(
        stage.env.home().join(".claude/.credentials.json"),
        r#"{"version": 7, "accounts": [{"oauth": {"token": "canary"}}]}"#,
    );
    fs::set_permissions(&later, fs::Permissions::from_mode(0o600)).unwrap();
    for args in [&["login", "list"][..], &["login", "check"], &["login", "check", "claude-code"]] {
        let told = call(args);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(said.contains("newer than this version") && !said.contains("canary"), "{said}");
        assert!(!said.contains("nobody is logged in") && !said.contains("no agent is logged in"), "{said}");
    }
    fs::remove_file(&later).unwrap();
    call(&["login", "check", "claude-code"])
        .assert_code(1)
        .assert_stdout("`claude auth login` makes a Claude login");
    call(&["login", "check", "claud-code"]).assert_code(64).assert_stderr("did you mean `claude-code`?");
    let file = stage.log_in(3600, 0o600);
    let listed = call(&["login", "list"]);
    listed.assert_code(0).assert_stdout("Claude max").assert_stdout("renewed when needed");
    let doctor = call(&["doctor", "--json"]);
    let credentials: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let own = credentials["credentials"].as_array().unwrap();
    let of = |agent: &str| own.iter().find(|row| row["agent"] == agent).unwrap();
    assert_eq!(of("claude-code")["chosen"], json!({"kind": "login", "name": "claude"}));
    assert_eq!(of("native")["chosen"], Value::Null);
    assert!(
        of("native")["reasons"].to_string().contains("was made for claude-code, so native may not use it")
    );
    let select = |more: &[&str]| {
        let call = stage.env.holon(["models", "select", "--intent", "code", "--explain"]).args(more);
        call.cwd(stage.repo.path()).env("ANTHROPIC_API_KEY", "canary-key-of-a-provider").run()
    };
    let explained = select(&[]);
    explained
        .assert_code(0)
        .assert_stdout("Credentials, when none is named")
        .assert_stdout("There is a key in ANTHROPIC_API_KEY, and a key comes before a login.");
    let rows = select(&["--json"]);
    let told = rows.json();
    let own = &told["credentials"][1];
    assert_eq!((&own["agent"], &own["chosen"]["kind"]), (&json!("claude-code"), &json!("key")));
    assert!(own["reasons"].to_string().contains("`claude` comes later"), "{own}");
    assert!(!format!("{doctor}{explained}{rows}").contains("canary"));
    let all = call(&["login", "list", "--all"]);
    all.assert_code(0).assert_stderr("codex: log in with `codex login`");
    let json: Value = serde_json::from_str(&call(&["login", "list", "--json"]).stdout).unwrap();
    assert_eq!(json["logins"][0]["name"], "claude");
    assert_eq!(
        (&json["logins"][0]["usable"], &json["logins"][0]["standing"]),
        (&json!(true), &json!("ready"))
    );
    call(&["login", "check", "claude-code"])
        .assert_code(0)
        .assert_stdout("runs of claude-code can use the Claude login");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let checked = call(&["login", "check", "--json"]);
    checked.assert_code(1).assert_stdout("chmod 600");
    for output in [listed, all, checked] {
        assert!(!format!("{}{}", output.stdout, output.stderr).contains("canary"));
    }
}
