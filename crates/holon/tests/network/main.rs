//! The network by permit, with the real binary: servers on loopback play the world.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod git_host;
mod learn;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, for_each_identity};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// A server that answers everything and remembers what it was asked.
struct AskedServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl AskedServer {
    /// At an address of the loopback that is not the one clients take for their own machine.
    fn start() -> Self {
        Self::answering(|_| ("text/plain", "hello inside".to_owned()))
    }

    /// One that answers each path in its own way: with a form and a text.
    fn answering(reply: impl Fn(&str) -> (&'static str, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
                let (form, body) = reply(first.split(' ').nth(1).unwrap_or_default());
                seen.lock().unwrap().push(first);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {form}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat());
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Two servers, a repository, and an agent that asks for both in several ways.
struct TwoServers {
    open: AskedServer,
    shut: AskedServer,
    repo: TestWorkspace,
    agent: PathBuf,
}

impl TwoServers {
    fn new(env: &TestEnv) -> Self {
        let (open, shut) = (AskedServer::start(), AskedServer::start());
        let (a, b) = (open.address, shut.address);
        let agent = env.agent(
            "asks.sh",
            &format!(
                "#!/bin/sh\n\
                 echo '# Summary\nAsked.' > /holon/output/summary.md\n\
                 get() {{ name=$1; shift; \
                 curl --silent --max-time 20 --output body --write-out \"$name %{{http_code}} %{{time_total}}\\n\" \"$@\"; \
                 echo \"$name body $(cat body 2>/dev/null)\"; rm -f body; }}\n\
                 get open http://{a}/package\n\
                 get shut http://{b}/package\n\
                 get around-open --noproxy '*' http://{a}/around\n\
                 get around-shut --noproxy '*' http://{b}/around\n\
                 get tunnel --proxytunnel http://{b}/tunnel\n\
                 get own http://127.0.0.1:8001/\n",
            ),
        );
        Self { open, shut, repo: env.repo().file("a", "1\n").commit("first"), agent }
    }

    fn run(&self, env: &TestEnv, more: &[&str]) -> CommandEnd {
        let call = env.holon(["run", "--goal", "x", "--json", "--no-auto-checks", "--out"]);
        let call = call.arg(env.work().join("out")).args(more).arg("--agent").arg(&self.agent);
        call.cwd(self.repo.path()).run()
    }
}

/// What the agent printed, line by line.
fn printed(run: &CommandEnd) -> Vec<String> {
    let lines = run.events().into_iter().filter(|event| event["type"] == "output");
    lines.map(|event| event["text"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn line<'a>(lines: &'a [String], begins: &str) -> &'a str {
    lines
        .iter()
        .find(|line| line.starts_with(begins))
        .unwrap_or_else(|| panic!("no {begins:?} in {lines:#?}"))
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn inv_20_what_is_permitted_is_reached_and_the_rest_is_refused_and_recorded() {
    for_each_identity(BIN, |env| {
        let servers = TwoServers::new(env);
        let (open, shut) = (servers.open.address.to_string(), servers.shut.address.to_string());
        let run = servers.run(env, &["--allow-net", &open]);
        run.assert_code(0);
        let lines = printed(&run);
        assert!(line(&lines, "open ").starts_with("open 200 "), "{lines:#?}");
        assert_eq!(line(&lines, "open body"), "open body hello inside");
        // The client is told at once, and by which flag it would be allowed.
        let refused: Vec<&str> = line(&lines, "shut ").split(' ').collect();
        assert_eq!(refused[1], "403", "{lines:#?}");
        assert!(refused[2].parse::<f64>().unwrap() < 3.0, "{lines:#?}");
        let flag = format!("--allow-net {shut}");
        assert!(line(&lines, "shut body").contains(&flag), "{lines:#?}");
        // Around the proxy there is nothing, not even what is permitted; nor where no gateway was asked for.
        for way in ["around-open ", "around-shut ", "tunnel ", "own "] {
            assert!(line(&lines, way).starts_with(&format!("{way}000 ")), "{lines:#?}");
        }
        assert_eq!(servers.open.asked(), ["GET /package HTTP/1.1"]);
        assert_eq!(servers.shut.asked(), Vec::<String>::new());

        let events = run.events();
        let allowed = of_kind(&events, "network.allowed");
        assert_eq!((allowed.len(), &allowed[0]["target"]), (1, &Value::from(open.as_str())), "{allowed:#?}");
        let refusals = of_kind(&events, "network.refused");
        assert_eq!(refusals.len(), 2, "{refusals:#?}");
        assert!(refusals.iter().all(|event| event["flag"] == flag), "{refusals:#?}");
        let manifest = run.manifest(env.work().join("out"));
        let network = &manifest["metadata"]["network"];
        assert_eq!(network["permits"][0], open, "{network:#}");
        assert_eq!((&network["allowed"], &network["refused"]), (&1.into(), &2.into()), "{network:#}");
        assert_eq!(network["hosts"][&shut]["flag"], flag, "{network:#}");
        assert_eq!(manifest["metadata"]["sandbox"]["enforced"]["net_ns"], true);
        let shown = env.holon(["runs", "show", "last"]).cwd(servers.repo.path()).run();
        shown.assert_code(0).assert_stdout(&flag).assert_stdout(&open);
    });
}

#[test]
fn inv_20_without_a_permit_nothing_is_reached_whatever_the_repository_says() {
    for_each_identity(BIN, |env| {
        let servers = TwoServers::new(env);
        let (open, shut) = (servers.open.address, servers.shut.address);
        let toml = format!("[network]\nallow = [\"{open}\"]\nwants = [\"{shut}\", \"no host\"]\n");
        env.write(servers.repo.join("holon.toml"), toml);
        let run = servers.run(env, &[]);
        run.assert_code(0);
        let lines = printed(&run);
        for way in ["open ", "shut ", "around-open ", "around-shut ", "tunnel ", "own "] {
            assert!(line(&lines, way).starts_with(&format!("{way}000 ")), "{lines:#?}");
        }
        assert_eq!((servers.open.asked(), servers.shut.asked()), (Vec::new(), Vec::new()));
        let manifest = run.manifest(env.work().join("out"));
        assert_eq!(manifest["metadata"]["network"], Value::Null);
        // What it asks for is shown, with the flag.
        let warnings = manifest["metadata"]["warnings"].to_string();
        assert!(warnings.contains("network.allow") && warnings.contains("not for a workspace"), "{warnings}");
        assert!(warnings.contains(&format!("--allow-net {shut} permits it")), "{warnings}");
        assert!(warnings.contains("cannot be permitted"), "{warnings}");
    });
}

#[test]
fn the_users_configuration_permits_for_modes_that_change_things() {
    let env = TestEnv::new(BIN);
    let servers = TwoServers::new(&env);
    let open = servers.open.address.to_string();
    env.write("config/holon/config.toml", format!("[network]\nallow = [\"{open}\"]\n"));
    let run = servers.run(&env, &[]);
    run.assert_code(0);
    assert_eq!(line(&printed(&run), "open body"), "open body hello inside");
    for closed in [&["--network", "model"][..], &["--network", "none"], &["--mode", "plan"]] {
        let lines = printed(&servers.run(&env, closed));
        assert!(line(&lines, "open ").starts_with("open 000 "), "{closed:?}: {lines:#?}");
    }
    assert_eq!(servers.open.asked().len(), 1);
}

#[test]
fn commands_of_the_native_agent_reach_what_is_permitted() {
    for_each_identity(BIN, |env| {
        let servers = TwoServers::new(env);
        let (open, shut) = (servers.open.address, servers.shut.address);
        let tape = format!(
            "- tools:\n    - execute: {{ command: \"curl -s http://{shut}/x; curl -s http://{open}/package\" }}\n\
             - expect: {{ last: hello inside }}\n  tool: finish\n  args: {{ summary: \"Looked.\", status: done }}\n"
        );
        let tape = env.write("work/tape.yaml", tape);
        let call = env.holon(["run", "--goal", "x", "--no-auto-checks", "--out", "../out", "--allow-net"]);
        let call = call.arg(open.to_string()).arg("--replay").arg(tape).cwd(servers.repo.path());
        let run = call.run();
        run.assert_code(0).assert_stderr(&format!("--allow-net {shut} permits it"));
        assert_eq!((servers.open.asked().len(), servers.shut.asked().len()), (1, 0));
        let network = &run.manifest(env.work().join("out"))["metadata"]["network"];
        assert_eq!((&network["allowed"], &network["refused"]), (&1.into(), &1.into()), "{network:#}");
    });
}

#[test]
fn what_permits_nothing_is_refused_before_anything_starts() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a", "1\n").commit("first");
    let agent = env.agent("never.sh", "#!/bin/sh\nexit 1\n");
    for (given, said) in [
        (&["--allow-net", "nmp"][..], "npm"),
        (&["--allow-net", "https://example.org/x"], "name its host alone"),
        (&["--allow-net", "*"], "--network host"),
        (&["--allow-net", "localhost:80"], "127.0.0.1"),
        (&["--allow-net", "example.org", "--network", "none"], "--network"),
        (&["--allow-net", "example.org", "--network", "host"], "--network"),
        (
            &["--allow-net", "example.org", "--sandbox", "none", "--i-accept-no-isolation"],
            "without walls everything can be reached",
        ),
    ] {
        let call = env.holon(["run", "--goal", "x", "--agent"]).arg(&agent).args(given);
        call.cwd(repo.path()).run().assert_code(64).assert_stderr(said);
    }
}

#[test]
fn what_a_permit_stands_for_is_shown() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a", "1\n").commit("first");
    let show = |args: &[&str]| env.holon(["network", "show"]).args(args).cwd(repo.path()).run();
    show(&["*.example.org"]).assert_code(0).assert_stdout("at ports 443 and 80");
    show(&["--json", "example.org:8443"]).assert_code(0).assert_stdout("example.org:8443");
    show(&["nmp"]).assert_code(64).assert_stderr("npm");
    show(&["git:origin"]).assert_code(0).assert_stdout("git:origin");
}
