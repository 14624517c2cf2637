//! Holon's own agent as the agent of a container: the image comes from the recipe, the container is the wall.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ReceivedRequest, ScriptedResponse};
use holon_testkit::{
    CommandEnd, TestEnv, TestWorkspace, assert_unchanged, current_test, for_each_identity, skip_security,
    tree_state,
};
use serde_json::{Value, json};

const BIN: &str = env!("CARGO_BIN_EXE_holon");
const IMAGE: &str = "localhost/holon-test:adapter";
const RECIPE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/image/build.sh");

/// What the host knows and nobody inside may see.
const KEY: &str = "sk-real-key-0123456789abcdefghij";
const TAPE: &str = "/holon/input/context/tape.yaml";

const EXECUTE: &str = "\
- tools:
    - execute: { command: \"cat a.txt; echo two > b.txt\" }
- expect: { last: one }
  tool: finish
  args: { summary: \"I read a.txt and wrote b.txt.\", status: done }
";

const PLAN: &str = "\
- tools:
    - execute: { command: \"echo two > b.txt; echo tried\" }
- expect: { last: tried }
  tool: report_plan
  args: { goal: g, context: c, steps: [{ id: one, title: t, detail: d }], risks: [r], verification: v }
- tool: finish
  args: { summary: \"Planned.\", status: done }
";

/// A podman store of its own with the image in it; `None` (recorded) where it cannot be made.
struct ContainerImageStore<'a> {
    env: &'a TestEnv,
    dir: PathBuf,
}

impl<'a> ContainerImageStore<'a> {
    fn new(env: &'a TestEnv) -> Option<Self> {
        let there = |program: &str, arg: &str| {
            Command::new(program).arg(arg).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        if !there("podman", "--version") || !there("busybox", "--list") {
            skip_security(&current_test(), "podman or busybox-static is not installed");
            return None;
        }
        let store = Self { env, dir: env.root().join("store") };
        fs::create_dir(&store.dir).unwrap();
        env.own(&store.dir);
        let build = env.program("sh").args([RECIPE]).arg(env.binary()).arg(IMAGE);
        let build = build.args(store.arguments().split(' ')).env("XDG_RUNTIME_DIR", env.home());
        build.timeout(Duration::from_secs(120)).run().assert_code(0);
        Some(store)
    }

    fn arguments(&self) -> String {
        let dir = self.dir.display();
        format!(
            "--root {dir}/r --runroot {dir}/rr --tmpdir {dir}/t --storage-driver vfs --cgroup-manager cgroupfs"
        )
    }

    fn run(&self, repo: &TestWorkspace, mode: &str, cassette: &str) -> CommandEnd {
        let tape = self.env.write("work/tape.yaml", cassette);
        let call = self.env.holon(["run", "--mode", mode, "--goal", "Add b.txt", "--image", IMAGE]);
        let call = call.args(["--no-auto-checks", "--out", "../out", "--context"]).arg(&tape);
        let call = call.args(["--", "/bin/holon", "adapter", "--replay", TAPE]).cwd(repo.path());
        let call = call.env("HOLON_OCI_ARGS", self.arguments()).env("XDG_RUNTIME_DIR", self.env.home());
        call.timeout(Duration::from_secs(120)).run()
    }

    /// The image's own entry point, with a model behind the gateway.
    fn run_with_model(&self, repo: &TestWorkspace, server: &ModelServer) -> CommandEnd {
        let call =
            self.env.holon(["run", "--goal", "Look around", "--image", IMAGE, "--model", "some-model"]);
        let call = call.args(["--no-auto-checks", "--out", "../out"]).cwd(repo.path());
        let call = call.env("HOLON_OCI_ARGS", self.arguments()).env("XDG_RUNTIME_DIR", self.env.home());
        let call = call.env("HOLON_PROVIDER", "openai").env("HOLON_BASE_URL", server.base());
        call.env("OPENAI_API_KEY", KEY).timeout(Duration::from_secs(120)).run()
    }

    fn manifest(&self) -> Value {
        serde_json::from_str(&read(&self.env.work().join("out/manifest.json"))).unwrap()
    }
}

impl Drop for ContainerImageStore<'_> {
    fn drop(&mut self) {
        self.env.end_podman(&self.dir.join("t"));
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_contract_is_kept_from_inside_a_container() {
    for_each_identity(BIN, the_contract_is_kept_by);
}

fn the_contract_is_kept_by(env: &TestEnv) {
    let Some(store) = ContainerImageStore::new(env) else { return };
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let before = tree_state(repo.path());
    store.run(&repo, "execute", EXECUTE).assert_code(0);
    let manifest = store.manifest();
    assert_eq!(
        (&manifest["metadata"]["adapter"], &manifest["outcome"]),
        (&"image".into(), &"success".into())
    );
    assert_eq!(manifest["metadata"]["sandbox"]["backend"], "oci");
    assert!(read(&env.work().join("out/diff.patch")).contains("+two"));
    assert!(read(&env.work().join("out/summary.md")).contains("wrote b.txt"));
    assert_unchanged(&before, repo.path());

    let output = store.run(&repo, "plan", PLAN);
    output.assert_code(0);
    assert!(read(&env.work().join("out/plan.md")).contains("## Verification"));
    assert!(!env.work().join("out/diff.patch").exists());
    assert_unchanged(&before, repo.path());

    let asks = "- tool: finish\n  args: { summary: \"Which one?\", status: needs_human }\n";
    store.run(&repo, "execute", asks).assert_code(2);
    assert_eq!(store.manifest()["outcome"], "needs_human");
    let fails = "- tool: finish\n  args: { summary: \"No way.\", status: failed }\n";
    store.run(&repo, "execute", fails).assert_code(1);
    let text = store.manifest().to_string();
    assert!(text.contains("says that it failed") || text.contains("exited with code 1"), "{text}");
    assert_unchanged(&before, repo.path());
    drop(store);
    env.assert_nothing_left();
}

/// A model that makes the agent run one command and then end.
fn model(command: String) -> (ModelServer, Arc<Mutex<Vec<ReceivedRequest>>>) {
    let seen: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
    let own = Arc::clone(&seen);
    let server = ModelServer::improvise(move |_, asked| {
        let mut all = own.lock().unwrap();
        all.push(asked.clone());
        let (name, arguments) = match all.len() {
            1 => ("execute", json!({"command": command})),
            _ => ("finish", json!({"summary": "I looked around.", "status": "done"})),
        };
        let call =
            CassetteCall { name: name.into(), arguments: arguments.to_string(), ..CassetteCall::default() };
        ScriptedResponse::from(CassetteTurn {
            steps: vec![CassetteStep::Call(call)],
            ..CassetteTurn::default()
        })
    });
    (server, seen)
}

#[test]
fn inv_06_a_container_reaches_the_gateway_and_nothing_else() {
    for_each_identity(BIN, only_the_gateway_is_reached_by);
}

fn only_the_gateway_is_reached_by(env: &TestEnv) {
    let Some(store) = ContainerImageStore::new(env) else { return };
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    // Something of the host's own, which is not to be reached.
    let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let look = format!(
        "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cut -d: -f1 /proc/net/dev; \
         nc -w 2 127.0.0.1 {} < /dev/null; echo own $?; nc -w 2 1.1.1.1 80 < /dev/null; echo far $?; \
         busybox wget -S -O - http://127.0.0.1:8001/v1/models 2>&1; \
         echo two > b.txt; echo looked",
        own.local_addr().unwrap().port()
    );
    let (server, seen) = model(look);
    store.run_with_model(&repo, &server).assert_code(0);
    let manifest = store.manifest();
    assert_eq!(manifest["metadata"]["sandbox"]["backend"], "oci");
    assert_eq!(manifest["metadata"]["sandbox"]["enforced"]["net_ns"], true);
    assert_eq!(manifest["metadata"]["model"]["id"], "some-model");
    assert!(read(&env.work().join("out/diff.patch")).contains("+two"));

    let seen = seen.lock().unwrap();
    let told: String = seen.iter().map(|asked| asked.body.to_string()).collect();
    assert!(told.contains("looked") && told.contains("own 1") && told.contains("far 1"), "{told}");
    assert!(told.contains("HTTP/1.1 401"), "without the token the gateway must refuse: {told}");
    assert!(told.contains("OPENAI_API_KEY=holon-"), "there is no placeholder: {told}");
    assert!(!told.contains(KEY) && !told.contains("eth0"), "{told}");
    for asked in seen.iter() {
        assert!(asked.header("authorization").unwrap_or_default().ends_with(KEY));
    }
    own.set_nonblocking(true).unwrap();
    assert!(own.accept().is_err(), "the container reached the host");
    drop(store);
    env.assert_nothing_left();
}

#[test]
fn inv_20_a_container_reaches_what_is_permitted() {
    for_each_identity(BIN, only_what_is_permitted_is_reached_by);
}

fn only_what_is_permitted_is_reached_by(env: &TestEnv) {
    let Some(store) = ContainerImageStore::new(env) else { return };
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let [open, shut] = [(); 2].map(|()| TcpListener::bind("127.0.0.2:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let (a, b) = (port(&open), port(&shut));
    std::thread::spawn(move || {
        let (mut stream, _) = open.accept().unwrap();
        let mut asked = [0; 1024];
        let _ = std::io::Read::read(&mut stream, &mut asked);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nhello\n\n";
        let _ = std::io::Write::write_all(&mut stream, answer);
    });
    env.write("config/holon/config.toml", format!("[network]\nallow = [\"127.0.0.2:{a}\"]\n"));
    let get = |port| format!("busybox wget -q -O - http://127.0.0.2:{port}/ >> b.txt 2>/dev/null");
    let tape = EXECUTE.replace("echo two > b.txt", &format!("{}; {}", get(a), get(b)));
    store.run(&repo, "execute", &tape).assert_code(0);
    assert!(read(&env.work().join("out/diff.patch")).contains("+hello"));
    let network = &store.manifest()["metadata"]["network"];
    assert_eq!((&network["allowed"], &network["refused"]), (&1.into(), &1.into()), "{network:#}");
    assert_eq!(network["hosts"][format!("127.0.0.2:{b}")]["flag"], format!("--allow-net 127.0.0.2:{b}"));
    shut.set_nonblocking(true).unwrap();
    assert!(shut.accept().is_err(), "the container reached what is not permitted");
    drop(store);
    env.assert_nothing_left();
}

/// Stands for podman on a machine where an ordinary user may make no user namespaces.
const LOCKED: &str = r#"#!/bin/sh
case " $* " in
  *" unshare "*) echo 'Error: cannot set up namespace using "/usr/bin/newuidmap": should have setuid or have filecaps setuid' >&2; exit 125 ;;
  *" --version "*) echo podman version 4.3.1 ;;
  *" run "*) exit 127 ;;
esac
"#;

#[test]
fn a_container_that_can_have_no_door_is_refused_with_what_to_do() {
    let env = TestEnv::as_ordinary(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let podman = env.write("fakes/podman", LOCKED);
    fs::set_permissions(&podman, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", podman.parent().unwrap().display());
    let tape = env.write("work/tape.yaml", "- text: never asked for\n");
    let call = env.holon(["run", "--goal", "x", "--image", IMAGE, "--out", "../out", "--replay"]).arg(&tape);
    let output = call.cwd(repo.path()).env("PATH", path).run();
    output.assert_code(1).assert_stderr("newuidmap").assert_stderr("--network host");
    let manifest: Value = serde_json::from_str(&read(&env.work().join("out/manifest.json"))).unwrap();
    assert_eq!(manifest["error"]["kind"], "sandbox", "{manifest:#}");
    assert!(!read(&env.work().join("out/evidence/events.jsonl")).contains("agent_started"));
    env.assert_nothing_left();
}
