//! One host with a secret, a program worth reaching, and a workspace: what the probes of the escape battery attack.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_testkit::{
    CommandEnd, Invocation, RunningCommand, TestEnv, TestWorkspace, TreeState, files_containing, mounts,
    tree_state, wait_for_file,
};
use serde_json::{Value, json};

/// The interpreter behind the walls and in the open; a missing one is a failure, not a reason to skip.
pub(crate) const PYTHON: &str = "/usr/bin/python3";
const PATIENCE: Duration = Duration::from_secs(240);
/// Variables a person may have that must stay outside; the names are also in `class_env.py`.
const PLANTED: &[(&str, &str)] = &[
    ("BASH_ENV", "/nonexistent/bash-env"),
    ("ENV", "/nonexistent/env"),
    ("NODE_OPTIONS", "--require=/nonexistent/x.js"),
    ("PYTHONSTARTUP", "/nonexistent/startup.py"),
    ("PERL5LIB", "/nonexistent/perl"),
    ("GIT_EXTERNAL_DIFF", "/nonexistent/diff"),
    ("GIT_SSH_COMMAND", "/nonexistent/ssh"),
    ("SSH_AUTH_SOCK", "/nonexistent/agent.sock"),
    ("HOLON_TEST_UNLISTED", "1"),
];
/// Switches of the machine that no run may turn.
const SWITCHES: &[&str] = &[
    "kernel/core_pattern",
    "kernel/hostname",
    "kernel/domainname",
    "kernel/pid_max",
    "kernel/randomize_va_space",
    "user/max_user_namespaces",
    "vm/overcommit_memory",
    "fs/suid_dumpable",
    "net/ipv4/ip_forward",
];

/// A host under attack.
pub(crate) struct EscapeWorld<'a> {
    pub(crate) env: &'a TestEnv,
    pub(crate) repo: TestWorkspace,
    victim: Option<RunningCommand>,
    facts: Value,
    secret: String,
}

/// What must be the same after a run.
pub(crate) struct HostStateBefore {
    workspace: TreeState,
    canaries: TreeState,
    home: TreeState,
    mounts: Vec<String>,
    switches: BTreeMap<String, String>,
    contacts: String,
    priority: Option<String>,
}

impl<'a> EscapeWorld<'a> {
    /// Makes the workspace, starts the program worth reaching, and tells the probes where everything is.
    pub(crate) fn new(env: &'a TestEnv) -> Self {
        assert!(Path::new(PYTHON).exists(), "the probes need {PYTHON}: install the package python3");
        let mut repo =
            env.repo().file("README", "base\n").file("src/a.txt", "base\n").file("docs/b.txt", "base\n");
        for (name, text) in scripts() {
            repo = repo.file(Path::new(".probe").join(name), text);
        }
        let repo = repo.commit("first").file("src/dirty.txt", "not committed\n");
        let secret = format!("canary-{}", random());
        env.write("victim/secret.txt", format!("{secret}\n"));
        for folder in ["canary", "scratch"] {
            env.write(format!("{folder}/.here"), "");
            let path = env.root().join(folder);
            fs::remove_file(path.join(".here")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        env.write("home/.ssh/id_ed25519", &secret);
        let mut world = Self { env, repo, victim: None, facts: Value::Null, secret };
        world.start_victim();
        world.write_facts();
        world
    }

    fn start_victim(&mut self) {
        let folder = self.env.root().join("victim");
        let running = self
            .env
            .program(PYTHON)
            .args(["-B", "-E"])
            .arg(self.repo.join(".probe/victim.py"))
            .arg(&folder)
            .arg(self.repo.path())
            .arg(self.env.marker())
            .timeout(Duration::from_secs(1200))
            .spawn();
        self.victim = Some(running);
        wait_for_file(folder.join("victim.json"), PATIENCE);
        self.facts = serde_json::from_slice(&fs::read(folder.join("victim.json")).unwrap()).unwrap();
    }

    fn write_facts(&self) {
        let root = self.env.root();
        let mut facts = json!({
            "secret": root.join("victim/secret.txt"),
            "host_home": self.env.home(),
            "host_state": self.env.state(),
            "canary_dir": root.join("canary"),
            "scratch_root": root.join("scratch"),
            "victim": self.facts,
            "host_pid": self.facts["pid"],
            "marker": self.env.marker(),
            "tag": "control",
            "mode": "",
        });
        self.env.write("scratch/control.json", facts.to_string());
        for mode in ["execute", "plan", "architect"] {
            let inside = json!({
                "tag": "inside", "mode": mode, "init_pid": 1,
                "ws": "/holon/workspace", "out": "/holon/output", "tmp": "/tmp",
                "mounted": "/holon/output", "read_only_mount": "/usr",
                "ro": { "root": "/", "usr": "/usr", "etc": "/etc", "input": "/holon/input", "holon": "/holon" },
                "ro_file": { "usr": "/usr/bin/env", "etc": "/etc/passwd", "input": "/holon/input/spec.yaml" },
            });
            let all = facts.as_object_mut().unwrap();
            all.extend(inside.as_object().unwrap().clone());
            let path = self.repo.join(format!(".probe/{mode}.json"));
            fs::write(&path, facts.to_string()).unwrap();
            self.env.own(&path);
        }
    }

    /// Runs every probe in the open, where it must succeed.
    pub(crate) fn control(&self) -> Vec<ProbeRow> {
        let out = self.env.root().join("scratch/control.jsonl");
        self.plant(self.env.program("/bin/sh"))
            .args(["-c", "exec 9<\"$PROBE_FILE\"; exec \"$@\"", "sh", PYTHON, "-B", "-E"])
            .arg(self.repo.join(".probe/probes.py"))
            .arg("control")
            .arg(self.env.root().join("scratch/control.json"))
            .arg(&out)
            .timeout(Duration::from_secs(300))
            .run()
            .assert_code(0);
        rows(&out)
    }

    /// `holon` with arguments, started with planted variables and an open descriptor of the secret.
    pub(crate) fn holon(&self, args: &[&str]) -> Invocation {
        self.plant(self.env.program("/bin/sh"))
            .args(["-c", "exec 9<\"$PROBE_FILE\"; exec \"$@\"", "sh"])
            .arg(self.env.binary())
            .args(args)
            .cwd(self.repo.path())
    }

    fn plant(&self, mut command: Invocation) -> Invocation {
        for (name, value) in PLANTED {
            command = command.env(name, value);
        }
        command.env("PROBE_SECRET", &self.secret).env("PROBE_FILE", self.env.root().join("victim/secret.txt"))
    }

    /// One run with this script as the agent; artifacts go to a folder of this name.
    pub(crate) fn run(&self, name: &str, mode: &str, script: &str, more: &[&str]) -> (CommandEnd, PathBuf) {
        let agent = self.env.agent(name, script);
        let out = self.env.work().join(format!("out-{name}"));
        let out_text = out.to_str().unwrap().to_owned();
        let mut args = vec!["run", "--mode", mode, "--goal", "probe", "--out", &out_text, "--agent"];
        let agent_text = agent.to_str().unwrap().to_owned();
        args.push(&agent_text);
        args.extend(more);
        (self.holon(&args).timeout(Duration::from_secs(180)).run(), out)
    }

    /// The state of the host that must survive.
    pub(crate) fn before(&self) -> HostStateBefore {
        HostStateBefore {
            workspace: tree_state(self.repo.path()),
            canaries: tree_state(self.env.root().join("canary")),
            home: tree_state(self.env.home()),
            mounts: mounts(),
            switches: switches(),
            contacts: self.contacts(),
            priority: self.priority(),
        }
    }

    /// Panics with everything that is not as it was.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, before: &HostStateBefore) {
        let mut wrong: Vec<String> = Vec::new();
        let trees = [
            ("workspace", &before.workspace, self.repo.path().to_owned()),
            ("canary folder", &before.canaries, self.env.root().join("canary")),
            ("home", &before.home, self.env.home()),
        ];
        for (name, then, path) in trees {
            wrong.extend(then.differences(&tree_state(path)).iter().map(|d| format!("{name}: {d}")));
        }
        let new_mounts = mounts().into_iter().filter(|line| !before.mounts.contains(line));
        wrong.extend(
            new_mounts.filter(|line| self.is_ours(line)).map(|line| format!("mounted on the host: {line}")),
        );
        if switches() != before.switches {
            wrong.push(format!("switches: {:?} became {:?}", before.switches, switches()));
        }
        let contacts = self.contacts();
        if contacts != before.contacts {
            wrong.push(format!(
                "the host's program was reached: {:?}",
                contacts.strip_prefix(&before.contacts)
            ));
        }
        match self.victim_state() {
            Some(state) if !"TtZX".contains(state) => {}
            state => wrong.push(format!("the host's program is in state {state:?}")),
        }
        if self.priority() != before.priority {
            wrong.push("the host's program has another priority".into());
        }
        assert!(wrong.is_empty(), "the host was touched:\n{}", wrong.join("\n"));
    }

    /// Panics when the secret is in `text`, in a file below `folder`, or anywhere in the run store.
    #[track_caller]
    pub(crate) fn assert_secret_kept(&self, output: &CommandEnd, folder: &Path) {
        assert!(!output.stdout.contains(&self.secret), "the secret was printed");
        assert!(!output.stderr.contains(&self.secret), "the secret was printed");
        for top in [folder.to_owned(), self.env.state(), self.env.cache()] {
            let found = files_containing(&top, self.secret.as_bytes());
            assert!(found.is_empty(), "the secret is in {found:?}");
        }
    }

    /// Lets the host's program end in peace, so that it takes its queues and segments along.
    fn stop_victim(&mut self) {
        let Some(victim) = self.victim.take() else { return };
        let _ = fs::write(self.env.root().join("victim/victim.stop"), "");
        let mut victim = victim;
        holon_testkit::wait_until(Duration::from_secs(10), || victim.has_ended());
    }

    /// Whether a line of the mount table comes from a run or a probe; other programs of the machine mount too.
    fn is_ours(&self, line: &str) -> bool {
        let source = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').nth(1)).unwrap_or_default();
        line.contains(&self.env.marker()) || ["holon", "x"].contains(&source)
    }

    fn contacts(&self) -> String {
        fs::read_to_string(self.env.root().join("victim/contacts.log")).unwrap_or_default()
    }

    fn victim_stat(&self) -> Option<Vec<String>> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.facts["pid"])).ok()?;
        Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
    }

    fn victim_state(&self) -> Option<char> {
        self.victim_stat()?.first()?.chars().next()
    }

    fn priority(&self) -> Option<String> {
        self.victim_stat().map(|fields| fields[16].clone())
    }
}

impl Drop for EscapeWorld<'_> {
    fn drop(&mut self) {
        self.stop_victim();
    }
}

/// One line a probe wrote.
#[derive(Debug, Clone)]
pub(crate) struct ProbeRow {
    pub(crate) id: String,
    pub(crate) verdict: String,
    pub(crate) result: String,
    pub(crate) reason: String,
}

/// The lines of a probe run.
#[track_caller]
pub(crate) fn rows(path: &Path) -> Vec<ProbeRow> {
    let text = fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("the probes left nothing at {}: {e}", path.display()));
    let row = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
        let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        ProbeRow {
            id: field("id"),
            verdict: field("verdict"),
            result: field("result"),
            reason: field("reason"),
        }
    };
    text.lines().map(row).collect()
}

/// Rows with this verdict.
pub(crate) fn with<'r>(rows: &'r [ProbeRow], verdict: &str) -> Vec<&'r ProbeRow> {
    rows.iter().filter(|row| row.verdict == verdict).collect()
}

fn scripts() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape");
    let mut found: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "py"))
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    found.sort();
    found
}

fn switches() -> BTreeMap<String, String> {
    let read =
        |name: &&str| Some(((*name).to_owned(), fs::read_to_string(format!("/proc/sys/{name}")).ok()?));
    SWITCHES.iter().filter_map(read).collect()
}

fn random() -> String {
    let mut bytes = [0; 12];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").unwrap(), &mut bytes).unwrap();
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
