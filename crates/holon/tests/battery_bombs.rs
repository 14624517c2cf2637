//! Agents that use up everything they can: each ends within its limits, and host and run store stay sane.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_testkit::{
    CommandEnd, TestEnv, TestIdentity, TestWorkspace, assert_unchanged, for_each_identity, tree_state,
    wait_until,
};
use rustix::process::Signal;
use serde_json::Value;

const HOLON: &str = env!("CARGO_BIN_EXE_holon");
/// Small enough to be reached at once. The mode belongs to the user, narrowing a built-in one.
const TIGHT: &str = r#"
name = "tight"
description = "execute with little of everything"
extends = "execute"

[limits]
timeout = "40s"
idle_timeout = "30s"
output_mb = 16
memory_mb = 256
processes = 64
disk_mb = 64
files = 3000
"#;
/// What an agent may go on for from the moment its limit is reached, on a busy machine.
const SLACK: Duration = Duration::from_secs(30);
/// How long a command may take in all. Removing what an agent piled up waits for the disk, which others use, too.
const PATIENCE: Duration = Duration::from_secs(300);

/// How a bomb must end.
enum BombEnd {
    /// The agent notices the wall itself and goes on to succeed.
    Noticed,
    /// The host ends it and names one of these limits.
    Stopped(&'static [&'static str]),
    /// Either, for what the kernel or the host may meet first.
    Either(&'static [&'static str]),
}

struct Bomb {
    name: &'static str,
    flags: &'static [&'static str],
    /// Python, or a shell script when it starts with `#!`.
    script: &'static str,
    end: BombEnd,
    /// The longest its own limit lets it run.
    seconds: u64,
}

const BOMBS: &[Bomb] = &[
    Bomb {
        name: "forks",
        flags: &[],
        // Children wait; the number alive at once is what counts.
        script: "n = 0\ntry:\n  while n < 5000:\n    if os.fork() == 0: signal.pause()\n    n += 1\nexcept OSError: pass\n\
                 assert n < 64, n\nos.kill(-1, 9) if n > 1000 else None\ndone('%d processes' % n)",
        end: BombEnd::Noticed,
        seconds: 40,
    },
    Bomb {
        name: "fork-tree",
        flags: &["--timeout", "4s"],
        script: "#!/bin/sh\nbomb() { bomb 2>/dev/null & bomb 2>/dev/null & }\nbomb 2>/dev/null\nwhile :; do bomb 2>/dev/null; done",
        end: BombEnd::Either(&["timeout", "agent_failed", "agent_killed", "artifact_missing"]),
        seconds: 4,
    },
    Bomb {
        name: "threads",
        flags: &[],
        script: "import threading\nn = 0\ngo = threading.Event()\ntry:\n  while n < 5000:\n    threading.Thread(target=go.wait, daemon=True).start()\n    n += 1\n\
                 except RuntimeError: pass\nassert n < 64, n\ngo.set()\ndone('%d threads' % n)",
        end: BombEnd::Noticed,
        seconds: 40,
    },
    Bomb {
        name: "disk-bytes",
        flags: &[],
        script: "b = os.urandom(1 << 20)\nfor i in range(20000):\n  open('f%d' % i, 'wb').write(b)",
        end: BombEnd::Stopped(&["disk_mb"]),
        seconds: 40,
    },
    Bomb {
        name: "disk-output",
        flags: &[],
        script: "b = os.urandom(1 << 20)\nfor i in range(20000):\n  open('/holon/output/f%d' % i, 'wb').write(b)",
        end: BombEnd::Stopped(&["disk_mb", "output_mb"]),
        seconds: 40,
    },
    Bomb {
        name: "disk-home",
        flags: &[],
        script: "b = os.urandom(1 << 20)\nfor i in range(20000):\n  open('/holon/home/f%d' % i, 'wb').write(b)",
        end: BombEnd::Stopped(&["disk_mb"]),
        seconds: 40,
    },
    Bomb {
        name: "disk-one-file",
        flags: &[],
        script: "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nf = open('big', 'wb', 0)\nn = 0\ntry:\n  while n < 4096: n += f.write(bytes(1 << 20)) >> 20\n\
                 except OSError as e: assert e.errno == 27, e\nassert n <= 64, n\nos.unlink('big')\ndone('%d MiB' % n)",
        end: BombEnd::Either(&["disk_mb"]),
        seconds: 40,
    },
    Bomb {
        name: "disk-unlinked",
        flags: &[],
        // Nothing of it has a name any more; it still fills the disk.
        script: "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nheld = []\nfor i in range(64):\n  f = open('f%d' % i, 'wb', 0); os.unlink(f.name); held.append(f)\n\
                 \x20 for j in range(60): f.write(os.urandom(1 << 20))\n  time.sleep(0.1)\ndone('held %d files of 60 MiB' % len(held))",
        end: BombEnd::Stopped(&["disk_mb"]),
        seconds: 40,
    },
    Bomb {
        name: "inodes",
        flags: &[],
        script: "for i in range(400000):\n  open('f%d' % i, 'w').close()",
        end: BombEnd::Stopped(&["files"]),
        seconds: 40,
    },
    Bomb {
        name: "inodes-folders",
        flags: &[],
        script: "for i in range(400000):\n  os.mkdir('/holon/output/d%d' % i)",
        end: BombEnd::Stopped(&["files"]),
        seconds: 40,
    },
    Bomb {
        name: "tmp-inodes",
        flags: &[],
        script: "n = 0\ntry:\n  while n < 400000: open('/tmp/f%d' % n, 'w').close(); n += 1\nexcept OSError as e: assert e.errno == 28, e\n\
                 assert n <= 200000, n\ndone('%d files' % n)",
        end: BombEnd::Either(&["memory"]),
        seconds: 40,
    },
    Bomb {
        name: "descriptors",
        flags: &[],
        script: "n = 0\ntry:\n  while n < 100000: os.open('/dev/null', 0); n += 1\nexcept OSError as e: assert e.errno == 24, e\n\
                 assert n <= 16384, n\nos.closerange(3, 20000)\ndone('%d descriptors' % n)",
        end: BombEnd::Noticed,
        seconds: 40,
    },
    Bomb {
        name: "spin",
        flags: &["--timeout", "2s"],
        script: "#!/bin/sh\nfor i in 1 2 3 4; do (while :; do :; done) & done\nwhile :; do :; done",
        end: BombEnd::Stopped(&["timeout"]),
        seconds: 2,
    },
    Bomb {
        name: "deaf",
        flags: &["--timeout", "2s"],
        script: "#!/bin/sh\ntrap '' TERM INT HUP\n(trap '' TERM; while :; do sleep 1; done) &\nwhile :; do sleep 1; done",
        end: BombEnd::Stopped(&["timeout"]),
        seconds: 2,
    },
    Bomb {
        name: "silent",
        flags: &["--idle-timeout", "2s"],
        script: "#!/bin/sh\nexec sleep 3600",
        end: BombEnd::Stopped(&["idle_timeout"]),
        seconds: 2,
    },
    Bomb {
        name: "flood",
        flags: &["--max-output", "4"],
        script: "#!/bin/sh\nyes 'a line of output that goes on and on' & exec yes 'another' >&2",
        end: BombEnd::Stopped(&["output_mb"]),
        seconds: 40,
    },
    Bomb {
        name: "flood-one-line",
        flags: &["--max-output", "4"],
        script: "#!/bin/sh\nexec cat /dev/zero",
        end: BombEnd::Stopped(&["output_mb"]),
        seconds: 40,
    },
    Bomb {
        name: "daemons",
        flags: &[],
        // Left-overs with the agent's output still open, in sessions of their own, deaf to SIGTERM.
        script: "for i in range(5):\n  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n      signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
                 \x20     while True: time.sleep(3600)\n    os._exit(0)\ndone('left five')",
        end: BombEnd::Noticed,
        seconds: 40,
    },
];

#[test]
fn inv_03_bombs_end_within_their_limits() {
    let mut all_failed = Vec::new();
    for_each_identity(HOLON, |env| {
        let ground = BombGround::new(env);
        let mut failed = Vec::new();
        for bomb in BOMBS {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ground.explode(bomb)));
            if let Err(panic) = outcome {
                failed.push(format!(
                    "{}: {}",
                    bomb.name,
                    panic.downcast_ref::<String>().cloned().unwrap_or_default()
                ));
            }
        }
        println!(
            "bombs ({}): {} probes, {} blocked, 0 informational, {} escapes",
            env.identity().name(),
            BOMBS.len(),
            BOMBS.len() - failed.len(),
            failed.len()
        );
        all_failed.extend(failed.into_iter().map(|text| format!("as {}, {text}", env.identity().name())));
    });
    assert!(all_failed.is_empty(), "{}", all_failed.join("\n\n"));
}

/// Where there is a control group memory ends in time; where there is none, the manifest must not claim one.
#[test]
fn inv_03_memory_ends_where_a_control_group_holds() {
    for_each_identity(HOLON, |env| {
        let ground = BombGround::new(env);
        let look = ground.agent("look", "done('looked')");
        let (output, manifest) = ground.run("look", &look, &[]);
        output.assert_code(0);
        let memory = &manifest["metadata"]["sandbox"]["enforced"]["limits"]["memory"];
        if memory.is_null() {
            println!(
                "bombs ({}): memory is not limited here, and the manifest says so",
                env.identity().name()
            );
            assert_eq!(env.identity(), TestIdentity::Ordinary, "root has control groups on this machine");
            return;
        }
        for (name, script) in [
            ("memory", "held = []\nwhile True: held.append(bytearray(os.urandom(1 << 20)) * 4)"),
            (
                "memory-tmp",
                "while True: open('/tmp/f%d' % time.monotonic_ns(), 'wb').write(os.urandom(1 << 20) * 4)",
            ),
            (
                "memory-shm",
                "while True: open('/dev/shm/f%d' % time.monotonic_ns(), 'wb').write(os.urandom(1 << 20) * 4)",
            ),
            (
                "memory-memfd",
                "held = []\nwhile True:\n  f = os.memfd_create('x'); os.write(f, os.urandom(1 << 20)); held.append(f)",
            ),
            // Smaller than anything of ours in the same group, and what it holds outlives it.
            (
                "memory-small",
                "#!/bin/sh\nwhile :; do i=x$i; dd if=/dev/zero of=/dev/shm/$i bs=64k count=512 2>/dev/null; done",
            ),
        ] {
            let agent = ground.agent(name, script);
            let (output, manifest) = ground.run(name, &agent, &[]);
            output.assert_code(1);
            assert_eq!(manifest["error"]["kind"], "memory", "{name}: {manifest:#}");
            ground.assert_sane(&output, name);
        }
        println!("bombs ({}): memory limited by {memory}", env.identity().name());
    });
}

/// Counts the kernel keeps per user go up the chain of namespaces: an agent must not use up those of its user.
#[test]
fn a_runs_counters_leave_room_for_the_user() {
    for_each_identity(HOLON, |env| {
        let ground = BombGround::new(env);
        let agent = ground.agent(
            "counters",
            "import ctypes\nlibc = ctypes.CDLL(None)\nn = 0\nwhile libc.inotify_init1(0) >= 0: n += 1\nprint('holding', n, flush=True)\ntime.sleep(3600)",
        );
        let mut running = ground.start(&agent, &["--timeout", "30s"]);
        running.wait_for_text("holding");
        let host = env
            .program("/usr/bin/python3")
            .args(["-c", "import ctypes; raise SystemExit(ctypes.CDLL(None).inotify_init1(0) < 0)"])
            .run();
        running.signal(Signal::INT);
        let output = running.wait();
        assert_eq!(host.code, 0, "the user can no longer watch files while the run lives\n{output}");
        ground.assert_sane(&output, "counters");
    });
}

#[test]
fn inv_03_a_killed_holon_leaves_nothing_and_the_next_start_says_so() {
    let mut failed = Vec::new();
    for_each_identity(HOLON, |env| {
        let mut ground = BombGround::new(env);
        let deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork() == 0: os.setsid()\nopen('changed', 'w').write('x')\n";
        let wait = "print('now', flush=True)\ntime.sleep(3600)";
        // What the agent may have planted where the manifest belongs by the time the host dies.
        let plants = [
            ("plain", String::new()),
            ("fifo", "os.mkfifo('/holon/output/manifest.json')\n".into()),
            (
                "link",
                format!(
                    "os.symlink('{}', '/holon/output/manifest.json')\n",
                    env.root().join("work/canary").display()
                ),
            ),
            ("zero", "os.symlink('/dev/zero', '/holon/output/manifest.json')\n".into()),
            ("locked", "os.makedirs('locked/in'); os.chmod('locked', 0)\n".into()),
            ("folder", "os.makedirs('/holon/output/manifest.json/x')\n".into()),
        ];
        let canary = env.write("work/canary", "canary\n");
        for (name, plant) in &plants {
            ground.with_new_store(name);
            let agent = ground.agent(name, &format!("{deaf}{plant}{wait}"));
            let known = ground.runs();
            let mut running = ground.start(&agent, &[]);
            running.wait_for_text("now");
            running.kill();
            let marked =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ground.assert_marked(&known, name)));
            if let Err(panic) = marked {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                failed.push(format!("as {}, {name}: {text}", env.identity().name()));
            }
            assert_eq!(fs::read(&canary).unwrap(), b"canary\n", "{name}");
        }
        println!("bombs ({}): killed {} times while the agent worked", env.identity().name(), plants.len());
    });
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn inv_03_a_killed_holon_can_die_in_any_phase() {
    for_each_identity(HOLON, |env| {
        let ground = BombGround::new(env);
        let agent = ground.agent("quick", "open('changed', 'w').write('x')\ndone('ok')");
        for phase in ["prepare", "snapshot", "execute", "collect", "verify", "seal"] {
            let known = ground.runs();
            let mut running = ground.start(&agent, &[]);
            // It may get further, or to its end, before the signal arrives; whatever is there must be consistent.
            running.wait_for_text(phase);
            running.kill();
            ground.assert_marked(&known, phase);
        }
    });
}

#[test]
fn inv_03_a_forged_manifest_is_not_believed_after_a_kill() {
    for_each_identity(HOLON, |env| {
        let ground = BombGround::new(env);
        let agent = ground.agent(
            "forger",
            "import json\nfake = {'schema_version': '1', 'run_id': os.environ['HOLON_RUN_ID'], 'status': 'completed', 'outcome': 'success', 'exit_code': 0,\n\
             \x20 'mode': 'plan', 'started_at': '2020-01-01T00:00:00Z', 'duration_ms': 1, 'phases': {}, 'no_changes': True, 'artifacts': [], 'breaches': [],\n\
             \x20 'metadata': {'mode': 'plan', 'workspace_access': 'rw', 'adapter': 'FORGED', 'warnings': ['FORGED'], 'agent': {'name': 'FORGED'}}}\n\
             json.dump(fake, open('/holon/output/manifest.json', 'w'))\nprint('now', flush=True)\ntime.sleep(3600)",
        );
        let known = ground.runs();
        let mut running = ground.start(&agent, &[]);
        running.wait_for_text("now");
        let live = ground.holon(&["runs", "list"]);
        assert!(!live.stdout.contains("FORGED") && !live.stdout.contains("success"), "{live}");
        running.kill();
        let manifest = ground.assert_marked(&known, "forger");
        assert!(!manifest.to_string().contains("FORGED"), "{manifest:#}");
        assert_eq!(manifest["mode"], "tight", "{manifest:#}");
    });
}

/// A workspace and a tight mode.
struct BombGround<'a> {
    env: &'a TestEnv,
    repo: TestWorkspace,
    state: PathBuf,
}

impl<'a> BombGround<'a> {
    fn new(env: &'a TestEnv) -> Self {
        env.write("config/holon/modes/tight.toml", TIGHT);
        env.write("meter.py", include_str!("escape/meter.py"));
        let repo = env.repo().file("a.txt", "one\n").commit("first").file("b.txt", "untracked\n");
        Self { env, repo, state: env.state() }
    }

    /// Goes on with an empty run store, so that what one agent broke is not blamed on the next.
    fn with_new_store(&mut self, name: &str) {
        let mark = self.env.write(format!("state-{name}/.keep"), "");
        self.state = mark.parent().unwrap().to_owned();
    }

    fn runs(&self) -> Vec<PathBuf> {
        let list =
            |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        list(self.state.join("holon")).flat_map(|workspace| list(workspace.join("runs"))).collect()
    }

    /// Python with a few words before it; `done` writes what is owed and says what happened.
    fn agent(&self, name: &str, script: &str) -> PathBuf {
        if script.starts_with("#!") {
            return self.env.agent(name, script);
        }
        let head = "#!/usr/bin/python3 -B\nimport os, signal, sys, time\n\
                    def done(text):\n  print(text, flush=True)\n  open('/holon/output/summary.md', 'w').write('# Summary\\n\\n%s\\n' % text)\n  os._exit(0)\n";
        self.env.agent(name, &format!("{head}{script}\n"))
    }

    /// Any other command, which must neither hang nor eat up the machine, whatever the runs left in the store.
    fn holon(&self, args: &[&str]) -> CommandEnd {
        let meter = self.env.root().join("meter.py");
        let command = self
            .env
            .program("/usr/bin/python3")
            .arg("-B")
            .arg(meter)
            .arg("4000")
            .arg(self.env.binary())
            .env("XDG_STATE_HOME", &self.state);
        let output = command.args(args).cwd(self.repo.path()).timeout(PATIENCE).run();
        assert!(!output.timed_out, "it hangs\n{output}");
        let peak =
            output.stderr.lines().rev().find_map(|line| line.strip_prefix("PEAK ")?.parse::<u64>().ok());
        assert!(peak.is_some_and(|mib| mib < 512), "it took {peak:?} MiB\n{output}");
        output
    }

    fn start(&self, agent: &Path, flags: &[&str]) -> holon_testkit::RunningCommand {
        self.env
            .holon(["run", "--mode", "tight", "--goal", "boom", "--agent"])
            .arg(agent)
            .args(flags)
            .env("XDG_STATE_HOME", &self.state)
            .cwd(self.repo.path())
            .timeout(PATIENCE)
            .spawn()
    }

    /// A whole run with its manifest.
    fn run(&self, name: &str, agent: &Path, flags: &[&str]) -> (CommandEnd, Value) {
        let known = self.runs();
        let output = self.start(agent, flags).wait();
        assert!(!output.timed_out, "{name}: the host did not end it in time\n{}", brief(&output));
        let run =
            self.new_run(&known).unwrap_or_else(|| panic!("{name}: no run in the store\n{}", brief(&output)));
        let manifest = output.manifest(run.join("output"));
        (output, manifest)
    }

    fn new_run(&self, known: &[PathBuf]) -> Option<PathBuf> {
        self.runs().into_iter().find(|run| !known.contains(run))
    }

    fn explode(&self, bomb: &Bomb) {
        let before = tree_state(self.repo.path());
        let agent = self.agent(bomb.name, bomb.script);
        let (output, manifest) = self.run(bomb.name, &agent, bomb.flags);
        let allowed = Duration::from_secs(bomb.seconds) + SLACK;
        let agents = manifest["phases"]["execute"]["duration_ms"].as_u64().map(Duration::from_millis);
        assert!(agents.is_some_and(|time| time < allowed), "it took {agents:?}\n{}", brief(&output));
        let kind = manifest["error"]["kind"].as_str().unwrap_or_default();
        let noticed = output.code == 0 && kind.is_empty();
        let stopped = |kinds: &[&str]| output.code == 1 && kinds.contains(&kind);
        let good = match bomb.end {
            BombEnd::Noticed => noticed,
            BombEnd::Stopped(kinds) => stopped(kinds),
            BombEnd::Either(kinds) => noticed || stopped(kinds),
        };
        assert!(good, "exit code {}, error {}\n{}", output.code, manifest["error"], brief(&output));
        assert!(output.stdout.len() + output.stderr.len() < 32 << 20, "the flood reached the user");
        let run = self
            .env
            .runs()
            .into_iter()
            .find(|run| run.ends_with(manifest["run_id"].as_str().unwrap()))
            .unwrap();
        let left = size_of(&run);
        assert!(left < 512 << 20, "{} MiB are left in the store", left >> 20);
        assert_unchanged(&before, self.repo.path());
        self.assert_sane(&output, bomb.name);
    }

    /// No process, mount or control group of the run is left, and the store can be used.
    fn assert_sane(&self, output: &CommandEnd, name: &str) {
        self.env.assert_nothing_left();
        assert_no_groups(&self.runs(), name);
        self.env.program("/bin/true").run().assert_code(0);
        let list = self.holon(&["runs", "list"]);
        assert_eq!(list.code, 0, "after {name}:\n{list}\nthe run:\n{}", brief(output));
    }

    /// After a kill: nothing is left, and the next start gives the run its manifest.
    fn assert_marked(&self, known: &[PathBuf], name: &str) -> Value {
        self.env.assert_nothing_left();
        let list = self.holon(&["runs", "list"]);
        assert_eq!(list.code, 0, "after the kill ({name}):\n{list}");
        let next = self.agent("next", "done('fine')");
        let others = self.runs();
        let (output, _) = self.run(name, &next, &[]);
        output.assert_code(0);
        let Some(run) = others.into_iter().find(|run| !known.contains(run)) else {
            // Killed before there was anything.
            return Value::Null;
        };
        let manifest = output.manifest(run.join("output"));
        let status = manifest["status"].as_str().unwrap_or_default().to_owned();
        assert!(["interrupted", "completed"].contains(&status.as_str()), "{name}: {manifest:#}");
        let layers = fs::read_dir(run.join("layers")).map_or(0, |entries| entries.count());
        assert_eq!(layers, 0, "{name}: the snapshot of a dead run was left");
        let active = run.parent().unwrap().with_file_name("active");
        let marks: Vec<_> =
            fs::read_dir(&active).into_iter().flatten().flatten().map(|e| e.file_name()).collect();
        assert!(marks.is_empty(), "{name}: {marks:?} still count as running");
        assert_no_groups(&[run], name);
        manifest
    }
}

/// The end of what a command said: a flood must not drown the report.
fn brief(output: &CommandEnd) -> String {
    let text = output.to_string();
    let start = text.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
    text[start..].to_owned()
}

/// Every control group is named after its run; removing one may take the launcher a moment.
fn assert_no_groups(runs: &[PathBuf], name: &str) {
    let names: Vec<String> =
        runs.iter().map(|run| format!("holon-{}", run.file_name().unwrap().to_string_lossy())).collect();
    let left = || {
        let mut found = Vec::new();
        let mut todo = vec![PathBuf::from("/sys/fs/cgroup")];
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if names.contains(&entry.file_name().to_string_lossy().into_owned()) {
                        found.push(entry.path());
                    }
                    todo.push(entry.path());
                }
            }
        }
        found
    };
    let gone = wait_until(Duration::from_secs(60), || left().is_empty());
    assert!(gone, "{name}: control groups are left: {:?}", left());
}

fn size_of(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            bytes += meta.blocks() * 512;
            if meta.is_dir() {
                todo.push(entry.path());
            }
        }
    }
    bytes
}
