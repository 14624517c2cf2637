//! INV-06: the real key is nowhere inside the walls, and in nothing that is written.

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_model::{ModelError, ModelErrorKind};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use holon_testkit::{CommandEnd, TestEnv, for_each_identity};
use serde_json::json;

use crate::stage::{
    BIN, KEY, PlayedProvider, artifact, asking, ended, events, files_below, named, of_type, out, repo, run,
};

/// A key in nobody's shape: only the host knows that it is one.
const PLAIN: &str = "corp gateway 7f3a/9b2c+4d5e";

/// Looks for keys wherever a process inside can look. It knows them by a pattern only, so that it does not find itself, and
/// looks for a decoy too, which it planted: a search that cannot find anything proves nothing.
const SPY: &str = r#"#!/usr/bin/perl
my $decoy = "sk-or-v1-" . ("dec0de00" x 8);
$ENV{DECOY} = $decoy;
my $child = fork // die;
if (!$child) { exec "sleep", "600" }
open(my $f, ">", "/tmp/decoy") or die; print $f $decoy; close $f;
my %found; my $read = 0;
sub look { my ($where, $bytes) = @_;
  while ($bytes =~ /sk-or-v1-(?:(c0ffee00)|dec0de00){8}/g) { $found{($1 ? "CANARY" : "decoy") . " in $where"}++ } }
sub slurp { my ($path) = @_; open(my $h, "<", $path) or return ""; binmode $h; local $/; $read++; my $all = <$h>; $all // "" }
select(undef, undef, undef, 0.05) until slurp("/proc/$child/cmdline") =~ /^sleep/;
for my $p (glob "/proc/[0-9]*") {
  look($_, slurp("$p/$_")) for qw(environ cmdline status comm stat mountinfo);
  open(my $mem, "<", "$p/mem") or next; binmode $mem;
  for (split /\n/, slurp("$p/maps")) {
    my ($from, $to) = /^([0-9a-f]+)-([0-9a-f]+) r/ or next;
    no warnings; $from = hex $from; $to = hex $to; next if $to - $from > (64 << 20) || $from > 0x7fffffffffff;
    sysseek($mem, $from, 0) or next; my $bytes; sysread($mem, $bytes, $to - $from) or next; look("memory", $bytes);
  }
}
for my $path (split /\0/, `find / \\( -path /proc -o -path /sys \\) -prune -o -type f -newermt '-3 hours' -size -4M -print0 2>/dev/null`) {
  look("files", slurp($path)) }
kill 9, $child;
print "$_\n" for sort keys %found; print "read $read files\n";
"#;

/// Everything that was written or said, wherever; panics where it holds one of these.
#[track_caller]
fn assert_nowhere(env: &TestEnv, output: &CommandEnd, keys: &[&str]) {
    let mut all = files_below(&env.state());
    all.extend(files_below(&env.cache()));
    all.extend(files_below(&out(env)));
    all.extend(files_below(&env.work()).into_iter().filter(|(path, _)| path.ends_with("tape.yaml")));
    assert!(all.len() > 8, "there is something to search: {all:?}");
    all.push(("standard output".into(), output.stdout_bytes.clone()));
    all.push(("standard error".into(), output.stderr.clone().into_bytes()));
    for (path, bytes) in &all {
        for key in keys {
            let found = bytes.windows(key.len()).any(|window| window == key.as_bytes());
            assert!(!found, "{key} is in {}", path.display());
        }
    }
}

fn call(name: &str, args: serde_json::Value) -> CassetteStep {
    CassetteStep::Call(CassetteCall {
        name: name.to_owned(),
        arguments: args.to_string(),
        ..CassetteCall::default()
    })
}

fn turn(steps: Vec<CassetteStep>) -> ScriptedResponse {
    CassetteTurn { steps, ..CassetteTurn::default() }.into()
}

#[test]
fn inv_06_no_process_inside_can_find_the_key() {
    for_each_identity(BIN, |env| {
        let repo = repo(env).executable("spy.pl", SPY);
        for place in ["home/.netrc", "home/.config/holon/config.toml", "tmp/secret", "config/holon/x"] {
            env.write(place, KEY);
        }
        let script = "
- tool: execute
  args: { command: \"perl spy.pl\" }
- tool: execute
  args: { command: \"env; set; cat /proc/*/environ /proc/*/cmdline /proc/*/maps 2>/dev/null | strings\", timeout: 20 }
- tool: finish
  args: { summary: Looked everywhere. }
";
        let server = ModelServer::play(PlayedProvider::OpenRouter.wire(), script);
        let tape = env.work().join("tape.yaml");
        let call = asking(
            run(env, &repo, "execute", &["--json", "--record"]).arg(&tape),
            PlayedProvider::OpenRouter,
            &server,
        );
        let output = call.run();
        ended(env, &output, 0);
        assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));

        // What the agent saw is what the next request told the model.
        let requests = server.requests();
        let seen = requests[1].body["messages"].to_string();
        assert!(!seen.contains("CANARY"), "{seen}");
        for place in ["environ", "memory", "files"] {
            assert!(seen.contains(&format!("decoy in {place}")), "the search works in {place}: {seen}");
        }
        for request in &requests {
            assert!(!request.body.to_string().contains("c0ffee00c0ffee00"), "it never came back in a body");
        }
        assert!(tape.exists());
        assert_nowhere(env, &output, &[KEY, "c0ffee00c0ffee00"]);
    });
}

#[test]
fn inv_06_a_key_in_an_error_is_not_repeated() {
    for (who, key) in [
        (PlayedProvider::OpenRouter, KEY),
        (PlayedProvider::Anthropic, PLAIN),
        (PlayedProvider::Compatible, PLAIN),
    ] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let error = ModelError::new(ModelErrorKind::Auth, format!("Incorrect API key provided: {key}."));
        let server = ModelServer::start(who.wire(), [CassetteTurn::error(error).into()]);
        let tape = env.work().join("tape.yaml");
        let call = run(&env, &repo, "execute", &["--record"]).arg(&tape);
        let output = named(call, who, &server.base()).env(who.key_variable(), key).run();
        let manifest = ended(&env, &output, 1);
        assert_eq!(manifest["error"]["kind"], "credentials", "{manifest:#}");
        let message = manifest["error"]["message"].as_str().unwrap();
        assert!(message.contains("Incorrect API key"), "{message}");
        assert!(message.contains(&format!("the key is the one in {}", who.key_variable())), "{message}");
        assert_nowhere(&env, &output, &[key]);
    }
}

#[test]
fn a_server_of_ones_own_that_wants_a_key_names_the_variable() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let error = ModelError::new(ModelErrorKind::Auth, "Who are you?");
    let server = ModelServer::start(PlayedProvider::Compatible.wire(), [CassetteTurn::error(error).into()]);
    let output = named(run(&env, &repo, "execute", &[]), PlayedProvider::Compatible, &server.base()).run();
    ended(&env, &output, 1);
    output.assert_stderr("Who are you?").assert_stderr("no key was sent, since HOLON_API_KEY is not set");
}

/// A server that gives the key away in every place of a reply.
fn telltale(who: PlayedProvider, key: &str, write: bool) -> ModelServer {
    let half = key.len() / 2;
    let mut turns = vec![
        turn(vec![
            CassetteStep::Reasoning(holon_model::Reasoning {
                text: format!("The key is {key}."),
                seal: None,
            }),
            // In two pieces, and whole.
            CassetteStep::Text(format!("It begins with {}", &key[..half])),
            CassetteStep::Text(format!("{} and is {key}", &key[half..])),
            call(
                "execute",
                json!({"command": format!("echo '{key}' | tee /tmp/key /holon/output/note.txt; echo '{key}' | base64 -w0")}),
            ),
            call("read_file", json!({"path": key})),
            call(key, json!({})),
        ]),
        turn(vec![call("write_todos", json!({"todos": [{"text": key, "status": "doing"}]}))]),
    ];
    if write {
        turns.push(turn(vec![call(
            "write_file",
            json!({"path": "b.txt", "content": format!("key = {key}\n")}),
        )]));
    }
    turns.push(turn(vec![call("finish", json!({"summary": format!("The key is {key}.")}))]));
    ModelServer::start(who.wire(), turns)
}

#[test]
fn inv_06_a_key_in_a_reply_is_written_nowhere() {
    for (who, key) in [(PlayedProvider::Anthropic, KEY), (PlayedProvider::OpenRouter, PLAIN)] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let server = telltale(who, key, false);
        let tape = env.work().join("tape.yaml");
        let call = run(&env, &repo, "execute", &["--json", "--record"]).arg(&tape);
        let output = named(call, who, &server.base()).env(who.key_variable(), key).run();
        ended(&env, &output, 0);
        assert!(artifact(&env, "summary.md").contains("[redacted:"), "{}", artifact(&env, "summary.md"));
        assert!(of_type(&events(&env), "tool_finished").len() >= 3);
        assert_nowhere(&env, &output, &[key]);
    }
}

#[test]
fn inv_06_a_key_written_into_a_file_is_withheld() {
    for (who, key) in [(PlayedProvider::OpenRouter, KEY), (PlayedProvider::OpenRouter, PLAIN)] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let server = telltale(who, key, true);
        let output = {
            let call = run(&env, &repo, "execute", &["--record"]).arg(env.work().join("tape.yaml"));
            named(call, who, &server.base()).env(who.key_variable(), key).run()
        };
        let manifest = ended(&env, &output, 2);
        assert_eq!(manifest["error"]["kind"], "secret", "{manifest:#}");
        assert!(!out(&env).join("diff.patch").exists());
        let withheld = artifact(&env, "evidence/withheld.patch");
        assert!(withheld.contains("b.txt"), "{withheld}");
        assert_nowhere(&env, &output, &[key]);
    }
}

#[test]
fn inv_06_a_key_in_the_name_of_a_file_is_withheld_as_in_its_content() {
    for key in [KEY, PLAIN] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let left =
            format!("mkdir -p \"/holon/output/$(dirname '{key}')\"; echo hi > '/holon/output/{key}.txt'");
        let turns = [
            turn(vec![
                call("write_file", json!({"path": format!("notes/{key}"), "content": "hello\n"})),
                call("execute", json!({"command": left})),
            ]),
            // The supervisor wants the check to have run before it lets it end.
            turn(vec![call("finish", json!({"summary": "Left a note."}))]),
            turn(vec![call("finish", json!({"summary": "Left a note."}))]),
        ];
        let server = ModelServer::start(PlayedProvider::OpenRouter.wire(), turns);
        let flags = ["--json", "--check", "ls -R notes", "--record"];
        let call = run(&env, &repo, "execute", &flags).arg(env.work().join("tape.yaml"));
        let output =
            named(call, PlayedProvider::OpenRouter, &server.base()).env("OPENROUTER_API_KEY", key).run();
        let manifest = ended(&env, &output, 2);
        assert_eq!(manifest["error"]["kind"], "secret", "{manifest:#}");
        assert!(manifest["error"]["message"].as_str().unwrap().contains("name"), "{manifest:#}");
        assert!(!out(&env).join("diff.patch").exists());
        let withheld = artifact(&env, "evidence/withheld.patch");
        assert!(withheld.contains("notes/[redacted:"), "{withheld}");
        let warnings = manifest["metadata"]["warnings"].to_string();
        assert!(warnings.contains("a file the agent left is not kept"), "{manifest:#}");
        assert_nowhere(&env, &output, &[key]);
        // Names are not read by looking into files.
        for (path, _) in files_below(&env.state()).into_iter().chain(files_below(&out(&env))) {
            assert!(!path.to_string_lossy().contains(key), "{}", path.display());
        }
    }
}

#[test]
fn inv_06_a_key_in_the_goal_is_taken_out() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let look = turn(vec![call("execute", json!({"command": "grep -r . /holon/input"}))]);
    let finish = turn(vec![call("finish", json!({"summary": "Looked."}))]);
    let server = ModelServer::start(PlayedProvider::OpenRouter.wire(), [look, finish]);
    let goal = format!("Say what {PLAIN} opens");
    let call = env.holon(["run", "--goal", &goal, "--out"]).arg(out(&env)).cwd(repo.path());
    let output =
        named(call, PlayedProvider::OpenRouter, &server.base()).env("OPENROUTER_API_KEY", PLAIN).run();
    ended(&env, &output, 0);
    output.assert_stderr("the goal held what looks like a credential");
    for request in server.requests() {
        let body = request.body.to_string();
        assert!(body.contains("[redacted:OPENROUTER_API_KEY] opens") && !body.contains(PLAIN), "{body}");
    }
    assert_nowhere(&env, &output, &[PLAIN]);
}
