//! One contract, whatever the walls are made of: the same inputs give the same outputs, and the manifest says what stood.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holon_testkit::{
    CommandEnd, TestEnv, TestIdentity, TestWorkspace, apply_patch_plain, assert_unchanged, copy_tree,
    current_test, for_each_identity, skip_security, tree_state,
};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");
const IMAGE: &str = "localhost/holon-test:contract";
const BUSYBOX: &str = "/bin/busybox";

/// Follows the contract through its variables only, so that it works with and without a root of its own.
const AGENT: &str = r##"#!/bin/sh
set -e
cd "$HOLON_WORKSPACE_DIR"
grep -q uncommitted dirty.txt
grep -q x "$HOLON_INPUT_DIR/spec.yaml"
echo changed > tracked.txt
mkdir -p deep/er
echo new > "deep/er/new file.txt"
chmod +x mode-me.txt
rm delete-me.txt
printf '# Summary\nMode %s.\n' "$HOLON_MODE" > "$HOLON_OUTPUT_DIR/summary.md"
"##;

/// Tries to leave its workspace and its rights, and says how that went.
const NOSY: &str = r##"#!/bin/sh
exec 2> /dev/null
cd "$HOLON_WORKSPACE_DIR"
try() { name=$1; shift; if "$@" > /dev/null; then echo "$name open"; else echo "$name closed"; fi; }
write() { echo x > "$1"; }
{
  echo '# Summary'
  try secret cat "$SECRET"
  try outside write "$SECRET.new"
  try input write "$HOLON_INPUT_DIR/new"
  try system write /usr/holon-new
} > "$HOLON_OUTPUT_DIR/summary.md"
"##;

fn dirty_repo(env: &TestEnv) -> TestWorkspace {
    env.repo()
        .file("tracked.txt", "one\n")
        .file("dirty.txt", "committed\n")
        .file("delete-me.txt", "x\n")
        .file("mode-me.txt", "x\n")
        .commit("first")
        .file("dirty.txt", "uncommitted\n")
}

fn run(env: &TestEnv, repo: &TestWorkspace, backend: &str, agent: &Path, more: &[&str]) -> CommandEnd {
    let call =
        env.holon(["run", "--mode", "execute", "--goal", "x", "--sandbox", backend, "--agent"]).arg(agent);
    let call = call.args(["--out"]).arg(out(env)).args(more).cwd(repo.path());
    if backend == "none" { call.arg("--i-accept-no-isolation").run() } else { call.run() }
}

fn out(env: &TestEnv) -> PathBuf {
    env.work().join("out")
}

fn manifest(env: &TestEnv) -> Value {
    let text = fs::read_to_string(out(env).join("manifest.json")).expect("a manifest");
    serde_json::from_str(&text).expect("a manifest is JSON")
}

/// The walls each rung claims when it works; no more, no less.
fn expected_walls(backend: &str) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
    let spaces: &[&str] =
        &["mount_ns", "pid_ns", "net_ns", "ipc_ns", "uts_ns", "private_root", "no_new_privs"];
    match backend {
        "native" => ("L1", spaces, &[]),
        "oci" => ("L2", spaces, &["locked_mounts"]),
        "bubblewrap" => ("L3", spaces, &["locked_mounts"]),
        "landlock" => (
            "L4",
            &["seccomp", "no_new_privs", "capabilities_dropped"],
            &["mount_ns", "pid_ns", "net_ns", "private_root"],
        ),
        _ => ("none", &[], &["mount_ns", "pid_ns", "net_ns", "private_root", "seccomp", "no_new_privs"]),
    }
}

#[track_caller]
fn assert_recorded(env: &TestEnv, backend: &str) {
    let manifest = manifest(env);
    let sandbox = &manifest["metadata"]["sandbox"];
    let (level, held, absent) = expected_walls(backend);
    let level = if backend == "native" && env.identity() == TestIdentity::Ordinary { "L0" } else { level };
    assert_eq!(sandbox["backend"], backend);
    assert_eq!(sandbox["level"], level);
    for layer in held {
        assert_eq!(sandbox["enforced"][layer], true, "{backend} {layer}: {sandbox:#}");
    }
    for layer in absent {
        assert_ne!(sandbox["enforced"][layer], true, "{backend} {layer}: {sandbox:#}");
    }
    assert_eq!(
        sandbox["enforced"]["landlock"].is_u64(),
        ["native", "landlock"].contains(&backend),
        "{sandbox:#}"
    );
}

/// Whether this rung can show root's run store to its payload: without mounts of root's making it cannot.
fn needs_help(env: &TestEnv, backend: &str) -> bool {
    env.identity() == TestIdentity::Root && ["bubblewrap", "landlock"].contains(&backend)
}

#[test]
fn every_backend_keeps_the_contract() {
    for_each_identity(BIN, |env| {
        let repo = dirty_repo(env);
        let before = tree_state(repo.path());
        let agent = env.agent("agent.sh", AGENT);
        let mut patches = Vec::new();
        for backend in ["native", "bubblewrap", "landlock", "none"] {
            if needs_help(env, backend) {
                continue;
            }
            let output = run(env, &repo, backend, &agent, &[]);
            output.assert_code(0);
            assert_unchanged(&before, repo.path());
            assert_recorded(env, backend);
            let patch = out(env).join("diff.patch");
            let copy = env.work().join(format!("copy-{backend}"));
            copy_tree(repo.path(), &copy);
            apply_patch_plain(&copy, &patch).unwrap_or_else(|error| panic!("{backend}: {error}"));
            assert_eq!(fs::read_to_string(copy.join("deep/er/new file.txt")).unwrap(), "new\n");
            assert!(!copy.join("delete-me.txt").exists());
            patches.push((backend, fs::read_to_string(patch).unwrap()));
            let summary = fs::read_to_string(out(env).join("summary.md")).unwrap();
            assert_eq!(summary, "# Summary\nMode execute.\n", "{backend}");
        }
        for (backend, patch) in &patches[1..] {
            assert_eq!(patch, &patches[0].1, "{backend} differs from {}", patches[0].0);
        }
        env.assert_nothing_left();
    });
}

#[test]
fn a_rung_that_cannot_be_had_says_why_and_starts_nothing() {
    let Some(env) = TestEnv::as_root(BIN) else {
        return skip_security(&current_test(), "needs root, whose run store is closed to others");
    };
    let repo = dirty_repo(&env);
    let agent = env.agent("agent.sh", AGENT);
    for backend in ["bubblewrap", "landlock"] {
        let output = run(&env, &repo, backend, &agent, &[]);
        output.assert_code(1);
        assert!(output.stderr.contains("run as an ordinary user"), "{backend}: {}", output.stderr);
        assert_eq!(manifest(&env)["status"], "failed");
        assert!(!out(&env).join("summary.md").exists(), "{backend}: nothing was started");
    }
}

#[test]
fn weaker_walls_still_keep_what_they_claim() {
    for_each_identity(BIN, |env| {
        let repo = dirty_repo(env);
        let secret = env.write("home/secret", "s3cret");
        let script = NOSY.replace("$SECRET", secret.to_str().unwrap());
        let agent = env.agent("nosy.sh", &script);
        for backend in ["native", "bubblewrap", "landlock", "none"] {
            if needs_help(env, backend) {
                continue;
            }
            run(env, &repo, backend, &agent, &[]).assert_code(0);
            let said = fs::read_to_string(out(env).join("summary.md")).unwrap();
            let open = said.lines().filter(|line| line.ends_with(" open")).count();
            if backend == "none" {
                // The control: what the walls keep closed is there to be opened.
                assert!(said.contains("secret open") && said.contains("outside open"), "{said}");
            } else {
                assert_eq!(open, 0, "{backend}: {said}");
            }
        }
        assert!(secret.with_extension("new").exists(), "only the run without walls wrote there");
    });
}

#[test]
fn no_walls_need_a_persons_word() {
    let env = TestEnv::new(BIN);
    let repo = dirty_repo(&env);
    let agent = env.agent("agent.sh", AGENT);
    let call =
        env.holon(["run", "--mode", "execute", "--goal", "x", "--sandbox", "none", "--agent"]).arg(&agent);
    let output = call.args(["--out"]).arg(out(&env)).cwd(repo.path()).run();
    assert_ne!(output.code, 0);
    assert!(output.stderr.contains("--i-accept-no-isolation"), "{}", output.stderr);
    assert!(!out(&env).join("summary.md").exists());
}

/// A person may give up their own walls, but a mode that promises that nothing changes is not started without any.
#[test]
fn inv_01_no_word_of_a_person_makes_a_read_only_mode_start_without_walls() {
    let env = TestEnv::new(BIN);
    let repo = dirty_repo(&env);
    let before = tree_state(repo.path());
    let agent = env.agent("agent.sh", "#!/bin/sh\necho changed > tracked.txt\n");
    for mode in ["plan", "review", "ask"] {
        let call =
            env.holon(["run", "--mode", mode, "--goal", "x", "--sandbox", "none", "--i-accept-no-isolation"]);
        let output = call.arg("--agent").arg(&agent).cwd(repo.path()).run();
        output.assert_code(64).assert_stderr("promises that nothing changes");
        assert_unchanged(&before, repo.path());
    }
    assert!(env.runs().is_empty(), "nothing was started");
}

/// What `doctor` says of each rung is what a run behind it does, for whoever asks.
#[test]
fn doctor_says_of_each_rung_what_happens() {
    for_each_identity(BIN, |env| {
        let repo = dirty_repo(env);
        let agent = env.agent("agent.sh", AGENT);
        let asked = env.holon(["doctor", "--json"]).run().assert_code(0).json();
        let walls = asked["walls"].as_array().unwrap();
        for backend in ["native", "bubblewrap", "landlock"] {
            let row = walls.iter().find(|row| row["name"] == backend).unwrap();
            let output = run(env, &repo, backend, &agent, &[]);
            let works = row["level"].is_string();
            assert_eq!(output.code == 0, works, "{backend}: {row:#}\n{output}");
            if works {
                assert_eq!(manifest(env)["metadata"]["sandbox"]["level"], row["level"]);
                let open = &manifest(env)["metadata"]["sandbox"]["enforced"]["open"];
                let named = open.as_array().cloned().unwrap_or_default();
                assert_eq!(&named, row["open"].as_array().unwrap(), "{backend}");
            } else {
                assert!(row["note"].as_str().unwrap().len() > 20, "no reason: {row:#}");
            }
        }
        let oci = walls.iter().find(|row| row["name"] == "oci").unwrap();
        assert!(oci["tried"] == true || oci["note"].as_str().unwrap().contains("--probe"), "{oci:#}");
        env.assert_nothing_left();
    });
}

/// Each attempt to get out is named, and none gets through but what the weakest rung says of itself.
#[test]
fn doctor_tries_to_get_out_of_each_rung() {
    for_each_identity(BIN, |env| {
        let asked = env.holon(["doctor", "--probe", "--json"]).run().assert_code(0).json();
        for row in asked["walls"].as_array().unwrap().iter().filter(|row| row["level"].is_string()) {
            let attempts = row["attempts"].as_array().unwrap();
            assert!(row["name"] == "oci" || attempts.len() >= 15, "{row:#}");
            let through: Vec<_> = attempts.iter().filter(|attempt| attempt["held"] != true).collect();
            let expect = if row["name"] == "landlock" { 1 } else { 0 };
            assert_eq!(through.len(), expect, "{}: {through:#?}", row["name"]);
        }
        env.holon(["doctor", "--probe"]).run().assert_code(0).assert_stdout("Attempts to get out");
        env.assert_nothing_left();
    });
}

#[test]
fn weak_walls_end_what_they_started() {
    for_each_identity(BIN, |env| {
        let repo = dirty_repo(env);
        let agent = env.agent(
            "daemon.sh",
            "#!/bin/sh\n(setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &) &\nwait\nwhile :; do sleep 1; done\n",
        );
        for backend in ["bubblewrap", "landlock", "none"] {
            if needs_help(env, backend) {
                continue;
            }
            run(env, &repo, backend, &agent, &["--timeout", "1s"]).assert_code(1);
            assert_eq!(manifest(env)["status"], "timeout", "{backend}");
            env.assert_nothing_left();
        }
    });
}

/// A podman store of its own with an image whose entrypoint is the agent; `None` (recorded) where it cannot be made.
struct BackendImageStore<'a> {
    env: &'a TestEnv,
    dir: PathBuf,
}

impl<'a> BackendImageStore<'a> {
    fn new(env: &'a TestEnv) -> Option<Self> {
        if Command::new("podman").arg("--version").stdout(Stdio::null()).status().is_err()
            || !Path::new(BUSYBOX).exists()
        {
            skip_security(&current_test(), "podman or busybox-static is not installed");
            return None;
        }
        let root = env.work().join("image");
        for folder in ["bin", "tmp", "proc", "dev", "etc", "sys"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::copy(BUSYBOX, root.join("bin/busybox")).unwrap();
        for name in ["sh", "cat", "echo", "grep", "mkdir", "rm", "chmod", "sleep", "setsid"] {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        fs::write(root.join("agent"), AGENT).unwrap();
        fs::set_permissions(root.join("agent"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let store = Self { env, dir: env.root().join("store") };
        fs::create_dir(&store.dir).unwrap();
        env.own(&store.dir);
        let tar = env.work().join("image.tar");
        let packed = Command::new("tar")
            .args(["--owner=0", "--group=0", "-C"])
            .arg(&root)
            .arg("-cf")
            .arg(&tar)
            .arg(".")
            .status();
        assert!(packed.unwrap().success());
        let entry = "ENTRYPOINT [\"/agent\"]";
        store.podman(&["import", "--change", entry, tar.to_str().unwrap(), IMAGE]).assert_code(0);
        Some(store)
    }

    fn arguments(&self) -> String {
        let dir = self.dir.display();
        format!(
            "--root {dir}/r --runroot {dir}/rr --tmpdir {dir}/t --storage-driver vfs --cgroup-manager cgroupfs"
        )
    }

    fn podman(&self, args: &[&str]) -> CommandEnd {
        let call = self.env.program("podman").args(self.arguments().split(' ')).args(args);
        call.env("XDG_RUNTIME_DIR", self.env.home()).run()
    }

    fn holon(&self, repo: &TestWorkspace, args: &[&str]) -> CommandEnd {
        let call = self.env.holon(["run", "--mode", "execute", "--goal", "x", "--image", IMAGE]).args(args);
        let call = call.arg("--out").arg(out(self.env)).cwd(repo.path());
        call.env("HOLON_OCI_ARGS", self.arguments()).env("XDG_RUNTIME_DIR", self.env.home()).run()
    }
}

impl Drop for BackendImageStore<'_> {
    fn drop(&mut self) {
        self.env.end_podman(&self.dir.join("t"));
    }
}

#[test]
fn an_image_keeps_the_same_contract() {
    for_each_identity(BIN, |env| {
        let Some(store) = BackendImageStore::new(env) else { return };
        let repo = dirty_repo(env);
        let before = tree_state(repo.path());
        run(env, &repo, "native", &env.agent("agent.sh", AGENT), &[]).assert_code(0);
        let expect = fs::read_to_string(out(env).join("diff.patch")).unwrap();
        // The image is the agent.
        store.holon(&repo, &[]).assert_code(0);
        assert_recorded(env, "oci");
        assert_eq!(fs::read_to_string(out(env).join("diff.patch")).unwrap(), expect);
        assert_eq!(fs::read_to_string(out(env).join("summary.md")).unwrap(), "# Summary\nMode execute.\n");
        // The image is only where the agent runs.
        let agent = env.agent("agent.sh", AGENT);
        store.holon(&repo, &["--sandbox", "oci", "--agent", agent.to_str().unwrap()]).assert_code(0);
        assert_recorded(env, "oci");
        assert_eq!(fs::read_to_string(out(env).join("diff.patch")).unwrap(), expect);
        assert_unchanged(&before, repo.path());
        assert_eq!(store.podman(&["ps", "--all", "--quiet"]).stdout, "");
    });
}

#[test]
fn a_container_ends_with_its_time() {
    for_each_identity(BIN, |env| {
        let Some(store) = BackendImageStore::new(env) else { return };
        let repo = dirty_repo(env);
        let agent = env.agent("sleeper.sh", "#!/bin/sh\n(setsid sleep 3600 &)\nsleep 3600\n");
        let output = store.holon(&repo, &["--agent", agent.to_str().unwrap(), "--timeout", "3s"]);
        output.assert_code(1);
        assert_eq!(manifest(env)["status"], "timeout", "{}", output.stderr);
        assert_eq!(store.podman(&["ps", "--all", "--quiet"]).stdout, "");
    });
}

#[test]
fn a_missing_image_is_said_before_anything_starts() {
    let env = TestEnv::new(BIN);
    let Some(store) = BackendImageStore::new(&env) else { return };
    let repo = dirty_repo(&env);
    let call =
        env.holon(["run", "--mode", "execute", "--goal", "x", "--image", "localhost/absent:1", "--out"]);
    let call = call.arg(out(&env)).cwd(repo.path()).env("HOLON_OCI_ARGS", store.arguments());
    let output = call.run();
    output.assert_code(1);
    assert!(output.stderr.contains("podman import"), "{}", output.stderr);
}

/// Programs that want a terminal get one that nobody else sees, and not endlessly many.
#[test]
fn terminals_inside_are_the_payloads_own() {
    let agent = r##"#!/bin/sh
{
  echo '# Summary'
  script -qec 'tty; echo to-the-terminal > /dev/tty' /dev/null
  python3 -c '
import os
made = 0
try:
    while made < 1000:
        os.openpty()
        made += 1
except OSError as error:
    print("made", made, error.errno)
'
  (exec 3<> /dev/tty) 2> /dev/null || echo no terminal of the host
} > "$HOLON_OUTPUT_DIR/summary.md"
"##;
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "x\n").commit("first");
        let agent = env.agent("terminals.sh", agent);
        run(env, &repo, "native", &agent, &[]).assert_code(0);
        let said = fs::read_to_string(out(env).join("summary.md")).unwrap();
        for part in ["/dev/pts/0", "to-the-terminal", "made 64 28", "no terminal of the host"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        if needs_help(env, "bubblewrap") {
            return;
        }
        run(env, &repo, "bubblewrap", &agent, &[]).assert_code(0);
        let said = fs::read_to_string(out(env).join("summary.md")).unwrap();
        for part in ["/dev/pts/0", "to-the-terminal", "no terminal of the host"] {
            assert!(said.contains(part), "bubblewrap {part}: {said}");
        }
    });
}
